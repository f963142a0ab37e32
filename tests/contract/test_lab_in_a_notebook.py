"""The rooms of the lab in a notebook: executed headless, as JupyterLab would."""

import pytest

pytest.importorskip("panel")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
nbformat = pytest.importorskip("nbformat")

CELLS = (
    "import panel as pn, cotas\npn.extension(inline=True)",
    'room = cotas.lab.Boundary(link={"model": "LinearSVM", "data": "groups", "lam": "1"})\nroom',
    'room.set("lam", 0.1)\nroom.move(0, 10.0, 20.0)\nroom.answer.model.certificate_.verify('
    "room.points.X, room.points.y), room.answer.model.lam",
)


def test_a_room_shows_itself_and_answers():
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    book = nbformat.v4.new_notebook(cells=cells)
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "", "language": "python"}
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    shown = [output for output in book.cells[1].outputs if "data" in output]
    assert any("text/html" in output["data"] for output in shown)
    assert book.cells[2].outputs[-1]["data"]["text/plain"] == "(True, 0.1)"
