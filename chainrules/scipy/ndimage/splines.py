"""``spline_filter1d``: from values to the coefficients of a spline through them.

The coefficients c solve B c = x, where B takes the values of the spline at the grid points; SciPy
does so by recursions forward and backward. How c goes on beyond the ends makes B symmetric where it
is periodic or mirrored between the grid points (its "reflect"), and so is B⁻¹. Mirrored at the last
points themselves, these count half: B = K W⁻¹ with K symmetric and W doubling them. Then
B⁻ᵀ = W⁻¹ B⁻¹ W.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import ndimage

from chainrules.scipy.ndimage.kernels import inexact, kernel
from chainrules_core import linear_rule, primitive

# By SciPy's code: what the coefficients of each mode are like.
MODES = ("reflect", "mirror", "reflect", "mirror", "mirror", "grid-wrap", "mirror")


@primitive
def coefficients(x: Any, order: int, axis: int, mode: str) -> Any:
    """Return the coefficients along an axis."""
    return ndimage.spline_filter1d(x, order, axis, x.dtype, mode)


def coefficients_adjoint(y_bar, x, order, axis, mode):
    if mode != "mirror":
        return coefficients(y_bar, order, axis, mode)
    n = x.shape[axis]
    ends = np.isin(np.arange(n), (0, n - 1))
    ends = np.reshape(ends, [-1 if i == axis else 1 for i in range(x.ndim)])
    bar = coefficients(np.where(ends, 2 * y_bar, y_bar), order, axis, mode)
    return np.where(ends, bar / 2, bar)


linear_rule(coefficients, coefficients_adjoint)


@kernel("spline_filter1d")
def spline_filter1d_body(input, order, axis, output, mode):
    output[...] = coefficients(inexact(input), int(order), int(axis), MODES[mode])
