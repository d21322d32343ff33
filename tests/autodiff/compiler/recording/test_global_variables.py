"""Global variables that differ from call to call: inputs of a program, bound in no globals."""

import json
import sys
import threading

import numpy as np
import pytest

from autodiff import compile, gradient
from autodiff.compiler import call_recording
from tests.helpers import ROOT, module_of

W = np.array([0.3, -0.2, 0.5])


@pytest.fixture(autouse=True)
def _other_threads(monkeypatch):
    monkeypatch.setattr(call_recording, "_is_only_thread", lambda: False)


def made_in(text):
    return vars(module_of("import numpy as np\nRATE, N = 0.5, 2\n" + text))


READERS = {
    "name": "def f(w):\n    return np.sum(w * w) * RATE / (N + 1)\n",
    "helper": (
        "def g(v):\n    return v * RATE\n\ndef f(w):\n    return np.sum(g(w) * w) + N * w[0]\n"
    ),
    "nested": "def f(w):\n    def g(v):\n        return v * RATE\n\n    return np.sum(g(w) * w)\n",
    "lambda": "def f(w):\n    return sum(map(lambda v: v * RATE, w * w))\n",
    "comprehension": "def f(w):\n    return sum([RATE * v * v for v in w]) * N\n",
    "class": (
        "class C:\n    def __init__(self, w):\n        self.w = w * RATE\n\n"
        "    @property\n    def twice(self):\n        return 2.0 * self.w * N\n\n"
        "    def __add__(self, v):\n        return self.w + v * RATE\n\n"
        "def f(w):\n    return np.sum(C(w) + w) + np.sum(C(w).twice)\n"
    ),
    "same name inside": (
        "def g(v, RATE):\n    return v * RATE\n\n"
        "def h(v):\n    N = 3.0\n    return v * N * RATE\n\n"
        "def f(w):\n    return np.sum(g(w, 2.0)) + np.sum(h(w))\n"
    ),
    "attribute": ("class C:\n    RATE = 3.0\n\ndef f(w):\n    return np.sum(w * C.RATE) * RATE\n"),
    "array": "def f(w):\n    return np.sum(np.tanh(w * RATE * np.ones(3))[: N % 3 + 1])\n",
    "condition": "def f(w):\n    return np.sum(w) if RATE > 1.0 else np.sum(w * w)\n",
    "default": "def f(w, k=lambda v: v * RATE):\n    return np.sum(k(w))\n",
}
"""Functions that read RATE and N in several ways."""


@pytest.mark.parametrize("name", READERS)
def test_one_program_serves_all_values(name):
    space = made_in(READERS[name])
    f = space["f"]
    compiled = compile(lambda w: gradient(f, w, argnums=0), backend="python")
    for k in range(12):
        space["RATE"], space["N"] = 0.25 * k, k
        expected = gradient(f, W, argnums=0)
        np.testing.assert_allclose(compiled(W), expected, rtol=1e-12)
        assert type(space["RATE"]) is float
    assert compiled.variants <= (6 if name == "array" else 4)  # branches and lengths differ


HIDDEN = {
    "attribute of the module": (
        "import sys\nme = sys.modules[__name__]\n\ndef f(w):\n    return np.sum(w * me.RATE)\n"
    ),
    "both": (
        "import sys\nme = sys.modules[__name__]\n\n"
        "def f(w):\n    return np.sum(w * me.RATE) * RATE\n"
    ),
    "bound in a branch": (
        "def g(v, go=False):\n    if go:\n        RATE = 1.0\n    return v\n\n"
        "def f(w):\n    return np.sum(g(w)) * RATE\n"
    ),
    "integral": (
        "from scipy.integrate import quad\n\n"
        "def f(w):\n    return quad(lambda t: t * RATE, 0.0, 1.0)[0] * np.sum(w)\n"
    ),
    "integral of a traced value": (
        "from scipy.integrate import quad\n\n"
        "def f(w):\n    return quad(lambda t: t * RATE * w[0], 0.0, 1.0)[0] * np.sum(w)\n"
    ),
    "a cache": (
        "import functools\n\n@functools.cache\ndef g(n):\n    return n * 2.0\n\n"
        "def f(w):\n    return np.sum(w) * g(N) * RATE\n"
    ),
    "deleted": "def f(w):\n    return np.sum(w * w) * RATE\n",
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_is_read_in_another_way(name):
    """There may be more programs, or none, but the gradient is right."""
    space = made_in(HIDDEN[name])
    f = space["f"]
    compiled = compile(lambda w: gradient(f, w), backend="python")
    for k in range(8):
        space["RATE"], space["N"] = 0.25 * k, k % 3
        np.testing.assert_allclose(compiled(W), gradient(f, W), rtol=1e-12)
    if name == "deleted":
        del space["RATE"]
        with pytest.raises(NameError):
            compiled(W)


def test_a_program_that_reads_the_variable():
    """A function that runs by a program from its source reads the globals themselves."""
    text = (
        "def g(v):\n    s = 0.0\n    for i in range(4000):\n"
        "        s = s + v * RATE * 1e-3\n    return s\n\n"
        "def f(w):\n    return gradient(g, 2.0) * np.sum(w) + np.sum(w) * RATE\n"
    )
    space = made_in(text)
    space["gradient"] = gradient
    f = space["f"]
    compiled = compile(lambda w: gradient(f, w), backend="python")
    for k in range(6):
        space["RATE"] = 0.25 * (k + 1)
        np.testing.assert_allclose(compiled(W), np.full(3, 5.0 * space["RATE"]), rtol=1e-9)


NOTEBOOK = """
import sys
sys.path[:0] = [{root!r}]
import numpy as np
from autodiff import compile, gradient, autocompile
from autodiff.autocompile import call_records
for name, value in {{"enabled": True, "calls": 4, "seconds": 0.0, "loading": 0.0}}.items():
    setattr(call_records.Settings, name, value)
call_records.STALL = 60.0

def scaled(w):
    return w * rate

def loss(w):
    return np.sum(scaled(w) * X) / (i + 1)

seen = set()
"""
LOOP = """
import threading
stop = []
def look():
    while not stop:
        seen.add(type(globals().get("rate", 0.0)))
threading.Thread(target=look).start()
for i in range(200):
    rate, X = 0.5 * i, np.arange(3.0) + i
    g = gradient(loss, np.ones(3))
    np.testing.assert_allclose(g, X * rate / (i + 1))
stop.append(1)
hits = max(record.hits for record in call_records.records.values())
print(hits > 150, seen == {float}, max(len(r.variants) for r in call_records.records.values()))
"""


def test_loop_in_a_notebook(tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    cells = [NOTEBOOK.format(root=str(ROOT)), LOOP]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    resources = {"metadata": {"path": str(tmp_path)}}
    done = nbclient.NotebookClient(book, timeout=120, resources=resources).execute()
    texts = [o["text"] for o in done.cells[1].outputs if o.get("name") == "stdout"]
    assert texts == ["True True 2\n"], json.dumps(done.cells[1].outputs)[:2000]


def test_two_threads_record_at_once():
    """Each has its own values for the variables of the other."""
    interval, errors = sys.getswitchinterval(), []
    spaces = [made_in(READERS["helper"]) for _ in range(2)]
    shared = made_in(READERS["class"])

    def run(space):
        f, g = space["f"], shared["f"]
        compiled = compile(lambda w: gradient(f, w) + gradient(g, w), backend="python")
        for k in range(12):
            space["RATE"] = 0.25 * k
            x = np.ones(3) * (k + 1)
            wanted = 2 * x * space["RATE"] + np.array([space["N"], 0, 0]) + gradient(g, x)
            if not np.allclose(compiled(x), wanted):
                errors.append(k)

    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=run, args=(space,)) for space in spaces]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not errors
