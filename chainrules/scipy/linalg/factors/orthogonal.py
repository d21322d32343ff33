"""QR and RQ factorisations, by the formulas of `chainrules.linalg.orthogonal`.

With pivoting A P = Q R, and P is constant. RQ is a QR factorisation seen in a mirror: with
J the reversal of an order, A = R Q means J Aᴴ J = (J Qᴴ J)(J Rᴴ J), and LAPACK's
reflections are mirrored in the same way, so that the columns which ``mode="full"`` adds
follow the same formula.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.matrices import adjoint, conj
from chainrules.linalg.orthogonal import (
    complete_adjoint,
    complete_tangent,
    has_dependent_columns,
    reduced_adjoint,
    reduced_tangent,
)
from chainrules_core import Array, NoTangent, Tangent, decompose, not_implemented, pair_rule
from chainrules_core.authoring import part, parts

DEPENDENT = (
    "scipy.linalg.qr or rq of a matrix whose (first) columns, or (last) rows, are linearly "
    "dependent: what belongs to them in Q is arbitrary, and so has R no derivative"
)
RAW = "the reflections of scipy.linalg.qr(mode='raw') have no rule: use mode='economic'"


def factors_adjoint(a: Any, q: Any, r: Any, q_bar: Any, r_bar: Any) -> Any:
    """Ā for factors of either size; either cotangent may be None."""
    k = min(np.shape(a)[-2:])
    thin, square = q[..., :k], r[..., :k, :]
    if has_dependent_columns(square):
        return not_implemented(DEPENDENT)
    if r_bar is not None:
        r_bar = r_bar[..., :k, :]
    if q_bar is not None and np.shape(q_bar)[-1] > k:
        q_bar = q_bar[..., :k] + complete_adjoint(thin, q_bar[..., k:])
    if q_bar is None and r_bar is None:
        return np.zeros_like(a)
    return reduced_adjoint(a, thin, square, q_bar, r_bar)


def factors_tangent(a: Any, q: Any, r: Any, a_dot: Any) -> tuple[Any, Any]:
    """The tangents of factors of either size."""
    k = min(np.shape(a)[-2:])
    thin, square = q[..., :k], r[..., :k, :]
    if has_dependent_columns(square):
        return not_implemented(DEPENDENT), not_implemented(DEPENDENT)
    q_dot, r_dot = reduced_tangent(a, thin, square, a_dot)
    if np.shape(q)[-1] > k:
        q_dot = np.concatenate([q_dot, complete_tangent(thin, q_dot)], -1)
    if np.shape(r)[-2] > k:
        below = np.zeros((*np.shape(r)[:-2], np.shape(r)[-2] - k, np.shape(r)[-1]), r.dtype)
        r_dot = np.concatenate([r_dot, below], -2)
    return q_dot, r_dot


# ------------------------------------------------------------------------------------------- qr


def columns(a: Any, order: Any) -> Any:
    """The columns of each matrix in another order."""
    return a if order is None else np.take_along_axis(a, np.expand_dims(order, -2), -1)


def is_bare(y: Any) -> bool:
    """Whether R comes alone: of a stack, with ``mode="r"``."""
    return not isinstance(y, (tuple, list))


def factorised(a: Any, mode: str, pivoting: bool, check_finite: bool) -> tuple[Any, Any, Any, Any]:
    """What SciPy returns, Q, R, and the order of the columns."""
    y = linalg.qr(a, mode=mode, pivoting=pivoting, check_finite=check_finite)
    if mode == "raw" and np.ndim(a) > 2:
        raise NotImplementedError(RAW)
    order = y[-1] if pivoting else None
    r = y if is_bare(y) else y[0 if mode == "r" else 1]
    if mode in ("r", "raw"):
        q = linalg.qr(a, mode="economic", pivoting=pivoting, check_finite=False)[0]
    else:
        q = y[0]
    return y, q, r, order


@pair_rule(linalg.qr, Array, lists=True)
def qr_rule(
    a, *, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True
):  # fmt: skip
    if np.size(a) == 0:
        return None
    y, q, r, order = factorised(a, mode, pivoting, check_finite)

    def qr_pushforward(a_dot):
        q_dot, r_dot = factors_tangent(columns(a, order), q, r, columns(a_dot, order))
        if mode == "raw":
            first = (Tangent[tuple](not_implemented(RAW), not_implemented(RAW)),)
        else:
            first = () if mode == "r" else (q_dot,)
        if is_bare(y):
            return r_dot
        return Tangent[type(y)](*first, r_dot, *([NoTangent()] if pivoting else []))

    def qr_pullback(y_bar):
        if mode == "raw":
            return not_implemented(RAW)
        if mode == "r":
            q_bar, r_bar = None, y_bar if is_bare(y) else part(y_bar, 0)
        else:
            q_bar, r_bar = parts(y_bar, 2)
        a_bar = factors_adjoint(columns(a, order), q, r, q_bar, r_bar)
        return a_bar if order is None else columns(a_bar, np.argsort(order, -1))

    return y, qr_pushforward, qr_pullback


@decompose(linalg.qr_multiply)
def qr_multiply_body(
    a, c, mode="right", pivoting=False, conjugate=False, overwrite_a=False, overwrite_c=False
):
    q, *rest = linalg.qr(a, mode="economic", pivoting=pivoting)
    c = c if np.iscomplexobj(a) else np.real(c)  # SciPy does, with a warning
    if conjugate:
        q = conj(q)
    return (np.matmul(q, c) if mode == "left" else np.matmul(c, q), *rest)


# ------------------------------------------------------------------------------------------- rq


def mirrored(x: Any) -> Any:
    """J Xᴴ J."""
    return None if x is None else adjoint(x)[..., ::-1, ::-1]


@pair_rule(linalg.rq, Array, lists=True)
def rq_rule(a, *, overwrite_a=False, lwork=None, mode="full", check_finite=True):
    if np.size(a) == 0:
        return None
    y = linalg.rq(a, mode=mode, check_finite=check_finite)
    r, q = (y, linalg.rq(a, mode="economic")[1]) if mode == "r" else y

    def rq_pushforward(a_dot):
        q_dot, r_dot = factors_tangent(mirrored(a), mirrored(q), mirrored(r), mirrored(a_dot))
        if mode == "r":
            return back(r_dot)
        return Tangent[type(y)](back(r_dot), back(q_dot))

    def rq_pullback(y_bar):
        r_bar, q_bar = (y_bar, None) if mode == "r" else parts(y_bar, 2)
        wide = (
            None if r_bar is None else mirrored(np.triu(r_bar, np.shape(r)[-1] - np.shape(r)[-2]))
        )
        return back(factors_adjoint(mirrored(a), mirrored(q), mirrored(r), mirrored(q_bar), wide))

    return y, rq_pushforward, rq_pullback


def back(x: Any) -> Any:
    """As `mirrored`, for what may be missing."""
    return mirrored(x) if hasattr(x, "shape") else x
