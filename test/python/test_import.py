"""What the same network looks like in a .pt2 makes no difference: the same image comes out."""
import pytest
import support
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8)
        self.point = nn.Conv2d(8, 16, 1)
        self.classify = nn.Linear(16 * 2 * 2, 5)
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        x = F.relu(self.norm(self.first(x)))
        x = F.relu6(self.point(F.relu(self.depthwise(x))))
        x = F.avg_pool2d(x, 2)
        return F.softmax(self.classify(self.drop(torch.flatten(x, 1))), -1)


@pytest.fixture
def net():
    torch.manual_seed(1)
    return Net().eval(), (torch.randn(1, 3, 8, 8),)


def image_bytes(pt2, samples, target="cortex-m55"):
    return support.compile_model(pt2, target, samples).read_bytes()


def test_decomposed(net):
    """torch.export's own graph and core ATen give the same outputs."""
    module, x = net
    samples = support.samples_like(x, 16)
    images = [support.compile_model(support.export(module, x, d), "cortex-m55", samples) for d in (False, True)]
    plain, core = (support.run(i, samples) for i in images)
    assert support.equal_bytes(plain, core)
    steps = [[s["kernel"] for s in support.corten("inspect", i, "--json").json["steps"]] for i in images]
    assert steps[0] == steps[1]


def test_channels_last_weights(net):
    module, x = net
    samples = support.samples_like(x, 8)
    plain = image_bytes(support.export(module, x), samples)
    assert image_bytes(support.export(module.to(memory_format=torch.channels_last), x), samples) == plain


def test_channels_last_input(net):
    module, x = net
    samples = support.samples_like(x, 8)
    plain = image_bytes(support.export(module, x), samples)
    assert image_bytes(support.export(module, [x[0].contiguous(memory_format=torch.channels_last)]), samples) == plain


def test_weights_in_one_storage(net):
    """Parameters that are views of one tensor, with offsets and strides."""
    module, x = net
    samples = support.samples_like(x, 8)
    plain = image_bytes(support.export(module, x), samples)
    weight = module.classify.weight.data
    storage = torch.zeros(weight.shape[1] + 3, weight.shape[0] + 2)
    storage[3:, 1:-1] = weight.T
    module.classify.weight = nn.Parameter(storage[3:, 1:-1].T, requires_grad=False)
    module.classify.bias = nn.Parameter(torch.cat([torch.ones(4), module.classify.bias.data])[4:], requires_grad=False)
    assert image_bytes(support.export(module, x), samples) == plain


def test_half_and_double_weights():
    """Weights stored in another float type."""
    class Cast(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("w", torch.randn(4, 6).to(torch.float16))

        def forward(self, x):
            return F.linear(x, self.w.float())

    module, x = Cast(), (torch.randn(1, 6),)
    samples = support.samples_like(x, 8)
    got = support.run(support.compile_model(support.export(module, x), "cortex-m4", samples), samples, floats=True)[0]
    want = support.eager(module, samples)[0]
    assert support.sqnr(want, got.reshape(want.shape)) > 30


def test_transposed_input():
    """A network that permutes its own input: (batch, time, features) to a 1d convolution."""
    class Permuted(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1d(6, 8, 3, padding=1)
            self.out = nn.Linear(8, 3)

        def forward(self, x):
            return self.out(F.relu(self.conv(x.transpose(1, 2))).mean(2))

    module, x = Permuted().eval(), (torch.randn(1, 20, 6),)
    samples = support.samples_like(x, 8)
    got = support.run(support.compile_model(support.export(module, x), "cortex-m55", samples), samples, floats=True)[0]
    want = support.eager(module, samples)[0]
    assert support.sqnr(want, got.reshape(want.shape)) > 28


@pytest.mark.parametrize("batch", [2, 5])
def test_batch(net, batch):
    """A batch compiled in gives, row for row, what batch 1 gives (calibrated on the same data, so within a few steps)."""
    module, x = net
    inputs = (torch.randn(batch, 3, 8, 8),)
    samples = support.samples_like(inputs, 6)
    got = support.run(support.compile_model(support.export(module, inputs), "cortex-m55", samples), samples, floats=True)[0]
    want = support.eager(module, samples)[0]
    assert support.sqnr(want, got.reshape(want.shape)) > 25


def test_several_inputs_and_outputs():
    class Several(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(6, 4), nn.Conv2d(1, 4, 3)

        def forward(self, vector, image, gain):
            y = self.b(image)
            return {"sum": self.a(vector) * gain + y.mean((2, 3)), "map": y}

    module = Several().eval()
    inputs = (torch.randn(1, 6), torch.randn(1, 1, 5, 5), torch.randn(1, 1))
    samples = support.samples_like(inputs, 8)
    got = support.run(support.compile_model(support.export(module, inputs), "cortex-m4", samples), samples, floats=True)
    with torch.no_grad():
        for i in range(8):
            want = list(module(*(torch.from_numpy(s[i]) for s in samples)).values())
            for y, reference in zip(got, want):
                assert abs(y[i].reshape(reference.shape) - reference.numpy()).max() < 0.15


def test_inputs_by_name(net):
    """Arrays of an .npz may be named after the inputs."""
    import numpy as np

    module, x = net
    samples = support.samples_like(x, 8)
    named = support.folder() / "named.npz"
    np.savez(named, x=samples[0], labels=np.zeros(8))
    pt2 = support.export(module, x)
    assert image_bytes(pt2, named) == image_bytes(pt2, samples)


def test_nested_modules_and_buffers():
    """Submodules used twice, and a buffer added."""
    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(8, 8)
            self.register_buffer("shift", torch.randn(8))

        def forward(self, x):
            return F.relu(self.l(x) + self.shift)

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(self.inner(x)) - x

    module, x = Outer().eval(), (torch.randn(1, 8),)
    samples = support.samples_like(x, 8)
    got = support.run(support.compile_model(support.export(module, x), "cortex-m4", samples), samples, floats=True)[0]
    want = support.eager(module, samples)[0]
    assert support.sqnr(want, got.reshape(want.shape)) > 28
