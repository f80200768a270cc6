"""A compiled program."""
from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, overload

import numpy as np

from . import _core, _samples
from ._command import CommandError, json_of, output_of
from ._errors import Code, CompileError, Diagnostic, InputTypeError, path_of
from ._metrics import Metric, add_metric, split_metrics
from ._model import opened
from ._progress import Progress, shown
from ._results import Bench, BoardValues, Comparison, Summary, TensorInfo
from ._samples import Layout, Spec
from ._structure import Mismatch, Structure
from ._tables import source_of

_TRACED_SAMPLES = 16  # on the emulated board


class Program:
    """Runs on the host through the same kernels as on the core, byte for byte. `corten.compile` and `corten.load` make it."""

    def __init__(
        self, core: _core.Program, report: str = "", diagnostics: list[Diagnostic] | None = None, quantised: bytes = b""
    ):
        self._core = core
        self._quantised = quantised  # the .pt2 that was compiled, where that has scales of its own
        self._bench: Bench | None = None  # the last ones
        self._comparison: Comparison | None = None
        self._report = report  # report.json; "" if there is none
        self._diagnostics = list(diagnostics or [])
        self._specs = [Spec(io.name, tuple(io.shape)) for io in core.inputs]
        saved = self.report().get("structure")
        self._structure = Structure(**saved) if saved else None

    # ---- what it is

    @property
    def name(self) -> str:
        """The model's name, as in the C header."""
        return self._core.name

    @property
    def target(self) -> str:
        """The core that it is compiled for."""
        return self._core.target

    @property
    def image(self) -> bytes:
        """What is in model.corten."""
        return self._core.image

    @property
    def inputs(self) -> list[TensorInfo]:
        """In PyTorch's order and shapes."""
        return [_info(io) for io in self._core.inputs]

    @property
    def outputs(self) -> list[TensorInfo]:
        """In PyTorch's order and shapes."""
        return [_info(io) for io in self._core.outputs]

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """Warnings of the compilation."""
        return list(self._diagnostics)

    def summary(self) -> Summary:
        """Steps, sizes, inputs and outputs; prints, and shows as a table in notebooks."""
        report = self.report()
        by_report = [_step(s) for s in report.get("steps", [])]
        calibration = report.get("calibration", {})
        count, observer = calibration.get("samples"), calibration.get("observer", "")
        return Summary(
            name=self.name,
            target=self.target,
            tier=self._core.tier,
            steps=by_report or [{"node": node, "kernel": kernel} for node, kernel in self._core.steps],
            inputs=self.inputs,
            outputs=self.outputs,
            image_bytes=len(self.image),
            arena_bytes=self._core.arena_bytes,
            lower_bound_bytes=report.get("arena", {}).get("lower_bound"),
            calibration=f"of {count} samples, {observer}" if count else observer.removeprefix("none: "),
        )

    def __repr__(self) -> str:
        return (
            f"<corten.Program {self.name} for {self.target}: {len(self._core.steps)} steps, "
            f"image {len(self.image)} bytes, arena {self._core.arena_bytes} bytes>"
        )

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def __reduce__(self) -> tuple[Any, ...]:
        figures = {"_bench": self._bench, "_comparison": self._comparison}
        return _restored, (self.image, self._report, self._diagnostics, self._quantised), figures

    # ---- running

    def __call__(self, *args: Any, raw: bool = False, **kwargs: Any) -> Any:
        """Takes what the exported forward takes, as torch tensors or NumPy arrays, and returns what it returns, of the same kind.

        Inputs and results are float32 in PyTorch's order and structure (tuples, lists, dicts). A batch of N runs N times through a
        program of batch 1.

        Args:
            args: as forward's.
            raw: results are the core's int8 (scales are in `outputs`), and int8 inputs are taken as they are.
            kwargs: as forward's.

        Raises:
            CompileError: an input has a wrong shape, or holds NaN or infinity.
            InputTypeError: arguments are missing, or of a type that can not be used.
        """
        raw = bool(raw)
        values = self._arguments(args, kwargs)
        arrays, batch = self._cut(values, raw)
        group = Layout(self._specs).rows or 1
        results = self._core.run(arrays, raw)
        kind = _tensors_of if any(map(_samples.is_tensor, values)) else list
        shapes = [_joined(tuple(io.shape), len(arrays[0]), group, batch) for io in self._core.outputs]
        outputs = kind([np.asarray(r).reshape(shape) for r, shape in zip(results, shapes)])
        return self._structure.restore(outputs) if self._structure else outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        try:
            return _samples.matched(self._structure, self._specs, args, kwargs)
        except Mismatch as error:
            raise InputTypeError(Code.wrong_inputs, str(error), "call the program as the exported module is called") from None

    def _cut(self, values: list[Any], raw: bool) -> tuple[list[np.ndarray], bool]:
        """(samples, elements) of each input, and whether the inputs hold more than the program takes at once."""
        layout = Layout(self._specs)
        rows = []
        for value, spec, io in zip(values, self._specs, self._core.inputs):
            if raw and io.dtype == "int8" and _samples.is_int8(value):
                array = (_samples.to_numpy(value).astype(np.float64) - io.zero_point) * io.scale
            else:
                array = _samples.floats(value, spec)
            if not np.isfinite(array).all():
                bad = "NaN" if np.isnan(array).any() else "infinity"
                raise CompileError(Code.nonfinite_data, f"input '{spec.name}' holds {bad}", "the program takes finite numbers")
            rows.append(layout.cut(np.ascontiguousarray(array, np.float32), spec))
        lengths = [len(r) for r in rows]
        group = layout.rows or 1
        if len(set(lengths)) > 1 or lengths[0] % group:
            each = ", ".join(f"{s.name}: {n}" for s, n in zip(self._specs, lengths))
            need = f"a multiple of {group}" if group > 1 else "the same of all"
            raise CompileError(Code.sample_count, f"inputs have batches of {each}, but the program takes {need}")
        if not lengths[0]:
            raise CompileError(Code.sample_count, "inputs are batches of 0 samples", "give at least one")
        arrays = [np.ascontiguousarray(r.reshape(len(r) // group, -1)) for r in rows]
        exact = all(tuple(np.shape(v)) == s.shape for v, s in zip(values, self._specs))
        return arrays, not exact

    def bench(self, on: str = "qemu", input: Any = None) -> Bench:
        """Instructions per step, stack, RAM and flash of one inference on an emulated core.

        Needs gcc-arm-none-eabi and qemu-system-arm.

        Args:
            on: "qemu".
            input: a sample as for a call (several inputs: a tuple); None: made-up values.

        Raises:
            CommandError: the emulated board or the tools for it failed.
        """
        if on != "qemu":
            raise ValueError(f"programs are benched on 'qemu', not on {on!r}")
        with tempfile.TemporaryDirectory(prefix="corten-") as folder:
            image = Path(folder) / "model.corten"
            image.write_bytes(self.image)
            args = ["bench", str(image), "--on", on, "--json"]
            if input is not None:
                given = input if isinstance(input, (tuple, list)) else (input,)
                arrays, _ = self._cut(self._arguments(tuple(given), {}), raw=False)
                files = [f"{folder}/in{i}.npy" for i in range(len(arrays))]
                for file, array, spec in zip(files, arrays, self._specs):
                    np.save(file, array[:1].reshape(1, *spec.shape))
                args += ["--input", ",".join(files)]
            self._bench = Bench(json_of(*args))
            return self._bench

    def compare(
        self,
        model: Any,
        data: Any,
        *,
        metrics: Sequence[Metric] | Metric | None = None,
        board: str | os.PathLike[str] | BoardValues | None = None,
        rank: bool | None = None,
        quantised: Any = None,
        example_inputs: Any = None,
        transform: Callable[[Any], Any] | None = None,
        progress: Progress = "auto",
    ) -> Comparison:
        """Runs the model in float32 beside this program: fake-quantised, in int8 on the host, and on a board (docs/compare.md).

        Args:
            model: what was compiled, or the float model that this was quantised from in PyTorch.
            data: as `calibration` of `corten.compile`, with labels if there are any.
            metrics: names of "top1", "top5", "confusion", "auc", "auc:reconstruction", "mse", "mse:reconstruction", and functions of
                outputs and labels that return a number or a dict of numbers; they are called for each stage, with what forward
                returns for all samples: tensors, or arrays where `model` is a path. None: top1, or auc for one score, if there are
                labels.
            board: values from a board: "qemu" (the first 16 samples on an emulated one), the path of a log or of a .npz that
                `corten decode` wrote, or what `decode` returned. Inference 0 is that of the first sample.
            rank: quantise each layer alone to see what it costs; None: if that is cheap.
            quantised: the quantised program that was compiled, if `model` is its float original and this program was loaded from a
                folder.
            example_inputs: as for `corten.compile`.
            transform: called with each item of `data`; returns the inputs.
            progress: as for `corten.compile`.

        Raises:
            CompileError: model and program do not belong together, the data is at fault, or a metric can not be had from it.
            CommandError: the emulated board or the tools for it failed.
        """
        names, functions = split_metrics(metrics)
        samples = _samples.collect(data, self._specs, self._structure, transform, "data")
        labels = None if samples.labels is None else np.ascontiguousarray(samples.labels, np.int64)
        settings = _core.CompareSettings()
        settings.report, settings.metrics, settings.keep_outputs = self._report, names, bool(functions)
        settings.rank = None if rank is None else bool(rank)
        values = self._board_values(board, samples.inputs)
        with opened(model, example_inputs, self.name) as source, self._opened_quantised(quantised) as quantised_path:
            settings.quantised = quantised_path
            try:
                with shown(progress, "comparing") as tell:
                    text, stages = self._core.compare(source.path, samples.inputs, labels, settings, values, tell)
            except CompileError as error:
                raise error.about(source.subject, source.path)
        result = json.loads(text)
        tensors = not isinstance(model, (str, os.PathLike))
        for name, function in functions:
            for stage, chosen, arrays in stages:
                outputs = self._outputs(arrays, len(chosen), tensors)
                add_metric(result["metrics"], name, stage, function(outputs, _labels_of(labels, chosen, tensors)))
        self._comparison = Comparison(result)
        return self._comparison

    def decode(self, log: str | os.PathLike[str] | bytes) -> BoardValues:
        """Values that a board printed with runtime/trace.h.

        Args:
            log: the path of a UART or semihosting log, or its bytes. Other prints and damaged lines may be between.

        Raises:
            CompileError: nothing of it is whole.
        """
        if isinstance(log, bytes):
            return BoardValues(_core.decode(log, self._core, "<log>"), self._core)
        return BoardValues(_core.read_dump(path_of(log, "log"), self._core), self._core)

    def _board_values(self, board: Any, inputs: list[np.ndarray]) -> Any:
        if board is None or isinstance(board, BoardValues):
            return board and board._dump
        if board == "qemu":
            return self._traced_on_board([a[:_TRACED_SAMPLES] for a in inputs])
        return _core.read_dump(path_of(board, "board"), self._core)

    def _traced_on_board(self, inputs: list[np.ndarray]) -> Any:
        with tempfile.TemporaryDirectory(prefix="corten-") as folder:
            image, log = Path(folder) / "model.corten", Path(folder) / "log"
            image.write_bytes(self.image)
            files = [f"{folder}/in{i}.npy" for i in range(len(inputs))]
            for file, array, spec in zip(files, inputs, self._specs):
                np.save(file, array.reshape(len(array), *spec.shape))
            output_of("run", str(image), "--input", ",".join(files), "--on", "qemu", "--trace", str(log))
            return _core.decode(log.read_bytes(), self._core, "qemu")

    @contextmanager
    def _opened_quantised(self, quantised: Any) -> Iterator[str]:
        if quantised is not None:
            with opened(quantised, None, self.name) as source:
                yield source.path
        elif self._quantised:
            with tempfile.TemporaryDirectory(prefix="corten-") as folder:
                file = Path(folder) / "quantised.pt2"
                file.write_bytes(self._quantised)
                yield str(file)
        else:
            yield ""

    def _outputs(self, arrays: Sequence[Any], count: int, tensors: bool) -> Any:
        """What forward returns, for all samples."""
        group = Layout(self._specs).rows or 1
        shaped = [np.asarray(a).reshape(_joined(tuple(io.shape), count, group, True)) for a, io in zip(arrays, self._core.outputs)]
        outputs = _tensors_of(shaped) if tensors else shaped
        return self._structure.restore(outputs) if self._structure else outputs[0] if len(outputs) == 1 else tuple(outputs)

    # ---- files

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Writes model.corten, model.h, model.cc and report.json; all or nothing.

        Args:
            folder: is made if it is not there.

        Returns:
            the folder.
        """
        self._core.save(path_of(folder, "folder"), self._report)
        return Path(folder)

    @overload
    def report(self, path: None = None) -> dict[str, Any]: ...

    @overload
    def report(self, path: str | os.PathLike[str]) -> Path: ...

    def report(self, path: str | os.PathLike[str] | None = None) -> dict[str, Any] | Path:
        """The report: as a dict (docs/report.md has its fields and their units; empty where the program has none), or in a file.

        The figures of the last bench() and the last compare() are part of it.

        Args:
            path: writes it there, as a page where that ends in .html, else as JSON, and returns the path.

        Raises:
            CompileError: a path is given, and the program has no report.
        """
        text = self._report
        if text and (self._bench or self._comparison):
            figures = [json.dumps(f.to_dict()) if f else "" for f in (self._bench, self._comparison)]
            text = _core.merged_report(text, *figures)
        if path is None:
            return json.loads(text) if text else {}
        if not text:
            raise CompileError(Code.bad_report, "this program has no report", "load the folder that save() or `corten compile` wrote")
        file = Path(path_of(path, "path"))
        if file.is_dir():
            raise CompileError(Code.cannot_write, f"{file} is a folder", "give the name of a file in it")
        page = _core.report_html(text) if file.suffix in (".html", ".htm") else None
        _write(file, page or text)
        return file


def _info(io: _core.Io) -> TensorInfo:
    return TensorInfo(io.name, tuple(io.shape), io.scale, io.zero_point, io.dtype)


def _step(s: dict[str, Any]) -> dict[str, Any]:
    return {"node": s["node"], "op": s["op"], "kernel": s["kernel"], "MACs": s["macs"], "constants": s["constant_bytes"],
            "live bytes": s["live_bytes"], "source": source_of(s.get("where", {}))}  # fmt: skip


def _joined(shape: tuple[int, ...], count: int, group: int, batch: bool) -> tuple[int, ...]:
    """Shape of an output of `count` runs: along its first axis where that is the batch, else along a new one."""
    if count == 1 and not batch:
        return shape
    return (count * group, *shape[1:]) if shape and shape[0] == group else (count, *shape)


def _tensors_of(arrays: list[np.ndarray]) -> list[Any]:
    import torch

    return [torch.from_numpy(a) for a in arrays]


def _labels_of(labels: np.ndarray | None, chosen: list[int], tensors: bool) -> Any:
    if labels is None:
        return None
    return _tensors_of([labels[chosen]])[0] if tensors else labels[chosen]


def _write(path: Path, text: str) -> None:
    """All or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False, encoding="utf-8") as file:
        try:
            file.write(text)
            file.close()
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def _restored(image: bytes, report: str, diagnostics: list[Diagnostic], quantised: bytes) -> Program:
    return Program(_core.Program.from_bytes(image), report, diagnostics, quantised)


def load(path: str | os.PathLike[str]) -> Program:
    """A program from a folder that `save` or `corten compile` wrote, or from a .corten file.

    Args:
        path: of the folder or file. A report.json of this program beside the file is read too.

    Raises:
        CompileError: the file is damaged, or there is none.
    """
    file = Path(path_of(path, "path"))
    if file.is_dir():
        file = file / "model.corten"
    core = _core.Program.load(str(file))
    try:
        text = (file.parent / "report.json").read_text(encoding="utf-8")
        report = json.loads(text, parse_constant=_refused_number)
        program = Program(core, text if _belongs(report, core) else "")
        program.summary()
        return program
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):  # there is none, or it was edited
        return Program(core)


def _refused_number(text: str) -> None:
    """NaN and Infinity, which are Python's, not JSON's."""
    raise ValueError(text)


def _belongs(report: Any, core: _core.Program) -> bool:
    """The report beside a file may be of another one."""
    return (
        isinstance(report, dict)
        and (report.get("name"), report.get("target"), report.get("image_bytes")) == (core.name, core.target, len(core.image))
        and [(s.get("node"), s.get("kernel")) for s in report.get("steps", [])] == list(core.steps)
    )


__all__ = ["CommandError", "Program", "load"]
