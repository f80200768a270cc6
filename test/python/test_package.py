"""The package as its users meet it. Needs it installed: `pip install .`."""
import json
import os
import pickle
import shutil
from collections import OrderedDict, namedtuple

import numpy as np
import pytest
import support
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

corten = support.package()

DIGITS = support.ROOT / "examples/digits"


class TwoInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 4)
        self.b = nn.Conv2d(1, 4, 3)

    def forward(self, v, im):
        return self.a(v) + self.b(im).mean((2, 3))


class Structured(nn.Module):
    """Arguments and results in dicts, tuples and lists, a None among them."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 4)

    def forward(self, d, *, k):
        y = self.a(d["v"]) + k
        return {"y": y, "parts": (y.relu(), [y[:, :2]]), "nothing": None}


class WithDropout(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.n, self.d = nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Dropout()

    def forward(self, x):
        return self.d(self.n(self.a(x)))


def tensors(count=1):
    return torch.randn(count, 6), torch.randn(count, 1, 5, 5)


def build(module, inputs, calibration, kwargs=None, **options):
    exported = torch.export.export(module.eval(), inputs, kwargs)
    return corten.compile(exported, target=options.pop("target", "cortex-m4"), calibration=calibration, **options)


def linear(calibration=None, batch=1, **options):
    module = nn.Sequential(nn.Linear(6, 4))
    return build(module, (torch.randn(batch, 6),), calibration if calibration is not None else [torch.randn(32, 6)], **options)


@pytest.fixture(scope="module")
def two():
    """Module and program of two inputs."""
    torch.manual_seed(0)
    module = TwoInputs().eval()
    return module, build(module, tensors(), [tensors(8) for _ in range(8)])


@pytest.fixture(scope="module")
def digits():
    return corten.compile(DIGITS / "digits_cnn.pt2", target="cortex-m55", calibration=DIGITS / "calib.npz")


@pytest.fixture(scope="module")
def images():
    with np.load(DIGITS / "eval.npz") as z:
        return z["in0"][:40], z["labels"][:40]


def close(got, want, tolerance=0.1):
    assert got.shape == want.shape and (got - want).abs().max() < tolerance


# ---- running ------------------------------------------------------------------------------------------------------------------


def test_one_and_many(two):
    module, program = two
    for count in (1, 8):
        x = tensors(count)
        y = program(*x)
        assert isinstance(y, torch.Tensor) and y.dtype == torch.float32
        close(y, module(*x))


def test_a_batch_is_as_many_single_runs(two):
    _, program = two
    v, im = tensors(5)
    many = program(v, im)
    assert torch.equal(many, torch.cat([program(v[i : i + 1], im[i : i + 1]) for i in range(5)]))


def test_numpy_in_numpy_out(two):
    _, program = two
    x = tensors(3)
    y = program(*(t.numpy() for t in x))
    assert isinstance(y, np.ndarray) and y.dtype == np.float32 and np.array_equal(y, program(*x).numpy())


def test_names_and_keywords(two):
    _, program = two
    v, im = tensors()
    assert torch.equal(program(im=im, v=v), program(v, im)) and torch.equal(program(v, im=im), program(v, im))


def test_raw_is_int8_and_scales_say_what_it_means(two):
    _, program = two
    x = tensors(2)
    raw = program(*x, raw=True)
    out = program.outputs[0]
    assert raw.dtype == torch.int8 and out.dtype == "int8"
    assert torch.allclose((raw.float() - out.zero_point) * out.scale, program(*x))
    quantised = [torch.clamp(torch.round(t / i.scale) + i.zero_point, -128, 127).to(torch.int8) for t, i in zip(x, program.inputs)]
    assert torch.equal(program(*quantised, raw=True), raw)


def test_same_bytes_as_the_command(digits, images, tmp_path):
    digits.save(tmp_path)
    want = support.run(tmp_path / "model.corten", [images[0]])[0]
    assert np.array_equal(digits(images[0], raw=True).reshape(want.shape), want)


def test_structure_of_arguments_and_results(tmp_path):
    module = Structured()
    x = ({"v": torch.randn(1, 6)},)
    k = {"k": torch.randn(1, 4)}
    data = [{"k": torch.randn(4, 4), "d": {"v": torch.randn(4, 6)}} for _ in range(8)]
    program = build(module, x, data, k)
    for p in (program, pickle.loads(pickle.dumps(program)), corten.load(program.save(tmp_path))):
        y, want = p(*x, **k), module(*x, **k)
        assert list(y) == list(want) and y["nothing"] is None
        assert isinstance(y["parts"], tuple) and isinstance(y["parts"][1], list)
        close(y["y"], want["y"])
        close(y["parts"][1][0], want["parts"][1][0])


def test_results_that_are_ordered_dicts():
    class Ordered(nn.Module):
        def forward(self, x):
            return OrderedDict(b=x + 1, a=x.relu())

    x = torch.rand(1, 6)
    y = build(Ordered(), (x,), [torch.rand(16, 6)])(x)
    assert list(y) == ["b", "a"] and isinstance(y, OrderedDict)


def test_outputs_in_the_order_of_forward():
    class Two(nn.Module):
        def forward(self, x):
            return x.mean((2, 3)), x + 1

    x = torch.rand(1, 3, 4, 4)
    mean, more = build(Two(), (x,), [torch.rand(8, 3, 4, 4)])(x)
    close(mean, x.mean((2, 3)), 0.02)
    close(more, x + 1, 0.02)


def test_exported_batch(two):
    program = linear(batch=2)
    assert program(torch.randn(6, 6)).shape == (6, 4)
    with pytest.raises(corten.CompileError, match="multiple of 2"):
        program(torch.randn(3, 6))


@pytest.mark.parametrize(
    "args, kind, message",
    [
        ((torch.randn(1, 6),), TypeError, "im"),
        ((torch.randn(1, 7), torch.randn(1, 1, 5, 5)), ValueError, r"shape \(1, 7\), but the program takes \(N, 6\)"),
        ((torch.randn(2, 6), torch.randn(3, 1, 5, 5)), ValueError, "v: 2, im: 3"),
        ((torch.ones(1, 6, dtype=torch.int64), torch.randn(1, 1, 5, 5)), TypeError, "'v' is int64"),
        (([1.0] * 6, torch.randn(1, 1, 5, 5)), TypeError, "'v' must be a tensor, not a list"),
        ((torch.full((1, 6), torch.nan), torch.randn(1, 1, 5, 5)), ValueError, "'v' holds NaN"),
        ((torch.randn(6), torch.randn(1, 5, 5)), ValueError, r"add the batch axis: x\[None\]"),
        ((torch.randn(0, 6), torch.randn(0, 1, 5, 5)), ValueError, "batches of 0 samples"),
        ((torch.ones(1, 6, dtype=torch.int8), torch.randn(1, 1, 5, 5)), TypeError, "raw=True"),
    ],
)
def test_wrong_arguments(two, args, kind, message):
    with pytest.raises(corten.CompileError, match=message) as error:
        two[1](*args)
    assert isinstance(error.value, kind)


def test_float_io_gives_float32_on_the_core():
    program = linear(float_io=True)
    assert program.inputs[0].dtype == program.outputs[0].dtype == "float32"
    assert program(torch.randn(1, 6), raw=True).dtype == torch.float32


# ---- what compile takes -------------------------------------------------------------------------------------------------------


def test_a_module_with_example_inputs(two):
    module, program = two
    again = corten.compile(module, example_inputs=tensors(), target="cortex-m4", calibration=[tensors(8)])
    assert again.name == program.name == "two_inputs"


def test_a_path_gives_the_command_s_image(digits, tmp_path):
    image = support.compile_model(DIGITS / "digits_cnn.pt2", "cortex-m55", DIGITS / "calib.npz")
    assert image.read_bytes() == digits.image


def test_forms_of_calibration_give_one_image():
    v, im = torch.randn(16, 6), torch.randn(16, 1, 5, 5)
    exported = torch.export.export(TwoInputs().eval(), tensors())
    labels = torch.arange(16) % 4
    forms = {
        "batches": [(v[:8], im[:8]), (v[8:], im[8:])],
        "lists of numpy": [[v.numpy(), im.numpy()]],
        "a tuple of arrays": (v, im),
        "a dict": {"im": im, "v": v},
        "dicts": [{"im": im[i : i + 4], "v": v[i : i + 4], "label": labels[i]} for i in range(0, 16, 4)],
        "samples without a batch axis": TensorDataset(v, im),
        "a loader with labels": DataLoader(TensorDataset(v, im, labels), batch_size=8),
        "pairs of inputs and labels": [((v, im), labels)],
        "a generator": ((v[i : i + 1], im[i : i + 1]) for i in range(16)),
        "double": [(v.double(), im.double())],
    }
    images = {k: corten.compile(exported, target="cortex-m3", calibration=form).image for k, form in forms.items()}
    assert len(set(images.values())) == 1, [k for k, i in images.items() if i != images["batches"]]


def test_dicts_may_hold_more_than_the_model_takes():
    class Dict(TwoInputs):
        def forward(self, batch):
            return super().forward(batch["v"], batch["im"])

    v, im = tensors(16)
    exported = torch.export.export(Dict().eval(), (dict(zip(("v", "im"), tensors())),))
    exact, more = (
        corten.compile(exported, target="cortex-m3", calibration=[{"im": im, "v": v, **other}])
        for other in ({}, {"label": torch.arange(16), "id": "x"})
    )
    assert exact.image == more.image
    refused("no array for input 'im': the dict holds 'v', 'label'(.|\n)*the program takes 'v', 'im'", exported, calibration=[{"v": v, "label": im}])


def test_calibration_of_one_input():
    x = torch.randn(16, 6)
    exported = torch.export.export(nn.Sequential(nn.Linear(6, 4)).eval(), (x[:1],))
    forms = [x, [x], list(x), DataLoader(TensorDataset(x, torch.arange(16)), batch_size=8), x.numpy(), (x[:8], x[8:])]
    forms += [DataLoader(TensorDataset(x, torch.randn(16, 1)), batch_size=4), [(x, torch.randn(16))], [(row, 0.5) for row in x]]
    images = {corten.compile(exported, target="cortex-m3", calibration=form).image for form in forms}
    picked = corten.compile(exported, target="cortex-m3", calibration=[{"deep": {"x": x}}], transform=lambda b: b["deep"]["x"])
    assert images == {picked.image}


def test_a_path_of_calibration(tmp_path):
    v, im = tensors(16)
    exported = torch.export.export(TwoInputs().eval(), tensors())
    np.savez(tmp_path / "c.npz", in0=v, in1=im)
    by_path = corten.compile(exported, target="cortex-m3", calibration=tmp_path / "c.npz")
    assert by_path.image == corten.compile(exported, target="cortex-m3", calibration=[(v, im)]).image


def test_loaders_that_use_their_memory_again():
    """What is kept is a copy."""
    x = torch.randn(16, 6)
    exported = torch.export.export(nn.Sequential(nn.Linear(6, 4)).eval(), (x[:1],))

    def reused():
        buffer = torch.empty(1, 6)
        for row in x:
            yield buffer.copy_(row[None])

    assert corten.compile(exported, target="cortex-m3", calibration=reused()).image == (
        corten.compile(exported, target="cortex-m3", calibration=[x]).image
    )


def test_batches_on_a_larger_export():
    """Rows are gathered; a rest that makes no batch is left out."""
    assert linear([torch.randn(3, 6)] * 3, batch=4).report()["calibration"]["samples"] == 2


# ---- refusals -----------------------------------------------------------------------------------------------------------------


def refused(message, *args, kind=corten.CompileError, **options):
    """Compilation is refused; returns the error."""
    with pytest.raises(kind, match=message) as error:
        corten.compile(*args, **{"target": "cortex-m4", **options})
    assert isinstance(error.value, (ValueError, TypeError))
    if isinstance(error.value, corten.CompileError):
        assert error.value.diagnostics and error.value.diagnostics[0].severity == "error" and error.value.diagnostics[0].message
        assert "corten-" not in str(error.value), f"a file that nobody knows: {error.value}"
    return error.value


@pytest.fixture
def exported():
    return torch.export.export(TwoInputs().eval(), tensors())


def never():
    pytest.fail("data was read before the model was checked")
    yield


def test_unknown_target_offers_close_names(exported):
    assert "cortex-m55" in str(refused("cortex-m5", exported, target="cortex-m5", calibration=never()))
    assert refused("cortex_m4", exported, target="cortex_m4", calibration=never()).diagnostics[0].help == "did you mean cortex-m4?"


def test_no_calibration(exported):
    assert "DataLoader" in refused("needs calibration data", exported).diagnostics[0].help


@pytest.mark.parametrize("bad, word", [(torch.nan, "NaN"), (torch.inf, "infinity")])
def test_data_that_is_not_finite_names_input_and_sample(exported, bad, word):
    v, im = tensors(8)
    im[5, 0, 1, 1] = bad
    refused(f"'im' holds {word} in sample 13 .batch 1, row 5.", exported, calibration=[tensors(8), (v, im)])


@pytest.mark.parametrize(
    "batch, message",
    [
        ((torch.randn(8, 7), torch.randn(8, 1, 5, 5)), r"batch 1: input 'v' has shape \(8, 7\)"),
        ((torch.randn(8, 6), torch.randn(8, 5, 5, 1)), r"'im' has shape \(8, 5, 5, 1\), but the program takes \(N, 1, 5, 5\)"),
        ((torch.randn(8, 6), torch.randn(7, 1, 5, 5)), "different numbers of samples"),
        ((torch.randn(8, 6),), "missing|1 inputs"),
        (torch.randn(8, 6), "one tensor, but the program takes 2"),
        ({"v": torch.randn(8, 6), "img": torch.randn(8, 1, 5, 5)}, "no array for input 'im'"),
        ("x", "a str holds no inputs"),
        ((torch.randint(0, 255, (8, 6)), torch.randn(8, 1, 5, 5)), "'v' is int64"),
        ((torch.randn(8, 6), torch.randint(0, 255, (8, 1, 5, 5), dtype=torch.uint8)), "'im' is uint8"),
    ],
)
def test_wrong_data(exported, batch, message):
    refused(message, exported, calibration=[tensors(8), batch])


def test_no_samples(exported):
    refused("holds no samples", exported, calibration=[])
    refused("no file", exported, calibration="nowhere.npz")
    refused("can not be iterated", exported, calibration=3, kind=TypeError)


def test_a_module_in_train_mode():
    error = refused("train mode", WithDropout(), example_inputs=(torch.randn(2, 6),), calibration=never())
    assert "eval()" in str(error)


@pytest.mark.parametrize("strict", [False, True])
def test_a_program_exported_in_train_mode(strict):
    exported = torch.export.export(WithDropout().train(), (torch.randn(2, 6),), strict=strict)
    assert "eval()" in str(refused("train mode", exported, calibration=never()))


def test_a_path_exported_in_train_mode(tmp_path):
    torch.export.save(torch.export.export(WithDropout().train(), (torch.randn(2, 6),)), tmp_path / "train.pt2")
    with pytest.raises(corten.CompileError):
        corten.compile(tmp_path / "train.pt2", target="cortex-m4", calibration=never())


def test_unsupported_operators_are_all_named():
    class Strange(nn.Module):
        def forward(self, x):
            y = torch.cumsum(x, 1)
            return torch.erfinv(x) + y

    x = torch.randn(1, 6)
    error = refused("errors", torch.export.export(Strange().eval(), (x,)), calibration=never())
    operators = {d.aten for d in error.diagnostics}
    assert {"aten.cumsum.default", "aten.erfinv.default"} <= operators
    first = next(d for d in error.diagnostics if "cumsum" in d.aten)
    assert first.file.endswith("test_package.py") and "cumsum" in first.text and first.line > 0 and first.node
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and [d.aten for d in again.diagnostics] == [d.aten for d in error.diagnostics]


Pair = namedtuple("Pair", "a b")


class GivesPair(nn.Module):
    def forward(self, x):
        return Pair(x.relu(), x)


def test_what_torch_can_not_save_is_said():
    refused("named ?tuple", torch.export.export(GivesPair().eval(), (torch.randn(1, 6),)))
    with pytest.raises(corten.InputTypeError, match="do not fit forward of WithDropout"):
        corten.compile(WithDropout().eval(), target="cortex-m4", example_inputs={"y": torch.randn(1, 6)})


def test_wrong_models_and_options(exported, tmp_path):
    refused("a dict of weights is no model", {}, calibration=never(), kind=TypeError)
    refused("no file", "nowhere.pt2", calibration=never())
    refused("example_inputs", TwoInputs().eval(), calibration=never(), kind=TypeError)
    refused("optimize", exported, optimize="fast", kind=ValueError)
    refused("observer", exported, observer="max", kind=ValueError)
    refused("progress", exported, progress="always", kind=TypeError)
    refused("target must be a name", exported, target=55, kind=TypeError)
    (tmp_path / "no.pt2").write_bytes(b"no zip")
    with pytest.raises(corten.CompileError, match="no.pt2"):
        corten.compile(tmp_path / "no.pt2", target="cortex-m4")
    with pytest.raises(TypeError):
        corten.compile(exported)  # no target
    refused("transform is an int", exported, calibration=[torch.ones(1, 6)], transform=5, kind=TypeError)
    refused("example_inputs is an int", TwoInputs().eval(), calibration=never(), example_inputs=5, kind=TypeError)
    refused("example_inputs is a str", TwoInputs().eval(), calibration=never(), example_inputs="x", kind=TypeError)
    refused("not UTF-8", "caf\udce9.pt2", calibration=never())


def test_paths_that_are_none(two):
    for call in (corten.load, two[1].save, two[1].report, two[1].decode):
        with pytest.raises(corten.InputTypeError, match="must be a path, not an int"):
            call(5)
    with pytest.raises(corten.CompileError, match="is a folder"):
        two[1].report(".")


def test_flags_are_what_python_takes_for_true(two):
    inputs = tensors()
    assert torch.equal(two[1](*inputs, raw=1), two[1](*inputs, raw=True))
    program = corten.compile(two[0], target="cortex-m4", example_inputs=inputs, calibration=[inputs], float_io=np.True_)
    assert program.inputs[0].dtype == "float32"


@pytest.mark.parametrize(
    "tensor",
    [torch.ones(1, 6, device="meta"), torch.ones(1, 6).to_sparse(), torch.ones(1, 6).to(torch.float8_e4m3fn), torch.ones(1, 6, dtype=torch.complex64).conj()],
    ids=["meta", "sparse", "float8", "conjugate"],
)
def test_tensors_that_hold_no_numbers_for_numpy(two, tensor):
    with pytest.raises(corten.InputTypeError, match="can not be read|is complex64"):
        two[1](tensor, torch.ones(1, 1, 5, 5))


def test_programs_of_nothing():
    empty = torch.randn(0, 6)
    with pytest.raises(corten.CompileError, match=r"is empty: \[0, 6\]"):
        corten.compile(nn.Linear(6, 4).eval(), target="cortex-m4", example_inputs=(empty,), calibration=[empty])

    class Constant(nn.Module):
        def forward(self):
            return torch.ones(1, 3)

    with pytest.raises(corten.CompileError, match="takes no tensor"):
        corten.compile(Constant().eval(), target="cortex-m4", example_inputs=(), calibration=[])


def test_a_layer_whose_weights_are_all_zero():
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 1)).eval()
    nn.init.zeros_(model[0].weight)
    x = torch.randn(1, 1, 5, 5)
    program = corten.compile(model, target="cortex-m4", example_inputs=(x,), calibration=[x])
    assert torch.allclose(program(x), model(x), atol=0.02)


def test_edited_reports_count_as_absent(two, tmp_path):
    two[1].save(tmp_path)
    report = json.loads((tmp_path / "report.json").read_text())
    for change in ({"steps": 5}, {"steps": [1]}, {"structure": 5}, {"structure": {"a": 1}}, {"calibration": "x"}, {"arena": []}, {"notes": float("nan")}):
        (tmp_path / "report.json").write_text(json.dumps({**report, **change}))
        program = corten.load(tmp_path)
        assert program.summary().name == two[1].name and not program.report()


# ---- files and results --------------------------------------------------------------------------------------------------------


def test_save_and_load(two, tmp_path):
    _, program = two
    assert program.save(tmp_path / "new") == tmp_path / "new"
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["model.cc", "model.corten", "model.h", "report.json"]
    for path in (tmp_path / "new", str(tmp_path / "new/model.corten")):
        again = corten.load(path)
        x = tensors(2)
        assert torch.equal(again(*x), program(*x)) and again.image == program.image and again.report() == program.report()
    (tmp_path / "new/report.json").write_text('{"name": "another"}')
    assert corten.load(tmp_path / "new").report() == {}
    with pytest.raises(corten.CompileError):
        corten.load(tmp_path / "nowhere")
    (tmp_path / "new/model.corten").write_bytes(program.image[:-1])
    with pytest.raises(corten.CompileError):
        corten.load(tmp_path / "new")


def test_pickle(two):
    _, program = two
    again = pickle.loads(pickle.dumps(program))
    x = tensors(2)
    assert torch.equal(again(*x), program(*x)) and again.image == program.image and again.report() == program.report()


def test_description(two):
    _, program = two
    assert program.target == "cortex-m4" and program.name in repr(program)
    assert [i.name for i in program.inputs] == ["v", "im"] and program.inputs[1].shape == (1, 1, 5, 5)
    assert isinstance(program.image, bytes) and not program.diagnostics
    text = str(program.summary())
    assert "cortex-m4" in text and f"{len(program.image)} bytes" in text and "64 samples" in text
    for page in (program._repr_html_(), program.summary()._repr_html_()):
        assert page.startswith("<div>") and page.count("<tr>") == 1 + len(program.report()["steps"])


def test_report(two, tmp_path):
    _, program = two
    program.report(tmp_path / "r.html")
    program.report(tmp_path / "r.json")
    assert len((tmp_path / "r.html").read_text()) > 2000
    assert json.loads((tmp_path / "r.json").read_text()) == program.report()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.html", "r.json"]


def test_compare(digits, images, tmp_path):
    data = [(torch.from_numpy(images[0]), torch.from_numpy(images[1]))]
    c = digits.compare(DIGITS / "digits_cnn.pt2", data)
    assert c.samples == 40 and c.top1_same > 0.9 and c.top1_float > 0.9 and c.top1_int8 > 0.9 and c.output_sqnr_db[0] > 15
    assert [r["node"] for r in c.rows] == [s["node"] for s in digits.report()["steps"]] and c.rows[0]["sqnr_db"] > 15
    assert "top1" in str(c) and "<table>" in c._repr_html_()
    assert digits.compare(DIGITS / "digits_cnn.pt2", [images[0]]).top1_int8 is None
    try:
        import pandas  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="pandas"):
            c.to_dataframe()
    else:
        assert len(c.to_dataframe()) == len(c.rows)


def test_compare_with_a_module_and_the_wrong_model(two, digits):
    module, program = two
    c = program.compare(module, [tensors(8)], example_inputs=tensors())
    assert c.output_sqnr_db[0] > 15
    with pytest.raises(corten.CompileError):
        program.compare(DIGITS / "digits_cnn.pt2", [tensors(8)])


@pytest.mark.skipif(not os.environ.get("CI") and not shutil.which("qemu-system-arm"), reason="no qemu-system-arm")
def test_bench(two):
    _, program = two
    bench = program.bench("qemu")
    assert bench.instructions > 1000 and bench.arena_bytes > 0 and bench.stack_bytes > 0
    assert len(bench.rows) == len(program.report()["steps"])
    assert "instructions" in str(bench) and "<table>" in bench._repr_html_()
    assert program.bench(input=tensors()).instructions > 1000
    with pytest.raises(ValueError, match="qemu"):
        program.bench("board")


def test_targets():
    names = [t.name for t in corten.targets()]
    assert "cortex-m55" in names and "cortex-m0plus" in names and corten.targets()[0].tier == "scalar"


def test_values_that_become_nan_are_refused():
    class Root(nn.Module):
        def forward(self, x):
            return torch.relu(torch.sqrt(x)) + 1

    with pytest.raises(corten.CompileError, match="infinite or NaN") as error:
        corten.compile(Root().eval(), target="cortex-m4", example_inputs=torch.rand(1, 8), calibration=[torch.randn(64, 8)])
    assert error.value.diagnostics[0].code == "C0208" and "torch.sqrt(x)" in str(error.value)


def test_the_module_stands_where_no_line_is_the_users():
    module = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)).eval()
    program = corten.compile(module, target="cortex-m4", example_inputs=torch.rand(1, 8), calibration=[torch.randn(64, 8)])
    assert [s["source"] for s in program.summary().steps] == ["module 0", "module 2"]
    compared = program.compare(module, [torch.randn(16, 8)], example_inputs=torch.rand(1, 8))
    assert "module 2" in str(compared) and "torch/nn" not in str(compared)
