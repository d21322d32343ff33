"""``spline_filter1d``: from values to the coefficients of a spline through them.

The coefficients c solve B c = x, where B takes the values of the spline at the grid points; SciPy
does so by recursions forward and backward. How c goes on beyond the ends makes B symmetric where it
is periodic or mirrored between the grid points (its "reflect"), and so is B⁻¹. Mirrored at the last
points themselves, these count half: B = K W⁻¹ with K symmetric and W doubling them. Then
B⁻ᵀ = W⁻¹ B⁻¹ W. In the mode "reflect" SciPy's recursions do not start quite exactly, which shows in
short lines: for these the transposed matrix is applied as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import ndimage

from chainrules.scipy.ndimage.kernels import kernel, typed
from chainrules_core import linear_rule, primitive

# By SciPy's code: what the coefficients of each mode are like.
MODES = ("reflect", "mirror", "reflect", "mirror", "mirror", "grid-wrap", "mirror")


SHORT = 32  # what the poles, of at most 0.43, leave of an error at the start is then below 1e-20


@primitive
def coefficients(x: Any, order: int, axis: int, mode: str) -> Any:
    """Return the coefficients along an axis."""
    return ndimage.spline_filter1d(x, order, axis, x.dtype, mode)


def coefficients_adjoint(y_bar, x, order, axis, mode):
    n = x.shape[axis]
    if mode == "reflect" and n < SHORT:
        matrix = ndimage.spline_filter1d(np.eye(n), order, 0, float, mode).astype(y_bar.dtype)
        return np.moveaxis(np.tensordot(matrix, y_bar, (0, axis)), 0, axis)
    if mode != "mirror":
        return coefficients(y_bar, order, axis, mode)
    ends = np.isin(np.arange(n), (0, n - 1))
    ends = np.reshape(ends, [-1 if i == axis else 1 for i in range(x.ndim)])
    bar = coefficients(np.where(ends, 2 * y_bar, y_bar), order, axis, mode)
    return np.where(ends, bar / 2, bar)


linear_rule(coefficients, coefficients_adjoint)


@kernel("spline_filter1d")
def spline_filter1d_body(input, order, axis, output, mode):
    output[...] = coefficients(typed(input, output), int(order), int(axis), MODES[mode])
