"""Singular values and vectors, and what is made of them.

The formulas are those of `chainrules.linalg.singular`; a gradient through vectors is what
it is for the signs and phases that LAPACK has given. Bases of spaces (``orth``,
``null_space``) are traced: they have a derivative as far as a function depends on the space
and not on the basis.

The polar factors are U = W Vᴴ and P = Uᴴ A. Their derivatives have sums of singular values in
their denominators, no gaps, and are those of a Sylvester equation: they exist for equal values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.matrices import adjoint, hermitian
from chainrules.linalg.singular import (
    over_sums,
    svd_adjoint,
    svd_tangent,
    values_adjoint,
    values_tangent,
)
from chainrules.refused import refuse
from chainrules.scipy.delegated import both
from chainrules_core import Array, Tangent, decompose, pair_rule, primitive
from chainrules_core.authoring import parts


@pair_rule(linalg.svd, Array, lists=True)
def svd_rule(
    a, *, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True,
    lapack_driver="gesdd",
):  # fmt: skip
    if np.size(a) == 0:
        return None
    options: dict[str, Any] = {"check_finite": check_finite, "lapack_driver": lapack_driver}
    y = linalg.svd(a, full_matrices and compute_uv, **options)
    u, s, vh = y

    def svd_pushforward(a_dot):
        if not compute_uv:
            return values_tangent(u, s, vh, a_dot)
        u_dot, s_dot, v_dot = svd_tangent(a, u, s, adjoint(vh), a_dot)
        return Tangent[type(y)](u_dot, s_dot, adjoint(v_dot))

    def svd_pullback(y_bar):
        u_bar, s_bar, vh_bar = parts(y_bar, 3) if compute_uv else (None, y_bar, None)
        if u_bar is None and vh_bar is None:
            k = np.shape(s)[-1]
            return values_adjoint(u[..., :k], s, vh[..., :k, :], s_bar)
        v_bar = None if vh_bar is None else adjoint(vh_bar)
        return svd_adjoint(a, u, s, adjoint(vh), u_bar, s_bar, v_bar)

    return y if compute_uv else s, svd_pushforward, svd_pullback


@pair_rule(linalg.svdvals, Array, lists=True)
def svdvals_rule(a, *, overwrite_a=False, check_finite=True):
    return svd_rule(a, compute_uv=False, check_finite=check_finite)


# ----------------------------------------------------------------------------- polar factors


@primitive
def unitary(a: Any) -> Any:
    """Return the factor U = W Vᴴ of A = U P."""
    w, _, vh = np.linalg.svd(a, full_matrices=False)
    return np.matmul(w, vh)


@primitive
def symmetric_solution(p: Any, x: Any) -> Any:
    """Solve P Ω + Ω P = X for a Hermitian P without negative eigenvalues, by these."""
    w, v = np.linalg.eigh(hermitian(p))
    inner = np.matmul(np.matmul(adjoint(v), x), v)
    return np.matmul(np.matmul(v, over_sums(inner, w, inner)), adjoint(v))


@pair_rule(symmetric_solution, Array, Array)
def symmetric_solution_rule(p, x):
    y = symmetric_solution(p, x)

    def symmetric_solution_pushforward(p_dot, x_dot):
        p_dot = hermitian(p_dot)
        moved = np.matmul(p_dot, y) + np.matmul(y, p_dot)
        return symmetric_solution(p, x_dot - moved)

    def symmetric_solution_pullback(y_bar):
        x_bar = symmetric_solution(p, y_bar)
        yh = adjoint(y)
        return hermitian(-np.matmul(x_bar, yh) - np.matmul(yh, x_bar)), x_bar

    return y, symmetric_solution_pushforward, symmetric_solution_pullback


def turned(a: Any, u: Any, x: Any) -> Any:
    """Return the derivative of U along X, a map that is its own adjoint.

    U Ω + (1 - U Uᴴ) X P⁻¹ with P Ω + Ω P = Uᴴ X - Xᴴ U; a wide matrix is one of its adjoint.
    """
    rows, columns = np.shape(a)[-2:]
    if rows < columns:
        return adjoint(turned(adjoint(a), adjoint(u), adjoint(x)))
    uh = adjoint(u)
    p, inner = hermitian(np.matmul(uh, a)), np.matmul(uh, x)
    tangent = np.matmul(u, symmetric_solution(p, inner - adjoint(inner)))
    if rows == columns:
        return tangent
    rest = x - np.matmul(u, inner)
    return tangent + adjoint(np.linalg.solve(p, adjoint(rest)))


@pair_rule(unitary, Array)
def unitary_rule(a):
    u = unitary(a)

    def unitary_pushforward(a_dot):
        return turned(a, u, a_dot)

    def unitary_pullback(u_bar):
        return turned(a, u, u_bar)

    return u, unitary_pushforward, unitary_pullback


@decompose(linalg.polar)
def polar_body(a, side="right"):
    a = np.asarray(a)
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    u = unitary(a)
    uh = adjoint(u)
    return u, hermitian(np.matmul(uh, a) if side == "right" else np.matmul(a, uh))


refuse(
    both(linalg.cossin),
    "its argument is a unitary matrix, or blocks of one, which cannot be perturbed element by "
    "element. The cosines are the singular values of a block: call svd for it.",
)
