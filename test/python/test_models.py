"""Whole networks: host and emulated boards give the same bytes, and accuracy is within its limits."""
import numpy as np
import pytest
import support
import torch

# The .pt2, its calibration data (None: a q/dq program) and its inputs.
TINY = {"kws_dscnn": "kws", "vww_mobilenetv1": "vww", "ic_resnet8": "ic", "ad_autoencoder": "ad", "sww": "sww"}
ZOO = ("digits_cnn", "har_cnn1d", "arm_kws_dnn_s", "arm_kws_cnn_s")
QDQ = ("kws_dscnn", "vww_mobilenetv1", "ic_resnet8", "ad_autoencoder")
NETWORKS = {
    **{f"mlperf_tiny/{m}": f"data/{d}_calib.npz" for m, d in TINY.items()},
    **{f"zoo/{m}": f"data/{m.split('_')[0] if m[0] != 'a' else m}_calib.npz" for m in ZOO},
    **{f"qdq/{m}": None for m in QDQ},
}
LOGITS = {"kws_dscnn_logits": "kws", "vww_mobilenetv1_logits": "vww", "ic_resnet8_logits": "ic", "sww_logits": "sww"}
BOARD_INPUTS = 8
IMAGES = {}


def image_of(shared, model, target="cortex-m55"):
    """The compiled image; each is compiled once for all tests."""
    key = model, target
    if key not in IMAGES:
        data = NETWORKS.get(model) or (f"data/{LOGITS[model.split('/')[1]]}_calib.npz" if "logits" in model else None)
        IMAGES[key] = support.compile_model(shared / f"models/{model}.pt2", target, data and shared / data)
    return IMAGES[key]


def inputs(shared, file, count=None):
    with np.load(shared / file) as z:
        return [z[k][:count] for k in sorted(z.files) if k.startswith("in")]


def labels(shared, file):
    with np.load(shared / file) as z:
        return z["labels"]


@pytest.mark.parametrize("target", support.TARGETS)
@pytest.mark.parametrize("model", NETWORKS)
def test_board_equals_host(model, target, shared):
    image = image_of(shared, model, target)
    x = inputs(shared, NETWORKS[model] or f"models/{model}.io.npz", BOARD_INPUTS)
    host = support.run(image, x)
    assert all(len(y) == BOARD_INPUTS and not (y == y[:1]).all() for y in host), "the output does not depend on the input"
    assert support.equal_bytes(host, support.run(image, x, "qemu"))
    assert support.equal_bytes(host, support.run(image_of(shared, model, "cortex-m55"), x)), "not the bytes of cortex-m55"


@pytest.mark.parametrize("model", LOGITS)
def test_logits(model, shared):
    """Without the final softmax: the same choice as with it."""
    x = inputs(shared, f"data/{LOGITS[model]}_calib.npz", 16)
    for target in support.TARGETS:
        y = support.run(image_of(shared, f"mlperf_tiny/{model}", target), x, floats=True)[0]
        with_softmax = support.run(image_of(shared, f"mlperf_tiny/{model.removesuffix('_logits')}", target), x, floats=True)[0]
        best = np.sort(with_softmax.reshape(len(x[0]), -1), 1)
        clear = best[:, -1] - best[:, -2] > 0.05 if best.shape[1] > 1 else np.ones(len(best), bool)
        assert (support.top1(y) == support.top1(with_softmax))[clear].all()


@pytest.mark.parametrize("model, data, least", [
    ("mlperf_tiny/kws_dscnn", "kws", 0.937 - 0.01), ("zoo/digits_cnn", "digits", 0.9875 - 0.005), ("zoo/har_cnn1d", "har", 0.85 - 0.01),
    ("mlperf_tiny/sww", "sww", 0.9), ("zoo/arm_kws_cnn_s", "arm_kws_cnn_s", 0.8786 - 0.05)])
def test_accuracy(model, data, least, shared):
    y = support.run(image_of(shared, model), shared / f"data/{data}_eval.npz")[0]
    assert (support.top1(y) == labels(shared, f"data/{data}_eval.npz")).mean() >= least - 1e-4


def float_outputs(shared, model, file):
    module = torch.export.load(shared / f"models/{model}.pt2").module(check_guards=False)
    with torch.no_grad():
        return np.concatenate([module(torch.from_numpy(a[None])).numpy() for a in inputs(shared, file)[0]])


@pytest.mark.parametrize("model, data, least", [("vww_mobilenetv1", "vww", 0.97), ("ic_resnet8", "ic", 0.90)])
def test_agreement(model, data, least, shared):
    file = f"data/{data}_agree.npz"
    want = float_outputs(shared, f"mlperf_tiny/{model}", file)
    got = support.run(image_of(shared, f"mlperf_tiny/{model}"), shared / file, floats=True)[0]
    same = support.top1(want) == support.top1(got)
    assert same.mean() >= least
    if data == "ic":
        ordered = np.sort(want, 1)
        assert same[ordered[:, -1] - ordered[:, -2] > 0.2].mean() >= 0.97


def test_autoencoder(shared):
    want = float_outputs(shared, "mlperf_tiny/ad_autoencoder", "data/ad_agree.npz")
    got = support.run(image_of(shared, "mlperf_tiny/ad_autoencoder"), shared / "data/ad_agree.npz", floats=True)[0]
    assert support.sqnr(want, got) >= 35


@pytest.mark.parametrize("model, least", [("kws_dscnn", 50), ("vww_mobilenetv1", 50), ("ic_resnet8", 34), ("ad_autoencoder", 50)])
def test_qdq(model, least, shared):
    file = shared / f"models/qdq/{model}.io.npz"
    with np.load(file) as z:
        want = z["out0"]
    got = support.run(image_of(shared, f"qdq/{model}", "cortex-m4"), file, floats=True)[0].reshape(want.shape)
    assert support.sqnr(want, got) >= least
    if model != "ad_autoencoder":
        assert (support.top1(want) == support.top1(got)).all()


def test_digits_example():
    """The example's own program and data."""
    folder = support.ROOT / "examples/digits"
    image = support.compile_model(folder / "digits_cnn.pt2", "cortex-m55", folder / "calib.npz")
    report = support.corten("compare", folder / "digits_cnn.pt2", image, "--data", folder / "eval.npz", "--json").json
    assert report["samples"] == 400
    assert report["top1_float"] >= 0.98 and report["top1_int8"] >= report["top1_float"] - 0.005
