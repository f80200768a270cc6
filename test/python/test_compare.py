"""Comparison in stages, metrics against scikit-learn, what layers cost, values that a board printed. Needs the package: `pip install .`."""
import base64
import json
import os
import pickle
import re
import shutil
import subprocess
import zipfile
import zlib

import numpy as np
import pytest
import support
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as oracle
from support import corten as command
from support import refused
from torch import nn
from torchao.quantization.pt2e import move_exported_model_to_eval
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e

corten = support.package()
from corten.quantizer import CortenQuantizer, get_symmetric_quantization_config

DIGITS = support.ROOT / "examples/digits"
PT2, EVAL = DIGITS / "digits_cnn.pt2", DIGITS / "eval.npz"
needs_qemu = pytest.mark.skipif(not os.environ.get("CI") and not shutil.which("qemu-system-arm"), reason="no qemu-system-arm")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.b = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.d, self.fc = nn.Conv2d(8, 8, 3, padding=1), nn.Linear(8 * 9, 5)

    def forward(self, x):
        y = torch.relu(self.b(self.c(x)))
        y = torch.relu(self.d(y) + y)
        return self.fc(nn.functional.max_pool2d(y, 2).flatten(1))


def net():
    module = Net().train()
    for _ in range(3):
        module(torch.randn(8, 3, 6, 6))
    return module.eval()


X = torch.randn(48, 3, 6, 6, generator=torch.Generator().manual_seed(1))


def converted(module, qat=False, **config):
    quantizer = CortenQuantizer().set_global(get_symmetric_quantization_config(is_qat=qat, **config))
    exported = torch.export.export(module.train() if qat else module, (X[:1],))
    prepared = (prepare_qat_pt2e if qat else prepare_pt2e)(exported.module(), quantizer)
    if qat:
        move_exported_model_to_eval(prepared)  # the statistics of batch norms stay
    for x in X:
        prepared(x[None])
    return convert_pt2e(prepared)


@pytest.fixture(scope="module")
def quantised():
    """A float module, its PT2E version, and the program of that."""
    module = net()
    graph = converted(module)
    return module, graph, corten.compile(torch.export.export(graph, (X[:1],)), target="cortex-m4")


@pytest.fixture(scope="module")
def digits():
    folder = support.compile_model(PT2, "cortex-m55", DIGITS / "calib.npz").parent
    return corten.load(folder)


@pytest.fixture(scope="module")
def images():
    with np.load(EVAL) as z:
        return z["in0"], z["labels"]


# ---- stages -------------------------------------------------------------------------------------------------------------------


def test_stages_of_a_calibrated_program(digits, images):
    c = digits.compare(PT2, [(images[0], images[1])])
    for row in c.rows:
        assert set(row["stages"]) == {"fake_quant", "host"}
        for figures in row["stages"].values():
            assert figures["sqnr_db"] > 30 and figures["max_error"] > 0 and 0 <= figures["saturated"] < 0.01 and 0.9 < figures["range_used"] <= 1
        assert abs(row["stages"]["host"]["sqnr_db"] - row["stages"]["fake_quant"]["sqnr_db"]) < 1, "integer arithmetic loses next to nothing"
    assert c.metrics["top1"]["float"] > 0.9 and set(c.metrics["top1"]) == {"float", "fake_quant", "host"}
    assert c.metrics["top1"]["host"] == c.top1_int8 and c.metrics["top1"]["float"] == c.top1_float


def outputs_of(program, model, data, **more):
    """Outputs of all stages."""
    kept = {}

    def keep(outputs, labels):
        kept[len(kept)] = (outputs, labels)
        return 0

    c = program.compare(model, data, metrics=keep, **more)
    return dict(zip(c.metrics["keep"], kept.values())), c


def test_figures_are_those_of_the_outputs(digits, images):
    stages, c = outputs_of(digits, PT2, [images[0]])
    want, got = stages["float"][0], stages["host"][0]
    assert isinstance(want, np.ndarray) and want.shape == (len(images[0]), 10) and stages["float"][1] is None
    figures = c.to_dict()["outputs"][0]["stages"]["host"]
    assert figures["sqnr_db"] == pytest.approx(support.sqnr(want, got), abs=1e-6)
    assert figures["max_error"] == pytest.approx(np.abs(want - got).max(), rel=1e-6)
    out = digits.outputs[0]
    codes = np.rint(got / out.scale) + out.zero_point
    assert figures["range_used"] == (codes.max() - codes.min() + 1) / 256
    real = want / out.scale + out.zero_point
    assert figures["saturated"] == ((codes == 127) & (real > 127.5) | (codes == -128) & (real < -128.5)).mean()
    np.testing.assert_array_equal(got, digits(images[0]))


def test_fake_quant_is_the_quantised_program(quantised):
    module, graph, program = quantised
    with torch.no_grad():
        want, real = torch.cat([graph(x[None]) for x in X]), module(X)
    for model in (module, torch.export.export(graph, (X[:1],))):
        stages, c = outputs_of(program, model, [X], example_inputs=(X[:1],) if model is module else None)
        fake = stages["fake_quant"][0]
        step = program.outputs[0].scale
        assert isinstance(fake, torch.Tensor) and ((fake - want).abs() <= 1.01 * step).all()
        assert (fake != want).float().mean() < 0.02, "only ties of a rounding may differ"
        if model is module:
            torch.testing.assert_close(stages["float"][0], real, rtol=1e-4, atol=1e-4)


# ---- layers of a quantised program in its float original -------------------------------------------------------------------------


def without_origin(program):
    """The program's .pt2 without from_node."""
    source, target = support.folder() / "a.pt2", support.folder() / "b.pt2"
    torch.export.save(program, source)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as new:
        for item in old.infolist():
            data = old.read(item)
            if item.filename.endswith("models/model.json"):
                model = json.loads(data)
                for node in model["graph_module"]["graph"]["nodes"]:
                    assert node["metadata"].pop("from_node")
                data = json.dumps(model).encode()
            new.writestr(item, data)
    return target


@pytest.mark.parametrize("how", ["ptq", "qat", "no from_node"])
def test_layers_are_found(how):
    module = net()
    graph = converted(module, qat=how == "qat")
    exported = torch.export.export(graph, (X[:1],))
    program = corten.compile(without_origin(exported) if how == "no from_node" else exported, target="cortex-m4")
    c = program.compare(module.eval(), [X], example_inputs=(X[:1],))
    assert [r["node"] for r in c.rows] == [s["node"] for s in program.report()["steps"]], "every step has its float counterpart"
    for row in c.rows:
        assert set(row["stages"]) == {"fake_quant", "host"} and min(s["sqnr_db"] for s in row["stages"].values()) > 10, row
    assert len(c.ranking) == len(c.rows) + 1


def test_layers_are_found_by_the_command(quantised):
    module, graph, program = quantised
    folder = support.folder()
    real, quantised_file = support.export(module, (X[:1],)), folder / "qat.pt2"
    torch.export.save(torch.export.export(graph, (X[:1],)), quantised_file)
    image = support.compile_model(quantised_file, "cortex-m4")
    data = support.save_inputs([X.numpy()])
    found = command("compare", real, image, "--data", data, "--json").json
    assert all({"fake_quant", "host"} <= set(s["stages"]) for s in found["steps"]) and len(found["steps"]) == len(program.report()["steps"])
    quantised_file.rename(folder / "moved.pt2")
    missing = command("compare", real, image, "--data", data, "--json").json
    assert "not at hand" in missing["no_fake_quant"] and all(set(s["stages"]) == {"host"} for s in missing["steps"])
    assert command("compare", real, image, "--data", data, "--json", "--quantised", folder / "moved.pt2").json == found
    assert "not the quantised program" in refused("compare", real, image, "--data", data, "--quantised", PT2)


# ---- what layers cost ------------------------------------------------------------------------------------------------------------


def test_one_scale_for_unequal_channels():
    module = net()
    with torch.no_grad():
        module.d.weight[0] *= 50
    costs = {}
    for per_channel in (False, True):
        program = corten.compile(torch.export.export(converted(module, is_per_channel=per_channel), (X[:1],)), target="cortex-m4")
        c = program.compare(module, [X], example_inputs=(X[:1],))
        step = next(r for r in c.rows if r["node"] == "conv2d_1")
        costs[per_channel] = step["alone_db"]
        assert any("is_per_channel=True" in a for a in step.get("advice", [])) == (not per_channel), c
        assert sum(r["noise"] for r in c.ranking) == pytest.approx(1)
        assert c.ranking == sorted(c.ranking, key=lambda r: -r["noise"])
        assert next(r for r in c.rows if r["op"] == "max_pool")["noise"] == 0, "moving values costs nothing"
    assert costs[True] > costs[False] + 1.5
    off = program.compare(module, [X], example_inputs=(X[:1],), rank=False)
    assert off.ranking == [] and off.rows[0]["stages"] == c.rows[0]["stages"]


def test_saturation_is_seen():
    module = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4)).eval()
    x = torch.randn(64, 6)
    program = corten.compile(torch.export.export(module, (x[:1],)), target="cortex-m4", calibration=[x / 4], observer="minmax")
    c = program.compare(module, [x], example_inputs=(x[:1],))
    assert any(r["stages"]["host"]["saturated"] > 0.05 for r in c.rows)
    assert any("more data" in a for r in c.rows for a in r.get("advice", []))
    wide = corten.compile(torch.export.export(module, (x[:1],)), target="cortex-m4", calibration=[x * 8], observer="minmax")
    c = wide.compare(module, [x], example_inputs=(x[:1],))
    assert all(r["stages"]["host"]["range_used"] < 0.5 for r in c.rows) and any("of 256 codes" in a for r in c.rows for a in r.get("advice", []))


# ---- metrics ---------------------------------------------------------------------------------------------------------------------


def test_metrics_agree_with_scikit_learn(digits, images):
    data = [(images[0], images[1])]
    stages, _ = outputs_of(digits, PT2, data)
    named = digits.compare(PT2, data, metrics=["top1", "top5", "confusion", "mse"]).metrics
    for stage, (scores, labels) in stages.items():
        assert (labels == images[1]).all()
        assert named["top1"][stage] == oracle.accuracy_score(labels, scores.argmax(1))
        assert named["confusion"][stage] == oracle.confusion_matrix(labels, scores.argmax(1), labels=range(10)).tolist()
        assert named["mse"][stage] == pytest.approx(np.square(scores - stages["float"][0], dtype=np.float64).mean(), rel=1e-4)
    assert named["top5"]["float"] == oracle.top_k_accuracy_score(images[1], stages["float"][0], k=5)


@pytest.mark.parametrize("outputs", [1, 2])
def test_auc_agrees_with_scikit_learn(outputs):
    module = nn.Linear(3, outputs).eval()
    x = torch.randint(-3, 4, (200, 3)).float()  # many ties
    labels = (module(x)[:, -1] + 0.5 * torch.randn(200) > 0).long()
    program = corten.compile(torch.export.export(module, (x[:1],)), target="cortex-m4", calibration=[x])
    stages, _ = outputs_of(program, module, [(x, labels)], example_inputs=(x[:1],))
    named = program.compare(module, [(x, labels)], example_inputs=(x[:1],), metrics="auc").metrics["auc"]
    for stage, (scores, given_labels) in stages.items():
        assert named[stage] == pytest.approx(oracle.roc_auc_score(given_labels, scores[:, -1]), abs=1e-12)
    if outputs == 1:
        assert program.compare(module, [(x, labels)], example_inputs=(x[:1],)).metrics["auc"] == named, "the default for one score"


def test_reconstruction():
    module = nn.Sequential(nn.Linear(8, 3), nn.Linear(3, 8)).eval()
    x, labels = torch.randn(100, 8), torch.arange(100) % 2
    program = corten.compile(torch.export.export(module, (x[:1],)), target="cortex-m4", calibration=[x])
    stages, _ = outputs_of(program, module, [(x, labels)], example_inputs=(x[:1],))
    named = program.compare(module, [(x, labels)], example_inputs=(x[:1],), metrics=["auc:reconstruction", "mse:reconstruction"]).metrics
    for stage, (y, _) in stages.items():
        error = (y.double() - x.double()).square().mean(1)
        assert named["mse:reconstruction"][stage] == pytest.approx(float(error.mean()), rel=1e-5)
        assert named["auc:reconstruction"][stage] == pytest.approx(oracle.roc_auc_score(labels, error), abs=1e-3)


def test_functions_as_metrics(quantised):
    module, _, program = quantised

    def spread(outputs, labels):
        assert isinstance(outputs, torch.Tensor) and isinstance(labels, torch.Tensor) and len(outputs) == len(labels)
        return {"mean": outputs.mean(), "n": len(labels)}

    labels = torch.arange(len(X)) % 5
    c = program.compare(module, [(X, labels)], example_inputs=(X[:1],), metrics=["top1", spread, lambda y, t: y.max()])
    assert set(c.metrics) == {"top1", "spread.mean", "spread.n", "<lambda>"} and set(c.metrics["spread.n"].values()) == {float(len(X))}
    assert set(c.metrics["<lambda>"]) == {"float", "fake_quant", "host"}
    with pytest.raises(corten.InputTypeError, match="returned a str"):
        program.compare(module, [X], example_inputs=(X[:1],), metrics=lambda y, t: "good")


@pytest.mark.parametrize("metrics, labels, message", [
    ("top1", None, "needs labels"), ("top2", None, "no metric 'top2'"), ("auc", "five", "labels of 0 and 1"), ("confusion", "high", "label 77"),
    ("auc", "zero", "both classes"), ("mse:reconstruction", None, "input's size"),
])  # fmt: skip
def test_metrics_that_can_not_be_had(quantised, metrics, labels, message):
    module, _, program = quantised
    given = {"five": torch.arange(len(X)) % 5, "high": torch.arange(len(X)) % 5 + 77, "zero": torch.zeros(len(X), dtype=torch.long)}
    data = [X] if labels is None else [(X, given[labels])]
    with pytest.raises(corten.CompileError, match=message):
        program.compare(module, data, example_inputs=(X[:1],), metrics=metrics)


# ---- results ---------------------------------------------------------------------------------------------------------------------


def test_results_are_shown(quantised, tmp_path):
    module, _, program = quantised
    labels = torch.arange(len(X)) % 5
    c = program.compare(module, [(X, labels)], example_inputs=(X[:1],), metrics=["top1", "confusion"])
    for text in (str(c), c._repr_html_()):
        assert all(word in text for word in ("fake_quant dB", "host dB", "saturated %", "range used %", "cost %", "top1", "costs"))
    pandas = support.package("pandas", "pip install pandas")
    frame = c.to_dataframe()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(c.rows)
    for column in ("node", "fake_quant_sqnr_db", "host_sqnr_db", "host_max_error", "host_saturated", "host_range_used", "noise", "advice"):
        assert column in frame
    assert (frame["host_sqnr_db"] == [r["stages"]["host"]["sqnr_db"] for r in c.rows]).all()


def test_the_report_remembers(quantised, tmp_path):
    module, graph, _ = quantised
    program = corten.compile(torch.export.export(graph, (X[:1],)), target="cortex-m4")
    assert "comparison" not in program.report()
    c = program.compare(module, [X], example_inputs=(X[:1],))
    file = pickle.loads(pickle.dumps(program)).report(tmp_path / "r.json")
    report = program.report()
    assert json.loads(file.read_text()) == report
    assert report["comparison"]["outputs"] == c.to_dict()["outputs"] and report["steps"][0]["stages"] == c.rows[0]["stages"]
    assert {"node", "module", "aten", "index"} <= set(report["steps"][0]["from"])
    program.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "Fake-quantised" in page and "What would help" in page
    again = pickle.loads(pickle.dumps(program)).compare(module, [X], example_inputs=(X[:1],))
    assert again.to_dict() == c.to_dict(), "a pickled program still knows the quantised one"


# ---- a board's values --------------------------------------------------------------------------------------------------------------

LINE = re.compile(r"CRTN1 (([0-9a-f]{8}) ([0-9a-f]{8}) ([0-9a-f]{4}) ([0-9a-f]{8}) ([0-9a-f]{8}) (\S+)) ([0-9a-f]{8})\n")


@pytest.fixture(scope="module")
def log(digits, images):
    """What an emulated board prints of three inferences."""
    if not os.environ.get("CI") and not shutil.which("qemu-system-arm"):
        pytest.skip("no qemu-system-arm")
    folder = support.folder()
    digits.save(folder)
    command("run", folder / "model.corten", "--input", support.save_inputs([images[0][:3]]), "--on", "qemu", "--trace", folder / "log.txt",
            "--output", folder / "out.npz")
    with np.load(folder / "out.npz") as z:
        np.testing.assert_array_equal(z["out0"], digits(images[0][:3], raw=True))
    return folder / "log.txt"


def lines_of(log):
    return [m.group(0) for m in LINE.finditer(log.read_text())]


def tensors_of(lines):
    """{(inference, tensor): {offset: bytes}, ...}, and the sizes: the documented framing, read in another way."""
    parts, sizes = {}, {}
    for line in lines:
        checked, _, inference, tensor, offset, size, payload, crc = LINE.fullmatch(line).groups()
        assert zlib.crc32(checked.encode()) == int(crc, 16)
        key = int(inference, 16), int(tensor, 16)
        parts.setdefault(key, {})[int(offset, 16)] = base64.b64decode(payload)
        sizes[key] = int(size, 16)
    return parts, sizes


def whole(parts, sizes):
    joined = {key: b"".join(part for _, part in sorted(of.items())) for key, of in parts.items()}
    return {key: data for key, data in joined.items() if len(data) == sizes[key]}


def found_in(values, program):
    """What was decoded, as {(inference, step): bytes}."""
    arrays = values.arrays
    return {(int(n), int(name[4:])): row.tobytes() for name, array in arrays.items() if re.fullmatch(r"step\d+", name)
            for n, row in zip(arrays[name + ".inference"], array)}  # fmt: skip


def test_a_log_decodes(digits, log, images):
    values = digits.decode(log)
    truth = whole(*tensors_of(lines_of(log)))
    assert found_in(values, digits) == {key: data for key, data in truth.items() if key[1] < 0x8000}
    np.testing.assert_array_equal(values.arrays["out0"], digits(images[0][:3], raw=True))
    d = values.to_dict()
    assert d["bad_lines"] == d["repeated_lines"] == 0 and [i["inference"] for i in d["inferences"]] == [0, 1, 2] and d["incomplete"] == []
    assert all(i["whole_steps"] == d["steps"] and i["whole_outputs"] == 1 for i in d["inferences"]) and "3 inferences" in repr(values)


def test_board_and_host_are_equal(digits, log, images, tmp_path):
    data = [(images[0], images[1])]
    image = log.parent / "model.corten"
    done = command("decode", log, "--image", image, "-o", tmp_path / "board.npz", "--json").json
    assert done == {**digits.decode(log).to_dict(), "source": str(log)}
    for board in (log, tmp_path / "board.npz", digits.decode(log.read_bytes())):
        c = digits.compare(PT2, data, board=board, metrics=["top1"])
        assert c.board_equal and c.first_difference is None and c.to_dict()["board"]["samples"] == 3
        assert all("board" in r["stages"] for r in c.rows) and c.metrics["top1"]["board"] == (digits(images[0][:3]).argmax(1) == images[1][:3]).mean()
        assert "equal to the host" in str(c)
    shown = command("compare", PT2, image, "--data", EVAL, "--board", tmp_path / "board.npz").out
    assert "equal to the host, byte for byte" in shown


@needs_qemu
def test_board_by_name(digits, images):
    c = digits.compare(PT2, [images[0][:20]], board="qemu")
    assert c.board_equal and c.to_dict()["board"]["samples"] == 16


def test_a_difference_is_located(digits, log, images, tmp_path):
    arrays = digits.decode(log).arrays
    arrays["step1"] = arrays["step1"].copy()
    arrays["step1"][1, 5] ^= 1
    arrays["step2"] = arrays["step2"].copy()
    arrays["step2"][1:, 0] ^= 3
    np.savez(tmp_path / "board.npz", **arrays)
    c = digits.compare(PT2, [images[0]], board=tmp_path / "board.npz")
    d = c.first_difference
    assert not c.board_equal and (d["inference"], d["index"]) == (1, 5) and d["tensor"].startswith("step 1 (") and d["host"] == d["board"] ^ 1
    assert "differs from the host" in str(c)
    arrays["image"] = arrays["image"] + 1
    np.savez(tmp_path / "other.npz", **arrays)
    with pytest.raises(corten.CompileError, match="another image"):
        digits.compare(PT2, [images[0]], board=tmp_path / "other.npz")


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_damaged_logs(digits, log, random):
    """Right or missing, never wrong; and what is whole is found."""
    lines, text, intact = lines_of(log), [], []
    for line in lines:
        how = random.choice(["whole"] * 8 + ["drop", "flip", "cut", "twice", "torn", "joined", "noise", "crlf", "gone"])
        at = random.randrange(len(line) - 1)
        other = random.choice(["boot 3\r\n", "# x=1", "\x00\xff\n", "CRTN1 ", random.choice(lines)])
        if how == "drop":
            text.append(line[:at] + line[at + 1:])
        elif how == "flip":
            text.append(line[:at] + chr(random.randrange(256)) + line[at + 1:])
        elif how == "cut":
            text.append(line[:at])
        elif how == "torn":
            text.append(line[:at] + other + line[at:])
        elif how != "gone":
            intact.append(line)
            text.append({"whole": line, "twice": line * 2, "joined": line[:-1], "noise": "> " + line + other,
                         "crlf": "[semihosting] " + line[:-1] + "\r\n"}[how])
    if random.random() < 0.3:
        random.shuffle(text)
    truth, must = whole(*tensors_of(lines)), whole(*tensors_of(intact))
    try:
        values = digits.decode("".join(text).encode("latin-1"))
    except corten.CompileError:
        assert not must
        return
    found = found_in(values, digits)
    assert all(truth[key] == data for key, data in found.items())
    assert {key for key in must if key[1] < 0x8000} <= set(found)


def test_logs_with_nothing_whole(digits, log, tmp_path):
    lines = lines_of(log)
    other = [line.replace(line[6:14], "00000000") for line in lines]
    for i, line in enumerate(other):  # of another image, with a right CRC
        body = line[6:-10]
        other[i] = f"CRTN1 {body} {zlib.crc32(body.encode()):08x}\n"
    again = LINE.fullmatch(lines[0])
    flipped = again.group(1).replace(again.group(7), base64.b64encode(bytes(len(base64.b64decode(again.group(7))))).decode())
    reset = lines[0] + f"CRTN1 {flipped} {zlib.crc32(flipped.encode()):08x}\n"
    for text, message in (("", "no line of values"), ("hello\n" * 9, "no line"), ("a\nb\n" + lines[0][:30], "in line 3"), ("".join(other), "another image"),
                          (lines[0], "no tensor is whole"), (reset, "sent twice")):
        file = tmp_path / "log.txt"
        file.write_text(text)
        error = refused("decode", file, "--image", log.parent / "model.corten", "-o", tmp_path / "never.npz")
        assert message in error and "log.txt" in error and not (tmp_path / "never.npz").exists()


def test_decode_reads_standard_input(log):
    done = subprocess.run([support.CORTEN, "decode", "-", "--image", log.parent / "model.corten"], stdin=log.open(), capture_output=True, text=True)
    assert done.returncode == 0 and "inference 2: " in done.stdout and "0 damaged" in done.stdout


def test_trace_is_of_a_board(log):
    assert command("run", log.parent / "model.corten", "--input", EVAL, "--trace", "x.log", code=2).err
