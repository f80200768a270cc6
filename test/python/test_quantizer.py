"""corten.quantizer with torchao: what it annotates, what its setters keep, QAT to the end. Needs the package: `pip install .`."""
import importlib.util

import numpy as np
import pytest
import support
import torch
import torch.nn.functional as F
from torch import nn
from torchao.quantization.pt2e import (
    disable_fake_quant,
    disable_observer,
    enable_fake_quant,
    move_exported_model_to_eval,
    move_exported_model_to_train,
)
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e

corten = support.package()
from corten.quantizer import CortenQuantizer, get_symmetric_quantization_config

CONFIG = get_symmetric_quantization_config()


class Residual(nn.Module):
    """Convolution, batch norm and an in-place activation; a residual addition, concat, pooling, views."""

    def __init__(self):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.c2, self.b2 = nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.act, self.pool = nn.ReLU(inplace=True), nn.MaxPool2d(2)
        self.classify = nn.Linear(16 * 4 * 4, 5)

    def forward(self, x):
        y = self.act(self.b1(self.c1(x)))
        z = self.act(self.b2(self.c2(y)) + y)
        return self.classify(self.pool(torch.cat([z, y], 1)).flatten(1))


def residual():
    module = Residual().train()
    for _ in range(3):
        module(torch.randn(8, 3, 8, 8))
    return module.eval()


X = (torch.randn(1, 3, 8, 8),)


def prepared(quantizer, module=None, prepare=prepare_pt2e, guards=True):
    return prepare(torch.export.export(module or residual(), X).module(check_guards=guards), quantizer)


def quantised(quantizer, **options):
    return convert_pt2e(corten.calibrate(prepared(quantizer, **options), [torch.randn(8, 3, 8, 8) for _ in range(4)]))


def nodes(model, name):
    return [n for n in model.graph.nodes if n.op == "call_function" and getattr(n.target, "_opname", "") == name]


def in_int8(node):
    """Whether the node reads a dequantised value."""
    return "dequantize" in str(node.args[0].target)


def scale_of(node):
    """Scale and zero point of the dequantize that a node is."""
    return node.args[1:3]


@pytest.mark.parametrize("guards", [True, False])
def test_one_int8_graph(guards):
    """Nothing is left to calibrate, and the program is PyTorch's to the LSB of its few layers."""
    model = quantised(CortenQuantizer().set_global(CONFIG), guards=guards)
    program = corten.compile(torch.export.export(model, X), target="cortex-m4")
    assert program.report()["name"] == "residual"
    assert [s["op"] for s in program.report()["steps"]] == ["conv2d", "conv2d", "add", "concat", "max_pool", "linear"]
    x = torch.randn(8, 3, 8, 8)
    want = torch.cat([model(one[None]) for one in x])
    assert (program(x) - want).abs().max() <= 2.01 * program.outputs[0].scale


def test_scales():
    model = quantised(CortenQuantizer().set_global(CONFIG))
    assert not nodes(model, "batch_norm")
    for conv in nodes(model, "conv2d"):
        assert in_int8(conv) and conv.args[1].target is torch.ops.quantized_decomposed.dequantize_per_channel.default
        assert conv.args[1].args[3:6] == (0, -127, 127)
    for relu in nodes(model, "relu_"):  # no scale between an operator and its activation
        assert not in_int8(relu)
    cat, pool, flatten, linear = (nodes(model, n)[0] for n in ("cat", "max_pool2d", "flatten", "linear"))
    shared = {scale_of(n) for n in (*cat.args[0], pool.args[0], flatten.args[0], linear.args[0])}
    assert len(shared) == 1, "concat, pooling and views have one scale"


def kept_float(quantizer):
    """Names of the operators whose weights are no int8."""
    model = quantised(quantizer.set_global(CONFIG))
    return {name for name in ("conv2d", "linear") for n in nodes(model, name) if "dequantize" not in str(n.args[1].target)}


@pytest.mark.parametrize(
    "setting, floats",
    [
        (lambda q: q, set()),
        (lambda q: q.set_module_name("classify", None), {"linear"}),
        (lambda q: q.set_module_type(nn.Linear, None), {"linear"}),
        (lambda q: q.set_operator_type(torch.ops.aten.linear.default, None), {"linear"}),
        (lambda q: q.set_operator_type(torch.ops.aten.linear, None), {"linear"}),
        (lambda q: q.set_node_name("linear", None), {"linear"}),
        (lambda q: q.set_filter_function(lambda node: node.name != "linear"), {"linear"}),
        (lambda q: q.set_module_type(nn.Linear, None).set_module_name("classify", CONFIG), set()),
        (lambda q: q.set_filter_function(None).set_io(CONFIG), set()),
    ],
)
def test_setters(setting, floats):
    assert kept_float(setting(CortenQuantizer())) == floats


def test_nothing_is_quantised_by_itself():
    model = convert_pt2e(prepared(CortenQuantizer()))
    assert not [n for n in model.graph.nodes if "quantize" in str(n.target)]


def test_io():
    """Inputs and outputs alone; all between stays float."""
    model = quantised(CortenQuantizer().set_io(CONFIG))
    assert len(nodes(model, "quantize_per_tensor")) == 2 and not nodes(model, "dequantize_per_channel")


def test_per_tensor_and_ranges():
    config = get_symmetric_quantization_config(is_per_channel=False, act_qmin=-100, act_qmax=100, weight_qmin=-63, weight_qmax=63)
    conv = nodes(quantised(CortenQuantizer().set_global(config)), "conv2d")[0]
    assert conv.args[1].args[3:5] == (-63, 63) and conv.args[0].args[3:5] == (-100, 100)
    with pytest.raises(ValueError, match="act_qmin"):
        get_symmetric_quantization_config(act_qmin=0, act_qmax=255)


def test_names_that_match_nothing():
    with pytest.raises(corten.CompileError, match="no module 'clasify'(.|\n)*did you mean 'classify'"):
        prepared(CortenQuantizer().set_module_name("clasify", None))
    with pytest.raises(ValueError, match="no node 'liner'(.|\n)*did you mean 'linear'"):
        prepared(CortenQuantizer().set_node_name("liner", CONFIG))


def test_wrong_arguments():
    for call in (
        lambda q: q.set_global("int8"),
        lambda q: q.set_module_type("Linear", CONFIG),
        lambda q: q.set_operator_type(F.linear, CONFIG),
        lambda q: q.set_module_name(nn.Linear(2, 2), None),
        lambda q: q.set_node_name(None, CONFIG),
        lambda q: q.set_filter_function("conv"),
    ):
        with pytest.raises(TypeError):
            call(CortenQuantizer())


# ---- calibrate ----------------------------------------------------------------------------------------------------------------


def test_calibrate_takes_loaders_and_a_limit():
    model = prepared(CortenQuantizer().set_global(CONFIG))
    seen = []
    data = ((torch.randn(8, 3, 8, 8), torch.arange(8)) for _ in range(1000))
    assert corten.calibrate(model, data, transform=lambda b: seen.append(0) or b, limit=12) is model
    assert len(seen) == 2


def test_calibrate_refuses():
    model = prepared(CortenQuantizer().set_global(CONFIG))
    bad = torch.randn(8, 3, 8, 8)
    bad[3, 0, 0, 0] = torch.nan
    with pytest.raises(corten.CompileError, match="NaN in sample 3"):
        corten.calibrate(model, [bad])
    with pytest.raises(corten.CompileError, match="no samples"):
        corten.calibrate(model, [])
    with pytest.raises(corten.CompileError, match="shape"):
        corten.calibrate(model, [torch.randn(8, 3, 8, 9)])
    with pytest.raises(ValueError, match="limit"):
        corten.calibrate(model, [torch.randn(8, 3, 8, 8)], limit=0)
    with pytest.raises(TypeError):
        corten.calibrate(nn.Linear(2, 2), [torch.randn(1, 2)])
    with pytest.raises(corten.CompileError, match="no observers(.|\n)*prepare_pt2e"):
        corten.calibrate(torch.export.export(residual(), (torch.randn(1, 3, 8, 8),)).module(), [torch.randn(8, 3, 8, 8)])
    broken = residual()
    with torch.no_grad():
        broken.classify.weight[0, 0] = torch.inf
    with pytest.raises(corten.CompileError, match="infinite or NaN|no finite"):
        corten.calibrate(prepared(CortenQuantizer().set_global(CONFIG), broken), [torch.randn(8, 3, 8, 8)])


# ---- quantisation-aware training ----------------------------------------------------------------------------------------------


def fine_tuned(model, images, labels, epochs=2):
    """A prepared model after a little training; observers stand still afterwards."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    move_exported_model_to_train(model)
    for _ in range(epochs):
        for batch in torch.randperm(len(images)).split(64):
            optimizer.zero_grad()
            F.cross_entropy(model(images[batch]), labels[batch]).backward()
            optimizer.step()
    move_exported_model_to_eval(model)
    return model.apply(disable_observer)


def top1(model, images, labels):
    with torch.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def any_batch():
    return ({0: torch.export.Dim("batch", min=1, max=4096)},)


def test_qat_of_digits():
    """From the float model over training to the compiled program: as accurate as PyTorch's fake-quant model within 0.3 points."""
    spec = importlib.util.spec_from_file_location("digits", support.ROOT / "examples/digits/train.py")
    digits = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(digits)
    train_x, test_x, train_y, test_y = (torch.from_numpy(np.ascontiguousarray(a)) for a in digits.load())
    digits.EPOCHS = 12
    module = digits.DigitsCnn()
    digits.train(module, train_x, train_y)
    exported = torch.export.export(module.eval(), (train_x[:64],), dynamic_shapes=any_batch())
    quantizer = CortenQuantizer().set_global(get_symmetric_quantization_config(is_qat=True))
    trained = fine_tuned(prepare_qat_pt2e(exported.module(), quantizer), train_x, train_y)
    fake_quant = top1(trained, test_x, test_y)
    program = corten.compile(torch.export.export(convert_pt2e(trained), (test_x[:1],)), target="cortex-m55")
    compiled = top1(program, test_x, test_y)
    print(f"top-1: float32 {top1(module, test_x, test_y):.4f}, fake-quant {fake_quant:.4f}, compiled {compiled:.4f}")
    assert fake_quant > 0.9 and abs(compiled - fake_quant) <= 0.003


def test_qat_of_batch_norm():
    """Convolution, batch norm and activation train together and fold into one step; calibration does not train them."""
    module = residual()
    quantizer = CortenQuantizer().set_global(get_symmetric_quantization_config(is_qat=True))
    model = corten.calibrate(prepared(quantizer, module, prepare_qat_pt2e), [torch.randn(8, 3, 8, 8) for _ in range(4)])
    x = torch.randn(8, 3, 8, 8)
    model.apply(disable_observer).apply(disable_fake_quant)
    assert support.sqnr(module(x).detach(), torch.cat([model(one[None]) for one in x]).detach()) > 60
    converted = convert_pt2e(model.apply(enable_fake_quant))
    program = corten.compile(torch.export.export(converted, X), target="cortex-m4")
    assert [s["op"] for s in program.report()["steps"]] == ["conv2d", "conv2d", "add", "concat", "max_pool", "linear"]
    want = torch.cat([converted(one[None]) for one in x])
    assert (program(x) - want).abs().max() <= 2.01 * program.outputs[0].scale
