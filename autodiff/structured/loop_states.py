"""The states of a loop at some of its turns, from which the sweep runs the turns between anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from autodiff.structured.runtime_calls import ChangedError, zeros_like


class LoopStates:
    """Keeps about √n states of a loop of n turns, whose number need not be known.

    Every turn is kept at first. When there are more than twice as many states as turns between
    them, every second one is dropped, and the distance doubles.

    Parameters
    ----------
    arrays : tuple of ndarray
        Arrays that are bound once and written into.
    alone : tuple of bool
        Which of them the loop reads or writes by their own names.
    copied : tuple of int
        Positions of those values of a turn that are arrays which may be written into.
    """

    def __init__(
        self, arrays: tuple[np.ndarray, ...], alone: Sequence[bool], copied: tuple[int, ...]
    ) -> None:
        self.arrays = arrays
        self.alone = [x for x, is_read in zip(arrays, alone, strict=True) if is_read]
        self.copied = copied
        self.count = 0
        self.every = 1
        self.states: list[tuple[int, tuple, list]] = []
        self.first: tuple[tuple, tuple] = (), ()

    def turn(self, values: tuple) -> None:
        """Note that a turn begins, with these values of the variables."""
        n = self.count
        self.count += 1
        if n % self.every:
            return
        if len(self.states) > 2 * self.every:
            self.every *= 2
            self.states = self.states[::2]
            if n % self.every:
                return
        kept = self._copies(values)
        self.states.append((n, kept, [x.copy("K") for x in self.arrays]))
        if n == 0:
            self.first = values, self._copies(values)

    def _copies(self, values: tuple) -> tuple:
        made = list(values)
        for i in self.copied:
            others = (*[values[j] for j in self.copied if j != i], *self.alone)
            if any(np.may_share_memory(values[i], x) for x in others):
                raise ChangedError("two names for memory that a loop writes into")
            made[i] = values[i].copy("K")
        return tuple(made)

    def undo(self) -> None:
        """Take the last turn back: it did not take place."""
        self.count -= 1
        if self.states and self.states[-1][0] == self.count:
            self.states.pop()

    def segments(self) -> Iterator[tuple[int, int, tuple]]:
        """Yield the first and the last turn between states, and the values; the last ones first.

        Arrays get back what they held then. After all, everything holds what it held before the
        loop.
        """
        last = self.count
        at_first = self.states[0][2] if self.states else self.arrays
        started = [x.copy("K") for x in at_first]
        while self.states:
            n, values, contents = self.states.pop()
            _put_back(self.arrays, contents)
            yield n, last, values
            last = n
        _put_back(self.arrays, started)
        for i in self.copied if self.count else ():
            self.first[0][i][...] = self.first[1][i]


def _put_back(arrays: Sequence[np.ndarray], contents: Sequence[np.ndarray]) -> None:
    for x, content in zip(arrays, contents, strict=True):
        x[...] = content


def taken(shadows: tuple) -> list[np.ndarray]:
    """Take what shadows hold, and leave zeros in them."""
    held = []
    for shadow in shadows:
        held.append(shadow.copy("K"))
        shadow[...] = 0.0
    return held


def added(shadows: Sequence[np.ndarray], parts: Sequence[np.ndarray]) -> None:
    """Add to shadows what they stand for at the beginning of the turns that follow."""
    for shadow, part in zip(shadows, parts, strict=True):
        shadow += part


def begun(first: int, shadows: tuple, arrays: tuple) -> tuple:
    """Return the shadows at the beginning of turns: those before the loop, or new ones."""
    return tuple(map(zeros_like, arrays)) if first else shadows


def skip(x: Any) -> None:
    """Push nothing."""


SCOPE = {
    "LoopStates": LoopStates,
    "taken": taken,
    "added": added,
    "begun": begun,
    "skip": skip,
}
"""What generated code finds by name."""
