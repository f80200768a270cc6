#!/usr/bin/env python3
"""Line budget: no file of code over 600 lines."""
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINES = 600
TEXT = (".h", ".cc", ".c", ".inc", ".def", ".py", ".sh", ".cmake", ".ld")


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [f for f in listed.stdout.split("\n") if f.endswith(TEXT) and (ROOT / f).is_file()]
    wrong = []
    for f in files:
        lines = (ROOT / f).read_text().count("\n")
        if lines > LINES:
            wrong.append(f"{f}: {lines} lines, at most {LINES}")
    print("\n".join([*wrong, f"lines: {len(files)} files, {len(wrong)} over budget"]))
    return bool(wrong) or not files


if __name__ == "__main__":
    sys.exit(main())
