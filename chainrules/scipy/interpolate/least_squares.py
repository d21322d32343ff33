"""Least squares splines: the normal equations, which are a band.

Each row of the matrix A of B-splines at the places has k+1 elements side by side, so AᵀA has k
diagonals on each side. The digits that the normal equations lose are those of a second solution
with what the first has left: with one the coefficients are as good as those of orthogonal factors
(Å. Björck, "Stability analysis of the method of seminormal equations for linear least squares
problems", Linear Algebra and its Applications 88/89, 1987), unless A is nearly singular.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.scipy.interpolate.bsplines import COMPILED, basis, design, intervals
from chainrules.scipy.interpolate.kernels import kernel
from chainrules.scipy.sparse.entries import summed
from chainrules_core import non_differentiable, primitive

WORST = 1e-10
"""The ratio of pivots of AᵀA from which on A counts as nearly singular."""


class Rows:
    """A matrix whose rows have some elements side by side.

    Attributes
    ----------
    elements : array
        A row of them for each row.
    places : array of int
        The column of each.
    n : int
        How many columns there are.
    """

    def __init__(self, elements: Any, first: Any, n: int) -> None:
        self.elements, self.n = elements, n
        self.places = first[:, None] + np.arange(np.shape(elements)[1])

    def times(self, c: Any) -> Any:
        """A C, for a matrix."""
        return np.einsum("ri,rij->rj", self.elements, c[self.places])

    def adjoint_times(self, y: Any) -> Any:
        """Aᵀ Y, for a matrix."""
        products = self.elements[:, :, None] * y[:, None, :]
        return summed(np.reshape(products, (-1, np.shape(y)[1])), self.places.ravel(), self.n)

    def normal(self) -> Any:
        """The lower half of the band of Aᵀ A."""
        width = np.shape(self.elements)[1]
        i, j = np.tril_indices(width)
        products = self.elements[:, i] * self.elements[:, j]
        into = (i - j) * self.n + self.places[:, j]
        sums = summed(np.reshape(products, (-1,)), into.ravel(), width * self.n)
        return np.reshape(sums, (width, self.n))


@primitive
def is_definite(band: Any) -> bool:
    """Whether half a band is that of a positive definite matrix, and not nearly singular."""
    try:
        pivots = linalg.cholesky_banded(band, lower=True)[0]
    except linalg.LinAlgError:
        return False
    return bool(np.min(pivots) ** 2 > WORST * np.max(pivots) ** 2)


non_differentiable(is_definite)


def rows_of(t: Any, k: int, x: Any, w: Any) -> Rows:
    """The matrix of all B-splines at all places, times a weight for each place."""
    left = intervals(t, k, x)
    return Rows(basis(t, k, x, left) * w[:, None], np.asarray(left) - k, np.shape(t)[0] - k - 1)


def fitted(t: Any, k: int, x: Any, y: Any, w: Any) -> tuple[Any, Any]:
    """Return the coefficients of splines of least squares, and the weighted residuals.

    `y` has a column for each spline.
    """
    A, weighted = rows_of(t, k, x, w), y * w[:, None]
    normal = A.normal()
    if not is_definite(normal):
        dense = design(t, k, x) * w[:, None]
        c = np.linalg.lstsq(dense, weighted)[0]
        return c, weighted - np.matmul(dense, c)
    c: Any = 0.0
    away = weighted
    for _ in range(2):
        c = c + linalg.solveh_banded(normal, A.adjoint_times(away), lower=True, check_finite=False)
        away = weighted - A.times(c)
    return c, away


@kernel("_norm_eq_lsq", *COMPILED)
def norm_eq_lsq_body(x, t, k, y, w, ab, rhs):
    A = rows_of(t, k, x, w)
    ab[...] = np.transpose(A.normal())
    rhs[...] = A.adjoint_times(y * w[:, None])


@kernel("_norm_eq_lsq", *[m for m in COMPILED if m.__name__.endswith("_bspl")])
def old_norm_eq_lsq_body(x, t, k, y, w, ab, rhs):
    norm_eq_lsq_body(x, t, k, y, w, ab.T, rhs)
