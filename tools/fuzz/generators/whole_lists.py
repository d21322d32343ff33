"""Programs whose functions with loops are given lists of numbers, change them, and return lists.

The lists are short or long, nested, and hold integers as well. A row may stand in a list twice, be
another argument, or be taken out of its list and changed, and what is returned may be an argument.
Their source is read at the first call, as with the generator ``loops``.
"""

from __future__ import annotations

import random

from tools.fuzz.drawn import argnums

HEADER = """\
import math

import numpy as np

from autodiff.structured import calls

calls.Settings.worth = calls.Settings.least = -1.0


def numbers_in(x):
    if isinstance(x, (list, tuple)):
        return [v for part in x for v in numbers_in(part)]
    return [x] if isinstance(x, float) else []


def changed(xs, rows, others, t):
    i = 0
    ys = [t]
    row = rows[0]
    for i in range({turns}):
{inside}
{behind}
    return {result}


def program(a, b):
    xs = {xs}
    rows = {rows}
    others = {others}
{aliases}
    held, first = rows[0], xs
    t = a[0] * b[1]
    y = changed(xs, rows, others, t)
    if y is first:
        t = t * 1.5
    if isinstance(y, list) and y and any(y[0] is v for v in rows):
        t = t * 1.25
    total = t
    for k, v in enumerate(numbers_in([y, xs, rows, others, held])):
        total = total + v * math.cos(k * 0.37) + 0.1 * math.sin(v)
    return total


ARGUMENTS = (np.sin(np.arange(4.0) + 0.3), np.cos(np.arange(4.0)))
ARGNUMS = {argnums}
"""

_PLACES = ("0", "1", "-1", "i % len(xs)", "(i + 1) % len(xs)", "len(xs) - 1")
_ROWS = ("0", "1", "-1", "i % len(rows)")
_RESULTS = (
    "t", "xs", "rows", "(t, xs)", "ys", "(ys, rows)", "[t, xs[0]]", "row", "(xs, ys)", "None",
    "[[t, 2.0], [xs[0], t]]", "{'t': t, 'row': row}",
)  # fmt: skip


class _Writer:
    """Writes the statements of a function that is given lists."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def value(self, depth: int = 0) -> str:
        """Return an expression of what the lists hold."""
        pick, kind = self.rng.choice, self.rng.randrange(9 if depth < 3 else 6)
        if kind < 6:
            return pick(
                (
                    f"{self.rng.uniform(-2.0, 2.0):.3f}",
                    "t",
                    f"xs[{pick(_PLACES)}]",
                    f"rows[{pick(_ROWS)}][{pick(('0', '1', '-1', 'i % 3'))}]",
                    "ys[-1]",
                    "others[0]",
                )
            )
        if kind == 6:
            return f"math.sin({self.value(depth + 1)})"
        return f"({self.value(depth + 1)} {pick('+-*')} {self.value(depth + 1)})"

    def statements(self, depth: int, n: int) -> list[str]:
        """Return so many statements."""
        return [line for _ in range(n) for line in self.statement(depth)]

    def statement(self, depth: int) -> list[str]:
        """Return the lines of a statement."""
        pick, kind = self.rng.choice, self.rng.randrange(12 if depth < 3 else 10)
        if kind == 10:
            head = f"for i in range({self.rng.randrange(1, 4)}):"
            return self.indented(depth, head, *self.statements(1, self.rng.randrange(1, 4)))
        if kind == 11:
            head = f"if {self.value()} > {self.rng.uniform(-1.0, 1.0):.2f}:"
            then = self.indented(depth, head, *self.statements(1, 2))
            return then + self.indented(depth, "else:", *self.statement(1))
        place, i, j = pick(_PLACES), pick(_ROWS), pick(("0", "1", "-1"))
        row = f"[{self.value()}, {self.value()}, {self.value()}]"
        lines = (
            [f"xs[{place}] {pick(('=', '+=', '*=', '-='))} {self.value()}"],
            [f"rows[{i}][{j}] = {self.value()}"],
            [f"rows[{i}], rows[{pick(_ROWS)}] = rows[{pick(_ROWS)}], rows[{i}]"],
            [f"row = rows[{i}]", f"row[{j}] {pick(('=', '+=', '*='))} {self.value()}"],
            [f"t = {pick((self.value(), 't + sum(xs)', 't - sum(row)'))}"],
            [f"{pick(('xs', 'ys'))}.append({self.value()})"],
            [f"rows[{i}] = {row}"],
            [f"rows.append({pick((row, f'rows[{i}]'))})"],
            [f"for v in {pick(('xs', 'row', 'ys', 'rows[0]'))}:", "    t += v * 0.2"],
            [pick(("if len(xs) > 4: xs.pop()", f"xs.insert(1, {self.value()})",
                   f"ys = {pick(('xs', '[t, 1.0]', 'list(xs)', 'row'))}"))],
        )  # fmt: skip
        return ["    " * depth + line for line in lines[kind]]

    def indented(self, depth: int, head: str, *lines: str) -> list[str]:
        """Return lines under a head."""
        return ["    " * depth + head, *["    " * depth + line for line in lines]]


def write(seed: int) -> str:
    """Return the program of a seed."""
    rng = random.Random(seed)
    writer = _Writer(rng)
    aliases = ["    rows[1] = rows[0]"] * (rng.random() < 0.2)
    aliases += [f"    xs[{rng.randrange(3)}] = {rng.randrange(-2, 3)}"] * (rng.random() < 0.2)
    aliases += [f"    others = {rng.choice(('xs', 'rows[0]'))}"] * (rng.random() < 0.2)
    short, long = "[v * 1.0 for v in a]", "[a[i % 4] * (0.5 + 0.01 * i) for i in range(60)]"
    many = "[[a[i % 4], b[j] * 0.5, 0.1 * i + b[0]] for i in range(20) for j in range(1)]"
    return HEADER.format(
        turns=rng.randrange(1, 4),
        inside="\n".join(writer.statements(2, rng.randrange(2, 7))),
        behind="\n".join(writer.statements(1, rng.randrange(1, 3))),
        result=rng.choice(_RESULTS),
        xs=rng.choice((short, short, long)),
        rows=rng.choice(("[[a[0], b[1], a[2]], [b[0], 0.5, a[3]]]", many)),
        others="[b[2] * 1.0, b[3] * a[1], 0.3]",
        aliases="\n".join(aliases) or "    pass",
        argnums=argnums(seed, 2),
    )
