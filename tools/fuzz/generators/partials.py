"""Programs over elementwise functions: kinds of arguments x ways of writing partial derivatives.

What the engine knows of a partial derivative (which parameters it reads, whether it returns one as
it is, whether it is arithmetic alone) decides what is kept for the pullback and what code is
written. Here a function is given its rule in one of the ways in which people write partials, or is
one of NumPy's, and is called with each pair of kinds of values (float, number of NumPy's, array
without axes, vector, column, matrix, constants of them), with one value twice, on values that are
written into later, and in sums of Python's. `tools.fuzz.writer` has the operations, not the rules.
"""

from __future__ import annotations

import random

HEADER = """\
import math
import operator

import numpy as np

from chainrules_core import scalar_rule

GAIN = 1.0


def same(t):
    return GAIN * t


"""

# A function of two arguments, and the ways to write its partial derivatives.
FUNCTIONS: list[tuple[str, list[str], list[str]]] = [
    ("x * z", ["z", "z * 1.0", "same(z)", "+z", "GAIN * z"],
     ["x", "1 * x", "(y, x)[1]", "same(x)"]),
    ("x / (z + 3.0)", ["1 / (z + 3.0)", "same(1.0 / (z + 3.0))"],
     ["-y / (z + 3.0)", "-x / (z + 3.0) ** 2"]),
    ("np.sin(x) * z", ["np.cos(x) * z", "same(np.cos(x) * z)"], ["np.sin(x)", "same(np.sin(x))"]),
    ("np.exp(x) + z", ["np.exp(x)", "y - z", "same(y) - z"], ["1.0", "1", "GAIN", "x * 0 + 1.0"]),
    ("x - 2.0 * z", ["1", "1.0", "GAIN"], ["-2.0", "-2", "-(1 + 1)"]),
    ("np.tanh(x + z)", ["1 - y * y", "1.0 - y**2", "same(1 - y * y)"],
     ["1 - y * y", "-(y * y - 1)"]),
    ("x * x * z", ["2 * x * z", "x * z + z * x"], ["x * x", "np.square(x)", "x**2"]),
    ("np.maximum(x, 0.25 * z)", ["np.where(x > 0.25 * z, 1.0, 0.0)", "x > 0.25 * z"],
     ["np.where(x > 0.25 * z, 0.0, 0.25)", "0.25 * (x <= 0.25 * z)"]),
]  # fmt: skip

# How an expression becomes a partial derivative.
FORMS = [
    "lambda y, x, z: {0}",
    "lambda y, x, z, k=1.0: k * ({0})",
    "lambda y, x, z: ({0}) if x is not None else y",
    "lambda y, x, z: ({0}) if GAIN else x",
    "(lambda k: lambda y, x, z: k * ({0}))(1.0)",
    "lambda *values: (lambda y, x, z: {0})(*values)",
    "attempt(lambda y, x, z: {0})",
    "np.vectorize(lambda y, x, z: float({0}))",
]
WEIGHTS = [12, 2, 2, 2, 2, 1, 2, 1]

ATTEMPT = """\
def attempt(partial):
    def attempting(y, x, z):
        try:
            return partial(y, x, z)
        except ZeroDivisionError:
            return y

    return attempting


"""

NUMPY = [
    "np.maximum", "np.minimum", "np.hypot", "np.arctan2", "np.logaddexp", "np.multiply",
    "np.divide", "np.add", "np.subtract", "np.fmax", "operator.mul", "operator.sub",
]  # fmt: skip

ARGUMENTS = """\
ARGUMENTS = (
    {0},
    np.array([{1}, {2}, {3}]),
    np.array([[{4}], [{5}]]),
    np.array({6}),
)
"""

# The kinds of values that a function is called with; `a` to `d` are the arguments.
VALUES = [
    "a", "b", "c", "d", "b[0]", "b[1:]", "b[:1]", "c * b", "c.T", "b[:, None]", "float(1.5)",
    "np.float64(0.7)", "2", "np.array(1.25)", "np.array([0.5, 1.5, 2.5])", "(a * b)", "np.abs(b)",
    "d[()]", "np.float32(0.5)", "-b", "a * 2.0", "np.sum(b)",
]  # fmt: skip

WAYS = [
    "r = r + np.sum({f}({u}, {v}))",
    "t = {u}\nr = r + np.sum({f}(t, t) * 0.5)",
    "t = {f}({u}, {v}) * 1.0\nr = r + np.sum(t * t)\nt += 1.0\nr = r + np.sum(t)",
    "t = np.atleast_1d({u}) * 1.0\ns = {f}(t, {v})\nt *= 2.0\nr = r + np.sum(s) + 0.5 * np.sum(t)",
    "t = np.atleast_1d({u}) * 1.0\ns = {f}({v}, t)\nt[...] = 3.0\nr = r + np.sum(s * s)",
    "for i in range(3):\n    r = r * 0.5 + np.sum({f}({f}({u}, {v}), 0.5))",
    "r = r + sum([np.mean({f}({u}, {v})), 1.0, a, -1.0])",
    "r = {f}(r, {u}[0] if np.ndim({u}) == 1 else a)",
    "r = r + np.mean({f}({u}, {f}({v}, {u})))",
]  # fmt: skip


def rule(rng: random.Random, name: str) -> str:
    """Write a function with a rule."""
    body, *partials = rng.choice(FUNCTIONS)
    forms = [rng.choices(FORMS, WEIGHTS)[0].format(rng.choice(texts)) for texts in partials]
    text = f"def {name}(x, z):\n    return {body}\n\n\n"
    return text + f"scalar_rule({name}, {forms[0]}, {forms[1]})\n\n\n"


def write(seed: int) -> str:
    """Return the source of a module with `program` and `ARGUMENTS`."""
    rng = random.Random(seed)
    text = HEADER + ATTEMPT + rule(rng, "first") + rule(rng, "second")
    numbers = [round(rng.uniform(0.2, 1.8) * rng.choice([1, 1, -1]), 3) for _ in range(7)]
    text += ARGUMENTS.format(*numbers)
    lines = ["r = 0.0 * a"]
    for _ in range(rng.randint(1, 5)):
        f = rng.choice(["first", "second", "first", "second", rng.choice(NUMPY)])
        way = rng.choice(WAYS).format(f=f, u=rng.choice(VALUES), v=rng.choice(VALUES))
        lines += way.split("\n")
    body = "\n".join(f"    {line}" for line in [*lines, "return np.sum(r) * 1.0"])
    return f"{text}\n\ndef program(a, b, c, d):\n{body}\n"
