"""Norms, determinants, pseudoinverses, least squares: the formulas of `chainrules.linalg`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.determinants import Factored, adjugate_adjoint, factored, times
from chainrules.linalg.least_squares import (
    PseudoInverse,
    as_columns,
    pinv_adjoint,
    pinv_tangent,
    solution_cotangents,
    solution_tangents,
)
from chainrules.linalg.matrices import conj
from chainrules.linalg.norms import norm_of
from chainrules.linalg.singular import values_tangent
from chainrules.scipy.linalg.structure import hermitian, onto_hermitian
from chainrules_core import Array, NoTangent, Numeric, Tangent, not_implemented, pair_rule
from chainrules_core.authoring import part, precise

# --------------------------------------------------------------------------------- norm and det


@pair_rule(linalg.norm, Numeric, lists=True, shaped_by=(0,))
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
        return np.sum(conj(adjugate_adjoint(a, y, lu)) * a_dot, (-2, -1))

    def det_pullback(y_bar):
        return times(y_bar, adjugate_adjoint(a, y, lu))

    return y, det_pushforward, det_pullback


# --------------------------------------------------------------------------------- pseudoinverses


def inverse(y: Any, return_rank: bool) -> Any:
    return y[0] if return_rank else y


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


PIVOTED = (
    "scipy.linalg.lstsq(lapack_driver='gelsy') with a cond that cuts off what is not zero: it "
    "drops columns of a pivoted QR factorisation. Use another driver, which drops singular values"
)


@pair_rule(linalg.lstsq, Array, Array, lists=True)
def lstsq_rule(
    a, b, *, cond=None, overwrite_a=False, overwrite_b=False, check_finite=True, lapack_driver=None
):
    if np.ndim(a) != 2 or np.size(a) == 0:
        return None
    fit = linalg.lstsq(a, b, cond, check_finite=check_finite, lapack_driver=lapack_driver)
    x, residuals, rank, s = fit
    a, b = precise(x, (a, b))
    x = as_columns(x)

    def is_unknown():
        if lapack_driver != "gelsy" or rank == min(np.shape(a)):
            return False
        return pseudoinverse(a, rank, cond).cuts(a)

    def lstsq_pushforward(a_dot, b_dot):
        y = pseudoinverse(a, rank, cond)
        if is_unknown():
            missing = not_implemented(PIVOTED)
            return Tangent[tuple](missing, np.zeros_like(residuals), NoTangent(), NoTangent())
        x_dot, squares_dot = solution_tangents(a, b, x, y, a_dot, b_dot)
        residuals_dot = np.zeros_like(residuals)
        if np.size(residuals):
            residuals_dot = squares_dot[0]
            if type(residuals) is np.ndarray:
                residuals_dot = np.reshape(squares_dot, np.shape(residuals))
        s_dot = NoTangent()
        if s is not None:
            s_dot = values_tangent(*np.linalg.svd(a, full_matrices=False), a_dot)
        return Tangent[tuple](
            np.reshape(x_dot, np.shape(fit[0])), residuals_dot, NoTangent(), s_dot
        )

    def lstsq_pullback(y_bar):
        if is_unknown():
            return not_implemented(PIVOTED), not_implemented(PIVOTED)
        return solution_cotangents(fit, a, b, lambda: pseudoinverse(a, rank, cond), y_bar)

    return fit, lstsq_pushforward, lstsq_pullback
