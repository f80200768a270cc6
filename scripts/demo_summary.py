"""demo_summary.py DIR DATA: prints what demo.sh measured, from the files it left in DIR. Python's standard library only."""
import ast
import json
import struct
import sys
import zipfile
from pathlib import Path

FORMATS = {"|i1": "b", "|u1": "B", "<i4": "i", "<i8": "q", "<f4": "f", "<f8": "d"}


def array(npz, name):
    """(shape, values) of one array, or None."""
    with zipfile.ZipFile(npz) as z:
        if name + ".npy" not in z.namelist():
            return None
        data = z.read(name + ".npy")
    start = 10 if data[6] == 1 else 12
    length = int.from_bytes(data[8:start], "little")
    header = ast.literal_eval(data[start : start + length].decode("latin1"))
    code = FORMATS.get(header["descr"])
    if code is None or header["fortran_order"]:
        return None
    count = 1
    for dim in header["shape"]:
        count *= dim
    return header["shape"], struct.unpack_from(f"<{count}{code}", data, start + length)


def top1(shape, values):
    """Index of the largest element of each sample; the first of equals."""
    size = len(values) // shape[0]
    rows = [values[i * size : (i + 1) * size] for i in range(shape[0])]
    return [row.index(max(row)) for row in rows]


def percent(part):
    return f"{100 * part:.2f} %"


def main():
    folder, data = Path(sys.argv[1]), sys.argv[2]
    compare = json.loads((folder / "compare.json").read_text())
    bench = json.loads((folder / "bench.json").read_text())
    host, board = array(folder / "host.npz", "out0"), array(folder / "board.npz", "out0")
    same = (folder / "host.npz").read_bytes() == (folder / "board.npz").read_bytes() or host == board
    labels = array(data, "labels") if data.endswith(".npz") else None
    rows = [("samples", compare["samples"])]
    if labels:
        right = [a == b for a, b in zip(top1(*board), labels[1])]
        rows += [("top-1, float32", percent(compare["top1_float"])), ("top-1, int8 on the host", percent(compare["top1_int8"])),
                 ("top-1, int8 on the board", percent(sum(right) / len(right)))]
    else:
        rows.append(("same top-1 as float32", percent(compare["top1_same"])))
    rows.append(("output SQNR against float32", ", ".join(f"{db:.1f} dB" for db in compare["output_sqnr_db"])))
    rows.append(("board and host", "the same bytes" if same else "DIFFERENT BYTES"))
    ram = bench["arena_bytes"] + bench["state_bytes"]
    flash = bench["image_bytes"] + bench["code_bytes"]
    rows += [
        ("instructions per inference", f"{bench['instructions']:,} (exact, emulated)"),
        ("RAM", f"{ram:,} bytes (arena {bench['arena_bytes']:,}, state {bench['state_bytes']:,})"),
        ("stack", f"{bench['stack_bytes']:,} bytes"),
        ("flash", f"{flash:,} bytes (model {bench['image_bytes']:,}, code {bench['code_bytes']:,})"),
        ("report", next(p for p in (folder / "report.html", folder / "report.json") if p.is_file())),
        ("for your firmware", f"{folder}/model.h, model.cc"),
    ]
    width = max(len(name) for name, _ in rows)
    print()
    for name, value in rows:
        print(f"{name:<{width}}  {value}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
