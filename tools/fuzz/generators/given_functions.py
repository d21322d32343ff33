"""Programs whose functions with loops are given functions: solvers, searches and sums.

What is given is a lambda, a function inside with defaults, a branch or a write, a method, an object
that is called, or a function of the module. They have captured numbers and arrays that depend on
the variables or not, a list, a dict, a named tuple, and one another. Their source is read at the
first call, as with the generator ``loops``.
"""

from __future__ import annotations

import random

from tools.fuzz.drawn import argnums

HEADER = """\
from collections import namedtuple

import numpy as np

from autodiff.structured import calls

calls.Settings.worth = calls.Settings.least = -1.0
Pair = namedtuple("Pair", "u v")


class Slope:
    def __init__(self, rate, phase):
        self.rate = rate
        self.phase = phase

    def at(self, t, y):
        return self.rate * y + np.sin(self.phase) * t

    def __call__(self, t, y):
        return self.at(t, y) * 0.5


def decay(t, y):
    return 0.3 * y - t


def stepped(f, y, n, h=0.1):
    t = 0.0
    for _ in range(n):
        y = y + h * f(t, y)
        t += h
    return y


def summed(functions, y, n):
    total = y * 0.0
    for i in range(n):
        for f in functions:
            total = total + f(0.1 * i, y) * 0.5
        y = y * 0.9 + 0.1 * total
    return y


def bounded(f, y, n, g=None):
    i = 0
    while i < n:
        z = f(i * 0.1, y)
        if g is not None:
            z = z + g(0.2, y)
        y = y + 0.1 * np.tanh(z)
        i += 1
    return y


def kept(f, y, n):
    values = []
    for i in range(n):
        values.append(f(float(i), y))
        y = y * 0.8 + 0.05 * values[-1]
    return values[-1] + values[0]


def program(a, b):
    k, w = b[0], a[1]
    once, scaled = np.array([0.1, -0.2, 0.3, 0.4]), a * k
    numbers, named, pair = [k, b[1]], {{"q": b[2] * k, "z": 1.0}}, Pair(w, k)
    inner = lambda z: z * w + 0.1
{body}
    return np.sum(y * np.array([1.0, 2.0, -0.5, 0.25]))


ARGUMENTS = (np.sin(np.arange(4.0) + 0.3), np.cos(np.arange(4.0)))
ARGNUMS = {argnums}
"""
_HELD = ("k", "w", "scaled", "once", "numbers[0]", "named['q']", "pair.v", "b[3]", "0.4")


class _Writer:
    """Writes the body of a program."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []

    def add(self, *lines: str) -> None:
        self.lines += [f"    {line}" for line in lines]

    def value(self, depth: int = 0) -> str:
        """Return an expression of ``t``, ``y`` and what is captured."""
        kind = self.rng.randrange(8 if depth < 2 else 4)
        if kind < 2:
            return self.rng.choice(_HELD)
        if kind < 4:
            return self.rng.choice(("y", "t", f"{self.rng.uniform(-1.0, 1.0):.2f}"))
        parts = self.value(depth + 1), self.value(depth + 1)
        return self.rng.choice(
            (f"({parts[0]} + {parts[1]})", f"({parts[0]} * {parts[1]})", f"np.sin({parts[0]})",
             f"inner({parts[0]})")
        )  # fmt: skip

    def function(self, name: str) -> None:
        """Write a function that a loop is given."""
        pick, x = self.rng.choice, self.value()
        made = f"Slope({pick(('k', 'w', 'scaled'))}, {pick(('k', '0.3', 'once'))})"
        shapes = (
            [f"{name} = lambda t, y: {x} + 0.0 * y"],
            [
                f"def {name}(t, y, s={pick(('k', '0.7', 'scaled'))}):",
                f"    z = {x}",
                "    for _ in range(2):",
                "        z = z * 0.5 + s",
                "    return z + 0.0 * y",
            ],
            [
                f"def {name}(t, y):",
                "    if t > 0.15:",
                f"        return {x} + 0.0 * y",
                f"    return {self.value()} * y",
            ],
            [
                f"def {name}(t, y):",
                f"    z = np.zeros(4) + {x}",
                "    z[1] = z[0] * k + t",
                "    return z * y",
            ],
            [f"{name} = {made}.at"],
            [f"{name} = {made}"],
            [f"{name} = decay"],
        )
        self.add(*pick(shapes))

    def loop(self, names: list[str]) -> None:
        """Write a call of a function with a loop."""
        pick, n = self.rng.choice, self.rng.randrange(4)
        f, g = pick(names), pick(names)
        self.add(
            pick(
                (
                    f"y = stepped({f}, y, {n})",
                    f"y = stepped({f}, y, 2, h={pick(('k', '0.2'))})",
                    f"y = y + stepped(lambda t, y: {f}(t, y) * {g}(t, y) * 0.1, y, 2)",
                    f"y = summed([{f}, {g}], y, 2)",
                    f"y = bounded({f}, y, {n}, {pick((g, 'None'))})",
                    f"y = kept({f}, y, {n + 1})",
                    "k = k + y[0] * 0.1",
                )
            )
        )


def write(seed: int) -> str:
    """Return the program of a seed."""
    rng = random.Random(seed)
    writer = _Writer(rng)
    names = [f"f{i}" for i in range(rng.randint(2, 3))]
    for name in names:
        writer.function(name)
    writer.add("y = a * 1.0")
    for _ in range(rng.randint(1, 4)):
        writer.loop(names)
    return HEADER.format(body="\n".join(writer.lines), argnums=argnums(seed, 2))
