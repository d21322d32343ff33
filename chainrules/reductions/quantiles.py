"""Medians, quantiles and percentiles: mixtures of two order statistics.

Sorted, the n elements of a slice are x_0 ≤ … ≤ x_{n-1}; a quantile is (1 - g) x_j + g x_{j+1} with
j + g = v the "virtual index" that the method makes of n and q. The continuous methods have (Hyndman
and Fan 1996; α and β as in NumPy's documentation)

    v = q (n + 1 - α - β) + α - 1,  kept between 0 and n - 1,

so that ∂y/∂q = (x_{j+1} - x_j) ∂v/∂q; where v is an element, the slopes on both sides are averaged.
The other methods are steps in q, and what they make of n and q NumPy tells itself: the quantile of
the numbers 0, 1, …, n - 1 is v.

With weights the only method is a step, and each quantile is one element: the first equal to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.reductions.axes import from_rows, options_of, present, rows
from chainrules_core import AbstractZero, Numeric, ZeroTangent, pair_rule, thunk
from chainrules_core.authoring import fit, scatter

CONTINUOUS = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (1 / 2, 1 / 2),
    "weibull": (0, 0),
    "linear": (1, 1),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
"""α and β of the methods that are continuous in q."""


class Mixture:
    """For each row of a matrix and each quantile, (1 - g) times one element plus g times another.

    `low` and `high` are the columns where these stand; they and `g` have an axis for the rows and
    one for the quantiles, as have `y_bar` and the results here.
    """

    def __init__(self, matrix: Any, low: Any, high: Any, g: Any) -> None:
        self.shape = np.shape(matrix)
        self.row = np.arange(self.shape[0])[:, None]
        self.low, self.high, self.g = low, high, g

    def pull(self, y_bar: Any) -> Any:
        """Hand each quantile's cotangent to the two elements."""
        bars = np.concatenate([(1 - self.g) * y_bar, self.g * y_bar], axis=-1)
        columns = np.concatenate([self.low, self.high], axis=-1)
        return scatter(bars, (self.row, columns), self.shape, bars.dtype)

    def push(self, a_dot: Any) -> Any:
        """Mix the tangents of the two elements."""
        return (1 - self.g) * a_dot[self.row, self.low] + self.g * a_dot[self.row, self.high]


class Ranks:
    """The elements of the rows of a matrix near virtual indices, by their rank in the row.

    Parameters
    ----------
    matrix : array
        The rows.
    virtual : array of float
        The virtual indices, not yet kept within the row.
    n : array of int
        How many numbers a row has; NaNs come after them.
    """

    def __init__(self, matrix: Any, virtual: Any, n: Any) -> None:
        self.matrix, self.virtual, self.last = matrix, virtual, n - 1
        self.row = np.arange(np.shape(matrix)[0])[:, None]
        self.near_zero = 1e-14 * n  # the rounding of a virtual index that is a whole number
        self.place = np.clip(virtual, 0, self.last)
        self.rank = np.minimum(np.floor(self.place + self.near_zero).astype(int), self.last)
        near = [np.clip(self.rank + k, 0, self.last) for k in (-1, 0, 1)]
        wanted = np.unique(np.concatenate(near, axis=-1))
        if len(wanted) > _MANY:
            order = np.argsort(matrix, axis=-1)
        else:
            order = np.argpartition(matrix, wanted, axis=-1)
        self.below, self.low, self.high = [order[self.row, r] for r in near]

    def mixture(self) -> Mixture:
        """The quantiles as mixtures."""
        return Mixture(self.matrix, self.low, self.high, self.place - self.rank)

    def slopes(self, is_bounded: bool) -> Any:
        """The derivative of the quantiles by the virtual index.

        At a whole number it is the mean of both sides. Beyond the ends of a row quantiles are
        constant, unless there is nothing beyond (`is_bounded`).
        """
        x, v, last = self.matrix, self.virtual, self.last
        below, low, high = (x[self.row, c] for c in (self.below, self.low, self.high))
        whole = np.abs(v - self.rank) <= self.near_zero
        has_left = whole & (self.rank > 0)
        has_right = np.where(whole, self.rank < last, (v > 0) & (v < last))
        share = np.where(whole & (has_left & has_right if is_bounded else True), 0.5, 1.0)
        return share * (np.where(has_left, low - below, 0) + np.where(has_right, high - low, 0))


_MANY = 32  # from so many ranks on, sorting is faster than partitioning


def first_equal(matrix: Any, y: Any) -> Mixture:
    """The first element of each row that is equal to each value of `y`, as a mixture."""
    equal = np.equal(matrix[:, None, :], y[:, :, None])
    column = np.argmax(equal, axis=-1)
    return Mixture(matrix, column, column, np.where(np.any(equal, axis=-1), 0.0, np.nan))


def virtual_index(n: Any, q: Any, method: Any) -> Any:
    """The position of the quantile among n sorted elements, which may be between or beyond them."""
    if method in CONTINUOUS:
        alpha, beta = CONTINUOUS[method]
        return q * (n + (1 - alpha - beta)) + (alpha - 1)
    lengths, which = np.unique(n, return_inverse=True)
    places = [np.quantile(np.arange(float(k)), q[0], method=method) for k in lengths]
    return np.stack(places)[np.reshape(which, -1)]


def table(y: Any, n_rows: int) -> Any:
    """What is made for each quantile and each row, in the form of a `Mixture`."""
    return np.transpose(np.reshape(y, (-1, n_rows)))


def is_muddled(q: Any, axis: Any) -> bool:
    """Whether NumPy mixes up the axes of the result: for a matrix of q, over several axes."""
    return np.ndim(q) > 1 and isinstance(axis, tuple) and len(axis) > 1


def quantile_rules(f: Callable, unit: int, *, ignores_nan: bool = False) -> None:
    """Register the rules of quantiles; `unit` is what the largest is called."""

    def numbers(a: Any, axis: Any) -> Any:
        """The number of elements of each row, or of all rows."""
        if not ignores_nan:
            return np.array([[np.shape(rows(a, axis))[-1]]])
        return np.maximum(np.sum(rows(present(a), axis), axis=-1, keepdims=True), 1)

    def ranks(a: Any, q: Any, axis: Any, method: str) -> Ranks:
        n = numbers(a, axis)
        q = np.reshape(q, (1, -1)) / unit
        return Ranks(rows(a, axis), virtual_index(n, q, method), n)

    def mixture(a: Any, q: Any, y: Any, axis: Any, method: str, weights: Any) -> Mixture:
        if weights is None:
            return ranks(a, q, axis, method).mixture()
        matrix = rows(a, axis)
        return first_equal(matrix, table(y, len(matrix)))

    def by_q(a: Any, q: Any, axis: Any, method: str) -> Any:
        """The derivative of each quantile by its q, in the form of a `table`."""
        alpha, beta = CONTINUOUS[method]
        rate = (numbers(a, axis) + (1 - alpha - beta)) / unit
        return ranks(a, q, axis, method).slopes(method == "linear") * rate

    @pair_rule(f, Numeric, lists=True, shaped_by=(0, 1))
    def quantile_rule(
        a, q, *, axis=None, overwrite_input=False, method="linear", keepdims=False, weights=None
    ):
        if ignores_nan and is_muddled(q, axis):
            return None
        y = f(a, q, axis, method=method, **options_of(keepdims=keepdims, weights=weights))
        is_step = weights is not None or method not in CONTINUOUS

        def quantile_pushforward(a_dot, q_dot):
            y_dot: Any = ZeroTangent()
            if not isinstance(a_dot, AbstractZero):
                mixed = mixture(a, q, y, axis, method, weights)
                y_dot = mixed.push(rows(a_dot, axis))
            if not isinstance(q_dot, AbstractZero) and weights is None and method in CONTINUOUS:
                y_dot = y_dot + by_q(a, q, axis, method) * np.reshape(q_dot, (1, -1))
            if isinstance(y_dot, AbstractZero):
                return y_dot
            return fit(np.reshape(np.transpose(y_dot), np.shape(y)), y)

        def quantile_pullback(y_bar):
            mixed = mixture(a, q, y, axis, method, weights)
            y_bar = table(y_bar, mixed.shape[0])
            a_bar = from_rows(mixed.pull(y_bar), np.shape(a), axis)
            if is_step:
                return a_bar, ZeroTangent()
            return a_bar, thunk(
                lambda: np.reshape(np.sum(y_bar * by_q(a, q, axis, method), axis=0), np.shape(q))
            )

        return y, quantile_pushforward, quantile_pullback


quantile_rules(np.quantile, 1)
quantile_rules(np.percentile, 100)
quantile_rules(np.nanquantile, 1, ignores_nan=True)
quantile_rules(np.nanpercentile, 100, ignores_nan=True)


# ------------------------------------------------------------------------------------------ median


def median_rules(f: Callable, *, ignores_nan: bool = False) -> None:
    """Register the rules of a median: the mean of the two elements in the middle."""

    def mixture(a: Any, axis: Any) -> Mixture:
        matrix = rows(a, axis)
        n = np.array([[np.shape(matrix)[-1]]])
        if ignores_nan:
            n = np.maximum(np.sum(rows(present(a), axis), axis=-1, keepdims=True), 1)
        return Ranks(matrix, (n - 1) / 2, n).mixture()

    def value(a: Any, axis: Any, keepdims: Any) -> Any:
        return f(a, axis=axis, **options_of(keepdims=keepdims))

    @pair_rule(f, Numeric, lists=True, shaped_by=(0,))
    def median_rule(a, *, axis=None, overwrite_input=False, keepdims=False):
        y = value(a, axis, keepdims)

        def median_pushforward(a_dot):
            return fit(np.reshape(mixture(a, axis).push(rows(a_dot, axis)), np.shape(y)), y)

        def median_pullback(y_bar):
            mixed = mixture(a, axis)
            return from_rows(mixed.pull(table(y_bar, mixed.shape[0])), np.shape(a), axis)

        return y, median_pushforward, median_pullback


median_rules(np.median)
median_rules(np.nanmedian, ignores_nan=True)
