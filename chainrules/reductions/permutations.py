"""The order in which elements are sorted or partitioned, and arrays brought into it and back.

NumPy sorts numbers several times faster than it finds their order. So numbers are sorted that tell
in their last bits where each has been. Those that differ in their last bits alone lie beside each
other then and are put in order by themselves; in the end all is compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.indexing.taking import places_along_axis
from chainrules_core import linear_rule, non_differentiable, primitive
from chainrules_core.authoring import is_foreign

LARGE = 4096
"""For fewer elements the steps count for more than what sorting takes."""


def taken(a: Any, order: Any, axis: int | None) -> Any:
    """The elements of an array at `order` along an axis."""
    return a[order] if np.ndim(a) == 1 else np.take_along_axis(a, order, axis)


@primitive
def put_back(y: Any, order: Any, axis: int | None) -> Any:
    """Undo `taken`, for a permutation.

    Examples
    --------
    >>> put_back(np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), 0)
    array([2., 3., 1.])
    """
    a = np.empty(order.shape, y.dtype)
    if a.ndim == 1:
        a[order] = y
    elif a.size:
        a.reshape(-1)[places_along_axis(order, a.shape, axis)] = y
    return a


linear_rule(put_back, lambda a_bar, y, order, axis: taken(a_bar, order, axis))


class Reordering:
    """The elements of an array in another order along an axis; of the flat array if it is None.

    Attributes
    ----------
    order : array of int
        Where along the axis each element comes from.
    """

    def __init__(self, a: Any, order: Any, axis: int | None) -> None:
        self.shape, self.axis = np.shape(a), axis
        self.order = order

    def __call__(self, a: Any) -> Any:
        """The elements of `a` in the order."""
        if self.axis is None:
            a = np.reshape(a, (-1,))
        return taken(a, self.order, self.axis)

    def pull(self, y_bar: Any) -> Any:
        """Put the elements back."""
        return np.reshape(put_back(y_bar, self.order, self.axis), self.shape)


class InLines(Reordering):
    """A `Reordering` of plain arrays whose axis is the last, so that each line is contiguous.

    Attributes
    ----------
    places : array of int
        Where in the flat array of lines each element comes from.
    """

    def __init__(self, a: Any, places: np.ndarray, axis: int | None) -> None:
        self.shape, self.axis, self.places = np.shape(a), axis, places

    @property
    def order(self) -> Any:  # type: ignore[override]
        """Where along the axis each element comes from."""
        n = self.places.shape[-1]
        return self._from_lines(self.places % n)

    def __call__(self, a: Any) -> Any:
        """The elements of `a` in the order."""
        if is_foreign(a):
            return super().__call__(a)
        return self._from_lines(lines_of(a, self.axis).reshape(-1).take(self.places))

    def pull(self, y_bar: Any) -> Any:
        """Put the elements back."""
        if is_foreign(y_bar):
            return super().pull(y_bar)
        bar = np.empty(self.places.size, y_bar.dtype)
        bar[self.places.reshape(-1)] = lines_of(y_bar, self.axis).reshape(-1)
        return np.reshape(self._from_lines(bar.reshape(self.places.shape)), self.shape)

    def _from_lines(self, x: Any) -> Any:
        return x if self.axis is None else np.ascontiguousarray(np.swapaxes(x, self.axis, -1))


def lines_of(a: np.ndarray, axis: int | None) -> np.ndarray:
    """`a` with an axis at the end, in one piece; flat if it is None."""
    if axis is None:
        return np.reshape(a, (-1,))
    return np.ascontiguousarray(np.swapaxes(a, axis, -1))


def with_places(a: np.ndarray, axis: int, by_sign: bool = False) -> np.ndarray | None:
    """`a` with the place of each element along ``axis`` in the last bits; None where none fit.

    Equal numbers, if negative, are sorted in the order of falling places then; unless, `by_sign`,
    the places of negative numbers are counted from the end.
    """
    n = a.shape[axis]
    if a.dtype != np.float64 or not 1 < n < 1 << 24:
        return None
    places = np.reshape(np.arange(n), (-1,) + (1,) * (a.ndim - axis % a.ndim - 1))
    bits = a.view(np.int64) if a.flags.c_contiguous else np.ascontiguousarray(a).view(np.int64)
    mask = last_bits(n)
    if by_sign:
        places = places ^ (bits >> 63 & mask)
    bits = bits & ~mask
    marked = np.bitwise_or(bits, places, out=bits).view(np.float64)
    # Inf with a mark is NaN, and NaN loses its mark where NumPy sorts by vectors.
    return None if np.isnan(np.max(marked)) else marked


def last_bits(n: int) -> int:
    """The bits that the places of n elements take."""
    return (1 << (n - 1).bit_length()) - 1


def by_marks(
    a: np.ndarray, axis: int | None, stable: bool = True, by_sign: bool = False
) -> tuple[np.ndarray, InLines] | None:
    """Return the sorted elements and their order; None if that fails.

    If `stable`, equal elements are in the order in which they come.
    """
    lines = lines_of(a, axis)
    # The zeros of both signs are equal.
    marked = with_places(lines + 0.0 if by_sign else lines, -1, by_sign)
    if marked is None:
        return None
    marked.sort(axis=-1)
    n, bits = lines.shape[-1], marked.view(np.int64)
    mask = last_bits(n)
    places = bits & mask
    if by_sign:
        places ^= bits >> 63 & mask
        np.minimum(places, n - 1, out=places)  # of what was not marked as thought (NaN)
    if lines.ndim > 1:
        places += np.reshape(np.arange(0, lines.size, n), (*lines.shape[:-1], 1))
    y = lines.reshape(-1).take(places)
    if not are_in_order(y, places, stable):
        alike = np.equal(np.bitwise_xor(bits[..., :-1], bits[..., 1:]) & ~mask, 0)
        put_in_order(y, places, alike)
        if not are_in_order(y, places, stable):
            return None
    found = InLines(a, places, axis)
    return found._from_lines(y), found


def are_in_order(y: np.ndarray, places: np.ndarray, stable: bool) -> bool:
    """Whether all elements are sorted and, if `stable`, equal ones are in the order of places."""
    before, behind = y[..., :-1], y[..., 1:]
    steps = np.less(before, behind)
    if np.all(steps):
        return True
    equal = np.equal(before, behind)
    if stable:
        equal &= np.less(places[..., :-1], places[..., 1:])
    return bool(np.all(np.logical_or(steps, equal, out=steps)))


def put_in_order(y: np.ndarray, places: np.ndarray, alike: np.ndarray) -> None:
    """Order, in place, what is `alike` and lies beside each other, if that is little."""
    together = np.zeros(y.shape, bool)
    together[..., :-1] = alike
    together[..., 1:] |= alike
    where = np.flatnonzero(together)
    if 8 * where.size > y.size:
        return
    begins = np.ones(y.shape, bool)
    begins[..., 1:] = ~alike
    values, own = y.reshape(-1), places.reshape(-1)
    groups = np.cumsum(begins.reshape(-1)[where])
    order = where[np.lexsort((own[where], values[where], groups))]
    values[where], own[where] = values[order], own[order]


@primitive
def axes_in_memory(a: Any) -> tuple[int, ...]:
    """Return the axes of an array from the one with the largest steps in memory.

    Examples
    --------
    >>> axes_in_memory(np.zeros((2, 3)).T)
    (1, 0)
    """
    steps = getattr(a, "strides", ())
    return tuple(sorted(range(np.ndim(a)), key=lambda k: -abs(steps[k]) if steps else k))


non_differentiable(axes_in_memory)


def laid_out_as(a: Any, y: Any) -> Any:
    """Return `y` with its axes in memory in the order of those of `a`, as NumPy copies arrays."""
    axes = axes_in_memory(a) if np.ndim(y) > 1 else ()
    if axes == tuple(range(len(axes))):
        return y
    return np.transpose(np.copy(np.transpose(y, axes), order="C"), np.argsort(axes))


def sorted_order(a: Any, axis: int | None, stable: bool = True) -> tuple[Any, Reordering]:
    """Return the sorted elements and their order; if `stable`, equal ones keep theirs.

    Keeping the order of equal elements takes longer, and is tried only where there are any.
    """
    if type(a) is np.ndarray and a.size >= LARGE and not is_foreign(a):
        found = by_marks(a, axis, stable)
        if found is None and stable:
            found = by_marks(a, axis, by_sign=True)
        if found is not None:
            return laid_out_as(a, found[0]), found[1]
    reorder = Reordering(a, np.argsort(a, axis=axis), axis)
    y = reorder(a)
    last = np.swapaxes(y, -1 if axis is None else axis, -1)
    if stable and not np.all(np.less(last[..., :-1], last[..., 1:])):
        reorder.order = np.argsort(a, axis=axis, kind="stable")
    return laid_out_as(a, y), reorder
