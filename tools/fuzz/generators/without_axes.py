"""Programs of numbers and arrays without axes, which NumPy turns into each other.

``z = np.zeros(())`` is an array, ``z * 2.0`` a number, and ``z[...]`` a view. The argument is a
number of Python's or NumPy's or such an array. Variables hold either, depending on branches, and
numbers are sometimes integers. A loop that is traced adds cotangents of both kinds; its source is
read at the first call, as with the generator ``loops``.
"""

from __future__ import annotations

import random

HEADER = """\
import numpy as np

from autodiff.structured import calls

calls.Settings.worth = calls.Settings.least = -1.0


def halved(v, n):
    return v * (n and 0.5)


def kernel(x, a, n):
    s, t = x * 0.3, a[0] * 1.0
    w, z = x, np.zeros(())
    for i in range({turns}):
{body}
    return s * t + w + z * 0.5 + np.sum(a)


def program(x, a):
    return np.sum(kernel(x, a * 1.0, {n}) * 1.0)


ARGUMENTS = ({x}, np.array([0.4, -0.7, 1.1]))
ARGNUMS = (0, 1)
"""

_VALUES = (
    "x", "x", "s", "t", "w", "z", "a[i % 3]", "x * x", "halved(x, n)", "halved(w, i)", "np.sin(s)",
    "x * (n if i else 0.25)", "t * (i or 0.5)", "w * (1 if n > i else 0.5)", "np.float64(0.5)",
    "np.array(0.5)", "(x if i else s)", "np.sum(a) * 0.3", "z[()]", "np.asarray(s)",
)  # fmt: skip
_STATEMENTS = (
    "s = s * 0.5 + {0}",
    "s = s * 0.5 + {0} + {1} * 0.1",
    "t = t * 0.5 + {0} * {1} * 0.3",
    "t = t * 0.5 + {0} * x * 0.5 + {1}",
    "z = np.zeros(()); z[...] = {0}",
    "z = np.array({0}) * 1.0",
    "z = np.array({0}); w = z",
    "w = {0} * 1.0",
    "w = z[...]",
    "w = x",
    "z[...] = {0}",
    "z[()] += {0} * 0.5",
    "z = z + {0} * 0.5",
    "s += {0} * 0.3",
    "a[i % 3] = {0}",
    "a = a * 0.5 + {0} * 0.2",
    "if {0} > 0.2: s = s * {1}",
    "if i % 2: w = {0} * 0.5",
    "s, t = t * 0.6, s * 0.6",
    "s = np.tanh(s); t = np.tanh(t)",
)


def write(seed: int) -> str:
    """Return the program of a seed."""
    rng = random.Random(seed)
    lines = []
    for _ in range(rng.randint(2, 7)):
        values = rng.choice(_VALUES), rng.choice(_VALUES)
        lines += rng.choice(_STATEMENTS).format(*values).split("; ")
    if rng.random() < 0.5:
        lines.insert(0, "z = np.zeros(())")
        lines.insert(1, "z[...] = x")
    x = rng.choice(("0.6", "0.6", "np.float64(0.6)", "np.array(0.6)", "np.array(0.6)"))
    body = "\n".join("        " + line for line in lines)
    return HEADER.format(turns=rng.randint(2, 4), body=body, n=rng.choice((0, 1, 2)), x=x)
