"""Functions of NumPy that put matrices together, or name their parts, as made of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def of_blocks(rows: Any) -> Any:
    """Return `numpy.block` of rows of matrices."""
    return np.concatenate([np.concatenate(row, axis=1) for row in rows])


def grid_of_one(a: Any) -> Any:
    """Return `numpy.ix_` of places along one axis."""
    return (np.array(a),)


def grid_of_two(a: Any, b: Any) -> Any:
    """Return `numpy.ix_` of places along two axes."""
    return np.array(a)[:, None], np.array(b)[None, :]


def grid_of_three(a: Any, b: Any, c: Any) -> Any:
    """Return `numpy.ix_` of places along three axes."""
    return np.array(a)[:, None, None], np.array(b)[None, :, None], np.array(c)[None, None, :]


GRIDS: dict[int, Callable] = {1: grid_of_one, 2: grid_of_two, 3: grid_of_three}
"""The functions for `numpy.ix_`, by the number of axes."""
