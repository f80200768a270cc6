"""What goes wrong, as Python's exceptions."""
from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from typing import Any

from ._core import Code as Code
from ._core import Diagnostic as Diagnostic
from ._core import render


class CompileError(ValueError):
    """The model or the data is at fault. `str()` says what is wrong, where in your Python code, and what to do.

    Attributes:
        diagnostics: the same in parts, a `Diagnostic` for each message.
    """

    diagnostics: list[Diagnostic]

    def __init__(self, code: Code, message: str, help: str = "", subject: str = ""):
        self.diagnostics = [Diagnostic(code, message, help, subject)]
        super().__init__(render(self.diagnostics))

    @classmethod
    def of(cls, diagnostics: Iterable[Diagnostic]) -> CompileError:
        """An error of these diagnostics."""
        error = cls.__new__(cls)
        error.diagnostics = list(diagnostics)
        ValueError.__init__(error, render(error.diagnostics))
        return error

    def about(self, subject: str, path: str) -> CompileError:
        """The same error, naming `subject` where it names `path`: a file that the user has never seen."""
        about(self.diagnostics, subject, path)
        self.args = (render(self.diagnostics),)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.diagnostics)


class InputTypeError(CompileError, TypeError):
    """An argument or a sample is of a type that can not be used."""


class CompileWarning(UserWarning):
    """Something that does not stop a compilation, but should be known.

    Attributes:
        diagnostics: the same in parts.
    """

    diagnostics: list[Diagnostic]

    def __init__(self, diagnostics: list[Diagnostic]):
        self.diagnostics = diagnostics
        super().__init__(render(diagnostics))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.diagnostics,)


def about(diagnostics: Iterable[Diagnostic], subject: str, path: str) -> None:
    """Names `subject` where `path` is named."""
    for d in diagnostics:
        d.subject = subject if d.subject == path else d.subject
        d.message = d.message.replace(path, subject)


def _restored(kind: type[CompileError], diagnostics: list[Diagnostic]) -> CompileError:
    return kind.of(diagnostics)


def article(value: Any) -> str:
    """ "an int", of what a value is."""
    name = type(value).__name__
    return f"a{'n' if name[0] in 'aeiouAEIOU' else ''} {name}"


def path_of(value: Any, name: str) -> str:
    """A path as the compiler takes it. `name` is the argument's."""
    if not isinstance(value, (str, os.PathLike)):
        raise InputTypeError(Code.no_file, f"{name} must be a path, not {article(value)}", "give a str or a pathlib.Path")
    path = os.fsdecode(value)
    try:
        path.encode()
    except UnicodeEncodeError:
        raise CompileError(Code.no_file, f"the name {ascii(path)} is not UTF-8", "rename it") from None
    return path


def close_names(name: str, names: Iterable[str]) -> str:
    """ "did you mean 'x' or 'y'?", or '' where nothing is close."""
    found = difflib.get_close_matches(name, list(names), n=3, cutoff=0.6)
    return f"did you mean {' or '.join(repr(n) for n in found)}?" if found else ""
