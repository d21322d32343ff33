"""What a filter that selects an element of each window has selected, and its derivative.

SciPy says what the element is; where it stands is found by comparison. Elements of a window that
equal its extremum share the derivative equally. A rank is that of a stable sort: of elements that
are equal, the one that so many smaller or equal ones precede. (Among NaNs there is no order, and
those that equal the result share.)

The cotangents of all windows are added up where their elements stand by one count with weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_core import frule, ignore_derivatives, linear_rule, primitive, rrule
from chainrules_core.authoring import where_true


def views(x: np.ndarray, footprint: np.ndarray) -> list[np.ndarray]:
    """What each element of a footprint sees of an array with margins, from all places."""
    sizes = [n - k + 1 for n, k in zip(x.shape, footprint.shape, strict=True)]
    return [
        x[tuple([slice(k, k + n) for k, n in zip(place, sizes, strict=True)])]
        for place in np.argwhere(footprint).tolist()
    ]


def equal(a: np.ndarray, y: np.ndarray, has_nan: bool) -> np.ndarray:
    """Which elements equal what was selected, where NaN is equal to itself."""
    hit = np.equal(a, y)
    return hit | (np.isnan(a) & np.isnan(y)) if has_nan else hit


class Selected:
    """Where in its window stands what was selected: as a number, and how many elements are equal.

    Attributes
    ----------
    which, counts : array
        The number of the element in the footprint, and with how many the place shares the
        derivative; only where that is 1 does the number count.
    """

    def __init__(self, x: Any, y: Any, footprint: np.ndarray, rank: int | None) -> None:
        self.y, self.seen, self.has_nan = y, views(x, footprint), bool(np.any(np.isnan(y)))
        small = np.uint8 if len(self.seen) < 256 else np.intp
        self.which, self.counts = np.zeros(y.shape, small), np.zeros(y.shape, small)
        self.by_rank = rank is not None and not self.has_nan and self._by_rank(rank)
        if self.by_rank:
            return
        if rank is not None:
            self.which[...] = self.counts[...] = 0
        for k, part in enumerate(self.seen):
            hit = equal(part, y, self.has_nan).view(np.uint8)
            self.counts += hit
            if k:
                self.which += np.multiply(hit, k, dtype=small)

    def _by_rank(self, rank: int) -> bool:
        """Find the elements of a rank; False if there is not one for each place."""
        small = self.which.dtype
        before, found = np.zeros(self.y.shape, small), np.zeros(self.y.shape, bool)
        for part in self.seen:
            before += np.less(part, self.y).view(np.uint8)
        for k, part in enumerate(self.seen):
            hit = np.equal(part, self.y)
            is_it = hit & (before == rank)
            found |= is_it
            before += hit.view(np.uint8)
            if k:
                self.which += np.multiply(is_it.view(np.uint8), k, dtype=small)
        self.counts[...] = 1
        return bool(np.all(found))

    def takes(self, k: int) -> np.ndarray:
        """At which places the k-th element is, or is one of those, that were selected."""
        hit = equal(self.seen[k], self.y, self.has_nan)
        return hit & ((self.which == k) | (self.counts != 1)) if self.by_rank else hit

    def hits(self, k: int, at: tuple) -> np.ndarray:
        """Where the k-th elements are among several that were selected, at some places."""
        return equal(self.seen[k][at], self.y[at], self.has_nan)


MANY = 16
"""Where one place in so many has ties, each element of the footprint is dealt with everywhere."""


def shared_by_all(y_bar: np.ndarray, x: np.ndarray, known: Selected, footprint: Any) -> np.ndarray:
    """The same as `shared`, in as many passes as there are elements in the footprint."""
    total = np.zeros(x.shape, y_bar.dtype)
    share = (y_bar / np.maximum(known.counts, 1)).astype(y_bar.dtype, copy=False)
    for k, target in enumerate(views(total, footprint)):
        target += where_true(known.takes(k), share)
    return total


@primitive
def shared(y_bar: Any, x: Any, y: Any, footprint: Any, rank: int | None) -> Any:
    """Add what is due to each window's result to the elements of `x` that it was."""
    known = Selected(x, y, footprint, rank)
    several = np.flatnonzero(known.counts != 1)
    if several.size * MANY > y.size:
        return shared_by_all(y_bar, x, known, footprint)
    elements = np.reshape(np.arange(x.size), x.shape)
    corner = tuple([slice(n) for n in y.shape])
    first = np.reshape(elements[corner], -1)
    offsets = np.array([part.flat[0] for part in views(elements, footprint)])
    which, counts = np.reshape(known.which, -1), np.reshape(known.counts, -1)
    share = np.reshape(y_bar, -1)
    if several.size:
        which[several], share = 0, np.where(counts == 1, share, 0)
    where = offsets.take(which)
    where += first
    total = np.bincount(where, share, x.size)
    if several.size:
        part = np.reshape(y_bar, -1)[several] / np.maximum(counts[several], 1)
        at = np.unravel_index(several, y.shape)
        for k, offset in enumerate(offsets):
            hit = known.hits(k, at)
            total += np.bincount(first[several[hit]] + offset, part[hit], x.size)
    return np.reshape(total, x.shape).astype(np.result_type(y_bar), copy=False)


@primitive
def averaged(x_dot: Any, x: Any, y: Any, footprint: Any, rank: int | None) -> Any:
    """The mean of what stands where the elements of `x` were selected: the adjoint of `shared`."""
    known = Selected(x, y, footprint, rank)
    total: Any = 0
    for k, part in enumerate(views(x_dot, footprint)):
        total = total + where_true(known.takes(k), part)
    return total / np.maximum(known.counts, 1)


def shared_adjoint(bar, y_bar, *, x, y, footprint, rank):
    return averaged(bar, x, y, footprint, rank)


def averaged_adjoint(bar, x_dot, *, x, y, footprint, rank):
    return shared(bar, x, y, footprint, rank)


linear_rule(shared, shared_adjoint)
linear_rule(averaged, averaged_adjoint)


@primitive
def chosen(x: Any, y: Any, footprint: Any, rank: int | None = None) -> Any:
    """The elements of an array with margins that a filter chose, which are `y`.

    Examples
    --------
    >>> chosen(np.array([3.0, 1.0, 2.0]), np.array([3.0, 2.0]), np.ones(2, bool))
    array([3., 2.])
    """
    return y


@rrule.register(chosen)
def chosen_rrule(x, *, y, footprint, rank=None):
    plain = ignore_derivatives(x)
    return chosen(x, y, footprint, rank), lambda y_bar: shared(y_bar, plain, y, footprint, rank)


@frule.register(chosen)
def chosen_frule(dots, x, *, y, footprint, rank=None):
    plain = ignore_derivatives(x)
    return chosen(x, y, footprint, rank), averaged(dots[0], plain, y, footprint, rank)
