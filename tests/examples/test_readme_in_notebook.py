"""The README's blocks, pasted into the cells of a notebook as they are, prompts and all."""

import re

import nbclient
import nbformat

from tests.helpers import ROOT


def test_readme_in_a_notebook():
    blocks = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.M | re.S
    )
    # An example has its output below it, which nobody pastes.
    cells = [
        "\n".join(line for line in block.splitlines() if line.startswith((">>>", "...")))
        for block in blocks
    ]
    assert len(cells) == 2
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    done = nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": ROOT}})
    done.execute()
    shown = book.cells[0].outputs[-1]["data"]["text/plain"]
    assert shown.startswith("-0.7914")
