"""What a notebook runs has its source: in a real kernel, cell by cell."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import autodiff
from tests.helpers import ROOT, module_from, one_in

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")


CELLS = [
    (
        "import math\nimport sys\n"
        f"sys.path[:0] = [{str(ROOT)!r}, '.']\n"
        "import numpy as np\nfrom autodiff import gradient\n\n"
        "def f(x):\n    try:\n        return math.sqrt(x)\n    except Exception:\n"
        "        return 0.0\n\n"
        "def kind(x):\n    return x * x if type(x) is float else x ** 3\n\n"
        "print(gradient(f, 0.25), gradient(kind, 2.0), gradient(lambda x: math.sin(x), 0.0))",
        "1.0 4.0 1.0",
    ),
    (
        "%%time\nimport math\ndef g(x):\n    return math.sqrt(x)\nprint(gradient(g, 0.25))",
        "1.0",
    ),
    (
        "async def nothing():\n    return 1\nawait nothing()\n"
        "with np.errstate(all='ignore'):\n    import math as m\n    def h(x):\n"
        "        return m.sqrt(x)\nprint(gradient(h, 0.25))",
        "1.0",
    ),
    (
        "import pathlib, time\n"
        "def save(text):\n    pathlib.Path('notebook_module.py').write_text(text)\n"
        "save('import math\\n\\n\\ndef k(x):\\n    return math.sqrt(x)\\n')\n"
        "import notebook_module\nprint(gradient(notebook_module.k, 0.25))",
        "1.0",
    ),
    (
        "%load_ext autoreload\n%autoreload 2\ntime.sleep(1.1)\n"
        "save('import math\\n\\n\\n\\n\\ndef k(x):\\n    return math.sqrt(x) * 3\\n')\n",
        "",
    ),
    ("print(gradient(notebook_module.k, 0.25))", "3.0"),
]


def run(cells: list[str], folder: Path) -> list[str]:
    """Run cells in a kernel of their own, and return what each of them has printed."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources=resources
    ).execute()
    return [
        "".join(o.get("text", "") for o in cell.outputs if o.get("name") == "stdout")
        for cell in notebook.cells
    ]


def test_cells(tmp_path: Path) -> None:
    printed = run([text for text, _ in CELLS], tmp_path)
    for found, (_, expected) in zip(printed, CELLS, strict=True):
        assert expected in found


# What a cell prints of the programs that the cell before has defined: as they are in a file.
ASK = """
import json as _json
def _outcome(f, x):
    try:
        f(np.array(x, float))
    except RuntimeError as error:  # asyncio.run, where a loop is running
        return None
    try:
        with np.errstate(all="ignore"):
            value, slope = _autodiff.value_and_gradient(f, np.array(x, float))
        return [float(value), np.asarray(slope).tolist()]
    except Exception as error:
        return type(error).__name__
print("RESULT" + _json.dumps({f.__name__: _outcome(f, x) for f, x in PROGRAMS}))
"""
START = f"""
import sys, warnings
sys.path[:0] = [{str(ROOT)!r}]
warnings.simplefilter("ignore")
import autodiff as _autodiff
"""


@pytest.mark.filterwarnings("ignore")
def test_programs_are_in_cells_what_they_are_in_files(tmp_path: Path) -> None:
    paths = [p for p in sorted((ROOT / "tests/programs").glob("*.py")) if "test_" not in p.name]
    paths = paths[:: one_in(8)]
    sources = [path.read_text(encoding="utf-8") for path in paths]
    cells = [START, *[cell for source in sources for cell in (source, ASK)]]
    printed = run(cells, tmp_path)
    compared = 0
    for path, text in zip(paths, printed[2::2], strict=True):
        results = json.loads(text.rpartition("RESULT")[2])
        for f, x in module_from(path, f"in_file_{path.stem}").PROGRAMS:
            with np.errstate(all="ignore"):
                value, slope = autodiff.value_and_gradient(f, np.array(x, float))
            found = results[f.__name__]
            if found is None:
                continue
            assert not isinstance(found, str), (f.__name__, found)
            np.testing.assert_allclose(found[0], value, rtol=1e-12)
            np.testing.assert_allclose(found[1], slope, rtol=1e-9, atol=1e-12)
            compared += 1
    assert compared > 450 / one_in(8) - 20
