"""Stored figures: one JSON file for each kind and core, one line for each row, so that differences read well."""
import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "baselines"
# Figure: how much it may grow, as a share and in its own unit; the larger one counts. Others are stored for reading only.
BYTES = (0.01, 64)
LIMITS = {"instructions": (0.02, 20), "ram_bytes": BYTES, "stack_bytes": BYTES, "code_bytes": BYTES, "image_bytes": BYTES}


def path_of(kind, core):
    return FOLDER / f"{kind}-{core}.json"


def load(path):
    return json.loads(path.read_text()) if path.is_file() else {"toolchain": None, "rows": {}}


def write(kind, measured, toolchain, whole):
    """`measured`: {core: {name: {figure: number}}}. Rows that were not measured stay, unless all were."""
    FOLDER.mkdir(exist_ok=True)
    for core, rows in measured.items():
        path = path_of(kind, core)
        if not whole or kind == "networks":
            rows = {**load(path)["rows"], **rows}
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(rows[name])}" for name in rows)
        path.write_text(f'{{"toolchain": {json.dumps(toolchain)}, "rows": {{\n{lines}\n}}}}\n')
        print(f"wrote {path}")


def grown(figure, before, now):
    share, absolute = LIMITS.get(figure, (None, None))
    return share is not None and now - before > max(share * before, absolute)


def check(kind, measured, toolchain, whole=True):
    """Prints what differs. False if something grew beyond its limit under the toolchain of the baselines."""
    failures = compared = 0
    for core, rows in measured.items():
        base = load(path_of(kind, core))
        same_toolchain = base["toolchain"] == toolchain
        if not same_toolchain:
            print(f"{core}: baselines are of {base['toolchain']}, this is {toolchain}: differences fail nothing")
        for name, figures in rows.items():
            before = base["rows"].get(name)
            if before is None:
                print(f"{core} {name}: no baseline")
                continue
            for figure in LIMITS.keys() & figures.keys() & before.keys():
                compared += 1
                was, now = before[figure], figures[figure]
                worse = grown(figure, was, now)
                failures += worse and same_toolchain
                if worse or grown(figure, now, was):
                    change = f"{was:,} -> {now:,} ({100 * (now - was) / max(was, 1):+.1f} %)"
                    print(f"{'WORSE ' if worse else 'better'} {core} {name}: {figure} {change}")
        for name in base["rows"].keys() - rows.keys() if whole else ():
            print(f"{core} {name}: not measured")
    print(f"{kind}: {compared} figures compared, {failures} grew beyond their limits (bench/run.py {kind} --rebase accepts all)")
    return failures == 0 and compared > 0
