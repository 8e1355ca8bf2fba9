"""Every notebook runs from top to bottom and is committed with outputs."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def name_of(path):
    return path.name


def outputs_of(notebook):
    """All outputs of a notebook, as `(kind, text)`."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                yield output.name, output.text
            elif output.output_type == "error":
                yield "error", output.evalue
            else:
                yield from output.data.items()


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_notebook_is_committed_with_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    counts = [
        cell.execution_count
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    kinds = [kind for kind, _ in outputs_of(notebook)]

    assert counts == list(range(1, len(counts) + 1)), "run it top to bottom"
    assert "image/png" in kinds
    assert "error" not in kinds
    assert "stderr" not in kinds, "clear the start-up chatter"


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    monkeypatch.setenv("KERAS_ALBERT_NOTEBOOK_FAST", "1")
    # The kernel draws into the notebook only if nobody chose a backend.
    monkeypatch.delenv("MPLBACKEND", raising=False)
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, resources={"metadata": {"path": str(tmp_path)}}
    )

    client.execute()

    outputs = list(outputs_of(notebook))
    text = "\n".join(text for _, text in outputs)
    pictures = [kind for kind, _ in outputs if kind == "image/png"]
    assert "val_masked_lm_loss" in text
    assert "P(swapped)" in text
    assert "| positive |" in text or "| negative |" in text
    assert len(pictures) == 2
    assert (tmp_path / "albert_notebook/served/reviews/1").is_dir()
