"""What a program says about itself: summary, bench, comparison."""
from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from . import _core
from ._tables import Rows, data_frame, source_of


@dataclass(frozen=True)
class TensorInfo:
    """An input or output of a program. real = scale * (int8 - zero_point).

    Attributes:
        name: as in the exported program.
        shape: in PyTorch's order, the batch included.
        scale: of the int8 values; 1 where the type is float32.
        zero_point: of the int8 values; 0 where the type is float32.
        dtype: on the core: "int8" or "float32".
    """

    name: str
    shape: tuple[int, ...]
    scale: float
    zero_point: int
    dtype: str


@dataclass(repr=False)
class Summary(Rows):
    """What was compiled, and what it needs.

    Attributes:
        name: the model's.
        target: the core.
        tier: its kernels: "scalar", "dsp" or "mve".
        steps: a dict for each: node and kernel, and with a report op, MACs, bytes of constants, live bytes, source line.
        inputs: in PyTorch's order.
        outputs: in PyTorch's order.
        image_bytes: of model.corten, which lies in flash.
        arena_bytes: RAM for tensors and scratch.
        lower_bound_bytes: what the hungriest step needs of the arena at once; None without a report.
        calibration: where the scales came from.
    """

    name: str
    target: str
    tier: str
    steps: list[dict[str, Any]]
    inputs: list[TensorInfo]
    outputs: list[TensorInfo]
    image_bytes: int
    arena_bytes: int
    lower_bound_bytes: int | None
    calibration: str

    def to_dict(self) -> dict[str, Any]:
        """The attributes."""
        return asdict(self)

    def to_dataframe(self) -> Any:
        """The steps as a pandas.DataFrame. Raises ImportError where pandas is not installed."""
        return data_frame(self.steps)

    def _rows_and_title(self) -> tuple[str, list[dict[str, Any]], list[str]]:
        bound = "" if self.lower_bound_bytes is None else f"; lower bound {self.lower_bound_bytes}"
        notes = [
            *(f"input  {_io(t)}" for t in self.inputs),
            *(f"output {_io(t)}" for t in self.outputs),
            f"image  {self.image_bytes} bytes",
            f"arena  {self.arena_bytes} bytes, scratch included{bound}",
        ]
        if self.calibration:
            notes.append(f"scales {self.calibration}")
        return f"{self.name} for {self.target} ({self.tier} kernels): {len(self.steps)} steps", self.steps, notes


def _io(t: TensorInfo) -> str:
    return f"{t.name} {t.dtype} {list(t.shape)} scale {t.scale:.6g} zero point {t.zero_point}"


@dataclass(repr=False)
class Bench(Rows):
    """One inference on an emulated core. Instruction counts are exact, cycles estimates.

    Attributes:
        data: what `corten bench --json` prints.
    """

    data: dict[str, Any] = field(repr=False)

    @property
    def instructions(self) -> int:
        """Of the inference."""
        return self.data["instructions"]

    @property
    def cycles(self) -> int | None:
        """Estimated for memory without wait states; None where this build estimates none."""
        return self.data.get("est_cycles")

    @property
    def arena_bytes(self) -> int:
        """RAM for tensors and scratch."""
        return self.data["arena_bytes"]

    @property
    def stack_bytes(self) -> int:
        """The deepest stack of the inference, in bytes."""
        return self.data["stack_bytes"]

    @property
    def image_bytes(self) -> int:
        """Of model.corten, which lies in flash."""
        return self.data["image_bytes"]

    @property
    def code_bytes(self) -> int:
        """Runtime and kernels, in flash."""
        return self.data["code_bytes"]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The steps in their order, with their instructions and estimated cycles."""
        return self.data["steps"]

    def to_dict(self) -> dict[str, Any]:
        """All of it, as `corten bench --json` prints it."""
        return self.data

    def to_dataframe(self) -> Any:
        """The rows as a pandas.DataFrame; raises ImportError without pandas."""
        return data_frame(self.rows)

    def _rows_and_title(self) -> tuple[str, list[dict[str, Any]], list[str]]:
        cycles = "" if self.cycles is None else f", about {self.cycles} cycles"
        notes = [
            f"{self.instructions} instructions per inference{cycles}",
            f"arena {self.arena_bytes} bytes, stack {self.stack_bytes}, image {self.image_bytes}, code {self.code_bytes}",
        ]
        return f"{self.data['model']} on {self.data['target']} (emulated)", self.rows, notes


STAGES = ("fake_quant", "host", "board")


@dataclass(repr=False)
class Comparison(Rows):
    """A program before and after quantisation, per step and for the outputs (docs/compare.md).

    Each stage is measured against float32: "fake_quant" (the program's scales in float arithmetic), "host" (int8) and "board" (int8,
    what the board printed). SQNR = 20 log10(|x| / |x - y|) in dB, over all samples.

    Attributes:
        data: what `corten compare --json` prints.
    """

    data: dict[str, Any] = field(repr=False)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The steps in their order: node, op, kernel, `stages` with the figures of each, sqnr_db and saturated of the host, what the
        step costs (alone_db, noise, advice), and its place (file, line, text, module)."""
        return self.data["steps"]

    @property
    def samples(self) -> int:
        """How many were compared."""
        return self.data["samples"]

    @property
    def output_sqnr_db(self) -> list[float]:
        """Of each output on the host, in dB; 200 where nothing differs."""
        return self.data["output_sqnr_db"]

    @property
    def metrics(self) -> dict[str, dict[str, Any]]:
        """Of each metric its value in each stage, "float" included."""
        return self.data["metrics"]

    @property
    def board_equal(self) -> bool | None:
        """Whether board and host agree in every byte; None without values from a board."""
        return self.data["board"]["equal"] if "board" in self.data else None

    @property
    def first_difference(self) -> dict[str, Any] | None:
        """Where board and host first differ: inference, tensor, index (in the device's order), host, board."""
        return self.data.get("board", {}).get("first_difference")

    @property
    def ranking(self) -> list[dict[str, Any]]:
        """Steps and inputs by what they cost, the worst first: node, alone_db (SQNR of the outputs where only this is quantised),
        noise (its part of the sum of all), advice. Empty where nothing was ranked."""
        ranked = [r for r in [*self.data.get("inputs", []), *self.rows] if "noise" in r]
        keys = ("node", "alone_db", "noise", "advice")
        return [{k: r[k] for k in keys if k in r} for r in sorted(ranked, key=lambda r: -r["noise"])]

    @property
    def top1_same(self) -> float:
        """Part of the samples for which the largest element of the first output is the same."""
        return self.data["top1_same"]

    @property
    def top1_float(self) -> float | None:
        """Part of the samples that float32 gets right; None without labels."""
        return self.data.get("top1_float")

    @property
    def top1_int8(self) -> float | None:
        """Part of the samples that int8 gets right on the host; None without labels."""
        return self.data.get("top1_int8")

    def to_dict(self) -> dict[str, Any]:
        """All of it, as `corten compare --json` prints it."""
        return self.data

    def to_dataframe(self) -> Any:
        """The rows as a pandas.DataFrame, with a column for each figure of each stage; raises ImportError without pandas."""
        return data_frame([_flat(r) for r in self.rows])

    def _rows_and_title(self) -> tuple[str, list[dict[str, Any]], list[str]]:
        stages = [s for s in STAGES if any(s in r["stages"] for r in self.rows)]
        rows = [_shown_row(r, stages, bool(self.ranking)) for r in self.rows]
        notes = [f"output {i}: {_stages_text(o['stages'])}" for i, o in enumerate(self.data["outputs"])]
        if "no_fake_quant" in self.data:
            notes.append(f"fake_quant is unavailable: {self.data['no_fake_quant']}")
        if "board" in self.data:
            notes.append(_board_text(self.data["board"]))
        notes.append(f"same largest element: {100 * self.top1_same:.2f} %")
        for name, values in self.metrics.items():
            if all(isinstance(v, (int, float)) for v in values.values()):
                notes.append(f"{name}: {', '.join(f'{v:.6g} {stage}' for stage, v in values.items())}")
            else:
                notes += [f"{name}, {stage} (rows: labels): {v}" for stage, v in values.items()]
        for r in self.ranking[:5]:
            help = "; ".join(r.get("advice", []))
            notes.append(f"costs {100 * r['noise']:.1f} % of the noise: {r['node']}{': ' + help if help else ''}")
        return f"float32 against int8 over {self.samples} samples", rows, notes


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    flat = {k: row[k] for k in ("node", "op", "kernel", "module")}
    flat |= {f"{stage}_{name}": v for stage, figures in row["stages"].items() for name, v in figures.items()}
    flat |= {k: row[k] for k in ("alone_db", "noise") if k in row}
    return flat | {"advice": "; ".join(row.get("advice", [])), "file": row["file"], "line": row["line"], "text": row["text"]}


def _shown_row(r: dict[str, Any], stages: list[str], ranked: bool) -> dict[str, Any]:
    host = r["stages"]["host"]
    row = {f"{stage} dB": r["stages"].get(stage, {}).get("sqnr_db") for stage in stages}
    row |= {"max error": host["max_error"], "saturated %": 100 * host["saturated"], "range used %": 100 * host["range_used"]}
    if ranked:
        row["cost %"] = 100 * r["noise"] if "noise" in r else None
    return row | {"node": r["node"], "op": r["op"], "source": source_of(r)}


def _stages_text(stages: dict[str, dict[str, Any]]) -> str:
    return ", ".join(f"{stages[s]['sqnr_db']:.1f} dB {s}" for s in STAGES if s in stages)


def _board_text(board: dict[str, Any]) -> str:
    text = f"board ({board['source']}, {board['samples']} samples): "
    if board["equal"]:
        return text + f"equal to the host in all {board['tensors']} tensors"
    d = board["first_difference"]
    place = f"inference {d['inference']}, {d['tensor']}, element {d['index']}"
    return text + f"differs from the host, first in {place}: host {d['host']}, board {d['board']}"


class BoardValues:
    """Values that a board printed, by `Program.decode`; `Program.compare` takes it as `board`."""

    def __init__(self, dump: _core.BoardDump, core: _core.Program):
        self._dump, self._core = dump, core

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """outK in PyTorch's order and stepK in the device's, inferences first; NAME.inference has their numbers."""
        return {name: np.asarray(array) for name, array in self._dump.arrays(self._core)}

    def to_dict(self) -> dict[str, Any]:
        """Counts of lines, and what is whole, as `corten decode --json` prints it."""
        return json.loads(self._dump.to_json(self._core))

    def __repr__(self) -> str:
        d = self.to_dict()
        return f"<corten.BoardValues of {len(d['inferences'])} inferences: {d['lines']} lines, {d['bad_lines']} damaged>"
