"""Figures of each node, in colours."""
from __future__ import annotations


from model_explorer.node_data_builder import GradientItem, GraphNodeData, NodeDataResult, ThresholdItem

from ._files import File
from ._graphs import step_id

# Dark is much, so colours compare the nodes of one graph; SQNR has a meaning by itself: red is worth a look.
_HEAT = [GradientItem(stop=0, bgColor="#fff8e1", textColor="#000000"), GradientItem(stop=1, bgColor="#f4511e", textColor="#000000")]
_DECIBELS = [ThresholdItem(20, "#ff8a80", "#000000"), ThresholdItem(30, "#ffcc80", "#000000"), ThresholdItem(40, "#fff59d", "#000000")]

# Name and field of report.json (docs/report.md). The page shows the last one first.
_FIGURES = [
    ("Saturation %", "saturated"),
    ("SQNR dB", "sqnr_db"),
    ("Live bytes", "live_bytes"),
    ("Constant bytes", "constant_bytes"),
    ("MACs", "macs"),
    ("Instructions", "instructions"),
    ("Cycles (estimated)", "est_cycles"),
]


def node_data_of(file: File) -> list[GraphNodeData]:
    """Figures that no node has are left out."""
    if not file.is_program:
        return _of_model(file)
    all_data = []
    for name, field in _FIGURES:
        scale = 100 if field == "saturated" else 1
        data = _coloured(name, field == "sqnr_db")
        for i, step in enumerate(file.steps()):
            if step.get(field) is not None:
                data.results[step_id(i, step)] = NodeDataResult(round(scale * step[field], 4))
        all_data.append(data)
    return [d for d in all_data if d.results]


def _of_model(file: File) -> list[GraphNodeData]:
    bytes_of = {c["name"]: c["bytes"] for c in file.info["constants"]}
    data = _coloured("Constant bytes (as exported)", False)
    for node in file.info["nodes"]:
        count = sum(bytes_of.get(name, 0) for name in node["in"])
        if count:
            data.results[node["name"]] = NodeDataResult(count)
    return [data] if data.results else []


def _coloured(name: str, decibels: bool) -> GraphNodeData:
    return GraphNodeData(name=name, results={}, thresholds=_DECIBELS if decibels else [], gradient=[] if decibels else _HEAT)
