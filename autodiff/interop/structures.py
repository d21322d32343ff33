"""Nests of arrays and other values: the arrays taken out, and put back in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff.closures.captured_values import Hole
from autodiff.trace.pytree import leaves_of, map_leaves, parts_of
from autodiff.trace.tracer import bare

_NUMERIC = "biufc"


def is_array(x: Any) -> bool:
    """Whether a leaf is an array, a NumPy scalar, a float or a complex number, traced or not."""
    x = bare(x)
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype.kind in _NUMERIC
    return isinstance(x, (float, complex))


class Structure:
    """A pytree with its arrays taken out.

    Attributes
    ----------
    tree : Any
        The pytree, with a placeholder for each array.
    """

    __slots__ = ("_is_flat", "_owner", "tree")

    def __init__(self, tree: Any, owner: object, is_flat: bool) -> None:
        self.tree = tree
        self._owner = owner
        self._is_flat = is_flat

    def filled(self, arrays: Sequence[Any]) -> Any:
        """Return the pytree with other arrays in it."""

        def put_in(leaf: Any) -> Any:
            if type(leaf) is Hole and leaf.owner is self._owner:
                return arrays[int(leaf)]
            return leaf

        return tuple(map(put_in, self.tree)) if self._is_flat else map_leaves(self.tree, put_in)

    def constants(self) -> list[Any]:
        """Return the leaves that are no arrays, and the places of those that are."""
        return [
            int(leaf) if type(leaf) is Hole and leaf.owner is self._owner else leaf
            for leaf in leaves_of(self.tree)
        ]


def taken_out(
    x: Any, is_array: Callable[[Any], bool] = is_array, are_values: bool = False
) -> tuple[list, Structure]:
    """Take the arrays out of a pytree.

    Parameters
    ----------
    x : Any
        The pytree.
    is_array : callable
        Whether a leaf is an array, maybe of another system.
    are_values : bool
        Whether arrays are values, which nobody can write into.

    Returns
    -------
    arrays : list
        The arrays; one that is in several places is there once, unless it is a value.
    structure : Structure
        The rest.
    """
    owner = object()
    arrays: list[Any] = []
    places: dict[int, Hole] = {}

    def take(leaf: Any) -> Any:
        if not is_array(leaf):
            return leaf
        hole = None if are_values else places.get(id(leaf))
        if hole is None:
            hole = places[id(leaf)] = Hole(len(arrays), owner)
            arrays.append(leaf)
        return hole

    # The usual case: a tuple of leaves.
    is_flat = type(x) is tuple and all(parts_of(part) is None for part in x)
    tree = tuple(map(take, x)) if is_flat else map_leaves(x, take)
    return arrays, Structure(tree, owner, is_flat)
