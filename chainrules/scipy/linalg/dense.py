"""Norms, determinants, pseudoinverses, least squares: the formulas of `chainrules.linalg`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.determinants import (
    Factored,
    adjugate,
    det_tangent,
    factored,
    times as scaled,
)
from chainrules.linalg.least_squares import PseudoInverse, as_columns, pinv_adjoint
from chainrules.linalg.matrices import adjoint, conj, real
from chainrules.linalg.norms import norm_of
from chainrules.linalg.singular import values_tangent
from chainrules.scipy.linalg.structure import hermitian, onto_hermitian
from chainrules_core import Array, NoTangent, Numeric, Tangent, ZeroTangent, pair_rule
from chainrules_core.authoring import part, parts, precise

# --------------------------------------------------------------------------------- norm and det


@pair_rule(linalg.norm, Numeric, lists=True)
def norm_rule(a, *, ord=None, axis=None, keepdims=False, check_finite=True):
    y = linalg.norm(a, ord, axis, keepdims, check_finite)

    def norm_pushforward(a_dot):
        return norm_of(a, ord, axis).tangent(y, a_dot, keepdims)

    def norm_pullback(y_bar):
        return norm_of(a, ord, axis).cotangent(y, y_bar)

    return y, norm_pushforward, norm_pullback


def factored_det(a: Any, check_finite: Any) -> tuple[Factored | None, Any]:
    """Return the factors, if there are any to be used, and the determinant."""
    lu = factored(a) if np.size(a) and np.all(np.isfinite(a)) else None
    return lu, linalg.det(a, check_finite=check_finite) if lu is None else lu.det()


@pair_rule(linalg.det, Array, lists=True)
def det_rule(a, *, overwrite_a=False, check_finite=True):
    lu, y = factored_det(a, check_finite)

    def det_pushforward(a_dot):
        return det_tangent(a, y, lu, a_dot)

    def det_pullback(y_bar):
        inverse = None if lu is None else lu.inverse_adjoint()
        if inverse is not None:
            return scaled(y_bar * conj(y), inverse)
        return scaled(y_bar, adjoint(adjugate(a, y)))

    return y, det_pushforward, det_pullback


# --------------------------------------------------------------------------------- pseudoinverses


def inverse(y: Any, return_rank: bool) -> Any:
    return y[0] if return_rank else y


def pinv_tangent(a: Any, y: Any, a_dot: Any) -> Any:
    """-YȦY + YYᴴȦᴴ(1 - AY) + (1 - YA)ȦᴴYᴴY."""
    yh, ah_dot = adjoint(y), adjoint(a_dot)
    first = np.matmul(np.matmul(y, yh), ah_dot)
    last = np.matmul(ah_dot, np.matmul(yh, y))
    moved = first - np.matmul(np.matmul(first, a), y) - np.matmul(np.matmul(y, a_dot), y)
    return moved + last - np.matmul(y, np.matmul(a, last))


@pair_rule(linalg.pinv, Array, lists=True)
def pinv_rule(a, *, atol=None, rtol=None, return_rank=False, check_finite=True):
    y = linalg.pinv(a, atol=atol, rtol=rtol, return_rank=return_rank, check_finite=check_finite)

    def pinv_pushforward(a_dot):
        y_dot = pinv_tangent(a, inverse(y, return_rank), a_dot)
        return Tangent[type(y)](y_dot, NoTangent()) if return_rank else y_dot

    def pinv_pullback(y_bar):
        bar = part(y_bar, 0) if return_rank else y_bar
        return np.zeros_like(a) if bar is None else pinv_adjoint(a, inverse(y, return_rank), bar)

    return y, pinv_pushforward, pinv_pullback


@pair_rule(linalg.pinvh, Array, lists=True)
def pinvh_rule(a, *, atol=None, rtol=None, lower=True, return_rank=False, check_finite=True):
    y = linalg.pinvh(a, atol, rtol, lower, return_rank, check_finite)

    def pinvh_pushforward(a_dot):
        a_dot = hermitian(a_dot, lower)
        y_dot = pinv_tangent(hermitian(a, lower), inverse(y, return_rank), a_dot)
        return Tangent[type(y)](y_dot, NoTangent()) if return_rank else y_dot

    def pinvh_pullback(y_bar):
        bar = part(y_bar, 0) if return_rank else y_bar
        if bar is None:
            return np.zeros_like(a)
        a_bar = pinv_adjoint(hermitian(a, lower), inverse(y, return_rank), bar)
        return onto_hermitian(a_bar, lower)

    return y, pinvh_pushforward, pinvh_pullback


# ----------------------------------------------------------------------------------- least squares


def pseudoinverse(a: Any, rank: Any, cond: Any) -> PseudoInverse:
    """The pseudoinverse, cut off where SciPy cuts it off."""
    dtype = a.dtype if a.dtype.kind in "fc" else float
    return PseudoInverse(a, rank, np.finfo(dtype).eps if cond is None else cond)


@pair_rule(linalg.lstsq, Array, Array, lists=True)
def lstsq_rule(
    a, b, *, cond=None, overwrite_a=False, overwrite_b=False, check_finite=True, lapack_driver=None
):
    if np.ndim(a) != 2 or np.size(a) == 0:
        return None
    fit = linalg.lstsq(a, b, cond, check_finite=check_finite, lapack_driver=lapack_driver)
    x, residuals, rank, s = fit
    a, b = precise(x, (a, b))
    x, shape = as_columns(x), np.shape(b)

    def lstsq_pushforward(a_dot, b_dot):
        y, ah_dot = pseudoinverse(a, rank, cond), adjoint(a_dot)
        rest = as_columns(b) - np.matmul(a, x)
        moved = as_columns(b_dot) - np.matmul(a_dot, x)
        bent = np.matmul(ah_dot, y.adjoint_times(x))
        inner = moved + y.adjoint_times(np.matmul(ah_dot, rest)) - np.matmul(a, bent)
        x_dot = np.reshape(bent + y.times(inner), np.shape(fit[0]))
        residuals_dot = np.zeros_like(residuals)
        if np.size(residuals):
            residuals_dot = 2 * np.sum(real(conj(rest) * moved), 0)
            if type(residuals) is np.ndarray:
                residuals_dot = np.reshape(residuals_dot, np.shape(residuals))
            else:
                residuals_dot = residuals_dot[0]
        s_dot = NoTangent()
        if s is not None:
            s_dot = values_tangent(*np.linalg.svd(a, full_matrices=False), a_dot)
        return Tangent[tuple](x_dot, residuals_dot, NoTangent(), s_dot)

    def lstsq_pullback(y_bar):
        x_bar, residuals_bar, _, s_bar = parts(y_bar, 4)
        a_bar = b_bar = ZeroTangent()
        rest = as_columns(b) - np.matmul(a, x)
        if x_bar is not None or s_bar is not None:
            y = pseudoinverse(a, rank, cond)
        if x_bar is not None:
            x_bar = as_columns(x_bar)
            b_bar = y.adjoint_times(x_bar)
            a_bar = np.matmul(rest, adjoint(y.times(b_bar))) - np.matmul(b_bar, adjoint(x))
            if rank < np.shape(a)[1]:
                left = x_bar - np.matmul(adjoint(a), b_bar)
                a_bar = a_bar + np.matmul(y.adjoint_times(x), adjoint(left))
        if residuals_bar is not None and np.size(residuals):
            rest_bar = 2 * real(residuals_bar) * rest
            b_bar = b_bar + rest_bar
            a_bar = a_bar - np.matmul(rest_bar, adjoint(x))
        if s_bar is not None:
            a_bar = a_bar + y.singular_values_adjoint(a, s_bar)
        return a_bar, b_bar if isinstance(b_bar, ZeroTangent) else np.reshape(b_bar, shape)

    return fit, lstsq_pushforward, lstsq_pullback
