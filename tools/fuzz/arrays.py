"""Random programs on small arrays: what `autodiff.compile` makes loops of.

A program is a straight line of elementwise operations, slices in all directions, products,
reductions, writes into copies, and perhaps a loop that carries an array. It returns a sum of
squares.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

Shape = tuple[int, ...]
_OF_ONE = (
    "np.tanh({})", "0.7 * np.sin({})", "0.3 * {} * {}", "1.1 * {} - 0.2", "np.exp(-({}**2))",
    "np.abs({}) + 0.1 * {}", "np.where({} > 0.1, {}, 0.5 * {})", "np.maximum({}, 0.05)",
    "1 / (1 + np.exp(-{}))", "np.clip({}, -1, 1.2)", "{}.copy()",
    "np.exp({} - np.max({})) / np.sum(np.exp({} - np.max({})))",
)  # fmt: skip


class ArrayWriter:
    """Writes one program; the same seed writes the same program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.n = self.random.choice([3, 4, 6])
        self.shapes: dict[str, Shape] = {"x": (self.n,), "w": (self.n, self.n)}
        self.lines = ["def f(x, w):"]
        self.indent = "    "
        self.names = 0

    def program(self) -> str:
        """Return the text of a function ``f(x, w)``."""
        for _ in range(self.random.randint(3, 10)):
            self._statement()
        if self.random.random() < 0.5:
            self._loop()
        for _ in range(self.random.randint(0, 3)):
            self._statement()
        outputs = [v for v in self.shapes if v != "w"]
        self.random.shuffle(outputs)
        terms = [self._weighted(v) for v in outputs[:3]]
        self.lines.append("    return " + " + ".join(terms))
        return "\n".join(self.lines) + "\n"

    def _weighted(self, v: str) -> str:
        shape = self.shapes[v]
        size = int(np.prod(shape))
        return f"np.sum({v} * {v} * np.arange(1.0, {size + 1}).reshape({shape}))"

    def _loop(self) -> None:
        start = self._any(1)
        before = {**self.shapes, "h": self.shapes[start]}
        self.lines += [f"    h = {start} * 1.0", f"    for t in range({self._one(3, 5)}):"]
        self.shapes["h"] = self.shapes[start]
        self.indent = "        "
        for _ in range(self.random.randint(1, 4)):
            self._statement()
        other = self._like(self.shapes["h"])
        self.lines.append(f"        h = np.tanh(0.5 * h + 0.5 * {other})")
        self.indent = "    "
        self.shapes = before

    # -- what is drawn -----------------------------------------------------------------------------

    def _one(self, *choices):
        return self.random.choice(choices)

    def _any(self, ndim: int | None = None) -> str:
        return self.random.choice(
            [v for v, s in self.shapes.items() if ndim is None or len(s) == ndim]
        )

    def _like(self, shape: Shape) -> str:
        return self.random.choice([v for v, s in self.shapes.items() if s == shape])

    def _slices(self, shape: Shape) -> tuple[str, Shape]:
        found = [
            self._one(":", "::-1", "1:", ":-1", "1:-1" if n > 2 else ":", "::2", "-1::-1")
            for n in shape
        ]
        text = ", ".join(found)
        return text, eval(f"np.empty({shape})[{text}]", {"np": np}).shape

    def _made(self, text: str, shape: Shape) -> None:
        if not shape or 0 in shape:
            return
        self.names += 1
        self.lines.append(f"{self.indent}v{self.names} = {text}")
        self.shapes[f"v{self.names}"] = shape

    # -- statements --------------------------------------------------------------------------------

    def _statement(self) -> None:
        weights = [4, 4, 3, 2, 2, 2, 2, 3, 1, 1, 1]
        self.random.choices(_STATEMENTS, weights)[0](self)

    def _of_one(self) -> None:
        a = self._any()
        self._made(self.random.choice(_OF_ONE).replace("{}", a), self.shapes[a])

    def _of_two(self) -> None:
        a = self._any()
        b = self._like(self.shapes[a])
        self._made(f"{a} {self._one('+', '-', '*')} {b}", self.shapes[a])

    def _view(self) -> None:
        a = self._any()
        text, shape = self._slices(self.shapes[a])
        self._made(f"{a}.T" if self._one(0, 0, 1) else f"{a}[{text}]", shape)
        if f"{a}.T" in self.lines[-1]:
            self.shapes[f"v{self.names}"] = self.shapes[a][::-1]

    def _moved(self) -> None:
        a = self._any()
        shape = self.shapes[a]
        axis = self.random.randrange(len(shape))
        how = self._one("np.roll({}, 1, axis={})", "0.4 * np.cumsum({}, axis={})")
        self._made(how.format(a, axis), shape)

    def _joined(self) -> None:
        a, axis = self._any(1), self._one(0, 1)
        m = self.shapes[a][0]
        if self._one(0, 1):
            b = self._like((m,))
            self._made(f"np.stack([{a}, {b}], axis={axis})", (m, 2) if axis else (2, m))
        else:
            b = self._any(1)
            n = min(self.n, m + self.shapes[b][0])
            self._made(f"np.concatenate([{a}, {b}])[:{n}]", (n,))

    def _reduced(self) -> None:
        a = self._any()
        shape = self.shapes[a]
        axis, keeps = self.random.randrange(len(shape)), self._one(True, False)
        rest = tuple([1 if i == axis else n for i, n in enumerate(shape) if keeps or i != axis])
        how = self._one("sum", "mean", "max", "min", "var")
        self._made(f"np.{how}({a}, axis={axis}, keepdims={keeps})", rest)

    def _product(self) -> None:
        m = self._any(2)
        rows, columns = self.shapes[m]
        vectors = [v for v, s in self.shapes.items() if s == (columns,)]
        if not vectors:
            return
        v = self.random.choice(vectors)
        if rows == columns and self._one(0, 1):
            self._made(f"np.linalg.solve(0.1 * {m} + 3 * np.eye({rows}), {v})", (rows,))
        else:
            self._made(f"0.5 * ({m} @ {v})", (rows,))

    def _written(self) -> None:
        a = self._any()
        if a in ("x", "w"):
            return
        text, shape = self._slices(self.shapes[a])
        values = [v for v, s in self.shapes.items() if s == shape and v != a]
        value = f"0.5 * {self.random.choice(values)}" if values and 0 not in shape else "0.3"
        self.lines.append(f"{self.indent}{a}[{text}] {self._one('=', '+=', '*=', '-=')} {value}")

    def _element(self) -> None:
        a = self._any(1)
        if a == "x":
            return
        i, k = (self.random.randrange(self.shapes[a][0]) for _ in range(2))
        self.lines.append(f"{self.indent}{a}[{i}] {self._one('=', '+=')} 0.5 * {a}[{k}] + 0.1")

    def _places(self) -> None:
        a = self._any(1)
        m = self.shapes[a][0]
        places = [self.random.randrange(-m, m) for _ in range(self._one(2, 3, 4))]
        self._made(f"{a}[np.array({places})]", (len(places),))

    def _added(self) -> None:
        a = self._any(1)
        m = self.shapes[a][0]
        self._made(f"1.0 * {a}", (m,))
        places = [self.random.randrange(m) for _ in range(3)]
        self.lines.append(f"{self.indent}np.add.at(v{self.names}, {places}, {a}[0])")


_STATEMENTS: list[Callable[[ArrayWriter], None]] = [
    ArrayWriter._of_one, ArrayWriter._of_two, ArrayWriter._view, ArrayWriter._moved,
    ArrayWriter._joined, ArrayWriter._reduced, ArrayWriter._product, ArrayWriter._written,
    ArrayWriter._element, ArrayWriter._places, ArrayWriter._added,
]  # fmt: skip


def array_program(seed: int) -> tuple[str, int]:
    """Return the text of a program ``f(x, w)`` and n, where `x` has n elements and `w` n x n."""
    writer = ArrayWriter(seed)
    return writer.program(), writer.n
