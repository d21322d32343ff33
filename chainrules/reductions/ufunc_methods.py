"""``reduce``, ``accumulate``, ``reduceat`` and ``outer`` of the functions of two numbers.

Which functions these are is asked of NumPy, and their derivatives are made of the partials that
the elementwise rules say. If the result of a function is piecewise constant (``floor_divide``), so
is ``outer``; but the others return an element that has nothing before it as it is.

``np.add.reduce`` is made anew at each access, but always equal to itself, so it is its own key.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from chainrules.elementwise.selection import as_chosen
from chainrules.reductions.axes import UNSET, Rules, divided, divisor, every, present, scaled
from chainrules.reductions.cumulative import running_sum_rules
from chainrules.reductions.extrema import extremum_rules
from chainrules.reductions.fast_extrema import equal_to_results, few_places, placed
from chainrules.reductions.folds import (
    WEIGHTS,
    accumulate_rules,
    derivative,
    has_derivatives,
    products_together,
    reduce_rules,
    running_extremum_rules,
    weights,
)
from chainrules.reductions.products import can_divide, product_rules, running_rules
from chainrules.reductions.sums import sum_rules
from chainrules.reductions.ties import has_gaps
from chainrules_core import (
    AbstractZero,
    Numeric,
    ZeroTangent,
    conj,
    frule,
    non_differentiable,
    pair_rule,
    rrule,
    thunk,
    unbroadcast,
)
from chainrules_core.authoring import fit, is_foreign, scatter, strong_product

EXTREMA = (np.maximum, np.minimum, np.fmax, np.fmin)


def binary_ufuncs() -> list[np.ufunc]:
    """NumPy's functions of two numbers with one result."""
    found = [f for f in vars(np).values() if isinstance(f, np.ufunc)]
    return [f for f in dict.fromkeys(found) if (f.nin, f.nout, f.signature) == (2, 1, None)]


# ------------------------------------------------------------------------------------------ reduce


def along_first(rules: Rules, *, takes_dtype: bool = True) -> Rules:
    """Rules of a NumPy function as those of the ``reduce`` behind it.

    It reduces the first axis if none is given.
    """
    inner_rrule, inner_frule = rules

    def options_for(axis, dtype, keepdims, where):
        options = {"axis": axis, "keepdims": keepdims, "where": where}
        return options if dtype is None else options | {"dtype": dtype}

    def reduce_rrule(array, initial=UNSET, *, axis=0, dtype=None, keepdims=False, where=True):
        if dtype is not None and not takes_dtype:
            return None
        y, pullback = inner_rrule(array, initial, **options_for(axis, dtype, keepdims, where))

        def reduce_pullback(y_bar):
            return pullback(y_bar)

        return y, reduce_pullback

    def reduce_frule(dots, array, initial=UNSET, *, axis=0, dtype=None, keepdims=False, where=True):
        if dtype is not None and not takes_dtype:
            return None
        return inner_frule(dots, array, initial, **options_for(axis, dtype, keepdims, where))

    return reduce_rrule, reduce_frule


def rules_of_reduce(f: np.ufunc) -> Rules:
    """The rules of ``f.reduce``."""
    if f is np.add:
        return along_first(sum_rules(f.reduce, every))
    if f is np.multiply:
        return along_first(product_rules(f.reduce, every))
    if f in EXTREMA:
        is_deaf_to_nan = f in (np.fmax, np.fmin)
        rules = extremum_rules(f.reduce, present if is_deaf_to_nan else every)
        return along_first(rules, takes_dtype=False)
    return reduce_rules(f)


# ---------------------------------------------------------------------------------------- reduceat


class Segments:
    """The segments that ``reduceat`` reduces, one behind the other along the first axis."""

    def __init__(self, shape: tuple[int, ...], indices: Any, axis: int) -> None:
        self.shape, self.axis = shape, axis
        n = shape[axis]
        low = np.asarray(indices, np.intp)
        high = np.concatenate([low[1:], [n]])
        self.lengths = high - low
        # Segments that follow each other are a slice.
        self.places: Any = slice(low[0] if len(low) else n, n)
        self.starts = low - low[:1]
        if not np.all(self.lengths > 0):
            self.lengths = np.where(low < high, high - low, 1)
            self.starts = np.cumsum(self.lengths) - self.lengths
            total = np.arange(int(self.lengths.sum()))
            self.places = np.repeat(low - self.starts, self.lengths) + total

    def gathered(self, array: Any) -> Any:
        """The elements of all segments."""
        return np.swapaxes(array, self.axis, 0)[self.places]

    def scattered(self, bar: Any) -> Any:
        """Undo `gathered`, adding up what belongs to the same element."""
        shape = list(self.shape)
        shape[self.axis], shape[0] = shape[0], shape[self.axis]
        if np.shape(bar) != tuple(shape):
            bar = scatter(bar, (self.places,), tuple(shape), bar.dtype)
        return np.swapaxes(bar, self.axis, 0)

    def repeated(self, y: Any) -> Any:
        """The value of each segment at each of its elements."""
        return np.repeat(np.swapaxes(y, self.axis, 0), self.lengths, axis=0)

    def summed(self, values: Any) -> Any:
        """The sums of the segments."""
        return np.swapaxes(np.add.reduceat(values, self.starts, axis=0), self.axis, 0)

    def ties(self, array: Any, y: Any) -> Any:
        """Which elements are the largest or smallest of their segment."""
        x = self.gathered(array)
        return np.equal(as_chosen(y, x), self.repeated(y))

    def chosen(self, array: Any, y: Any) -> Any:
        """The place of the one element that each result is; None if there are ties or many."""
        if np.ndim(array) != 1 or len(y) * 64 > len(array) or has_gaps(y):
            return None
        places = few_places(self.ties(array, y), len(y))
        return places if places is not None and len(places) == len(y) else None

    def weights(self, f: np.ufunc, array: Any, y: Any) -> tuple[Any, Any]:
        """The derivatives of results by elements: a factor of the elements, one of the results."""
        if f is np.add:
            return 1, 1
        x = self.gathered(array)
        if f in EXTREMA:
            tie = self.ties(array, y)
            if np.count_nonzero(tie) == np.size(y) and not np.any(np.not_equal(y, y)):
                return tie, 1
            return tie, 1 / divisor(self.summed(tie), y)
        if f in WEIGHTS:
            return WEIGHTS[f](x, self.repeated(y)), 1
        if f is np.multiply and can_divide(y, x):
            return 1 / x, y
        if f is np.subtract or (f is np.divide and can_divide(y, x)):
            sign = np.full((len(x), *[1] * (np.ndim(x) - 1)), -1.0)
            sign[self.starts] = 1
            return (sign, 1) if f is np.subtract else (sign / x, y)
        results = np.swapaxes(y, self.axis, 0)
        found = []
        for k, (i, n) in enumerate(zip(self.starts, self.lengths, strict=True)):
            segment, result = (
                np.swapaxes(x[i : i + n], 0, -1),
                np.swapaxes(results[k : k + 1], 0, -1),
            )
            found.append(np.swapaxes(weights(f, segment, result), 0, -1))
        return np.concatenate(found) if found else 1, 1


def reduceat_rules(f: np.ufunc) -> Rules:
    """Return the rules of ``f.reduceat``."""

    def reduceat_rrule(array, *, indices, axis=0, dtype=None):
        y = f.reduceat(array, indices, axis=axis, dtype=dtype)

        def reduceat_pullback(y_bar):
            segments = Segments(np.shape(array), indices, axis)
            places = segments.chosen(array, y) if f in EXTREMA else None
            if places is not None:
                bar = placed(y_bar, places, (int(np.sum(segments.lengths)),))
                return segments.scattered(bar)
            x = segments.gathered(array) if f is np.multiply else None
            if x is not None and can_divide(y, x):
                bar = segments.repeated(conj(y) * y_bar)
                return segments.scattered(divided(bar, conj(x)))
            of_elements, of_results = segments.weights(f, array, y)
            bar = segments.repeated(conj(of_results) * y_bar)
            return segments.scattered(scaled(bar, conj(of_elements)))

        return y, reduceat_pullback

    def reduceat_frule(dots, array, *, indices, axis=0, dtype=None):
        y = f.reduceat(array, indices, axis=axis, dtype=dtype)
        segments = Segments(np.shape(array), indices, axis)
        of_elements, of_results = segments.weights(f, array, y)
        return y, fit(of_results * segments.summed(of_elements * segments.gathered(dots[0])), y)

    return reduceat_rrule, reduceat_frule


# ------------------------------------------------------------------------------------------- outer


def sums_of_chosen(y_bar: Any, y: Any, a: Any, b: Any) -> tuple | None:
    """The cotangents of two vectors whose pairs were compared; None for others and for ties.

    What one of a pair does not get the other does, unless they are equal. Truth values as numbers
    add up at once what belongs to an element. Infinite cotangents would make NaN of the zeros among
    them.
    """
    if is_foreign(y_bar) or is_foreign(y) or np.ndim(a) != 1 or np.ndim(b) != 1:
        return None
    dtype = np.result_type(y_bar)
    if dtype.char not in "fd" or not dtype == y.dtype == a.dtype == b.dtype or share_numbers(a, b):
        return None
    weights = equal_to_results(y, b[None]).astype(dtype)
    b_bar = np.einsum("ij,ij->j", weights, y_bar)
    a_bar = np.vecdot(np.subtract(1.0, weights, out=weights), y_bar)
    return (a_bar, b_bar) if np.isfinite(np.sum(a_bar) + np.sum(b_bar)) else None


def share_numbers(a: Any, b: Any) -> bool:
    """Whether an element of one vector is in the other too, or one is NaN.

    Examples
    --------
    >>> share_numbers(np.array([1.0, 2.0]), np.array([3.0, 1.0, 4.0]))
    True
    """
    if np.isnan(np.sum(a)) or np.isnan(np.sum(b)) or not len(a) or not len(b):
        return True
    row = np.sort(b)
    return bool(np.any(row[np.minimum(np.searchsorted(row, a), len(row) - 1)] == a))


def spread(a: Any, b: Any) -> Any:
    """`a` with an axis of length one for each of `b` behind its own."""
    return np.reshape(a, np.shape(a) + (1,) * np.ndim(b))


def summed(j: int, bar: Any, a: Any, b: Any, weights: Any) -> Any:
    """The rows or columns of `bar`, times weights, added up: one product with a vector."""
    matrix = np.reshape(bar, (math.prod(np.shape(a)), math.prod(np.shape(b))))
    if j == 0:
        return np.reshape(matrix @ np.reshape(weights, (-1,)), np.shape(a))
    return np.reshape(np.reshape(weights, (-1,)) @ matrix, np.shape(b))


def pull_outer(f: np.ufunc, j: int, y_bar: Any, y: Any, a: Any, b: Any) -> Any:
    """The cotangent of one argument of ``f.outer``, by itself."""
    if f is np.multiply:
        return summed(j, y_bar, a, b, conj((b, a)[j]))
    if f is np.divide and np.all(np.isfinite(a)) and can_divide(b, b):
        if j == 0:
            return summed(0, y_bar, a, b, conj(1 / b))
        return -summed(1, y_bar, a, b, conj(a)) / conj(b) / conj(b)
    wide = spread(a, b)
    bar = strong_product(conj(derivative(j, y, f, wide, b)), y_bar)
    if j == 1 or isinstance(bar, AbstractZero):
        return unbroadcast(bar, np.shape(b))
    return np.reshape(unbroadcast(bar, np.shape(wide)), np.shape(a))


def pull_outer_together(f: np.ufunc, y_bar: Any, y: Any, a: Any, b: Any) -> tuple | None:
    """Both cotangents of ``f.outer``, where they can be computed together."""
    if f is np.divide:
        return None  # its sums need no products of all pairs
    bars = sums_of_chosen(y_bar, y, a, b) if f in EXTREMA else None
    if bars is None:
        products = products_together(f, y_bar, y, spread(a, b), b)
        if products is None:
            return None
        ones = np.ones_like(b), np.ones_like(a)
        bars = tuple([summed(j, products[j], a, b, ones[j]) for j in (0, 1)])
    return bars


def register_outer(f: np.ufunc) -> None:
    """Register the rules of ``f.outer``: f itself, of `A` with axes of length one behind it."""

    @pair_rule(f.outer, Numeric, Numeric, lists=True, shaped_by=(0, 1))
    def outer_rule(a, b, *, dtype=None):
        y = f.outer(a, b, dtype=dtype)

        def outer_pushforward(a_dot, b_dot):
            wide = spread(a, b)
            y_dot: Any = ZeroTangent()
            if not isinstance(a_dot, AbstractZero):
                y_dot = y_dot + strong_product(derivative(0, y, f, wide, b), spread(a_dot, b))
            if not isinstance(b_dot, AbstractZero):
                y_dot = y_dot + strong_product(derivative(1, y, f, wide, b), b_dot)
            return fit(y_dot, y)

        def outer_pullback(y_bar):
            made: list[Any] = []

            def of(j):
                if not made:
                    made.append(pull_outer_together(f, y_bar, y, a, b))
                return pull_outer(f, j, y_bar, y, a, b) if made[0] is None else made[0][j]

            return thunk(partial(of, 0)), thunk(partial(of, 1))

        return y, outer_pushforward, outer_pullback


# -------------------------------------------------------------------------------------- everything


def rules_of_accumulate(f: np.ufunc) -> Rules:
    """The rules of ``f.accumulate``."""
    if f is np.add:
        return running_sum_rules(f.accumulate, 0)
    if f is np.multiply:
        return running_rules(f.accumulate, 0)
    return running_extremum_rules(f) if f in EXTREMA else accumulate_rules(f)


def register_methods(f: np.ufunc) -> None:
    """Register the rules of all methods of a function of two numbers."""
    kinds = {rule.kind for rule in rrule.methods(f)}
    is_constant = kinds == {"non_differentiable"}
    if is_constant:
        non_differentiable(f.outer)
    elif kinds:
        register_outer(f)
    if is_constant and "dd->d" not in f.types:  # results are no floats
        non_differentiable((f.reduce, f.accumulate, f.reduceat))
        return
    if not is_constant and not has_derivatives(f):
        return
    made: list[tuple[Any, Rules]] = [
        (f.reduce, rules_of_reduce(f)),
        (f.accumulate, rules_of_accumulate(f)),
        (f.reduceat, reduceat_rules(f)),
    ]
    for method, (reverse, forward) in made:
        rrule.register(method, Numeric, lists=True, shaped_by=(0,))(reverse)
        frule.register(method, Numeric, lists=True)(forward)


for _f in binary_ufuncs():
    register_methods(_f)
