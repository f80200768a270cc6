"""Files as graphs of Model Explorer. Nodes lie in groups by the path of their nn.Module."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from model_explorer.graph_builder import Graph, GraphNode, IncomingEdge, KeyValue, MetadataItem

from .._tables import source_of
from ._files import File


def graph_of(file: File) -> Graph:
    return _of_program(file) if file.is_program else _of_model(file)


def step_id(index: int, step: dict[str, Any]) -> str:
    return f"{index}: {step['node']}"


# ---- .pt2


def _of_model(file: File) -> Graph:
    graph = Graph(id=file.path.name)
    constants = {c["name"]: c for c in file.info["constants"]}
    groups = _groups(file.info["nodes"])
    made: dict[str, tuple[str, int]] = {}  # value: its node, and which result of that
    for value in file.info["inputs"]:
        node = GraphNode(id=f"input: {value['name']}", label=f"input {value['name']}", outputsMetadata=[_value(0, value)])
        made[value["name"]] = node.id, 0
        graph.nodes.append(node)
    for n in file.info["nodes"]:
        label = n["aten"].split(".")[1] if "." in n["aten"] else n["aten"]
        node = GraphNode(id=n["name"], label=label, namespace=_group(groups[n["name"]]))
        node.attrs = _attributes({"ATen operator": n["aten"], **_place(n), **{k: _text(v) for k, v in n["attrs"].items()}})
        for k, name in enumerate(n["in"]):
            if name in made:
                node.incomingEdges.append(_edge(made[name], k))
            elif name in constants:
                node.attrs.append(KeyValue(n["in_names"][k], _constant(constants[name])))
        node.outputsMetadata = [_value(k, value) for k, value in enumerate(n["out"]) if value]
        made.update({value["name"]: (node.id, k) for k, value in enumerate(n["out"]) if value})
        graph.nodes.append(node)
    for k, value in enumerate(file.info["outputs"]):
        node = GraphNode(id=f"output: {k}", label=f"output {value['name']}")
        if value["name"] in made:
            node.incomingEdges.append(_edge(made[value["name"]], 0))
        graph.nodes.append(node)
    return graph


def _groups(nodes: list[dict[str, Any]]) -> dict[str, str]:
    """Each node's module. q/dq nodes have none: quantize goes with the node before it, dequantize with the one after it."""
    groups = {n["name"]: n["module"] for n in nodes}
    maker = {value["name"]: n["name"] for n in nodes for value in n["out"] if value}
    reader = {value: n["name"] for n in reversed(nodes) for value in n["in"] if value}  # the first one
    for n in nodes:
        kind = n["aten"].removeprefix("quantized_decomposed.")
        if n["module"] or kind == n["aten"]:
            continue
        near = maker.get(n["in"][0]) if kind.startswith("quantize") else reader.get(n["out"][0]["name"])
        groups[n["name"]] = groups.get(near or "", "")
    return groups


def _value(index: int, value: dict[str, Any]) -> MetadataItem:
    return _metadata(index, {"__tensor_tag": value["name"], "shape": _type(value)})


def _type(value: dict[str, Any]) -> str:
    return f"{value['dtype']}{value['shape']}"


def _constant(c: dict[str, Any]) -> str:
    extent = f", {c['min']:.6g} to {c['max']:.6g}" if c.get("min") is not None and c.get("max") is not None else ""
    return f"{c['name']}: {_type(c)}, {c['bytes']} bytes{extent}"


# ---- .corten


def _of_program(file: File) -> Graph:
    graph = Graph(id=file.path.name)
    arena = _Arena()
    for k, io in enumerate(file.info["inputs"]):
        node = GraphNode(id=f"input: {k}", label=f"input {io['name']}", outputsMetadata=[_io(io)])
        arena.write(io, node.id, 0)
        graph.nodes.append(node)
    for i, step in enumerate(file.steps()):
        node = GraphNode(id=step_id(i, step), label=step.get("op", step["kernel"]), namespace=_group(step.get("where", {}).get("module", "")))
        node.attrs = _attributes(_step(step))
        count = len(step["operands"]) - step["outputs"]
        for k, operand in enumerate(step["operands"][:count]):
            node.incomingEdges += [_edge(source, k) for source in arena.writers(operand)]
        for k, operand in enumerate(step["operands"][count:]):
            arena.write(operand, node.id, k)
            node.outputsMetadata.append(_result(k, step, operand))
        graph.nodes.append(node)
    for k, io in enumerate(file.info["outputs"]):
        node = GraphNode(id=f"output: {k}", label=f"output {io['name']}", inputsMetadata=[_io(io)])
        node.incomingEdges = [_edge(source, 0) for source in arena.writers(io)]
        graph.nodes.append(node)
    graph.groupNodeAttributes = {"": _summary(file)}
    return graph


class _Arena:
    """Who wrote each byte last: a step reads from those."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, int, tuple[str, int]]] = []  # first byte, end, node and which of its outputs

    def write(self, place: dict[str, Any], node: str, output: int) -> None:
        if place.get("in", "arena") != "arena":
            return
        first, end = place["offset"], place["offset"] + place["bytes"]
        kept = []
        for a, b, source in self._parts:
            kept += [(x, y, source) for x, y in ((a, min(b, first)), (max(a, end), b)) if x < y]
        self._parts = [*kept, (first, end, (node, output))]

    def writers(self, place: dict[str, Any]) -> list[tuple[str, int]]:
        if place.get("in", "arena") != "arena":
            return []
        first, end = place["offset"], place["offset"] + place["bytes"]
        return list(dict.fromkeys(source for a, b, source in sorted(self._parts) if a < end and first < b))


def _step(step: dict[str, Any]) -> dict[str, Any]:
    pruned = step.get("pruned")
    return {
        "kernel": step["kernel"],
        "kernel tier": step.get("kernel_tier"),
        "ATen operator": step.get("aten"),
        **_place(step.get("where", {})),
        "MACs": step.get("macs"),
        "instructions": step.get("instructions"),
        "cycles (estimated)": step.get("est_cycles"),
        "constants": _bytes(step.get("constant_bytes")),
        "parameters": _bytes(step.get("params_bytes")),
        "scratch": _bytes(step["scratch_bytes"]),
        "scratch offset": step.get("scratch_offset"),
        "live": _bytes(step.get("live_bytes")),
        "SQNR": None if step.get("sqnr_db") is None else f"{step['sqnr_db']:.1f} dB",
        "saturation": None if step.get("saturated") is None else f"{100 * step['saturated']:.3g} %",
        "channels left out": f"{pruned['left_out']} of {pruned['channels']}" if pruned else None,
    }


def _result(index: int, step: dict[str, Any], operand: dict[str, Any]) -> MetadataItem:
    """The report describes the first output; of others only place and size are known."""
    known = step if index == 0 else {}
    return _metadata(
        index,
        {
            "__tensor_tag": known.get("value"),
            "shape": str(known["shape"]) if "shape" in known else _bytes(operand["bytes"]),
            "bytes": operand["bytes"],
            "arena offset": operand["offset"] if operand["in"] == "arena" else None,
            "scale": known.get("scale"),
            "zero point": known.get("zero_point"),
        },
    )


def _io(io: dict[str, Any]) -> MetadataItem:
    return _metadata(
        0,
        {
            "__tensor_tag": io["name"],
            "shape": f"{_type(io)} in PyTorch's order",
            "device's order": f"dimensions {io['perm']}",
            "bytes": io["bytes"],
            "arena offset": io["offset"],
            "scale": io["scale"],
            "zero point": io["zero_point"],
        },
    )


def _summary(file: File) -> dict[str, str]:
    info, arena, bench = file.info, file.report.get("arena", {}), file.report.get("bench", {})
    return {
        k: _text(v)
        for k, v in {
            "program": info["name"],
            "target": info["target"],
            "kernels": info["tier"],
            "image": _bytes(info["image_bytes"]),
            "arena": _bytes(info["arena_bytes"]),
            "arena's lower bound": _bytes(arena.get("lower_bound")),
            "instructions": bench.get("instructions"),
            "cycles (estimated)": bench.get("est_cycles"),
        }.items()
        if v is not None
    }


# ---- both


def _place(where: dict[str, Any]) -> dict[str, Any]:
    return {"source": source_of(where) if where.get("line") else None, "source text": where.get("text") or None, "module": where.get("module") or None}


def _group(module: str) -> str:
    return module.replace(".", "/")


def _edge(source: tuple[str, int], operand: int) -> IncomingEdge:
    return IncomingEdge(sourceNodeId=source[0], sourceNodeOutputId=str(source[1]), targetNodeInputId=str(operand))


def _metadata(index: int, values: dict[str, Any]) -> MetadataItem:
    return MetadataItem(id=str(index), attrs=_attributes(values))


def _attributes(values: dict[str, Any]) -> list[KeyValue]:
    return [KeyValue(key, _text(value)) for key, value in values.items() if value is not None]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, Iterable) and not isinstance(value, str):
        return f"[{', '.join(map(_text, value))}]"
    return str(value)


def _bytes(count: int | None) -> str | None:
    return None if count is None else f"{count} bytes"
