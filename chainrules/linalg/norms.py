"""Norms of vectors and matrices, and the condition number.

A norm is real, so its derivative is Re⟨g, ẋ⟩ with one gradient g for each order, and both modes
use it. For the p-norm of a vector, g = x/|x| (|x|/‖x‖)^(p-1). Where a norm has a kink g is a
subgradient:

- at 0 it is 0, as it is for each element of 0 that enters by its absolute value;
- among equal extremes (``inf``, ``-inf``; the rows or columns of ``1``, ``-1``, ``inf``, ``-inf``;
  the singular values of ``2``, ``-2``) it is shared equally;
- of ``"nuc"`` it is U Vᴴ over the singular values that are not zero, which needs no gaps: it is
  right where singular values coincide;
- ``ord=0`` counts, and is constant; an element of 0 in a norm of ``ord`` below 1 gets 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.indexing.taking import scatter_along
from chainrules.linalg.gaps import coinciding, vanishing
from chainrules.linalg.matrices import adjoint, column, conj, real, row
from chainrules.linalg.pairs import singular_pair
from chainrules.reductions.axes import kept, reduced_axes
from chainrules.reductions.fast_extrema import placed
from chainrules_core import Array, Numeric, pair_rule
from chainrules_core.authoring import is_foreign


class Norm:
    """A norm of some order over some axes: what both modes need of it.

    Parameters
    ----------
    x : array
        What the norm is of.
    order : int, float, str or None
        NumPy's ``ord``.
    axes : tuple of int
        The axes.
    of_matrix : bool
        Whether it is a matrix norm, of rows and columns in two axes.
    """

    def __init__(self, x: Any, order: Any, axes: tuple[int, ...], of_matrix: bool) -> None:
        self.x, self.order, self.axes, self.of_matrix = x, order, axes, of_matrix
        self.is_euclidean = order is None or order in (("fro", "f") if of_matrix else (2,))

    def kept(self, y: Any) -> Any:
        """Give `y` the axes that were reduced, with length one."""
        shape = np.shape(self.x)
        return kept(y, shape, None if len(self.axes) == len(shape) else self.axes)

    def gradient(self, y: Any) -> Any:
        """The gradient at every element, for the value `y` (axes kept)."""
        if self.is_euclidean:
            return over_norm(self.x, y)
        if self.of_matrix:
            return matrix_gradient(self.x, y, self.order, self.axes)
        return vector_gradient(self.x, y, self.order, self.axes)

    def cotangent(self, y: Any, y_bar: Any) -> Any:
        """The cotangent of `x`."""
        if self.order in (np.inf, -np.inf) and np.ndim(y) == 0 and not self.of_matrix:
            return extreme_only(self.x, y, real(y_bar))
        y, y_bar = self.kept(y), self.kept(real(y_bar))
        if self.is_euclidean:
            return over_norm(y_bar, y) * self.x
        return y_bar * self.gradient(y)

    def tangent(self, y: Any, x_dot: Any, keepdims: bool) -> Any:
        """The tangent of `y`."""
        if self.is_euclidean:
            if len(self.axes) == np.ndim(self.x) and not keepdims:
                return over_norm(real(np.vdot(self.x, x_dot)), y)
            along = np.sum(real(conj(self.x) * x_dot), axis=self.axes, keepdims=keepdims)
            return over_norm(along, y)
        slope = conj(self.gradient(self.kept(y)))
        return np.sum(real(slope * x_dot), axis=self.axes, keepdims=keepdims)


def norm_of(x: Any, order: Any, axis: Any) -> Norm:
    """The norm that ``np.linalg.norm`` computes: of all elements, of vectors, or of matrices."""
    ndim = np.ndim(x)
    axes = reduced_axes(ndim, axis)
    if axis is None and order is None:
        return Norm(x, 2, axes, False)
    return Norm(x, order, axes, len(axes) == 2)


@pair_rule(np.linalg.norm, Numeric, lists=True, shaped_by=(0,))
def norm_rule(x, *, ord=None, axis=None, keepdims=False):
    y = np.linalg.norm(x, ord, axis, keepdims)

    def norm_pushforward(x_dot):
        return norm_of(x, ord, axis).tangent(y, x_dot, keepdims)

    def norm_pullback(y_bar):
        if ord is axis is None and type(x) is np.ndarray and type(y) is np.float64:
            return over_norm(real(y_bar), y) * x  # as below, in a third of the time
        return norm_of(x, ord, axis).cotangent(y, y_bar)

    return y, norm_pushforward, norm_pullback


@pair_rule(np.linalg.vector_norm, Numeric, lists=True, shaped_by=(0,))
def vector_norm_rule(x, *, axis=None, keepdims=False, ord=2):
    y = np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)

    def vector_norm_pushforward(x_dot):
        norm = Norm(x, ord, reduced_axes(np.ndim(x), axis), False)
        return norm.tangent(y, x_dot, keepdims)

    def vector_norm_pullback(y_bar):
        return Norm(x, ord, reduced_axes(np.ndim(x), axis), False).cotangent(y, y_bar)

    return y, vector_norm_pushforward, vector_norm_pullback


@pair_rule(np.linalg.matrix_norm, Array, lists=True, shaped_by=(0,))
def matrix_norm_rule(x, *, keepdims=False, ord="fro"):
    return norm_rule(x, ord=ord, axis=(-2, -1), keepdims=keepdims)


# ------------------------------------------------------------------------------------ vector norms


def over_norm(x: Any, y: Any) -> Any:
    """x/y, and 0 where the norm y is 0."""
    if np.ndim(y) == 0:
        return x / y if y != 0 else x * 0
    zero = np.equal(y, 0)
    if not is_foreign(zero) and not zero.any():
        return x / y
    return np.where(zero, 0, x / np.where(zero, 1, y))


def shared(values: Any, extreme: Any, axes: tuple[int, ...]) -> Any:
    """The share of each extreme value in the gradient."""
    ties = np.equal(values, extreme)
    count = np.count_nonzero(ties, axis=axes, keepdims=True)
    return (ties / np.maximum(count, 1)).astype(values.dtype)


def vector_gradient(x: Any, y: Any, p: Any, axes: tuple[int, ...]) -> Any:
    """The gradient of the p-norm over some axes; `y` is the norm, axes kept."""
    if p == 0:
        return np.zeros_like(x)
    if p == 1:
        return np.sign(x)
    size = np.abs(x)
    if p in (np.inf, -np.inf):
        return np.sign(x) * shared(size, y, axes)
    zero = np.equal(size, 0) | np.equal(y, 0)
    quotient = np.where(zero, 1, size / np.where(np.equal(y, 0), 1, y))
    return np.where(zero, 0, np.sign(x) * quotient ** (p - 1))


def extreme_only(x: Any, y: Any, y_bar: Any) -> Any:
    """The cotangent of all of `x` from that of y = max|x|, which the extreme elements share."""
    places = np.flatnonzero(np.equal(np.abs(x), y))
    values = np.sign(np.reshape(x, (-1,))[places]) * (y_bar / max(len(places), 1))
    return placed(values, places, np.shape(x))


# ------------------------------------------------------------------------------------ matrix norms


def matrix_gradient(x: Any, y: Any, order: Any, axes: tuple[int, ...]) -> Any:
    """The gradient of a norm of the matrices in two axes, rows and columns; `y` is the norm."""
    if order in (1, -1, np.inf, -np.inf):
        summed, compared = axes if order in (1, -1) else axes[::-1]
        sums = np.sum(np.abs(x), axis=summed, keepdims=True)
        extreme = (np.max if order > 0 else np.min)(sums, axis=compared, keepdims=True)
        shares = shared(sums, extreme, (compared,))
        if np.ndim(x) == 2:  # only of the extreme rows or columns do the signs matter
            places = np.flatnonzero(shares)
            signs = np.sign(np.take(x, places, compared)) * np.take(shares, places, compared)
            return scatter_along(signs, places, compared, np.shape(x), signs.dtype)
        return np.sign(x) * shares
    x = np.moveaxis(x, axes, (-2, -1))
    pair = singular_pair(x, np.max(y)) if order in (2, -2) and np.ndim(x) == 2 else None
    if pair is not None:
        u, v = pair
        return np.moveaxis(column(u) * row(conj(v)), (-2, -1), axes)
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    weights = singular_weights(s, order)
    return np.moveaxis(weighted(u, weights, vh), (-2, -1), axes)


def weighted(u: Any, weights: Any, vh: Any) -> Any:
    """U diag(w) Vᴴ; of the singular vectors that count if they are few."""
    if np.ndim(u) == 2 and not is_foreign(weights):
        places = np.flatnonzero(weights)
        if 4 * len(places) <= len(weights):
            return np.matmul(u[:, places] * weights[places], vh[places])
    return np.matmul(u * row(weights), vh)


def singular_weights(s: Any, order: Any) -> Any:
    """The gradient of a norm by the singular values; NaN where these are, as of infinite ones."""
    zero = vanishing(s)
    if order == "nuc":
        weights: Any = 1.0
    else:
        ties = coinciding(s)[..., 0 if order == 2 else -1, :]
        weights = ties / np.maximum(np.count_nonzero(ties, axis=-1, keepdims=True), 1)
    return np.where(np.isnan(s), np.nan, np.where(zero, 0, weights)).astype(s.dtype)


# ------------------------------------------------------------------------------------------- cond


def cond_gradient(x: Any, y: Any, p: Any) -> Any:
    """The gradient of the condition number, of each matrix; NaN where it is infinite."""
    finite = np.isfinite(y)
    of_matrix = np.expand_dims(finite, (-2, -1))
    x = np.where(of_matrix, x, np.eye(*np.shape(x)[-2:], dtype=x.dtype))
    if p in (None, 2, -2):
        u, s, vh = np.linalg.svd(x, full_matrices=False)
        largest, smallest = s[..., :1], s[..., -1:]
        by_largest, by_smallest = singular_weights(s, 2), singular_weights(s, -2)
        if p == -2:
            weights = (by_smallest - smallest / largest * by_largest) / largest
        else:
            weights = (by_largest - largest / smallest * by_smallest) / smallest
        gradient = weighted(u, weights, vh)
    else:
        inverse = np.linalg.inv(x)
        norms = [norm_of(m, p, (-2, -1)) for m in (x, inverse)]
        sizes = [np.linalg.norm(m, p, (-2, -1), keepdims=True) for m in (x, inverse)]
        of_x, of_inverse = [n.gradient(size) for n, size in zip(norms, sizes, strict=True)]
        back = np.matmul(np.matmul(adjoint(inverse), of_inverse), adjoint(inverse))
        gradient = sizes[1] * of_x - sizes[0] * back
    return gradient if np.all(finite) else np.where(of_matrix, gradient, np.nan)


@pair_rule(np.linalg.cond, Array, lists=True)
def cond_rule(x, *, p=None):
    y = np.linalg.cond(x, p)

    def cond_pushforward(x_dot):
        return np.sum(real(conj(cond_gradient(x, y, p)) * x_dot), (-2, -1))

    def cond_pullback(y_bar):
        return np.expand_dims(y_bar, (-2, -1)) * cond_gradient(x, y, p)

    return y, cond_pushforward, cond_pullback
