"""Programs of people who use Python's containers: dicts, sets, heaps, tuples in lists, sorting.

Keys are known, or come from loops, lists of texts and integers; values are numbers, lists, dicts
and tuples of numbers and texts. Dicts are displayed, grow, have other names, and are read from
outside and from arguments. Their source is read at the first call, as with the generator ``loops``.
"""

# ruff: noqa: E501 - statements stay on one line

from __future__ import annotations

import random

from tools.fuzz.drawn import argnums

HEADER = """\
import heapq
import itertools
import math
import random
from collections import Counter, defaultdict

import numpy as np

from autodiff.structured import calls

calls.Settings.worth = calls.Settings.least = -1.0
NAMES = ["ann", "bob", "cyd"]
NEXT = {{0: {{1: 0.5, 2: 1.5}}, 1: {{2: 0.7}}, 2: {{0: 1.1, 3: 0.2}}, 3: {{}}}}
SCALES = {{"ann": 0.5, "bob": 1.5, "cyd": -0.7}}


def kernel(p, given, xs, s):
    names = ["ann", "bob", "cyd"]
    lists = {{name: [s, 0.5] for name in names}}
    fixed = {{"ann": s, "bob": 0.3, "cyd": s * s}}
    grown = {{0: s}}
    pairs = {{(0, 1): s, (1, 0): 0.2, (1, 1): s * 0.3}}
    nested = {{name: {{"a": s, "n": 0.1}} for name in names}}
    rows = [{{"v": s * k, "w": 0.5}} for k in range(3)]
    sums = defaultdict(float)
    groups = defaultdict(list)
    counts = Counter()
    seen = set()
    heap = [0.4, s]
    heapq.heapify(heap)
    events = [(0.1, "ann", s)]
    line = [(s, 1), (0.2, 2)]
    grows = []
    for k in range(2):
        grows.append({{}})
        grows[k][k] = s * k
    other = fixed
    rng = random.Random({seed})
    t = 0.1
    i = 0
    key = "ann"
    v = s
    for i in range({turns}):
        key = names[i % 3]
{inside}
{behind}
    for k in grown:
        t += grown[k] * math.cos(k)
    for name, values in lists.items():
        t += sum(values) * SCALES[name]
    for name, part in sorted(nested.items()):
        t += part["a"] * part["n"]
    for a, b, c in events:
        t += c * math.sin(a)
    t += sum(x * n for x, n in line) + sum(heap) * 0.3 + len(seen) + sum(sums.values())
    t += sum(math.sin(x) for k in sorted(groups) for x in groups[k]) + counts["ann"] * s
    t += sum(row["v"] * row["w"] for row in rows) + sum(other.values()) + pairs[1, 1] * pairs[0, 1]
    return t + sum(x * k for part in grows for k, x in part.items())


def program(a, b):
    p = {{"ann": a[0] * 1.0, "bob": a[1] * b[0], "cyd": 0.5}}
    q = {{"list": [a[2] * 1.0, 0.3, b[1] * 1.0], "rate": 0.5}}
    xs = [x * 1.0 for x in b]
    return kernel(p, q, xs, a[3] * b[2]) + xs[0]


ARGUMENTS = (np.sin(np.arange(4.0) + 0.3), np.cos(np.arange(4.0)))
ARGNUMS = {argnums}
"""

_KEYS = ("'ann'", "'cyd'", "key", "key", "names[(i + 1) % 3]", "NAMES[i % 3]")
_FIELDS = ("'v'", "'w'")
_PARTS = ("'a'", "'n'")
_NUMBERS = ("i", "i % 3", "0", "2", "i * 2")


class _Writer:
    """Writes statements about containers."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def key(self) -> str:
        return self.rng.choice(_KEYS)

    def number(self) -> str:
        return self.rng.choice(_NUMBERS)

    def value(self, depth: int = 0) -> str:
        """Return an expression of what the containers hold."""
        pick, key, n = self.rng.choice, self.key(), self.number()
        kind = self.rng.randrange(22 if depth < 2 else 19)
        if kind == 19:
            return f"math.sin({self.value(depth + 1)})"
        if kind > 19:
            return f"({self.value(depth + 1)} {pick('+-*')} {self.value(depth + 1)})"
        return (
            f"{self.rng.uniform(-2.0, 2.0):.3f}", "t", "s", "v", f"lists[{key}][-1]",
            f"lists[{key}][{pick(('0', '1'))}]", f"fixed[{key}]", f"fixed.get({key}, 0.1)",
            f"grown.get({n}, t)", f"pairs.get((i % 2, {n} % 2), 0.4)", f"nested[{key}]['a']",
            f"rows[{n} % 3][{pick(_FIELDS)}]", f"sums[{key}]", f"p[{key}]",
            "given['list'][i % 3]", f"SCALES[{key}]", "heap[0]", f"xs[{n} % len(xs)]", "line[-1][0]",
        )[kind]  # fmt: skip

    def statement(self, depth: int) -> list[str]:
        """Return the lines of a statement."""
        pick, key, n, x = self.rng.choice, self.key(), self.number(), self.value()
        op = pick(("=", "+=", "*=", "-="))
        lines = (
            [f"lists[{key}].append({x})"],
            [f"lists[{key}][{pick(('0', '-1'))}] {op} {x}"],
            [f"lists[{key}] = [{x}, {self.value()}]"],
            [f"fixed[{key}] {op} {x}"],
            [f"grown[{n}] = {x}"],
            [f"if {n} in grown:", f"    grown[{n}] {pick(('+=', '*='))} {x}"],
            [f"pairs[i % 2, {n} % 2] = {x}"],
            [f"nested[{key}][{pick(_PARTS)}] {op} {x}"],
            [f"part = nested[{key}]", f"part['a'] = {x}"],
            [f"rows[{n} % 3]['v'] {op} {x}"],
            [f"rows.append({{'v': {x}, 'w': {self.value()}}})"],
            [f"sums[{key}] += {x}"],
            [f"groups[{n}].append({x})"],
            [f"counts[{key}] += {pick(('1', 'i'))}"],
            [f"if {n} not in seen:", f"    seen.add({n})", f"    t += {x}"],
            [f"seen.discard({n})", f"seen = {pick(('seen', 'set()', '{i}', 'set([i, 1])'))}"],
            [f"heapq.heappush(heap, {x})"],
            ["if len(heap) > 1:", f"    v = {pick(('heapq.heappop(heap)', f'heapq.heapreplace(heap, {x})', f'heapq.heappushpop(heap, {x})'))}"],
            [f"events.append(({x}, {key}, {self.value()}))"],
            [f"{pick(('events.sort()', 'line.sort(key=lambda r: r[0])', 'events.sort(key=lambda e: e[1])', 'line = sorted(line, reverse=True)'))}"],
            ["a0, b0, v = events[-1]", f"t += v * {x}", "t += 0.1 if b0 == 'ann' else a0"],
            [f"line.append(({x}, {n}))", "t += line[0][0] * line[0][1]"],
            [f"line[0] = ({x}, {n})"],
            [f"grows[i % 2][{n}] = {x}"],
            [f"for q in {pick(('fixed', 'names', 'sorted(fixed)', 'list(lists)'))}:", f"    t += fixed[q] * {x}"],
            [f"for q, w in {pick(('fixed.items()', 'p2.items()', 'sorted(grown.items())', 'SCALES.items()'))}:".replace("p2", "other"), f"    t += w * {x}"],
            [f"for q, w in NEXT[{n} % 4].items():", f"    t += w * q * {x}"],
            [f"v = next(iter({pick(('fixed', 'grown', 'nested'))}.values()))", "t += 0.3"],
            [f"v = next((q for q in xs if q > {x}), t)"],
            [f"t += sum(q * w for q, w in {pick(('itertools.combinations(xs, 2)', 'zip(xs, lists[key])', 'itertools.product(xs, lists[key])'))})"],
            [f"t += rng.gauss(0, 1) * {x} - rng.random() + rng.uniform(-1, 1) * s"],
            [f"other = {pick(('fixed', 'dict(fixed)', '{**fixed}', '{name: fixed[name] for name in names}'))}"],
            [f"t += (u := {x}) * u"],
            [f"it = iter({pick(('xs', 'heap', 'lists[key]', 'names'))})", "n = 0", "while (item := next(it, None)) is not None:", "    n += 1", f"    t += {x} * n", "    if n > 2:", "        break", f"t += {x} * len([1 for _ in range(n)])"],
            ["it = iter(xs)", f"t += next(it) * {x}", "for item in it:", f"    t += item * {x}", f"    if t > {self.rng.uniform(-1.0, 1.0):.2f}:", "        break", "t += next(it, s)"],
            [f"t += sum((u := q * s) for q in xs if q > {self.rng.uniform(-1, 1):.2f})"],
            ["v = max(fixed.values()) - min(lists[key])"],
            ["best = max(names, key=lambda q: fixed[q])", "t += fixed[best]"],
            [f"if {x} > {self.rng.uniform(-1.0, 1.0):.2f}:", f"    t += {self.value()}", "else:", f"    fixed[{key}] = {self.value()}"],
            [f"del grown[{n}]" if self.rng.random() < 0.1 else f"t -= grown.pop({n}, {x})", "grown[0] = s"],
        )  # fmt: skip
        made = pick(lines)
        if made[0].startswith("v = next(iter(nested"):
            made = ["v = next(iter(nested.values()))['a']"]
        return ["    " * depth + line for line in made]


def write(seed: int) -> str:
    """Return the program of a seed."""
    rng = random.Random(seed)
    writer = _Writer(rng)

    def statements(depth: int, n: int) -> str:
        return "\n".join(line for _ in range(n) for line in writer.statement(depth))

    return HEADER.format(
        seed=rng.randrange(100),
        turns=rng.randrange(1, 6),
        inside=statements(2, rng.randrange(1, 6)),
        behind=statements(1, rng.randrange(1, 3)),
        argnums=argnums(seed, 2),
    )
