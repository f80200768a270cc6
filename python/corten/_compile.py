"""corten.compile."""
from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from . import _core, _samples, _structure
from ._errors import CompileError, InputTypeError
from ._model import opened
from ._program import Program
from ._progress import Progress, shown
from ._samples import Spec

if TYPE_CHECKING:
    import torch

_CALIBRATION_HELP = "give calibration=: a DataLoader or list of representative inputs (100 to 500 samples), or the path of a .npz"


@dataclass(frozen=True)
class Target:
    """A core that programs are compiled for."""

    name: str
    tier: str  # kernels: "scalar", "dsp" or "mve"
    board: str  # that QEMU emulates
    meaning: str


def targets() -> list[Target]:
    """The cores that `target` takes."""
    return [Target(*row) for row in _core.targets()]


def compile(
    model: torch.export.ExportedProgram | torch.nn.Module | str | os.PathLike,
    *,
    target: str,
    example_inputs: Any = None,
    calibration: Any = None,
    transform: Callable[[Any], Any] | None = None,
    optimize: Literal["balanced", "speed", "ram", "size"] = "balanced",
    observer: Literal["auto", "minmax", "mse"] = "auto",
    float_io: bool = False,
    keep_inputs: bool = False,
    progress: Progress = "auto",
) -> Program:
    """Compiles a model for a core.

    model: an exported program (float, or with quantize and dequantize nodes), the path of a .pt2, or a module in eval mode with
        example_inputs (a tuple of tensors, or a dict of forward's arguments).
    target: the core; `corten.targets()` lists them.
    calibration: representative inputs, from which scales are chosen: any iterable of tensors, tuples, lists or dicts (a DataLoader
        too), or the path of a .npz. Labels behind the inputs are left out; batches larger than the exported one are split; keys of
        dicts are the inputs' names. A program that has all its scales needs none. All samples are held in memory as float32.
    transform: called with each item of `calibration`; returns the inputs.
    optimize: what to favour: "balanced", "speed" (may spend flash), "ram" (may cost cycles) or "size" (smaller code).
    observer: how ranges are chosen: "minmax", "mse", or "auto" (lower error of the outputs).
    float_io: inputs and outputs are float32 on the core.
    keep_inputs: inputs keep their bytes during inference.
    progress: "auto" (on a terminal), True, False, or a function of done and all.

    Raises CompileError, which is a ValueError, with all messages and their places in `diagnostics`.
    """
    _check_choice("optimize", optimize, ("balanced", "speed", "ram", "size"))
    _check_choice("observer", observer, ("auto", "minmax", "mse"))
    if not isinstance(target, str):
        raise InputTypeError(f"target must be a name, not a {type(target).__name__}", "corten.targets() lists them")
    _core.check_target(target)
    bar = shown(progress, "calibrating")
    with opened(model, example_inputs) as source:
        try:
            front = _core.open_model(source.path)
            structure = _structure.read(source.path)
            data = None
            if front.needs_data:
                if calibration is None:
                    message = "the model needs calibration data: it has no scales of its own"
                    raise CompileError(message, _CALIBRATION_HELP, source.subject)
                specs = [Spec(name, tuple(shape), dtype) for name, shape, dtype in front.inputs]
                data = _samples.collect(calibration, specs, structure, transform).inputs
            with bar as tell:
                core, report, notes = _core.compile(front, data, target, observer, optimize, float_io, keep_inputs, tell)
        except CompileError as error:
            raise error.about(source.subject, source.path)
    details = json.loads(report)
    details["model"] = source.subject
    if structure:
        details["structure"] = structure.to_json()
    return Program(core, json.dumps(details, indent=1) + "\n", notes)


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")
