"""``savgol_filter`` at the ends of a signal: polynomials fitted to the first and last samples.

What they are at the samples is linear in these: the fit of the unit vectors tells the matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.scipy.found import with_value
from chainrules.scipy.private import Private
from chainrules_core import decompose, ignore_derivatives, natively

_savitzky_golay = Private("signal._savitzky_golay")


def fitted(lines: np.ndarray, place: slice, polyorder: int, deriv: int) -> np.ndarray:
    """Fit polynomials to columns of plain numbers, and evaluate them at some of the rows."""
    y = np.zeros(lines.shape, lines.dtype)
    start, stop = place.start, place.stop
    found = _savitzky_golay._fit_edge(
        lines, 0, len(lines), start, stop, 0, polyorder, deriv, 1.0, y
    )
    return (y if found is None else found)[place]


def matrix_of(n: int, dtype: Any, *options: Any) -> np.ndarray:
    """The matrix of the fit."""
    return fitted(np.eye(n, dtype=dtype), *options)


@decompose(_savitzky_golay._fit_edge)
def fit_edge_body(
    x, window_start, window_stop, interp_start, interp_stop, axis, polyorder, deriv, delta, y
):
    edge = np.moveaxis(x, axis, 0)[window_start:window_stop]
    options = slice(interp_start - window_start, interp_stop - window_start), polyorder, deriv
    matrix = natively(matrix_of, window_stop - window_start, edge.dtype, *options)
    known = natively(fitted, ignore_derivatives(edge), *options)
    values = with_value(known, np.tensordot(matrix, edge, 1)) / delta**deriv
    target = np.moveaxis(y, axis, 0)
    target[interp_start:interp_stop] = values
    return y
