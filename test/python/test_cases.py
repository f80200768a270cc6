"""Small modules that have broken inference systems (cases/op_cases.py): each holds, or is refused in one located message."""
import importlib.util
import os
import re

import numpy as np
import pt2e
import pytest
import support
import torch

# Outside the operators there are: transposed convolution, indices, bilinear, two activations multiplied as matrices, layer norm, LSTM, state.
REFUSED = {"C01": "conv_transpose", "C17": "conv_transpose", "P06": "max", "S09": "bilinear", "A01": "matmul", "A03": "layer_norm",
           "A05": "lstm", "A07": "copy_"}
COUNT = 8
# A value that is quantised several times on its way, or amplified: how many steps of the output the q/dq program and Corten may differ.
LSB = {"C20": 2, "E02": 2, "E04": 2, "G01": 2, "R02": 2, "C13": 2, "E01": 2}


def load_cases():
    path = support.SHARED / "cases/op_cases.py"
    if not path.is_file():
        return None
    spec = importlib.util.spec_from_file_location("op_cases", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CASES = load_cases()
NAMES = sorted(CASES.CASES) if CASES else ["absent"]
HOLD = [n for n in NAMES if n not in REFUSED]


def case(name, shared):
    module, inputs = CASES.build(name)
    return module, inputs, support.samples_like(inputs, COUNT)


@pytest.mark.parametrize("name", HOLD)
def test_near_float(name, shared):
    module, inputs, samples = case(name, shared)
    want = support.eager(module, samples)
    got = support.run(support.compile_model(support.export(module, inputs), "cortex-m55", samples), samples, floats=True)
    assert len(got) == len(want)
    for y, reference in zip(got, want):
        assert support.sqnr(reference, y.reshape(reference.shape)) >= 30


@pytest.mark.parametrize("name", HOLD)
def test_near_qdq(name, shared):
    """Within 1 LSB of PyTorch's own q/dq program."""
    module, inputs, samples = case(name, shared)
    program = pt2e.quantised(module, inputs, samples)
    want = support.eager(program, samples)
    image = support.compile_model(support.export(program, inputs), "cortex-m4")
    got = support.run(image, samples, floats=True)
    scales = [o["scale"] for o in support.corten("inspect", image, "--json").json["outputs"]]
    assert len(got) == len(want)
    for y, reference, scale in zip(got, want, scales):
        off = np.abs(y.reshape(reference.shape) - reference) / scale
        assert off.max() <= LSB.get(name, 1) + 1e-3, f"{off.max():.2f} LSB, {(off > 1.001).mean():.2%} of the elements over 1"
        assert (off > 1.001).mean() <= 0.01


@pytest.mark.parametrize("name", HOLD)
def test_equal_bytes(name, shared):
    """The host gives the same bytes for every core, and each emulated board too."""
    module, inputs, samples = case(name, shared)
    pt2 = support.export(module, inputs)
    first = None
    for target in support.TARGETS:
        image = support.compile_model(pt2, target, samples)
        host = support.run(image, samples)
        first = first or host
        assert support.equal_bytes(host, first), f"{target} on the host"
        if target != "cortex-m3":  # the same kernels and board as cortex-m0plus
            few = [s[:2] for s in samples]
            assert support.equal_bytes(support.run(image, few, "qemu"), [y[:2] for y in first]), f"{target} on the board"


@pytest.mark.parametrize("name", sorted(set(NAMES) & set(REFUSED)) or ["absent"])
def test_refused(name, shared):
    module, inputs, samples = case(name, shared)
    out = support.folder() / "out"
    message = support.refused("compile", support.export(module, inputs), "--calibrate", support.save_inputs(samples), "-o", out)
    assert not out.exists() or not list(out.iterdir()), "files of a refused model"
    assert re.search(r"node \S+", message) and REFUSED[name] in message, message
    assert re.search(r"--> \S*(op_cases|torch)\S*:\d+", message) or "op_cases.py:" in message, message
    assert "help: " in message, message


# ---- what single cases expect besides ---------------------------------------------------------------------------------------


def test_zero_channel_is_its_bias(shared):
    """R03: a channel of zeros gives zero, with a finite scale."""
    module, inputs, samples = case("R03", shared)
    got = support.run(support.compile_model(support.export(module, inputs), "cortex-m55", samples), samples, floats=True)[0]
    assert np.isfinite(got).all() and not got.reshape(COUNT, 8, -1)[:, 2].any()


def test_saturation(shared):
    """R01: a multiplier far above 1 saturates at the upper end everywhere."""
    module, inputs, samples = case("R01", shared)
    image = support.compile_model(support.export(module, inputs), "cortex-m0plus", samples)
    got = support.run(image, samples, floats=True)[0]
    assert np.allclose(got, 1e-4, rtol=0.02)


def test_zero_point_of_one_sided_data(shared):
    """R05: data in [1, 3]: zero is representable, the zero point an int8."""
    module, inputs, samples = case("R05", shared)
    image = support.compile_model(support.export(module, inputs), "cortex-m55", samples)
    io = support.corten("inspect", image, "--json").json["inputs"][0]
    assert io["zero_point"] == -128 and io["scale"] >= 3 / 256 * 0.9


def test_padding_border(shared):
    """C09: borders are exact too when the zero point is not 0."""
    module, inputs, samples = case("C09", shared)
    program = pt2e.quantised(module, inputs, samples)
    want = support.eager(program, samples)[0]
    image = support.compile_model(support.export(program, inputs), "cortex-m4")
    scale = support.corten("inspect", image, "--json").json["outputs"][0]["scale"]
    off = np.abs(support.run(image, samples, floats=True)[0].reshape(want.shape) - want) / scale
    assert off[..., 1:-1, 1:-1].max() <= 1.001
    off[..., 1:-1, 1:-1] = 0
    assert off.max() <= 1.001


def test_shared_weights_are_stored_once(shared):
    """G01: one convolution used three times."""
    class Once(torch.nn.Module):
        def __init__(self, conv):
            super().__init__()
            self.c = conv

        def forward(self, x):
            return self.c(x)

    torch.manual_seed(0)
    conv = torch.nn.Conv2d(64, 64, 3, padding=1)

    class Thrice(Once):
        def forward(self, x):
            return self.c(torch.relu(self.c(x))) + self.c(x)

    x = torch.randn(1, 64, 6, 6)
    sizes = []
    for module in (Once(conv).eval(), Thrice(conv).eval()):
        image = support.compile_model(support.export(module, [x]), "cortex-m55", support.samples_like([x], 2))
        sizes.append(os.path.getsize(image))
    assert sizes[1] < 1.3 * sizes[0], f"{sizes[0]} bytes with one use, {sizes[1]} with three"


def test_outputs_of_views(shared):
    """G02: the same tensor twice, the input itself and a view of it."""
    module, inputs, samples = case("G02", shared)
    image = support.compile_model(support.export(module, inputs), "cortex-m4", samples)
    got = support.run(image, samples, floats=True)
    want = support.eager(module, samples)
    assert len(got) == 4 and (got[0] == got[1]).all()
    scale = np.abs(samples[0]).max() * 2 / 255
    for y, reference in zip(got, want):
        assert np.abs(y.reshape(reference.shape) - reference).max() <= scale


def test_names_of_inputs_and_outputs(shared):
    """G03: three inputs and two outputs keep order, names and shapes."""
    module, inputs, samples = case("G03", shared)
    image = support.compile_model(support.export(module, inputs), "cortex-m4", samples)
    info = support.corten("inspect", image, "--json").json
    assert [i["name"] for i in info["inputs"]] == ["v", "im", "g"]
    assert [i["shape"] for i in info["inputs"]] == [[1, 6], [1, 1, 5, 5], [1, 1]]
    assert [o["shape"] for o in info["outputs"]] == [[1, 4], [1, 4, 3, 3]]
    header = (image.parent / "model.h").read_text()
    assert all(name in header for name in ("v", "im", "g"))
