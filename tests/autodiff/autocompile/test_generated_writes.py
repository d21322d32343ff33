"""Random functions that write into what is theirs or comes from outside, by any name.

Each call gives what tracing gives, and afterwards everything outside holds what it holds then.
"""

import random

import numpy as np
import pytest

from autodiff import gradient
from tests.autodiff.autocompile.generated import check_generated
from tests.helpers import define

NAMES = ("t", "u", "held")
SOURCES = (
    "[1.0, 2.0]", "ROWS[0]", "ROWS[i % 2]", "TABLE['a']", "TABLE.get('b', [3.0])", "[*ROWS[1]]",
    "list(c)", "c", "BOX.items", "Box().items", "[x[0], x[1]]", "t", "u", "held", "pick(i)",
    "TABLE.setdefault('a', [])", "[r[:] for r in ROWS][0]", "(ROWS[0], [1.0])[i % 2]",
    "[v for v in (ROWS[1], c)][0]", "copy.copy(ROWS[0])", "Box(ROWS[0]).items", "same(ROWS[0])",
)  # fmt: skip
WRITES = (
    "{n}[0] = x[0]", "{n}[0] = 2.5", "{n}[0] += x[1]", "{n}.append(1.5)", "{n}.append(x[0])",
    "{n}[-1] *= 2.0", "{n}.sort()", "{n}.append(0.0); {n}.pop()", "{n}[:] = [x[0], 1.0]",
    "{n} += [0.5]", "heapq.heappush({n}, 0.1)", "bisect.insort({n}, 0.7)", "{n}[0] = {n}[0]",
    "s += {n}[0] * x[1]", "s = s + len({n})", "s += sum({n})", "del {n}[1:]", "{n}.extend(u)",
    "fill({n}, x[0])", "Box({n}).touch()",
)  # fmt: skip
ARRAYS = (
    "a = SMALL", "a = LARGE", "a = SMALL[1:]", "a = LARGE[::2]", "a = SMALL.copy()", "a = x * 1.0",
    "a = np.zeros(3)", "a += 1.0", "a[0] = 4.0", "a[1:] *= 0.5", "a[0] += 1.0", "s += a[0]",
    "s += np.sum(a) * x[0]", "a[0] = x[1]", "a = same(LARGE)", "BOX.n += 1", "b = Box(); b.n += 2",
    "b = BOX; b.n = b.n", "s += BOX.n", "b = Box(); b.n = x[0]; s += b.n * x[1]",
)  # fmt: skip
PROGRAM = """
import bisect, copy, heapq
import numpy as np

class Box:
    def __init__(self, items=None):
        self.items = [0.5, 1.5] if items is None else items
        self.n = 1

    def touch(self):
        self.items[0] = self.items[0] + 1.0

ROWS = [[1.0, 2.0, 3.0], [0.5, 0.25]]
TABLE = {{"a": [1.0], "c": [2.0, 4.0]}}
SMALL = np.arange(4.0)
LARGE = np.ones(1000)
BOX = Box()

def pick(i):
    return ROWS[i % 2]

def same(v):
    return v

def fill(v, value):
    v[0] = value * 2.0

def program(x, c):
    s, a = x[0] * 1.0, np.zeros(3)
    t, u, held = [1.0], [2.0], [3.0, x[1]]
    for i in range({turns}):
        {body}
    return s + sum(t) + held[0] + np.sum(a)
"""


def _made(seed):
    rng = random.Random(seed)
    lines = []
    for _ in range(rng.randint(2, 8)):
        kind = rng.random()
        name = rng.choice(NAMES)
        if kind < 0.35:
            line = f"{name} = {rng.choice(SOURCES)}"
        elif kind < 0.75:
            line = rng.choice(WRITES).format(n=name)
        else:
            line = rng.choice(ARRAYS)
        lines.append(line if rng.random() < 0.8 else f"if x[0] > 0.5: {line}")
    text = PROGRAM.format(turns=rng.randint(1, 3), body="\n        ".join(lines))
    return text, define(text, f"<own {seed}>", {"__name__": f"own_{seed}"})


def _shown(x):
    if isinstance(x, np.ndarray):
        return x.tolist()
    if isinstance(x, (list, tuple)):
        return [_shown(v) for v in x]
    if isinstance(x, dict):
        return {key: _shown(v) for key, v in x.items()}
    return x if type(x) is int else str(x)  # a number that was traced shows its text


def _outcome(scope, call, argnums):
    x = np.array([0.3 + 0.1 * (call % 4), 1.2])
    c = [0.5, 1.5, 2.5]
    try:
        slope = gradient(scope["program"], x, c, argnums=argnums)
        slope = slope.tolist() if argnums == 0 else [slope[0].tolist(), slope[1]]
    except Exception as error:
        slope = type(error).__name__
    box = scope["BOX"]
    outside = [_shown(scope[n]) for n in ("ROWS", "TABLE", "SMALL", "LARGE")]
    return [slope, _shown(c), *outside, _shown(box.items), box.n]


@pytest.mark.parametrize("first", range(0, 32, 8))
def test_writes_happen_once_at_each_call(first, soon):
    check_generated(range(first, first + 8), range(7), _made, _outcome)
