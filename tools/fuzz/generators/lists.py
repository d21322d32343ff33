"""Programs with loops that fill lists: by ``append``, by item and by comprehension.

A kernel has a list of numbers, one of arrays and one of lists. It appends to them, reads items from
either end, writes into items and into arrays that are items, gives lists other names, hands them to
helpers, goes over them, and makes arrays, sums and maxima of them. Its source is read at the first
call, as with the generator ``loops``.
"""

from __future__ import annotations

import random

from tools.fuzz.drawn import argnums, with_views

HEADER = """\
import numpy as np

from autodiff.structured import calls

calls.Settings.worth = calls.Settings.least = -1.0
N = {n}


def put(items, x):
    items.append(x * 0.5)
    return items[-1]


def last_two(items):
    return items[-1] * items[len(items) - 2]


def kernel(a, b, n):
    s = 0.5
    x = a * 1.0
    xs = {xs}
    rows = {rows}
    table = [[0.25] * 3 for _ in range(n)]
    other = xs
    few = [s, b[0]]
    same = few
    made = np.zeros(3)

    def add(v):
        xs.append(v)

{body}
    return {result}


def program(a, b):
    return np.sum(np.sin(kernel(a, b, N)))


ARGUMENTS = (np.sin(np.arange(4.0) + 0.3), np.cos(np.arange(4.0)))
ARGNUMS = {argnums}
"""


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
        return self.pick("0", "1", "-1", "2", *self.indices, *[f"{i} // 2" for i in self.indices])

    def of_list(self) -> str:
        return self.pick(
            "0",
            "-1",
            "-2",
            "len(xs) // 2",
            "len(xs) - 1",
            *[f"{i} % len(xs)" for i in self.indices],
        )

    def number(self, depth: int = 2) -> str:
        r = self.rng.random()
        if depth == 0 or r < 0.25:
            return self.pick("s", "0.5", f"a[{self.at()} % 4]", f"x[{self.at()} % 4]")
        if r < 0.5:
            return self.pick(
                f"xs[{self.of_list()}]",
                f"other[{self.of_list()}]",
                f"rows[-1][{self.at()} % 4]",
                f"rows[0][{self.at()} % 4]",
                f"table[{self.at()} % n][{self.at()} % 3]",
                "last_two(xs)",
                f"put(xs, {self.number(0)})",
                f"made[{self.at()} % 3]",
            )
        if r < 0.6:
            return self.pick(
                "0.1 * sum(xs)",
                "np.mean(xs)",
                "0.1 * np.sum(np.array(xs) ** 2)",
                "sum([v * s for v in xs]) * 0.1",
                f"sum(b[k % 4] * {self.number(0)} for k in range(n) if k != 1) * 0.2",
                "0.1 * np.sum(np.stack(rows) * b)",
                "np.mean(np.concatenate(rows))",
                "np.sum(np.array(table)) * 0.1",
                "np.sum(np.vstack(rows)[-1] * a)",
                "0.1 * np.max(xs)",
                "0.1 * np.sum(sum(rows))",
                "0.1 * np.dot(xs, xs)",
                "float(len(xs))",
                "sum([sum([v * s for v in xs]) * v for v in b]) * 0.1",
                "sum([sum([v * v for v in few]) * v for v in x]) * 0.1",
                f"few[{self.pick('0', '-1')}]",
                f"sum(xs + [s, {self.number(0)}]) * 0.1",
                f"([s, 0.5] + xs)[{self.of_list()}]",
                f"(s, {self.number(0)}, x[1])[{self.at()} % 3]",
                f"np.outer(x, a).reshape(-1)[{self.at()}] * 0.5",
                "np.stack(rows).ravel()[-1]",
                f"2 ** ({self.at()} % 3) * s * 0.3",
                "{1: s, 0: x[2]}[1]",
                f"x[max(range({self.at()} % 3, 4), key=lambda k: abs(x[k] - s))]",
                "min(xs, key=lambda v: (v - 0.31) ** 2) * 0.5",
                f"max([v * {self.number(0)} for v in b]) * 0.5",
                "min(rows[0])",
                f"sum(xs[{self.of_list()}:]) * 0.1",
                f"sum(xs[{self.of_list()}:{self.of_list()}:{self.pick('1', '2', '-1')}]) * 0.2",
            )
        if r < 0.9:
            op = self.pick("+", "-", "*")
            return f"({self.number(depth - 1)} {op} {self.number(depth - 1)})"
        return f"np.sin({self.number(depth - 1)})"

    def array(self) -> str:
        return self.pick(
            f"np.tanh(rows[-1] * {self.number(1)})",
            f"x * {self.number(1)}",
            "x",
            "rows[0]",
            "a[::-1]",
            "np.zeros(4)",
            "x.copy()",
            f"rows[{self.pick('0', '-1', 'len(rows) // 2')}] + 0.5 * b",
            f"np.array([v * {self.number(0)} for v in b])",
        )

    def statement(self) -> None:
        self.room -= 1
        r = self.rng.random()
        if r < 0.25:
            self.add(
                f"{self.pick('xs.append', 'xs.append', 'other.append', 'add')}({self.number()})"
            )
        elif r < 0.4:
            self.add(f"rows.append({self.array()})")
        elif r < 0.5:
            place = self.pick(f"xs[{self.of_list()}]", f"table[{self.at()} % n][{self.at()} % 3]")
            self.add(f"{place} {self.pick('=', '=', '+=', '*=')} {self.number()}")
        elif r < 0.58:
            self.add(
                self.pick(
                    f"rows[-1][{self.at()} % 4] = {self.number(1)}",
                    f"rows[0][1:3] *= {self.number(0)}",
                    f"x[{self.at()} % 4] += {self.number(1)}",
                    "rows[-1] += 0.1 * b",
                    f"rows[{self.pick('0', '-1')}] *= {self.number(0)}",
                    f"rows[-1] = {self.array()}",
                    f"table[{self.at()} % n] = [{self.number(0)}, s, 0.5]",
                )
                if self.rng.random() < 0.6
                else f"x = {self.array()}"
            )
        elif r < 0.66:
            self.add(
                self.pick(
                    "xs = [v * 0.5 for v in xs]",
                    "other = [s, s * s]",
                    "other = xs",
                    f"xs = [{self.number(1)}, s]",
                    f"rows = [{self.array()}]",
                    f"table.append([{self.number(0)}, s, 0.5])",
                    f"made = np.array([{self.number(0)} * k for k in range(3)])",
                    "xs = [0.5] * n",
                    "xs = [s] + xs[1:]",
                    "xs = xs[::-1]",
                    "other = xs[:]",
                    "rows = rows[-2:]",
                    "xs = list(other)",
                    "rows = rows + [x * s]",
                    "x = np.stack([x, b]).reshape(4, 2)[:, 0] * s",
                )
            )
        elif r < 0.76:
            self.add(f"s = np.tanh({self.number()})")
        elif r < 0.84:
            self.add(
                f"if {self.pick('s > 0.2', 'len(xs) > 4', f'xs[-1] < {self.number(1)}', 'n > 3')}:"
            )
            self.block(2)
            if self.rng.random() < 0.4:
                self.add("else:")
                self.block(2)
        elif len(self.indices) < 2:
            self.loop()
        if self.rng.random() < 0.3:
            self.add("s = np.sin(s)")
        elif self.rng.random() < 0.02:
            self.add(f"same{self.pick('.append(s)', '[0] = s * 0.5', '[-1] *= s', ' += [s, 0.5]')}")

    def block(self, most: int) -> None:
        n = len(self.lines)
        self.depth += 1
        for _ in range(self.rng.randint(1, most)):
            if self.room > 0:
                self.statement()
        if len(self.lines) == n:
            self.add("s = 0.5 * s")
        self.depth -= 1

    def loop(self) -> None:
        name = "ij"[len(self.indices)]
        if self.rng.random() < 0.35:
            head, line = self.rng.choice(
                [
                    ("v in xs", "s = s + 0.1 * v"),
                    ("row in rows", "s = s + 0.1 * row[1]"),
                    ("row in rows", "row[0] *= 0.9"),
                    ("v, w in zip(xs, b)", "s = s + v * w"),
                    ("v in reversed(xs)", "s = np.sin(s + v)"),
                    ("row in table", "row[1] = row[0] * s"),
                    ("row in table", "s = s + 0.1 * sum(row)"),
                ]
            )
            self.add(f"for {head}:")
            self.depth += 1
            self.add(line)
            self.depth -= 1
            return
        self.add(f"for {name} in range({self.pick('n', '3', '1, n')}):")
        self.indices.append(name)
        self.block(4)
        if self.rng.random() < 0.25:
            self.add(f"    if {self.number(0)} > {self.pick('0.1', '0.6', 's')}:")
            self.add(f"        {self.pick('break', 'continue')}")
            self.block(1)
        self.indices.pop()
        if self.rng.random() < 0.25:
            self.add("else:")
            self.block(1)
            if self.indices and self.rng.random() < 0.5:
                self.add(f"    {self.pick('break', 'continue')}")


def write(seed: int) -> str:
    """Return the program of a seed."""
    rng = random.Random(seed)
    writer = _Writer(rng)
    writer.loop()
    while writer.room > 0:
        writer.statement()
    result = rng.choice(
        (
            "s + xs[-1]",
            "np.array(xs)",
            "np.stack(rows)",
            "rows[-1] * s",
            "np.sum(np.array(table)) + sum(xs)",
            "sum(rows) + s",
            "x * xs[0] + made[1]",
        )
    )
    return HEADER.format(
        n=rng.randint(3, 5),
        xs=rng.choice(("[s]", "[a[0], b[1]]", "[v * v for v in a]", "[0.5, 1.5]", "[0, s]")),
        rows=rng.choice(("[x]", "[a]", "[b * 0.5, a]", "[a * k for k in range(3)]")),
        body=with_views("\n".join(writer.lines), ("x", "a", "b"), seed),
        argnums=argnums(seed, 2),
        result=result,
    )
