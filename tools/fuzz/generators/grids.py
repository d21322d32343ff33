"""Programs whose loops carry, make and fill matrices and cubes: grids, planes and columns.

States are bound anew, written into by rows, columns and planes, swapped, kept in lists, dicts and
objects, and changed by inner functions that fill new arrays. They are floats or complex; some have
one element, or none, along an axis. Loops end early, continue, or return. The source of a kernel is
read at the first call, as with the generator ``loops``.
"""

from __future__ import annotations

import random

from tools.fuzz.drawn import argnums

HEADER = """\
import numpy as np

from autodiff.structured import calls

calls.Settings.worth = calls.Settings.least = -1.0
P, Q, R = {shape}
DTYPE = np.{dtype}


class State:
    def __init__(self, g, h):
        self.g = g
        self.h = h


def laplacian(r, k):
    new = np.zeros_like(r)
    new[1:-1] = k * (r[2:] - 2.0 * r[1:-1] + r[:-2])
    new[:, 0] = r[:, -1]
    return new


def by_columns(r, k):
    new = np.empty(r.shape, r.dtype)
    for j in range(r.shape[1]):
        new[:, j] = r[:, j] * k
    return new


def mixed(r, t):
    r = r * 0.5 + t
    return r[::-1]


def kernel(a, b, c, p, q):
    g = {g}
    h = {h}
    c = c * 1.0
    old = {old}
    s = a[0, 0] * 0.3
    hist = [g]
    table = {{"x": h}}
    state = State(g, h)
{body}
    return {result}


def program(a, b, c):
    y = kernel({first}, b * 1.0, c + 0.0, P, Q)
    return np.sum(np.sin(np.real(y))) + np.sum(np.imag(y) * 0.5)


_shape = np.arange(P * Q) + 0.3
ARGUMENTS = ((np.sin(_shape).reshape(P, Q) * {unit}).astype(DTYPE),
             (np.cos(_shape).reshape(P, Q) * {unit}).astype(DTYPE),
             (np.sin(np.arange(P * Q * R) * 0.7).reshape(P, Q, R) * {unit}).astype(DTYPE))
ARGNUMS = {argnums}
"""


class _Writer:
    def __init__(self, rng: random.Random, is_complex: bool, shape: tuple[int, int, int]) -> None:
        self.rng = rng
        self.is_complex = is_complex
        self.shape = shape
        self.lines: list[str] = []
        self.depth = 1
        self.indices: list[str] = []
        self.loops = 0
        self.room = rng.randint(4, 12)
        self.names = 0

    def add(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def at(self, axis: int) -> str:
        n = ("p", "q", "2")[axis]
        i = self.pick("0", "-1", *self.indices)
        return i if i in ("0", "-1") else self.pick(f"{i} % {n}", f"{n} - 1 - {i} % {n}")

    def number(self, depth: int = 1) -> str:
        if depth == 0 or self.rng.random() < 0.5:
            element = f"{self.at(0)}, {self.at(1)}"
            return self.pick(
                "s", "0.5", "0.2", f"g[{element}]", f"old[{element}]", f"c[{element}, 0]"
            )
        return self.pick(
            f"np.sum({self.grid(depth - 1)}) * 0.1",
            f"np.mean({self.row(depth - 1)})",
            f"(({self.row(0)}) @ ({self.row(0)})) * 0.1",
            f"h[{self.at(0)}, {self.at(1)}] * {self.number(depth - 1)}",
            f"np.sin({self.number(depth - 1)})",
        )

    def truth(self) -> str:
        x = self.number()
        return (
            f"{x if not self.is_complex else f'np.real({x})'} > {self.pick('0.1', '0.4', '-0.2')}"
        )

    def row(self, depth: int = 1) -> str:
        """Write an array of q elements."""
        if depth == 0 or self.rng.random() < 0.5:
            return self.pick(
                f"g[{self.at(0)}]",
                f"h[{self.at(0)}, :]",
                f"c[{self.at(0)}, :, 0]",
                f"old[{self.at(0)}]",
            )
        return self.pick(
            f"({self.grid(depth - 1)}).sum(axis=0) * 0.3",
            f"np.mean({self.grid(depth - 1)}, axis=0)",
            f"np.sin({self.row(depth - 1)})",
            f"{self.row(depth - 1)} * {self.number(0)}",
            f"np.sum({self.cube()}, axis=(0, 2)) * 0.1",
            f"({self.row(0)})[::-1]",
        )

    def cube(self) -> str:
        return self.pick(
            "c", "c * 0.7", "np.sin(c)", "c * g[:, :, None]", "c + h[..., None]", "c[::-1]"
        )

    def grid(self, depth: int = 2) -> str:
        """Write an array of p × q elements."""
        r = self.rng.random()
        if depth == 0 or r < 0.25:
            return self.pick(
                "g",
                "h",
                "old",
                "g",
                "a",
                "b",
                "c[:, :, 0]",
                "c[..., -1]",
                "hist[-1]",
                "table['x']",
                "state.g",
                "state.h",
            )
        x = self.grid(depth - 1)
        if r < 0.55:
            op = self.pick("+", "-", "*", "*")
            other = self.pick(self.grid(depth - 1), self.number(depth - 1), self.row(0))
            return f"({x} {op} {other})"
        axis = self.pick("0", "1")
        options = [
            f"np.sin({x})",
            f"np.sin(0.7 * {x})",
            f"np.roll({x}, {self.pick('1', '-1')}, axis={self.pick('0', '1')})",
            f"({x})[::-1]",
            f"({x})[:, ::-1]",
            f"laplacian({x}, {self.number(0)})",
            f"by_columns({x}, {self.number(0)})",
            f"mixed({x}, {self.number(0)})",
            f"({x} - np.sum({x}, axis={self.pick('0', '1', '-1')}, keepdims=True) * 0.2)",
            f"({x} * np.mean({self.cube()}, axis=2))",
            f"(np.sum({self.cube()}, axis=-1) * 0.3 + {x})",
            f"np.concatenate((({x})[1:], ({x})[:1]))",
            f"np.concatenate((({x})[:, 1:], ({x})[:, :1]), axis=1)",
            f"(np.cumsum({x}, axis={self.pick('0', '1')}) * 0.2)",
            f"np.reshape({x}, (p, q))",
            f"(({x}).T * 1.0).T",
            f"(-{x})",
            f"({x}).copy()",
            f"(({x}) / (2.0 + np.abs({self.grid(depth - 1)}) ** 2))",
        ]
        if not self.is_complex:
            options += [
                f"np.where({x} > 0.1, {x}, 0.5 * g)",
                f"np.maximum({x}, 0.2 * {self.grid(depth - 1)})",
                f"np.clip({x}, -0.8, 0.7)",
                f"np.tanh({x})",
                f"(np.max({x}, axis={axis}, keepdims=True) * 0.3 + {x})"
                if 0 not in self.shape
                else f"np.tanh({x})",
            ]
        else:
            options += [
                f"np.conj({x})",
                f"({x} * 0.5j)",
                f"(np.real({x}) + 1j * np.imag({x}) * 0.5)",
            ]
        return self.rng.choice(options)

    def block(self, depth: int) -> None:
        self.depth += 1
        for _ in range(self.rng.randint(1, 4)):
            self.statement(depth)
        self.depth -= 1

    def statement(self, depth: int = 2) -> None:
        self.room -= 1
        r = self.rng.random()
        if self.room > 0 and depth and r < 0.2:
            self.loop(depth - 1)
        elif self.room > 0 and depth and r < 0.3:
            self.add(f"if {self.truth()}:")
            self.block(depth - 1)
            if self.loops and self.rng.random() < 0.3:
                self.depth += 1
                self.add(self.pick("continue", "break", "return g * 0.7", "return h"))
                self.depth -= 1
            elif self.rng.random() < 0.6:
                self.add("else:")
                self.block(depth - 1)
        elif r < 0.52:
            self.add(f"{self.pick('g', 'g', 'h')} = {self.grid()}")
        elif r < 0.57:
            self.add(
                self.pick(
                    "old = g",
                    "old = h",
                    "g, h = h, g",
                    "old, g = g, h * 0.5",
                    "h = g",
                    "g, h, old = old, g, h",
                )
            )
        elif r < 0.69:
            self.fill()
        elif r < 0.74:
            new = self.pick(
                f"{self.cube()} * 0.9",
                f"c * ({self.grid(1)})[:, :, None]",
                "np.sin(c)",
                f"c + ({self.row(1)})[:, None]",
            )
            self.add(f"c = {new}")
        elif r < 0.8:
            k = self.pick("0", "-1", *[f"{i} % 2" for i in self.indices])
            self.add(
                self.pick(
                    f"c[:, :, {k}] = {self.grid(1)}",
                    f"c[:, {self.at(1)}] *= 0.5",
                    f"c[..., {k}] += {self.grid(1)}",
                    f"c[:, :, {k}] = c[:, :, 0] * h",
                )
            )
        elif r < 0.84:
            self.add(f"s = s * 0.5 + {self.number()}")
        elif r < 0.9:
            self.add(
                self.pick(
                    f"g[0] = {self.row()}",
                    f"h[:, {self.at(1)}] *= 0.7",
                    "g += 0.1 * h",
                    "h[1:] = g[:-1]",
                    f"g[{self.at(0)}, {self.at(1)}] = s",
                    f"g[:, {self.at(1)}] += h[:, 0]",
                    "np.multiply(g, 0.5, out=g)",
                )
            )
        elif r < 0.95:
            self.add(
                self.pick(
                    "hist.append(g)",
                    f"hist.append({self.grid(1)})",
                    f"table['x'] = {self.grid(1)}",
                    f"state.g = {self.grid(1)}",
                    "state.h = state.g",
                    f"hist[-1] = {self.grid(1)}",
                )
            )
        else:
            self.add(f"part = {self.pick('g', 'h', 'old')}[:, {self.pick('1:', ':-1', '::-1')}]")
            self.add(f"s = s + np.sum({self.pick('part', 'part * part', 'part * 0.5')}) * 0.1")

    def fill(self) -> None:
        self.names += 1
        name, indent = f"f{self.names}", "    " * self.depth
        self.add(
            f"{name} = "
            + self.pick(
                "np.zeros((p, q), a.dtype)",
                "np.empty((p, q), dtype=a.dtype)",
                "np.zeros_like(g)",
                "np.empty_like(h)",
                "g * 1.0",
                "g.copy()",
            )
        )
        self.add(f"{name}[:] = {self.grid(1)}")
        for _ in range(self.rng.randint(0, 3)):
            options = [
                f"{name}[1:-1] = ({self.grid(1)})[2:]",
                f"{name}[{self.at(0)}, {self.at(1)}] = {self.number(0)}",
                f"{name}[:-1] += {name}[1:]",
                f"{name}[:, 1:] = {name}[:, :-1] * 0.5",
                f"{name} *= {self.grid(0)}",
                f"{name}[:, {self.at(1)}] = {name}[:, {self.at(1)}] * {self.number(0)}",
                f"{name}[{self.at(0)}] = {self.row(1)}",
                f"part = {name}[:, ::-1]\n{indent}part[0] *= 0.5",
                f"s = s + {name}[{self.at(0)}, {self.at(1)}] * 0.1",
                f"for jj in range(q):\n{indent}    {name}[:, jj] += g[:, jj] * 0.5",
                f"for jj in range(p):\n{indent}    {name}[jj, 0] = {name}[jj, -1] * h[jj, 0]",
            ]
            if not self.is_complex:
                options += [
                    f"np.maximum({name}, 0.1, out={name})",
                    f"{name}[:] = np.clip({name}, -0.5, 0.6)",
                    f"{name}[:] = np.where({name} > 0.2, {name}, h)",
                ]
            self.add(self.rng.choice(options))
        self.add(
            f"{self.pick('g', 'h')} = "
            + self.pick(name, name, f"{name} * h", f"np.sin({name})", f"{name}[::-1]")
        )

    def loop(self, depth: int) -> None:
        i = f"i{len(self.indices)}"
        self.names += 1
        k = f"k{self.names}"
        is_while = self.rng.random() < 0.2
        if is_while:
            self.add(f"{k} = 0")
            self.add(f"while {k} < {self.pick('3', '4')}:")
            self.depth += 1
            self.add(f"{k} += 1")
            self.depth -= 1
        else:
            self.add(f"for {i} in range({self.pick('3', '4', 'p', 'q', '2', '0', '5')}):")
            self.indices.append(i)
        self.loops += 1
        self.block(depth)
        self.loops -= 1
        if i in self.indices:
            self.indices.remove(i)


def write(seed: int) -> str:
    """Return the program of a seed."""
    rng = random.Random(f"grids {seed}")
    dtype = rng.choice(("float64", "float64", "float64", "complex128"))
    shape = rng.choice(
        ((3, 4, 2), (4, 3, 2), (3, 3, 2), (2, 5, 3), (1, 3, 2), (3, 1, 2), (2, 0, 1), (4, 2, 1))
    )
    writer = _Writer(rng, dtype == "complex128", shape)
    writer.loop(2)
    while writer.room > 0:
        writer.statement()
    return HEADER.format(
        shape=shape,
        dtype=dtype,
        unit="(1.0 + 0.4j)" if dtype == "complex128" else "1.0",
        g=rng.choice(
            ("a", "a * 1.0", "np.zeros((p, q), a.dtype) + b", "np.ones((p, q), a.dtype)", "b[::-1]")
        ),
        h=rng.choice(("b", "b * 1.0", "np.zeros_like(a)", "a", "c[:, :, 0]")),
        old=rng.choice(("a", "b", "g", "h.copy()")),
        first=rng.choice(("a * 1.0", "a * 1.0", "a[::-1]", "np.array(a.T).T")),
        body="\n".join(writer.lines),
        result=rng.choice(
            (
                "g",
                "g * h",
                "g + np.sum(c) * old",
                "h",
                "np.sum(g * c[:, :, 0]) + s",
                "hist[-1] + hist[0] * g",
                "g + state.g * table['x']",
                "c",
                "h.T",
                "c[:, 0]",
                "state.h + old",
            )
        ),
        argnums=argnums(seed, 3),
    )
