"""Largest and smallest elements.

Elements that tie share the derivative equally, ``initial`` among them: where n of them equal the
result, ∂y/∂x_i = 1/n. Where the result is NaN, the NaNs of the argument share it.

The cotangent is zero but for a few elements. Where these are few indeed, they are put into an
array of zeros, which the operating system hands out without touching the memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.reductions.axes import (
    UNSET,
    Rules,
    divisor,
    every,
    is_given,
    kept,
    kept_shape,
    options_of,
    present,
    reduced_axes,
    selected,
)
from chainrules_core import (
    AbstractZero,
    NoTangent,
    Numeric,
    ZeroTangent,
    frule,
    linear_rule,
    primitive,
    rrule,
    unbroadcast,
)
from chainrules_core.authoring import fit, is_foreign, where_true

_FLOAT64 = np.dtype(np.float64)
_FEW = 64  # one in so many elements
_VERY_FEW = 256
_SMALL = 4096  # elements: fewer steps count for more than fewer passes
_WIDE = 1 << 13  # elements compared in one go: to begin a row takes as long as 500 elements do


@primitive
def placed(values: Any, places: Any, shape: tuple[int, ...]) -> Any:
    """Zeros, but for `values` at some places of the flat array, none of them twice.

    Examples
    --------
    >>> placed(np.array([3.0, 5.0]), np.array([2, 1]), (2, 2))
    array([[0., 5.],
           [3., 0.]])
    """
    whole = np.zeros(shape, np.result_type(values))
    whole.reshape(-1)[places] = values  # of new memory it is a view
    return whole


linear_rule(
    placed,
    lambda whole_bar, values, places, shape: unbroadcast(
        np.reshape(whole_bar, (-1,))[places], values.shape
    ),
)


def few_places(mask: Any, expected: int = 0) -> Any:
    """Return where in its flat form an array is true; None if that is not in a few places only.

    Eight truth values at a time are looked at as one integer; one place that is `expected` is
    found sooner, and of very many NumPy's own search.

    Examples
    --------
    >>> few_places(np.arange(2000) == 1234)
    array([1234])
    """
    if is_foreign(mask):
        return None  # how many there are is not to be fixed
    if expected == 1 and np.count_nonzero(mask) == 1:
        return np.array([np.argmax(mask)])
    flat = np.ravel(mask)
    is_row_of_bits = type(flat) is np.ndarray and flat.dtype == bool and flat.flags.c_contiguous
    if expected * _VERY_FEW > flat.size or not is_row_of_bits:
        places = np.flatnonzero(flat)
        return places if len(places) * _FEW <= np.size(mask) else None
    whole = flat.size - flat.size % 8
    groups = flat[:whole].view(np.uint64)
    found = np.flatnonzero(groups != 0)
    if len(found) * _FEW > flat.size:
        return None
    inside = np.flatnonzero(np.reshape(flat[:whole], (-1, 8))[found])
    within = 8 * found[inside >> 3] + (inside & 7)
    places = np.concatenate([within, whole + np.flatnonzero(flat[whole:])])
    return places if len(places) * _FEW <= flat.size else None


def has_gaps(y: Any) -> bool:
    """Whether a result is NaN."""
    return bool(y != y) if type(y) is np.float64 else bool(np.any(np.not_equal(y, y)))


def equal_to_results(a: Any, y: Any) -> Any:
    """``a == y`` for the results `y` of a reduction, axes kept; short rows are taken together.

    Examples
    --------
    >>> equal_to_results(np.array([[1.0, 2.0], [3.0, 0.0]]), np.array([[3.0, 2.0]]))
    array([[False,  True],
           [ True, False]])
    """
    if (
        is_foreign(a)
        or is_foreign(y)
        or type(a) is not np.ndarray
        or not a.flags.c_contiguous
        or a.size <= _SMALL
        or not 1 < np.size(y) <= _WIDE // 2
        or not is_row_of(y.shape, a.shape)
    ):
        return np.equal(a, y)
    found = np.empty(a.shape, bool)
    rows, of_rows = a.reshape(-1, y.size), found.reshape(-1, y.size)
    n = _WIDE // y.size
    whole = len(rows) - len(rows) % n
    wide = (-1, n * y.size)
    row = y.reshape(-1)
    np.equal(rows[:whole].reshape(wide), np.tile(row, n), out=of_rows[:whole].reshape(wide))
    np.equal(rows[whole:], row, out=of_rows[whole:])
    return found


def is_row_of(part: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether an array of one shape is repeated as a whole where it broadcasts to the other.

    Examples
    --------
    >>> is_row_of((1, 3), (3, 3)), is_row_of((3, 1), (3, 3))
    (True, False)
    """
    leading = next((i for i, n in enumerate(part) if n != 1), len(part))
    return part[leading:] == shape[leading:]


class Ties:
    """Which elements of `a` (and whether ``initial``) are the extremum `y`."""

    def __init__(self, a: Any, y: Any, axis: Any, where: Any = True, initial: Any = UNSET) -> None:
        self.shape, self.axis = np.shape(a), axis
        y = kept(y, self.shape, axis)
        tie = equal_to_results(a, y)
        gaps = has_gaps(y)
        if gaps:
            tie = tie | (np.isnan(a) & np.isnan(y))
        self.elements = tie & where if selected(where) else tie
        self.initial = np.equal(initial, y) if is_given(initial) else False
        results = np.size(y)
        self.places: Any = few_places(self.elements, results)
        # Every result is an element; if these are as many as results, each is one of them.
        is_whole = not (gaps or selected(where) or is_given(initial))
        self.is_one_each = is_whole and self.places is not None and len(self.places) == results
        self.n: Any = 1
        if not self.is_one_each:
            self.n = divisor(self._count(np.ndim(y)) + self.initial, a)

    def _count(self, ndim: int) -> Any:
        """How many elements tie for each result, axes kept."""
        if not ndim:
            return np.count_nonzero(self.elements) if self.places is None else len(self.places)
        if self.places is None:
            axes = reduced_axes(ndim, self.axis)
            return np.count_nonzero(self.elements, axis=axes, keepdims=True)
        shape = kept_shape(self.shape, self.axis)
        return np.reshape(np.bincount(self._results(), minlength=math.prod(shape)), shape)

    def _results(self) -> Any:
        """The result that each of the elements at `places` belongs to; None if one after another.

        The results are counted as in their flat array.
        """
        axes = sorted(reduced_axes(len(self.shape), self.axis))
        if axes == list(range(len(axes))):
            return self.places % math.prod(self.shape[len(axes) :])
        if axes[0] == len(self.shape) - len(axes):
            if self.is_one_each:
                return None
            return self.places // math.prod(self.shape[axes[0] :])
        index = np.unravel_index(self.places, self.shape)
        kept_index = tuple([i * 0 if k in axes else i for k, i in enumerate(index)])
        return np.ravel_multi_index(kept_index, kept_shape(self.shape, self.axis))

    def shares(self, y_bar: Any) -> Any:
        """Each result's cotangent divided by the number of elements that tie, axes kept."""
        share = kept(y_bar, self.shape, self.axis)
        return share if self.is_one_each else share / self.n

    def at_places(self, share: Any) -> Any:
        """The shares of the elements at `places`; a number if it is the same for all."""
        if not np.ndim(share):
            return share
        order = self._results()
        return np.reshape(share, (-1,)) if order is None else np.reshape(share, (-1,))[order]

    def pull(self, y_bar: Any) -> Any:
        """Hand each result's cotangent to the elements that tie."""
        share = self.shares(y_bar)
        if self.places is None:
            return where_true(self.elements, share)
        return placed(self.at_places(share), self.places, self.shape)

    def pull_initial(self, y_bar: Any) -> Any:
        """Hand each result's cotangent to ``initial`` where it ties."""
        return np.sum(np.where(self.initial, self.shares(y_bar), 0))

    def push(self, a_dot: Any, keepdims: Any) -> Any:
        """Average the tangents of the elements that tie."""
        if self.is_one_each:
            order = self._results()
            places = self.places if order is None else self.places[np.argsort(order)]
            shape = kept_shape(self.shape, self.axis)
            if not is_given(keepdims) or not keepdims:
                axes = reduced_axes(len(shape), self.axis)
                shape = tuple([n for i, n in enumerate(shape) if i not in axes])
            return np.reshape(np.reshape(a_dot, (-1,))[places], shape)
        own = np.where(self.elements, a_dot, 0) / self.n
        return np.sum(own, axis=self.axis, **options_of(keepdims=keepdims))


def small_bar(a: Any, y: Any, y_bar: Any, axis: Any) -> Any:
    """What `Ties` does for an array without NaN, in fewer steps; None where one may be."""
    if axis is None:
        tie = np.equal(a, y)
        n = np.count_nonzero(tie)
        if n and type(y_bar) is np.float64 and a.dtype is _FLOAT64 and not is_foreign(y_bar):
            bar = np.zeros(a.shape)
            bar[tie] = y_bar / n
            return bar
        return np.where(tie, y_bar / n, 0) if n else None
    shape = np.shape(a)
    tie = np.equal(a, kept(y, shape, axis))
    total = np.add.reduce(y, None)
    if total == total and np.count_nonzero(tie) == np.size(y):  # then there is one for each result
        return np.where(tie, kept(y_bar, shape, axis), 0)
    n = np.count_nonzero(tie, axis=axis, keepdims=True)
    if not np.all(n):
        return None
    return np.where(tie, kept(y_bar, shape, axis) / divisor(n, a), 0)


_PLAIN = {np.max: np.maximum, np.amax: np.maximum, np.min: np.minimum, np.amin: np.minimum}


def extremum_rules(f: Callable, elements: Callable) -> Rules:
    """Return the rules of a reduction by maximum or minimum.

    `elements` returns ``where`` less what `f` leaves out by itself.
    """
    ufunc = _PLAIN.get(f)

    def extremum_rrule(a, initial=UNSET, *, axis=None, keepdims=False, where=True):
        is_whole = type(a) is np.ndarray and initial is UNSET and where is True
        if is_whole and ufunc is not None and keepdims is not UNSET and not is_foreign(a):
            y = ufunc.reduce(a, axis, keepdims=keepdims)  # what f does, in half the time
        else:
            y = f(a, axis=axis, **options_of(keepdims=keepdims, initial=initial, where=where))

        def extremum_pullback(y_bar):
            is_plain = type(a) is np.ndarray and where is True and not is_given(initial)
            a_bar = small_bar(a, y, y_bar, axis) if is_plain and a.size <= _SMALL else None
            if a_bar is not None:
                return a_bar, NoTangent()
            # A NaN is equal to nothing, so it has to be left out only where the result is one.
            some = elements(a, where) if has_gaps(y) else where
            ties = Ties(a, y, axis, some, initial)
            own = ties.pull_initial(y_bar) if is_given(initial) else NoTangent()
            return ties.pull(y_bar), own

        return y, extremum_pullback

    def extremum_frule(dots, a, initial=UNSET, *, axis=None, keepdims=False, where=True):
        a_dot, initial_dot = dots
        options = options_of(keepdims=keepdims, initial=initial, where=where)
        y = f(a, axis=axis, **options)
        ties = Ties(a, y, axis, elements(a, where) if has_gaps(y) else where, initial)
        y_dot: Any = ZeroTangent()
        if not isinstance(a_dot, AbstractZero):
            y_dot = ties.push(a_dot, keepdims)
        if is_given(initial) and not isinstance(initial_dot, AbstractZero):
            own = np.where(ties.initial, initial_dot, 0) / ties.n
            y_dot = y_dot + np.reshape(own, np.shape(y))
        return y, fit(y_dot, y)

    return extremum_rrule, extremum_frule


_EXTREMA = [(f, every) for f in (np.max, np.amax, np.min, np.amin)]
for _f, _elements in [*_EXTREMA, (np.nanmax, present), (np.nanmin, present)]:
    _rrule, _frule = extremum_rules(_f, _elements)
    rrule.register(_f, Numeric, lists=True)(_rrule)
    frule.register(_f, Numeric, lists=True)(_frule)


@rrule.register(np.ptp, Numeric, lists=True)
def ptp_rrule(a, *, axis=None, keepdims=False):
    y, top, bottom = ends(a, axis, keepdims)

    def ptp_pullback(y_bar):
        largest, smallest = Ties(a, top, axis), Ties(a, bottom, axis)
        flat = np.any(np.equal(y, 0))  # then elements are largest and smallest at once
        if largest.places is None or smallest.places is None or flat:
            return largest.pull(y_bar) - smallest.pull(y_bar)
        values = [
            np.broadcast_to(ties.at_places(ties.shares(bar)), np.shape(ties.places))
            for ties, bar in ((largest, y_bar), (smallest, -y_bar))
        ]
        places = np.concatenate([largest.places, smallest.places])
        return placed(np.concatenate(values), places, largest.shape)

    return y, ptp_pullback


@frule.register(np.ptp, Numeric, lists=True)
def ptp_frule(dots, a, *, axis=None, keepdims=False):
    y, top, bottom = ends(a, axis, keepdims)
    y_dot = Ties(a, top, axis).push(dots[0], keepdims) - Ties(a, bottom, axis).push(
        dots[0], keepdims
    )
    return y, fit(y_dot, y)


def ends(a: Any, axis: Any, keepdims: Any) -> tuple[Any, Any, Any]:
    """Return what ``ptp`` gives, and the largest and smallest elements that it is made of."""
    options = options_of(keepdims=keepdims)
    top, bottom = np.max(a, axis=axis, **options), np.min(a, axis=axis, **options)
    return np.subtract(top, bottom), top, bottom
