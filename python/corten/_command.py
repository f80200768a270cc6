"""The `corten` command: the binary that came with the package."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NoReturn

BINARY = Path(__file__).parent / "bin" / "corten"


class CommandError(RuntimeError):
    """The emulated board or the tools for it failed."""


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
            [BINARY, *args],
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
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        out.seek(0)
        err.seek(0)
        if process.returncode:
            raise CommandError(err.read().strip().removeprefix("error: ") or f"corten {args[0]} ended with {process.returncode}")
        return out.read()
