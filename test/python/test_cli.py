"""The command line: exit codes, messages, formats of inputs, damaged files."""
import json
import os
import re
import shutil
import struct
import subprocess
import zipfile
import zlib

import numpy as np
import pytest
import support
import torch
import torch.nn.functional as F
from support import corten, refused
from torch import nn

DIGITS = support.ROOT / "examples/digits"


@pytest.fixture(scope="module")
def digits():
    """The digits image."""
    return support.compile_model(DIGITS / "digits_cnn.pt2", "cortex-m55", DIGITS / "calib.npz")


@pytest.fixture(scope="module")
def images():
    with np.load(DIGITS / "eval.npz") as z:
        return z["in0"][:4]


def rewritten(change, source=DIGITS / "digits_cnn.pt2"):
    """A copy of the .pt2 with `change(name, bytes)` applied to every entry."""
    path = support.folder() / "changed.pt2"
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            data = change(name, old.read(name))
            if data is not None:
                new.writestr(name, data)
    return path


def compile_refused(pt2, *args, calibrate=DIGITS / "calib.npz"):
    """Compilation is refused, writes nothing, and names the file; returns the message."""
    out = support.folder() / "out"
    message = refused("compile", pt2, "-o", out, *(["--calibrate", calibrate] if calibrate else []), *args)
    assert not out.exists() or not list(out.iterdir()), f"left behind: {list(out.iterdir())}"
    return message


# ---- usage --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("args", [(), ("compile",), ("comple", "x"), ("compile", "x.pt2", "--tarjet", "y"), ("run", "x"), ("bench",), ("compare", "a")])
def test_usage_is_2(args):
    assert corten(*args, code=2).err


@pytest.mark.parametrize("command", ["compile", "run", "bench", "compare", "decode", "inspect", "targets"])
def test_help_has_examples(command):
    text = corten(command, "--help").out
    assert "Example" in text and f"corten {command}" in text


def test_top_help():
    text = corten("--help").out
    assert "Example" in text and all(c in text for c in ("compile", "run", "bench", "compare", "decode", "inspect", "targets"))
    assert re.search(r"\d+\.\d+", corten("--version").out)


def test_targets():
    names = [t["name"] for t in corten("targets", "--json").json]
    assert set(support.TARGETS) | {"cortex-m0", "cortex-m7", "cortex-m33", "cortex-m85"} <= set(names)
    assert all(n in corten("targets").out for n in names)


def test_unknown_target_names_close_ones():
    out = support.folder() / "out"
    result = corten("compile", DIGITS / "digits_cnn.pt2", "--target", "cortex-m5", "--calibrate", DIGITS / "calib.npz", "-o", out, code=None)
    assert result.code in (1, 2) and "cortex-m55" in result.err and not out.exists()


# ---- results ------------------------------------------------------------------------------------------------------------------


def test_files_written(digits):
    assert sorted(os.listdir(digits.parent)) == ["model.cc", "model.corten", "model.h", "report.html", "report.json"]
    json.loads((digits.parent / "report.json").read_text())


def test_compile_is_repeatable(digits):
    again = support.compile_model(DIGITS / "digits_cnn.pt2", "cortex-m55", DIGITS / "calib.npz")
    for name in ("model.corten", "model.h", "model.cc"):
        assert (again.parent / name).read_bytes() == (digits.parent / name).read_bytes()


def test_json_parses(digits):
    out = support.folder()
    report = corten("compile", DIGITS / "digits_cnn.pt2", "--calibrate", DIGITS / "calib.npz", "-o", out, "--json").json
    assert report == json.loads((out / "report.json").read_text())
    assert corten("inspect", digits, "--json").json["target"] == "cortex-m55"
    assert corten("inspect", DIGITS / "digits_cnn.pt2", "--json").json["nodes"]
    assert "top1_int8" in corten("compare", DIGITS / "digits_cnn.pt2", digits, "--data", DIGITS / "eval.npz", "--json").json


def test_bench(digits):
    keep = support.folder()
    b = corten("bench", digits, "--on", "qemu", "--json", "--keep", keep).json
    for key in ("instructions", "arena_bytes", "stack_bytes", "image_bytes", "code_bytes"):
        assert b[key] > 0, key
    assert b["image_bytes"] == digits.stat().st_size and b["state_bytes"] <= 256 and b["stack_bytes"] < 1024
    assert sum(s["instructions"] for s in b["steps"]) <= b["instructions"] < 1.05 * sum(s["instructions"] for s in b["steps"]) + 2000
    assert b["instructions"] == corten("bench", digits, "--json").json["instructions"], "counts differ from run to run"
    assert list(keep.glob("*.elf"))


def test_dump(digits):
    for step in ("import", "legalize", "fuse", "quantize", "layout"):
        out = support.folder()
        text = corten("compile", DIGITS / "digits_cnn.pt2", "--calibrate", DIGITS / "calib.npz", "-o", out, f"--dump={step}").out
        assert "conv2d" in text and text.count("\n") > 5


def test_raw_and_float_outputs(digits, images):
    raw, real = support.run(digits, [images])[0], support.run(digits, [images], floats=True)[0]
    io = corten("inspect", digits, "--json").json["outputs"][0]
    assert raw.dtype == np.int8 and real.dtype == np.float32 and raw.shape[0] == 4
    assert np.allclose((raw.astype(np.float32) - io["zero_point"]) * io["scale"], real, atol=1e-6)


def test_float_io(images):
    image = support.compile_model(DIGITS / "digits_cnn.pt2", "cortex-m4", DIGITS / "calib.npz", "--float-io")
    y = support.run(image, [images])[0]
    assert y.dtype == np.float32
    assert support.equal_bytes([y], support.run(image, [images], "qemu"))


# ---- inputs -------------------------------------------------------------------------------------------------------------------


def test_array_formats(digits, images):
    """npz stored and deflated, npy, Fortran order, other dtypes, with and without the batch dimension."""
    want = support.run(digits, [images])[0]
    folder = support.folder()
    np.savez_compressed(folder / "deflated.npz", in0=images)
    np.savez(folder / "named.npz", x=images, labels=np.arange(4), out0=np.zeros(4))
    np.savez(folder / "batched.npz", in0=images[:, None])
    np.save(folder / "plain.npy", images)
    np.save(folder / "fortran.npy", np.asfortranarray(images))
    np.save(folder / "double.npy", images.astype(np.float64))
    np.save(folder / "big.npy", images.astype(">f4"))
    for name in ("deflated.npz", "named.npz", "batched.npz", "plain.npy", "fortran.npy", "double.npy", "big.npy"):
        assert (support.run(digits, folder / name)[0] == want).all(), name
    whole = (images * 16).astype(np.uint8)
    np.save(folder / "bytes.npy", whole)
    np.save(folder / "half.npy", whole.astype(np.float16))
    assert (support.run(digits, folder / "bytes.npy")[0] == support.run(digits, folder / "half.npy")[0]).all()


def test_npy_output(digits, images):
    out = support.folder() / "y.npy"
    corten("run", digits, "--input", support.save_inputs([images]), "--output", out)
    assert (np.load(out) == support.run(digits, [images])[0]).all()


def test_calibration_formats_give_one_image(digits):
    with np.load(DIGITS / "calib.npz") as z:
        x = z["in0"]
    np.save(support.folder() / "c.npy", x)
    for array in (x, np.asfortranarray(x), x.astype(np.float64)):
        path = support.folder() / "c.npy"
        np.save(path, array)
        assert support.compile_model(DIGITS / "digits_cnn.pt2", "cortex-m55", path).read_bytes() == digits.read_bytes()


BAD_INPUTS = {
    "shape": (lambda x: {"in0": x[:, :, :7]}, r"shape|8, ?8"),
    "name": (lambda x: {"something": x}, r"something|in0"),
    "empty": (lambda x: {"in0": x[:0]}, r"no samples|empty|0 samples"),
    "nan": (lambda x: {"in0": np.where(x > 0.9, np.nan, x)}, r"(?i)nan"),
    "infinite": (lambda x: {"in0": np.where(x > 0.9, np.inf, x)}, r"(?i)inf"),
    "text": (lambda x: {"in0": np.array(["a", "b"])}, r"(?i)type"),
    "complex": (lambda x: {"in0": x + 1j}, r"(?i)type|complex"),
}


@pytest.mark.parametrize("kind", BAD_INPUTS)
def test_bad_calibration_data(kind, images):
    change, pattern = BAD_INPUTS[kind]
    path = support.folder() / "bad.npz"
    np.savez(path, **change(images))
    message = compile_refused(DIGITS / "digits_cnn.pt2", calibrate=path)
    assert re.search(pattern, message) and "bad.npz" in message, message


def test_missing_calibration_data():
    assert "calib" in compile_refused(DIGITS / "digits_cnn.pt2", calibrate=None)
    assert "nowhere.npz" in compile_refused(DIGITS / "digits_cnn.pt2", calibrate="/nowhere.npz")


@pytest.mark.parametrize("kind", ["truncated", "not a zip", "empty file", "truncated npy"])
def test_damaged_arrays(kind, images):
    folder = support.folder()
    np.savez(folder / "whole.npz", in0=images)
    np.save(folder / "whole.npy", images)
    whole, array = (folder / "whole.npz").read_bytes(), (folder / "whole.npy").read_bytes()
    name, data = {"truncated": ("bad.npz", whole[:-200]), "not a zip": ("bad.npz", b"hello" * 99), "empty file": ("bad.npz", b""),
                  "truncated npy": ("bad.npy", array[:-200])}[kind]
    (folder / name).write_bytes(data)
    assert name in compile_refused(DIGITS / "digits_cnn.pt2", calibrate=folder / name)


# ---- programs -----------------------------------------------------------------------------------------------------------------


def test_missing_and_foreign_files(tmp_path):
    assert "nowhere.pt2" in compile_refused("/nowhere.pt2")
    (tmp_path / "text.pt2").write_text("no archive\n" * 50)
    assert "text.pt2" in compile_refused(tmp_path / "text.pt2")
    (tmp_path / "empty.pt2").write_bytes(b"")
    assert "empty.pt2" in compile_refused(tmp_path / "empty.pt2")
    with zipfile.ZipFile(tmp_path / "other.pt2", "w") as z:
        z.writestr("readme.txt", "hello")
    assert "other.pt2" in compile_refused(tmp_path / "other.pt2")
    assert compile_refused(tmp_path)  # a folder


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.99])
def test_truncated_program(part, tmp_path):
    whole = (DIGITS / "digits_cnn.pt2").read_bytes()
    (tmp_path / "cut.pt2").write_bytes(whole[: int(len(whole) * part)])
    assert "cut.pt2" in compile_refused(tmp_path / "cut.pt2")


def edited_model(change):
    """The .pt2 with its models/model.json changed."""
    def entry(name, data):
        if not name.endswith("models/model.json"):
            return data
        model = json.loads(data)
        change(model)
        return json.dumps(model)

    return rewritten(entry)


def test_deflated_program(digits):
    path = support.folder() / "digits_cnn.pt2"
    with zipfile.ZipFile(DIGITS / "digits_cnn.pt2") as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    assert support.compile_model(path, "cortex-m55", DIGITS / "calib.npz").read_bytes() == digits.read_bytes()


def test_wrong_schema():
    message = compile_refused(edited_model(lambda m: m["schema_version"].update(major=99)))
    assert "schema" in message and "99" in message


def test_lying_program():
    """Entries that are missing, too short, or do not fit what model.json says."""
    assert "weight_0" in compile_refused(rewritten(lambda name, data: None if name.endswith("weight_0") else data))
    assert "conv2.weight" in compile_refused(rewritten(lambda name, data: data[:100] if name.endswith("weight_2") else data))
    compile_refused(rewritten(lambda name, data: b"{" + data if name.endswith("model.json") else data))
    compile_refused(rewritten(lambda name, data: b"[]" if name.endswith("model.json") else data))
    compile_refused(rewritten(lambda name, data: b"\xff\xfe" + data if name.endswith("model.json") else data))

    def no_nodes(model):
        model["graph_module"]["graph"]["nodes"] = []

    compile_refused(edited_model(no_nodes))

    def unknown_name(model):
        model["graph_module"]["graph"]["nodes"][0]["inputs"][0]["arg"]["as_tensor"]["name"] = "nobody"

    assert "nobody" in compile_refused(edited_model(unknown_name))


def test_huge_claims():
    """Sizes and strides far beyond the data are refused, not allocated."""
    def entry(name, data):
        if not name.endswith("model_weights_config.json"):
            return data
        text = data.decode()
        return re.sub(r'("sizes": \[\{"as_int": )\d+', r"\g<1>4000000000000000000", text)

    compile_refused(rewritten(entry))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_not_finite(value):
    def entry(name, data):
        if not name.endswith("weight_2"):
            return data
        return data[:40] + struct.pack("<f", value) + data[44:]

    message = compile_refused(rewritten(entry))
    assert re.search(r"(?i)nan|inf|finite", message) and "conv2" in message, message


@pytest.mark.parametrize("seed", range(20))
def test_flipped_program(seed):
    """Any flip in model.json or the archive: a refusal or a program, never a crash."""
    rng = np.random.default_rng(seed)
    data = bytearray((DIGITS / "digits_cnn.pt2").read_bytes())
    for position in rng.integers(0, len(data), 8):
        data[position] ^= 1 << int(rng.integers(8))
    path = support.folder() / "flipped.pt2"
    path.write_bytes(bytes(data))
    check_survives(path)

    def entry(name, text):
        if not name.endswith("models/model.json"):
            return text
        text = bytearray(text)
        for position in rng.integers(0, len(text), 3):
            text[position] = int(rng.choice(list(b'0123456789{}[]",:-eE')))
        return bytes(text)

    check_survives(rewritten(entry))


def check_survives(pt2):
    result = corten("compile", pt2, "--calibrate", DIGITS / "calib.npz", "-o", support.folder(), code=None, timeout=60)
    assert result.code in (0, 1), f"exit {result.code}: {result.err[-500:]}"
    assert "internal error" not in result.err, result.err


class Sorts(nn.Module):
    def forward(self, x):
        return torch.sort(F.relu(x), -1)[0]


def test_unknown_operator_is_located():
    x = torch.randn(1, 8)
    message = compile_refused(support.export(Sorts(), [x]), calibrate=support.save_inputs(support.samples_like([x], 4)))
    line = next(i for i, text in enumerate(open(__file__), 1) if "torch.sort(" in text)
    assert "sort" in message and f"test_cli.py:{line}" in message and "help: " in message, message


def test_several_errors_at_once():
    """Every operator that is not supported is named in one go."""
    class Two(nn.Module):
        def forward(self, x):
            return torch.sort(x, -1)[0], torch.cumsum(x, -1)

    x = torch.randn(1, 8)
    message = compile_refused(support.export(Two(), [x]), calibrate=support.save_inputs(support.samples_like([x], 4)))
    assert "sort" in message and "cumsum" in message


def test_dynamic_shapes():
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(nn.Linear(4, 3), (torch.randn(3, 4),), dynamic_shapes={"input": {0: batch}})
    path = support.folder() / "dynamic.pt2"
    torch.export.save(program, path)
    message = compile_refused(path, calibrate=None)
    assert "dynamic" in message or "symbolic" in message, message
    assert "help: " in message


def test_unwritable_output(tmp_path):
    (tmp_path / "file").write_text("")
    message = refused("compile", DIGITS / "digits_cnn.pt2", "--calibrate", DIGITS / "calib.npz", "-o", tmp_path / "file/out")
    assert "file/out" in message


def test_unwritable_outputs_of_run(digits, images, tmp_path):
    assert "nowhere" in refused("run", digits, "--input", support.save_inputs([images]), "--output", tmp_path / "nowhere/y.npz")


def test_outputs_stay_when_compilation_fails(digits):
    """A failed compile into a folder leaves the files of the one before."""
    before = {f.name: f.read_bytes() for f in digits.parent.iterdir()}
    refused("compile", "/nowhere.pt2", "-o", digits.parent)
    assert {f.name: f.read_bytes() for f in digits.parent.iterdir()} == before


# ---- images -------------------------------------------------------------------------------------------------------------------


def test_not_an_image(tmp_path, images):
    x = support.save_inputs([images])
    for name, data in (("empty.corten", b""), ("text.corten", b"hello" * 100), ("zero.corten", bytes(4096))):
        (tmp_path / name).write_bytes(data)
        for command in (("run", tmp_path / name, "--input", x), ("inspect", tmp_path / name), ("bench", tmp_path / name)):
            assert name in refused(*command)


def test_flipped_images(digits, images, tmp_path):
    """Flips of one byte: refused, or (in padding) without effect."""
    x, want = support.save_inputs([images]), support.run(digits, [images])[0]
    data = digits.read_bytes()
    positions = sorted({*range(0, 64), *np.random.default_rng(0).integers(64, len(data), 100).tolist()})
    for position in positions:
        flipped = bytearray(data)
        flipped[position] ^= 0x40
        path = tmp_path / "x.corten"
        path.write_bytes(bytes(flipped))
        result = corten("run", path, "--input", x, "--output", tmp_path / "y.npz", code=None)
        assert result.code in (0, 1), f"byte {position}: exit {result.code} {result.err[-300:]}"
        if result.code == 0:
            with np.load(tmp_path / "y.npz") as z:
                assert (z["out0"] == want).all(), f"byte {position} was accepted and changed the output"


def test_cut_images(digits, images, tmp_path):
    x, data = support.save_inputs([images]), digits.read_bytes()
    for size in (1, 16, 63, 64, 200, len(data) // 2, len(data) - 4, len(data) - 1):
        (tmp_path / "cut.corten").write_bytes(data[:size])
        assert "cut.corten" in refused("run", tmp_path / "cut.corten", "--input", x)


def test_crc_is_the_standard_one(digits):
    """The image's CRC-32 is zlib's, over all bytes but its own (docs/program.md)."""
    data = digits.read_bytes()
    assert struct.unpack_from("<I", data, 12)[0] == zlib.crc32(data[:12] + data[16:])


def test_bad_inputs_of_run(digits, images, tmp_path):
    for name, arrays in (("shape.npz", {"in0": images[:, :, :5]}), ("name.npz", {"other": images})):
        np.savez(tmp_path / name, **arrays)
        assert name in refused("run", digits, "--input", tmp_path / name)
    assert "nowhere" in refused("run", digits, "--input", "/nowhere.npz")


def test_compare_with_another_model(digits):
    x = torch.randn(1, 5)
    other = support.export(nn.Linear(5, 2), [x])
    assert refused("compare", other, digits, "--data", DIGITS / "eval.npz")


# ---- odd files and streams ------------------------------------------------------------------------------------------------------


def test_outputs_do_not_replace_devices_and_pipes(digits, images, tmp_path):
    pipe = tmp_path / "pipe.npz"
    os.mkfifo(pipe)
    assert "not a file" in refused("run", digits, "--input", support.save_inputs([images]), "--output", pipe)
    assert "not a file" in refused("report", digits.parent, "--output", pipe)
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]


def test_a_folder_in_the_place_of_a_file_leaves_all_as_it_was(tmp_path):
    (tmp_path / "report.html").mkdir()
    message = refused("compile", DIGITS / "digits_cnn.pt2", "--calibrate", DIGITS / "calib.npz", "-o", tmp_path)
    assert "is a folder" in message and "report.html" in message and [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_results_may_come_through_a_pipe(digits):
    with subprocess.Popen([support.CORTEN, "inspect", str(digits), "--json"], stdout=subprocess.PIPE) as other:
        end = other.stdout.fileno()
        result = corten("report", digits.parent, "--bench", f"/dev/fd/{end}", code=1, pass_fds=[end])
    assert "corten bench --json" in result.err and "JSON" not in result.err.replace("--json", "")


def test_archives_through_a_pipe_are_refused(digits, tmp_path):
    pipe = tmp_path / "x.npz"
    os.mkfifo(pipe)
    with open(os.open(pipe, os.O_RDWR), "wb") as writer:
        writer.write((DIGITS / "eval.npz").read_bytes()[:1000])
        writer.flush()
        assert "pipe" in refused("run", digits, "--input", pipe)


def test_names_that_are_not_utf8(digits):
    for source, name, command in ((DIGITS / "digits_cnn.pt2", b"caf\xe9.pt2", "inspect"), (digits, b"caf\xe9.corten", "inspect")):
        path = os.fsencode(support.folder()) + b"/" + name
        shutil.copy(source, path)
        assert corten(command, os.fsdecode(path), "--json").json


def test_reports_nested_too_deep(digits, images):
    folder = support.folder()
    shutil.copytree(digits.parent, folder, dirs_exist_ok=True)
    report = json.loads((folder / "report.json").read_text())
    text = json.dumps({**report, "arena": None})
    (folder / "report.json").write_text(text.replace('"arena": null', '"arena": ' + "[" * 200000 + "]" * 200000))
    assert "is not JSON" in refused("report", folder)
    result = corten("compare", DIGITS / "digits_cnn.pt2", folder / "model.corten", "--data", support.save_inputs([images]), "--rank", "no")
    assert "W" in result.err


@pytest.mark.parametrize("field", ["perm", "scale", "zero_point", "value", "from"])
def test_reports_that_were_edited(field, digits, images):
    folder = support.folder()
    shutil.copytree(digits.parent, folder, dirs_exist_ok=True)
    report = json.loads((folder / "report.json").read_text())
    for value in (None, "x", -1, 1e308, ["x"], [7, 7, 7, 7], {"a": 1}):
        report["steps"][0][field] = value
        (folder / "report.json").write_text(json.dumps(report))
        corten("compare", DIGITS / "digits_cnn.pt2", folder / "model.corten", "--data", support.save_inputs([images]), "--json")


@pytest.mark.parametrize("timeout", ["0", "-1", "99999999999", "x"])
def test_timeouts_are_seconds(timeout, digits, images):
    message = corten("run", digits, "--input", support.save_inputs([images]), "--timeout", timeout, code=2).err
    assert "1 to 1000000" in message


def test_help_that_cannot_be_written():
    with open("/dev/full", "w") as full:
        assert subprocess.run([support.CORTEN, "--help"], stdout=full, stderr=subprocess.DEVNULL).returncode == 1


def test_relative_caches_are_ignored(digits, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.chdir(tmp_path)
    assert corten("bench", digits, "--json").json["instructions"] > 0 and not list(tmp_path.iterdir())
