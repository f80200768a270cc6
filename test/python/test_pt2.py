"""What torch.export.save writes is what `corten inspect` shows: every constant by its checksum, every node, located refusals."""
import re
import zipfile
import zlib

import numpy as np
import pytest
import support
import torch
import torch.nn.functional as F
from torch import nn

FLOATS = (torch.float16, torch.bfloat16, torch.float64)


def inspect(path):
    return support.corten("inspect", path).out


def constants(text):
    return dict(re.findall(r'^  const %"?([^":]+)"?: [^=]+ = (.*)$', text, re.MULTILINE))


def number(text):
    return float(text)


def expected(tensor):
    """A function that says whether the text of a constant stands for the tensor."""
    tensor = tensor.detach()
    array = (tensor.float() if tensor.dtype in FLOATS else tensor).contiguous().numpy()

    def holds(text):
        if text.startswith("crc32("):
            return text == f"crc32({zlib.crc32(array.tobytes()):08x})"
        if text.startswith("splat("):
            return (array == number(text[6:-1])).all()
        values = np.array([number(v) for v in text[1:-1].split(",") if v.strip()]).astype(array.dtype)
        return (values == array.ravel()).all()

    return holds


def tensors(program):
    return {**program.state_dict, **{k: v for k, v in program.constants.items() if isinstance(v, torch.Tensor)}}


def check(program, path):
    """Every constant in the text is the program's; every node that computes is there, in order."""
    text = inspect(path)
    shown, held = constants(text), tensors(program)
    assert shown, text
    for name, value in shown.items():
        assert name in held, name
        assert expected(held[name])(value), (name, value)
    nodes = [str(n.target) for n in program.graph.nodes if n.op == "call_function"]
    nodes = [t for t in nodes if t.startswith(("aten.", "quantized_decomposed.")) and not t.startswith("aten._assert")]
    assert re.findall(r"= ((?:aten|quantized_decomposed)\.[\w.]+)\(", text) == nodes
    return text


def save(program):
    path = support.folder() / "model.pt2"
    torch.export.save(program, path)
    return path


class ChannelsLast(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(5, 7, 3)
        self.norm = nn.BatchNorm2d(7)
        self.to(memory_format=torch.channels_last)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class Shared(nn.Module):
    """Two names for one weight, and views of it with offsets and strides."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False)
        self.b.weight = self.a.weight
        self.part = nn.Parameter(self.a.weight.detach()[2:5, 1:].t())
        self.row = nn.Parameter(self.a.weight.detach()[3].expand(4, 8))

    def forward(self, x):
        return self.b(self.a(x)) + self.row, self.part * 2.0


class Kinds(nn.Module):
    """Buffers that are and are not saved, constants within forward, and their types."""

    def __init__(self):
        super().__init__()
        self.register_buffer("saved", torch.randn(3))
        self.register_buffer("unsaved", torch.randn(40), persistent=False)
        self.plain = torch.randn(50)
        for name, dtype in dict(h=torch.float16, b=torch.bfloat16, d=torch.float64, i=torch.int8, l=torch.int64).items():
            self.register_buffer(name, (torch.randn(60) * 20).to(dtype))

    def forward(self, x):
        y = x.sum() * torch.tensor([1.0, 2.5, -3.0]) + self.saved
        return y, self.unsaved + x[0, 0], self.plain * 2.0, self.h, self.b, self.d, self.i, self.l


class NoGrad(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.linear = nn.Conv1d(2, 3, 3), nn.Linear(6, 4)

    def forward(self, x):
        with torch.no_grad():
            a, b = torch.chunk(self.conv(x), 2, dim=2)
        return self.linear(a) + self.linear(b)


MODULES = {
    "channels_last": (ChannelsLast, (1, 5, 6, 6)),
    "shared": (Shared, (4, 8)),
    "kinds": (Kinds, (2, 2)),
    "no_grad": (NoGrad, (1, 2, 14)),
}


def export(name, decomposed=False):
    build, shape = MODULES[name]
    program = torch.export.export(build().eval(), (torch.randn(shape),))
    return program.run_decompositions() if decomposed else program


@pytest.mark.parametrize("decomposed", [False, True])
@pytest.mark.parametrize("name", MODULES)
def test_same_constants_and_nodes(name, decomposed):
    program = export(name, decomposed)
    path = save(program)
    if name == "no_grad" and not decomposed:  # its nodes lie in a graph of their own
        text = inspect(path)
        found = re.findall(r"= aten\.(\w+)", text)
        assert found == ["conv1d", "chunk", "linear", "linear", "add"]
        return
    text = check(program, path)
    assert "test_pt2.py\":" in text and " in forward" in text


def test_deflated():
    program = export("channels_last")
    path = save(program)
    packed = support.folder() / "packed.pt2"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.namelist():
            new.writestr(entry, old.read(entry))
    check(program, packed)
    assert inspect(packed) == inspect(path)


def test_outputs_in_order():
    class Outputs(nn.Module):
        def forward(self, x):
            y = F.relu(x)
            return y, y, x, x.view(1, -1)

    text = inspect(save(torch.export.export(Outputs(), (torch.randn(1, 3),))))
    assert "  return %relu, %relu, %x, %view\n" in text


class Plain(torch.Tensor):
    """Saved as a pickle, by its class; its data can be read all the same."""


def test_tensor_subclass():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("w", torch.randn(8, 9).as_subclass(Plain))

        def forward(self, x):
            return x + self.w

    program = torch.export.export(Net(), (torch.randn(8, 9),))
    shown = constants(inspect(save(program)))
    assert expected(program.state_dict["w"].as_subclass(torch.Tensor))(shown["w"])


class Writes(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(3))

    def forward(self, x):
        self.state.add_(1.0)
        return x + self.state


class Aliased(nn.Module):
    def forward(self, x):
        y = F.relu(x)
        y[:, 1:].mul_(2.0)
        return y


class Branch(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,))


class Select(nn.Module):
    def forward(self, x):
        return x[x > 0]


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        return self.norm(x)


@pytest.mark.parametrize("decomposed", [False, True])
@pytest.mark.parametrize(
    "module, message, help_text",
    [
        (Writes(), "the program writes to .*state", "take the state as an input of forward"),
        (Branch(), "higher_order.cond' is not supported", "without control flow"),
        (Select(), r"known only at run time \(u0\)", "avoid operators whose result's size depends on the data"),
        (Norm(), "the program writes to .*norm", r"call model.eval\(\)"),
    ],
    ids=lambda v: type(v).__name__ if isinstance(v, nn.Module) else "",
)
def test_refusals_are_located(module, message, help_text, decomposed):
    program = torch.export.export(module, (torch.randn(2, 3),))
    error = support.refused("inspect", save(program.run_decompositions() if decomposed else program))
    assert re.search(message, error), error
    assert re.search(help_text, error), error
    if not isinstance(module, (Branch, Norm)):
        assert re.search(r"--> .*test_pt2\.py:\d+:\d+\n", error), error


def test_writing_through_a_view():
    program = torch.export.export(Aliased(), (torch.randn(2, 3),))
    error = support.refused("inspect", save(program))
    assert "writes in place into the memory of %relu, which the output reads afterwards" in error
    assert "run_decompositions" in error
    inspect(save(program.run_decompositions()))  # which is as the message says


def test_dynamic_shape():
    dynamic = {"x": {0: torch.export.Dim("n")}}
    program = torch.export.export(ChannelsLast().eval(), (torch.randn(2, 5, 6, 6),), dynamic_shapes=dynamic)
    error = support.refused("inspect", save(program))
    assert re.search(r"dimension 0 of input 'x' is dynamic \(s\d+\)", error) and "export with static shapes" in error


def test_truncated(tmp_path):
    data = save(export("shared")).read_bytes()
    for length in range(0, len(data), max(1, len(data) // 60)):
        cut = tmp_path / "cut.pt2"
        cut.write_bytes(data[:length])
        support.refused("inspect", cut)
