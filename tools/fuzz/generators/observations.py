"""Programs in which Python observes values that depend on the data.

A value that depends on the arguments (a truth, an integer, a row of them) is made in one of many
ways, and observed in one of many ways: by ``is``, a branch, a repetition, an index, a length, a
dict key, its hash, type or text, the order of a sort, what a C function does with it. Each fact
that Python learns so decides about a weight or a shape, with which a smooth value is computed. A
program that is recorded with one outcome and run with data of another shows a fact that is neither
guarded nor computed.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

IMPORTS = """\
import bisect
import collections
import contextlib
import fractions
import functools
import heapq
import io
import itertools
import json
import math
import operator
import random
import struct
import types

import numpy as np
"""
COMPARISONS = ("> 0", "== 1", "<= 1", "!= 2", "> 1", "== 0")
AS_INTEGERS = ("int({})", "1 + ({})", "({}) + 0", "2 * ({})")


def _sections() -> dict[str, list[str]]:
    """Return the tables of phrases."""
    found: dict[str, list[str]] = {}
    text = Path(__file__).with_name("observations.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if re.fullmatch(r"\[[a-z ]+\]", line):
            found[line[1:-1]] = phrases = []
        elif line and not line.startswith("#"):
            phrases.append(line.replace("\\n", "\n"))
    return found


PHRASES = _sections()
KINDS = (("truths", "of truth"), *[("integers", "of integer")] * 2, ("rows", "of row"))


def write(seed: int) -> str:
    """Return the source of a module with ``program`` and ``ARGUMENTS``."""
    rng = random.Random(seed)
    kind, ways = rng.choice(KINDS)
    value = rng.choice(PHRASES[kind])
    if rng.random() < 0.15:
        if kind == "integers":
            value = rng.choice(AS_INTEGERS).format(rng.choice(PHRASES["truths"]))
        elif kind == "truths":
            value = f"({rng.choice(PHRASES['integers'])}) {rng.choice(COMPARISONS)}"
    observed = rng.choice(PHRASES[ways]).replace("VALUE", value)
    body = f"{observed}\n{rng.choice(PHRASES['ends'])}".split("\n")
    if rng.random() < 0.2:  # in a function of the program's
        body = ["def inner(x, s):", *[f"    {line}" for line in body], "return inner(x, s)"]
    x = [round(rng.uniform(-1.0, 1.0), 3) for _ in range(4)]
    given = f"ARGUMENTS = (np.array({x}), {round(rng.uniform(-1.0, 1.0), 3)})"
    return "\n".join(
        [IMPORTS, "", "def program(x, s):", *[f"    {b}" for b in body], "", given, ""]
    )
