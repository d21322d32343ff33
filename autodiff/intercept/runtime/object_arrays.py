"""Object arrays with traced values in their cells: how to make them, and to compute with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch.arguments import cells_as_numbers
from autodiff.trace.tracer import bare, is_tracer

# NumPy converts what these compute from cells, or the cells themselves, to plain numbers.
CONVERTING = frozenset({"astype", "mean", "std", "var"})
STATISTICS = frozenset({np.mean, np.std, np.var})


def of_numbers(looking: Callable) -> Callable:
    """Return a NumPy function that treats an object array of traced numbers as a traced array."""

    def converting(*args: Any, **kwargs: Any) -> Any:
        return looking(*map(cells_as_numbers, args), **kwargs)

    return converting


def is_of_objects(dtype: Any) -> bool:
    """Whether a dtype, in any form that NumPy accepts, is that of object arrays."""
    return dtype is object or (dtype is not None and dtype in ("O", "object", np.dtype(object)))


class _Cell:
    """Stands for a traced value, or for one element of a traced array, in an object array."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _plain(x: Any, standing: dict[int, tuple[Any, Any]]) -> Any:
    """Return a nest with cells for traced numbers, and stand-ins, which it notes, for arrays."""
    if type(x) is list or type(x) is tuple:
        return type(x)([_plain(part, standing) for part in x])
    if not is_tracer(x):
        return x
    if np.ndim(bare(x)) == 0:
        return _Cell(x[()] if isinstance(x, np.ndarray) else x)
    stand_in = np.empty(np.shape(bare(x)), object)
    for place in np.ndindex(stand_in.shape):
        stand_in[place] = _Cell(x[place])
    standing[id(stand_in)] = stand_in, x
    return stand_in


def cells(key: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Make an object array of values of which some are traced; NumPy decides what goes into a cell.

    NumPy is given an array of stand-ins in place of each traced array. It takes the stand-ins out,
    or keeps the array as one cell if several arrays do not fit together.
    """
    standing: dict[int, tuple[Any, Any]] = {}

    made = key(_plain(args[0], standing), *args[1:], **kwargs)
    if made is args[0]:
        return made
    for place in np.ndindex(made.shape):
        cell = made[place]
        if type(cell) is _Cell:
            made[place] = cell.value
        elif id(cell) in standing:
            made[place] = standing[id(cell)][1]
    return made
