"""Splines of a smoothing factor, given the knots that FITPACK chose.

With B the B-splines at the abscissae times the weights, D the jumps of the highest derivative at
the inner knots and z the weighted data, the coefficients and λ solve

    (BᵀB + λ DᵀD) c = Bᵀ z,   ‖z - B c‖² = s

(Dierckx, Curve and Surface Fitting with Splines, 1993, section 5.2). FITPACK stops where the sum of
squares is s to 0.001; how far it is from s there counts as a constant. Its λ is taken from its
coefficients, and moved by two steps of Newton's method with a constant slope, which make the first
and second derivatives right. The knots are abscissae, and move with them; which ones is a constant.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.refused import RefusedError
from chainrules.scipy.found import with_value
from chainrules.scipy.interpolate.bsplines import design
from chainrules_core import ignore_derivatives

SMOOTHED = (
    "what it found does not solve the equations of a smoothing factor to six digits. Interpolate "
    "(s=0), give the knots (make_lsq_spline, LSQUnivariateSpline, splrep(..., t=knots)) or the "
    "penalty (make_smoothing_spline(..., lam=...)), or wrap the data in "
    "autodiff.ignore_derivatives(...)."
)
NEWTON_STEPS = 2
AGREEMENT = 1e-6


def abscissae_at(x: Any, inner: Any) -> Any:
    """Knots that are abscissae, as functions of these."""
    at = np.asarray(ignore_derivatives(x))
    n = np.minimum(np.searchsorted(at, inner), len(at) - 1)
    return with_value(inner, x[n]) if np.array_equal(at[n], inner) else inner


def jumps(t: Any, k: int) -> Any:
    """The matrix of the jumps of the k-th derivatives of all B-splines at the inner knots."""
    ends = t[k : np.shape(t)[0] - k]
    return np.diff(design(t, k, (ends[1:] + ends[:-1]) / 2, k), axis=0)


def smoothing(
    t: Any, k: int, x: Any, y: Any, w: Any, s: Any, known: Any, name: str
) -> tuple[Any, Any]:
    """Return the coefficients of a spline that was found, and the sum of squares that is left.

    Parameters
    ----------
    t, k : Any
        The knots, as functions of the abscissae, and the degree.
    x, y, w : Any
        Abscissae, data (with a column for each of several splines), and weights.
    s : Any
        The smoothing factor.
    known : array
        The coefficients, in the shape of `y`.
    name : str
        The function, for errors.
    """
    columns = np.reshape(y, (np.shape(x)[0], -1))
    found = np.reshape(known, (np.shape(known)[0], -1))
    c, left = balanced(
        design(t, k, x) * w[:, None], jumps(t, k), columns * w[:, None], s, found, name
    )
    return np.reshape(c, np.shape(known)), left


def balanced(B: Any, D: Any, z: Any, s: Any, found: Any, name: str) -> tuple[Any, Any]:
    """Return coefficients that were found, and the sum of squares that is left.

    Parameters
    ----------
    B, D : Any
        The matrix of the B-splines, and that of what is to be small.
    z, s : Any
        The data, a column for each spline, and the smoothing factor.
    found : array
        The coefficients.
    name : str
        The function, for errors.
    """
    normal, right = np.matmul(B.T, B), np.matmul(B.T, z)
    penalty = np.matmul(D.T, D)

    def fit(penalty_factor: Any) -> tuple[Any, Any]:
        c = np.linalg.solve(normal + penalty_factor * penalty, right)
        return c, np.sum((z - np.matmul(B, c)) ** 2)

    # Of plain values: the factor that FITPACK has found, and how the sum of squares changes.
    N, P, r = (np.asarray(ignore_derivatives(a)) for a in (normal, penalty, right))
    bend = P @ found
    factor = np.sum(bend * (r - N @ found)) / np.sum(bend**2)
    c = np.linalg.solve(N + factor * P, r)
    slope = 2 * np.sum((r - N @ c) * np.linalg.solve(N + factor * P, P @ c))
    size = np.max(np.abs(found))
    if not (factor > 0 and slope > 0 and np.max(np.abs(c - found)) < AGREEMENT * size):
        raise RefusedError(f"scipy.interpolate.{name}", SMOOTHED)
    target = ignore_derivatives(fit(factor)[1]) + (s - ignore_derivatives(s))
    for _ in range(NEWTON_STEPS):
        factor = factor - (fit(factor)[1] - target) / slope
    c, left = fit(factor)
    return with_value(found, c), left
