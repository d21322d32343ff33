"""Generalised Schur forms of a pair of matrices: A = Q S Zᴴ and B = Q T Zᴴ.

With X = Qᴴ Ȧ Z, Y = Qᴴ Ḃ Z and skew K and L, Q̇ = Q K, Ż = Z L, and

    Ṡ = X - K S + S L,    Ṫ = Y - K T + T L.

That S and T stay triangular determines K and L below the diagonal, one column of blocks after the
other, from the left (`solve_below`). A real form has blocks of two in S for pairs of complex
eigenvalues, in which LAPACK makes T diagonal: that determines two rotations in each. In a complex
form the diagonal of T is real, which determines the difference of two phases; the phase that both
have in common is LAPACK's own: in reverse a gradient that depends on it is declared as missing,
forward it stands still. The form of pairs is that of stacks of two matrices: (S, T) and (K, L).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.gaps import negligible
from chainrules.linalg.matrices import adjoint, diagonal, diagonal_matrix
from chainrules.scipy.delegated import both
from chainrules.scipy.linalg.factors.schur import blocks_of, inside_blocks, pairs_in
from chainrules.scipy.linalg.solvers import Change, solver_rules
from chainrules_core import (
    Array,
    Tangent,
    not_implemented,
    pair_rule,
    primitive,
)
from chainrules_core.authoring import parts

EQUAL = (
    "scipy.linalg.qz of matrices with equal generalised eigenvalues, or of two singular ones, has "
    "no derivative: which vectors of Q and Z belong to them is arbitrary. Use a function of the "
    "matrices themselves (solve, eigvals)"
)
PHASE = (
    "the loss depends on the phases that LAPACK gave to the complex form of scipy.linalg.qz: take "
    "absolute values, or products that have no phase"
)
SCALED = (
    "scipy.linalg.ordqz scales alpha and beta of complex pairs of eigenvalues as LAPACK chooses: "
    "take output='complex', or the blocks of the forms themselves"
)
TINY = 64


def equations(st: Any, start: int, stop: int) -> Any:
    """The matrix of the equations for the columns of K and L that belong to one block.

    The unknowns are K and L below the block, by rows; the equations say what K S - S L and
    K T - T L are there.
    """
    width, rest = stop - start, np.shape(st)[-1] - stop
    block, below = st[:, start:stop, start:stop], st[:, stop:, stop:]
    return np.block(
        [[np.kron(np.eye(rest), b.T), -np.kron(c, np.eye(width))]
         for b, c in zip(block, below, strict=True)]
    )  # fmt: skip


def solved(matrix: Any, right: Any) -> Any:
    """Solve for the columns of one block."""
    if np.size(right) == 0:
        return right
    getrf, getrs = linalg.get_lapack_funcs(("getrf", "getrs"), (matrix, right))
    factors, order, _ = getrf(matrix)
    pivots = np.abs(np.diagonal(factors))
    if not np.min(pivots) > TINY * np.finfo(matrix.dtype).eps * np.max(pivots):
        raise np.linalg.LinAlgError(EQUAL)
    found, _ = getrs(factors, order, np.reshape(right, -1))
    return np.reshape(found, np.shape(right))


@primitive
def solve_below(st: Any, xy: Any) -> Any:
    """The K and L below the blocks for which K S - S L and K T - T L are X and Y there."""
    kl = np.zeros(np.shape(xy), np.result_type(st, xy))
    ends = blocks_of(st[0])
    for start, stop in itertools.pairwise(ends):
        known = np.matmul(kl[0][stop:, :start], st[:, :start, start:stop])
        right = xy[:, stop:, start:stop] - known
        kl[:, stop:, start:stop] = solved(equations(st, start, stop), right)
    return kl


@primitive
def solve_below_adjoint(st: Any, kl_bar: Any) -> Any:
    """The cotangents of X and Y in `solve_below`."""
    xy = np.zeros(np.shape(kl_bar), np.result_type(st, kl_bar))
    ends = blocks_of(st[0])
    for start, stop in zip(ends[-2::-1], ends[:0:-1], strict=True):
        right = np.array(kl_bar[:, stop:, start:stop], xy.dtype)
        right[0] -= np.sum(np.matmul(xy[:, stop:, stop:], adjoint(st[:, start:stop, stop:])), 0)
        xy[:, stop:, start:stop] = solved(adjoint(equations(st, start, stop)), right)
    return xy


def onto_form(st: Any, st_dot: Any) -> Any:
    """What there is of S and T: of a block of two, T has the diagonal alone."""
    inside = inside_blocks(st[0])
    at = pairs_in(st[0])
    lower = np.triu(np.ones(np.shape(inside), bool))
    if np.size(at):
        lower[at, at + 1] = False
    return np.where(np.stack([inside, lower]), st_dot, 0)


def of_pair(st: Any, kl: Any) -> Any:
    """S L - K S and T L - K T."""
    return np.matmul(st, kl[1]) - np.matmul(kl[0], st)


def of_pair_adjoint(st: Any, xy: Any) -> Any:
    """The adjoint of `of_pair` by K and L."""
    return np.stack([-np.sum(np.matmul(xy, adjoint(st)), 0), np.sum(np.matmul(adjoint(st), xy), 0)])


solver_rules(
    solve_below,
    solve_below_adjoint,
    Change(
        lambda st, st_dot, kl: of_pair(onto_form(st, st_dot), kl),
        lambda st, st_dot, xy: of_pair_adjoint(onto_form(st, st_dot), xy),
        lambda st, xy, kl: onto_form(
            st, np.matmul(xy, adjoint(kl[1])) - np.matmul(adjoint(kl[0]), xy)
        ),
    ),
)


def rotations(t: Any, at: Any) -> Any:
    """By how much T beside the diagonal of blocks changes with the rotations of Q and Z."""
    first, second = t[at, at], t[at + 1, at + 1]
    return np.stack([np.stack([-first, second], -1), np.stack([second, -first], -1)], -2)


def phases(t: Any, slope: Any) -> Any:
    """Phases of Q by these changes of the imaginary diagonal of T."""
    size = diagonal(t).real
    tiny = np.abs(size) <= TINY * np.finfo(size.dtype).eps * np.max(np.abs(size))
    return np.where(tiny & (slope == 0), 0, slope / np.where(tiny, np.nan, size))


def real_diagonal(st: Any) -> Any:
    """S, and T with the real part of its diagonal."""
    return np.stack([st[0], st[1] - 1j * diagonal_matrix(np.imag(diagonal(st[1])))])


def both_parts(ab: Any) -> tuple[Any, Any]:
    """The cotangents of A and B; a missing one is that of both."""
    return (ab[0], ab[1]) if hasattr(ab, "shape") else (ab, ab)


def pair_tangent(q: Any, z: Any, st: Any, ab_dot: Any) -> tuple[Any, Any, Any]:
    """The tangents of (S, T), Q and Z."""
    n = np.shape(q)[0]
    xy = np.matmul(np.matmul(adjoint(q), ab_dot), z)
    kl = solve_below(st, xy)
    kl = kl - adjoint(kl)
    changed = xy + of_pair(st, kl)
    at = pairs_in(st[0])
    if np.size(at):
        beside = np.stack([changed[1][at + 1, at], changed[1][at, at + 1]], -1)
        turns = -np.linalg.solve(rotations(st[1], at), beside[..., None])[..., 0]
        turn = np.stack(
            [np.diag(np.matmul(np.eye(n, dtype=t.dtype)[: n - 1, at], t), -1) for t in turns.T]
        )
        more = turn - adjoint(turn)
        kl, changed = kl + more, changed + of_pair(st, more)
    if np.iscomplexobj(q):
        turned = diagonal_matrix(1j * phases(st[1], np.imag(diagonal(changed[1]))))
        more = np.stack([turned, np.zeros_like(turned)])
        kl, changed = kl + more, real_diagonal(changed + of_pair(st, more))
    return onto_form(st, changed), np.matmul(q, kl[0]), np.matmul(z, kl[1])


def pair_adjoint(q: Any, z: Any, st: Any, s_bar: Any, t_bar: Any, q_bar: Any, z_bar: Any) -> Any:
    """The cotangents of A and B; any cotangent may be None."""
    zero = np.zeros_like(q)
    xy = onto_form(st, np.stack([zero if b is None else b for b in (s_bar, t_bar)]))
    turned = np.stack(
        [
            zero if b is None else np.matmul(adjoint(of), b)
            for of, b in ((q, q_bar), (z, z_bar))
        ]
    )  # fmt: skip
    if np.iscomplexobj(q):
        xy = real_diagonal(xy)
    kl = turned + of_pair_adjoint(st, xy)
    at = pairs_in(st[0])
    if np.size(at):
        slopes = (kl[:, at + 1, at] - kl[:, at, at + 1]).T
        solution = -np.linalg.solve(rotations(st[1], at), slopes[..., None])[..., 0]
        identity = np.eye(np.shape(q)[0], dtype=q.dtype)
        rows, columns = identity[:, at], identity[:, at + 1]
        beside = np.matmul(columns * solution[:, 0], rows.T) + np.matmul(
            rows * solution[:, 1], columns.T
        )
        xy = np.stack([xy[0], xy[1] + beside])
        kl = turned + of_pair_adjoint(st, xy)
    if np.iscomplexobj(q):
        slopes = np.imag(diagonal(kl))
        common = diagonal_matrix(slopes[0] + slopes[1])
        if not np.all(negligible(common, kl[0]) | negligible(common, kl[1])):
            return not_implemented(PHASE)
        xy = np.stack([xy[0], xy[1] + 1j * diagonal_matrix(phases(st[1], slopes[0]))])
        kl = turned + of_pair_adjoint(st, xy)
    xy = xy + solve_below_adjoint(st, kl - adjoint(kl))
    return np.matmul(np.matmul(q, xy), adjoint(z))


@pair_rule(both(linalg.qz), Array, Array)
def qz_rule(A, B, *, output="real", lwork=None, sort=None, overwrite_a=False, overwrite_b=False,
            check_finite=True):  # fmt: skip
    if np.size(A) == 0:
        return None
    y = linalg.qz(A, B, output, lwork, sort, check_finite=check_finite)
    s, t, q, z = y
    st = np.stack([s, t])

    def qz_pushforward(A_dot, B_dot):
        st_dot, q_dot, z_dot = pair_tangent(q, z, st, np.stack([A_dot, B_dot]))
        return Tangent[type(y)](st_dot[0], st_dot[1], q_dot, z_dot)

    def qz_pullback(y_bar):
        ab = pair_adjoint(q, z, st, *parts(y_bar, 4))
        return both_parts(ab)

    return y, qz_pushforward, qz_pullback


@pair_rule(both(linalg.ordqz), Array, Array)
def ordqz_rule(A, B, *, sort="lhp", output="real", overwrite_a=False, overwrite_b=False,
               check_finite=True):  # fmt: skip
    if np.size(A) == 0:
        return None
    y = linalg.ordqz(A, B, sort, output, check_finite=check_finite)
    s, t, _, _, q, z = y
    st = np.stack([s, t])
    scaled = np.size(pairs_in(s)) > 0

    def ordqz_pushforward(A_dot, B_dot):
        st_dot, q_dot, z_dot = pair_tangent(q, z, st, np.stack([A_dot, B_dot]))
        of_s = diagonal(st_dot[0]) + np.zeros_like(y[2])
        ratio = (not_implemented(SCALED),) * 2 if scaled else (of_s, diagonal(st_dot[1]))
        return Tangent[type(y)](st_dot[0], st_dot[1], *ratio, q_dot, z_dot)

    def ordqz_pullback(y_bar):
        s_bar, t_bar, alpha_bar, beta_bar, q_bar, z_bar = parts(y_bar, 6)
        if scaled and not (alpha_bar is None and beta_bar is None):
            return (not_implemented(SCALED),) * 2
        s_bar, t_bar = onto(s_bar, alpha_bar, s), onto(t_bar, beta_bar, t)
        return both_parts(pair_adjoint(q, z, st, s_bar, t_bar, q_bar, z_bar))

    return y, ordqz_pushforward, ordqz_pullback


def onto(form_bar: Any, diagonal_bar: Any, form: Any) -> Any:
    """The cotangent of a form, with that of its diagonal."""
    if diagonal_bar is None:
        return form_bar
    bar = diagonal_matrix(diagonal_bar if np.iscomplexobj(form) else np.real(diagonal_bar))
    return bar if form_bar is None else form_bar + bar
