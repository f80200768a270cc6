"""report.html in a real headless Chromium, and `corten report`."""
import json

import pytest
import support
from support import corten, refused

DIGITS = support.ROOT / "examples/digits"
PHONE, DESK = (390, 844), (1280, 900)
HOSTILE = "</script><img src=x onerror=document.title='caught'>\"'&<!--\u202e"


@pytest.fixture(scope="module")
def folder():
    """A compiled model with everything that can be known about it: a bench, a comparison, an earlier report."""
    image = support.compile_model(DIGITS / "digits_cnn.pt2", "cortex-m55", DIGITS / "calib.npz")
    old = support.compile_model(DIGITS / "digits_cnn.pt2", "cortex-m4", DIGITS / "calib.npz").parent
    figures = support.folder()
    (figures / "bench.json").write_text(corten("bench", image, "--json").out)
    compared = corten("compare", DIGITS / "digits_cnn.pt2", image, "--data", DIGITS / "eval.npz", "--json", "--board", "qemu",
                      "--metrics", "top1,confusion").out
    (figures / "compare.json").write_text(compared)
    done = corten("report", image.parent, "--bench", figures / "bench.json", "--compare", figures / "compare.json", "--against",
                  old / "report.json")
    assert "report.html" in done.out
    return image.parent


@pytest.fixture(scope="module")
def plain():
    """A compiled model and nothing else."""
    return support.compile_model(DIGITS / "digits_cnn.pt2", "cortex-m55", DIGITS / "calib.npz").parent


@pytest.fixture(scope="module")
def hostile(folder):
    """The same report with hostile text in every field that is text, but for those that say what a field is."""
    report = json.loads((folder / "report.json").read_text())

    def poison(value, key=None):
        if isinstance(value, dict):
            return {k: poison(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [poison(v, key) for v in value]
        return value + HOSTILE if isinstance(value, str) and key not in ("tier", "kernel_tier", "op", "kind") else value

    out = support.folder()
    (out / "report.json").write_text(json.dumps(poison(report)))
    corten("report", out)
    return out


@pytest.fixture
def page(driver):
    """page(folder, size): opens its report, and after the test requires a console without a word."""

    def opened(where, size=DESK, scheme="light"):
        width, height = size
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                               {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        driver.get((where / "report.html").as_uri())
        return driver

    yield opened
    assert driver.get_log("browser") == []


def script(page, text):
    return page.execute_script("return " + text)


def rows(page, table):
    """The visible rows of a table: a list of the texts of their cells."""
    return script(page, f"[...document.querySelectorAll('#{table} tbody tr')].filter(r => !r.hidden)"
                        ".map(r => [...r.cells].map(c => c.textContent))")


def type_into(page, selector, text):
    from selenium.webdriver.common.by import By

    field = page.find_element(By.CSS_SELECTOR, selector)
    field.clear()
    field.send_keys(text)


# ---- the page -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESK])
def test_layout(page, folder, hostile, plain, size, scheme):
    for where in (folder, plain, hostile):
        p = page(where, size, scheme)
        assert script(p, "document.documentElement.scrollWidth") == size[0], "the page scrolls sideways"
        wide = script(p, "[...document.querySelectorAll('body *')]"
                         ".filter(e => !e.closest('.scroll, .skip, svg, script, .unseen'))"
                         ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))")
        assert wide == []
        ground = script(p, "getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (scheme == "light")


def test_structure(page, folder):
    p = page(folder)
    assert script(p, "document.documentElement.lang") == "en"
    assert script(p, "document.querySelectorAll('h1').length") == 1
    assert script(p, "[...document.querySelectorAll('section')]"
                     ".every(s => document.getElementById(s.getAttribute('aria-labelledby')))")
    assert script(p, "[...document.querySelectorAll('nav a')].every(a => document.querySelector(a.getAttribute('href')))")
    assert script(p, "[...document.querySelectorAll('th')].every(t => t.scope === (t.closest('thead') ? 'col' : 'row'))")
    assert script(p, "[...document.querySelectorAll('table')].every(t => t.caption && t.caption.textContent)")
    assert script(p, "[...document.querySelectorAll('svg:not([aria-hidden])')].every(s => s.getAttribute('role') && s.ariaLabel)")
    assert script(p, "[...document.querySelectorAll('.block')]"
                     ".every(b => b.querySelector('title') && b.getAttribute('role') === 'img')")
    assert script(p, "[...document.querySelectorAll('input')].every(i => i.labels.length === 1)")
    ids = script(p, "[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_nothing_is_fetched(page, folder):
    p = page(folder)
    assert script(p, "performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).map(e => e.name)") == []


def test_data_is_that_of_report_json(page, folder):
    p = page(folder)
    report = json.loads((folder / "report.json").read_text())
    assert script(p, "JSON.parse(document.getElementById('report').textContent)") == report


def test_hostile_names(page, hostile):
    p = page(hostile)
    assert script(p, "document.querySelectorAll('img').length") == 0
    assert "caught" != script(p, "document.title")
    assert HOSTILE in script(p, "document.querySelector('h1').textContent")
    assert HOSTILE in script(p, "document.querySelector('.block').dataset.name")
    script(p, "document.querySelector('.block').dispatchEvent(new MouseEvent('mouseenter'))")
    assert HOSTILE in script(p, "document.getElementById('arena-detail').textContent")
    assert script(p, "document.querySelectorAll('img').length") == 0


def test_accuracy(page, folder):
    p = page(folder)
    report = json.loads((folder / "report.json").read_text())
    comparison, steps = report["comparison"], report["steps"]
    heads = script(p, "[...document.querySelectorAll('#accuracy-table thead th')].map(h => h.textContent)")
    for name in ("Cost", "Alone", "What would help", "Fake-quantised SQNR", "Host SQNR", "Board SQNR", "Largest error", "Saturated", "Range used"):
        assert sum(name in h for h in heads) == 1, heads
    order = sorted(range(len(steps)), key=lambda i: -steps[i]["noise"])
    shown = rows(p, "accuracy-table")
    assert [r[0].split()[1] for r in shown] == [str(i) for i in order]
    at = next(i for i, h in enumerate(heads) if "Board SQNR" in h)
    assert [float(r[at]) for r in shown] == [round(steps[i]["stages"]["board"]["sqnr_db"], 1) for i in order]
    figures = {r[0]: r[1:] for r in rows(p, "output-table")}
    assert [float(v) for v in figures["top1 (part of samples)"]] == [pytest.approx(v, abs=5e-4) for v in comparison["metrics"]["top1"].values()]
    assert script(p, "document.querySelectorAll('#accuracy details table').length") == 4
    assert "Equal to the host in every byte" in script(p, "document.querySelector('#accuracy').textContent")


def test_every_section_has_figures(page, folder, plain):
    p = page(folder)
    for section in ("budget", "advice", "arena", "steps", "accuracy", "decisions", "difference"):
        assert script(p, f"document.querySelectorAll('#{section} tbody tr').length") > 0, section
    p = page(plain)
    for section in ("budget", "steps", "accuracy", "difference"):
        assert "navailable" in script(p, f"document.getElementById('{section}').textContent"), section


# ---- tables -------------------------------------------------------------------------------------------------------------------


def test_sort(page, folder):
    p = page(folder)
    headers = script(p, "[...document.querySelectorAll('#step-table thead button')].map(b => b.textContent)")
    column = headers.index("MACs")
    press = f"document.querySelectorAll('#step-table thead button')[{column}].click()"
    state = f"document.querySelectorAll('#step-table thead th')[{column}].ariaSort"
    assert script(p, state) == "none"
    for direction in ("descending", "ascending"):
        script(p, press)
        assert script(p, state) == direction
        values = [int(r[column].replace(",", "")) for r in rows(p, "step-table")]
        assert values == sorted(values, reverse=direction == "descending") and len(set(values)) > 2
    script(p, "document.querySelectorAll('#step-table thead button')[0].click()")
    assert script(p, state) == "none"
    assert [int(r[0].split()[0]) for r in rows(p, "step-table")] == list(range(len(values)))


def test_cells_without_a_figure_sort_last(page, folder):
    p = page(folder)
    column = script(p, "[...document.querySelectorAll('#advice-table thead button')].findIndex(b => b.textContent === 'SQNR')")
    for _ in range(2):
        script(p, f"document.querySelectorAll('#advice-table thead button')[{column}].click()")
        missing = ["unavailable" in r[column] for r in rows(p, "advice-table")]
        assert any(missing) and not all(missing) and missing == sorted(missing)


def test_search(page, folder):
    p = page(folder)
    every = rows(p, "step-table")
    type_into(p, "#step-search", "CONV2D mve")
    found = rows(p, "step-table")
    assert found == [r for r in every if "conv2d" in "".join(r).lower() and "mve" in "".join(r).lower()]
    assert 0 < len(found) < len(every)
    assert script(p, "document.getElementById('step-count').textContent") == f"{len(found)} of {len(every)} steps"
    type_into(p, "#step-search", "nothing has this name")
    assert rows(p, "step-table") == []
    link = "[...document.querySelectorAll('#advice-table a')][0]"
    target = script(p, link + ".getAttribute('href')")
    script(p, link + ".click()")
    assert len(rows(p, "step-table")) == len(every), "a link to a step shows all steps again"
    assert script(p, "document.activeElement.id") == target[1:]


# ---- the arena ----------------------------------------------------------------------------------------------------------------


def live_by_report(report, step):
    names = [t["name"] for t in report["tensors"] if t["first_step"] <= step <= t["last_step"]]
    return names + [f"scratch of {s['node']}" for i, s in enumerate(report["steps"]) if i == step and s["scratch_bytes"]]


def test_click_fixes_a_step(page, folder):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    p, report = page(folder), json.loads((folder / "report.json").read_text())
    chart = p.find_element(By.ID, "arena-chart")
    left, cell, height = float(chart.get_attribute("data-left")), float(chart.get_attribute("data-cell")), chart.size["height"]
    for step in range(-1, len(report["steps"]) + 1):
        x = left + cell * (step + 1.5) - chart.size["width"] / 2
        ActionChains(p).move_to_element_with_offset(chart, int(x), int(100 - height / 2)).click().perform()
        assert [r[0] for r in rows(p, "live-table")] == live_by_report(report, step), step
        assert script(p, "Number(document.getElementById('arena-step').value)") == step


def test_hover_and_keyboard(page, folder):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    p, report = page(folder), json.loads((folder / "report.json").read_text())
    detail = "document.getElementById('arena-detail').textContent"
    first = p.find_elements(By.CSS_SELECTOR, ".block")[0]
    # Its left quarter: in its last step an output may lie over it.
    ActionChains(p).move_to_element_with_offset(first, -int(first.rect["width"] / 4), 0).perform()
    tensor = report["tensors"][0]
    assert script(p, detail).startswith(f"{tensor['name']}: {tensor['bytes']:,} bytes at offset {tensor['offset']:,}")
    assert script(p, "document.querySelectorAll('.block[tabindex=\"0\"]').length") == 1
    script(p, "document.querySelector('.block[tabindex=\"0\"]').focus()")
    ActionChains(p).send_keys(Keys.ARROW_RIGHT).perform()
    tensor = report["tensors"][1]
    assert script(p, detail).startswith(f"{tensor['name']}: {tensor['bytes']:,} bytes")
    assert script(p, "getComputedStyle(document.activeElement).strokeWidth") == "4px"
    ActionChains(p).send_keys(Keys.ENTER).perform()
    assert [r[0] for r in rows(p, "live-table")] == live_by_report(report, tensor["first_step"])
    ActionChains(p).send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT).perform()
    index = script(p, "[...document.querySelectorAll('.block')].indexOf(document.activeElement)")
    assert index > 1, "the first one's left is the last"
    script(p, "document.getElementById('arena-step').focus()")
    ActionChains(p).send_keys(Keys.END).perform()
    assert [r[0] for r in rows(p, "live-table")] == live_by_report(report, len(report["steps"]))


def test_large_report(page, shared):
    """96 steps are there in under a second."""
    out = support.folder()
    corten("compile", shared / "models/zoo/micro_yolo_128.pt2", "--calibrate", shared / "data/micro_yolo_calib.npz", "-o", out)
    p = page(out)
    took = min(script(page(out), "performance.getEntriesByType('navigation')[0].loadEventEnd") for _ in range(3))
    assert 0 < took < 1000, f"{took} ms"
    assert len(rows(p, "step-table")) > 50


# ---- report.json --------------------------------------------------------------------------------------------------------------


def test_tensors_add_up(folder):
    """What lives at a step lies within the arena, and without one another's bytes but where an output lies over an operand."""
    report = json.loads((folder / "report.json").read_text())
    assert sum(p["bytes"] for p in report["image_parts"]) == report["image_bytes"] == (folder / "model.corten").stat().st_size
    assert max(t["offset"] + t["bytes"] for t in report["tensors"]) <= report["arena"]["bytes"]
    assert len([t for t in report["tensors"] if t["kind"] == "input"]) == 1
    for t in report["tensors"]:
        for u in report["tensors"]:
            both = range(max(t["first_step"], u["first_step"]), min(t["last_step"], u["last_step"]) + 1)
            apart = t["offset"] + t["bytes"] <= u["offset"] or u["offset"] + u["bytes"] <= t["offset"]
            assert t is u or apart or len(both) <= 1
    for i, step in enumerate(report["steps"]):
        for place in step["operands"]:
            holders = [t for t in report["tensors"] if t["offset"] == place["offset"] and t["first_step"] <= i <= t["last_step"]]
            assert place["in"] == "image" or holders


def test_figures_stay_in_report_json(folder):
    report = json.loads((folder / "report.json").read_text())
    assert report["bench"]["instructions"] > 0 and report["comparison"]["samples"] > 0
    assert report["earlier"]["target"] == "cortex-m4"
    assert all(s["instructions"] > 0 for s in report["steps"])
    assert corten("report", folder, "--json").json == report


def test_output_elsewhere(plain):
    out = support.folder() / "page.html"
    before = (plain / "report.json").read_bytes()
    corten("report", plain, "-o", out)
    assert out.read_text().startswith("<!DOCTYPE html>") and (plain / "report.json").read_bytes() == before


def test_refusals(plain, folder, tmp_path):
    assert "nowhere" in refused("report", "/nowhere")
    (tmp_path / "report.json").write_text("{}")
    assert "report.json" in refused("report", tmp_path)
    (tmp_path / "text.json").write_text("hello")
    other = json.loads(corten("bench", folder / "model.corten", "--json").out)
    other["target"] = "cortex-m4"
    (tmp_path / "other.json").write_text(json.dumps(other))
    for option in ("--bench", "--compare", "--against"):
        assert "text.json" in refused("report", plain, option, tmp_path / "text.json")
        assert "other.json" in refused("report", plain, option, tmp_path / "other.json") or option == "--compare"
    assert "help: " in refused("report", plain, "--bench", tmp_path / "other.json")
