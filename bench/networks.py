"""Networks: compiled, run on the emulated board, shown next to what others need for the same work."""
import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

# Name, model, calibration data (the first one that is there), names of the same network among the peers. Paths: in the project, or
# where they start with "shared/", in the folder of models and data.
NETWORKS = (
    ("digits", "examples/digits/digits_cnn.pt2", "examples/digits/calib.npz", ()),
    ("kws", "shared/models/mlperf_tiny/kws_dscnn.pt2", "shared/data/kws_calib.npz", ("kws", "ds_cnn")),
    ("vww", "shared/models/mlperf_tiny/vww_mobilenetv1.pt2", "shared/data/vww_calib.npz", ("vww", "vwwp", "mobilenet_v1_025")),
    ("ic", "shared/models/mlperf_tiny/ic_resnet8.pt2", "shared/data/ic_calib.npz", ("ic", "resnet8")),
    ("ad", "shared/models/mlperf_tiny/ad_autoencoder.pt2", "shared/data/ad_calib.npz", ("ad", "deep_autoencoder")),
    ("sww", "shared/models/mlperf_tiny/sww.pt2", "shared/data/sww_calib.npz", ("sww",)),
)
OWN_MODELS = ("ds_cnn", "mobilenet_v1_025", "resnet8", "deep_autoencoder")
NOTES = {"vwwp": "dead channels removed", **dict.fromkeys(OWN_MODELS, "own model")}
PEER_CORES = {"cortex-m55": "m55", "cortex-m4": "m4", "cortex-m3": "m3", "cortex-m0plus": "m0"}
COLUMNS = ("instructions", "est_cycles", "ram_bytes", "stack_bytes", "code_bytes", "image_bytes")
TITLES = ("instructions", "est. cycles", "RAM B", "stack B", "code B", "image B")


def located(path, a, root):
    return a.shared / path.removeprefix("shared/") if path.startswith("shared/") else root / path


def corten(a, *args):
    done = subprocess.run([a.corten, *map(str, args)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"corten {' '.join(map(str, args))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def cost(a, model, calibration, core, folder):
    corten(a, "compile", model, "--target", core, "--calibrate", calibration, "-o", folder)
    b = json.loads(corten(a, "bench", folder / "model.corten", "--json"))
    report = json.loads((folder / "report.json").read_text())
    figures = {"instructions": b["instructions"], "est_cycles": b["est_cycles"], "ram_bytes": b["arena_bytes"] + b["state_bytes"]}
    figures |= {k: b[k] for k in ("stack_bytes", "code_bytes", "image_bytes")}
    return figures | {"macs": sum(s["macs"] for s in report["steps"])}


def measure(a, root, work):
    """({core: {network: figures}}, False if something that had to be measured was not)."""
    todo, complete = [], True
    for name, model, calibration, _ in NETWORKS:
        model, calibration = located(model, a, root), located(calibration, a, root)
        if a.only and name not in a.only:
            continue
        if not (model.is_file() and calibration.is_file()):
            complete = complete and not os.environ.get("CI")
            print(f"{'FAILED' if os.environ.get('CI') else 'skipped'} {name}: no {model} (CORTEN_SHARED)")
            continue
        todo += [(core, name, model, calibration) for core in a.cores]
    with ThreadPoolExecutor(a.jobs) as pool:
        done = list(pool.map(lambda t: cost(a, t[2], t[3], t[0], work / f"{t[1]}-{t[0]}"), todo))
    measured = {core: {} for core in a.cores}
    for (core, name, *_), figures in zip(todo, done):
        measured[core][name] = figures
    return measured, complete


def peer_rows(a, names, core):
    path = a.shared / "baselines/peers.json"
    if not path.is_file():
        return []
    rows = [r for r in json.loads(path.read_text()) if r["model"] in names and r["core"] == PEER_CORES[core]]
    rows.sort(key=lambda r: names.index(r["model"]))
    for r in rows:
        r["image_bytes"] = r["weights_bytes"]
        r["system"] += f" ({NOTES[r['model']]})" if r["model"] in NOTES else ""
    return rows


def show(measured, a, root):
    """A table in Markdown. Ratios: the peer's figure to Corten's."""
    widths = (8, 14, 38, *(13 for _ in TITLES), 8, 8)

    def line(cells):
        return "| " + " | ".join(c.ljust(w) if i < 3 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths))) + " |"

    print(line(("network", "core", "system", *TITLES, "cycles x", "RAM x")))
    print(line(["-" * w for w in widths]))
    for name, _, _, peers in NETWORKS:
        for core in a.cores:
            own = measured[core].get(name)
            if own is None:
                continue
            print(line((name, core, "**corten**", *(f"{own[c]:,}" for c in COLUMNS), "", "")))
            for r in peer_rows(a, peers, core):
                ratios = (f"{r[c] / own[c]:.2f}" for c in ("est_cycles", "ram_bytes"))
                print(line((name, core, r["system"], *(f"{r[c]:,}" for c in COLUMNS), *ratios)))
    print()
