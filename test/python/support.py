"""What the tests share: export a module, drive the corten command, compare outputs."""
import importlib
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
CORTEN = os.environ.get("CORTEN", str(ROOT / "build/release/bin/corten"))
SHARED = Path(os.environ.get("CORTEN_SHARED", ROOT.parent / "shared"))
TARGETS = ("cortex-m55", "cortex-m4", "cortex-m3", "cortex-m0plus")


class Failed(AssertionError):
    """The command's exit code was not the expected one."""


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


def corten(*args, code=0, timeout=600, pass_fds=()):
    """Runs the command; anything but the expected exit code fails. code=None: any."""
    done = subprocess.run([CORTEN, *map(str, args)], capture_output=True, text=True, timeout=timeout, pass_fds=pass_fds)
    result = Result(done.returncode, done.stdout, done.stderr)
    if code is not None and result.code != code:
        raise Failed(f"corten {' '.join(map(str, args))}: exit {result.code}, expected {code}\n{result.out[-1000:]}{result.err[-2000:]}")
    return result


def absent(what):
    """Skips the test, but fails where CI is set."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


def package(name="corten", how="pip install ."):
    """An installed module. Where it is absent the tests that ask for it are skipped, but fail where CI is set."""
    try:
        return importlib.import_module(name)
    except ImportError:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"{name} is not installed: {how}", allow_module_level=True)


def refused(*args):
    """The command refuses its input: exit code 1 and one message on stderr, which is returned."""
    result = corten(*args, code=1)
    assert result.err.startswith("error[C"), f"no located message: {result.err!r}"
    assert "internal error" not in result.err, result.err
    return result.err


def folder():
    """A new folder; conftest.py removes them all at the end."""
    return Path(tempfile.mkdtemp())


def export(module, inputs, decomposed=False):
    """The module as a .pt2 file: as torch.export leaves it, or in core ATen."""
    with torch.no_grad():
        program = torch.export.export(module, tuple(inputs))
        if decomposed:
            program = program.run_decompositions()
    path = folder() / "model.pt2"
    torch.export.save(program, path)
    return path


def compile_model(pt2, target="cortex-m55", calibrate=None, *more):
    """Path of the image. calibrate: a list of arrays (samples first, one per input), or a file."""
    out = folder()
    if isinstance(calibrate, (list, tuple)):
        calibrate = save_inputs(calibrate)
    corten("compile", pt2, "--target", target, *(["--calibrate", calibrate] if calibrate else []), "-o", out, *more)
    return out / "model.corten"


def save_inputs(arrays):
    path = folder() / "in.npz"
    np.savez(path, **{f"in{i}": np.asarray(a) for i, a in enumerate(arrays)})
    return path


def run(image, inputs, on="host", floats=False):
    """Outputs for `inputs` (arrays with samples first, or a file), in order."""
    out = folder() / "out.npz"
    file = save_inputs(inputs) if isinstance(inputs, (list, tuple)) else inputs
    corten("run", image, "--input", file, "--on", on, "--output", out, *(["--float"] if floats else []))
    with np.load(out) as z:
        assert sorted(z.files) == [f"out{i}" for i in range(len(z.files))]
        return [z[f"out{i}"] for i in range(len(z.files))]


def equal_bytes(a, b):
    """Two lists of outputs are the same, byte for byte."""
    return len(a) == len(b) and all(x.dtype == y.dtype and x.shape == y.shape and (x == y).all() for x, y in zip(a, b))


def eager(module, samples):
    """PyTorch's outputs for arrays with samples first: one array per output, samples first."""
    rows = []
    with torch.no_grad():
        for one in zip(*samples):
            y = module(*(torch.from_numpy(np.ascontiguousarray(a)) for a in one))
            rows.append([t.detach().numpy() for t in (y if isinstance(y, (tuple, list)) else (y,))])
    return [np.stack(column) for column in zip(*rows)]


def samples_like(inputs, count, seed=0):
    """`count` random samples for each example input, with its range: signed stays signed, one-sided one-sided. Sample 0 is the example."""
    rng = np.random.default_rng(seed)
    arrays = []
    for tensor in inputs:
        x = tensor.numpy().astype(np.float32)
        more = rng.permuted(np.broadcast_to(x.ravel(), (count, x.size)), axis=1).reshape(count, *x.shape)
        more = more * rng.uniform(0.9, 1.1, more.shape).astype(np.float32)
        more[0] = x
        arrays.append(more.astype(np.float32))
    return arrays


def sqnr(reference, got):
    """Signal to error in dB."""
    reference, got = (np.asarray(a, np.float64).ravel() for a in (reference, got))
    noise = ((reference - got) ** 2).sum()
    return 200.0 if noise == 0 else 10 * np.log10(max((reference**2).sum(), 1e-300) / noise)


def top1(a):
    return a.reshape(len(a), -1).argmax(1)
