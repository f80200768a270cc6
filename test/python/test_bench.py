"""Estimated cycles: what `corten bench` says against the model's Python form, from the same ELF and counts."""
import importlib.util
import re

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
