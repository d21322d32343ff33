"""QR factors that follow a change of the matrix: ``qr_insert``, ``qr_delete``, ``qr_update``.

In terms of Q and R the changed matrix is Q M with an M that is nearly triangular: M = G S makes its
factors Q G and S, whose signs are those that SciPy chose. Where a row goes, q with the row in front
of R is factorised: G turns it into a unit vector.

Complex factors have phases of SciPy's own, which turn as the matrix changes: in reverse a gradient
that depends on them is declared as missing, forward they stand still.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.gaps import negligible
from chainrules.linalg.matrices import adjoint, conj
from chainrules.refused import RefusedError
from chainrules.scipy.delegated import both
from chainrules_core import (
    Array,
    Tangent,
    decompose,
    ignore_derivatives,
    not_implemented,
    pair_rule,
    primitive,
)
from chainrules_core.authoring import parts

PHASE = (
    "the loss depends on the phases of complex factors of scipy.linalg.qr_update, qr_insert or "
    "qr_delete: take absolute values, products that have no phase, or qr of the changed matrix"
)


@primitive
def with_phases(q: Any, r: Any) -> tuple:
    """Return Q and R, whose columns and rows have phases that nobody knows."""
    return q, r


@pair_rule(with_phases, Array, Array)
def with_phases_rule(q, r):
    def with_phases_pushforward(q_dot, r_dot):
        return Tangent[tuple](q_dot, r_dot)

    def with_phases_pullback(y_bar):
        q_bar, r_bar = [
            np.zeros_like(x) if bar is None else bar
            for x, bar in zip((q, r), parts(y_bar, 2), strict=True)
        ]
        turn = np.sum(conj(q) * q_bar, axis=0) - np.sum(conj(r) * r_bar, axis=1)
        size = np.stack([np.sum(np.abs(q * q_bar), axis=0), np.sum(np.abs(r * r_bar), axis=1)])
        if not np.all(negligible(np.stack([np.imag(turn)]), size)):
            return not_implemented(PHASE), not_implemented(PHASE)
        return q_bar, r_bar

    return (q, r), with_phases_pushforward, with_phases_pullback


def columns_of(u: Any) -> Any:
    return u[:, None] if np.ndim(u) == 1 else u


def factors(name: str, Q: Any, M: Any, plain: tuple, rows: Any = None, lead: int = 0) -> tuple:
    """Return Q G and S of M = G S, without `lead` columns and rows, in the signs of `plain`."""
    w = np.cos(1.0 + np.arange(np.shape(M)[0]))
    mirror = np.eye(len(w)) - 2 * np.outer(w, w) / np.sum(w * w)  # LAPACK leaves zeros alone
    G, S = np.linalg.qr(np.matmul(mirror, M), mode="complete")
    Q1, R1 = np.matmul(Q, np.matmul(mirror, G))[:, lead:], S[lead:, lead:]
    Q1 = Q1 if rows is None else Q1[rows]
    overlaps = np.sum(np.conj(ignore_derivatives(Q1)) * plain[0], axis=0)
    signs = overlaps / np.where(np.abs(overlaps) == 0, 1, np.abs(overlaps))
    if np.shape(Q1) != plain[0].shape or not np.allclose(
        ignore_derivatives(Q1) * signs, plain[0], rtol=1e-6, atol=1e-6
    ):
        raise RefusedError(
            f"scipy.linalg.{name}",
            "the matrix does not determine the last columns of this Q, which are any basis of the "
            "remaining space. Call qr(..., mode='economic') for the changed matrix.",
        )
    Q1, R1 = Q1 * signs, R1 * np.conj(signs)[:, None]
    return with_phases(Q1, R1) if np.iscomplexobj(signs) else (Q1, R1)


def checked(name: str, Q: Any, R: Any) -> tuple:
    Q, R = np.asarray(Q), np.asarray(R)
    if np.ndim(Q) != 2 or np.shape(Q)[0] != np.shape(Q)[1]:
        raise RefusedError(
            f"scipy.linalg.{name}",
            "economic factors and stacks of factors have no rule. Call qr for the changed matrix.",
        )
    return Q, np.triu(R)


@decompose(both(linalg.qr_update))
def qr_update_body(Q, R, u, v, overwrite_qruv=False, check_finite=True):
    plain = linalg.qr_update(*map(ignore_derivatives, (Q, R, u, v)), check_finite=check_finite)
    Q, R = checked("qr_update", Q, R)
    u, v = columns_of(np.asarray(u)), columns_of(np.asarray(v))
    M = R + np.matmul(np.matmul(adjoint(Q), u), adjoint(v))
    return factors("qr_update", Q, M, plain)


@decompose(both(linalg.qr_insert))
def qr_insert_body(Q, R, u, k, which="row", rcond=None, overwrite_qru=False, check_finite=True):
    plain = linalg.qr_insert(
        *map(ignore_derivatives, (Q, R, u)), k, which, rcond, check_finite=check_finite
    )
    Q, R = checked("qr_insert", Q, R)
    u = np.asarray(u)
    if which == "col":
        k = k + np.shape(R)[1] if k < 0 else k
        w = np.matmul(adjoint(Q), columns_of(u))
        return factors("qr_insert", Q, np.concatenate([R[:, :k], w, R[:, k:]], axis=1), plain)
    u = np.atleast_2d(u)
    m, p = np.shape(Q)[0], np.shape(u)[0]
    k = k + m if k < 0 else k
    beside, own = np.zeros((m, p)), np.concatenate([np.zeros((p, m)), np.eye(p)], axis=1)
    wide = np.concatenate([Q, beside], axis=1)
    wide = np.concatenate([wide[:k], own, wide[k:]])
    return factors("qr_insert", wide, np.concatenate([R, u]), plain)


@decompose(both(linalg.qr_delete))
def qr_delete_body(Q, R, k, p=1, which="row", overwrite_qr=False, check_finite=True):
    plain = linalg.qr_delete(
        *map(ignore_derivatives, (Q, R)), k, p, which, check_finite=check_finite
    )
    Q, R = checked("qr_delete", Q, R)
    k = k + np.shape(R)[which == "col"] if k < 0 else k
    if which == "col":
        return factors("qr_delete", Q, np.concatenate([R[:, :k], R[:, k + p :]], axis=1), plain)
    M = np.concatenate([adjoint(Q[k : k + p]), R], axis=1)
    rows = np.delete(np.arange(np.shape(Q)[0]), slice(k, k + p))
    return factors("qr_delete", Q, M, plain, rows, p)
