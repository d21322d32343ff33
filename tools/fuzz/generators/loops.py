"""Programs with loops over elements, rows and slices, as numerical code is written.

A kernel gets traced arrays, numbers and sizes, and mixes loops (up, down, by steps, nested, with
`break`, `continue` and `while`), branches, reads and writes of elements, rows, columns and slices
that overlap, views kept in variables, arrays that change their names, scratch arrays, helpers that
write into what they are given, and products and sums of parts. Other arrays (a matrix, rows and a
column, which are broadcast) are bound anew and hardly ever indexed. Its source is read at once.
"""

from __future__ import annotations

import random

from tools.fuzz.drawn import argnums, with_views

HEADER = """\
import math

import numpy as np

from autodiff.structured import calls

calls.Settings.worth = calls.Settings.least = -1.0
N = {n}
C = np.cos(np.arange(float(N)))


def smooth(r, k):
    for i in range(1, len(r) - 1):
        r[i] = 0.5 * r[i] + k * (r[i - 1] - 0.25 * r[i + 1])


def scaled(r, k):
    return np.tanh(k * r)


def pair(r, q, i):
    if i % 2 == 0:
        return r[i] * q[i], r[i]
    return r[i], q[i] + 0.5


def bent(x, y):
    if x > y:
        return x * y
    for i in range(2):
        y = np.sin(x * y) + i
        if y > 0.8:
            break
    if y < 0.2:
        return y - x
    return y


def goes_on(i, x):
    if x > 0.5:
        return i < 2
    for k in range(i):
        if k > 1:
            return False
    return i < 4


def damped(r):
    r[0] *= 0.9
    return r[0]


def first_above(r, limit, k=0.5):
    for i, v in enumerate(r):
        if v > limit:
            return v * k
        for q in r[:i]:
            if q * v > 0.3:
                return q + k * i
        limit = limit * 0.9
    return limit


def halved(x):
    while True:
        x = 0.5 * x
        if -0.4 < x < 0.4:
            return x, x * x


def kernel({names}, n, k):
    w = np.zeros(n)
    u = a * 0.5
    s = 0.25
    t = 1.0
    count = 0
    z = np.arange(n)
    p = (s, t)
    q = [s, 0.5 * t]
    e = np.tanh(m * 0.5)
    g = np.mean(m, axis=0, keepdims=True)
    h = 0.3 * np.sum(m, axis=1, keepdims=True)
    y = 0.5 * g

    def inside(x, c=0.5):
        return np.sin(c * x) + k * s * p[0]

{body}
    return {result}


def program({names}):
{copies}
    y = kernel({names}, N, 0.7)
    total = 0.0
    for part in y if isinstance(y, tuple) else (y,):
        total = total + np.sum(np.sin(part))
    return total + {rest}


ARGUMENTS = {arguments}
ARGNUMS = {argnums}
"""

_VECTORS = ("a", "b", "w", "u")


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.depth = 1
        self.indices: list[str] = []  # loop variables that are valid positions here
        self.loops = 0
        self.room = rng.randint(5, 14)

    def add(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def vector(self) -> str:
        return self.pick(*_VECTORS)

    def at(self) -> str:
        """Write a position that is inside."""
        if not self.indices:
            return self.pick("0", "1", "-1", "n - 2", "n // 2")
        i = self.pick(*self.indices)
        return self.pick(i, i, f"{i} - 1", f"n - 1 - {i}", f"-{i} - 1", f"{i} // 2")

    def element(self) -> str:
        if self.rng.random() < 0.3:
            return f"m[{self.at()}, {self.at()}]"
        return f"{self.vector()}[{self.at()}]"

    def inner(self) -> str:
        """Write a slice of n - 2 elements."""
        span = self.pick("1:-1", "2:", ":-2", ":n - 2", "1:n - 1", "-2:0:-1")
        kind = self.rng.random()
        if kind < 0.2:
            return f"m[{self.at()}, {span}]"
        if kind < 0.4:
            return f"m[{span}, {self.at()}]"
        return f"{self.vector()}[{span}]"

    def full(self) -> str:
        return self.pick(
            *_VECTORS, f"m[{self.at()}]", f"m[:, {self.at()}]", "C", "m.T[1]", "np.flip(b)"
        )

    def number(self, depth: int = 2) -> str:
        r = self.rng.random()
        if depth == 0 or r < 0.3:
            return self.pick(
                "s", "t", "k", "0.5", "-0.3", self.element(), self.element(), self.element()
            )
        if r < 0.6:
            op = self.pick("+", "-", "*")
            return f"({self.number(depth - 1)} {op} {self.number(depth - 1)})"
        if r < 0.7:
            f = self.pick("np.sin", "np.tanh", "math.cos", "np.arctan")
            return f"{f}({self.number(depth - 1)})"
        if r < 0.75:
            return f"({self.number(depth - 1)} / (1.5 + {self.element()} ** 2))"
        if r < 0.8:
            x, y = self.number(0), self.number(depth - 1)
            return self.pick(
                f"(({x}) if {x} < {y} else ({y}))",
                f"min({x}, {y}, 0.7)",
                f"max({y}, {x})",
                f"inside({y})",
                f"inside({x}, c={y})",
                "p[0]",
                "q[1]",
                f"first_above({self.vector()}, {x})",
                f"sum([v * {x} for v in q])",
                f"halved({x})[1]",
                "(lambda v: v * t)(s)",
                f"divmod({x}, 0.37)[1]",
                f"np.modf({y})[0] * s",
                f"np.dot(({x}, {y}), a[:2] if s > t else b[1:3])",
                f"np.sum(np.hypot(({x}, {y}), a[z[:2]] if {x} > t else b[1:3]))",
                f"a[z[{self.at()}]]",
            )
        if r < 0.81:
            return f"bent({self.number(depth - 1)}, {self.number(0)})"
        if r < 0.84:
            return self.pick(
                "np.sum(a[1:])",
                "np.mean(w)",
                "u.sum()",
                "np.max(b)",
                "np.dot(a, b)",
                "(w @ m @ u)",
                "damped(b)",
                "np.sum(np.roll(a, count))",
                "np.mean(m, axis=1)[0]",
                "np.sum(m * w, axis=0, keepdims=True)[0, 1]",
                "np.mean(m[1:] * s)",
                f"np.array([s, {self.number(0)}, t]) @ np.array([1.0, t, {self.number(0)}])",
                f"np.array([[s, -t], [t, {self.number(0)}]])[1].sum()",
                "np.sum(m @ m.T) * 0.01",
                "np.sum(np.diag(m) * a)",
                f"np.linalg.norm({self.full()}) * np.min(u)",
                f"np.maximum({self.number(0)}, np.minimum(s, {self.number(0)}))",
                f"np.logaddexp({self.number(0)}, t) * np.copysign(0.5, s)",
                "np.linalg.det(0.1 * m + np.eye(n))",
            )
        if r < 0.9 and self.indices:
            i = self.pick(*self.indices)
            return f"{self.pick('a', 'b', 'w')}[:{i}] @ {self.pick('a', 'u')}[:{i}]"
        return f"abs({self.number(depth - 1)})"

    def span(self, depth: int = 2) -> str:
        """Write an expression of n - 2 elements."""
        r = self.rng.random()
        if depth == 0 or r < 0.35:
            return self.inner()
        if r < 0.75:
            op = self.pick("+", "-", "*")
            left = self.number(1) if self.rng.random() < 0.3 else self.span(depth - 1)
            return f"({left} {op} {self.span(depth - 1)})"
        return f"{self.pick('np.sin', 'np.tanh', 'scaled')}({self.span(depth - 1)}{{k}})"

    def spanned(self) -> str:
        text = self.span()
        while "scaled(" in text:
            # A helper takes a factor as well.
            start = text.rindex("scaled(")
            end = text.index("{k}", start)
            text = text[:start] + "SCALED(" + text[start + 7 : end] + ", k" + text[end + 3 :]
        return text.replace("SCALED(", "scaled(").replace("{k}", "")

    def statement(self) -> None:
        self.room -= 1
        r = self.rng.random()
        if r < 0.16:
            self.add(f"{self.element()} {self.pick('=', '+=', '-=', '*=')} {self.number()}")
        elif r < 0.32:
            self.add(f"{self.inner()} {self.pick('=', '=', '+=', '-=', '*=')} {self.spanned()}")
        elif r < 0.42:
            self.add(f"{self.pick('s', 't')} {self.pick('=', '+=', '*=')} {self.number()}")
        elif r < 0.48:
            made = self.pick(
                f"np.tanh({self.full()})",
                f"{self.full()} * {self.number(1)}",
                f"{self.full()}.copy()",
                "np.zeros_like(a)",
                f"np.roll({self.full()}, {self.pick('1', '-2', 'count')}) * 1.0",
                f"np.maximum({self.full()}, {self.pick('s', 'b')})",
                f"np.linalg.{self.pick('solve', 'inv')}(0.1 * m + 3.0 * np.eye(n){{y}}",
                "np.sum(m, axis=0)",
                "np.mean(m * s, axis=-1)",
                "(0.1 * m @ np.eye(n))[1]",
                f"np.where({self.full()} > 0.1, a, {self.full()})",
            )
            end = f", {self.full()})" if "solve" in made else ")[1] * 1.0"
            self.add(f"{self.pick('w', 'u')} = {made.replace('{y}', end)}")
        elif r < 0.53:
            self.add(
                self.pick(
                    "a, b = b, a",
                    "w = a",
                    "u = m[1]",
                    "u = w[::-1]",
                    "w, u = u, w",
                    "w = m[:, 0]",
                    "a[:] = b",
                    "w = a[:]",
                    "a[1:-1] = a[:-2]",
                    "b[::-1] = a",
                )
            )
        elif r < 0.58:
            operand = self.pick(self.full(), self.number(1))
            self.add(f"{self.vector()} {self.pick('+=', '-=', '*=')} {operand}")
        elif r < 0.62:
            self.add(
                self.pick(
                    f"smooth({self.vector()}, k)",
                    "smooth(m[1], 0.1)",
                    f"s, t = pair({self.vector()}, {self.vector()}, {self.at()})",
                    "a[a > 0.5] = 0.25",
                    "b[b < s] *= 0.5",
                    "m[0] = m[1] = a",
                    "np.multiply(a, s, out=w)",
                    "np.add(b, a, out=b)",
                    f"p = ({self.number(1)}, p[0] * 0.5)",
                    "q = [v * 0.7 + c for v, c in zip(q, p)]",
                    "s, t = p",
                    "t, s = a[1:3]",
                    f"s, (t, w[0]) = {self.element()}, halved(t)",
                    "count += 1",
                    f"a[{self.at()}], a[{self.at()}] = a[{self.at()}], {self.element()}",
                    f"z[{self.at()}], z[{self.at()}] = z[{self.at()}], z[{self.at()}]",
                    f"s, t = math.modf({self.number(1)})[0], divmod(t, 0.6)[1]",
                    "b = (b + a[z]) * 0.5",
                )
            )
        elif r < 0.72:
            self.branch()
        elif r < 0.82:
            self.whole()
        elif r < 0.97 and self.loops < 3:
            self.loop()
        else:
            self.add(f"s = s + 0.1 * {self.number()}")
        self.bound()

    def whole(self) -> None:
        """Bind arrays that are nowhere written into, or sum them."""
        row = self.pick("g", "y")
        number = self.number(0)
        self.add(
            self.pick(
                f"e = np.tanh(e + {row})",
                "e = 0.5 * e * h",
                f"e = np.where(e > {number}, e, {row} * 1.0)",
                "e = 0.3 * (e @ e)",
                f"e = e + {number} * {row} - h",
                f"e = np.sin(e) * {self.pick('e', 'h', 'g', 't')}",
                f"{row} = {number} * g",
                f"{row} = np.tanh({row} + y * {number})",
                f"{row} = np.mean(e, axis=0, keepdims=True)",
                f"{row} = np.maximum({row}, {number})",
                "g, y = y, g",
                "y = np.cos(y) * np.mean(y + g)",
                "h = h - 0.1 * h * h",
                "h = 0.2 * (e @ h)",
                f"s = s + 0.1 * np.sum({row} * 2.0) + 0.1 * np.sum({row} + e)",
                f"t = t + 0.1 * np.mean({row} + h) * np.sum({row})",
                f"s = s + 0.1 * np.sum(np.hypot({row}, e)) - 0.1 * np.sum(h * {row})",
                f"w = {number} * g.sum(axis=0)",
                *(["u = e[0] * s", "e = e.T"] if self.rng.random() < 0.1 else []),
            )
        )

    def bound(self) -> None:
        """Keep the values small."""
        if self.rng.random() < 0.35:
            self.add(
                self.pick(
                    "s = np.tanh(s)",
                    "t = math.sin(t)",
                    "a *= 0.5",
                    "m *= 0.5",
                    "w = np.tanh(w)",
                    "u = np.sin(u)",
                    "b[:] = np.tanh(b)",
                    "e = np.tanh(e)",
                    "h = np.sin(h)",
                )
            )

    def block(self, most: int) -> None:
        n = len(self.lines)
        self.depth += 1
        for _ in range(self.rng.randint(1, most)):
            if self.room > 0:
                self.statement()
        if len(self.lines) == n:
            self.add("s = 0.5 * s")
        self.depth -= 1

    def branch(self) -> None:
        test = self.pick(
            f"{self.number(1)} > 0.1",
            "n > 3",
            "count < 2",
            f"{self.element()} < s",
            f"-0.3 < {self.element()} <= 0.8",
            f"{self.element()} > 0 and n > 3",
            f"s < t or not {self.element()} > 0.2",
            *[f"{i} % 2 == 0" for i in self.indices],
        )
        if self.rng.random() < 0.12:
            self.add(f"if {self.pick('abs(s) > 50', f'{self.element()} > 50', 'n < 0')}:")
            self.add("    raise ValueError(n)")
            return
        self.add(f"if {test}:")
        self.block(2)
        if self.loops and self.rng.random() < 0.25:
            self.lines.append("    " * (self.depth + 1) + self.pick("continue", "break"))
        if self.rng.random() < 0.5:
            self.add("else:")
            self.block(2)

    def loop(self) -> None:
        self.loops += 1
        name = "ijl"[self.loops - 1]
        outer = self.indices[-1] if self.indices else None
        heads = [
            "range(n)",
            "range(1, n)",
            "range(n - 1, 0, -1)",
            "range(0, n, 2)",
            "range(2)",
            "range(n - 1)",
        ]
        if outer:
            heads += [f"range({outer})", f"range({outer}, n)", f"range({outer} + 1, n)"]
        if self.rng.random() < 0.12:
            self.add(f"{name} = 0")
            test = self.pick(
                f"{name} < 3", f"{name} < n - 1", f"{name} < 3 and s < 9.0", f"-1 < {name} < 3",
                f"goes_on({name}, t)", f"({name} if n > 4 else {name} + 1) < 4",
            )  # fmt: skip
            self.add(f"while {test}:")
            self.indices.append(name)
            self.depth += 1
            self.add(f"{name} += 1")
            self.depth -= 1
            # What follows may not jump over the step, which is first.
            self.indices[-1] = f"({name} - 1)"
            self.block(3)
        elif self.rng.random() < 0.3:
            value = f"{name}v"
            head, *others = self.rng.choice(
                [
                    (f"{name}, {value} in enumerate({self.vector()})", f"s = s + 0.1 * {value}"),
                    (f"{name}, {value} in enumerate(m)", f"{value}[0] *= 0.5"),
                    (f"{name}, (s, {value}) in enumerate(zip(a, b[1:]))", f"t = t * {value}"),
                    (f"{name}, {value} in zip(range(n), reversed(u))", f"s = {value} - s"),
                    (f"{name}, {value} in enumerate([s, t, 0.5])", f"s = np.sin({value})"),
                    (f"{name} in reversed(range(1, n))",),
                ]
            )
            self.add(f"for {head}:")
            self.depth += 1
            for line in others:
                self.add(line)
            self.depth -= 1
            self.indices.append(name)
            self.block(3)
        else:
            self.add(f"for {name} in {self.pick(*heads)}:")
            self.indices.append(name)
            self.block(4)
        self.indices.pop()
        self.loops -= 1


def write(seed: int) -> str:
    """Return the program of a seed."""
    rng = random.Random(seed)
    n = rng.randint(4, 6)
    writer = _Writer(rng)
    writer.loop()
    while writer.room > 0:
        writer.statement()
    names = "a, b, m"
    result = rng.choice(
        (
            "s",
            "s + t",
            "w + u",
            "(s, w)",
            "(w * s, t)",
            "np.sum(a) * t",
            "w @ u + s",
            "(u, w, s)",
            "(w[1:], np.diag(m))",
            "(u, a)",
            "(s, e)",
            "e + y",
            "(y * t, s)",
            "np.sum(e * g) + s",
            "y",
        )
    )
    rest = rng.choice(("0.0", "np.sum(a * C)", "np.sum(a) + np.sum(b * b)", "np.sum(m) * b[1]"))
    vector = "np.sin(np.arange(float(N)) + {})"
    return HEADER.format(
        n=n, names=names,
        body=with_views("\n".join(writer.lines), _VECTORS, seed),
        argnums=argnums(seed, 3),
        result=result,
        copies="    a, b, m = a.copy(), b.copy(), m * 1.0",
        rest=rest,
        arguments=f"({vector.format(0.3)}, {vector.format(1.1)}, "
        "np.cos(0.7 * np.arange(float(N * N))).reshape(N, N))",
    )  # fmt: skip
