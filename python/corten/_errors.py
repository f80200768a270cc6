"""What goes wrong, as Python's exceptions."""
from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from ._core import Diagnostic as Diagnostic


class CompileError(ValueError):
    """The model or the data is at fault. `str()` says what is wrong, where in your Python code, and what to do.

    Attributes:
        diagnostics: the same in parts, a `Diagnostic` for each message.
    """

    diagnostics: list[Diagnostic]

    def __init__(self, message: str, help: str = "", subject: str = ""):
        self.diagnostics = [Diagnostic(message, help, subject)]
        super().__init__(_text(self.diagnostics))

    @classmethod
    def of(cls, diagnostics: Iterable[Diagnostic]) -> CompileError:
        """An error of these diagnostics."""
        error = cls.__new__(cls)
        error.diagnostics = list(diagnostics)
        ValueError.__init__(error, _text(error.diagnostics))
        return error

    def about(self, subject: str, path: str) -> CompileError:
        """The same error, naming `subject` where it names `path`: a file that the user has never seen."""
        for d in self.diagnostics:
            d.subject = subject if d.subject == path else d.subject
            d.message = d.message.replace(path, subject)
        self.args = (_text(self.diagnostics),)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.diagnostics)


class InputTypeError(CompileError, TypeError):
    """An argument or a sample is of a type that can not be used."""


def _text(diagnostics: list[Diagnostic]) -> str:
    if len(diagnostics) == 1:
        return str(diagnostics[0]).removeprefix("error: ")  # the exception's name says it
    return "\n".join([f"{len(diagnostics)} errors", *map(str, diagnostics)])


def _restored(kind: type[CompileError], diagnostics: list[Diagnostic]) -> CompileError:
    return kind.of(diagnostics)


def article(value: Any) -> str:
    """ "an int", of what a value is."""
    name = type(value).__name__
    return f"a{'n' if name[0] in 'aeiouAEIOU' else ''} {name}"


def close_names(name: str, names: Iterable[str]) -> str:
    """ "did you mean 'x' or 'y'?", or '' where nothing is close."""
    found = difflib.get_close_matches(name, list(names), n=3, cutoff=0.6)
    return f"did you mean {' or '.join(repr(n) for n in found)}?" if found else ""
