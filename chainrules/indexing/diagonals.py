"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.shapes.reshaping import ARRAY
from chainrules_core import linear_rule, primitive, unbroadcast
from chainrules_core.authoring import in_steps


@primitive
def on_diagonal(d_bar: Any, offset: int, axis1: int, axis2: int, shape: tuple, dtype: Any) -> Any:
    """Return an array of zeros of this shape with `d_bar` on the diagonals of the two axes."""
    x_bar = np.zeros(shape, np.result_type(dtype, d_bar))
    if len(shape) == 2 and axis1 == 0 and axis2 == 1:
        step = shape[1] + 1
        start = offset if offset >= 0 else -offset * shape[1]
        x_bar.reshape(-1)[start : start + np.shape(d_bar)[-1] * step : step] = d_bar
        return x_bar
    i = np.arange(np.shape(d_bar)[-1])
    matrices = np.moveaxis(x_bar, (axis1, axis2), (-2, -1))
    matrices[..., i + max(-offset, 0), i + max(offset, 0)] = d_bar
    return x_bar


@in_steps(on_diagonal)
def on_diagonal_in_steps(
    d_bar: Any, offset: int, axis1: int, axis2: int, shape: tuple, dtype: Any
) -> Any:
    n, ndim = np.shape(d_bar)[-1], len(shape)
    axes = (axis1 % ndim, axis2 % ndim)
    is_plain = axes == (ndim - 2, ndim - 1) and offset == 0 and shape[-2:] == (n, n)
    if not is_plain or np.result_type(dtype, d_bar) != d_bar.dtype:
        return NotImplemented
    return np.where(np.eye(n, dtype=bool), np.expand_dims(d_bar, -1), 0.0)


linear_rule(
    on_diagonal,
    lambda x_bar, d_bar, offset, axis1, axis2, shape, dtype: np.diagonal(
        x_bar, offset, axis1, axis2
    ),
)


def diagonal_back(y_bar: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return on_diagonal(y_bar, offset, axis1, axis2, a.shape, a.dtype)


linear_rule(np.diagonal, diagonal_back, types=(ARRAY,))
linear_rule(
    np.linalg.diagonal,
    lambda y_bar, x, *, offset=0: diagonal_back(y_bar, x, offset, -2, -1),
    types=(ARRAY,),
)
linear_rule(
    np.diag,
    lambda y_bar, v, k=0: np.diagonal(y_bar, k) if v.ndim == 1 else diagonal_back(y_bar, v, k),
    types=(ARRAY,),
)
linear_rule(
    np.diagflat,
    lambda y_bar, v, k=0: np.reshape(np.diagonal(y_bar, k), v.shape),
    types=(ARRAY,),
)

# Of one axis, a vector, they make a matrix with the vector in each row.
linear_rule(np.tril, lambda y_bar, m, k=0: unbroadcast(np.tril(y_bar, k), m.shape), types=(ARRAY,))
linear_rule(np.triu, lambda y_bar, m, k=0: unbroadcast(np.triu(y_bar, k), m.shape), types=(ARRAY,))
