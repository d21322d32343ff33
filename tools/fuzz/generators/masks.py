"""Programs whose loops read and write arrays at masks.

The masks are comparisons of traced arrays, parts of these, and what logical functions make of them.
Some are true nowhere or everywhere. Arrays are vectors or matrices of floats or complex numbers,
whose rows have from none to a few more than sixteen elements.
"""

from __future__ import annotations

import random

from tools.fuzz.drawn import argnums

HEADER = """\
import numpy as np

from autodiff.structured import calls

calls.Settings.worth = calls.Settings.least = -1.0
SHAPE = {shape}


def kernel(a, b, n):
    x = {x}
    y = {y}
    m = np.real(x) > 0.1
    s = 0.0
    for t in range(n):
{body}
        x, y = x / (1.0 + np.real(x * np.conj(x))), y / (1.0 + np.real(y * np.conj(y)))
    return np.sum(x * y) + np.sin(s * 0.1)


def program(a, b):
    z = kernel({first}, b * 1.0, {turns})
    return np.real(z) + np.imag(z) * 0.5


_numbers = np.arange(np.prod(SHAPE)) + 0.3
ARGUMENTS = ((np.sin(_numbers * 2.0).reshape(SHAPE) * {unit}).astype(np.{dtype}),
             (np.cos(_numbers * 3.0).reshape(SHAPE) * {unit}).astype(np.{dtype}))
ARGNUMS = {argnums}
"""


class _Writer:
    def __init__(self, rng: random.Random, is_vector: bool) -> None:
        self.rng = rng
        self.is_vector = is_vector

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def array(self) -> str:
        return self.pick("x", "x", "y", "a", "b")

    def mask(self) -> str:
        """Write a mask of the shape of the arrays."""
        x = f"np.real({self.array()})"
        level = self.pick(
            "0.0", "0.3", "-0.4", "9.0", "-9.0", "0.1 * t", f"np.imag({self.array()})"
        )
        compared = f"({x} {self.pick('>', '<', '<=')} {level})"
        return self.pick(
            compared,
            compared,
            "m",
            "m",
            "~m",
            f"(m & {compared})",
            f"np.logical_or(m, {compared})",
            "m[::-1]",
            "(np.abs(x) < 0.8)",
        )

    def selected(self, mask: str) -> str:
        """Write a vector of the elements at a mask."""
        x = f"{self.array()}[{mask}]"
        return self.pick(
            x,
            f"({x} * {self.array()}[{mask}])",
            f"({x} ** 2 + {self.array()}[{mask}])",
            f"np.sin({x})",
            f"({x} * 0.5 - s)",
            f"({self.array()} * 0.7)[{mask}]",
        )

    def statement(self) -> list[str]:
        mask, target = self.mask(), self.pick("x", "y")
        named = self.pick("m", "k")
        options = [
            [f"{target}[{mask}] = {self.selected(mask)}"],
            [f"{target}[{mask}] {self.pick('=', '+=', '*=')} {self.pick('0.3', 's', '0.5 * t')}"],
            [f"{target}[{mask}] {self.pick('+=', '*=', '-=')} {self.selected(mask)}"],
            [f"m = {mask}"],
            ["m = m.copy()", f"m[{mask}] = {self.pick('True', 'False')}"],
            [f"m = np.logical_not({mask})"],
            [f"s = s + np.sum({self.selected(mask)}) * 0.2"],
            [f"{named} = {mask}", f"{target}[{named}] = {self.selected(named)}"],
            [f"{named} = {mask}", f"part = {self.selected(named)}",
             f"{target}[{named}] = part * x[{named}]", "s = s + np.sum(part)"],
            [f"x = {self.array()} * 0.9 + {target}"],
            [f"s = s + np.sum({mask}) * np.sum({target}) * 0.01"],
            [f"x = np.where({mask}, {self.array()}, 0.5 * y)"],
        ]  # fmt: skip
        if self.is_vector:
            options += [
                [f"s = s + np.sum(x[::2][{mask}[::2]])"],
                [f"y[::-1][{mask}] = x[{mask}] * 0.5"],
            ]
        else:
            options += [
                [f"s = s + np.sum(x[:, {mask}[0]] * 0.3)"],
                [f"x[{mask}[:, -1]] *= 0.8"],
                [f"y[{mask}[:, 0], 0] = x[{mask}[:, 0], -1]"],
                [f"x[:, 0][{mask}[:, 0]] += y[{mask}[:, 0], -1]"],
            ]
        return self.rng.choice(options)


def write(seed: int) -> str:
    """Return the program of a seed."""
    rng = random.Random(f"masks {seed}")
    dtype = rng.choice(("float64", "float64", "float32", "complex128"))
    shape = rng.choice(
        ((7,), (8,), (16,), (19,), (0,), (1,), (3, 17), (2, 8), (4, 3), (1, 9), (5, 1), (3, 24))
    )
    writer = _Writer(rng, len(shape) == 1)
    lines = [line for _ in range(rng.randint(2, 6)) for line in writer.statement()]
    return HEADER.format(
        shape=shape,
        dtype=dtype,
        unit="(1.0 + 0.4j)" if dtype == "complex128" else "1.0",
        x=rng.choice(("a", "a * 1.0", "np.zeros_like(a)", "b * 0.5")),
        y=rng.choice(("b", "np.ones_like(b)", "a * b")),
        body="\n".join(" " * 8 + line for line in lines),
        first=rng.choice(("a * 1.0", "a * 1.0", "a[::-1]", "np.array(a.T).T")),
        turns=rng.choice("1345"),
        argnums=argnums(seed, 2),
    )
