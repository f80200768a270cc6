"""corten.compile."""
from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _core, _samples, _structure
from ._errors import Code, CompileError, CompileWarning, InputTypeError, about, article
from ._model import opened
from ._program import Program
from ._progress import Progress, shown
from ._samples import Spec

if TYPE_CHECKING:
    import torch

_CALIBRATION_HELP = "give calibration=: a DataLoader or list of representative inputs (100 to 500 samples), or the path of a .npz"


@dataclass(frozen=True)
class Target:
    """A core that programs are compiled for.

    Attributes:
        name: as `corten.compile` takes it, "cortex-m55".
        tier: its kernels: "scalar", "dsp" or "mve".
        board: the board that QEMU emulates for it.
        meaning: one line for people.
    """

    name: str
    tier: str
    board: str
    meaning: str


def targets() -> list[Target]:
    """The cores that `target` takes."""
    return [Target(*row) for row in _core.targets()]


def compile(
    model: torch.export.ExportedProgram | torch.nn.Module | str | os.PathLike[str],
    *,
    target: str,
    example_inputs: Any = None,
    calibration: Any = None,
    transform: Callable[[Any], Any] | None = None,
    optimize: Literal["balanced", "speed", "ram", "size"] = "balanced",
    observer: Literal["auto", "minmax", "mse"] = "auto",
    float_io: bool = False,
    keep_inputs: bool = False,
    max_flash: int | str | None = None,
    max_ram: int | str | None = None,
    progress: Progress = "auto",
) -> Program:
    """Compiles a model for a core.

    What does not stop a compilation but should be known is a CompileWarning, and in the program's `diagnostics`.
    A model is checked before any data is read: target, train mode, operators (all that are not supported, not just the first).
    Ctrl-C ends a compilation within 0.1 s; other Python threads run meanwhile.

    Args:
        model: an exported program (float, or with quantize and dequantize nodes), the path of a .pt2, or a module in eval mode with
            example_inputs.
        target: the core; `corten.targets()` lists them.
        example_inputs: for a module: a tensor, a tuple of tensors, or a dict of forward's arguments.
        calibration: representative inputs, 100 to 500 samples, from which scales are chosen: any iterable (a DataLoader, a dataset,
            a generator) of tensors, tuples, lists or dicts, or the path of a .npz. An item holds one sample or a batch of any size,
            which is cut to the exported one; rows that fill no batch at the end are left out. Keys of dicts are the inputs' names, or
            those of the dict that forward takes. Floats of any width are taken; integers are refused, since training has scaled
            them. Labels and other targets are left out: what stands behind the inputs, the second of a pair of inputs and targets, a
            dict's other entries. All samples are held in memory as float32. Not read where the program has all its scales.
        transform: called with each item of `calibration`; returns the inputs.
        optimize: what to favour: "balanced", "speed" (may spend flash), "ram" (may cost cycles) or "size" (smaller code).
        observer: how ranges are chosen: "minmax", "mse", or "auto": whichever gives the lower error of the outputs.
        float_io: inputs and outputs are float32 on the core; else int8.
        keep_inputs: inputs keep their bytes during inference; else their memory may be used again once they are read.
        max_flash: refuse a program whose image and code take more: bytes, or "64K", "1MiB". For the code, firmware is linked: needs
            gcc-arm-none-eabi.
        max_ram: refuse a program whose arena and runtime state take more; stack is not counted.
        progress: "auto": on stderr where that is a terminal; True, False, or a function of done and all.

    Raises:
        CompileError: the model or the data is at fault; all messages and their places are in `diagnostics`.
        InputTypeError: an argument or a sample has a type that can not be used.
        ValueError: `optimize` or `observer` is none of the choices, or a limit is no size.
    """
    check_choice("optimize", optimize, ("balanced", "speed", "ram", "size"))
    check_choice("observer", observer, ("auto", "minmax", "mse"))
    check_target(target)
    bar = shown(progress, "calibrating")
    with opened(model, example_inputs) as source:
        try:
            front = _core.open_model(source.path)
            structure = _structure.read(source.path)
            data = None
            if front.needs_data:
                if calibration is None:
                    message = "the model needs calibration data: not all of its values have scales"
                    raise CompileError(Code.no_calibration, message, _CALIBRATION_HELP, source.subject)
                specs = [Spec(name, tuple(shape), dtype) for name, shape, dtype in front.inputs]
                data = _samples.collect(calibration, specs, structure, transform).inputs
            with bar as tell:
                core, report, notes = _core.compile(
                    front, data, target, observer, optimize, bool(float_io), bool(keep_inputs), max_flash, max_ram, tell
                )
            given = json.loads(report)["calibration"]["given_scales"]
            quantised = Path(source.path).read_bytes() if given else b""
        except CompileError as error:
            raise error.about(source.subject, source.path)
    about(notes, source.subject, source.path)
    if notes:
        warnings.warn(CompileWarning(notes), stacklevel=2)
    details = json.loads(report)
    details["model"] = source.subject
    if structure:
        details["structure"] = structure.to_json()
    return Program(core, json.dumps(details, indent=1) + "\n", notes, quantised)


def check_target(target: Any) -> None:
    """Raises CompileError, with close names, where it is none."""
    if not isinstance(target, str):
        raise InputTypeError(Code.unknown_target, f"target must be a name, not {article(target)}", "corten.targets() lists them")
    _core.check_target(target)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")
