"""Cubic splines: the coefficients that values and slopes at the breaks make, in one step.

With h the widths of the pieces, s the slopes at their ends and d = (y₁ - y₀)/h, a piece has

    c₀ = t/h,  c₁ = (d - s₀)/h - t,  c₂ = s₀,  c₃ = y₀,  where t = (s₀ + s₁ - 2 d)/h.

The constructors are traced for the slopes; here they hand over what they have found. SciPy's own
checks of the data see plain values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import CubicHermiteSpline, PPoly, _cubic

from chainrules_core import decompose, frule, non_differentiable, primitive, rrule
from chainrules_core.names import Array


def per_piece(x: Any, ndim: int) -> Any:
    """Return the widths between breaks, one for each row of an array of so many axes."""
    return np.reshape(x[1:] - x[:-1], (-1,) + (1,) * (ndim - 1))


def at_both_ends(first: Any, second: Any) -> Any:
    """Add up what belongs to the first and what to the second end of each piece."""
    return np.concatenate([first[:1], first[1:] + second[:-1], second[-1:]])


@primitive
def hermite(x: Any, y: Any, s: Any) -> Any:
    """Return the coefficients of cubic pieces with values `y` and slopes `s` at breaks `x`."""
    h = per_piece(x, np.ndim(y))
    first, d = s[:-1], (y[1:] - y[:-1]) / h
    t = (first + s[1:] - 2 * d) / h
    return np.stack([t / h, (d - first) / h - t, first, y[:-1]])


@rrule.register(hermite, Array, Array, Array)
def hermite_rrule(x, y, s):
    c = hermite(x, y, s)

    def hermite_pullback(c_bar):
        h = per_piece(x, np.ndim(y))
        by_cube, by_square = c_bar[0] / h, c_bar[1] / h
        by_t = (by_cube - c_bar[1]) / h
        by_d = (by_square - 2 * by_t) / h
        # d ∂c₁/∂d = c₁ + t + s₀/h and so on: each quotient is made smaller by its own amount.
        t, d = h * c[0], (y[1:] - y[:-1]) / h
        by_h = -(by_cube * np.conj(c[0]) + by_square * np.conj(c[1] + t))
        by_h = np.real(by_h - by_t * np.conj(t) - by_d * np.conj(d))
        by_h = np.sum(np.reshape(by_h, (np.shape(h)[0], -1)), axis=1)
        return (
            at_both_ends(-by_h, by_h),
            at_both_ends(c_bar[3] - by_d, by_d),
            at_both_ends(c_bar[2] - by_square + by_t, by_t),
        )

    return c, hermite_pullback


@frule.register(hermite, Array, Array, Array)
def hermite_frule(dots, x, y, s):
    x_dot, y_dot, s_dot = dots
    c = hermite(x, y, s)
    h, h_dot = per_piece(x, np.ndim(y)), per_piece(x_dot, np.ndim(y))
    t, d = h * c[0], (y[1:] - y[:-1]) / h
    d_dot = (y_dot[1:] - y_dot[:-1] - d * h_dot) / h
    t_dot = (s_dot[:-1] + s_dot[1:] - 2 * d_dot - t * h_dot) / h
    square = (d_dot - s_dot[:-1] - (c[1] + t) * h_dot) / h - t_dot
    return c, np.stack([(t_dot - c[0] * h_dot) / h, square, s_dot[:-1], y_dot[:-1]])


@non_differentiable
def checked(*args: Any, **options: Any) -> tuple:
    return _cubic.prepare_input(*args, **options)


def prepared(data: tuple, x: Any, y: Any, dydx: Any = None) -> tuple:
    """Return traced data in the form in which SciPy has them, who has checked them."""
    _, _, plain, axis, _ = data
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=plain.dtype)
    dydx = None if dydx is None else np.asarray(dydx, dtype=plain.dtype)
    if axis:
        y = np.moveaxis(y, axis, 0)
        dydx = None if dydx is None else np.moveaxis(dydx, axis, 0)
    return x, y, axis, dydx


@decompose(_cubic.prepare_input)
def prepare_input_body(x, y, axis, dydx=None, **options):
    x, y, axis, dydx = prepared(checked(x, y, axis, dydx, **options), x, y, dydx)
    return x, np.diff(x), y, axis, dydx


@decompose(CubicHermiteSpline.__init__)
def hermite_spline_body(self, x, y, dydx, axis=0, extrapolate=None):
    data = checked(x, y, axis, dydx, **NAMESPACE)
    x, y, axis, dydx = prepared(data, x, y, dydx)
    extrapolate = True if extrapolate is None else extrapolate
    PPoly.__init__(self, hermite(x, y, dydx), x, extrapolate=extrapolate)
    self.axis = axis


# Older versions of SciPy take NumPy's arrays alone.
NAMESPACE = {"xp": np} if "xp" in _cubic.prepare_input.__code__.co_varnames else {}
