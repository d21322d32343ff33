"""LDL factorisation: A = L D Lᴴ, or L D Lᵀ, with blocks of one or two on the diagonal of D.

With X = L⁻¹ Ȧ L⁻ᴴ the tangent of D is the part of X in the blocks, and that of L is L K,
where K D is the part of X below them. LAPACK exchanges rows of L, which stay where they
are; it reads one triangle of A, and with ``lower=False`` makes L an upper triangle, where
"below" is above.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.lists import take_lists
from chainrules.linalg.matrices import adjoint
from chainrules.linalg.spectral import part
from chainrules.scipy.linalg.structure import structure_of
from chainrules_core import Array, NoTangent, Tangent, frule, non_differentiable, rrule
from chainrules_core.define import primitive


@primitive
def blocks_of(d: Any, lower: bool) -> tuple[Any, Any]:
    """The masks of the blocks of D, and of what is below them."""
    n = np.shape(d)[-1]
    inside = (d != 0) | np.eye(n, dtype=bool)
    inside = inside | np.swapaxes(inside, -1, -2)
    triangle = np.tri(n, k=-1, dtype=bool)
    return inside, (triangle if lower else triangle.T) & ~inside


non_differentiable(blocks_of)


def turned(x: Any, hermitian: bool) -> Any:
    return adjoint(x) if hermitian else x.mT


def structured(lower: bool, hermitian: bool) -> Any:
    return structure_of("her" if hermitian else "sym", lower)


def is_hermitian(a: Any, hermitian: bool) -> bool:
    """For real matrices there is no difference."""
    return hermitian or not np.iscomplexobj(a)


def solved(factor: Any, b: Any) -> Any:
    return linalg.solve(factor, b, check_finite=False)


@rrule.register(linalg.ldl, Array)
def ldl_rrule(A, *, lower=True, hermitian=True, overwrite_a=False, check_finite=True):
    if np.ndim(A) != 2 or np.size(A) == 0:
        return None
    y = linalg.ldl(A, lower, hermitian, check_finite=check_finite)
    factor, d, _ = y

    def ldl_pullback(y_bar):
        l_bar, d_bar = part(y_bar, 0), part(y_bar, 1)
        inside, below = blocks_of(d, lower)
        x_bar: Any = 0
        if d_bar is not None:
            x_bar = np.where(inside, d_bar, 0)
        if l_bar is not None:
            k_bar = np.where(below, np.matmul(adjoint(factor), l_bar), 0)
            # K = (X below) D⁻¹
            x_bar = x_bar + np.where(below, adjoint(solved(d, adjoint(k_bar))), 0)
        same = is_hermitian(A, hermitian)
        fh = adjoint(factor)
        a_bar = turned(solved(fh, turned(solved(fh, x_bar), same)), same)
        return structured(lower, same).written(a_bar)

    return y, ldl_pullback


@frule.register(linalg.ldl, Array)
def ldl_frule(dots, A, *, lower=True, hermitian=True, overwrite_a=False, check_finite=True):
    if np.ndim(A) != 2 or np.size(A) == 0:
        return None
    y = linalg.ldl(A, lower, hermitian, check_finite=check_finite)
    factor, d, _ = y
    hermitian = is_hermitian(A, hermitian)
    x = solved(factor, structured(lower, hermitian).read(dots[0]))
    x = turned(solved(factor, turned(x, hermitian)), hermitian)
    inside, below = blocks_of(d, lower)
    k = solved(d.mT, np.where(below, x, 0).mT).mT
    l_dot = np.matmul(factor, np.where(below, k, 0))
    return y, Tangent[type(y)](l_dot, np.where(inside, x, 0), NoTangent())


take_lists((linalg.ldl,), arrays=1)
