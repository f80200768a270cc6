"""The `corten` command: the binary that came with the package."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from ._core import Diagnostic, code_named, render

BINARY = Path(__file__).parent / "bin" / "corten"
_SECONDS_TO_END = 2


class CommandError(RuntimeError):
    """The emulated board or the tools for it failed.

    Attributes:
        diagnostics: what the command said, a `Diagnostic` for each message.
    """

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()):
        self.diagnostics = list(diagnostics)
        super().__init__(message)


def main() -> NoReturn:
    os.environ["CORTEN_PYTHON"] = sys.executable  # for `corten view`
    os.execv(BINARY, ["corten", *sys.argv[1:]])


def json_of(*args: str) -> Any:
    """The JSON that the command prints."""
    return json.loads(output_of(*args))


def output_of(*args: str) -> str:
    """What the command prints. Ctrl-C ends it and all that it started."""
    with (
        tempfile.TemporaryDirectory(prefix="corten-") as folder,  # where it leaves what it could not remove
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        # A session of its own, so that one signal reaches compilers and emulators too.
        process = subprocess.Popen(
            [BINARY, *args, "--diagnostics=json"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            env={**os.environ, "TMPDIR": folder},
        )
        try:
            while process.poll() is None:  # wait() would give Ctrl-C a quarter of a second
                time.sleep(0.01)
        except BaseException:
            process.send_signal(signal.SIGINT)  # it ends compilers and emulators, and removes what they made
            try:
                process.wait(_SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise
        out.seek(0)
        err.seek(0)
        if process.returncode:
            raise _error_of(err.read()) or CommandError(f"corten {args[0]} ended with {process.returncode}")
        return out.read()


def _error_of(err: str) -> CommandError | None:
    """From what `--diagnostics=json` wrote; None where it is something else."""
    try:
        told = json.loads(err)
    except ValueError:
        return CommandError(err.strip()) if err.strip() else None
    diagnostics = [Diagnostic(code_named(d["code"]), d["message"], d["help"], d["subject"]) for d in told]
    return CommandError(render(diagnostics), diagnostics)
