"""examples/board, as docs/porting.md quotes it: built by make and by CMake, run on the emulated boards. Needs the package."""
import re
import subprocess
import sys
from pathlib import Path

import pytest
import support

corten = support.package()

EXAMPLE, DIGITS = support.ROOT / "examples/board", support.ROOT / "examples/digits"
PACKAGED = Path(corten.__file__).parent / "share/corten"


def command(*args):
    done = subprocess.run([*map(str, args)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{done.stdout[-1000:]}{done.stderr[-2000:]}"


def emulated(core, elf):
    done = subprocess.run([support.ROOT / "test/board/qemu.sh", core, elf], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def unit(target, folder):
    support.corten("compile", DIGITS / "digits_cnn.pt2", "--target", target, "--calibrate", DIGITS / "calib.npz", "-o", folder)
    command(sys.executable, EXAMPLE / "golden.py", folder, DIGITS / "eval.npz")
    return folder


def make(core, model, out, sources):
    command("make", "-s", "-j2", "-C", EXAMPLE, f"CORE={core}", f"MODEL={model}", f"OUT={out}", f"CORTEN={sources}")


def cmake(core, model, out, sources):
    toolchain = sources / f"cmake/{core}.cmake"
    command("cmake", "-S", EXAMPLE, "-B", out, "-G", "Ninja", "--toolchain", toolchain, f"-DMODEL={model}", f"-DCORTEN={sources}")
    command("cmake", "--build", out, "-j2")


@pytest.mark.parametrize(
    "core, build, sources",
    [
        ("cortex-m0plus", make, support.ROOT),
        ("cortex-m4", make, PACKAGED),
        ("cortex-m55", cmake, support.ROOT),
    ],
)
def test_it_gives_the_hosts_bytes(tmp_path, core, build, sources):
    model = unit(core, tmp_path / "model")
    build(core, model, tmp_path / "out", sources)
    code, text = emulated(core, tmp_path / "out/board.elf")
    assert code == 0, text
    classes = re.findall(r"^class (\d), [1-9]\d* ticks, the host's bytes$", text, re.M)
    assert classes == ["7", "4", "3", "8"]  # the labels of eval.npz


def test_a_difference_is_seen(tmp_path):
    model = unit("cortex-m4", tmp_path / "model")
    golden = model / "golden.h"
    expected = golden.read_text().split("kExpected")
    golden.write_text(expected[0] + "kExpected" + expected[1].replace("{\n  {", "{\n  {1 + ", 1))
    make("cortex-m4", model, tmp_path / "out", support.ROOT)
    code, text = emulated("cortex-m4", tmp_path / "out/board.elf")
    assert code == 1 and "NOT the host's bytes" in text


def test_the_page_quotes_real_files():
    """Code of docs/porting.md stands in the example, the start-up code or the linker script, as it is; "..." leaves lines out."""
    files = [*(f for f in EXAMPLE.iterdir() if f.is_file()), *(support.ROOT / f"test/board/{name}" for name in ("startup.cc", "mps2.ld"))]
    known = "\n".join(f.read_text() for f in files)
    page = (support.ROOT / "docs/porting.md").read_text()
    quotes = re.findall(r"^```(c\+\+|cmake|make|ld)\n(.*?)^```$", page, re.M | re.S)
    assert len(quotes) >= 8
    assert [part for _, text in quotes for part in text.split("  ...\n") if part not in known] == []
