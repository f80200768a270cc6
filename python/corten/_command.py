"""The `corten` command: the binary that came with the package."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
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
    # A session of its own, so that one signal reaches compilers and emulators too.
    process = subprocess.Popen(
        [BINARY, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, err = process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if process.returncode:
        raise CommandError(err.strip().removeprefix("error: ") or f"corten {args[0]} ended with {process.returncode}")
    return out
