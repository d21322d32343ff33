"""Programs whose loops make new arrays from old ones, as time steps and recurrent networks do.

States (two vectors, a matrix with its columns) are bound anew in each iteration, from elementwise
expressions, shifted parts, products and joined arrays, in branches, inner loops and loops that end
early. Old states keep their names, also over an inner loop, or swap them, views of them are kept,
and arrays are made and filled within an iteration. Some states have one element along an axis, or
change their shape. The source of a kernel is read at the first call, as with the generator
``loops``.
"""

from __future__ import annotations

import random

from tools.fuzz.drawn import argnums

HEADER = """\
import numpy as np

from autodiff.structured import calls

calls.Settings.worth = calls.Settings.least = -1.0
N = {n}


def step(r, k):
    return r + k * (r[::-1] - r)


def filled(r, k):
    new = np.zeros_like(r)
    new[1:-1] = k * (r[2:] - r[:-2])
    new[0] = r[-1]
    return new


def kernel(a, b, m, n):
    u = {u}
    v = {v}
    w = m * 1.0
    old = a
    z = b + 0.2 * a
    s = 0.3
{body}
    return {result}


def program(a, b, m):
    y = kernel(a * 1.0, {second}, m + 0.0, N)
    return np.sum(np.sin(y))


ARGUMENTS = (np.sin(np.arange(float(N)) + 0.3), np.cos(np.arange(float(N))),
             np.sin(np.arange(float(N * N))).reshape(N, N))
ARGNUMS = {argnums}
"""


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.depth = 1
        self.indices: list[str] = []
        self.room = rng.randint(4, 12)
        self.names = 0
        self.keeps = False

    def add(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def at(self) -> str:
        i = self.pick("0", "1", "-1", *self.indices)
        return i if i in ("0", "1", "-1") else self.pick(f"{i} % n", f"n - 1 - {i} % n")

    def number(self, depth: int = 1) -> str:
        if depth == 0 or self.rng.random() < 0.5:
            return self.pick("s", "0.5", "0.2", f"u[{self.at()}]", f"old[{self.at()}]")
        return self.pick(
            f"np.sum({self.vector(depth - 1)}) * 0.1",
            f"(u @ {self.vector(depth - 1)}) * 0.1",
            f"v[{self.at()}] * {self.number(depth - 1)}",
            f"w[{self.at()}, {self.at()}]",
            f"np.max({self.vector(depth - 1)})",
            f"np.tanh({self.number(depth - 1)})",
        )

    def vector(self, depth: int = 2) -> str:
        """Write an array of n elements."""
        r = self.rng.random()
        if depth == 0 or r < 0.25:
            return self.pick(
                "u", "v", "u", "old", "a", "b", f"w[{self.at()}]", f"w[:, {self.at()}]"
            )
        x = self.vector(depth - 1)
        if r < 0.6:
            op = self.pick("+", "-", "*", "*")
            other = self.vector(depth - 1) if self.rng.random() < 0.6 else self.number(depth - 1)
            return f"({x} {op} {other})"
        return self.pick(
            f"np.tanh({x})",
            f"np.sin(0.7 * {x})",
            f"np.roll({x}, {self.pick('1', '-1', '2')})",
            f"({x})[::-1]",
            f"np.concatenate((({x})[1:], ({x})[:1]))",
            f"((w @ {x}) * 0.3)",
            f"(({x} @ w) * 0.3)",
            f"np.where({x} > 0.1, {x}, 0.5 * u)",
            f"np.maximum({x}, 0.2 * {self.vector(depth - 1)})",
            f"({x} / (2.0 + {self.vector(depth - 1)} ** 2))",
            f"step({x}, {self.number(0)})",
            f"filled({x}, {self.number(0)})",
            f"(np.cumsum({x}) * 0.2)",
            f"np.reshape({x}, (n,))",
            f"(-{x})",
            f"(w[{self.at()}:][0] * {x})",
        )

    def matrix(self) -> str:
        return self.pick(
            "w * 0.9",
            "w.T * 1.0",
            "w.T",
            f"w + 0.1 * np.outer({self.vector(1)}, v)",
            "w @ w * 0.2",
            f"w * {self.vector(1)}",
            f"w - 0.1 * ({self.vector(1)})[:, None]",
            "np.tanh(w)[::-1]",
            "np.roll(w, 1, axis=0) * 0.8",
            f"np.where(w > {self.number(0)}, w, 0.3 * w)",
        )

    def block(self, depth: int) -> None:
        self.depth += 1
        for _ in range(self.rng.randint(1, 3)):
            self.statement(depth)
        self.depth -= 1

    def statement(self, depth: int = 2) -> None:
        self.room -= 1
        r = self.rng.random()
        if self.room > 0 and depth and r < 0.25:
            self.loop(depth - 1)
        elif self.room > 0 and depth and r < 0.35:
            self.add(f"if {self.number()} > {self.pick('0.1', '0.4', 's')}:")
            self.block(depth - 1)
            if self.rng.random() < 0.6:
                self.add("else:")
                self.block(depth - 1)
        elif r < 0.6:
            self.add(f"{self.pick('u', 'u', 'v')} = {self.vector()}")
        elif r < 0.66:
            self.add(f"w = {self.matrix()}")
        elif r < 0.72:
            self.add(self.pick("old = u", "old = v", "u, v = v, u", "old, u = u, v * 0.5", "v = u"))
        elif r < 0.8:
            self.fill()
        elif r < 0.86:
            self.add(f"part = {self.pick('u', 'v', 'old')}[1:]")
            self.add(f"u = np.concatenate((u[:1], {self.pick('part', 'part * 0.5 + part[::-1]')}))")
        elif r < 0.9:
            self.add(f"s = s * 0.5 + {self.number()}")
        elif r < 0.93:
            self.add(self.pick("u[0] = s", "v[1:] *= 0.7", "u += 0.1 * v", "w[0] = u"))
        else:
            other, axis = self.pick("0.4", "v[None, :]"), self.pick("0", "1")
            self.add(f"u = (u[:, None] * {other}).sum(axis={axis})")

    def keep(self) -> None:
        """Keep a state, which only an inner loop binds anew, and add it afterwards."""
        self.keeps = True
        kept = self.pick("z", "z", "z[::-1]", "np.asarray(z)", "(z, s)[0]", "[z, a][0]")
        self.add(f"before = {kept}")
        self.add(f"for _ in range({self.pick('2', '3')}):")
        self.add(f"    z = {self.pick('0.5 * z + 0.1 * b', 'z[::-1] * 0.4', 'np.sin(z)')}")
        self.add(f"{self.pick('u', 'v')} = {self.pick('u', 'v')} * 0.5 + before")

    def fill(self) -> None:
        """Make an array, fill it, and bind it to a state."""
        self.names += 1
        name = f"f{self.names}"
        self.add(
            f"{name} = {self.pick('np.zeros(n)', 'np.empty(n)', 'np.zeros_like(u)', 'u * 1.0')}"
        )
        self.add(f"{name}[:] = {self.vector(1)}")
        for _ in range(self.rng.randint(0, 2)):
            self.add(
                self.pick(
                    f"{name}[1:-1] = ({self.vector(1)})[2:]",
                    f"{name}[{self.at()}] = {self.number(0)}",
                    f"{name}[:-1] += {name}[1:]",
                    f"{name} *= {self.vector(0)}",
                    f"{name}[1:] = {name}[1:] * v[:-1]",
                )
            )
        self.add(
            f"{self.pick('u', 'v')} = {self.pick(name, name, f'{name} * v', f'np.sin({name})')}"
        )

    def loop(self, depth: int) -> None:
        i = f"i{len(self.indices)}"
        if self.rng.random() < 0.2:
            self.names += 1
            k = f"k{self.names}"
            self.add(f"{k} = 0")
            self.add(f"while {k} < {self.pick('3', '4')}:")
            self.depth += 1
            self.add(f"{k} += 1")
            self.depth -= 1
        else:
            self.add(f"for {i} in range({self.pick('3', '4', 'n', '2', '0')}):")
            self.indices.append(i)
        self.block(depth)
        if not self.keeps and self.rng.random() < 0.5:
            self.depth += 1
            self.keep()
            self.depth -= 1
        if self.rng.random() < 0.2:
            self.depth += 1
            self.add(f"if {self.number()} > {self.pick('0.6', '0.9')}:")
            self.depth += 1
            self.add(self.pick("break", "break", "u = u * 0.9"))
            self.depth -= 2
        if i in self.indices:
            self.indices.remove(i)


def write(seed: int) -> str:
    """Return the program of a seed."""
    rng = random.Random(f"carried {seed}")
    writer = _Writer(rng)
    writer.loop(2)
    while writer.room > 0:
        writer.statement()
    return HEADER.format(
        n=rng.choice((3, 4, 5)),
        u=rng.choice(("a", "a * 1.0", "np.zeros(n) + b", "np.ones(n)")),
        v=rng.choice(("b", "b * 1.0", "np.zeros(n)", "a")),
        second=rng.choice(("b * 1.0", "b * 1.0", "b[:1]")),
        body="\n".join(writer.lines),
        result=rng.choice(("u", "u * v", "u + np.sum(w) * old", "v", "np.sum(w @ u) + s")),
        argnums=argnums(seed, 3),
    )
