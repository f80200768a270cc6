"""mypy over the installed package, with the stub of its binding, and over a user's program."""
import subprocess
import sys
from pathlib import Path

import support

corten = support.package()
support.package("mypy", "scripts/setup.sh test")

HERE = Path(__file__).parent


def mypy(*args, cache):
    command = [sys.executable, "-m", "mypy", "--config-file", support.ROOT / "pyproject.toml", "--cache-dir", cache, *args]
    return subprocess.run(command, capture_output=True, text=True, cwd=cache)


def test_the_package_and_a_user_are_typed(tmp_path):
    package = Path(corten.__file__).parent
    assert (package / "py.typed").is_file() and (package / "_core.pyi").is_file()
    for what in (("-p", "corten"), (HERE / "typed_example.py",)):
        done = mypy(*what, cache=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import corten\n\nx: int = corten.compile('a.pt2', target=3)\n")
    done = mypy(wrong, cache=tmp_path)
    assert "[assignment]" in done.stdout and "[arg-type]" in done.stdout, done.stdout + done.stderr
