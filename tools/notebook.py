#!/usr/bin/env python3
"""Makes the notebook beside a script in jupytext's percent format: runs all of it, and keeps the outputs.

Run: build/venv/bin/python tools/notebook.py examples/keyword_spotting/tutorial.py
"""
import re
import sys
import tempfile
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

KERNEL_FILE = re.compile(r"(?:\.\./)*/?tmp/ipykernel_\d+/\d+\.py")  # what IPython calls a cell
SECONDS = 600


def unrun(script: Path) -> nbformat.NotebookNode:
    """The notebook without outputs."""
    notebook = jupytext.read(script)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # not random ones
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    return notebook


def run(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Runs it in an empty folder; an error in a cell raises."""
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": folder}}).execute()
    return notebook


def clean(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Without times, warnings and this machine's paths."""
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
            for output in cell.outputs:
                for holder, key in [(output, "text"), *((output.get("data", {}), k) for k in ("text/plain", "text/html"))]:
                    if key in holder:
                        holder[key] = without_paths(holder[key])
    return notebook


def without_paths(text: str) -> str:
    return KERNEL_FILE.sub("cell", text)


def main() -> None:
    for script in map(Path, sys.argv[1:]):
        nbformat.write(clean(run(unrun(script))), script.with_suffix(".ipynb"))


if __name__ == "__main__":
    main()
