"""corten.explain: what becomes of every line of a model."""
from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from . import _core, _samples, _structure
from ._compile import check_choice, check_target
from ._errors import CompileError
from ._model import opened
from ._samples import Spec
from ._tables import Rows, data_frame, source_of

if TYPE_CHECKING:
    import torch

_MADE_UP = (
    "Ranges were made up from random inputs, since there is no calibration data (or not for what is refused): where a choice depends "
    "on scales, data may change it. Give calibration= as to corten.compile."
)
_CYCLES = "Cycles are not known before the program runs: corten.compile(...).bench('qemu') counts them, without a board."


@dataclass(repr=False)
class Explanation(Rows):
    """A row for each node of a model, in the order they run.

    Attributes:
        data: all of it: for each node also its kernels, and every kernel row before them with the conditions that did not hold.
    """

    data: dict[str, Any] = field(repr=False)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """For each node: node, op, source, text, module, decision, why, macs, constant_bytes, scratch_bytes, to_do.

        Bytes and MACs (multiply-accumulates of one inference) are None where nothing runs.
        """
        return [_row(r) for r in self.data["rows"]]

    @property
    def refused(self) -> list[dict[str, Any]]:
        """The rows that no program can be compiled with."""
        return [_row(r) for r in self.data["rows"] if r["decision"] == "refused"]

    def to_dict(self) -> dict[str, Any]:
        """`data`."""
        return self.data

    def to_dataframe(self) -> Any:
        """The rows as a pandas.DataFrame."""
        return data_frame(self.rows)

    def _rows_and_title(self) -> tuple[str, list[dict[str, Any]], list[str]]:
        remarks: dict[tuple[str, ...], int] = {}
        rows = []
        for r in self.rows:
            lines = tuple(filter(None, [*r["why"].split("; "), r["to_do"] and f"to do: {r['to_do']}"]))
            number = remarks.setdefault(lines, len(remarks) + 1) if lines else ""
            rows.append({
                "source": r["source"],
                "code": _short(r["text"], 52),
                "module": r["module"],
                "node": r["node"],
                "op": r["op"],
                "decision": r["decision"],
                "MACs": r["macs"],
                "constants": r["constant_bytes"],
                "scratch": r["scratch_bytes"],
                "remark": f"[{number}]" if lines else "",
            })  # fmt: skip
        notes = []
        for remark, number in remarks.items():
            mark = f"[{number}] "
            notes += [f"{mark if line is remark[0] else ' ' * len(mark)}{line}" for line in remark]
        notes.append("Constants and scratch in bytes, MACs (multiply-accumulates) of one inference.")
        notes += [_MADE_UP] * self.data["made_up_ranges"] + [_CYCLES]
        refused = f", {len(self.refused)} of them refused" if self.refused else ""
        title = f"{self.data['model']} for {self.data['target']} ({self.data['tier']} kernels): {len(rows)} nodes{refused}"
        return title, rows, notes


def _row(r: dict[str, Any]) -> dict[str, Any]:
    where = r.get("where", {})
    return {
        "node": r["node"],
        "op": r["op"].removeprefix("aten.").removesuffix(".default"),
        "source": source_of(where | {"module": r.get("module")}),
        "text": where.get("text", ""),
        "module": r.get("module", ""),
        "decision": r["summary"],
        "why": "; ".join(map(_reason, r.get("why", []))),
        "macs": r.get("macs"),
        "constant_bytes": r.get("constant_bytes"),
        "scratch_bytes": r.get("scratch_bytes"),
        "to_do": "; ".join(t for t in r.get("to_do", []) if t),
    }


def _reason(why: dict[str, Any]) -> str:
    if not why["kernels"]:
        return why["needs"]
    verb = "needs" if len(why["kernels"]) == 1 else "need"
    return f"{', '.join(why['kernels'])} {verb} {why['needs']}" + (f" (here: {why['actual']})" if why["actual"] else "")


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def explain(
    model: torch.export.ExportedProgram | torch.nn.Module | str | os.PathLike[str],
    *,
    target: str,
    example_inputs: Any = None,
    calibration: Any = None,
    transform: Callable[[Any], Any] | None = None,
    optimize: Literal["balanced", "speed", "ram", "size"] = "balanced",
) -> Explanation:
    """What the compiler does with every node of a model, why, what that costs, and what would help.

    Operators that are not supported are rows of the table: all of them, while the others are explained as if the results of those
    were inputs.

    Args:
        model: as for `corten.compile`.
        target: the core; `corten.targets()` lists them.
        example_inputs: for a module: a tensor, a tuple of tensors, or a dict of forward's arguments.
        calibration: as for `corten.compile`. Without it ranges are made up from random inputs: a few choices depend on scales.
        transform: called with each item of `calibration`; returns the inputs.
        optimize: as for `corten.compile`.

    Raises:
        CompileError: the model can not be read, or the data is at fault.
        InputTypeError: an argument or a sample has a type that can not be used.
        ValueError: `optimize` is none of the choices.
    """
    check_choice("optimize", optimize, ("balanced", "speed", "ram", "size"))
    check_target(target)
    with opened(model, example_inputs) as source:
        try:
            inputs = _core.inputs_of(source.path)
            data = None
            if calibration is not None:
                specs = [Spec(name, tuple(shape), dtype) for name, shape, dtype in inputs]
                data = _samples.collect(calibration, specs, _structure.read(source.path), transform).inputs
            found = json.loads(_core.explain(source.path, data, target, optimize, None))
        except CompileError as error:
            raise error.about(source.subject, source.path)
    found["model"] = source.subject
    return Explanation(found)
