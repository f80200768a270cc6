"""What the installed package holds. Needs it installed: `pip install .`."""
import inspect
import re
import subprocess
import sys
from pathlib import Path

import support

corten = support.package()

PACKAGE = Path(corten.__file__).parent


def test_command_and_sources_are_in_the_package():
    command = Path(sys.executable).parent / "corten"
    assert subprocess.run([command, "--version"], capture_output=True, text=True).stdout.strip() == corten.__version__
    assert subprocess.run([command], capture_output=True).returncode == 2
    for part in ("runtime/run.cc", "ops/conv2d/dsp.cc", "test/board/harness.cc", "tools/qemu_count.c", "cmake/core.cmake"):
        assert (PACKAGE / "share/corten" / part).is_file(), part
    assert (PACKAGE / "model_explorer/main.py").is_file()


def test_torch_is_imported_only_where_it_is_needed():
    code = "import corten, sys; corten.targets(); assert 'torch' not in sys.modules and 'pandas' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_typed():
    assert (PACKAGE / "py.typed").is_file()
    from corten import _core

    stub = (PACKAGE / "_core.pyi").read_text()
    for name in dir(_core):
        if not name.startswith("_"):
            assert re.search(rf"^(def|class) {name}\b", stub, re.M), f"no {name} in the stub"
    for name in corten.__all__:
        thing = getattr(corten, name)
        methods = [f for k, f in vars(thing).items() if inspect.isfunction(f) and k[0] != "_"] if inspect.isclass(thing) else []
        functions = [thing] if inspect.isfunction(thing) else methods
        for f in functions:
            s = inspect.signature(f)
            untyped = [p.name for p in s.parameters.values() if p.annotation is p.empty and p.name not in ("self", "cls")]
            assert not untyped and s.return_annotation is not s.empty, f"{f.__qualname__}: {untyped}"
