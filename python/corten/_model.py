"""What people have as models, as a .pt2 that the compiler reads."""
from __future__ import annotations

import contextlib
import inspect
import os
import re
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._errors import Code, CompileError, InputTypeError, article, path_of
from ._samples import is_tensor

_MODEL_HELP = "give torch.export.export(model.eval(), example_inputs), the path of a .pt2, or a module with example_inputs="
_EXPORT_HELP = (
    "export again: torch.export.export(model.eval(), example_inputs); a model of prepare_qat_pt2e goes through "
    "torchao's move_exported_model_to_eval before convert_pt2e"
)
_EXAMPLE_HELP = "give a tuple of forward's arguments in their order, or a dict of them by name"
_TRAINING_LAYERS = re.compile(r"^(_?BatchNorm|SyncBatchNorm|LazyBatchNorm|InstanceNorm|.*Dropout|RReLU)")


@dataclass
class Source:
    path: str
    subject: str  # what messages call it
    name: str | None = None


def _is(value: Any, module: str, name: str) -> bool:
    """isinstance without importing torch."""
    return any(t.__name__ == name and t.__module__.startswith(module) for t in type(value).__mro__)


@contextlib.contextmanager
def opened(model: Any, example_inputs: Any = None, name: str | None = None) -> Iterator[Source]:
    """The model as a .pt2; a temporary one where it is in memory."""
    if isinstance(model, (str, os.PathLike)):
        path = path_of(model, "model")
        if not Path(path).is_file():
            raise CompileError(Code.no_file, f"there is no file {path}", _MODEL_HELP)
        yield Source(path, path)
        return
    if _is(model, "torch.nn", "Module") and not _is(model, "torch.export", "ExportedProgram"):
        model = _exported(model, example_inputs)
        name = name or model[1]
        model = model[0]
    elif not _is(model, "torch.export", "ExportedProgram"):
        what = "a dict of weights" if isinstance(model, Mapping) else article(model)
        raise InputTypeError(Code.no_model, f"{what} is no model", _MODEL_HELP)
    refuse_training(model)
    name = identifier(name or root_class(model) or "model")
    with tempfile.TemporaryDirectory(prefix="corten-") as folder:
        path = os.path.join(folder, f"{name}.pt2")
        _saved(model, path)
        yield Source(path, f"the exported program {name}", name)


_SAVING = threading.Lock()  # torch.export.save is for one thread at a time


def _saved(program: Any, path: str) -> None:
    import torch

    try:
        with _SAVING:
            torch.export.save(program, path)
    except NotImplementedError as error:  # named tuples and other classes of the user among arguments or results
        help = "let forward take and return tensors, tuples, lists and dicts, or register the class with torch.utils._pytree"
        raise CompileError(Code.no_model, f"torch.export.save cannot write the program: {error}", help) from error


def identifier(name: str) -> str:
    """ "KeywordNet" -> "keyword_net"."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"\W", "_", name).lower() or "model"


def root_class(program: Any) -> str | None:
    """The name of the class that was exported."""
    for node in program.graph.nodes:
        for path, kind in (node.meta.get("nn_module_stack") or {}).values():
            name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
            if path == "" and not name.endswith("GraphModule") and not name.startswith("torch.export."):  # a wrapper of its own
                return name.rpartition(".")[2]
    return None


def _exported(module: Any, example_inputs: Any) -> tuple[Any, str]:
    import torch

    kind = type(module).__name__
    active = [f"{type(m).__name__} '{n}'" if n else kind for n, m in module.named_modules() if m.training and _trains(m)]
    if active:
        layers = ", ".join(active[:3]) + (", ..." if len(active) > 3 else "")
        raise CompileError(Code.train_mode, f"{kind} is in train mode: {layers} would change or drop values", "call model.eval() first")
    if example_inputs is None:
        help = "give example_inputs=(x,), one tensor for each input of forward"
        raise InputTypeError(Code.no_model, f"{kind} is a module, which must be exported first", help)
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    if isinstance(example_inputs, Mapping):
        kwargs = dict(example_inputs)
    elif is_tensor(example_inputs):
        args = (example_inputs,)
    elif isinstance(example_inputs, Iterable) and not isinstance(example_inputs, (str, bytes)):
        args = tuple(example_inputs)
    else:
        raise InputTypeError(Code.wrong_inputs, f"example_inputs is {article(example_inputs)}", _EXAMPLE_HELP)
    try:
        inspect.signature(module.forward).bind(*args, **kwargs)
    except TypeError as error:
        raise InputTypeError(Code.wrong_inputs, f"example_inputs do not fit forward of {kind}: {error}", _EXAMPLE_HELP) from None
    with torch.no_grad():
        return torch.export.export(module, args, kwargs), kind


def _trains(layer: Any) -> bool:
    """Whether train mode makes it compute something else."""
    return type(layer).__module__.startswith("torch.nn") and bool(_TRAINING_LAYERS.match(type(layer).__name__))


def refuse_training(program: Any) -> None:
    """Dropout and batch norm that still train, which no compiled program can mean."""
    for node in program.graph.nodes:
        operator = str(node.target) if node.op == "call_function" else ""
        arguments = _arguments(node) if operator else {}
        if "dropout" in operator and arguments.get("train"):
            what = f"{node.name} ({operator}) drops values at random"
        elif "batch_norm" in operator and arguments.get("training"):
            what = f"{node.name} ({operator}) normalises by the batch"
        else:
            continue
        raise CompileError(Code.train_mode, f"the model was exported in train mode: {what}", _EXPORT_HELP)
    counters = ("num_batches_tracked", "running_mean")
    updated = [b for b in program.graph_signature.buffers_to_mutate.values() if b.endswith(counters)]
    if updated:
        raise CompileError(Code.train_mode, f"the model was exported in train mode: it updates {updated[0]}", _EXPORT_HELP)


def _arguments(node: Any) -> dict[str, Any]:
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return {}
    return {**{a.name: v for a, v in zip(schema.arguments, node.args)}, **node.kwargs}
