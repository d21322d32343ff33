"""Dividing by the gaps of a spectrum, and the phases that LAPACK gives to vectors.

Eigenvectors and singular vectors turn into each other at a rate of one over the gap between their
values. Where values coincide, the vectors are some basis of a space, and only what does not depend
on the choice of the basis can have a derivative. Its cotangent shows it: the part that would turn
the basis is zero, and contributes nothing. Whatever else is divided by a vanishing gap is NaN:
either there is no derivative, or the cotangents of values and vectors do not tell it (that of
U f(Λ) Uᴴ depends on f', which neither of them is). Cotangents of the values alone are divided by
nothing.

Complex vectors have a free phase as well. LAPACK leaves one row of them real; that fixes the phase,
so that derivatives are exact even for functions that depend on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.linalg.matrices import adjoint, column, row
from chainrules_core import non_differentiable, primitive
from chainrules_core.authoring import is_foreign


def differences(x: Any) -> Any:
    """x_j - x_i."""
    return row(x) - column(x)


@primitive
def coinciding(x: Any) -> Any:
    """Which values coincide, up to rounding; on the diagonal, each with itself."""
    n = np.shape(x)[-1]
    largest = np.max(np.abs(x), -1, keepdims=True, initial=0)
    return np.abs(differences(x)) <= 4 * n * np.finfo(x.dtype).eps * column(largest)


@primitive
def are_apart(x: Any) -> bool:
    """Whether these are real values none of which is `coinciding`, told without all the pairs."""
    if x.dtype.kind != "f" or x.shape[-1] == 0:
        return False
    ordered, n = np.sort(x, -1), x.shape[-1]
    largest = np.max(np.abs(x), -1, keepdims=True)
    return bool(np.all(np.diff(ordered) > 4 * n * np.finfo(x.dtype).eps * largest))


@primitive
def vanishing(s: Any) -> Any:
    """Which singular values are zero, up to rounding."""
    largest = np.max(s, -1, keepdims=True, initial=0)
    return s <= 4 * np.shape(s)[-1] * np.finfo(s.dtype).eps * largest


@primitive
def rest_vanishes(r: Any) -> Any:
    """Which diagonal elements of triangular factors are zero, up to rounding of their columns."""
    size = np.abs(r)
    tolerance = 4 * np.shape(r)[-1] * np.finfo(r.dtype).eps
    return np.diagonal(size, 0, -2, -1) <= tolerance * np.max(size, -2, initial=0)


@primitive
def negligible(part: Any, whole: Any) -> Any:
    """Which elements of matrices are zero, up to rounding of the largest of another matrix."""
    largest = np.max(np.abs(whole), (-2, -1), keepdims=True, initial=0)
    tolerance = 64 * max(np.shape(whole)[-2:]) * np.finfo(whole.dtype).eps
    return np.abs(part) <= tolerance * largest


@primitive
def is_set(x: Any) -> Any:
    """Which elements are not exactly zero."""
    return np.not_equal(x, 0)


for question in (are_apart, coinciding, vanishing, rest_vanishes, negligible, is_set):
    non_differentiable(question)


@primitive
def quotients(part: Any, x: Any) -> Any:
    """part_ij / (x_j - x_i), and 0 on the diagonal, for plain values that are apart."""
    gaps, n = differences(x), np.shape(x)[-1]
    gaps[..., range(n), range(n)] = 1
    out = gaps if gaps.dtype == part.dtype and gaps.shape == part.shape else None
    quotient = np.divide(part, gaps, out=out)
    quotient[..., range(n), range(n)] = 0
    return quotient


def over_gaps(part: Any, whole: Any, x: Any, ambiguous: Any = False) -> Any:
    """part_ij / (x_j - x_i); where these coincide 0 or, unless the part is negligible, NaN."""
    if not is_foreign(part) and not is_foreign(x) and are_apart(x):
        return quotients(part, x)
    same = coinciding(x)
    quotient = np.where(same, 0, part / np.where(same, 1, differences(x)))
    others = same & ~np.eye(np.shape(x)[-1], dtype=bool)
    if not np.any(others):
        return quotient
    return np.where(others & (~negligible(part, whole) | ambiguous), np.nan, quotient)


def unequal(x_bar: Any) -> Any:
    """Which pairs of values have different cotangents.

    Where such values coincide, the cotangents are those of the vectors at hand: of U f(Λ) Uᴴ, where
    f is 0, the diagonal of what U turns.
    """
    return False if x_bar is None else ~negligible(differences(x_bar), row(x_bar))


def turned(m: Any, x: Any, x_bar: Any) -> Any:
    """(M - Mᴴ)_ij / (x_j - x_i), for M = Vᴴ V̄ and the cotangent of the values (or None)."""
    ambiguous = False
    if x_bar is not None and not are_apart(x):
        moved = is_set(x_bar)
        ambiguous = unequal(x_bar) | (~negligible(m, m) & (row(moved) | column(moved)))
    return over_gaps(m - adjoint(m), m, x, ambiguous)


# ------------------------------------------------------------------------------------------ phases


@primitive
def has_phase_from(v: Any, k: int) -> Any:
    """For which vectors (the columns of `v`) their element `k` fixes the phase by being real."""
    size = np.abs(v[..., k, :])
    eps = np.finfo(v.dtype).eps
    return (np.abs(v[..., k, :].imag) <= 64 * eps * size) & (size > eps)


non_differentiable(has_phase_from)


def phase_adjoint(v: Any, v_bar: Any, turn: Any, k: int) -> Any:
    """V̄ with what a function loses by its vectors' phases: `turn` is its change with the phase."""
    fixed = has_phase_from(v, k)
    by = np.where(fixed, 1j * turn / np.where(fixed, np.real(v[..., k, :]), 1), 0)
    n = np.shape(v)[-2]
    return v_bar - np.where(np.arange(n) == k % n, 1, 0)[:, None] * row(by)


def phase_tangent(v: Any, v_dot: Any, k: int) -> Any:
    """By how much i times each vector has to be added to keep its element `k` real."""
    fixed = has_phase_from(v, k)
    return np.where(
        fixed, -1j * np.imag(v_dot[..., k, :]) / np.where(fixed, np.real(v[..., k, :]), 1), 0
    )
