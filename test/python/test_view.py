"""`corten view`: Model Explorer's server asked as its page asks it, and the page itself. Needs the package: pip install ".[view]"."""
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
import support
from support import corten

DIGITS = support.ROOT / "examples/digits"
COMMAND = Path(sys.executable).parent / "corten"

try:
    import model_explorer  # noqa: F401

    from corten.model_explorer._files import opened
    from corten.model_explorer._graphs import graph_of
    from corten.model_explorer._node_data import node_data_of
except ImportError:
    if os.environ.get("CI"):
        raise
    pytest.skip('the package or Model Explorer is not installed: pip install ".[view]"', allow_module_level=True)


@pytest.fixture(scope="module")
def digits():
    """A program with everything that can be known about it in the report beside it."""
    image = support.compile_model(DIGITS / "digits_cnn.pt2", "cortex-m55", DIGITS / "calib.npz")
    figures = support.folder()
    (figures / "bench.json").write_text(corten("bench", image, "--json").out)
    compared = corten("compare", DIGITS / "digits_cnn.pt2", image, "--data", DIGITS / "eval.npz", "--json").out
    (figures / "compare.json").write_text(compared)
    corten("report", image.parent, "--bench", figures / "bench.json", "--compare", figures / "compare.json")
    return image


class Server:
    """`corten view FILE --no-open` on a free port."""

    def __init__(self, file):
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
        # A proxy that is not there: nothing that is asked of the network gets an answer.
        environment = {**os.environ, "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
        self.process = subprocess.Popen([COMMAND, "view", str(file), "--no-open", "--port", str(port)], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=environment)  # fmt: skip
        self.url = ""
        for line in self.process.stdout:
            if line.startswith("http"):
                self.url = line.strip()
                break
        assert self.url, f"no address printed; exit code {self.process.wait()}"
        self.shown = json.loads(urllib.parse.parse_qs(urllib.parse.urlparse(self.url).query)["data"][0])

    def ask(self, path, body=None, **query):
        request = urllib.request.Request(
            urllib.parse.urljoin(self.url, path) + (f"?{urllib.parse.urlencode(query)}" if query else ""),
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            return json.load(answer)

    def convert(self, file):
        return self.ask("/apipost/v1/send_command", {"cmdId": "convert", "extensionId": "corten", "modelPath": str(file),
                                                     "settings": {}, "deleteAfterConversion": False})  # fmt: skip

    def graph(self):
        """Of the file that is shown, as the page gets it: nodes by id."""
        (model,) = self.shown["models"]
        assert model["adapterId"] == "corten"
        (graph,) = self.convert(model["url"])["graphs"]
        return {n["id"]: n for n in graph["nodes"]}

    def node_data(self):
        """Values of each node by the figure's name, as the page gets them."""
        data = {}
        for index in range(len(self.shown.get("nodeData", []))):
            (graph,) = json.loads(self.ask("/api/v1/load_node_data", node_data_index=index)["content"]).values()
            data[graph["name"]] = {node: r["value"] for node, r in graph["results"].items()}
        return data

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        try:
            assert self.process.wait(timeout=60) == 130
        finally:
            self.process.kill()


@pytest.fixture(scope="module")
def program(digits):
    server = Server(digits.parent)
    yield server
    server.stop()


def attributes(of):
    return {a["key"]: a["value"] for a in of["attrs"]}


def sources(node):
    return [e["sourceNodeId"] for e in node["incomingEdges"]]


def test_program(program, digits):
    report = json.loads((digits.parent / "report.json").read_text())
    nodes = program.graph()
    steps = [n for n in nodes.values() if ": " in n["id"] and n["id"][0].isdigit()]
    assert [n["label"] for n in steps] == [s["op"] for s in report["steps"]]
    assert [n["namespace"] for n in steps] == [s["where"]["module"] for s in report["steps"]]
    for before, node in zip(["input: 0", *(n["id"] for n in steps)], [*steps, nodes["output: 0"]]):
        assert sources(node) == [before]
    for node, step in zip(steps, report["steps"]):
        known, result = attributes(node), attributes(node["outputsMetadata"][0])
        assert (known["kernel"], known["MACs"], known["cycles (estimated)"]) == (step["kernel"], str(step["macs"]), str(step["est_cycles"]))
        assert known["source"] == f"{step['where']['file']}:{step['where']['line']}" and known["source text"] == step["where"]["text"]
        assert float(result["scale"]) == pytest.approx(step["scale"], rel=1e-8) and result["zero point"] == str(step["zero_point"])
        assert result["arena offset"] == str(step["operands"][-1]["offset"]) and result["shape"] == str(step["shape"])
    data = program.node_data()
    for name, field in (("Cycles (estimated)", "est_cycles"), ("Instructions", "instructions"), ("MACs", "macs"), ("SQNR dB", "sqnr_db"),
                        ("Constant bytes", "constant_bytes"), ("Live bytes", "live_bytes")):  # fmt: skip
        assert data[name] == pytest.approx({n["id"]: s[field] for n, s in zip(steps, report["steps"])}, abs=1e-4)
    assert set(data["Saturation %"]) == {n["id"] for n in steps}


def test_model(program):
    """The same server converts a .pt2, which its page may open too."""
    (graph,) = program.convert(DIGITS / "digits_cnn.pt2")["graphs"]
    nodes = {n["id"]: n for n in graph["nodes"]}
    expected = corten("inspect", DIGITS / "digits_cnn.pt2", "--json").json
    assert [n["name"] for n in expected["nodes"]] == [i for i in nodes if ": " not in i]
    for n in expected["nodes"]:
        node = nodes[n["name"]]
        assert attributes(node)["ATen operator"] == n["aten"] and node["namespace"] == n["module"].replace(".", "/")
        assert attributes(node["outputsMetadata"][0])["shape"] == f"f32{n['out'][0]['shape']}"
    convolution = attributes(nodes["conv2d"])
    assert convolution["padding"] == "[1, 1]" and convolution["weight"].startswith("conv1.weight: f32[16, 1, 3, 3], 576 bytes")
    assert sources(nodes["conv2d"]) == ["input: x"] and sources(nodes["relu"]) == ["conv2d"] and sources(nodes["output: 0"]) == ["linear"]


def test_figures_on_request(program, digits):
    """As a page asks that opened the file itself."""
    request = {"extensionId": "corten_node_data", "modelPath": str(digits), "graphId": digits.name, "configValues": {}}
    assert program.ask("/apipost/v1/send_command", {**request, "cmdId": "get_config_editors"})["error"] == ""
    answer = program.ask("/apipost/v1/send_command", {**request, "cmdId": "run"})
    assert {d["name"]: {k: r["value"] for k, r in d["results"].items()} for d in answer["result"]} == program.node_data()
    assert "report.json" in program.ask("/apipost/v1/send_command", {**request, "cmdId": "run", "modelPath": str(bare(digits))})["error"]


def bare(image):
    """The image without the report beside it."""
    alone = support.folder() / image.name
    alone.write_bytes(image.read_bytes())
    return alone


def test_it_offers_itself_and_asks_nobody(program):
    adapters = [e for e in program.ask("/api/v1/get_extensions") if e["type"] == "adapter" and "pt2" in e["fileExts"]]
    assert [a["id"] for a in adapters] == ["corten"]
    begun = time.monotonic()
    assert program.ask("/api/v1/check_new_version")["version"] == "" and time.monotonic() - begun < 1


def test_damaged_files_are_messages(program, digits):
    for file in (digits, DIGITS / "digits_cnn.pt2"):
        damaged = support.folder() / file.name
        damaged.write_bytes(file.read_bytes()[:-100])
        said = program.convert(damaged)["error"]
        assert damaged.name in said and "Traceback" not in said and len(said) < 500, said
        done = subprocess.run([COMMAND, "view", damaged, "--no-open"], capture_output=True, text=True)
        assert done.returncode == 1 and done.stderr.startswith("error[C") and damaged.name in done.stderr, done.stderr
    assert "no_such.corten" in program.convert("/no_such.corten")["error"]


def test_command(digits):
    assert subprocess.run([COMMAND, "view"], capture_output=True).returncode == 2
    assert subprocess.run([COMMAND, "view", digits, "--port", "x"], capture_output=True).returncode == 2
    assert "view" in corten("--help").out and "corten view" in corten("view", "--help").out
    bare = subprocess.run([support.CORTEN, "view", digits], capture_output=True, text=True)
    assert bare.returncode == 1 and "pip install" in bare.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run([COMMAND, "view", digits, "--no-open", "--port", port], capture_output=True, text=True)
        assert done.returncode == 1 and port in done.stderr and "--port" in done.stderr
    done = subprocess.run([COMMAND, "view", digits, "--no-open", "--host", "192.0.2.1"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "192.0.2.1" in done.stderr


def test_extra_is_not_installed(digits):
    """As where only the package is: importing Model Explorer fails."""
    code = "import sys, runpy; sys.modules['model_explorer'] = None; runpy.run_module('corten.model_explorer', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code, str(digits)], capture_output=True, text=True)
    assert done.returncode == 1 and 'pip install "corten[view]"' in done.stderr and "Traceback" not in done.stderr


def test_residuals_scales_and_no_report(shared):
    """Edges come from the arena's bytes alone; q/dq nodes say their scales. Without a server."""
    model = shared / "models/qdq/ic_resnet8.pt2"
    graph = graph_of(opened(model))
    assert {n.namespace.split("/")[0] for n in graph.nodes if "quantize" in n.label} >= {"block1", "block2", "block3"}
    quantised = [n for n in graph.nodes if n.label.startswith("quantize_per_tensor")]
    assert quantised and all(float(a.value) > 0 for n in quantised for a in n.attrs if a.key == "scale")
    image = support.compile_model(model)
    full = graph_of(opened(image))
    adds = [n for n in full.nodes if len({e.sourceNodeId for e in n.incomingEdges}) == 2]
    assert len(adds) == 3
    assert not {n.id for n in full.nodes} - {e.sourceNodeId for n in full.nodes for e in n.incomingEdges} - {"output: 0"}
    alone = opened(bare(image))
    assert [[e.sourceNodeId for e in n.incomingEdges] for n in graph_of(alone).nodes] == [
        [e.sourceNodeId for e in n.incomingEdges] for n in full.nodes
    ]
    assert node_data_of(alone) == []


def test_page(program, driver):
    """The graph and all figures are on the page without a click, and its console has no errors."""
    driver.get(program.url)
    expected = ["7 nodes", "digits_cnn", "cortex-m55", *program.node_data()]
    deadline = time.monotonic() + 90
    while (missing := [t for t in expected if t not in driver.find_element("tag name", "body").text]) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not missing, driver.find_element("tag name", "body").text
    sizes = [c.size for c in driver.find_elements("css selector", "webgl-renderer canvas")]
    assert any(s["width"] > 300 and s["height"] > 300 for s in sizes), sizes
    assert [m for m in driver.get_log("browser") if "fonts.gstatic.com" not in m["message"]] == []  # Model Explorer has its fonts twice
