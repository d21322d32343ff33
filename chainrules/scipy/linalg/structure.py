"""The part of a matrix that a routine of LAPACK reads: a triangle, a band, a diagonal.

A solver that is told a structure reads what the structure needs and makes the rest of it.
So a structure is a pair of linear maps: `read` makes the matrix that counts from the one
that is given, and its adjoint, `written`, brings a cotangent back to the elements that were
read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from chainrules.linalg.matrices import adjoint, completed, halves, onto_triangle


class Structure(NamedTuple):
    """What is read of a matrix, and the adjoint of reading it."""

    read: Callable[[Any], Any]
    written: Callable[[Any], Any]
    is_symmetric: bool = False
    is_hermitian: bool = False


def _itself(a: Any) -> Any:
    return a


def band(a: Any, below: int, above: int) -> Any:
    """The diagonals from `below` under the main one to `above` over it."""
    return np.triu(np.tril(a, above), -below)


def strict(a: Any, lower: bool) -> Any:
    """A triangle without its diagonal."""
    return np.tril(a, -1) if lower else np.triu(a, 1)


def triangle(a: Any, lower: bool) -> Any:
    """A triangle with its diagonal."""
    return np.tril(a) if lower else np.triu(a)


def _weighted(a: Any) -> Any:
    return halves(np.shape(a)[-1], a.dtype) * a


def symmetric(a: Any, lower: bool) -> Any:
    """The symmetric matrix of which a triangle is read; not conjugated."""
    half = _weighted(a if lower else a.mT)
    return half + half.mT


def onto_symmetric(a_bar: Any, lower: bool) -> Any:
    """The adjoint of `symmetric`."""
    half = _weighted(a_bar + a_bar.mT)
    return half if lower else half.mT


def hermitian(a: Any, lower: bool) -> Any:
    """The Hermitian matrix of which a triangle is read."""
    return completed(a if lower else adjoint(a))


def onto_hermitian(a_bar: Any, lower: bool) -> Any:
    """The adjoint of `hermitian`."""
    half = onto_triangle(a_bar)
    return half if lower else adjoint(half)


GENERAL = Structure(_itself, _itself)


def projection(onto: Callable[[Any], Any]) -> Structure:
    """The structure of a matrix of which some elements are read and the others taken for zero."""
    return Structure(onto, onto)


def structure_of(assume_a: str | None, lower: bool) -> Structure:
    """The structure that SciPy's ``assume_a`` names."""
    if assume_a in ("sym", "symmetric"):
        return Structure(
            lambda a: symmetric(a, lower), lambda a: onto_symmetric(a, lower), is_symmetric=True
        )
    if assume_a in ("her", "hermitian", "pos", "positive definite"):
        return Structure(
            lambda a: hermitian(a, lower), lambda a: onto_hermitian(a, lower), is_hermitian=True
        )
    if assume_a in ("upper triangular", "lower triangular"):
        return projection(lambda a: triangle(a, assume_a == "lower triangular"))
    if assume_a == "diagonal":
        return projection(lambda a: band(a, 0, 0))
    if assume_a == "tridiagonal":
        return projection(lambda a: band(a, 1, 1))
    return GENERAL
