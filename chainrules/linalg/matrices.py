"""What rules about matrices share: conjugate transposes, and stacks of vectors as matrices.

Matrices are the last two axes; whatever comes before is a stack. All of it is plain NumPy on
functions that have rules, so that pullbacks can be differentiated in turn.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np


def conj(x: Any) -> Any:
    """The complex conjugate; real arrays are not copied."""
    if type(x) is np.ndarray and x.dtype.kind == "f":
        return x
    return np.conj(x) if np.iscomplexobj(x) else x


def real(x: Any) -> Any:
    """The real part; of real arrays themselves."""
    return np.real(x) if np.iscomplexobj(x) else x


def adjoint(x: Any) -> Any:
    """The conjugate transpose of each matrix."""
    return conj(x).mT


def hermitian(x: Any) -> Any:
    """The Hermitian part of each matrix: (X + Xᴴ)/2."""
    return (x + adjoint(x)) / 2


def commutator(a: Any, b: Any) -> Any:
    """A B - B A."""
    return np.matmul(a, b) - np.matmul(b, a)


def column(x: Any) -> Any:
    """Vectors as matrices of one column."""
    return np.expand_dims(x, -1)


def row(x: Any) -> Any:
    """Vectors as matrices of one row."""
    return np.expand_dims(x, -2)


def diagonal(x: Any) -> Any:
    """The diagonal of each matrix."""
    return np.diagonal(x, 0, -2, -1)


def diagonal_matrix(d: Any) -> Any:
    """The diagonal matrix with each vector on its diagonal."""
    return column(d) * np.eye(np.shape(d)[-1], dtype=d.dtype)


# ------------------------------------------------------------------ matrices known by one triangle


SMALL = 64
"""Weights of matrices up to this size are remembered."""


def halves(n: int, dtype: Any) -> Any:
    """The weights of Φ: one below the diagonal, a half on it; real, in the precision of `dtype`."""
    return (_known_halves if n <= SMALL else _halves)(n, dtype)


def _halves(n: int, dtype: Any) -> Any:
    dtype = np.finfo(dtype).dtype
    weights = np.tri(n, dtype=dtype) - np.eye(n, dtype=dtype) / 2
    weights.flags.writeable = False
    return weights


_known_halves = functools.lru_cache(maxsize=256)(_halves)


@functools.lru_cache(maxsize=256)
def triangle_of_ones(n: int, dtype: Any) -> Any:
    """Return what a matrix up to `SMALL` is multiplied by for its lower triangle."""
    weights = np.tri(n, dtype=np.finfo(dtype).dtype)
    weights.flags.writeable = False
    return weights


def half_triangle(x: Any) -> Any:
    """Φ: the lower triangle with the diagonal halved; Φ(X) + Φ(X)ᴴ = X if X is Hermitian."""
    return halves(np.shape(x)[-1], x.dtype) * x


def completed(x: Any) -> Any:
    """The Hermitian matrix of which NumPy reads the lower triangle of `x`."""
    half = half_triangle(x)
    return half + adjoint(half)


def onto_triangle(x_bar: Any) -> Any:
    """The adjoint of `completed`: what an element beside the diagonal does in both places."""
    return half_triangle(x_bar + adjoint(x_bar))
