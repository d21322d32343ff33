"""The notebooks of the docs run from start to end, and show what their text speaks of.

They are kept without outputs: these are made when the pages are built.
"""

import nbclient
import nbformat
import numpy as np
import pytest

from tests.helpers import ROOT

NOTEBOOKS = ROOT / "docs" / "notebooks"


def shown(book):
    """What each cell of code shows: its outputs, by their types."""
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    assert not any(out.get("name") == "stderr" for cell in cells for out in cell.outputs)
    return [
        {
            kind: "".join(data)
            for out in cell.outputs
            for kind, data in out.get("data", {"text": out.get("text", "")}).items()
        }
        for cell in cells
    ]


def explains(cells):
    slopes, difference, report, text, error = cells
    weights, offset = eval(slopes["text/plain"], {"array": np.array})
    assert np.isclose(offset, float(difference["text/plain"].strip("np.float64()")), rtol=1e-6)

    x, seen = np.array([[0.2, 0.3], [0.5, 0.6], [0.9, 0.4], [0.7, 0.8]]), np.array([0, 0, 1, 1])
    probability = 1 / (1 + np.exp(-(x @ [1.0, -1.0] - 0.2)))
    np.testing.assert_allclose(weights, (probability - seen) @ x / 4, rtol=1e-6)
    assert "matmul" in report["text/html"]
    assert "numpy.logaddexp" in text["text"]
    assert error["text"].startswith("LostValueError: float(text)")


def fits(cells):
    _, bar, fit, values, history, picture = cells
    assert "evaluations" in "".join(bar.values())
    assert fit["text/plain"].startswith("(True, ")
    cup, slow = map(float, values["text"].rpartition("[")[2].rstrip("]\n").split())
    assert abs(cup - 9) < 1
    assert abs(slow - 1.5) < 0.3
    assert "image/png" in history
    assert "image/png" in picture


SHOWS = {"explain": explains, "fit": fits}


def test_every_notebook_is_tested():
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(SHOWS)


@pytest.mark.parametrize("name", SHOWS)
def test_notebook(name, monkeypatch):
    monkeypatch.delenv("MPLBACKEND", raising=False)  # the kernel's own backend shows the pictures
    book = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in book.cells)
    nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": ROOT}}).execute()
    SHOWS[name](shown(book))
