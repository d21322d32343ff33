"""Sorting: y = x[p] with a permutation p, so ẏ = ẋ[p], and x̄[p] = ȳ puts each element back.

Equal elements keep their order. `np.unique` merges equal elements into one: these share its
cotangent equally.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.indexing.taking import places_along_axis
from chainrules.reductions.permutations import Reordering, put_back, sorted_order, with_places
from chainrules_core import (
    AbstractZero,
    NoTangent,
    Numeric,
    Tangent,
    ZeroTangent,
    frule,
    non_differentiable,
    pair_rule,
    primitive,
    rrule,
    unthunk,
)
from chainrules_core.authoring import fit, scatter


@pair_rule(np.sort, Numeric, lists=True, shaped_by=(0,))
def sort_rule(a, *, axis=-1, kind=None, stable=None):
    y, reorder = sorted_order(a, axis)

    def sort_pushforward(a_dot):
        return reorder(a_dot)

    def sort_pullback(y_bar):
        return reorder.pull(y_bar)

    return y, sort_pushforward, sort_pullback


@rrule.register(np.sort_complex, Numeric, lists=True, shaped_by=(0,))
def sort_complex_rrule(a):
    if np.ndim(a) == 0:
        return None  # NumPy has its own error
    y, reorder = sorted_order(a, -1)

    def sort_complex_pullback(y_bar):
        return reorder.pull(y_bar if np.iscomplexobj(a) else np.real(y_bar))

    return y.astype(np.sort_complex(a[..., :0]).dtype), sort_complex_pullback


@frule.register(np.sort_complex, Numeric, lists=True)
def sort_complex_frule(dots, a):
    y = np.sort_complex(a)
    return y, fit(sorted_order(a, -1)[1](dots[0]), y)


@primitive
def partitioned_order(a: np.ndarray, y: np.ndarray, kth: Any, axis: int, kind: str) -> np.ndarray:
    """The order in which ``np.partition`` left the elements of `a` in `y`.

    What ``np.argpartition`` returns is another right one. So numbers that differ from those of `a`
    in their last bits are partitioned in turn, which takes the same way; the last bits tell where
    each has been. Where that fails, by ties and neighbours too near, both are sorted.
    """
    marked = with_places(a, axis)
    if marked is not None:
        places = 1 << (a.shape[axis] - 1).bit_length()
        marked.partition(kth, axis, kind)
        order = marked.view(np.int64) & (places - 1)
        flat = order if a.ndim == 1 else places_along_axis(order, a.shape, axis)
        if np.array_equal(np.take(a, flat), y):
            return order
    before, after = np.argsort(a, axis=axis), np.argsort(y, axis=axis)
    return put_back(before, after, axis)


non_differentiable(partitioned_order)


def partitioning(a: Any, y: Any, kth: Any, axis: int | None, kind: str) -> Reordering:
    """The order in which ``np.partition`` left the elements."""
    flat, along = (np.reshape(a, (-1,)), 0) if axis is None else (a, axis)
    return Reordering(a, partitioned_order(flat, y, kth, along, kind), axis)


@pair_rule(np.partition, Numeric, lists=True, shaped_by=(0,))
def partition_rule(a, kth, *, axis=-1, kind="introselect"):
    y = np.partition(a, kth, axis=axis, kind=kind)

    def partition_pushforward(a_dot, kth_dot):
        return partitioning(a, y, kth, axis, kind)(a_dot)

    def partition_pullback(y_bar):
        return partitioning(a, y, kth, axis, kind).pull(y_bar), NoTangent()

    return y, partition_pushforward, partition_pullback


# ------------------------------------------------------------------------------------------ unique


class Copies:
    """Which elements (slices along an axis) of `a` are merged into which of the unique `values`."""

    def __init__(self, a: Any, values: Any, axis: int | None, equal_nan: bool) -> None:
        self.shape = np.shape(a)
        self.axis = None if np.ndim(a) < 2 else axis
        self.order: Any = None
        if self.axis is None and np.ndim(values) == 1 and not np.any(np.isnan(values)):
            self._sort(a, values)
            return
        _, inverse, self.counts = np.unique(
            a, return_inverse=True, return_counts=True, axis=self.axis, equal_nan=equal_nan
        )
        self.inverse = inverse.reshape(-1)
        if self.axis is None and len(self.counts) > 1:  # the values may come unsorted
            order = np.argsort(values, kind="stable")
            self.inverse, self.counts = order[self.inverse], self.counts[np.argsort(order)]

    def _sort(self, a: Any, values: Any) -> None:
        """Find the copies by sorting, which is quicker than to ask for the value of each."""
        flat = np.reshape(a, (-1,))
        ordered, found = sorted_order(flat, None, stable=False)
        self.order = found.order
        self.starts = np.flatnonzero(np.append(True, np.not_equal(ordered[1:], ordered[:-1])))
        self.starts = self.starts[: len(values)]  # of nothing there are no values
        self.counts = np.diff(self.starts, append=len(ordered))
        self.rank = np.argsort(values)  # the values may come unsorted
        self.is_sorted = bool(np.all(np.equal(self.rank, np.arange(len(self.rank)))))

    def pull(self, y_bar: Any) -> Any:
        """Hand each value's cotangent to its copies."""
        if self.order is not None:
            bar = (y_bar if self.is_sorted else y_bar[self.rank]) / self.counts
            return np.reshape(put_back(np.repeat(bar, self.counts), self.order, 0), self.shape)
        if self.axis is None:
            return np.reshape((y_bar / self.counts)[self.inverse], self.shape)
        y_bar = np.moveaxis(y_bar, self.axis, -1) / self.counts
        return np.moveaxis(y_bar[..., self.inverse], -1, self.axis)

    def push(self, a_dot: Any) -> Any:
        """Average the tangents of the copies of each value."""
        n = len(self.counts)
        if self.order is not None:
            ordered = np.reshape(a_dot, (-1,))[self.order]
            if not n:
                return ordered
            y_dot = np.add.reduceat(ordered, self.starts) / self.counts
            return y_dot if self.is_sorted else y_dot[np.argsort(self.rank)]
        if self.axis is None:
            a_dot = np.reshape(a_dot, (-1,))
            return scatter(a_dot, (self.inverse,), (n,), a_dot.dtype) / self.counts
        a_dot = np.moveaxis(a_dot, self.axis, 0)
        y_dot = scatter(a_dot, (self.inverse,), (n, *np.shape(a_dot)[1:]), a_dot.dtype)
        return np.moveaxis(np.moveaxis(y_dot, 0, -1) / self.counts, -1, self.axis)


def unique_bar(y_bar: Any, y: Any, a: Any, axis: int | None, equal_nan: bool) -> Any:
    """The cotangent of the unique values; the indices that may come with them have none."""
    bar = unthunk(y_bar[0]) if isinstance(y, tuple) else y_bar
    if isinstance(bar, AbstractZero):
        return ZeroTangent()
    return Copies(a, y[0] if isinstance(y, tuple) else y, axis, equal_nan).pull(bar)


def unique_dot(a_dot: Any, y: Any, a: Any, axis: int | None, equal_nan: bool) -> Any:
    """The tangent of what ``unique`` returns."""
    values = y[0] if isinstance(y, tuple) else y
    dot = fit(Copies(a, values, axis, equal_nan).push(a_dot), values)
    if not isinstance(y, tuple):
        return dot
    if not hasattr(y, "_fields"):
        return Tangent[tuple](dot, *[NoTangent() for _ in y[1:]])
    return Tangent[type(y)](**{name: NoTangent() for name in y._fields} | {y._fields[0]: dot})


@rrule.register(np.unique, Numeric, lists=True)
def unique_rrule(ar, *, axis=None, equal_nan=True, **returned):
    y = np.unique(ar, axis=axis, equal_nan=equal_nan, **returned)

    def unique_pullback(y_bar):
        return unique_bar(y_bar, y, ar, axis, equal_nan)

    return y, unique_pullback


@frule.register(np.unique, Numeric, lists=True)
def unique_frule(dots, ar, *, axis=None, equal_nan=True, **returned):
    y = np.unique(ar, axis=axis, equal_nan=equal_nan, **returned)
    return y, unique_dot(dots[0], y, ar, axis, equal_nan)


def unique_rules(f: Callable) -> None:
    """Register the rules of one of the functions of the array API, which tell NaNs apart."""

    @rrule.register(f, Numeric, lists=True)
    def unique_rrule(x):
        y = f(x)

        def unique_pullback(y_bar):
            return unique_bar(y_bar, y, x, None, False)

        return y, unique_pullback

    @frule.register(f, Numeric, lists=True)
    def unique_frule(dots, x):
        y = f(x)
        return y, unique_dot(dots[0], y, x, None, False)


for _f in (np.unique_all, np.unique_counts, np.unique_inverse, np.unique_values):
    unique_rules(_f)
