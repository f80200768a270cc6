"""Single operators as q/dq programs, drawn at random: within one step of the output's scale of PyTorch."""
import numpy as np
import pytest
import qdq
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

TARGETS = st.sampled_from(["cortex-m55", "cortex-m4", "cortex-m0plus"])
SEED = st.integers(0, 2**20)
# Signed data has a zero point near 0, one-sided data one at an end.
QUANT = st.tuples(st.floats(0.004, 0.06), st.one_of(st.integers(-20, 20), st.sampled_from([-128, 127]), st.integers(-128, 127)))
FIT = st.sampled_from([1.0, 1.0, 0.6, 1.7])


def batch(cases, size=6, examples=8):
    """The test gets `examples` programs of `size` drawn cases each."""

    def decorate(test):
        return settings(max_examples=examples)(given(st.lists(cases, min_size=size, max_size=size), TARGETS, st.booleans())(test))
    return decorate


class Conv(nn.Module):
    """A convolution over a quantised weight, bias (float, int32 or none) and fused activation."""

    def __init__(self, rng, dims, shape, out, kernel, stride, padding, dilation, groups, per_channel, bias, act, scale):
        super().__init__()
        self.conv = (F.conv1d, F.conv2d)[dims - 1]
        self.args = (stride, padding, dilation, groups)
        self.weight = qdq.Weight(rng, (out, shape[1] // groups, *kernel), 0, per_channel)
        self.bias, self.act = bias, act
        if bias != "none":
            q = rng.integers(-20000, 20000, out).astype(np.int32)
            steps = self.weight.scale * scale
            self.register_buffer("bias_scale", steps if per_channel else steps.expand(out).contiguous())
            self.register_buffer("bias_zero", torch.zeros(out, dtype=torch.int64))
            if bias == "float":
                self.register_buffer("b", torch.from_numpy(q) * self.bias_scale)
            else:
                self.register_buffer("b", torch.from_numpy(q))

    def bias_value(self):
        if self.bias == "none":
            return None
        if self.bias == "float":
            return self.b
        return qdq.Q.dequantize_per_channel.default(self.b, self.bias_scale, self.bias_zero, 0, -(2**31), 2**31 - 1, torch.int32)

    def forward(self, x):
        return self.act(self.conv(x, self.weight(), self.bias_value(), *self.args))


ACTS = st.sampled_from([nn.Identity(), nn.Identity(), nn.ReLU(), nn.ReLU6(), nn.Hardtanh(-0.5, 2.0)])


@st.composite
def convs(draw, dims=2, depthwise=False):
    kernel = [draw(st.integers(1, 5)) for _ in range(dims)]
    stride = [draw(st.integers(1, 3)) for _ in range(dims)]
    dilation = [draw(st.sampled_from([1, 1, 1, 2, 3])) for _ in range(dims)]
    padding = [draw(st.integers(0, 3)) for _ in range(dims)]
    if depthwise:
        groups = draw(st.integers(1, 19))
        channels, out = groups, groups * draw(st.sampled_from([1, 1, 1, 2, 3]))
    else:
        groups = draw(st.sampled_from([1, 1, 1, 2, 3]))
        channels, out = groups * draw(st.integers(1, 18)), groups * draw(st.integers(1, 9))
    size = [max(1, d * (k - 1) + 1 - 2 * p) + draw(st.integers(0, 8)) for k, d, p in zip(kernel, dilation, padding)]
    shape = (draw(st.sampled_from([1, 1, 1, 2])), channels, *size)
    quant, seed = draw(QUANT), draw(SEED)
    op = Conv(np.random.default_rng(seed), dims, shape, out, kernel, stride, padding, dilation, groups,
              draw(st.booleans()), draw(st.sampled_from(["none", "float", "int32"])), draw(ACTS), quant[0])
    return qdq.Case(op, [shape], [quant], seed, draw(FIT))


@batch(convs(), examples=15)
def test_conv2d(cases, target, decomposed):
    qdq.check(cases, target, decomposed=decomposed)


@batch(convs(dims=1), examples=8)
def test_conv1d(cases, target, decomposed):
    qdq.check(cases, target, decomposed=decomposed)


@batch(convs(depthwise=True), examples=15)
def test_depthwise(cases, target, decomposed):
    qdq.check(cases, target, decomposed=decomposed)


@batch(convs(dims=1, depthwise=True), examples=6)
def test_depthwise_1d(cases, target, decomposed):
    qdq.check(cases, target, decomposed=decomposed)


class Linear(nn.Module):
    def __init__(self, rng, features, out, per_channel, bias, act, scale):
        super().__init__()
        self.weight = qdq.Weight(rng, (out, features), 0, per_channel)
        self.act = act
        self.register_buffer("bias", None)
        if bias:
            self.bias = torch.from_numpy(rng.integers(-20000, 20000, out).astype(np.float32)) * self.weight.scale * scale

    def forward(self, x):
        return self.act(F.linear(x, self.weight(), self.bias))


@st.composite
def linears(draw):
    lead = draw(st.lists(st.integers(1, 5), min_size=0, max_size=3))
    features, out = draw(st.integers(1, 70)), draw(st.integers(1, 20))
    quant, seed = draw(QUANT), draw(SEED)
    op = Linear(np.random.default_rng(seed), features, out, draw(st.booleans()), draw(st.booleans()), draw(ACTS), quant[0])
    return qdq.Case(op, [(*lead, features)], [quant], seed, draw(FIT))


@batch(linears(), examples=12)
def test_linear(cases, target, decomposed):
    qdq.check(cases, target, decomposed=decomposed)


BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "add, relu": lambda a, b: F.relu(a + b), "rsub": lambda a, b: b - a,
          "add alpha": lambda a, b: torch.add(a, b, alpha=0.5)}


@st.composite
def binaries(draw):
    """Two operands of any broadcast: dims of either may be 1 or left out."""
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    shapes = [[d if draw(st.integers(0, 3)) else 1 for d in shape] for _ in range(2)]
    shapes[draw(st.integers(0, 1))] = list(shape)
    keep = draw(st.integers(1, len(shape)))
    side = draw(st.integers(0, 1))
    if draw(st.booleans()) and shapes[1 - side] == shape:
        shapes[side] = shapes[side][-keep:]
    op = BINARY[draw(st.sampled_from(sorted(BINARY)))]
    return qdq.Case(op, [tuple(s) for s in shapes], [draw(QUANT), draw(QUANT)], draw(SEED), draw(FIT))


@batch(binaries(), size=8, examples=12)
def test_binary(cases, target, decomposed):
    qdq.check(cases, target, decomposed=decomposed)


@st.composite
def pools(draw):
    dims = draw(st.integers(1, 2))
    kernel = [draw(st.integers(1, 4)) for _ in range(dims)]
    stride = [draw(st.integers(1, 3)) for _ in range(dims)]
    padding = [draw(st.integers(0, k // 2)) for k in kernel]
    size = [k + draw(st.integers(0, 7)) for k in kernel]
    shape = (draw(st.sampled_from([1, 1, 2])), draw(st.integers(1, 18)), *size)
    ceil = draw(st.booleans())
    if draw(st.booleans()):
        op = (nn.MaxPool1d, nn.MaxPool2d)[dims - 1](kernel[0] if dims == 1 else kernel, stride[0] if dims == 1 else stride,
                                                    padding[0] if dims == 1 else padding, ceil_mode=ceil)
    else:
        op = (nn.AvgPool1d, nn.AvgPool2d)[dims - 1](kernel, stride, padding, ceil_mode=ceil, count_include_pad=draw(st.booleans()))
    return qdq.Case(op, [shape], [draw(QUANT)], draw(SEED), draw(FIT))


@batch(pools(), examples=12)
def test_pool(cases, target, decomposed):
    qdq.check(cases, target, decomposed=decomposed)


@st.composite
def means(draw):
    shape = draw(st.lists(st.integers(1, 7), min_size=1, max_size=4))
    dims = draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, max_size=len(shape), unique=True))
    dims = [d - len(shape) if draw(st.booleans()) else d for d in dims]
    keep = draw(st.booleans())
    return qdq.Case(lambda x: x.mean(dims, keepdim=keep), [tuple(shape)], [draw(QUANT)], draw(SEED), draw(FIT))


@batch(means(), size=8, examples=8)
def test_mean(cases, target, decomposed):
    qdq.check(cases, target, decomposed=decomposed)


@st.composite
def adaptive(draw):
    divides = draw(st.booleans())
    out = [draw(st.integers(1, 4)) for _ in range(2)]
    size = [o * draw(st.integers(1, 4)) for o in out] if divides else [o + draw(st.integers(0, 5)) for o in out]
    op = draw(st.sampled_from([nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d] if divides else [nn.AdaptiveAvgPool2d]))(out)
    return qdq.Case(op, [(1, draw(st.integers(1, 9)), *size)], [draw(QUANT)], draw(SEED), draw(FIT))


@batch(adaptive(), examples=6)
def test_adaptive_pool(cases, target, decomposed):
    qdq.check(cases, target)  # its decomposition gathers by index


UNARY = [nn.Sigmoid(), nn.Tanh(), nn.SiLU(), nn.GELU(), nn.Hardswish(), nn.Hardsigmoid(), nn.ELU(), nn.LeakyReLU(0.1), nn.ReLU(),
         nn.ReLU6(), nn.Softplus(), nn.Mish(), torch.exp, torch.abs, torch.neg, torch.square, torch.sin]


@st.composite
def unaries(draw):
    shape = draw(st.lists(st.integers(1, 7), min_size=1, max_size=4))
    return qdq.Case(draw(st.sampled_from(UNARY)), [tuple(shape)], [draw(QUANT)], draw(SEED), draw(FIT))


@batch(unaries(), size=8, examples=10)
def test_unary(cases, target, decomposed):
    several = (nn.Softplus, nn.Mish)  # core ATen makes several operators of these, whose values have no scales
    qdq.check([c for c in cases if not (decomposed and isinstance(c.op, several))], target, decomposed=decomposed)


@st.composite
def softmaxes(draw):
    shape = draw(st.lists(st.integers(1, 7), min_size=1, max_size=3)) + [draw(st.integers(2, 40))]
    dim = draw(st.sampled_from([-1, -1, 0, len(shape) - 1]))
    if draw(st.booleans()):
        return qdq.Case(nn.Softmax(dim), [tuple(shape)], [draw(QUANT)], draw(SEED), output=(1 / 256, -128))
    return qdq.Case(nn.LogSoftmax(dim), [tuple(shape)], [draw(QUANT)], draw(SEED))


@batch(softmaxes(), examples=8)
def test_softmax(cases, target, decomposed):
    qdq.check(cases, target, decomposed=decomposed)


@st.composite
def movements(draw):
    """Data movement of one operand, scales of input and output each their own."""
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    rank = len(shape)
    dim = draw(st.integers(0, rank - 1))
    start = draw(st.integers(0, shape[dim] - 1))
    stop, step = draw(st.integers(start + 1, shape[dim])), draw(st.integers(1, 3))
    order = draw(st.permutations(range(rank)))
    amounts = [draw(st.integers(0, 2)) for _ in range(2 * rank)]
    quant = draw(QUANT)
    value = draw(st.sampled_from([0.0, quant[0] * (draw(st.integers(-128, 127)) - quant[1])]))  # what the input can represent

    def sliced(x):
        return x[(slice(None),) * dim + (slice(start, stop, step),)]

    op = draw(st.sampled_from([
        sliced, lambda x: x.permute(order), lambda x: F.pad(x, amounts, value=value), lambda x: x.select(dim, start),
        lambda x: x.reshape(-1), lambda x: x.unsqueeze(dim), lambda x: x.flatten(0, dim), lambda x: x.transpose(0, dim),
        lambda x: torch.chunk(x, 2, dim)[0], lambda x: x.permute(order).reshape(-1)]))
    return qdq.Case(op, [shape], [quant], draw(SEED))


@batch(movements(), size=8, examples=15)
def test_movement(cases, target, decomposed):
    qdq.check(cases, target, decomposed=decomposed)


@st.composite
def concats(draw):
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    dim, count = draw(st.integers(0, len(shape) - 1)), draw(st.integers(2, 4))
    shapes = [tuple(draw(st.integers(1, 5)) if i == dim else d for i, d in enumerate(shape)) for _ in range(count)]
    return qdq.Case(lambda *xs: torch.cat(xs, dim), shapes, [draw(QUANT) for _ in shapes], draw(SEED), draw(FIT))


@batch(concats(), examples=10)
def test_concat(cases, target, decomposed):
    qdq.check(cases, target, decomposed=decomposed)


@st.composite
def resizes(draw):
    shape = (1, draw(st.integers(1, 9)), draw(st.integers(1, 6)), draw(st.integers(1, 6)))
    op = draw(st.sampled_from([nn.Upsample(scale_factor=2), nn.Upsample(scale_factor=3), nn.Upsample(size=(7, 9))]))
    return qdq.Case(op, [shape], [draw(QUANT)], draw(SEED))


@batch(resizes(), examples=5)
def test_nearest(cases, target, decomposed):
    qdq.check(cases, target)  # its decomposition gathers by index


class Scaled(nn.Module):
    """Batch normalisation that stands alone: no convolution before it."""

    def __init__(self, rng, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels).eval()
        for tensor, lo in ((self.norm.weight.data, -1.5), (self.norm.bias.data, -1), (self.norm.running_mean, -1), (self.norm.running_var, 0.3)):
            tensor.copy_(torch.from_numpy(rng.uniform(lo, 1.5, channels).astype(np.float32)))

    def forward(self, x):
        return self.norm(x)


@st.composite
def norms(draw):
    channels, seed = draw(st.integers(1, 17)), draw(SEED)
    shape = (1, channels, draw(st.integers(1, 5)), draw(st.integers(1, 5)))
    return qdq.Case(Scaled(np.random.default_rng(seed), channels), [shape], [draw(QUANT)], seed, draw(FIT))


@batch(norms(), examples=5)
def test_batch_norm(cases, target, decomposed):
    qdq.check(cases, target, decomposed=decomposed)


@pytest.mark.parametrize("zero", [-128, -3, 0, 127])
def test_borders(zero):
    """Padding is real zero whatever the zero point: border and interior apart."""
    rng = np.random.default_rng(1)
    quant = (0.02, zero)
    op = Conv(rng, 2, (1, 4, 6, 6), 8, [3, 3], [1, 1], [1, 1], [1, 1], 1, True, "float", nn.Identity(), quant[0])
    whole = qdq.Case(op, [(1, 4, 6, 6)], [quant], 1)
    qdq.check([whole])
