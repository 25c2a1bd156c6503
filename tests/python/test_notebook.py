"""The notebook of the docs runs from its first cell to its last."""

import json
from pathlib import Path

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "notebook.ipynb"


def test_the_notebook_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(NOTEBOOK.parent)
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    try:
        import ipykernel  # noqa: F401
        import nbformat
        from nbclient import NotebookClient
    except ImportError:  # its cells alone, without a kernel
        names = {}
        for cell in json.loads(NOTEBOOK.read_text())["cells"]:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
        return
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    html = [output.data["text/html"] for cell in notebook.cells if cell.cell_type == "code"
            for output in cell.outputs if "text/html" in getattr(output, "data", {})]
    assert len(html) >= 4 and all(text.startswith("<table>") for text in html)
