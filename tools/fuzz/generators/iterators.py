"""Programs that take items from iterators: of `itertools`, of sets, in variables and arguments.

The loops change what the iterators go over, what functions read that the iterators call, and other
variables; some loops end early. Slices are in variables, and tuples are None at first.
"""

# ruff: noqa: E501 - statements stay on one line

from __future__ import annotations

import random

from tools.fuzz.drawn import argnums

HEADER = """\
import itertools
import math

import numpy as np

from autodiff.structured import calls

calls.Settings.worth = calls.Settings.least = -1.0


def walk(x, k):
    while True:
        x = 0.8 * x + 0.1 * k
        yield x


def summed(items, w):
    total = 0.0
    for x in items:
        total = 0.9 * total + w * x
    return total


def kernel(xs, a, s):
    limit, t, v, w = 0.1, 0.3, s, 0.2
    best, pair = None, None
    seen, other = {{0, 3}}, set()
    ys = [s, 0.4, -s, 0.2]
    window = slice(1, 4)

    def above(x):
        return x > limit

    def scaled(x, y=0.5):
        return x * v + y * limit

    for i in range({turns}):
{inside}
{behind}
    t += sum(ys) + sum(a) * 0.1 + (0.0 if best is None else best[0] * best[1])
    for k, x in enumerate(seen | other):
        t = 0.9 * t + 0.01 * x * k
    return t + (pair[0] if pair else s) + limit


def program(a, b):
    return kernel([x * 1.0 for x in b], a * 1.0, a[3] * b[2])


ARGUMENTS = (np.sin(np.arange(6.0) + 0.3), np.cos(np.arange(5.0)))
ARGNUMS = {argnums}
"""

_LISTS = ("xs", "ys", "a", "a", "xs[1:]", "a[window]", "a[::2]")
_VALUES = ("t", "v", "w", "s", "xs[i % 5]", "a[i % 6]", "ys[-1]", "limit", "len(seen)", "0.7")


class _Writer:
    """Writes statements about iterators."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def value(self) -> str:
        pick = self.rng.choice
        x, y = pick(_VALUES), pick(_VALUES)
        return pick((x, f"({x} {pick('+-*')} {y})", f"math.sin({x} + {y})"))

    def items(self, depth: int = 0) -> str:
        """Return an expression of an iterable of numbers."""
        pick = self.rng.choice
        xs = pick(_LISTS) if depth > 1 or self.rng.random() < 0.4 else self.items(depth + 1)
        ys, n = pick(_LISTS), self.rng.randrange(4)
        return pick((
            xs, f"iter({ys})", f"reversed({ys})", f"itertools.islice({xs}, {n})",
            f"itertools.islice({xs}, {n}, {pick(('None', '4'))}, {pick('12')})", f"map(scaled, {xs})",
            f"itertools.takewhile(above, {xs})", f"itertools.dropwhile(above, {xs})", f"filter(above, {xs})",
            f"itertools.filterfalse(above, {xs})", f"itertools.chain.from_iterable([{ys}, ys])",
            f"itertools.compress({xs}, itertools.cycle([1, 0, 1]))", f"(x * v for x in {xs} if x > limit)",
            f"(x * y for x in {xs} for y in {ys} if y < x)", f"itertools.starmap(scaled, zip({ys}, ys))",
            f"itertools.accumulate({ys}, lambda p, q: p * v + q)", f"itertools.accumulate({ys})",
            f"itertools.islice(walk(s, i), {n})", f"itertools.chain({ys}, ys)", f"(x * v for x in {ys})",
            f"itertools.islice(itertools.cycle({ys}), {n})", f"itertools.repeat(v, {n})",
        ))  # fmt: skip

    def change(self) -> str:
        """Return a statement that changes what iterators go over or functions read."""
        x = self.value()
        return self.rng.choice((
            f"t += {x}", f"t += {x}", f"v = {x}", f"limit = limit + 0.1 * {x}", f"a[i % 6] = {x}", f"ys[i % 4] = {x}",
            "ys[1:3] = [v, w]", f"xs[2] *= {x}", "w = w * 0.5", f"a[window] *= {x}", "seen.add(i + 7)",
            f"best = ({x}, w)", f"pair = ({x}, i)",
        ))  # fmt: skip

    def changes(self) -> list[str]:
        made = [f"    {self.change()}" for _ in range(self.rng.randrange(3))]
        if self.rng.random() < 0.3:
            jump = self.rng.choice(("break", "continue"))
            made = [f"    if w > {self.rng.uniform(-1.0, 1.0):.2f}:", f"        {jump}", *made]
        return made

    def statement(self, depth: int) -> list[str]:
        """Return the lines of a statement."""
        pick, xs, x, n = self.rng.choice, self.items(), self.value(), self.rng.randrange(1, 4)
        late = [self.change() for _ in range(self.rng.randrange(2))]
        lines = (
            [f"for w in {xs}:", f"    t += w * {x}", *self.changes()],
            [f"for k, w in enumerate({xs}):", "    t = 0.9 * t + w * k", *self.changes()],
            [f"it = {xs}", *late, "for w in it:", f"    t += w * {x}", *self.changes()],
            [f"it = {xs}", *late, f"t += summed(it, {x})", *([f"t += summed(it, {x})"] if self.rng.random() < 0.1 else [])],
            [f"t += summed({xs}, {x})", f"t += sum({self.items()}) + max({pick(_LISTS)})"],
            [f"it = iter({pick(_LISTS)})", "t += next(it, v)", f"for w in itertools.islice(it, {n}):", f"    t += w * {x}", *self.changes(), *late, "for w in it:", "    t -= w"],
            [f"it = iter({pick(_LISTS)})", "v = next(it, s)", f"for w, u in zip(it, {pick(_LISTS)}):", "    t += (w - v) * u", "    v = w", *self.changes()],
            [f"for k, group in itertools.groupby({pick(_LISTS)}, {pick(('above', 'lambda x: x > w', 'lambda x: x > 0.2'))}):", "    for w in group:", "        t += w if k else w * v", f"        {self.change()}"],
            [f"for k, group in itertools.groupby({xs}, above):", "    t += sum(group) * (1 + k)", *self.changes()],
            [f"for w, u in itertools.zip_longest({pick(_LISTS)}, {pick(_LISTS)}, fillvalue=0.5):", f"    t += w * u * {x}", *self.changes()],
            [f"for w, u in {pick(('itertools.permutations', 'itertools.combinations'))}({pick(_LISTS)}, 2):", "    t += 0.1 * w * u * u", *self.changes()],
            [f"for w, u in zip({pick(_LISTS)}, {pick(('itertools.cycle(ys)', 'itertools.repeat(v)', 'itertools.count(1)'))}):", f"    t += w * u * {x}", *self.changes()],
            [f"for w in walk(s, {n}):", f"    t += w * {x}", f"    if w < 0.3 or t * t > {n}.0:", "        break", "    v = v * 0.5", "    if v * v < 0.001:", "        break"],
            [f"for k in {pick(('seen', 'other', 'seen | other', 'seen - other', 'set(seen)', 'sorted(seen)', '{5, 13, 21, i}'))}:", f"    t = 0.9 * t + 0.1 * k * {x}", f"    other.{pick(('add', 'discard'))}((k * 5 + 3) % 16)"] if self.rng.random() < 0.7 else
            [f"seen {pick(('|= other', '= seen & {0, i, 3}', '= {k * 8 % 24 for k in range(i + 3)}', '= other.copy()', '= seen ^ other'))}", f"t += len(seen) * {x}"],
            [f"{pick(('seen', 'other'))}.{pick(('add', 'discard'))}({pick(('i', 'i * 8', '24 - i'))})", f"if i in seen and seen {pick(('<=', '!='))} other:", f"    t += {x}"],
            [f"if {x} > {self.rng.uniform(-1.0, 1.0):.2f}{pick((' and best is None', ' or not best', ''))}:", f"    best = ({x}, {self.value()})", "if best is not None and best[1] < 0.9:", f"    t += best[0] * {self.value()}"],
            [f"pair = {pick(('None', f'({x}, i)', f'({x}, {n})'))}", "if pair:", f"    t += pair[0] * pair[1] * {self.value()}"],
            [f"window = {pick(('slice(i % 2, 5)', 'np.s_[:3]', 'slice(None, None, 2)', 'np.s_[1:-1]', f'slice({n})'))}", f"t += np.sum(a[window]) * {x} + sum(ys[window])"],
            [f"ys.append({x})", f"t += ys.pop(0) * {x}"],
            [f"a[window] {pick(('=', '+=', '*='))} {x}", self.change()],
        )  # fmt: skip
        return ["    " * depth + line for line in pick(lines)]


def write(seed: int) -> str:
    """Return the program of a seed."""
    rng = random.Random(seed)
    writer = _Writer(rng)

    def statements(depth: int, n: int) -> str:
        return "\n".join(line for _ in range(n) for line in writer.statement(depth))

    return HEADER.format(
        turns=rng.randrange(1, 5),
        inside=statements(2, rng.randrange(1, 5)),
        behind=statements(1, rng.randrange(1, 3)),
        argnums=argnums(seed, 2),
    )
