#!/usr/bin/env python3
"""Dependencies point down only: refuses every #include that does not, and instruction-set #ifs outside runtime/.

  cli, python -> compiler -> ops/*.h -> ir -> nothing        kernels -> runtime and their own folder        runtime -> nothing
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
FREESTANDING = {"stdint.h", "stddef.h", "stdbool.h", "string.h", "limits.h", "arm_acle.h", "arm_mve.h"}
GENERATED = {"model.h"}  # by emit
HOST_FILE = re.compile(r"(^op|legalize)\.cc$")
HOSTED_DATA = re.compile(r"^(constants|functions|pack.*)\.h$|twin\.cc$")  # what the compiler computes and packs, and twins of kernels
TOP_OPS = re.compile(r"ops/[a-z0-9_]+\.(h|def)$")


def layer(path):
    """(what the file is, patterns of what it may include, whether it is freestanding)."""
    parts = path.parts
    own = "/".join(parts[:-1])
    if parts[0] == "runtime":
        return "the runtime", ["runtime/"], True
    if parts[0] == "ir":
        return "the IR", ["ir/"], False
    if parts[0] == "ops":
        if len(parts) == 2:
            return "what operators share", [TOP_OPS, "ir/", "runtime/"], False
        if HOST_FILE.search(parts[-1]):
            return "an operator's host part", [TOP_OPS, "ir/", "runtime/", f"{own}/"], False
        if parts[-1] in ("test.cc", "cases.inc"):
            return "an operator's test", ["test/", "runtime/", f"{own}/"], False
        return "a kernel or its data", ["runtime/", f"{own}/"], not HOSTED_DATA.search(parts[-1])
    if parts[0] == "compiler":
        return "the compiler", ["compiler/", TOP_OPS, "ir/", "runtime/"], False
    if parts[0] in ("cli", "python"):
        return parts[0], [f"{parts[0]}/", "compiler/", "ir/", "runtime/"], False
    if own == "test/board":
        return "board support", ["test/board/", "runtime/"], False
    return None, [], False


def allowed(name, patterns):
    return any(name.startswith(p) if isinstance(p, str) else p.match(name) for p in patterns)


def check(path):
    what, patterns, freestanding = layer(path)
    if what is None:
        return
    text = (ROOT / path).read_text()
    for match in INCLUDE.finditer(text):
        bracket, name = match.groups()
        line = text.count("\n", 0, match.start(1)) + 1
        if bracket == '"' and name not in GENERATED and not allowed(name, patterns):
            yield f"{path}:{line}: {what} may not include {name}"
        if bracket == "<" and freestanding and name not in FREESTANDING:
            yield f"{path}:{line}: {what} is freestanding and may not include <{name}>"
    if path.parts[0] in ("ops", "compiler", "ir"):
        for match in re.finditer(r"^\s*#\s*(el)?if.*__ARM", text, re.M):
            line = text.count("\n", 0, match.end()) + 1
            yield f"{path}:{line}: #if for an instruction set belongs in runtime/simd.h or runtime/tier.h"


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [Path(f) for f in listed.stdout.split("\n") if f.endswith((".h", ".cc", ".inc", ".def"))]
    files = [f for f in files if (ROOT / f).is_file()]
    wrong = [w for f in files for w in check(f)]
    print("\n".join([*wrong, f"includes: {len(files)} files, {len(wrong)} wrong"]))
    return bool(wrong) or not files


if __name__ == "__main__":
    sys.exit(main())
