"""Results that depend on an argument only through comparisons: roots and minima found by search.

The class: bisection, golden section, grid search, counting and stepping between constants. What
comes out moves with the argument, but by comparisons alone, so that no path leads from the one to
the other and the derivative would be 0 without a word. Right is the derivative, or
`autodiff.NoPathWarning`. (One argument at a time: forward mode gives all of them one tangent, and
cannot tell which of them has a path.)

The warning is the point: whoever judges these programs has to make it an error, by
``warnings.simplefilter("error", autodiff.NoPathWarning)`` after every other filter, and take it for
the outcome "error".
"""

from __future__ import annotations

import random

IMPORTS = """\
import functools
import math
import operator

import numpy as np
"""

# An argument, and numbers between 0 and 4 that are made of it.
ARGUMENTS = {
    "{number}": ("x0", "x0 * x0 / 3", "math.sqrt(x0)", "np.exp(-x0)", "abs(x0)"),
    "np.float64({number})": ("x0", "np.log1p(x0)", "x0.item()"),
    "np.array([{number}, {number}])": ("x0[0]", "np.mean(x0)", "x0.max()", "x0 @ x0 / 9"),
    "np.array({number})": ("x0", "x0[()]", "x0 / 2"),
    "[{number}, {number}]": ("x0[1]", "sum(x0) / 2", "math.hypot(*x0) / 2"),
    "{{'a': {number}, 'b': {number}}}": ("x0['a']", "x0['a'] * x0['b'] / 4"),
    "np.array([{number}, {number}], dtype=np.float32)": ("x0[0]", "np.sum(x0) / 2"),
}  # fmt: skip
# Whether m is too large, for the target t.
TOO_LARGE = (
    "{m} > {t}", "{t} < {m}", "not {m} <= {t}", "{m} * {m} > {t} * {t}", "{m} - {t} > 0",
    "math.exp({m}) >= math.exp({t})", "bool({m} > {t}) is not False", "bool({m} > {t})",
    "np.all({m} > {t})", "np.greater({m}, {t})", "(np.array([{m}, {m}]) > {t}).all()",
    "np.any(np.array([{m}]) > {t})", "operator.gt({m}, {t})", "max({m}, {t}) == {m}",
    "min([{t}, {m}]) != {m}", "sorted([{m}, {t}])[0] < {m}", "np.sign({m} - {t}) > 0",
    "any([{m} > {t}, False])", "(lambda d: d > 0)({m} - {t})", "{t} - {m} < 0 or False",
    "(True if {m} > {t} else False)", "abs({m} - {t}) > 0 and {m} > {t}", "{m} >= {t} and True",
    "len([v for v in [{m}] if v > {t}]) == 1", "[{m} > {t}][0]", "({t}).__lt__({m})",
    "np.maximum({m}, {t}) > {t}",
    "not np.isclose({m}, {t}) and {m} > {t}", "next(v > {t} for v in [{m}])",
)  # fmt: skip
SEARCHES = (
    """
def search(t):
    a, b = 0.0, 4.0
    for _ in range(60):
        m = (a + b) / 2
        if {above}:
            b = m
        else:
            a = m
    return (a + b) / 2
""",
    """
def search(t):
    a, b = 0.0, 4.0
    while b - a > 1e-13:
        m = 0.5 * (a + b)
        above = {above}
        a, b = (a, m) if above else (m, b)
    return a
""",
    """
def search(t, a=0.0, b=4.0, depth=0):
    m = (a + b) / 2
    if depth == 55:
        return m
    return search(t, a, m, depth + 1) if {above} else search(t, m, b, depth + 1)
""",
    """
class Bracket:
    def __init__(self):
        self.a, self.b = 0.0, 4.0

    def narrow(self, t):
        m = (self.a + self.b) / 2
        if {above}:
            self.b = m
        else:
            self.a = m


def search(t):
    bracket = Bracket()
    for _ in range(60):
        bracket.narrow(t)
    return bracket.a
""",
    """
def search(t):
    m, step = 0.0, 2.0
    while step > 1e-14:
        if {above}:
            m -= step
        else:
            m += step
        step /= 2
    return m
""",
    """
def search(t):
    def is_above(m):
        return {above}

    def halved(ends, _):
        a, b = ends
        m = (a + b) / 2
        return (a, m) if is_above(m) else (m, b)

    return functools.reduce(halved, range(60), (0.0, 4.0))[0]
""",
    """
def search(t):
    ends = np.array([0.0, 4.0])
    for _ in range(60):
        m = ends.mean()
        ends[int(bool({above}))] = m
    return ends[0]
""",
    """
def search(t):
    ends = np.array([0.0, 4.0])
    for _ in range(60):
        m = ends.mean()
        ends[int({above})] = m
    return ends[0]
""",
    """
def search(t):
    a, b = 0.0, 4.0
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(80):
        c, d = b - ratio * (b - a), a + ratio * (b - a)
        m = (c + d) / 2
        if {above}:
            b = d
        else:
            a = c
    return (a + b) / 2
""",
)
USES = (
    "s", "s * 2.0", "s ** 2", "np.sin(s)", "s + np.sum(np.ones(2))", "math.exp(-s)", "[s][0]",
    "np.sum(np.array([s, 1.0]))", "float(s)", "s + 0.0 * 3", "max(s, 0.0)",
)  # fmt: skip


def write(seed: int) -> str:
    """Return the source of the program of a seed."""
    rng = random.Random(seed)
    text = rng.choice([*ARGUMENTS])
    target = rng.choice(ARGUMENTS[text])
    while "{number}" in text:
        text = text.replace("{number}", repr(round(rng.uniform(0.4, 2.4), 3)), 1)
    text = text.replace("{{", "{").replace("}}", "}")
    above = rng.choice(TOO_LARGE).format(m="m", t="t")
    search = rng.choice(SEARCHES).format(above=above)
    return (
        f"{IMPORTS}\n{search}\n\ndef program(x0):\n    s = search({target})\n"
        f"    return {rng.choice(USES)}\n\n\nARGUMENTS = ({text},)\n"
    )
