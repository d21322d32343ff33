"""Programs with statements on whole arrays before, between and behind their loops.

Machine code takes these into one region with the loops, and leaves what has no form to Python.
The statements write in place, take views, bind variables only on some branch, and return arrays
that they were given, views of these, or several results.
"""

from __future__ import annotations

import random

from tools.fuzz.drawn import argnums

HEADER = """\
import numpy as np

from autodiff.structured import calls

calls.Settings.worth = calls.Settings.least = -1.0
SHAPE = {shape}


def kernel(a, v, n):
    x, s = {x}, 0.3
{before}
{loops}
{behind}
    return {result}


def program(a, v):
    found = kernel({first}, v * 1.0, {turns})
    parts = found if type(found) is tuple else (found,)
    return sum(np.sum(np.cos(p) * p) * (k + 1.0) for k, p in enumerate(parts))


_numbers = np.arange(SHAPE[0] * SHAPE[1]) + 0.3
ARGUMENTS = (np.sin(_numbers * 2.0).reshape(SHAPE).astype(np.{dtype}),
             np.cos(np.arange(SHAPE[1]) * 3.0).astype(np.{dtype}))
ARGNUMS = {argnums}
"""


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def array(self) -> str:
        """Write an array of the shape of `a`."""
        return self.pick("x", "x", "a", "(x * s)", "(x - v)", "np.sin(a)", "(x * x)", "y", "y")

    def expression(self) -> str:
        one, other = self.array(), self.array()
        return self.pick(
            f"{one} * {other}",
            f"{one} + s",
            f"{one} * v",
            f"{one} - {one}.mean(axis=0)",
            f"{one} / (1.0 + {other} ** 2)",
            f"np.where({one} > 0.1, {other}, 0.5 * s)",
            f"np.maximum({one}, {other} * 0.5)",
            f"np.exp(-{one} ** 2)",
            f"{one} - np.max({other})",
            f"{one} * np.sum({other}, axis=1)[:, None] * 0.1",
            f"np.tanh({one} + {other}[0])",
            f"{one}[::-1]",
            f"np.sqrt({one} ** 2 + 1.0)",
            "x @ x.T @ x * 0.1",
            f"np.cumsum({one}, axis=1) * 0.2",
            f"np.sort({one}, axis=0)",
            f"np.array({one})",
            f"np.clip({one}, -0.5, s)",
            f"np.concatenate([{one}[1:], {other}[:1]])",
            f"np.roll({one}, 1, axis=0) * {other}",
            f"np.cumprod(1.0 + 0.1 * {one}, axis=0)",
            f"({one}[np.argsort({other}[:, 0], kind='stable')])",
            f"{one} * np.take({other}, np.argmax({one}, axis=1), axis=1)[0, 0]",
            f"{one} + np.mean({other}[{one} > 0.1]) if np.any({one} > 0.1) else {one}",
            f"np.einsum('ij,kj,kl->il', {one}, {other}, x) * 0.1",
            f"np.einsum('ij,ij->i', {one}, {other})[:, None] + {one}",
            f"np.linalg.solve(x.T @ x + 3.0 * np.eye(x.shape[1]), {one}.T).T",
            f"np.abs({one} + 0.5j * {other})",
            f"{one}.reshape(-1)[::-1].reshape(x.shape)",
            f"np.outer({one}[:, 0], {other}[0])",
            f"np.convolve({one}[0], [0.2, 0.5, 0.1], 'same')[:x.shape[1]] * {other}",
            f"np.diff({one}, axis=0, prepend={other}[:1])",
            f"np.interp({one}, [-1.0, 0.0, 1.5], [0.1, s, 0.3])",
        )

    def statement(self) -> list[str]:
        e = self.expression()
        return self.rng.choice([
            [f"y = {e}"],
            [f"y = {e}"],
            [f"x = {e}"],
            [f"x = x * 0.9 + 0.1 * ({e})"],
            ["x = x.copy()", f"x[...] = {e}"],
            ["y = y.copy()", f"y += {e}", "y *= 0.5"],
            ["y = y.copy()", f"y[0] = ({e})[-1]"],
            ["y = y.copy()", "w = y[:, ::2]", f"w *= ({e})[:, ::2]"],
            [f"s = s + np.mean({e}) * 0.3"],
            [f"s = s + np.max({e}) * 0.1"],
            [f"s = s + np.std(a + {e}) * 0.1"],
            [f"s = s + np.vdot(x, {e}) * 0.02"],
            [f"s = s + float(np.sum({e})) * 0.02"],
            [f"if s > 0.3:\n    y = {e}\nelse:\n    y = y * 0.7"],
            [f"if n > 2:\n    s = s + np.sum({e}) * 0.1"],
            ["v = v * 0.5 + x[0]"],
            ["a = a * 0.8"],
            ["a[...] = a * 0.7 + y * 0.1"],
            ["z = np.zeros_like(x)", f"z += {e}", "y = z"],
            ["z = np.empty(x.shape, x.dtype)", f"z[...] = {e}", "x = z"],
        ])  # fmt: skip

    def in_loop(self) -> list[str]:
        return self.rng.choice([
            ["s = s + np.sin(x[t % x.shape[0], 0]) * 0.2"],
            ["s = s * 0.9 + x[t % x.shape[0], t % x.shape[1]] * v[t % x.shape[1]]"],
            [f"x = x * 0.8 + 0.1 * ({self.pick('a', 'y', 'x * y', 'np.cos(x)')})"],
            ["y = y.copy()", "y[t % x.shape[0]] = v * s"],
            ["v = v * 0.9 + x[t % x.shape[0]] * 0.1"],
            ["if x[0, 0] > s:\n    break"],
        ])  # fmt: skip

    def lines(self, statements: list[list[str]], depth: int) -> str:
        rows = [row for lines in statements for line in lines for row in line.split("\n")]
        return "\n".join(" " * depth + row for row in rows) or " " * depth + "pass"

    def loop(self) -> str:
        body = [self.in_loop() for _ in range(self.rng.randint(1, 3))]
        return "    for t in range(n):\n" + self.lines(body, 8)


def write(seed: int) -> str:
    """Return the program of a seed."""
    rng = random.Random(f"surroundings {seed}")
    writer = _Writer(rng)
    before = [["y = a * 1.0"]] + [writer.statement() for _ in range(rng.randint(0, 3))]
    loops = [writer.loop()]
    if rng.random() < 0.3:
        loops += [writer.lines([writer.statement()], 4), writer.loop()]
    behind = [writer.statement() for _ in range(rng.randint(0, 4))]
    return HEADER.format(
        shape=rng.choice(((3, 4), (1, 5), (7, 1), (5, 9), (16, 16), (2, 3))),
        dtype=rng.choice(("float64", "float64", "float64", "float32")),
        x=writer.pick("a", "a * 1.0", "a.copy()", "a[::-1]", "np.ones_like(a)"),
        before=writer.lines(before, 4),
        loops="\n".join(loops),
        behind=writer.lines(behind, 4),
        result=writer.pick(
            "x", "y * s", "np.sum(x * y) * s", "(x, s)", "(y, x)", "x[0]", "a * s", "(s, v, y)",
            "y.T", "np.mean(x, axis=0) + v", "s",
        ),
        first=rng.choice(("a * 1.0", "a * 1.0", "a[:, ::-1] * 1.0", "np.array(a.T).T")),
        turns=rng.choice("01345"),
        argnums=argnums(seed, 2),
    )  # fmt: skip
