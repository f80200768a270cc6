"""What a program says about itself: summary, bench, comparison."""
from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ._tables import Rows, data_frame


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


@dataclass(repr=False)
class Comparison(Rows):
    """Float32 against int8, per step and for the outputs. SQNR = 20 log10(|x| / |x - y|) in dB, over all samples.

    Attributes:
        data: what `corten compare --json` prints.
    """

    data: dict[str, Any] = field(repr=False)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The steps in their order: node, op, kernel, sqnr_db, saturated (part of the values), file, line, text."""
        return self.data["steps"]

    @property
    def samples(self) -> int:
        """How many were compared."""
        return self.data["samples"]

    @property
    def output_sqnr_db(self) -> list[float]:
        """Of each output, in dB; 200 where nothing differs."""
        return self.data["output_sqnr_db"]

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
        """Part of the samples that int8 gets right; None without labels."""
        return self.data.get("top1_int8")

    def to_dict(self) -> dict[str, Any]:
        """All of it, as `corten compare --json` prints it."""
        return self.data

    def to_dataframe(self) -> Any:
        """The rows as a pandas.DataFrame; raises ImportError without pandas."""
        return data_frame(self.rows)

    def _rows_and_title(self) -> tuple[str, list[dict[str, Any]], list[str]]:
        rows = [
            {"SQNR dB": r["sqnr_db"], "saturated %": 100 * r["saturated"], "node": r["node"], "op": r["op"], "source": _place(r)}
            for r in self.rows
        ]
        notes = [f"outputs: {', '.join(f'{db:.1f} dB' for db in self.output_sqnr_db)}"]
        notes.append(f"same largest element: {100 * self.top1_same:.2f} %")
        if self.top1_float is not None and self.top1_int8 is not None:
            notes.append(f"top-1: float32 {100 * self.top1_float:.2f} %, int8 {100 * self.top1_int8:.2f} %")
        return f"float32 against int8 over {self.samples} samples", rows, notes


def _place(row: dict[str, Any]) -> str:
    return f"{row['file']}:{row['line']}" if row.get("line") else ""
