"""The progress bar in a real kernel."""

from __future__ import annotations

import pytest

from tests.helpers import ROOT

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("rich")

CELL = f"""
import sys
sys.path[:0] = [{str(ROOT)!r}]
import numpy as np
from autodiff.optimize import minimize
result = minimize(lambda p: np.sum((p["a"] - 1) ** 2), {{"a": np.zeros(2)}}, progress=True)
"""


def test_the_bar_is_shown(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources=resources
    ).execute()
    outputs = notebook.cells[0].outputs
    assert "|gradient|" in str(outputs)
    assert "Warning" not in str(outputs)
