"""Programs that go through records: numbers of which some are missing, texts, counts.

Long lists hold numbers and None, texts and None, or tuples of these. Dicts and sets grow, with
integers, texts and tuples as keys, and with lists and dicts in them; keys are removed, and two dicts
swapped. A text is the state of the loop. Values that may be None are tested, passed to functions,
appended and combined. The source is read at the first call, as with the generator ``loops``.
"""

# ruff: noqa: E501 - statements stay on one line

from __future__ import annotations

import random

from tools.fuzz.drawn import argnums

HEADER = """\
import math
import random

import numpy as np

from autodiff.structured import calls

calls.Settings.worth = calls.Settings.least = -1.0
drawn = random.Random({seed})
NUMBERS = [drawn.choice((None, drawn.uniform(-1, 1), drawn.uniform(0, 2))) for _ in range(60)]
WHOLE = [drawn.choice((None, drawn.randrange(5), 3)) for _ in range(60)]
LABELS = [drawn.choice(("red", "green", "blue")) for _ in range(60)]
NOTES = [drawn.choice((None, "red", "good")) for _ in range(60)]
ROWS = [(float(i), drawn.choice((None, 0.5)), drawn.choice(("red", "blue"))) for i in range(60)]
SHORT = [0.5, None, 0.25]


def or_zero(x, scale=1.0):
    if x is None:
        return 0.0
    return x * scale


def clipped(x, low=None):
    if low is not None and x < low:
        return low
    return x


def dropped(d, k, otherwise):
    if k not in d:
        return otherwise
    x = d[k]
    del d[k]
    return x


def kernel(ys, rows, table, s, w):
    by = {{"red": s, "green": w, "blue": s * w, "good": 0.3}}
    counts, sums, pairs = {{7: s}}, {{"red": 0.5 * s}}, {{(1, 2): w}}
    older, groups, nested = {{1: w, 0: s}}, {{3: [s]}}, {{1: {{2: w}}}}
    seen, kept = {{9}}, [s]
    state, last, best = "start", None, None
    t, v, n = 0.1, s, 0
    for i, (y, label) in enumerate(zip(ys, LABELS)):
        note, k = NOTES[i], WHOLE[i]
{inside}
        if i > {turns}:
            break
{behind}
    for key in counts:
        t += counts[key] * math.cos(key)
    for key, x in older.items():
        t = 0.9 * t + x * key
    for key in groups:
        for x in groups[key]:
            t += 0.1 * x * (key + 1)
    for key in nested:
        for p, x in nested[key].items():
            t += 0.1 * x * (key - p)
    for (p, q), x in pairs.items():
        t += x * (p - 0.3 * q)
    for key, x in sums.items():
        t += x * by[key]
    t += sum(0.1 * x for x in kept if x is not None) + len(seen) * s + len(kept) * w
    return t + or_zero(last) + or_zero(best, s) + (v if state == "start" else 0.5 * v)


def program(a, b):
    ys = [None if i % 7 == 3 else x * math.sin(i) for i, x in enumerate(list(b) * 10)]
    rows = [(0.1 * i, None if i % 5 == 2 else a[i % 4] * 0.3, i % 3) for i in range(60)]
    return kernel(ys, rows, {{"u": NUMBERS, "v": WHOLE}}, a[3] * b[2], a[0] * 1.0)


ARGUMENTS = (np.sin(np.arange(4.0) + 0.3), np.cos(np.arange(6.0)))
ARGNUMS = {argnums}
"""

_MAYBE = ("y", "y", "ys[i]", "NUMBERS[i]", "NUMBERS[(i * 7) % 60]", "rows[i][1]", "ROWS[i][1]",
          "table['u'][i]", "SHORT[i % 3]", "last", "kept[-1] if kept else None")  # fmt: skip
"""Numbers that may be None."""
_INTEGERS = (
    "i % 4",
    "i",
    "(i * i) % 5",
    "i // 2",
    "min(i, 3)",
    "max(2, i % 5)",
    "abs(2 - i)",
    "i & 3",
)
_TEXTS = ("label", "label", "LABELS[(i + 1) % 60]", "ROWS[i][2]", "'red'")


class _Writer:
    """Writes statements about records."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def value(self) -> str:
        """Return an expression that is a number."""
        pick = self.rng.choice
        n, text = pick(_INTEGERS), pick(_TEXTS)
        return pick((
            "t", "s", "w", "v", f"{self.rng.uniform(-2.0, 2.0):.3f}", f"by[{text}]",
            f"or_zero({pick(_MAYBE)})", f"or_zero({pick(_MAYBE)}, w)", f"counts.get({n}, s)",
            f"sums.get({text}, 0.2)", f"pairs.get(({n}, i % 3), w)", f"math.sin({pick('tsvw')})",
            f"clipped(v, {pick(('y', 'None', '0.1'))})", "len(seen)", "rows[i][0] * s",
            f"(0.0 if {(m := pick(('y', 'last')))} is None else {m})", f"({n}) * w",
            "(1.0 if label == 'red' else 0.5)", "(k if k is not None else 2) * s",
        ))  # fmt: skip

    def statement(self, depth: int) -> list[str]:
        """Return the lines of a statement."""
        pick, x, n, text, m = (
            self.rng.choice,
            self.value(),
            *map(self.rng.choice, (_INTEGERS, _TEXTS, _MAYBE)),
        )
        lines = (
            ["if y is None:", f"    v = 0.5 * v + {x}", "else:", "    t += y * v"],
            ["if y is not None:", f"    v += 0.1 * (y - v) * {x}", "    last = y"],
            [f"z = {m}", "if z is not None and z > 0.1:", f"    t += z * {x}"],
            [f"z = {m}", "if z is not None:", "    if best is None or z > best:", "        best = z", f"    t += z * {x}"],
            [f"kept.append({x})"],
            ["kept.append(y)"],
            ["kept.append(None)", f"t += 0.1 * {x}"],
            ["if kept and kept[-1] is None:", f"    kept[-1] = {x}"],
            [f"counts[{n}] = counts.get({n}, 0.0) + {x}"],
            [f"if {n} in counts:", f"    t += counts[{n}]", "else:", f"    counts[{n}] = {x}"],
            [f"if {n} in counts:", f"    del counts[{n}]", f"t += {x}"],
            [f"sums[{text}] = sums.get({text}, s) * 0.9 + {x}"],
            [f"key = ({n}, i % 3)", f"pairs[key] = pairs.get(key, w) + {x}", "t += pairs[key]"],
            [f"if {n} not in seen:", f"    seen.add({n})", f"    t += {x}"],
            [f"seen.discard({n})"],
            ["counts, older = older, counts"],
            ["if len(counts) > 3:", "    del counts[list(counts)[0]]"],
            [f"v = dropped({pick(('counts', 'older'))}, {n}, {x})"],
            [f"groups.setdefault({n}, []).append({x})"],
            [f"if {n} in groups:", f"    t += groups[{n}][-1]", f"    groups[i % 3] = groups[{n}]"],
            [f"if {n} not in nested:", f"    nested[{n}] = {{}}", f"nested[{n}][i % 3] = nested[{n}].get(i % 3, w) + {x}"],
            ["if label == 'red':", f"    t += {x}", "elif label != 'blue':", f"    v -= 0.1 * {x}"],
            ["if state == 'start' and i > 1:", "    state = label", f"elif state == {pick(_TEXTS)}:", f"    t += {x}", "    state = 'start'"],
            ["if note == 'good':", f"    t += {x}"],
            ["if note is not None:", "    t += by[note]"],
            ["if k is not None:", "    n += k // 2 + k % 3 + min(k, 2)", f"    t += n * {x}"],
            ["if label in ('red', 'green'):", f"    t += {x}"],
            [f"by[{text}] = by[{text}] * 0.9 + 0.1 * {x}"],
            [f"for z in {pick(('SHORT', 'NUMBERS[:4]', 'ys[1:4]', 'kept'))}:", "    if z is not None:", f"        t += z * 0.1 * {x}"],
            [f"for p, z, q in {pick(('rows[:3]', 'ROWS[:3]'))}:", f"    t += p * {x} + or_zero(z, s)"],
            [f"t += sum(z for z in {pick(('NUMBERS', 'ys'))} if z is not None) * 0.01"],
            [f"t += y * {x}" if self.rng.random() < 0.05 else f"t += or_zero(y) * {x}"],
            [f"v = math.tanh({x})"],
            [f"if {x} > {self.rng.uniform(-1.0, 1.0):.2f}:", f"    t += {self.value()}"],
        )  # fmt: skip
        return ["    " * depth + line for line in pick(lines)]


def write(seed: int) -> str:
    """Return the program of a seed."""
    rng = random.Random(seed)
    writer = _Writer(rng)

    def statements(depth: int, n: int) -> str:
        return "\n".join(line for _ in range(n) for line in writer.statement(depth))

    return HEADER.format(
        seed=rng.randrange(100),
        turns=rng.randrange(1, 50),
        inside=statements(2, rng.randrange(1, 6)),
        behind=statements(1, rng.randrange(0, 2)),
        argnums=argnums(seed, 2),
    )
