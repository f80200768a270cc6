"""A quantizer for torchao's prepare_pt2e, prepare_qat_pt2e and convert_pt2e: the int8 graph that the kernels run."""
from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import (
    FusedMovingAvgObsFakeQuantize,
    HistogramObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
)
from torchao.quantization.pt2e.observer import MinMaxObserver
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, QuantizationSpec, Quantizer, SharedQuantizationSpec

from ._errors import Code, CompileError, InputTypeError, article, close_names

__all__ = ["CortenQuantizer", "QuantizationConfig", "get_symmetric_quantization_config"]

_EPS = 2**-20
_ANNOTATION = "quantization_annotation"

# By names, so that overloads and in-place forms go together. A weight is operand 1 of these:
_CONVOLUTIONS = {"conv1d", "conv2d", "conv3d", "convolution", "conv_transpose1d", "conv_transpose2d"}
_WEIGHTED = _CONVOLUTIONS | {"linear"}
_NORMS = {"batch_norm", "_native_batch_norm_legit_no_training", "layer_norm", "group_norm", "instance_norm", "prelu"}
_CLAMPS = {"relu", "relu6", "hardtanh", "clamp", "clamp_min"}
# What moves values or picks among them: output and input have the same parameters.
_MOVES = {
    "view", "reshape", "flatten", "unflatten", "permute", "transpose", "t", "squeeze", "unsqueeze", "slice", "select", "expand",
    "contiguous", "clone", "alias", "dropout", "detach", "max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d",
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "upsample_nearest1d", "upsample_nearest2d", "pixel_shuffle", "channel_shuffle",
    "repeat", "flip", "roll", "constant_pad_nd", "pad",
}  # fmt: skip
_SPLITS = {"split", "split_with_sizes", "chunk", "unbind", "tensor_split"}
_JOINS = {"cat", "concat", "stack"}


@dataclass(frozen=True)
class QuantizationConfig:
    """How a part of the model is quantised.

    Attributes:
        activation: torchao's specification for activations.
        weight: torchao's specification for weights.
        is_per_channel: weights have a scale for each output channel.
        is_qat: values are fake-quantised while training.
    """

    activation: QuantizationSpec
    weight: QuantizationSpec
    is_per_channel: bool
    is_qat: bool


def get_symmetric_quantization_config(
    is_per_channel: bool = True,
    is_qat: bool = False,
    act_qmin: int = -128,
    act_qmax: int = 127,
    weight_qmin: int = -127,
    weight_qmax: int = 127,
) -> QuantizationConfig:
    """Symmetric int8 weights and asymmetric int8 activations.

    Args:
        is_per_channel: a scale for each output channel of a weight; else one for each tensor.
        is_qat: for prepare_qat_pt2e; else for prepare_pt2e.
        act_qmin: least value of activations, -128 or more.
        act_qmax: greatest value of activations, 127 or less.
        weight_qmin: least value of weights, -128 or more.
        weight_qmax: greatest value of weights, 127 or less.

    Raises:
        ValueError: a range is none of int8.
    """
    for name, low, high in (("act", act_qmin, act_qmax), ("weight", weight_qmin, weight_qmax)):
        if not -128 <= low < high <= 127:
            raise ValueError(f"{name}_qmin {low} and {name}_qmax {high} are no range of int8")
    scheme = torch.per_channel_symmetric if is_per_channel else torch.per_tensor_symmetric
    if is_qat:
        activation_observer = FusedMovingAvgObsFakeQuantize.with_args(observer=MovingAverageMinMaxObserver, eps=_EPS)
        observer = MovingAveragePerChannelMinMaxObserver if is_per_channel else MovingAverageMinMaxObserver
        weight_observer = FusedMovingAvgObsFakeQuantize.with_args(observer=observer, eps=_EPS)
    else:
        activation_observer = HistogramObserver.with_args(eps=_EPS)
        weight_observer = (PerChannelMinMaxObserver if is_per_channel else MinMaxObserver).with_args(eps=_EPS)
    return QuantizationConfig(
        activation=_spec(activation_observer, act_qmin, act_qmax, torch.per_tensor_affine),
        weight=_spec(weight_observer, weight_qmin, weight_qmax, scheme, 0 if is_per_channel else None),
        is_per_channel=is_per_channel,
        is_qat=is_qat,
    )


def _spec(observer: Any, low: int, high: int, scheme: torch.qscheme, axis: int | None = None) -> QuantizationSpec:
    return QuantizationSpec(
        dtype=torch.int8,
        observer_or_fake_quant_ctr=observer,
        quant_min=low,
        quant_max=high,
        qscheme=scheme,
        ch_axis=axis,
        is_dynamic=False,
    )


Config = QuantizationConfig | None


class CortenQuantizer(Quantizer):
    """For prepare_pt2e and prepare_qat_pt2e. Setters take a QuantizationConfig, or None to keep that part in float, and return self.

    What is float in PyTorch is int8 on the core all the same: it gets its scales from the `calibration` of `corten.compile`.

    The most particular setting counts: a node's name, then the innermost module's name, its type, the operator, at last the global
    one. Concat, pooling, views and other movements of data keep the scale of their input; convolution, batch norm and activation
    have one scale together, and so do additions and their activation.
    """

    def __init__(self) -> None:
        super().__init__()
        self._global: Config = None
        self._io: Config = None
        self._by_node: dict[str, Config] = {}
        self._by_module: dict[str, Config] = {}
        self._by_type: dict[str, Config] = {}
        self._by_operator: dict[str, Config] = {}
        self._filter: Callable[[Node], bool] | None = None

    def set_global(self, config: Config) -> CortenQuantizer:
        """For all that no other setting names."""
        self._global = _checked(config)
        return self

    def set_module_name(self, name: str, config: Config) -> CortenQuantizer:
        """For a module, as in "layers.0", and all inside it. A name that matches nothing is a CompileError of prepare_pt2e."""
        self._by_module[_named(name, "module")] = _checked(config)
        return self

    def set_module_type(self, kind: type[torch.nn.Module], config: Config) -> CortenQuantizer:
        """For modules of a class, as in nn.Linear."""
        if not isinstance(kind, type):
            raise InputTypeError(Code.no_such_part, f"a module type is a class, not {kind!r}", "for a name there is set_module_name")
        self._by_type[f"{kind.__module__}.{kind.__qualname__}"] = _checked(config)
        return self

    def set_operator_type(self, op: Any, config: Config) -> CortenQuantizer:
        """For an operator, as in torch.ops.aten.conv2d.default (or torch.ops.aten.conv2d: all its overloads)."""
        if not isinstance(op, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
            raise InputTypeError(Code.no_such_part, f"an operator is one of torch.ops, not {op!r}", "for example torch.ops.aten.conv2d.default")
        self._by_operator[str(op)] = _checked(config)
        return self

    def set_node_name(self, name: str, config: Config) -> CortenQuantizer:
        """For a node of the exported graph. A name that matches nothing is a CompileError of prepare_pt2e."""
        self._by_node[_named(name, "node")] = _checked(config)
        return self

    def set_io(self, config: Config) -> CortenQuantizer:
        """For inputs and outputs of the whole program."""
        self._io = _checked(config)
        return self

    def set_filter_function(self, function: Callable[[Node], bool] | None) -> CortenQuantizer:
        """Only nodes for which it is true are quantised, and those that `set_node_name` names; None: all."""
        if function is not None and not callable(function):
            raise InputTypeError(Code.no_such_part, f"{article(function)} is no function of a node", "give one, for example lambda node: True, or None")
        self._filter = function
        return self

    # ---- what torchao calls

    def annotate(self, model: GraphModule) -> GraphModule:
        """prepare_pt2e calls it. Raises CompileError where a setting names a node or module that is not there."""
        self._check_names(model)
        for node in model.graph.nodes:
            if node.op == "call_function":
                self._annotate(node)
            elif self._io and node.op == "placeholder" and _is_float(node):
                node.meta[_ANNOTATION] = QuantizationAnnotation(output_qspec=self._io.activation, _annotated=True)
            elif self._io and node.op == "output":
                inputs = {n: self._io.activation for n in node.all_input_nodes if _is_float(n)}
                node.meta[_ANNOTATION] = QuantizationAnnotation(input_qspec_map=inputs, _annotated=True)
        return model

    def validate(self, model: GraphModule) -> None:
        """prepare_pt2e calls it; there is nothing to check."""

    # ---- which configuration

    def _config_of(self, node: Node) -> Config:
        if node.name in self._by_node:
            return self._by_node[node.name]
        if self._filter and not self._filter(node):
            return None
        stack = _module_stack(node)
        for table, place in ((self._by_module, 0), (self._by_type, 1)):
            for entry in reversed(stack):
                if entry[place] in table:
                    return table[entry[place]]
        for name in (str(node.target), str(getattr(node.target, "overloadpacket", ""))):
            if name in self._by_operator:
                return self._by_operator[name]
        return self._global

    def _check_names(self, model: GraphModule) -> None:
        nodes = [n.name for n in model.graph.nodes]
        modules = sorted({path for n in model.graph.nodes for path, _ in _module_stack(n)})
        for what, wanted, known in (("node", self._by_node, nodes), ("module", self._by_module, modules)):
            for name in wanted:
                if name not in known:
                    help = close_names(name, known) or f"there are {', '.join(known[:12])}{', ...' if len(known) > 12 else ''}"
                    raise CompileError(Code.no_such_part, f"the model has no {what} '{name}'", help)

    # ---- annotations

    def _annotate(self, node: Node) -> None:
        config = self._config_of(node)
        tensors = [n for n in node.all_input_nodes if _is_float(n)]
        name = _name(node)
        if config is None or not tensors or name in _CLAMPS | {"batch_norm"} and self._is_absorbed(node):
            return
        act = config.activation
        inputs: dict[Node, Any] = {n: act for n in tensors}
        output: Any = act
        if name in _WEIGHTED:
            inputs = {_operand(node, 0): act, _operand(node, 1): _weight_spec(node, config)}
        elif name in _NORMS:
            inputs = {_operand(node, 0): act}
        elif name in _JOINS:
            first = (tensors[0], node)
            inputs = {tensors[0]: act, **{n: SharedQuantizationSpec(first) for n in tensors[1:]}}
            output = SharedQuantizationSpec(first)
        elif node.target is operator.getitem:
            source = tensors[0]
            annotation = source.meta.get(_ANNOTATION)
            if annotation is None or _name(source) not in _SPLITS:
                return
            inputs, output = {}, SharedQuantizationSpec((source.all_input_nodes[0], source))
        elif name in _MOVES:
            output = SharedQuantizationSpec((tensors[0], node))
        if name in _SPLITS or not isinstance(node.meta.get("val"), torch.Tensor):
            output = None
        elif not _is_float(node):
            output = None
        chain = self._chain(node)
        if len(chain) > 1:  # only what comes out of the last one has a scale
            output = None
            for inner in chain[1:-1]:
                inner.meta[_ANNOTATION] = QuantizationAnnotation(_annotated=True)
            chain[-1].meta[_ANNOTATION] = QuantizationAnnotation(output_qspec=act, _annotated=True)
        node.meta[_ANNOTATION] = QuantizationAnnotation(input_qspec_map=inputs, output_qspec=output, _annotated=True)

    def _chain(self, node: Node) -> list[Node]:
        """Convolution or linear, batch norm, activation; or an addition or multiplication and its activation."""
        chain = [node]
        for first, then in ((_CONVOLUTIONS, {"batch_norm"}), (_WEIGHTED | _NORMS | {"add", "sub", "mul"}, _CLAMPS)):
            user = self._only_user(chain[-1], then) if _name(node) in first else None
            chain += [user] if user else []
        return chain

    def _only_user(self, node: Node, names: set[str]) -> Node | None:
        if len(node.users) != 1:
            return None
        user = next(iter(node.users))
        fits = user.op == "call_function" and _name(user) in names and user.args[0] is node
        return user if fits and self._config_of(user) is self._config_of(node) else None

    def _is_absorbed(self, node: Node) -> bool:
        return _ANNOTATION in node.meta and node.meta[_ANNOTATION]._annotated


def _named(name: Any, what: str) -> str:
    if not isinstance(name, str):
        raise InputTypeError(Code.no_such_part, f"a {what} is named by a string, not by {article(name)}", f"give the {what}'s name")
    return name


def _checked(config: Any) -> Config:
    if config is not None and not isinstance(config, QuantizationConfig):
        raise InputTypeError(
            Code.bad_scales,
            f"{article(config)} is no configuration", "give get_symmetric_quantization_config(), or None to keep float"
        )
    return config


def _name(node: Node) -> str:
    """ "relu" of aten.relu_.default."""
    packet = getattr(node.target, "overloadpacket", None)
    return packet.__name__.rstrip("_") if packet is not None else getattr(node.target, "__name__", "")


def _operand(node: Node, index: int) -> Node:
    operand = node.args[index]
    assert isinstance(operand, Node)
    return operand


def _is_float(node: Node) -> bool:
    value = node.meta.get("val")
    if isinstance(value, (tuple, list)):
        value = value[0] if value else None
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _module_stack(node: Node) -> list[tuple[str, str]]:
    """(path, class) of the modules that a node is in, from the outermost."""
    stack = []
    for path, kind in (node.meta.get("nn_module_stack") or {}).values():
        name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
        stack.append((path, name))
    return stack


def _weight_spec(node: Node, config: QuantizationConfig) -> QuantizationSpec:
    """Of a transposed convolution the output channels are the second axis."""
    spec = config.weight
    if not config.is_per_channel or "conv_transpose" not in _name(node):
        return spec
    groups = node.args[6] if len(node.args) > 6 else 1
    if groups != 1:
        return _spec(MinMaxObserver.with_args(eps=_EPS), spec.quant_min, spec.quant_max, torch.per_tensor_symmetric)
    return _spec(spec.observer_or_fake_quant_ctr, spec.quant_min, spec.quant_max, spec.qscheme, 1)
