"""What people have as data, as float32 arrays with samples first."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from ._errors import Code, CompileError, InputTypeError, article, close_names, path_of
from ._structure import Mismatch, Structure

_DATA_HELP = "give an iterable (a DataLoader, a list) of tensors, tuples, lists or dicts, or the path of a .npz"


@dataclass(frozen=True)
class Spec:
    """An input as the program takes it."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "f32"

    @property
    def integer(self) -> bool:
        return self.dtype not in ("f32", "f64", "f16", "bf16")


@dataclass
class Samples:
    """`inputs[i]`: (samples, elements) of input i."""

    inputs: list[np.ndarray]
    labels: np.ndarray | None = None

    @property
    def count(self) -> int:
        return len(self.inputs[0])


def is_tensor(value: Any) -> bool:
    """A torch.Tensor, without importing torch."""
    return any(t.__module__ == "torch" and t.__name__ == "Tensor" for t in type(value).__mro__)


def _is_array(value: Any) -> bool:
    return is_tensor(value) or isinstance(value, (np.ndarray, np.generic))


def is_int8(value: Any) -> bool:
    return _is_array(value) and to_numpy(value).dtype == np.int8


def _is_label(value: Any) -> bool:
    """Class numbers: integers with at most one axis."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return True
    if isinstance(value, (list, tuple)):
        return bool(value) and all(isinstance(v, (int, np.integer)) for v in value)
    return _is_array(value) and np.issubdtype(to_numpy(value).dtype, np.integer)


def _is_target(value: Any) -> bool:
    """What training compares the outputs with: class numbers, or numbers of any kind."""
    return _is_label(value) or _is_array(value) or isinstance(value, float)


def to_numpy(value: Any) -> np.ndarray:
    if not is_tensor(value):
        return np.asarray(value)
    try:
        dense = value.detach().cpu().resolve_conj().resolve_neg()
        return dense.float().numpy() if str(dense.dtype) == "torch.bfloat16" else dense.numpy()
    except (RuntimeError, TypeError) as error:  # no data, no dense layout, or a type that NumPy has not
        kind = f"a tensor of {value.dtype} on {value.device}"
        raise InputTypeError(Code.wrong_dtype, f"{kind} can not be read: {error}", "give dense float tensors that hold data") from None


def floats(value: Any, spec: Spec, place: str = "") -> np.ndarray:
    """A float32 array of finite numbers. `place` begins messages, as in "calibration data: "."""
    if not _is_array(value):
        raise InputTypeError(
            Code.wrong_dtype,
            f"{place}input '{spec.name}' is {article(value)}", "give torch tensors or NumPy arrays"
        )
    array = to_numpy(value)
    if not (np.issubdtype(array.dtype, np.floating) or (spec.integer and np.issubdtype(array.dtype, np.integer))):
        raise InputTypeError(
            Code.wrong_dtype,
            f"{place}input '{spec.name}' is {array.dtype}, but the program takes {'integers' if spec.integer else 'float32'}",
            "int8 of the core is taken with raw=True; else convert it as training did"
            if array.dtype == np.int8
            else "convert it as training did, for example x.float() / 255",
        )
    return array.astype(np.float32, copy=False)


@dataclass
class Layout:
    """How arrays of several samples are cut: by rows of the first axis where all inputs share it, else by an axis of their own."""

    specs: list[Spec]

    @property
    def rows(self) -> int:
        """Length of the first axis that all inputs share; 0: they share none."""
        firsts = {s.shape[0] if s.shape else 0 for s in self.specs}
        return firsts.pop() if len(firsts) == 1 else 0

    def cut(self, array: np.ndarray, spec: Spec, place: str = "", single: bool = False) -> np.ndarray:
        """(rows, *) where inputs share the first axis, else (samples, *). `single`: a sample without its batch axis will do."""
        shape, want = array.shape, spec.shape
        if self.rows and len(shape) == len(want) and shape[1:] == want[1:]:
            return array
        if shape[1:] == want and len(shape) == len(want) + 1:
            return array.reshape(-1, *want[1:]) if self.rows else array
        if shape == want:
            return array[None]
        if single and self.rows == 1 and shape == want[1:]:
            return array[None]
        lacks_batch = self.rows == 1 and shape == want[1:]
        takes = f"(N, {', '.join(map(str, want[1:]))})" if self.rows else str(tuple(want))
        raise CompileError(
            Code.wrong_shape,
            f"{place}input '{spec.name}' has shape {tuple(shape)}, but the program takes {takes}",
            "add the batch axis: x[None]" if lacks_batch else "give PyTorch's order of dimensions, as at export",
        )


def matched(structure: Structure | None, specs: list[Spec], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
    """One value per input, from the arguments of a call. Raises Mismatch."""
    names = [s.name for s in specs]
    if not args and set(names) <= set(kwargs):
        return [kwargs[n] for n in names]
    if structure:
        try:
            return structure.bind(args, kwargs)
        except Mismatch:
            if kwargs or len(args) != len(specs) or not all(map(_is_array, args)):
                raise
    if len(args) == len(specs) and not kwargs:
        return list(args)
    unknown = [k for k in kwargs if k not in names]
    if unknown:
        raise Mismatch(f"no input '{unknown[0]}': the program takes {', '.join(names)}")
    raise Mismatch(f"{len(args) + len(kwargs)} inputs, but the program takes {len(specs)} ({', '.join(names)})")


class Collector:
    """Gathers samples from batches of every form that `compile` takes."""

    def __init__(self, specs: list[Spec], structure: Structure | None, what: str):
        self.specs, self.structure, self.what = specs, structure, what
        self.layout = Layout(specs)
        self.arrays: list[list[np.ndarray]] = [[] for _ in specs]
        self.labels: list[np.ndarray] = []
        self.count = 0  # rows or samples so far

    def add(self, batch: Any, number: int) -> None:
        place = f"{self.what}, batch {number}: "
        values, labels = self.match(batch, place)
        cut = [self.layout.cut(floats(v, s, place), s, place, single=True) for v, s in zip(values, self.specs)]
        lengths = {len(a) for a in cut}
        if len(lengths) > 1:
            each = ", ".join(f"{s.name}: {len(a)}" for s, a in zip(self.specs, cut))
            raise CompileError(Code.sample_count, f"{place}inputs hold different numbers of samples ({each})")
        for spec, array, kept in zip(self.specs, cut, self.arrays):
            self.check_finite(array, spec, number)
            kept.append(np.array(array, np.float32))  # a copy: loaders may use their memory again
        length = lengths.pop()
        self.count += length
        if labels is not None:
            numbers = np.asarray(to_numpy(labels), np.int64).ravel()
            if len(numbers) == length:
                self.labels.append(numbers)

    def check_finite(self, array: np.ndarray, spec: Spec, number: int) -> None:
        bad = ~np.isfinite(array.reshape(len(array), -1)).all(axis=1)
        if bad.any():
            row = int(bad.argmax())
            kind = "NaN" if np.isnan(array[row]).any() else "infinity"
            raise CompileError(
                Code.nonfinite_data, f"{self.what}: input '{spec.name}' holds {kind} in sample {self.count + row} (batch {number}, row {row})",
                "leave such samples out",
            )

    def match(self, batch: Any, place: str) -> tuple[list[Any], Any]:
        """One value per input, and the labels where there are some."""
        if _is_array(batch):
            if len(self.specs) == 1:
                return [batch], None
            raise CompileError(
                Code.wrong_inputs, f"{place}one tensor, but the program takes {len(self.specs)} inputs ({', '.join(s.name for s in self.specs)})",
                "give a tuple or a dict for each sample or batch",
            )
        if isinstance(batch, Mapping):
            return self.match_names(batch, place), batch.get("labels", batch.get("label"))
        if not isinstance(batch, (tuple, list)):
            raise InputTypeError(Code.unreadable_data, f"{place}{article(batch)} holds no inputs", _DATA_HELP + "; transform= may convert it")
        try:
            return matched(self.structure, self.specs, tuple(batch), {}), None
        except Mismatch as error:
            first = error
        if len(batch) == len(self.specs) + 1 and all(map(_is_array, batch[:-1])) and _is_target(batch[-1]):
            return list(batch[:-1]), batch[-1] if _is_label(batch[-1]) else None
        if len(batch) == 2 and isinstance(batch[0], (tuple, list, Mapping)) and _is_target(batch[1]):
            return self.match(batch[0], place)[0], batch[1] if _is_label(batch[1]) else None
        raise CompileError(
            Code.wrong_inputs, f"{place}{first}", "transform= may pick the inputs, for example transform=lambda batch: batch[0]"
        ) from None

    def match_names(self, batch: Mapping[Any, Any], place: str) -> list[Any]:
        names = [s.name for s in self.specs]
        if set(names) <= set(batch):
            return [batch[n] for n in names]
        if self.structure:
            keys = self.structure.keys()
            given = {k: batch[k] for k in keys if k in batch} if keys else batch  # what else it holds is no input
            for args, kwargs in (((), batch), ((given,), {})):
                try:
                    return self.structure.bind(args, kwargs)
                except Mismatch:
                    pass
            if len(given) < len(keys):
                names = keys
        missing = [n for n in names if n not in batch]
        help = next(filter(None, (close_names(n, names) for n in map(str, batch) if n not in names)), "")
        raise CompileError(
            Code.wrong_inputs, f"{place}no array for input '{missing[0]}': the dict holds {', '.join(map(repr, batch)) or 'nothing'}",
            help or f"the program takes {', '.join(map(repr, names))}",
        )

    def finish(self) -> Samples:
        group = self.layout.rows or 1
        count = self.count // group
        if count == 0:
            of_rows = f" of {group} rows" if group > 1 and self.count else ""
            raise CompileError(Code.sample_count, f"{self.what} holds no samples{of_rows}", _DATA_HELP + "; a generator gives its items only once")
        inputs = [_joined(a, count * group).reshape(count, -1) for a in self.arrays]
        labels = np.concatenate(self.labels) if self.labels else None
        return Samples(inputs, labels if labels is not None and len(labels) == count else None)


def _joined(arrays: list[np.ndarray], rows: int) -> np.ndarray:
    """The first rows of all. A piece at a time, so that Ctrl-C ends it."""
    joined = np.empty((rows, *arrays[0].shape[1:]), np.float32)
    at = 0
    for array in arrays:
        piece = array[: rows - at]
        joined[at : at + len(piece)] = piece
        at += len(piece)
    return joined


def collect(
    data: Any,
    specs: list[Spec],
    structure: Structure | None,
    transform: Callable[[Any], Any] | None = None,
    what: str = "calibration data",
) -> Samples:
    """All samples of `data`, in whichever of its forms."""
    if isinstance(data, (str, os.PathLike)):
        path = path_of(data, what)
        if not Path(path).exists():
            raise CompileError(Code.no_file, f"{what}: there is no file {path}", _DATA_HELP)
        arrays, labels = _core.load_samples(path, [(s.name, list(s.shape)) for s in specs])
        return Samples([np.asarray(a) for a in arrays], None if labels is None else np.asarray(labels).ravel())
    collector = Collector(specs, structure, what)
    for number, batch in enumerate(batches(data, specs, what, transform)):
        collector.add(batch, number)
    return collector.finish()


def batches(data: Any, specs: list[Spec], what: str, transform: Callable[[Any], Any] | None) -> Iterator[Any]:
    """What `data` holds, transformed."""
    if transform is None:
        return _items(data, specs, what)
    if not callable(transform):
        raise InputTypeError(Code.wrong_inputs, f"transform is {article(transform)}", "give a function of an item that returns the inputs")
    return map(transform, _items(data, specs, what))


def _items(data: Any, specs: list[Spec], what: str) -> Iterator[Any]:
    if _is_array(data) or isinstance(data, Mapping):
        return iter([data])
    if isinstance(data, tuple) and len(data) == len(specs) > 1 and all(map(_is_array, data)):
        return iter([data])  # example inputs
    if not isinstance(data, Iterable) and not hasattr(data, "__getitem__"):
        raise InputTypeError(Code.unreadable_data, f"{what} is {article(data)}, which can not be iterated", _DATA_HELP)
    return iter(data)
