"""Metrics of a comparison: names that the compiler knows, and functions of the user's."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

from . import _core
from ._errors import Code, InputTypeError

Metric = Union[str, Callable[[Any, Any], Any]]


def split_metrics(metrics: Sequence[Metric] | Metric | None) -> tuple[list[str] | None, list[tuple[str, Callable[..., Any]]]]:
    """Names (None: what is sensible), and functions with names of their own."""
    if metrics is None:
        return None, []
    given = list(metrics) if isinstance(metrics, Sequence) and not isinstance(metrics, str) else [metrics]
    names: list[str] = []
    functions: list[tuple[str, Callable[..., Any]]] = []
    for metric in given:
        if isinstance(metric, str):
            names.append(metric)
        elif callable(metric):
            name = getattr(metric, "__name__", type(metric).__name__)
            taken = [*names, *(n for n, _ in functions)]
            functions.append((name if name not in taken else f"{name}_{len(taken) + 1}", metric))
        else:
            help = "give a name, or a function of outputs and labels"
            raise InputTypeError(Code.wrong_metric, f"a {type(metric).__name__} is no metric", help)
    _core.check_metrics(names)
    return names, functions


def add_metric(metrics: dict[str, Any], name: str, stage: str, value: Any) -> None:
    """A function's result: a number, or a dict of them."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            add_metric(metrics, f"{name}.{key}", stage, part)
        return
    try:
        metrics.setdefault(name, {})[stage] = float(value)
    except (TypeError, ValueError):
        raise InputTypeError(Code.wrong_metric,
            f"metric '{name}' returned a {type(value).__name__}", "return a number, or a dict of numbers"
        ) from None
