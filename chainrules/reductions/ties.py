"""Which elements of an array are the extremum, and what each of them gets of its cotangent.

Where n elements equal the result y, ``initial`` among them, ∂y/∂x_i = 1/n for each of these. Where
y is NaN, the NaNs of the argument share it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.reductions.axes import (
    UNSET,
    divisor,
    is_given,
    kept,
    options_of,
    reduced_axes,
    selected,
)
from chainrules_core.authoring import where_true


def has_gaps(y: Any) -> bool:
    """Whether a result is NaN."""
    return bool(y != y) if type(y) is np.float64 else bool(np.any(np.not_equal(y, y)))


class Ties:
    """The elements of `a` (and whether ``initial`` is one) that are the extremum `y`.

    Attributes
    ----------
    elements : ndarray of bool
        Whether each element is the extremum.
    initial : ndarray of bool or bool
        Whether ``initial`` is the extremum.
    n : ndarray or float
        How many there are for each result, axes kept.
    """

    def __init__(self, a: Any, y: Any, axis: Any, where: Any = True, initial: Any = UNSET) -> None:
        self.shape, self.axis = np.shape(a), axis
        y = kept(y, self.shape, axis)
        tie = self.equal(a, y)
        self.has_gaps = has_gaps(y)
        if self.has_gaps:
            tie = tie | (np.isnan(a) & np.isnan(y))
        self.elements = tie & where if selected(where) else tie
        self.initial = np.equal(initial, y) if is_given(initial) else False
        self.is_whole = not (self.has_gaps or selected(where) or is_given(initial))
        self.n: Any = self.number(a, y)

    def equal(self, a: Any, y: Any) -> Any:
        """Compare the elements with the results, axes kept."""
        return np.equal(a, y)

    def number(self, a: Any, y: Any) -> Any:
        """Return how many tie for each result, to divide by."""
        return divisor(self.count(np.ndim(y)) + self.initial, a)

    def count(self, ndim: int) -> Any:
        """Return how many elements tie for each result; `ndim` is that of the results."""
        if not ndim:
            return np.count_nonzero(self.elements)
        axes = reduced_axes(ndim, self.axis)
        return np.count_nonzero(self.elements, axis=axes, keepdims=True)

    def shares(self, y_bar: Any) -> Any:
        """Divide each result's cotangent by the number of elements that tie, axes kept."""
        return kept(y_bar, self.shape, self.axis) / self.n

    def pull(self, y_bar: Any) -> Any:
        """Propagate each result's cotangent to the elements that tie."""
        return where_true(self.elements, self.shares(y_bar))

    def pull_initial(self, y_bar: Any) -> Any:
        """Propagate each result's cotangent to ``initial`` where it ties."""
        return np.sum(np.where(self.initial, self.shares(y_bar), 0))

    def push(self, a_dot: Any, keepdims: Any) -> Any:
        """Average the tangents of the elements that tie."""
        own = np.where(self.elements, a_dot, 0) / self.n
        return np.sum(own, axis=self.axis, **options_of(keepdims=keepdims))
