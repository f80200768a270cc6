"""corten.calibrate: data through a model that torchao prepared."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _samples
from ._errors import Code, CompileError, InputTypeError, article
from ._samples import Collector, Spec


def calibrate(prepared: Any, loader: Any, transform: Callable[[Any], Any] | None = None, limit: int | None = None) -> Any:
    """Runs a model of prepare_pt2e or prepare_qat_pt2e over data, so that its observers see ranges; returns the model.

    The model is in eval mode afterwards.

    Args:
        prepared: what prepare_pt2e or prepare_qat_pt2e returned.
        loader: data, as `calibration` of `corten.compile`; batches are cut to the exported size.
        transform: called with each item of `loader`; returns the inputs.
        limit: so many samples at most.

    Raises:
        CompileError: the data or an output is NaN or infinite, or an observer has seen nothing (PyTorch would leave scale 1).
        InputTypeError: `prepared` is no prepared model.
    """
    import torch
    from torch.utils import _pytree
    from torchao.quantization.pt2e import move_exported_model_to_eval

    if not isinstance(prepared, torch.fx.GraphModule):
        raise InputTypeError(Code.no_model, f"{article(prepared)} is no prepared model", "give what prepare_pt2e returned")
    inputs = [n for n in prepared.graph.nodes if n.op == "placeholder"]
    values = [n.meta.get("val") for n in inputs]
    if not all(isinstance(v, torch.Tensor) for v in values):
        raise InputTypeError(Code.wrong_inputs, "the model takes what is no tensor", "call prepared(...) with your samples instead")
    specs = [Spec(n.target, _static(v.shape), "f32" if v.is_floating_point() else "i64") for n, v in zip(inputs, values)]
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    samples = _limited(loader, specs, transform, limit)
    move_exported_model_to_eval(prepared)  # else batch norm would learn from the data
    info = getattr(prepared.graph._codegen, "pytree_info", None)
    with torch.no_grad():
        for s in range(samples.count):
            leaves = [
                torch.from_numpy(a[s].reshape(spec.shape)).to(v.dtype) for a, spec, v in zip(samples.inputs, specs, values)
            ]
            args, kwargs = _pytree.tree_unflatten(leaves, info.in_spec) if info else (leaves, {})
            for output in _pytree.tree_leaves(prepared(*args, **kwargs)):
                if isinstance(output, torch.Tensor) and output.is_floating_point() and not output.isfinite().all():
                    raise CompileError(Code.nonfinite_value, f"the model's output is infinite or NaN for sample {s}", "check the weights and the data")
    _check_observers(prepared)
    return prepared


def _static(shape: Any) -> tuple[int, ...]:
    """A dimension of any length (the batch's) counts as 1."""
    return tuple(d if isinstance(d, int) else 1 for d in shape)


def _limited(loader: Any, specs: list[Spec], transform: Callable[[Any], Any] | None, limit: int | None) -> _samples.Samples:
    if limit is None or isinstance(loader, (str, bytes)):
        samples = _samples.collect(loader, specs, None, transform)
    else:
        collector = Collector(specs, None, "calibration data")
        group = collector.layout.rows or 1
        for number, batch in enumerate(_samples.batches(loader, specs, collector.what, transform)):
            collector.add(batch, number)
            if collector.count >= limit * group:
                break
        samples = collector.finish()
    return samples if limit is None else _samples.Samples([a[:limit] for a in samples.inputs])


def _check_observers(prepared: Any) -> None:
    """Each has seen finite values, and there are some."""
    count = 0
    for node in prepared.graph.nodes:
        module = prepared.get_submodule(node.target) if node.op == "call_module" else None
        observer = getattr(module, "activation_post_process", module)
        low = getattr(observer, "min_val", None)
        if low is None:
            continue
        count += 1
        seen = np.asarray(low.detach().cpu())
        if not seen.size or not np.isfinite(seen).all():
            raise CompileError(Code.uncalibrated, f"the observer of {node.args[0].name} has seen no finite values", "calibrate with more samples")
    if not count:
        raise CompileError(
            Code.uncalibrated,
            "the model has no observers: there is nothing to calibrate",
            "call prepare_pt2e(model, CortenQuantizer().set_global(get_symmetric_quantization_config())) first",
        )
