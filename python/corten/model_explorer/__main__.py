"""`corten view`: Model Explorer's server, showing one file with its figures."""
from __future__ import annotations

import argparse
import os
import socket
import sys
from typing import Any

EXTENSION = "corten.model_explorer"


def main() -> int:
    parser = argparse.ArgumentParser(prog="corten view", allow_abbrev=False)
    parser.add_argument("file")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int)
    parser.add_argument("--no-open", action="store_true")
    options = parser.parse_args()
    try:
        return _view(options)
    except KeyboardInterrupt:
        return 130


def _view(options: argparse.Namespace) -> int:
    from .._command import CommandError
    from .._core import Code
    from .._errors import CompileError

    # Where torch is installed Model Explorer imports it, which takes seconds, and puts its own reader of .pt2 before ours.
    sys.modules.setdefault("torch", None)  # type: ignore[arg-type]
    try:
        import model_explorer
    except ImportError as error:
        return _fail(CompileError(Code.no_tool, f"Model Explorer cannot be imported: {error}", 'pip install "corten[view]"'))
    try:
        path = os.path.abspath(options.file)
        config = _config(os.path.join(path, "model.corten") if os.path.isdir(path) else path)
    except (CommandError, CompileError) as error:
        return _fail(error)
    try:
        socket.create_server((options.host, options.port or 0)).close()
    except OSError as error:
        place = options.host if options.port is None else f"{options.host}:{options.port}"
        what = f"cannot listen on {place}: {error.strerror}"
        return _fail(CompileError(Code.system, what, "give another --port or --host, or neither"))
    _keep_off_the_network(options.host)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    model_explorer.visualize_from_config(  # returns after Ctrl-C
        config,
        host=options.host,
        port=options.port or 8080,  # it takes the next free port by itself
        extensions=[EXTENSION],
        no_open_in_browser=options.no_open,
    )
    return 130


def _config(path: str) -> Any:
    import model_explorer
    from model_explorer.node_data_builder import GraphNodeData, ModelNodeData

    from ._files import opened
    from ._graphs import graph_of
    from ._node_data import node_data_of
    from .main import ADAPTER

    file = opened(path)
    graph = graph_of(file).id
    config = model_explorer.config().add_model_from_path(path, adapterId=ADAPTER)
    names = [data.name for data in node_data_of(file)]
    for name in names:
        config.add_node_data(name, "")

    def figures(index: int) -> str:
        """Read again, as the graph is, whenever the page is loaded: the file may have been compiled anew."""
        data = {d.name: d for d in node_data_of(opened(path))}
        known = data.get(names[index], GraphNodeData(name=names[index], results={}))
        return ModelNodeData(graphsData={graph: known}).to_json_string()

    config.get_node_data = figures
    return config


def _keep_off_the_network(host: str) -> None:
    """No question to PyPI about newer versions, which may hang; and the server is asked without a proxy."""
    from model_explorer import server

    server._check_new_version = lambda print_msg=True: {"version": "", "runningVersion": "", "releaseUrl": "", "desktopAppUrl": ""}
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = ",".join(filter(None, [os.environ.get("no_proxy"), host]))


def _fail(error: Exception) -> int:
    print(error, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
