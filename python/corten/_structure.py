"""How forward's arguments and results are built from tensors: torch.export's treespecs, as the .pt2 holds them."""
from __future__ import annotations

import json
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._errors import article

_SEQUENCES = {"builtins.tuple": tuple, "builtins.list": list, "collections.deque": list}
_MAPPINGS = {"builtins.dict": dict, "collections.OrderedDict": OrderedDict}


class Mismatch(Exception):
    """Arguments are not built as they were at export."""


@dataclass
class Structure:
    """`inputs` and `outputs` have an entry for each leaf: its name, or None for what is no tensor."""

    inputs: list[str | None] = field(default_factory=list)
    outputs: list[str | None] = field(default_factory=list)
    in_spec: str = ""
    out_spec: str = ""
    arguments: list[str] = field(default_factory=list)  # names of forward's parameters

    def to_json(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """The tensors that forward(*args, **kwargs) is given, in the program's order. Raises Mismatch."""
        given = dict(zip(self.arguments, args))
        if len(args) > len(self.arguments):
            raise Mismatch(f"{len(args)} arguments, but forward takes {len(self.arguments)}")
        for name, value in kwargs.items():
            if name not in self.arguments:
                raise Mismatch(f"forward has no argument '{name}', only {', '.join(self.arguments)}")
            if name in given:
                raise Mismatch(f"argument '{name}' is given twice")
            given[name] = value
        leaves: list[Any] = []
        for name, spec in zip(self.arguments, self._argument_specs()):
            wanted = self.inputs[len(leaves) : len(leaves) + _leaves(spec)]
            if name not in given and not any(wanted):  # constants need not be repeated
                leaves += [None] * len(wanted)
            elif name not in given:
                raise Mismatch(f"argument '{name}' is missing")
            else:
                leaves += _flatten(given[name], spec, name)
        return [leaf for leaf, name in zip(leaves, self.inputs) if name is not None]

    def _argument_specs(self) -> list[dict[str, Any]]:
        positional, keywords = _node(self.in_spec)["children_spec"]
        return [*positional["children_spec"], *keywords["children_spec"]]

    def single_argument(self) -> bool:
        return len(self.arguments) == 1

    def keys(self) -> list[str]:
        """Of the dict that is forward's one argument; none where that is something else."""
        specs = self._argument_specs() if self.single_argument() else []
        return json.loads(specs[0]["context"]) if specs and specs[0]["type"] in _MAPPINGS else []

    def restore(self, outputs: list[Any]) -> Any:
        """What forward returns, from the program's outputs."""
        spec = _node(self.out_spec) if self.out_spec else None
        if spec is None or len(outputs) != sum(o is not None for o in self.outputs):
            return outputs[0] if len(outputs) == 1 else tuple(outputs)
        tensors = iter(outputs)
        leaves = iter([next(tensors) if o is not None else None for o in self.outputs])
        try:
            return _unflatten(leaves, spec)
        except Mismatch:
            return self._restore_by_torch(outputs)

    def _restore_by_torch(self, outputs: list[Any]) -> Any:
        """Of named tuples and types that the user registered."""
        tensors = iter(outputs)
        leaves = [next(tensors) if o is not None else None for o in self.outputs]
        try:
            from torch.utils import _pytree

            return _pytree.tree_unflatten(leaves, _pytree.treespec_loads(self.out_spec))
        except Exception:  # torch is not here, or does not know the type
            return tuple(outputs)


def _node(spec: str) -> dict[str, Any]:
    return json.loads(spec)[1]


def _leaves(spec: dict[str, Any]) -> int:
    return 1 if spec["type"] is None else sum(map(_leaves, spec["children_spec"]))


def _flatten(value: Any, spec: dict[str, Any], path: str) -> list[Any]:
    kind, children = spec["type"], spec["children_spec"]
    if kind is None:
        if isinstance(value, (tuple, list, Mapping)):
            raise Mismatch(f"'{path}' must be a tensor, not {article(value)}")
        return [value]
    if kind in _MAPPINGS:
        keys = json.loads(spec["context"])
        if not isinstance(value, Mapping) or set(value) != set(keys):
            raise Mismatch(f"'{path}' must be a dict of {', '.join(map(repr, keys))}")
        return [leaf for key, child in zip(keys, children) for leaf in _flatten(value[key], child, f"{path}.{key}")]
    if not isinstance(value, (tuple, list)) or len(value) != len(children):
        raise Mismatch(f"'{path}' must be a sequence of {len(children)}")
    return [leaf for i, child in enumerate(children) for leaf in _flatten(value[i], child, f"{path}.{i}")]


def _unflatten(leaves: Any, spec: dict[str, Any]) -> Any:
    kind, children = spec["type"], spec["children_spec"]
    if kind is None:
        return next(leaves)
    if kind in _MAPPINGS:
        keys = json.loads(spec["context"])
        return _MAPPINGS[kind]((key, _unflatten(leaves, child)) for key, child in zip(keys, children))
    if kind in _SEQUENCES:
        return _SEQUENCES[kind](_unflatten(leaves, child) for child in children)
    raise Mismatch(kind)


def read(path: str | Path) -> Structure | None:
    """Of a .pt2. None where the file does not say."""
    try:
        with zipfile.ZipFile(path) as archive:
            name = next(n for n in archive.namelist() if n.endswith("models/model.json"))
            module = json.loads(archive.read(name))["graph_module"]
        call = module["module_call_graph"][0]["signature"]
        structure = Structure(in_spec=call["in_spec"], out_spec=call["out_spec"])
        for spec in module["signature"]["input_specs"]:
            if "user_input" in spec:
                structure.inputs.append(_name(spec["user_input"]["arg"]))
            elif "constant_input" in spec:
                structure.inputs.append(None)
        for spec in module["signature"]["output_specs"]:
            if "user_output" in spec:
                structure.outputs.append(_name(spec["user_output"]["arg"]))
        structure.arguments = list(call.get("forward_arg_names") or [])
        whole = len(structure._argument_specs()) == len(structure.arguments) and all(
            _leaves(_node(spec)) == len(leaves)
            for spec, leaves in ((structure.in_spec, structure.inputs), (structure.out_spec, structure.outputs))
        )
        return structure if whole else None
    except (OSError, KeyError, IndexError, StopIteration, TypeError, ValueError, zipfile.BadZipFile):
        return None


def _name(argument: dict[str, Any]) -> str | None:
    return argument["as_tensor"]["name"] if "as_tensor" in argument else None
