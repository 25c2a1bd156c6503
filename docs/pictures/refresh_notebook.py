#!/usr/bin/env python3
"""Runs the notebook and keeps what its cells show, without the reports behind tables and folders of this machine.

usage: PYTHONPATH=BUILD/cli/python python3 docs/pictures/refresh_notebook.py
"""

import json
import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]


def main():
    """Writes docs/notebook.ipynb again."""
    os.chdir(ROOT / "docs")
    path = Path("notebook.ipynb")
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" in data:
                table, end, _ = data["text/html"].partition("</table>")
                data["text/html"] = table + end
    text = nbformat.writes(notebook).replace(json.dumps(f"{ROOT}/")[1:-1], "")
    path.write_text(text + "\n")


main()
