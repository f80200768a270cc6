"""What is known about a file: `corten inspect`, and the report beside it."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._command import json_of
from .._program import load


@dataclass(frozen=True)
class File:
    """`info` is what `corten inspect --json` prints; `report` is report.json (docs/report.md), empty if there is none."""

    path: Path
    info: dict[str, Any]
    report: dict[str, Any]

    @property
    def is_program(self) -> bool:
        """A .corten; else a .pt2."""
        return "steps" in self.info

    def steps(self) -> list[dict[str, Any]]:
        """Of a program: what image and report say about each."""
        known = self.report.get("steps") or [{}] * len(self.info["steps"])
        return [{**more, **step} for more, step in zip(known, self.info["steps"])]


def opened(path: str) -> File:
    """Raises CommandError where the file is damaged or no such file."""
    info = json_of("inspect", path, "--json")
    return File(Path(path), info, load(path).report() if "steps" in info else {})
