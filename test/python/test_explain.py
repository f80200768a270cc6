"""corten.explain: a row for every node, supported or not."""
from xml.etree import ElementTree

import pytest
import support
import torch
from torch import nn

corten = support.package()


class Block(nn.Module):
    """Something of everything: fused, folded, a view, a permutation, a fallback."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.grouped = nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.head = nn.Linear(4, 5)
        self.drop = nn.Dropout()
        self.register_buffer("table", torch.ones(8))

    def forward(self, x):
        x = self.norm(self.conv(x)).relu()
        x = self.drop(self.grouped(x))  # if "a" < b & c
        x = x.mean((2, 3)) * (self.table + 1)
        return self.head(x.view(2, 4)).softmax(-1)


class Unsupported(nn.Module):
    """Two operators that nobody supports, the second fed by the first, and work before, between and behind."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x):
        x = torch.erfinv(self.a(x).tanh())
        y = torch.lgamma(torch.digamma(self.b(x)))
        return self.c(y), x.relu()


def by_op(explanation):
    rows = {}
    for row in explanation.rows:
        rows.setdefault(row["op"], []).append(row)
    return rows


@pytest.fixture(scope="module")
def block():
    torch.manual_seed(0)
    module = Block().eval()
    return torch.export.export(module, (torch.randn(1, 3, 8, 8),))


@pytest.fixture(scope="module")
def explained(block):
    return corten.explain(block, target="cortex-m55")


def test_a_row_for_every_node_in_order(block, explained):
    nodes = [n.name for n in block.graph.nodes if n.op == "call_function"]
    assert [r["node"] for r in explained.rows] == nodes
    assert all(r["source"] and r["text"] and r["decision"] for r in explained.rows)


def test_decisions(explained):
    rows = by_op(explained)
    first, grouped = rows["conv2d"]
    assert first["decision"].startswith("conv2d_s8_mve") and first["module"] == "conv" and first["macs"] == 8 * 8 * 8 * 27
    assert rows["batch_norm"][0]["decision"] == rows["relu"][0]["decision"] == "part of conv2d (conv)"
    assert rows["batch_norm"][0]["macs"] is None
    assert "operand" in rows["dropout"][0]["decision"]
    assert "constants alone" in rows["add.Tensor"][0]["decision"]
    assert "same bytes" in rows["view"][0]["decision"]
    assert "conv2d_s8_mve_any need one group (here: groups 2)" in grouped["why"] and "dsp" not in grouped["why"]
    assert "groups=1" in grouped["to_do"]
    assert first["constant_bytes"] > 8 * 27


def test_it_is_what_compile_does(block, explained):
    program = corten.compile(block, target="cortex-m55", calibration=[torch.randn(32, 3, 8, 8)])
    steps = {s["node"]: s["kernel"] for s in program.report()["steps"]}
    rows = {r["node"]: [s["kernel"] for s in r.get("steps", [])] for r in explained.to_dict()["rows"]}
    assert sorted(steps.values()) == sorted(k for kernels in rows.values() for k in kernels)
    assert all(kernel in rows[node.split(".")[0]] for node, kernel in steps.items())
    assert "batch_norm" in next(s for s in program.report()["steps"] if s["node"] == "conv2d")["fused"]


def test_values_of_what_failed(explained):
    conv = next(r for r in explained.to_dict()["rows"] if r["node"] == "conv2d")
    unmet = {u["condition"]: u for s in conv["steps"][0]["skipped_rows"] for u in s["unmet"]}
    assert unmet["conv_taps(p) <= 16"]["actual"] == "weights per output 27"
    assert unmet["conv_taps(p) <= 16"]["needs"] == "at most 16 weights per output"
    assert all(u["actual"] for u in unmet.values())


def test_all_that_is_not_supported_is_refused_and_the_rest_is_there():
    explanation = corten.explain(Unsupported(), target="cortex-m4", example_inputs=torch.randn(1, 6))
    assert [r["op"] for r in explanation.refused] == ["erfinv", "digamma", "lgamma"]
    assert all("not supported" in r["decision"] and r["to_do"] for r in explanation.refused)
    linear = by_op(explanation)["linear"]
    assert len(linear) == 3 and all(r["decision"].startswith("linear_s8_dsp") and r["macs"] == 36 for r in linear)
    text = str(explanation)
    assert "3 of them refused" in text and "made up" in text and "bench('qemu')" in text


class Spectrum(nn.Module):
    """Complex numbers, which no kernel has, between what is supported."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(5, 3)

    def forward(self, x):
        return self.b(torch.fft.rfft(self.a(x)).abs())


def test_types_that_no_kernel_has():
    exported = torch.export.export(Spectrum().eval(), (torch.randn(1, 6),))
    explanation = corten.explain(exported, target="cortex-m4")
    assert [r["op"] for r in explanation.refused] == ["fft_rfft"] and len(by_op(explanation)["linear"]) == 2
    with pytest.raises(corten.CompileError, match="fft_rfft") as error:
        corten.compile(exported, target="cortex-m4", calibration=[torch.randn(1, 6)])
    assert error.value.diagnostics[0].line


class Branches(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x * 3, (x,)).relu()


class Remembers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("sum", torch.zeros(1, 3))

    def forward(self, x):
        self.sum.add_(x)
        return self.sum.relu()


class Counts(nn.Module):
    def forward(self, x):
        return torch.nonzero(x).float().relu()


@pytest.mark.parametrize("module, nodes", [(Branches(), ["gt", "cond"]), (Remembers(), ["add_"]), (Counts(), ["nonzero", "to"])])
def test_what_the_importer_refuses_is_a_row_too(module, nodes):
    x = torch.ones(1, 3)
    for data in (None, [x]):
        explanation = corten.explain(module.eval(), target="cortex-m4", example_inputs=x, calibration=data)
        assert [r["node"] for r in explanation.refused] == nodes
        assert by_op(explanation)["relu"][0]["decision"].startswith("lut")


class Only(nn.Module):
    def forward(self, x):
        return torch.lgamma(x)


def test_a_model_with_nothing_left():
    explanation = corten.explain(Only(), target="cortex-m4", example_inputs=torch.randn(1, 6))
    assert len(explanation.rows) == len(explanation.refused) == 1


class Logarithm(nn.Module):
    def forward(self, x):
        return torch.log(x)


def test_made_up_values_are_in_the_domain():
    assert not corten.explain(Logarithm(), target="cortex-m4", example_inputs=torch.ones(1, 6)).refused


def test_calibration_is_used(block):
    explanation = corten.explain(block, target="cortex-m55", calibration=[torch.randn(4, 3, 8, 8)])
    assert not explanation.to_dict()["made_up_ranges"] and "made up" not in str(explanation)


def test_paths_and_errors(block, tmp_path):
    torch.export.save(block, tmp_path / "block.pt2")
    explanation = corten.explain(tmp_path / "block.pt2", target="cortex-m0plus")
    assert {r["tier"] for row in explanation.to_dict()["rows"] for r in row.get("steps", [])} == {"scalar"}
    with pytest.raises(corten.CompileError, match="cortex-m55"):
        corten.explain(block, target="cortex-m56")
    with pytest.raises(corten.CompileError, match="train mode"):
        corten.explain(torch.export.export(Block().train(), (torch.randn(1, 3, 8, 8),)), target="cortex-m4")


def test_tables(block, explained):
    pandas = support.package("pandas", "pip install pandas")
    frame = explained.to_dataframe()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(explained.rows) and frame["macs"].sum() > 0
    program = corten.compile(block, target="cortex-m55", calibration=[torch.randn(8, 3, 8, 8)])
    steps = program.report()["steps"]
    assert len(program.summary().to_dataframe()) == len(steps) == len(program.summary().to_dict()["steps"])
    for result in (explained, program, program.summary()):
        page = ElementTree.fromstring(result._repr_html_())
        assert len(page.findall(".//tr")) > 5
    cells = [cell.text for cell in ElementTree.fromstring(explained._repr_html_()).iter("td")]
    assert any('# if "a" < b & c' in (text or "") for text in cells)
