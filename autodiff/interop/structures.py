"""Nests of arrays and other values: the arrays taken out, and put back in."""

from __future__ import annotations

import functools
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

    __slots__ = ("_form", "_owner", "tree")

    def __init__(self, tree: Any, owner: object, form: str) -> None:
        self.tree = tree
        self._owner = owner
        self._form = form

    def filled(self, arrays: Sequence[Any]) -> Any:
        """Return the pytree with other arrays in it."""
        form = self._form
        if form is _ARRAYS:
            return tuple(arrays)
        if form is _ARRAY:
            return arrays[0]

        def put_in(leaf: Any) -> Any:
            if type(leaf) is Hole and leaf.owner is self._owner:
                return arrays[int(leaf)]
            return leaf

        return tuple(map(put_in, self.tree)) if form is _LEAVES else map_leaves(self.tree, put_in)

    def constants(self) -> list[Any]:
        """Return the leaves that are no arrays, and the places of those that are."""
        return [
            int(leaf) if type(leaf) is Hole and leaf.owner is self._owner else leaf
            for leaf in leaves_of(self.tree)
        ]


# What a pytree is: an array, a tuple of different arrays, a tuple of leaves, anything.
_ARRAY, _ARRAYS, _LEAVES, _NEST = "array", "arrays", "leaves", "nest"
_OWNER = object()
_ONE = Structure(Hole(0, _OWNER), _OWNER, _ARRAY)


@functools.lru_cache(maxsize=64)
def _tuple_of_arrays(n: int) -> Structure:
    return Structure(tuple([Hole(i, _OWNER) for i in range(n)]), _OWNER, _ARRAYS)


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
    # The usual cases cost little.
    if type(x) is tuple:
        if _are_arrays(x, is_array) and (are_values or len(set(map(id, x))) == len(x)):
            return list(x), _tuple_of_arrays(len(x))
    elif parts_of(x) is None and is_array(x):
        return [x], _ONE
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

    if type(x) is tuple and all(parts_of(part) is None for part in x):
        return arrays, Structure(tuple(map(take, x)), owner, _LEAVES)
    return arrays, Structure(map_leaves(x, take), owner, _NEST)


def _are_arrays(parts: tuple, is_array: Callable[[Any], bool]) -> bool:
    return all([parts_of(part) is None and is_array(part) for part in parts])  # noqa: C419 - fast
