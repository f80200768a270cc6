"""Quantised operators in PyTorch: q/dq nodes around one operator, with scales and zero points drawn at random.

Several cases go into one program, each with inputs and an output of its own, so that one call of the command tests all of them.
"""
import numpy as np
import support
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401  (defines torch.ops.quantized_decomposed)
from torch import nn

SAMPLES = 3
Q = torch.ops.quantized_decomposed


def quantise(x, scale, zero):
    return Q.quantize_per_tensor.default(x, scale, zero, -128, 127, torch.int8)


def dequantise(q, scale, zero):
    return Q.dequantize_per_tensor.default(q, scale, zero, -128, 127, torch.int8)


def qdq(x, scale, zero):
    return dequantise(quantise(x, scale, zero), scale, zero)


class Weight(nn.Module):
    """A quantised constant: int8 per output channel (axis given) or per tensor."""

    def __init__(self, rng, shape, axis=0, per_channel=True):
        super().__init__()
        self.axis, self.per_channel = axis, per_channel
        self.register_buffer("q", torch.from_numpy(rng.integers(-127, 128, shape).astype(np.int8)))
        channels = shape[axis] if per_channel else 1
        scale = rng.uniform(0.2, 1.0, channels).astype(np.float32) * 0.01
        self.first_scale = float(scale[0])
        self.register_buffer("scale", torch.from_numpy(scale))
        self.register_buffer("zero", torch.zeros(channels, dtype=torch.int64))

    def forward(self):
        if not self.per_channel:
            return Q.dequantize_per_tensor.default(self.q, self.first_scale, 0, -127, 127, torch.int8)
        return Q.dequantize_per_channel.default(self.q, self.scale, self.zero, self.axis, -127, 127, torch.int8)


class Case(nn.Module):
    """y = qdq(op(qdq(x0), qdq(x1), ...)), the output's scale fitting what the samples give.

    op: a module or function of the dequantised inputs. quants: (scale, zero point) of each input. fit: how much of the output's range
    the scale covers (below 1: it saturates), and zero: its zero point, or None to fit it too.
    """

    def __init__(self, op, shapes, quants, seed, fit=1.0, output=None):
        super().__init__()
        self.op, self.shapes, self.quants = op, shapes, quants
        rng = np.random.default_rng(seed)
        self.samples = [self.draw(rng, shape, *quant) for shape, quant in zip(shapes, quants)]
        self.output = output or self.choose(fit)

    @staticmethod
    def draw(rng, shape, scale, zero):
        """Samples on the grid of the scale, nudged off it (never near the middle between two values), some beyond its ends."""
        q = rng.integers(-132, 132, (SAMPLES, *shape)) + rng.uniform(-0.3, 0.3, (SAMPLES, *shape))
        return ((q - zero) * scale).astype(np.float32)

    def choose(self, fit):
        with torch.no_grad():
            y = [self.op(*self.inputs(i)).numpy() for i in range(SAMPLES)]
        lo, hi = min(0.0, float(np.min(y))), max(0.0, float(np.max(y)))
        scale = max((hi - lo) / 255 * fit, 1e-6)
        return scale, int(np.clip(round(-128 - lo / scale), -128, 127))

    def inputs(self, sample):
        return [qdq(torch.from_numpy(s[sample]), *quant) for s, quant in zip(self.samples, self.quants)]

    def forward(self, *xs):
        return qdq(self.op(*(qdq(x, *quant) for x, quant in zip(xs, self.quants))), *self.output)


class Program(nn.Module):
    """Cases side by side."""

    def __init__(self, cases):
        super().__init__()
        self.cases = nn.ModuleList(cases)

    def forward(self, *xs):
        results, first = [], 0
        for case in self.cases:
            count = len(case.shapes)
            results.append(case(*xs[first : first + count]))
            first += count
        return tuple(results)


def check(cases, target="cortex-m4", lsb=1, decomposed=False):
    """Every case within `lsb` of PyTorch's own q/dq result."""
    program = Program(cases).eval()
    samples = [s for case in cases for s in case.samples]
    pt2 = support.export(program, [torch.from_numpy(s[0]) for s in samples], decomposed)
    got = support.run(support.compile_model(pt2, target), samples, floats=True)
    want = support.eager(program, samples)
    assert len(got) == len(want)
    for case, y, reference in zip(cases, got, want):
        assert y.size == reference.size, f"{y.shape}, expected {reference.shape}"
        off = np.abs(y.reshape(reference.shape) - reference) / case.output[0]
        worst = float(off.max()) if off.size else 0.0
        assert worst <= lsb + 1e-3, (
            f"{worst:.2f} LSB off at {np.unravel_index(off.argmax(), off.shape)} of {case.op}, shapes {case.shapes}, "
            f"inputs {case.quants}, output {case.output}; {(off > lsb + 1e-3).mean():.1%} of the elements"
        )
