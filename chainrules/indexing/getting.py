"""Reading elements: ``x[index]``; the adjoint adds into the elements that were read."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from chainrules_core import Array, linear_rule
from chainrules_core.authoring import scatter, scatter_into

_SLICES = (slice, type(None), type(Ellipsis))


def scatter_rows(y_bars: Any, x: Any, index: Any) -> Any:
    """Scatter many cotangents at once, given along an additional first axis.

    Not so where a slice stands between arrays of integers: what they read is put in front of it.
    """
    parts = index if type(index) is tuple else (index,)
    others = [p for p in parts if not isinstance(p, _SLICES)]
    arrays = [p for p in others if type(p) is not int]
    is_alone = len(others) == 1 or len(others) == len(parts)
    if not all(type(p) is np.ndarray and p.ndim for p in arrays) or (arrays and not is_alone):
        return None
    return scatter(y_bars, (slice(None), *parts), (len(y_bars), *x.shape), x.dtype)


# The adjoint of a read is a scatter, and that of a scatter is the read.
linear_rule(
    operator.getitem,
    lambda y_bar, x, index: scatter(y_bar, index, x.shape, x.dtype),
    add_into=scatter_into,
    rows=(scatter_rows,),
    types=(Array,),
)
linear_rule(scatter, lambda x_bar, y_bar, index, shape, dtype: x_bar[index])
