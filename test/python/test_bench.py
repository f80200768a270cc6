"""Estimated cycles: what `corten bench` says against the model's Python form, from the same ELF and counts."""
import importlib.util
import re
import subprocess
import sys

import numpy as np
import pytest
import support
from support import corten

DIGITS = support.ROOT / "examples/digits"
CORES = {"cortex-m55": "m55", "cortex-m4": "m4", "cortex-m3": "m4", "cortex-m0plus": "m0"}


@pytest.fixture(scope="module")
def model(shared):
    spec = importlib.util.spec_from_file_location("cycles", shared / "measure/cycles.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(path):
    """The counts of each step and of the rest, as the bench kept them."""
    steps = []
    for line in path.read_text().splitlines():
        if line in ("step", "rest"):
            steps.append({})
        else:
            address, count = line.split()
            steps[-1][int(address, 16)] = int(count)
    return steps


def summed(counts):
    total = {}
    for block in counts:
        for address, count in block.items():
            total[address] = total.get(address, 0) + count
    return total


def kept_bench(image):
    keep = support.folder()
    result = corten("bench", image, "--json", "--keep", keep).json
    return result, keep / f"{result['model']}.elf", blocks(keep / f"{result['model']}.counts")


def agrees(model, image, core):
    result, elf, counts = kept_bench(image)
    assert len(counts) == len(result["steps"]) + 1
    parts = [(s, c) for s, c in zip(result["steps"], counts)] + [(result, summed(counts))]
    for got, block in parts:
        of_function = model.profile(str(elf), block, core)
        instructions, cycles = (sum(f[k] for f in of_function.values()) for k in (0, 1))
        assert got["instructions"] == instructions
        assert got["est_cycles"] == cycles, got.get("node", "in total")
    return result


@pytest.mark.parametrize("target", CORES)
def test_cycles_of_digits(model, target):
    image = support.compile_model(DIGITS / "digits_cnn.pt2", target, DIGITS / "calib.npz")
    result = agrees(model, image, CORES[target])
    assert result["est_cycles"] == pytest.approx(sum(s["est_cycles"] for s in result["steps"]), rel=0.02, abs=500)


@pytest.mark.parametrize("target", ["cortex-m55", "cortex-m4", "cortex-m0plus"])
def test_cycles_of_kws(model, shared, target):
    with np.load(shared / "data/kws_calib.npz") as z:
        few = support.folder() / "few.npz"
        np.savez(few, **{k: z[k][:4] for k in z.files})
    agrees(model, support.compile_model(shared / "models/mlperf_tiny/kws_dscnn.pt2", target, few), CORES[target])


def test_table_has_cycles_per_mac():
    image = support.compile_model(DIGITS / "digits_cnn.pt2", "cortex-m4", DIGITS / "calib.npz")
    text = corten("bench", image).out
    assert "cyc./MAC" in text and re.search(r"est\. cycles +\d+, \d+\.\d+ for each of \d+ multiply", text)
    (image.parent / "report.json").unlink()
    text = corten("bench", image).out
    assert "MAC" not in text and "est. cycles" in text


# ---- bench/run.py -------------------------------------------------------------------------------------------------------------

sys.path.insert(0, str(support.ROOT / "bench"))
import baselines
import kernels


def run_py(*args):
    argv = [sys.executable, support.ROOT / "bench/run.py", *args, "--corten", support.CORTEN]
    return subprocess.run([str(x) for x in argv], capture_output=True, text=True)


def test_baselines_notice_growth(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(baselines, "FOLDER", tmp_path)
    row = {"instructions": 100000, "ram_bytes": 5000, "stack_bytes": 300, "code_bytes": 9000, "image_bytes": 8000}
    baselines.write("networks", {"cortex-m4": {"a": row}}, "gcc 1", whole=True)
    check = lambda change, toolchain="gcc 1": baselines.check("networks", {"cortex-m4": {"a": {**row, **change}}}, toolchain)
    assert check({}) and check({"instructions": 101900, "ram_bytes": 5064, "stack_bytes": 100})
    assert "better cortex-m4 a: stack_bytes 300 -> 100" in capsys.readouterr().out
    for change in ({"instructions": 102100}, {"ram_bytes": 5065}, {"stack_bytes": 400}, {"code_bytes": 9100}):
        assert not check(change)
        assert f"WORSE  cortex-m4 a: {next(iter(change))}" in capsys.readouterr().out
        assert check(change, "gcc 2")
    assert not baselines.check("networks", {"cortex-m4": {}}, "gcc 1"), "a check that compared nothing fails"


def test_rows_are_grouped_by_case():
    order = {"a": 0, "b": 1, "c": 2}
    ran = [(0, "a", 1, 1), (0, "c", 2, 2), (0, "c", 3, 3), (1, "b", 4, 4), (1, "c", 5, 5), (7, "c", 6, 6)]
    assert kernels.grouped(ran, order, ["first", "second"]) == {
        "first": {"a": (1, 1), "c": (2, 2)}, "first'": {"c": (3, 3)}, "second": {"b": (4, 4), "c": (5, 5)}, "case 7": {"c": (6, 6)}}


def test_missing_models_are_skipped_visibly_and_fail_in_ci(tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    args = ("networks", "--only", "kws", "--core", "cortex-m4", "--shared", tmp_path)
    done = run_py(*args)
    assert done.returncode == 0 and "skipped kws" in done.stdout
    monkeypatch.setenv("CI", "1")
    assert run_py(*args).returncode == 1


def test_digits_in_the_table():
    done = run_py("networks", "--only", "digits", "--core", "cortex-m4", "--core", "cortex-m0plus")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("**corten**") == 2
