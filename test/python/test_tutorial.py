"""The tutorial runs, as a script and as a notebook, and both are the same. Needs the package: `pip install .`."""
import importlib.util
import os
import re
import shutil
import subprocess
import sys

import nbformat
import numpy as np
import pytest
import support

support.package()

SCRIPT = support.ROOT / "examples/keyword_spotting/tutorial.py"
COMMITTED = nbformat.read(SCRIPT.with_suffix(".ipynb"), as_version=4)


@pytest.fixture(scope="module")
def tool():
    """tools/notebook.py"""
    spec = importlib.util.spec_from_file_location("notebook", support.ROOT / "tools/notebook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def voices():
    if not shutil.which("espeak-ng"):
        support.absent("espeak-ng is not installed: scripts/setup.sh test")


def outputs(notebook):
    return "".join(o.get("text", "") for cell in notebook.cells for o in cell.get("outputs", []))


def test_notebook_is_of_the_script(tool):
    cells = [[(c.cell_type, c.source) for c in notebook.cells] for notebook in (COMMITTED, tool.unrun(SCRIPT))]
    assert cells[0] == cells[1], f"run tools/notebook.py {SCRIPT}"
    assert all(c.execution_count for c in COMMITTED.cells if c.cell_type == "code"), "the committed notebook has been run"
    assert "ms at" in outputs(COMMITTED) and "/tmp/" not in outputs(COMMITTED) and "/home/" not in outputs(COMMITTED)
    assert SCRIPT.with_suffix(".ipynb").stat().st_size < 300_000


def test_script(tmp_path, voices):
    """Its assertions are the test: accuracies, equal bytes on all cores."""
    environment = {**os.environ, "MPLBACKEND": "agg", "SPEECH_COMMANDS": ""}
    done = subprocess.run([sys.executable, SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "one inference:" in done.stdout and (tmp_path / "build/kws.html").stat().st_size > 10_000


def test_notebook(tool, voices, monkeypatch):
    monkeypatch.setenv("SPEECH_COMMANDS", "")
    ran = outputs(tool.clean(tool.run(tool.unrun(SCRIPT))))
    assert "one inference:" in ran and "held-out voices: PyTorch's fake-quantised model" in ran


def test_choices(tmp_path):
    """examples/quantization/choices.py, on part of the data: calibration is as good as docs/choices.md says, bad data as bad."""
    digits = support.ROOT / "examples/digits"
    for name in ("calib.npz", "eval.npz"):
        with np.load(digits / name) as z:
            np.savez(tmp_path / name, **{key: z[key][:40] for key in z.files})
    script = support.ROOT / "examples/quantization/choices.py"
    args = [sys.executable, script, digits / "digits_cnn.pt2", tmp_path / "calib.npz", tmp_path / "eval.npz", "conv1"]
    done = subprocess.run(args, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    decibels = {m[1].rstrip(): float(m[2]) for m in re.finditer(r"^(.*?) +([-\d.]+|inf) dB", done.stdout, re.M)}
    assert len(decibels) == 14  # all but calibrations of 64 and 256 samples
    assert decibels["observer auto"] > 28 and decibels["auto, half the range"] < 15
    assert all(decibels[what] > 25 for what in decibels if what.startswith("PT2E"))
