"""``reduce``, ``accumulate``, ``reduceat`` and ``outer`` of the functions of two numbers.

Which functions these are is asked of NumPy, and their derivatives are made of the partials that
the elementwise rules say: a method of a function whose result is constant is constant as well.

``np.add.reduce`` is made anew at each access, but always equal to itself, so it is its own key.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.indexing.getting import scatter
from chainrules.reductions.axes import (
    NUMERIC,
    UNSET,
    Rules,
    every,
    precision,
    present,
)
from chainrules.reductions.cumulative import running_sum_rules
from chainrules.reductions.extrema import extremum_rules
from chainrules.reductions.folds import (
    WEIGHTS,
    accumulate_rules,
    derivatives,
    reduce_rules,
    running_extremum_rules,
    weights,
)
from chainrules.reductions.lists import ARRAY_LIKE, frule_on_arrays, rrule_on_arrays
from chainrules.reductions.products import product_rules, running_rules
from chainrules.reductions.sums import sum_rules
from chainrules_core import (
    AbstractZero,
    ZeroTangent,
    conj,
    frule,
    non_differentiable,
    rrule,
    unbroadcast,
)
from chainrules_core.define.scalar import fit, strong_product

EXTREMA = (np.maximum, np.minimum, np.fmax, np.fmin)


def binary_ufuncs() -> list[np.ufunc]:
    """NumPy's functions of two numbers with one result."""
    found = [f for f in vars(np).values() if isinstance(f, np.ufunc)]
    return [f for f in dict.fromkeys(found) if (f.nin, f.nout, f.signature) == (2, 1, None)]


# ------------------------------------------------------------------------------------------ reduce


def along_first(rules: Rules) -> Rules:
    """Rules of a NumPy function as those of the ``reduce`` behind it.

    It reduces the first axis if none is given, and takes ``initial`` as a keyword: a constant.
    """
    inner_rrule, inner_frule = rules

    def reduce_rrule(array, *, axis=0, initial=UNSET, **options):
        y, pullback = inner_rrule(array, initial, axis=axis, **options)

        def reduce_pullback(y_bar):
            return pullback(y_bar)[0]

        return y, reduce_pullback

    def reduce_frule(dots, array, *, axis=0, initial=UNSET, **options):
        return inner_frule((*dots, ZeroTangent()), array, initial, axis=axis, **options)

    return reduce_rrule, reduce_frule


def rules_of_reduce(f: np.ufunc) -> Rules:
    """The rules of ``f.reduce``."""
    if f is np.add:
        return along_first(sum_rules(f.reduce, every))
    if f is np.multiply:
        return along_first(product_rules(f.reduce, every))
    if f in EXTREMA:
        is_deaf_to_nan = f in (np.fmax, np.fmin)
        return along_first(extremum_rules(f.reduce, present if is_deaf_to_nan else every))
    return reduce_rules(f)


# ---------------------------------------------------------------------------------------- reduceat


class Segments:
    """The segments that ``reduceat`` reduces, one behind the other along the first axis."""

    def __init__(self, array: Any, indices: Any, axis: int) -> None:
        n = np.shape(array)[axis]
        low = np.asarray(indices) % n if n else np.asarray(indices)
        high = np.append(low[1:], n)
        self.lengths = np.where(low < high, high - low, 1)
        self.starts = np.cumsum(self.lengths) - self.lengths
        total = int(self.lengths.sum())
        self.places = np.repeat(low - self.starts, self.lengths) + np.arange(total)
        self.shape, self.axis = np.shape(array), axis

    def gathered(self, array: Any) -> Any:
        """The elements of all segments."""
        return np.swapaxes(array, self.axis, 0)[self.places]

    def scattered(self, bar: Any) -> Any:
        """Undo `gathered`, adding up what belongs to the same element."""
        shape = list(self.shape)
        shape[self.axis], shape[0] = shape[0], shape[self.axis]
        return np.swapaxes(scatter(bar, (self.places,), tuple(shape), bar.dtype), self.axis, 0)

    def repeated(self, y: Any) -> Any:
        """What belongs to the segments, at each of their elements."""
        return np.repeat(np.swapaxes(y, self.axis, 0), self.lengths, axis=0)

    def summed(self, values: Any) -> Any:
        """The sums of the segments."""
        return np.swapaxes(np.add.reduceat(values, self.starts, axis=0), self.axis, 0)

    def weights(self, f: np.ufunc, array: Any, y: Any) -> Any:
        """The derivatives of the results by the elements; None if f has none."""
        x = self.gathered(array)
        if f is np.add:
            return 1
        if f in EXTREMA:
            tie = np.equal(x, self.repeated(y)).astype(float)
            n = np.maximum(np.add.reduceat(tie, self.starts, axis=0), 1)
            return (tie / np.repeat(n, self.lengths, axis=0)).astype(precision(y))
        if f in WEIGHTS:
            return WEIGHTS[f](x, self.repeated(y))
        found = []
        for start, length in zip(self.starts, self.lengths, strict=True):
            segment = np.swapaxes(x[start : start + length], 0, -1)
            w = weights(f, segment, None)
            if w is None:
                return None
            found.append(np.swapaxes(w, 0, -1))
        return np.concatenate(found) if found else 1


def reduceat_rules(f: np.ufunc) -> Rules:
    """Return the rules of ``f.reduceat``."""

    def reduceat_rrule(array, *, indices, axis=0, dtype=None):
        y = f.reduceat(array, indices, axis=axis, dtype=dtype)
        segments = Segments(array, indices, axis)
        w = segments.weights(f, array, y)
        if w is None:
            return None

        def reduceat_pullback(y_bar):
            return segments.scattered(conj(w) * segments.repeated(y_bar))

        return y, reduceat_pullback

    def reduceat_frule(dots, array, *, indices, axis=0, dtype=None):
        y = f.reduceat(array, indices, axis=axis, dtype=dtype)
        segments = Segments(array, indices, axis)
        w = segments.weights(f, array, y)
        if w is None:
            return None
        return y, fit(segments.summed(w * segments.gathered(dots[0])), y)

    return reduceat_rrule, reduceat_frule


# ------------------------------------------------------------------------------------------- outer


def register_outer(f: np.ufunc) -> None:
    """Register the rules of ``f.outer``: f itself, of `A` with axes of length one behind it."""

    def spread(a: Any, b: Any) -> Any:
        return np.reshape(a, np.shape(a) + (1,) * np.ndim(b))

    @rrule.register(f.outer, ARRAY_LIKE, ARRAY_LIKE)
    @rrule_on_arrays
    def outer_rrule(a, b, **options):
        y = f.outer(a, b, **options)
        wide = spread(a, b)
        found = derivatives(y, f, wide, b)
        if found is None:
            return None

        def outer_pullback(y_bar):
            by_a, by_b = [strong_product(conj(d), y_bar) for d in found]
            a_bar = np.reshape(unbroadcast(by_a, np.shape(wide)), np.shape(a))
            return a_bar, unbroadcast(by_b, np.shape(b))

        return y, outer_pullback

    @frule.register(f.outer, ARRAY_LIKE, ARRAY_LIKE)
    @frule_on_arrays
    def outer_frule(dots, a, b, **options):
        y = f.outer(a, b, **options)
        found = derivatives(y, f, spread(a, b), b)
        if found is None:
            return None
        y_dot: Any = ZeroTangent()
        if not isinstance(dots[0], AbstractZero):
            y_dot = y_dot + strong_product(found[0], spread(dots[0], b))
        if not isinstance(dots[1], AbstractZero):
            y_dot = y_dot + strong_product(found[1], dots[1])
        return y, fit(y_dot, y)


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
    if kinds == {"non_differentiable"}:
        non_differentiable((f.reduce, f.accumulate, f.reduceat, f.outer))
    elif kinds:
        made = {
            f.reduce: rules_of_reduce(f),
            f.accumulate: rules_of_accumulate(f),
            f.reduceat: reduceat_rules(f),
        }
        for method, (reverse, forward) in made.items():
            rrule.register(method, NUMERIC)(reverse)
            frule.register(method, NUMERIC)(forward)
        register_outer(f)


for _f in binary_ufuncs():
    register_methods(_f)
