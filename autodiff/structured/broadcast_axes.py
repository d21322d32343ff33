"""Which axes of arrays have one element: machine code is written for that where they broadcast."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import numpy as np


def ones_of(names: Iterable[str], args: Iterable[Any]) -> dict[str, set[int]]:
    """Return the axes of arrays, and so of their shadows, that have one element."""
    arrays = {name: x for name, x in zip(names, args, strict=True) if type(x) is np.ndarray}
    axes = {name: {k for k, n in enumerate(x.shape) if n == 1} for name, x in arrays.items()}
    return {f"{name}_b": own for name, own in axes.items()} | axes


class Ones:
    """What calls have told of the arrays of a program, by their names.

    Attributes
    ----------
    axes : dict
        The axes that have one element in all calls that tell of them.
    """

    def __init__(self) -> None:
        self.axes: dict[str, set[int]] = {}
        self._longer: dict[str, set[int]] = {}  # those that have more elements in other calls

    def are_new(self, seen: dict[str, set[int]]) -> bool:
        """Whether arrays have axes of one element, and nobody has seen others of more."""
        known = self.axes, self._longer
        return any(now - set().union(*[k.get(x, ()) for k in known]) for x, now in seen.items())

    def learn(self, seen: dict[str, set[int]]) -> bool:
        """Note what a call tells; False if it is known."""
        changed = False
        for name, now in seen.items():
            known = self.axes.get(name, set())
            longer = self._longer.setdefault(name, set())
            longer |= known - now
            self.axes[name] = (known | now) - longer
            changed = changed or self.axes[name] != known
        return changed

    def forget(self, seen: dict[str, set[int]], variables: Container[str]) -> bool:
        """Take variables for such as become longer in a loop: one element is where they begin."""
        found = {x: now & self.axes.get(x, set()) for x, now in seen.items() if x in variables}
        for name, axes in found.items():
            self._longer.setdefault(name, set()).update(axes)
            self.axes[name] = self.axes.get(name, set()) - axes
        return any(found.values())
