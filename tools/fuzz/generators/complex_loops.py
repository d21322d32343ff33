"""Programs with loops over complex numbers, as wave and signal code is written.

A kernel gets real arrays, and one that is complex in some programs. It makes complex numbers and
arrays of them, reads and writes elements and slices, puts real values into complex arrays and parts
of complex values into real ones, fills a list, and calls what is not holomorphic: `abs`, `real`,
`imag`, conjugates. Variables that hold a real number first may hold a complex one later. Its source
is read at the first call, as with the generator ``loops``.
"""

from __future__ import annotations

import random

from tools.fuzz.drawn import argnums, with_views

HEADER = """\
import cmath

import numpy as np

from autodiff.structured import calls

calls.Settings.worth = calls.Settings.least = -1.0
N = {n}


def turned(v, angle):
    return v * np.exp(1j * angle)


def size(v):
    return v.real * v.real + v.imag * v.imag


def damp(r, k):
    r[0] *= 0.9 - 0.1j
    return r[0] * k


def kernel(a, b, c, n):
    way = 0.1 * a[1] * b[1] * c[1]
    s = {s}
    t = a[0]
    z = {z}
    q = 1j * b[1]
    u = a * np.exp(0.5j * b)
    w = np.zeros(n, dtype=complex)
    x = a * 1.0
    zs = [z, s * 1j]
    m = np.array([[1.0, q], [s, z * 1j]])

{body}
    return ({result}) + way


def program(a, b, c):
    y = kernel(a.copy(), b * 1.0, c * (1.0 + 0.0j), N)
    return np.sum(np.sin(np.real(y)) + 0.5 * np.cos(np.imag(y)))


ARGUMENTS = (np.sin(np.arange(float(N)) + 0.3), np.cos(np.arange(float(N))), {c})
ARGNUMS = {argnums}
"""

_COMPLEX = ("u", "w", "c")


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.depth = 1
        self.indices: list[str] = []
        self.room = rng.randint(5, 13)

    def add(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def at(self) -> str:
        if not self.indices:
            return self.pick("0", "1", "-1", "n - 2")
        i = self.pick(*self.indices)
        return self.pick(i, i, f"{i} - 1", f"n - 1 - {i}", f"{i} // 2")

    def real(self, depth: int = 2) -> str:
        r = self.rng.random()
        if depth == 0 or r < 0.3:
            return self.pick("s", "t", "0.5", f"x[{self.at()}]", f"b[{self.at()}]")
        if r < 0.7:
            v = self.number(depth - 1)
            return self.pick(
                f"abs({v})",
                f"({v}).real",
                f"({v}).imag",
                f"np.abs({v}) ** 2",
                f"size({v})",
                f"({v} * np.conj({v})).real",
                f"np.real({v})",
                "np.sum(np.abs(u)) * 0.1",
                "np.sum(w.real * b)",
                "np.mean(u.imag)",
                "np.vdot(u, w).real",
                "abs(zs[-1])",
                "np.linalg.norm(c) * 0.1",
                f"np.angle(2.5 + 0.2 * {v})",
                "np.sum(np.angle(u) * b)",
            )
        if r < 0.9:
            op = self.pick("+", "-", "*")
            return f"({self.real(depth - 1)} {op} {self.real(depth - 1)})"
        return f"np.tanh({self.real(depth - 1)})"

    def number(self, depth: int = 2) -> str:
        """Write a number that may be complex."""
        r = self.rng.random()
        if depth == 0 or r < 0.3:
            return self.pick(
                "z",
                "q",
                f"{self.pick(*_COMPLEX)}[{self.at()}]",
                "(0.3 - 0.2j)",
                f"m[{self.pick('0', '1')}, {self.pick('0', '1')}]",
                f"zs[{self.pick('0', '-1', 'len(zs) // 2')}]",
            )
        if r < 0.6:
            op = self.pick("+", "-", "*", "*")
            other = self.number(depth - 1) if self.rng.random() < 0.6 else self.real(depth - 1)
            return f"({self.number(depth - 1)} {op} {other})"
        if r < 0.9:
            v, x = self.number(depth - 1), self.real(depth - 1)
            return self.pick(
                f"turned({v}, {x})",
                f"({v} / (2.5 + {x} ** 2 + 0.5j))",
                f"np.exp(0.3j * {x})",
                f"cmath.exp(1j * {x})",
                f"np.conj({v})",
                f"({v}).conjugate()",
                f"complex({x}, {self.real(0)})",
                f"np.sin(0.3 * {v})",
                f"np.sqrt(3.0 + 0.2 * np.tanh({x}) + 1j * {x})",
                "np.sum(u * w) * 0.1",
                "(u @ w) * 0.1",
                "np.mean(w)",
                "damp(u, 0.5)",
                "np.fft.fft(u)[1] * 0.2",
                f"(0.3 * {v}) ** {self.pick('2', '3', '0', '-2' if depth == 1 else '4')}",
                f"(2.0 + 0.3j * np.tanh({x})) ** {self.pick('-1', '2.5', '(0.5 + 0.2j)', x)}",
                f"np.log(3.0 + np.tanh({x}) + 0.1j * {self.real(0)})",
                f"cmath.sqrt(2.0 - 0.5j * np.tanh({x}))",
                f"np.cosh(0.2j * {x} + 0.1)",
                f"({v} / abs(2.0 + {v} * np.conj({v})))",
                f"({v} if {x} > 0.2 else {self.number(0)})",
                "sum(zs) * 0.2",
            )
        return f"({x} * 1j)" if (x := self.real(depth - 1)) else ""

    def span(self) -> str:
        return self.pick(
            f"{self.pick(*_COMPLEX)}[{self.pick('1:-1', '2:', ':-2', '-2:0:-1')}]",
            f"x[{self.pick('1:-1', '2:', ':-2')}] * {self.number(0)}",
            f"{self.number(1)}",
            "b[1:-1]",
            f"np.abs(u[1:-1]) * {self.number(0)}",
            "np.conj(w[2:])",
            "0.5 * (w[2:] + u[:-2])",
        )

    def whole(self) -> str:
        return self.pick(
            f"u * {self.number(1)}",
            "np.fft.ifft(np.fft.fft(u) * np.exp(1j * b))",
            f"np.exp(1j * b) * {self.real(0)}",
            "w + u",
            "np.conj(u)",
            "w.copy()",
            "u[::-1]",
            "np.roll(u, 1)",
            "a.astype(complex)",
            f"np.where(np.abs(u) > {self.real(0)}, u, 0.5 * w)",
            "w * 0.5",
            "(0.5 * u) ** 2 / (1.0 + 0.1j * w * np.conj(w))",
            "np.exp(0.2j * u.real - 0.1 * np.abs(w))",
            "np.sqrt(1.5 + 0.1 * np.abs(u) + 0.2j * x)",
            "np.array([z, q, s, 1j][:n] + [0.5] * (n - 4))",
            f"np.outer(u, w)[{self.at()}] * 0.3",
            "u * (np.abs(w) > 0.3)",
        )

    def statement(self) -> None:
        self.room -= 1
        r = self.rng.random()
        if r < 0.2:
            value = self.number() if self.rng.random() < 0.7 else self.real()
            how = self.pick("=", "=", "+=", "-=", "*=")
            self.add(f"{self.pick(*_COMPLEX)}[{self.at()}] {how} {value}")
        elif r < 0.28:
            self.add(f"x[{self.at()}] {self.pick('=', '+=', '-=', '*=')} {self.real()}")
        elif r < 0.4:
            place = f"{self.pick(*_COMPLEX)}[1:-1]"
            self.add(f"{place} {self.pick('=', '=', '+=', '-=', '*=')} {self.span()}")
        elif r < 0.5:
            self.add(f"{self.pick('z', 'q')} {self.pick('=', '=', '+=', '*=')} {self.number()}")
        elif r < 0.58:
            self.add(f"{self.pick('s', 't')} {self.pick('=', '+=')} {self.real()}")
        elif r < 0.66:
            self.add(f"{self.pick('u', 'w')} = {self.whole()}")
        elif r < 0.76:
            self.add(
                self.pick(
                    f"zs.append({self.number(1)})",
                    f"zs[0] = {self.number(1)}",
                    f"zs.append({self.real(1)})",
                    "m = m @ m * 0.3",
                    f"m = m @ np.array([[{self.real(0)}, {self.number(0)}], [q, 1.0]]) * 0.5",
                    f"m[0, 1] = {self.number(1)}",
                    "z, q = q, z",
                    "w, u = u, w",
                    "u *= np.exp(0.1j * x)",
                    "x += np.abs(u)",
                    "x *= u.real",
                    "w.real[1:] += x[1:]",
                    "u[np.abs(u) > 0.8] *= 0.5",
                    "x = u.imag * w.real",
                    self.pick("w.real = x", "u.imag = 0.5 * x", "w[::2] += np.conj(u[::2])"),
                    f"s = s + 0.1 if {self.number(0)} == {self.number(0)} else s - 0.1",
                    "u.imag[0] = s",
                    "s = 0",
                    "s += z",
                    "w += x",
                    "z = t",
                )
            )
        elif r < 0.86:
            self.add(f"if {self.real(1)} > {self.pick('0.1', 's', '0.6')}:")
            self.block(2)
            if self.rng.random() < 0.5:
                self.add("else:")
                self.block(2)
        elif len(self.indices) < 2:
            self.loop()
        if self.rng.random() < 0.4:
            self.add(
                self.pick(
                    "z = z / (1.0 + abs(z))",
                    "q = np.sin(0.5 * q)",
                    "z = 0.5 * z if abs(z) > 1.0 else z * z",
                    "u = u / (1.0 + np.abs(u))",
                    "w *= 0.5",
                    "c[:] = c / (1.0 + np.abs(c))",
                    "x = np.tanh(x)",
                    "s = np.sin(s)",
                    "t = np.tanh(t)",
                )
            )

    def block(self, most: int) -> None:
        n = len(self.lines)
        self.depth += 1
        for _ in range(self.rng.randint(1, most)):
            if self.room > 0:
                self.statement()
        if len(self.lines) == n:
            self.add("z = 0.5 * z")
        self.depth -= 1

    def loop(self) -> None:
        name = "ij"[len(self.indices)]
        heads = [f"{name} in range({r})" for r in ("n", "3", "1, n", "n - 1, 0, -1")]
        if self.rng.random() < 0.2:
            heads = [f"{name}, v in enumerate({v})" for v in ("u", "[s, z, q]", "c")]
        self.add(f"for {self.pick(*heads)}:")
        self.indices.append(name)
        if "v in" in self.lines[-1]:
            self.depth += 1
            self.add("z = z + 0.1 * v")
            self.depth -= 1
        self.block(4)
        self.indices.pop()


def write(seed: int) -> str:
    """Return the program of a seed."""
    rng = random.Random(seed)
    writer = _Writer(rng)
    writer.loop()
    while writer.room > 0:
        writer.statement()
    results = (
        "z", "z * s", "abs(z) + t", "u", "w * x", "x", "np.abs(u) + s", "np.vdot(u, w)",
        "np.sum(np.array(zs)) * s", "m @ np.array([s, z])", "c + x", "np.sum(zs) + abs(q)",
    )  # fmt: skip
    c = "np.cos(0.4 * np.arange(float(N)))"
    return HEADER.format(
        n=rng.randint(4, 6),
        z=rng.choice(("complex(a[0], b[0])", "a[1] + 0.3j", "0j", "(0.2 + 0.1j) * b[2]", "0.0")),
        s=rng.choice(("0.25", "0", "0.0")),
        body=with_views("\n".join(writer.lines), ("x", "b", "u", "w"), seed),
        argnums=argnums(seed, 3),
        result=rng.choice(results),
        c=c if rng.random() < 0.3 else f"{c} + 0.5j * np.sin(np.arange(float(N)))",
    )
