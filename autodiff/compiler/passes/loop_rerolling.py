"""Find the turns of loops again in a list of operations.

A loop of the user's comes out of a recording unrolled, forward and backward. Its turns are runs
that do the same, where each operand is the same in all turns or moves by a fixed stride. Turns at
the ends that differ are left as they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence

import numpy as np

_GRAM = 6
_FEWEST_TURNS = 4
_MOST_CANDIDATES = 24
_MOST_PERIODS = 6
"""How many periods are tried at a place: those that cover the most."""
_FIRST_TURNS = 12
"""Some of these have to be regular."""


class Loop:
    """`count` iterations of `period` operations each, from `start` on."""

    __slots__ = ("count", "period", "start")

    def __init__(self, start: int, period: int, count: int) -> None:
        self.start = start
        self.period = period
        self.count = count

    def holds(self, position: int) -> bool:
        """Whether a position is in the loop."""
        return self.start <= position < self.start + self.period * self.count


def loops_of(signatures: Sequence[Hashable], places: Sequence[tuple[int, ...]]) -> list[Loop]:
    """Return the loops in a list of operations, in order.

    Parameters
    ----------
    signatures : list
        What each operation does, equal for those that may be turns of one.
    places : list of tuple of int
        Where its operands are: as many numbers for equal signatures.
    """
    known: dict[Hashable, int] = {}
    signs = np.array([known.setdefault(s, len(known)) for s in signatures])
    n = len(signs)
    where: dict[bytes, list[int]] = {}
    grams = [signs[i : i + _GRAM].tobytes() for i in range(max(0, n - _GRAM + 1))]
    for i, gram in enumerate(grams):
        where.setdefault(gram, []).append(i)
    found: list[Loop] = []
    i = 0
    while i < len(grams):
        loop = _longest(signs, where[grams[i]], i, places)
        if loop is None:
            i += 1
        else:
            found.append(loop)
            i = loop.start + loop.period * loop.count
    return found


def _longest(
    signs: np.ndarray, same_grams: list[int], i: int, places: Sequence[tuple[int, ...]]
) -> Loop | None:
    """Return the longest loop that begins near `i`.

    What looks the same after four operations may be the same after eight alone: two halves of a
    step that read other operands.
    """
    at = int(np.searchsorted(same_grams, i, side="right"))
    candidates = []
    for j in same_grams[at : at + _MOST_CANDIDATES]:
        period = j - i
        same = signs[i:-period] == signs[i + period :]
        end = int(np.argmin(same)) if not same.all() else len(same)
        turns = end // period + 1
        if turns >= _FEWEST_TURNS:
            candidates.append((turns * period, -period, turns))
    candidates.sort(reverse=True)
    best, covered = None, 0
    for size, away, turns in candidates[:_MOST_PERIODS]:
        if size <= covered:
            break
        if turns > _FIRST_TURNS and _rolled(places, i, -away, _FIRST_TURNS) is None:
            continue
        loop = _rolled(places, i, -away, turns)
        if loop is not None and loop.period * loop.count > covered:
            best, covered = loop, loop.period * loop.count
    return best


def _rolled(places: Sequence[tuple[int, ...]], start: int, period: int, turns: int) -> Loop | None:
    """Return the longest sequence of iterations whose operands move regularly."""
    rows = []
    for t in range(turns):
        row: list[int] = []
        for place in places[start + t * period : start + (t + 1) * period]:
            row.extend(place)
        rows.append(row)
    moves = np.diff(np.array(rows, dtype=np.int64), axis=0)
    changes = np.flatnonzero((moves[1:] != moves[:-1]).any(axis=1)) + 1
    bounds = [0, *changes.tolist(), len(moves)]
    lengths = [b - a for a, b in itertools.pairwise(bounds)]
    k = int(np.argmax(lengths))
    if lengths[k] + 1 < _FEWEST_TURNS:
        return None
    return Loop(start + bounds[k] * period, period, lengths[k] + 1)
