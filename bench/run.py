#!/usr/bin/env python3
"""What Corten's programs and kernels cost on each core; docs/bench.md says how each figure is taken.

  bench/run.py networks           every network on every core, next to the peers
  bench/run.py kernels            every kernel row on its shapes; names rows that win nowhere
  ... --check                     compares with bench/baselines, fails where something grew
  ... --rebase                    writes bench/baselines
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import baselines
import kernels
import networks

ROOT = Path(__file__).resolve().parent.parent
CORES = ("cortex-m55", "cortex-m4", "cortex-m3", "cortex-m0plus")


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", nargs="*", default=["networks"], help="networks, kernels")
    p.add_argument("--core", action="append", choices=CORES, help="only this core; may be repeated")
    p.add_argument("--only", action="append", metavar="NAME", help="only this network or operator; may be repeated")
    action = p.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help="compare with the baselines; exit code 1 if something grew")
    action.add_argument("--rebase", action="store_true", help="write what was measured to the baselines")
    command = os.environ.get("CORTEN", ROOT / "build/release/bin/corten")
    shared = os.environ.get("CORTEN_SHARED", ROOT.parent / "shared")
    p.add_argument("--corten", default=command, type=Path, help="the command")
    p.add_argument("--shared", default=shared, type=Path, help="models, data and peers")
    p.add_argument("--build", default=ROOT / "build", type=Path, help="folder of the build trees of the cores")
    p.add_argument("--jobs", default=os.cpu_count() or 1, type=int)
    a = p.parse_args()
    if set(a.what) - {"networks", "kernels"}:
        p.error("measures networks and kernels, not " + ", ".join(a.what))
    a.cores = a.core or CORES
    return a


def toolchain():
    done = subprocess.run(["arm-none-eabi-g++", "-dumpfullversion"], capture_output=True, text=True)
    return f"arm-none-eabi-g++ {done.stdout.strip()}"


def main():
    a = arguments()
    if not a.corten.is_file():
        sys.exit(f"no {a.corten}: build the release preset, or say --corten")
    failed = False
    for what in a.what:
        start = time.monotonic()
        part = {"networks": networks, "kernels": kernels}[what]
        with tempfile.TemporaryDirectory(prefix="corten-bench-") as work:
            measured, complete = part.measure(a, ROOT, Path(work))
        part.show(measured, a, ROOT)
        if a.rebase:
            baselines.write(what, measured, toolchain(), whole=not a.only)
        elif a.check:
            failed |= not baselines.check(what, measured, toolchain(), whole=not a.only)
        failed |= not complete
        print(f"{what}: {time.monotonic() - start:.0f} s")
    return failed


if __name__ == "__main__":
    sys.exit(main())
