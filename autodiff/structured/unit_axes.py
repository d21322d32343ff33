"""The array axes of length 1, which machine code may broadcast."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import numpy as np


def unit_axes_of(names: Iterable[str], args: Iterable[Any]) -> dict[str, set[int]]:
    """Return the axes of length 1 of arrays and of their shadows, by name."""
    arrays = {name: x for name, x in zip(names, args, strict=True) if type(x) is np.ndarray}
    axes = {name: {k for k, n in enumerate(x.shape) if n == 1} for name, x in arrays.items()}
    return {f"{name}_b": own for name, own in axes.items()} | axes


class UnitAxes:
    """The axes of length 1 that calls of a program have shown, by array name.

    Attributes
    ----------
    axes : dict
        The axes that had length 1 in every call that showed them.
    """

    def __init__(self) -> None:
        self.axes: dict[str, set[int]] = {}
        self._longer: dict[str, set[int]] = {}  # axes that were longer in other calls

    def are_new(self, seen: dict[str, set[int]]) -> bool:
        """Whether an axis of length 1 was never seen before, short or longer."""
        known = self.axes, self._longer
        return any(now - set().union(*[k.get(x, ()) for k in known]) for x, now in seen.items())

    def learn(self, seen: dict[str, set[int]]) -> bool:
        """Record the axes of length 1 in a call; return whether this changed anything."""
        changed = False
        for name, now in seen.items():
            known = self.axes.get(name, set())
            longer = self._longer.setdefault(name, set())
            longer |= known - now
            self.axes[name] = (known | now) - longer
            changed = changed or self.axes[name] != known
        return changed

    def forget(self, seen: dict[str, set[int]], variables: Container[str]) -> bool:
        """Treat axes of `variables` as longer: a loop may bind them to longer arrays later on.

        Return whether this changed anything.
        """
        found = {x: now & self.axes.get(x, set()) for x, now in seen.items() if x in variables}
        for name, axes in found.items():
            self._longer.setdefault(name, set()).update(axes)
            self.axes[name] = self.axes.get(name, set()) - axes
        return any(found.values())
