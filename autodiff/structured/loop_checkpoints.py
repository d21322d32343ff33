"""Checkpoints of a loop's state, from which the reverse sweep reruns the iterations between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from autodiff.structured.runtime_library import ChangedError, zeros_like


class LoopStates:
    """About √n checkpoints of a loop of n iterations, where n need not be known in advance.

    Every iteration is kept at first. When there are more than twice as many checkpoints as
    iterations between two of them, every second one is dropped and the interval doubles.

    Parameters
    ----------
    arrays : tuple of ndarray
        Arrays that are bound once and written into.
    alone : tuple of bool
        Which of them the loop accesses by their own names.
    copied : tuple of int
        Positions, among the loop-carried values, of arrays that may be written into.
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
        """Begin an iteration with these values of the variables, and checkpoint it if it is due."""
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
        """Return the values with copies of the arrays that may be written into."""
        copies = list(values)
        for i in self.copied:
            others = (*[values[j] for j in self.copied if j != i], *self.alone)
            if any(np.may_share_memory(values[i], x) for x in others):
                raise ChangedError("two names for memory that a loop writes into")
            copies[i] = values[i].copy("K")
        return tuple(copies)

    def undo(self) -> None:
        """Discard the last iteration, which did not take place."""
        self.count -= 1
        if self.states and self.states[-1][0] == self.count:
            self.states.pop()

    def segments(self) -> Iterator[tuple[int, int, tuple]]:
        """Yield the start and stop of each segment of iterations, and the values; in reverse.

        Before each segment, restore the contents of the arrays at its start. At the end, restore
        everything to its state before the loop.
        """
        last = self.count
        at_first = self.states[0][2] if self.states else self.arrays
        first_contents = [x.copy("K") for x in at_first]
        while self.states:
            n, values, contents = self.states.pop()
            _restore(self.arrays, contents)
            yield n, last, values
            last = n
        _restore(self.arrays, first_contents)
        for i in self.copied if self.count else ():
            self.first[0][i][...] = self.first[1][i]


def _restore(arrays: Sequence[np.ndarray], contents: Sequence[np.ndarray]) -> None:
    for x, content in zip(arrays, contents, strict=True):
        x[...] = content


def taken(shadows: tuple) -> list[np.ndarray]:
    """Return copies of the shadows, and set the shadows to zero."""
    held = []
    for shadow in shadows:
        held.append(shadow.copy("K"))
        shadow[...] = 0.0
    return held


def added(shadows: Sequence[np.ndarray], parts: Sequence[np.ndarray]) -> None:
    """Add the cotangents from the following iterations to the shadows."""
    for shadow, part in zip(shadows, parts, strict=True):
        shadow += part


def begun(first: int, shadows: tuple, arrays: tuple) -> tuple:
    """Return the shadows for the start of a segment: those before the loop, or new zeros."""
    return tuple(map(zeros_like, arrays)) if first else shadows


def skip(x: Any) -> None:
    """Push nothing."""


SCOPE = {f.__name__: f for f in (LoopStates, taken, added, begun, skip)}
"""What generated code finds by name."""
