"""What Model Explorer loads: an adapter for both kinds of file, and the figures of a report as node data."""
from __future__ import annotations

from typing import Any

from model_explorer import (
    Adapter,
    AdapterMetadata,
    GetConfigEditorsResult,
    ModelExplorerGraphs,
    NodeDataProvider,
    NodeDataProviderFilter,
    NodeDataProviderMetadata,
    NodeDataProviderResult,
)
from model_explorer.graph_builder import Graph

from .._command import CommandError
from .._errors import CompileError
from ._files import opened
from ._graphs import graph_of
from ._node_data import node_data_of

ADAPTER = "corten"


class CortenAdapter(Adapter):
    """One graph for each file: the exported operators of a .pt2, the steps of a .corten."""

    metadata = AdapterMetadata(
        id=ADAPTER,
        name="Corten",
        description="A .pt2 as Corten reads it, or the steps of a .corten program",
        fileExts=["pt2", "corten"],
    )

    def convert(self, model_path: str, settings: dict[str, Any]) -> ModelExplorerGraphs:
        """Raises CommandError or CompileError, whose text Model Explorer shows, where the file is refused."""
        return {"graphs": [graph_of(opened(model_path))]}


class CortenNodeData(NodeDataProvider):
    """Figures of each node, for files that `corten view` did not open (there they are shown from the start)."""

    metadata = NodeDataProviderMetadata(
        id="corten_node_data",
        name="Corten's figures",
        description="Cycles, MACs, bytes and SQNR of each step, from the report.json beside the .corten",
        icon="speed",
        filter=NodeDataProviderFilter(adapterIds=[ADAPTER]),
    )

    def get_config_editors(self, provider_id: str) -> GetConfigEditorsResult:
        return GetConfigEditorsResult(configEditors=[])

    def run(
        self, provider_id: str, model_path: str, graph_id: str, config_values: dict[str, Any], graph: Graph | None
    ) -> NodeDataProviderResult:
        try:
            data = node_data_of(opened(model_path))
        except (CommandError, CompileError) as error:
            return NodeDataProviderResult(error=str(error))
        if not data:
            return NodeDataProviderResult(error="there are no figures: no report.json of this program lies beside it")
        return NodeDataProviderResult(result=data)
