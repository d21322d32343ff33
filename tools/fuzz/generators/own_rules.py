"""Programs whose loops call functions with rules of the user's own.

Their pullbacks keep arguments and results, which the program writes into afterwards, return one
array for two arguments, or the cotangent that they were given, or a constant, in another precision
or broadcast. Their results are views, the same array twice, integers, truth values, or empty.
"""

from __future__ import annotations

import random

from tools.fuzz.drawn import argnums

HEADER = """\
import numpy as np

from autodiff import functions
from autodiff.structured import calls
from chainrules_core import ZeroTangent, pair_rule, thunk

calls.Settings.worth = calls.Settings.least = -1.0
N = {n}
C = np.cos(np.arange(float(N))).astype(np.{dtype})


def settled(x):
    return x / (1.0 + x * x)


def ruled(value, push, pull, is_new=True):
    def f(x, y):
        return value(x, y)

    functions.note({{f}}, has_fixed_form=False, is_new=is_new)  # and pure

    @pair_rule(f)
    def rule(x, y):
        out = value(x, y)
        return out, lambda *dots: push(x, y, out, *dots), lambda bar: pull(x, y, out, bar)

    return f


added = ruled(lambda x, y: x + y, lambda x, y, o, a, b: a + b, lambda x, y, o, g: (g, g))


def _twice(x, y, o, g):
    g = g * 2.0
    return g, g


twice = ruled(lambda x, y: 2.0 * (x + y), lambda x, y, o, a, b: 2.0 * (a + b), _twice)
product = ruled(
    lambda x, y: x * y, lambda x, y, o, a, b: a * y + x * b,
    lambda x, y, o, g: (thunk(lambda: g * y), g * x),
)
growth = ruled(
    lambda x, y: np.exp(0.1 * x) * (1.0 + 0.0 * y),
    lambda x, y, o, a, b: 0.1 * o * a,
    lambda x, y, o, g: (0.1 * o * g, ZeroTangent()),
)
weighed = ruled(
    lambda x, y: np.sum(C * x) + np.sum(y),
    lambda x, y, o, a, b: np.sum(C * a) + np.sum(b),
    lambda x, y, o, g: (C if g == 1.0 else C * g, np.broadcast_to(g, np.shape(y))),
)
wide = ruled(
    lambda x, y: x * 0.5 + y,
    lambda x, y, o, a, b: a * 0.5 + b,
    lambda x, y, o, g: (g.astype(float) * 0.5, g.astype(float)),
)
backwards = ruled(
    lambda x, y: x[::-1] * 0.7, lambda x, y, o, a, b: a[::-1] * 0.7,
    lambda x, y, o, g: (g[::-1] * 0.7, ZeroTangent()),
)
flipped = ruled(
    lambda x, y: x[::-1], lambda x, y, o, a, b: a[::-1],
    lambda x, y, o, g: (g[::-1], ZeroTangent()), False,
)
quiet = ruled(
    lambda x, y: x - 0.3 * np.log(np.abs(y) + 1.5),
    lambda x, y, o, a, b: a - 0.3 * b * np.sign(y) / (np.abs(y) + 1.5),
    lambda x, y, o, g: (g * 1.0, -0.3 * g * np.sign(y) / (np.abs(y) + 1.5)),
)


def pair(x, y):
    return x * y, x + y


def same(x, y):
    z = x * 2.0
    return z, z


functions.note({{pair}}, has_fixed_form=False, is_new=True)
functions.note({{same}}, has_fixed_form=False)


@pair_rule(pair)
def pair_with_rule(x, y):
    def push(a, b):
        return a * y + x * b, a + b

    def pull(bars):
        g, h = (np.zeros_like(x) if isinstance(b, ZeroTangent) else b for b in bars)
        return g * y + h, g * x + h

    return pair(x, y), push, pull


@pair_rule(same)
def same_with_rule(x, y):
    z = x * 2.0

    def pull(bars):
        g, h = (np.zeros_like(x) if isinstance(b, ZeroTangent) else b for b in bars)
        return 2.0 * (g + h), ZeroTangent()

    return (z, z), lambda a, b: (2.0 * a, 2.0 * a), pull


def kernel(a, b, n):
    x, y, w = a * 1.0, b * 1.0, a * b
    m = np.outer(a, b)
    s = 0.0
    old = x
    for t in range(n):
{body}
        x, y, w, m = settled(x), settled(y), settled(w), settled(m)
    return np.sum(x * C) + np.sum(y * y) + np.sum(w) + np.sum(m * 0.1) + np.sin(s) + np.sum(old)


def program(a, b):
    return kernel({first}, b * 1.0, {turns})


_numbers = np.arange(float(N)) + 0.3
ARGUMENTS = (np.sin(_numbers * 2.0).astype(np.{dtype}), np.cos(_numbers * 3.0).astype(np.{dtype}))
ARGNUMS = {argnums}
"""

_FUNCTIONS = (
    "added", "twice", "product", "growth", "wide", "backwards", "quiet", "flipped", "product",
    "growth",
)  # fmt: skip


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def name(self) -> str:
        return self.pick("x", "y", "w")

    def vector(self) -> str:
        x, y = self.name(), self.name()
        return self.pick(
            x, x, y, f"{x}[::-1]", f"({x} * {y})", f"m[{self.rng.randint(0, 5)}]",
            f"m[:, {self.rng.randint(0, 5)}]", "a", "C", f"np.sort({x})", "old", f"0.5 * {x}",
        )  # fmt: skip

    def call(self) -> str:
        x = self.vector()
        y = self.pick(x, self.vector(), self.vector())
        f = self.rng.choice(_FUNCTIONS)
        return f"{f}({self.name() if f == 'flipped' else x}, {y})"

    def write(self, x: str) -> list[str]:
        """Write into an array, or into a view of it."""
        return self.rng.choice([
            [f"{x} *= 0.7"], [f"{x}[1:] = 0.3"], [f"{x}[::-2] *= {self.vector()}[::-2]"],
            [f"v = {x}[1:4]", "v += 0.2"], [f"{x}[t] = s"], [f"{x} += {self.call()}"],
            [f"{x}[-3:] -= {self.call()}[-3:]"], [f"{x}[[2, 0]] *= 0.5"],
            [f"np.multiply({x}, 0.9, out={x})"], [f"{x}[5:2:-1] = {self.vector()}[2:5]"],
        ])  # fmt: skip

    def statement(self) -> list[str]:
        x, y = self.name(), self.name()
        return self.rng.choice([
            [f"{x} = {self.call()}"],
            [f"{x} = {self.call()}", *self.write(x)],
            [f"{x} = {self.call()}", f"{y} = {self.call()}", *self.write(x), *self.write(y)],
            [f"z = {self.call()}", *self.write("z"), f"{x} = z + {self.vector()}"],
            [*self.write(x)],
            [f"{x}, z = pair({self.vector()}, {self.vector()})", *self.write(x), f"{y} = z * 0.5"],
            [f"{x}, z = same({self.vector()}, {self.vector()})", *self.write("z")],
            [f"s = s + 0.1 * weighed({self.vector()}, {self.vector()})"],
            [f"s = s + 0.1 * weighed({self.vector()}, {self.vector()}[:{self.rng.randint(0, 2)}])"],
            [f"m[t] = {self.call()}"], [f"m = product(m, {self.pick('m', 'm.T', 'm * 0.3')})"],
            [f"m[:, 1] += {self.call()}"], [f"old = {self.call()}"], [f"old = {x}"],
            [f"if s > {self.pick('0.0', '0.2', '9.0')}:", f"    {x} = {self.call()}",
             *["    " + line for line in self.write(x)], "else:", f"    s = s + 0.1 * {y}[1]"],
            ["for k in range(2):", f"    {x} = {self.call()}",
             *["    " + line for line in self.write(self.name())]],
            ["k = 0", f"while k < 3 and {x}[k] > -0.5:", f"    {x} = {self.call()}",
             *["    " + line for line in self.write(self.name())], "    k = k + 1"],
            [f"for k in range({self.pick('t', '2 - t', '0')}):", f"    z = {self.call()}",
             f"    {x} = {x} + 0.1 * z"],
            [f"s = s + 0.01 * np.sum(pair({x}, {y})[0])"],
        ])  # fmt: skip


def write(seed: int) -> str:
    """Return the program of a seed."""
    rng = random.Random(f"own rules {seed}")
    writer = _Writer(rng)
    lines = [line for _ in range(rng.randint(2, 5)) for line in writer.statement()]
    return HEADER.format(
        n=rng.choice((6, 8, 9)),
        dtype=rng.choice(("float64", "float64", "float64", "float32")),
        body="\n".join(" " * 8 + line for line in lines),
        first=rng.choice(("a * 1.0", "a * 1.0", "a[::-1]")),
        turns=rng.choice("1345"),
        argnums=argnums(seed, 2),
    )
