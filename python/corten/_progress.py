"""Progress on stderr, on a terminal only."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Literal

Progress = Literal["auto"] | bool | None | Callable[[int, int], Any]


class Line:
    """One line that is written over; gone at the end."""

    def __init__(self, what: str):
        self.what, self.width = what, 0

    def __call__(self, done: int, all: int) -> None:
        text = f"corten: {self.what} {done}/{all}"
        self.width = max(self.width, len(text))
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()

    def end(self) -> None:
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()


class shown:
    """with shown(progress, "calibrating") as tell: tell is None or takes done and all."""

    def __init__(self, progress: Progress, what: str):
        if progress not in ("auto", None, True, False) and not callable(progress):
            raise TypeError(f"progress must be 'auto', True, False or a function of done and all, not {progress!r}")
        terminal = progress in ("auto", None) and sys.stderr is not None and sys.stderr.isatty()
        self.line = Line(what) if progress is True or terminal else None
        self.tell: Callable[[int, int], Any] | None = self.line or (progress if callable(progress) else None)

    def __enter__(self) -> Callable[[int, int], Any] | None:
        return self.tell

    def __exit__(self, *exception: object) -> None:
        if self.line:
            self.line.end()
