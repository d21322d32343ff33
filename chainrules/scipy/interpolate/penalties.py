"""The penalty that ``make_smoothing_spline`` chooses by generalised cross-validation.

With X the natural splines at the abscissae, W the weights, E the penalties of curvature and M = X +
λ W⁻¹E, the coefficients are c = M⁻¹ y, and λ is where

    G(λ) = ‖λ W⁻¹E c‖² / n / (1 - tr(M⁻¹X)/n)²

is least. SciPy makes the trace element by element; here it is that of a solution. So G is a few
operations on whole bands, by which its derivatives are cheap; λ is SciPy's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.scipy.linalg.bands.solving import band_times, dense
from chainrules.scipy.optimize.minima import Minimum, place_of_minimum
from chainrules.scipy.private import Private
from chainrules_core import decompose, ignore_derivatives

_bsplines = Private("interpolate._bsplines")

WIDTHS = 2, 2
"""How many diagonals there are below and above the main one."""


def criterion(spec: Minimum, params: tuple, lam: Any) -> Any:
    """What generalised cross-validation minimises."""
    X, wE, y = params
    n = np.shape(X)[1]
    M = X + lam * wE
    c = linalg.solve_banded(WIDTHS, M, y, check_finite=False)
    away = lam * band_times(wE, c[:, None], *WIDTHS)
    trace = np.trace(linalg.solve_banded(WIDTHS, M, dense(X, *WIDTHS), check_finite=False))
    return np.sum(away**2) / n / (1 - trace / n) ** 2


@decompose(_bsplines._compute_optimal_gcv_parameter)
def penalty_body(X, wE, y, w):
    # The weights are in wE.
    plain = [ignore_derivatives(part) for part in (X, wE, y, w)]
    found = _bsplines._compute_optimal_gcv_parameter(*plain)
    n = np.shape(X)[1]
    spec = Minimum("scipy.interpolate.make_smoothing_spline", 1, (), criterion)

    def penalty(y_of_one: Any, lam: Any) -> Any:
        return place_of_minimum(spec, (X, wE, y_of_one), lam, [(0, n)])

    if np.ndim(y) == 1:
        return penalty(y, found)
    return np.stack([penalty(y[:, i], lam) for i, lam in enumerate(found)])
