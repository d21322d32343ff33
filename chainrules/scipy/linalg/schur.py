"""Schur and Hessenberg forms, and balancing.

Schur: A = Z T Zᴴ. With X = Zᴴ Ȧ Z and a skew K, Ż = Z K and Ṫ = X + T K - K T. That T stays
triangular determines K below the diagonal, column by column: K T - T K is X there. A real
form has blocks of two on its diagonal for pairs of complex eigenvalues; LAPACK makes the
diagonal of a block [[a, b], [c, a]] constant, which determines the rotation in it: κ =
-(Ṫ₁₁ - Ṫ₂₂)/(2(b + c)), by the Ṫ that K makes without it. A complex form has phases of
LAPACK's own: in reverse a gradient that depends on them is declared as missing, forward
they stand still.

Hessenberg: the reflections of Householder, traced; LAPACK makes the same.

Balancing: the powers of two and the permutation are constant.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.gaps import negligible
from chainrules.linalg.matrices import adjoint, conj, diagonal, diagonal_matrix
from chainrules.linalg.spectral import part
from chainrules.refused import refuse
from chainrules.scipy.delegated import both, register_body
from chainrules_core import (
    Array,
    NoTangent,
    Tangent,
    frule,
    non_differentiable,
    not_implemented,
    rrule,
)
from chainrules_core.define import primitive

PHASE = (
    "the loss depends on the phases that LAPACK gave to the complex form of scipy.linalg.schur: "
    "take absolute values, or products that have no phase"
)


@primitive
def blocks_of(t: Any) -> list[slice]:
    """Where the blocks on the diagonal stand."""
    n, start, blocks = len(t), 0, []
    while start < n:
        size = 2 if start + 1 < n and t[start + 1, start] != 0 else 1
        blocks.append(slice(start, start + size))
        start += size
    return blocks


non_differentiable(blocks_of)


def block_equation(right: Any, left: Any, q: Any) -> Any:
    """Solve X R - L X = Q, for R of one row or two."""
    m, k = np.shape(q)
    if k == 1:
        return np.linalg.solve(np.eye(m) * right[0, 0] - left, q)
    whole = np.kron(np.eye(m), right.T) - np.kron(left, np.eye(k))
    return np.reshape(np.linalg.solve(whole, np.reshape(q, (m * k,))), (m, k))


def under(columns: Any, n: int) -> Any:
    """A column of blocks with zeros above it."""
    m, k = np.shape(columns)
    return np.concatenate([np.zeros((n - m, k), columns.dtype), columns])


def below_blocks(t: Any, blocks: list[slice], x: Any) -> Any:
    """The K below the blocks for which K T - T K is X there."""
    n = np.shape(t)[0]
    k = np.zeros((n, 0), x.dtype)
    for at in blocks:
        rest = slice(at.stop, n)
        q = x[rest, at] - np.matmul(k[rest], t[: at.start, at])
        k = np.concatenate([k, under(block_equation(t[at, at], t[rest, rest], q), n)], 1)
    return k


def below_blocks_adjoint(t: Any, blocks: list[slice], k_bar: Any) -> Any:
    """The cotangent of X, from that of K."""
    n = np.shape(t)[0]
    th = adjoint(t)
    x = np.zeros((n, 0), k_bar.dtype)
    for at in reversed(blocks):
        rest = slice(at.stop, n)
        q = k_bar[rest, at] - np.matmul(x[rest], th[at.stop :, at])
        x = np.concatenate([under(block_equation(th[at, at], th[rest, rest], q), n), x], 1)
    return x


def inside_blocks(n: int, blocks: list[slice]) -> Any:
    """The mask of what is on or above the blocks."""
    mask = np.triu(np.ones((n, n), bool))
    for at in blocks:
        mask[at, at] = True
    return mask


def turns(n: int, blocks: list[slice]) -> list[Any]:
    """The generator of the rotation in each block of two."""
    found = []
    for at in blocks:
        if at.stop - at.start == 2:
            j = np.zeros((n, n))
            j[at.start + 1, at.start], j[at.start, at.start + 1] = 1, -1
            found.append(j)
    return found


def commutator(a: Any, b: Any) -> Any:
    return np.matmul(a, b) - np.matmul(b, a)


def spread(t: Any, turn: Any) -> Any:
    """The change of a block's first diagonal element with its rotation: b + c; and where it is."""
    return np.diagonal(commutator(t, turn))


def schur_adjoint(t: Any, z: Any, t_bar: Any, z_bar: Any) -> Any:
    """Ā; either cotangent may be None."""
    n = np.shape(t)[0]
    blocks = blocks_of(t)
    inside, th = inside_blocks(n, blocks), adjoint(t)
    x_bar = np.zeros_like(t) if t_bar is None else np.where(inside, t_bar, 0)
    turned = np.zeros_like(t) if z_bar is None else np.matmul(adjoint(z), z_bar)
    k_bar = turned + commutator(th, x_bar)
    if np.iscomplexobj(t):
        phases = diagonal_matrix(np.imag(diagonal(k_bar)))
        if not np.all(negligible(phases, k_bar)):
            return not_implemented(PHASE)
    for turn in turns(n, blocks):
        change = spread(t, turn)
        kappa_bar = np.sum(k_bar * turn)
        # κ = -Ṫ · change / |change|²
        x_bar = x_bar - np.diag(change * (kappa_bar / np.sum(change * change)))
    k_bar = turned + commutator(th, x_bar)
    x_bar = x_bar + below_blocks_adjoint(t, blocks, np.where(inside, 0, k_bar - adjoint(k_bar)))
    return np.matmul(np.matmul(z, x_bar), adjoint(z))


def schur_tangent(t: Any, z: Any, a_dot: Any) -> tuple[Any, Any]:
    """The tangents of T and Z."""
    n = np.shape(t)[0]
    blocks = blocks_of(t)
    x = np.matmul(np.matmul(adjoint(z), a_dot), z)
    k = below_blocks(t, blocks, x)
    k = k - adjoint(k)
    t_dot = x + commutator(t, k)
    for turn in turns(n, blocks):
        change = spread(t, turn)
        kappa = -np.sum(np.diagonal(t_dot) * change) / np.sum(change * change)
        k, t_dot = k + kappa * turn, t_dot + kappa * commutator(t, turn)
    return np.where(inside_blocks(n, blocks), t_dot, 0), np.matmul(z, k)


def schur_rrule(a, *, output="real", lwork=None, overwrite_a=False, sort=None, check_finite=True):
    if np.ndim(a) != 2 or np.size(a) == 0:
        return None
    y = linalg.schur(a, output=output, sort=sort, check_finite=check_finite)
    t, z = y[0], y[1]

    def schur_pullback(y_bar):
        return schur_adjoint(t, z, part(y_bar, 0), part(y_bar, 1))

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


# ------------------------------------------------------------------------------------- Hessenberg


def reflected(a: Any, q: Any, k: int) -> tuple[Any, Any]:
    """One step: a reflection that clears a column below the diagonal next to the main one."""
    x = a[k + 1 :, k]
    if np.all(x[1:] == 0) and not np.iscomplexobj(x):
        return a, q
    size = np.sqrt(np.sum(np.real(x * conj(x))))
    if size == 0:
        return a, q
    beta = -size if np.real(x[0]) >= 0 else size
    first = np.arange(np.shape(x)[0]) == 0
    v = np.where(first, x - beta, x) / (x[0] - beta)
    # H = 1 - τ v vᴴ, and Hᴴ x = β e₁
    tau = (beta - x[0]) / beta
    v = np.concatenate([np.zeros(k + 1, v.dtype), v])
    a = a - conj(tau) * np.outer(v, np.matmul(conj(v), a))
    a = a - tau * np.outer(np.matmul(a, v), conj(v))
    return a, q - tau * np.outer(np.matmul(q, v), conj(v))


@register_body(linalg.hessenberg)
def hessenberg_body(a, calc_q=False, overwrite_a=False, check_finite=True):
    a = np.asarray(a)
    if np.ndim(a) > 2:
        pairs = [hessenberg_body(part_of, True) for part_of in a]
        h, q = np.stack([h for h, _ in pairs]), np.stack([q for _, q in pairs])
        return (h, q) if calc_q else h
    n = np.shape(a)[0]
    q = np.eye(n, dtype=a.dtype)
    h = a
    if n > 2:
        for k in range(n - 1 if np.iscomplexobj(a) else n - 2):
            h, q = reflected(h, q, k)
        h = np.triu(h, -1)
    return (h, q) if calc_q else h


# -------------------------------------------------------------------------------------- balancing


def balancing(a: Any, permute: Any, scale: Any) -> tuple[Any, Any]:
    """T⁻¹ and T."""
    t = linalg.matrix_balance(a, permute, scale)[1]
    return np.where(t == 0, 0, 1 / np.where(t == 0, 1, t)).mT, t


@rrule.register(linalg.matrix_balance, Array)
def matrix_balance_rrule(A, *, permute=True, scale=True, separate=False, overwrite_a=False):
    y = linalg.matrix_balance(A, permute, scale, separate)
    inverse, t = balancing(A, permute, scale)

    def matrix_balance_pullback(y_bar):
        bar = part(y_bar, 0)
        if bar is None:
            return np.zeros_like(A)
        return np.matmul(np.matmul(inverse.mT, bar), t.mT)

    return y, matrix_balance_pullback


@frule.register(linalg.matrix_balance, Array)
def matrix_balance_frule(dots, A, *, permute=True, scale=True, separate=False, overwrite_a=False):
    y = linalg.matrix_balance(A, permute, scale, separate)
    inverse, t = balancing(A, permute, scale)
    rest = Tangent[tuple](NoTangent(), NoTangent()) if separate else np.zeros_like(t)
    return y, Tangent[type(y)](np.matmul(np.matmul(inverse, dots[0]), t), rest)


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


@register_body(linalg.cdf2rdf)
def cdf2rdf_body(w, v):
    w, v = np.asarray(w), np.asarray(v)
    joined, basis = pairs_of(w)
    values = diagonal_matrix(np.real(w)) + np.expand_dims(np.imag(w), -1) * joined
    return values, np.real(np.matmul(v, basis))


refuse(
    both(linalg.qz, linalg.ordqz),
    "the generalised Schur form has no rule. Use eig(a, b) for eigenvalues and vectors, or schur "
    "of solve(b, a).",
)
