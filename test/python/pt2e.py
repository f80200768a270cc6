"""PT2E post-training quantisation of a whole module: int8 activations per tensor, int8 weights per output channel."""
import torch
from torchao.quantization.pt2e import HistogramObserver, MinMaxObserver, PerChannelMinMaxObserver
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, QuantizationSpec, Quantizer, SharedQuantizationSpec

aten = torch.ops.aten
WEIGHTED = {aten.conv2d.default, aten.conv1d.default, aten.conv2d.padding, aten.conv1d.padding, aten.linear.default}
CLAMPS = {aten.relu.default, aten.relu_.default, aten.relu6.default, aten.hardtanh.default, aten.hardtanh_.default}
MOVES = {aten.view.default, aten.reshape.default, aten.flatten.using_ints, aten.permute.default, aten.transpose.int, aten.slice.Tensor,
         aten.select.int, aten.max_pool2d.default, aten.unsqueeze.default, aten.squeeze.dim, aten.upsample_nearest2d.vec,
         aten.dropout.default}


def spec(observer, per_channel=False):
    low = -127 if per_channel else -128
    scheme = torch.per_channel_symmetric if per_channel else torch.per_tensor_affine
    return QuantizationSpec(dtype=torch.int8, quant_min=low, quant_max=127, qscheme=scheme, ch_axis=0 if per_channel else None,
                            is_dynamic=False, observer_or_fake_quant_ctr=observer)


class Int8Quantizer(Quantizer):
    def __init__(self, observer=MinMaxObserver):
        super().__init__()
        self.activation = spec(observer.with_args(eps=2**-20))
        self.weight = spec(PerChannelMinMaxObserver.with_args(eps=2**-20), per_channel=True)

    def annotate(self, model):
        for node in model.graph.nodes:
            if node.op == "call_function" and isinstance(node.meta.get("val"), torch.Tensor):
                node.meta["quantization_annotation"] = self.annotation(node)
        return model

    def annotation(self, node):
        tensors = [a for a in node.all_input_nodes if isinstance(a.meta.get("val"), torch.Tensor) and a.meta["val"].is_floating_point()]
        inputs = {a: self.activation for a in tensors}
        if node.target in WEIGHTED:
            inputs = {node.args[0]: self.activation, node.args[1]: self.weight}
        output = self.activation
        if node.target in MOVES and tensors:
            output = SharedQuantizationSpec((tensors[0], node))
        # A convolution whose only reader is its activation has no scale of its own.
        if node.target in WEIGHTED and len(node.users) == 1 and next(iter(node.users)).target in CLAMPS:
            output = None
        if node.target in CLAMPS and tensors[0].target in WEIGHTED and len(tensors[0].users) == 1:
            inputs = {}
        return QuantizationAnnotation(input_qspec_map=inputs, output_qspec=output, _annotated=True)

    def validate(self, model):
        pass


def quantised(module, inputs, samples, observer=MinMaxObserver):
    """The module with q/dq nodes, calibrated on samples (arrays, samples first)."""
    with torch.no_grad():
        prepared = prepare_pt2e(torch.export.export(module, tuple(inputs)).module(), Int8Quantizer(observer))
        for one in zip(*samples):
            prepared(*(torch.from_numpy(a) for a in one))
        return convert_pt2e(prepared)


__all__ = ["HistogramObserver", "MinMaxObserver", "quantised"]
