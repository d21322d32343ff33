"""Schur forms, and balancing.

Schur: A = Z T Zᴴ. With X = Zᴴ Ȧ Z and a skew K, Ż = Z K and Ṫ = X + T K - K T. That T stays
triangular determines K below the diagonal: K T - T K is X there, which are Sylvester equations
when T is cut in two again and again (see `solve_below`). A real form has blocks of two on its
diagonal for pairs of complex eigenvalues; LAPACK makes the diagonal of a block [[a, b], [c, a]]
constant, which determines the rotation in it: κ = -(Ṫ₁₁ - Ṫ₂₂)/(2(b + c)), by the Ṫ that K makes
without it. Of a rotation b + c is 0, and κ is 0 or NaN, as a quotient by other gaps. A complex form
has phases of LAPACK's own: in reverse a gradient that depends on them is declared as missing,
forward they stand still.

Balancing: the powers of two and the permutation are constant.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.gaps import negligible
from chainrules.linalg.matrices import adjoint, commutator, diagonal, diagonal_matrix
from chainrules.scipy.delegated import both
from chainrules.scipy.linalg.solvers import of_commutator, solver_rules
from chainrules_core import (
    Array,
    NoTangent,
    Tangent,
    decompose,
    frule,
    non_differentiable,
    not_implemented,
    pair_rule,
    primitive,
    rrule,
)
from chainrules_core.authoring import part, parts

EQUAL = (
    "scipy.linalg.schur of a matrix with equal eigenvalues has no derivative: which vectors of Z "
    "belong to them is arbitrary. Use a function of the matrix itself (expm, solve, eigvals)"
)
PHASE = (
    "the loss depends on the phases that LAPACK gave to the complex form of scipy.linalg.schur: "
    "take absolute values, or products that have no phase"
)


@primitive
def blocks_of(t: Any) -> Any:
    """Where the blocks on the diagonal begin, and, last, where they end."""
    goes_on = np.append(np.diagonal(t, -1) != 0, False)
    return np.append(0, np.flatnonzero(~goes_on) + 1)


@primitive
def pairs_in(t: Any) -> Any:
    """Where the blocks of two on the diagonal begin."""
    return np.flatnonzero(np.diagonal(t, -1))


non_differentiable(blocks_of)
non_differentiable(pairs_in)


def sylvester(left: Any, right: Any, q: Any, transposed: bool) -> Any:
    """Solve X R - L X = Q with quasi-triangular L and R, or with their adjoints."""
    if np.iscomplexobj(q) and not np.iscomplexobj(left):  # blocks of two are for real numbers
        parts = [sylvester(left, right, part, transposed) for part in (q.real, q.imag)]
        return parts[0] + 1j * parts[1]
    (trsyl,) = linalg.get_lapack_funcs(("trsyl",), (left, q))
    way = "N" if not transposed else "C" if trsyl.typecode in "cz" else "T"
    x, scale, info = trsyl(left, right, -q, way, way, -1)
    if info:
        raise np.linalg.LinAlgError(EQUAL)
    return x / scale


def solve_below(t: np.ndarray, x: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """Write into `x`, below the blocks, the K for which K T - T K is X there.

    Cut in two, the lower left part of K solves a Sylvester equation, and then the two parts on
    the diagonal are problems of the same kind.
    """
    if len(blocks) > 2:
        half = len(blocks) // 2
        start, at, stop = blocks[0], blocks[half], blocks[-1]
        first, last = slice(start, at), slice(at, stop)
        k = sylvester(t[last, last], t[first, first], x[last, first], False)
        x[last, first] = k
        x[first, first] += t[first, last] @ k
        x[last, last] -= k @ t[first, last]
        solve_below(t, x, blocks[: half + 1])
        solve_below(t, x, blocks[half:])
    return x


def solve_below_adjoint(t: np.ndarray, x: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """The same with Tᴴ in the place of T, for which the order of the parts is the other one."""
    if len(blocks) > 2:
        half = len(blocks) // 2
        start, at, stop = blocks[0], blocks[half], blocks[-1]
        first, last = slice(start, at), slice(at, stop)
        solve_below_adjoint(t, x, blocks[: half + 1])
        solve_below_adjoint(t, x, blocks[half:])
        back = t[first, last].conj().T
        q = x[last, first] - x[last, last] @ back + back @ x[first, first]
        x[last, first] = sylvester(t[last, last], t[first, first], q, True)
    return x


@primitive
def inside_blocks(t: Any) -> Any:
    """The mask of what is on or above the blocks."""
    mask = np.triu(np.ones(np.shape(t), bool))
    at = pairs_in(t)
    mask[at + 1, at] = True
    return mask


non_differentiable(inside_blocks)


@primitive
def below_blocks(t: Any, x: Any) -> Any:
    """The K below the blocks for which K T - T K is X there."""
    whole = np.array(x, np.result_type(t, x))
    return np.where(inside_blocks(t), 0, solve_below(t, whole, blocks_of(t)))


@primitive
def below_blocks_adjoint(t: Any, k_bar: Any) -> Any:
    """The cotangent of X in `below_blocks`: the same with Tᴴ in the place of T."""
    below = np.where(inside_blocks(t), 0, k_bar).astype(np.result_type(t, k_bar), copy=False)
    return solve_below_adjoint(t, below, blocks_of(t))


def onto_blocks(t: Any, t_dot: Any) -> Any:
    """What there is of T: the blocks and what is above them."""
    return np.where(inside_blocks(t), t_dot, 0)


solver_rules(below_blocks, below_blocks_adjoint, of_commutator(onto_blocks))


# ---------------------------------------------------------------------------------------- Schur


def slopes(t: Any, at: Any) -> Any:
    """By how much the first diagonal elements of blocks of two change with their rotations."""
    return t[at, at + 1] + t[at + 1, at]


@primitive
def is_round(t: Any, at: Any) -> Any:
    """Which blocks of two are rotations times a number, up to rounding: turning changes nothing."""
    size = np.abs(t[at, at + 1]) + np.abs(t[at + 1, at])
    return np.abs(t[at, at + 1] + t[at + 1, at]) <= 64 * np.finfo(t.dtype).eps * size


non_differentiable(is_round)


def over_slopes(x: Any, t: Any, at: Any, whole: Any) -> Any:
    """X / 2(b + c); where that is lost in rounding 0 or, unless x is negligible, NaN."""
    lost = is_round(t, at)
    quotient = np.where(lost, 0, x / np.where(lost, 1, 2 * slopes(t, at)))
    return np.where(lost & ~negligible(x[None], whole)[0], np.nan, quotient)


def signs(n: int, at: Any) -> Any:
    """A column for each block of two: 1 and -1 where its diagonal elements are."""
    return np.eye(n)[:, at] - np.eye(n)[:, at + 1]


def schur_adjoint(t: Any, z: Any, t_bar: Any, z_bar: Any) -> Any:
    """Ā; either cotangent may be None."""
    inside, th = inside_blocks(t), adjoint(t)
    x_bar = np.zeros_like(t) if t_bar is None else np.where(inside, t_bar, 0)
    turned = np.zeros_like(t) if z_bar is None else np.matmul(adjoint(z), z_bar)
    k_bar = turned + commutator(th, x_bar)
    if np.iscomplexobj(t):
        phases = diagonal_matrix(np.imag(diagonal(k_bar)))
        if not np.all(negligible(phases, k_bar)):
            return not_implemented(PHASE)
    at = pairs_in(t)
    if np.size(at):
        half = over_slopes(k_bar[at + 1, at] - k_bar[at, at + 1], t, at, k_bar)
        x_bar = x_bar - np.diag(np.matmul(signs(len(t), at), half))
        k_bar = turned + commutator(th, x_bar)
    x_bar = x_bar + below_blocks_adjoint(t, k_bar - adjoint(k_bar))
    return np.matmul(np.matmul(z, x_bar), adjoint(z))


def schur_tangent(t: Any, z: Any, a_dot: Any) -> tuple[Any, Any]:
    """The tangents of T and Z."""
    n = np.shape(t)[0]
    x = np.matmul(np.matmul(adjoint(z), a_dot), z)
    k = below_blocks(t, x)
    k = k - adjoint(k)
    t_dot = x + commutator(t, k)
    at = pairs_in(t)
    if np.size(at):
        kappa = over_slopes(-np.matmul(diagonal(t_dot), signs(n, at)), t, at, t_dot)
        turn = np.diag(np.matmul(np.eye(n)[: n - 1, at], kappa), -1)
        k, t_dot = k + turn - turn.T, t_dot + commutator(t, turn - turn.T)
    return onto_blocks(t, t_dot), np.matmul(z, k)


def schur_rrule(a, *, output="real", lwork=None, overwrite_a=False, sort=None, check_finite=True):
    if np.ndim(a) != 2 or np.size(a) == 0:
        return None
    y = linalg.schur(a, output=output, sort=sort, check_finite=check_finite)
    t, z = y[0], y[1]

    def schur_pullback(y_bar):
        return schur_adjoint(t, z, *parts(y_bar, 2))

    return y, schur_pullback


def schur_frule(
    dots, a, *, output="real", lwork=None, overwrite_a=False, sort=None, check_finite=True
):
    if np.ndim(a) != 2 or np.size(a) == 0:
        return None
    y = linalg.schur(a, output=output, sort=sort, check_finite=check_finite)
    more = [NoTangent()] if len(y) > 2 else []
    return y, Tangent[type(y)](*schur_tangent(y[0], y[1], dots[0]), *more)


for _schur in both(linalg.schur):
    rrule.register(_schur, Array)(schur_rrule)
    frule.register(_schur, Array)(schur_frule)


# -------------------------------------------------------------------------------------- balancing


def balancing(a: Any, permute: Any, scale: Any) -> tuple[Any, Any]:
    """T⁻¹ and T."""
    t = linalg.matrix_balance(a, permute, scale)[1]
    return np.where(t == 0, 0, 1 / np.where(t == 0, 1, t)).mT, t


@pair_rule(linalg.matrix_balance, Array, lists=True)
def matrix_balance_rule(A, *, permute=True, scale=True, separate=False, overwrite_a=False):
    y = linalg.matrix_balance(A, permute, scale, separate)
    inverse, t = balancing(A, permute, scale)

    def matrix_balance_pushforward(A_dot):
        rest = Tangent[tuple](NoTangent(), NoTangent()) if separate else np.zeros_like(t)
        return Tangent[type(y)](np.matmul(np.matmul(inverse, A_dot), t), rest)

    def matrix_balance_pullback(y_bar):
        bar = part(y_bar, 0)
        if bar is None:
            return np.zeros_like(A)
        return np.matmul(np.matmul(inverse.mT, bar), t.mT)

    return y, matrix_balance_pushforward, matrix_balance_pullback


# ------------------------------------------------------------------------------------ real forms


@primitive
def pairs_of(w: Any) -> tuple[Any, Any]:
    """Which elements join a pair of complex eigenvalues; and the basis of real vectors."""
    n = np.shape(w)[-1]
    joined = np.zeros((*np.shape(w), n))
    basis = joined + np.eye(n, dtype=complex)
    for stack in np.ndindex(np.shape(w)[:-1]):
        at = np.nonzero(np.iscomplex(w[stack]))[0]
        for j, k in zip(at[::2], at[1::2], strict=True):
            joined[(*stack, j, k)] = joined[(*stack, k, j)] = 1
            basis[(*stack, j, j)], basis[(*stack, j, k)] = 0.5j, 0.5
            basis[(*stack, k, j)], basis[(*stack, k, k)] = -0.5j, 0.5
    return joined, basis


non_differentiable(pairs_of)


@decompose(both(linalg.cdf2rdf))
def cdf2rdf_body(w, v):
    w, v = np.asarray(w), np.asarray(v)
    joined, basis = pairs_of(w)
    values = diagonal_matrix(np.real(w)) + np.expand_dims(np.imag(w), -1) * joined
    return values, np.real(np.matmul(v, basis))
