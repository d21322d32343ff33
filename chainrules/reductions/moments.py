"""Variance and standard deviation.

With d = x - m, y = Σ |d|² / (n - ddof) has ẏ = 2 Re Σ conj(d) ẋ / (n - ddof): what the mean m adds
drops out, as Σ d = 0; one that is given (``mean=``) has m̄ = -Σ x̄. A standard deviation is the
root, x̄ = d ȳ / ((n - ddof) y); where all values are equal it has a kink like that of |x|, and the
gradient is 0.

NumPy also takes a complex mean of real numbers: `var` and `std` then square d, and `nanvar` and
`nanstd` drop the imaginary part of m.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.reductions.axes import (
    Rules,
    chosen,
    count,
    divisor,
    every,
    is_given,
    kept,
    length,
    options_of,
    precision,
    present,
    scaled,
    selected,
)
from chainrules_core import NoTangent, Numeric, conj, frule, rrule, thunk, unbroadcast
from chainrules_core.authoring import NO_VALUE, fit, is_foreign


def mean_of(a: Any, axis: Any, where: Any) -> Any:
    """The mean that is subtracted, axes kept; what ``where`` leaves out is not looked at."""
    if not selected(where):
        if type(a) is np.ndarray and a.dtype.kind == "f" and a.size and not is_foreign(a):
            sums = np.add.reduce(a, axis=axis, keepdims=True)  # half the time of NumPy's mean
            return sums / length(np.shape(a), axis)
        return np.mean(a, axis=axis, keepdims=True)
    total = np.sum(chosen(a, where), axis=axis, keepdims=True)
    return total / divisor(count(np.shape(a), axis, where), a)


def freedom(n: Any, ddof: Any, correction: Any, like: Any) -> Any:
    """The degrees of freedom n - ddof, as NumPy has them: none less than zero."""
    ddof = correction if is_given(correction) else ddof
    if isinstance(n, int):
        return max(n - ddof, 0)
    return np.maximum(n - ddof, 0).astype(precision(like))


def squares(a: Any, mean: Any) -> bool:
    """Whether the deviations are squared though they are complex, because `a` is real."""
    return is_given(mean) and np.iscomplexobj(mean) and not np.iscomplexobj(a)


def moment_rules(f: Callable, is_root: bool, elements: Callable) -> Rules:
    """Return the rules of a variance or standard deviation.

    `elements` returns ``where`` less what `f` leaves out by itself.
    """

    def factor(y: Any, y_bar: Any, n: Any, shape: tuple[int, ...], axis: Any) -> Any:
        """The factor of each deviation, axes kept."""
        y_bar = kept(y_bar, shape, axis)
        with np.errstate(divide="ignore", invalid="ignore"):
            if not is_root:
                return y_bar * np.divide(2.0, n).astype(precision(y_bar))
            y = kept(y, shape, axis)
            flat = np.equal(y, 0)
            if not is_foreign(y) and not np.count_nonzero(flat):
                return y_bar / (y * n)
            return np.where(flat, 0, y_bar / (np.where(flat, 1, y) * n))

    def moment_rrule(
        a, mean=NO_VALUE, *, axis=None, dtype=None, ddof=0, keepdims=False, where=True,
        correction=NO_VALUE,
    ):  # fmt: skip
        options = options_of(keepdims=keepdims, where=where, mean=mean, correction=correction)
        y = f(a, axis=axis, dtype=dtype, ddof=ddof, **options)
        shape = np.shape(a)

        def moment_pullback(y_bar):
            kept_in = elements(a, where)
            n = freedom(count(shape, axis, kept_in), ddof, correction, y)
            scale = factor(y, y_bar, n, shape, axis)
            if not is_given(mean):
                m = mean_of(a, axis, kept_in)
                return chosen(scaled(a - m, scale), kept_in), NoTangent()
            d = a - mean
            if squares(a, mean):
                d, scale = conj(d), factor(conj(y), y_bar, n, shape, axis)
                d = np.real(d) if elements is present else d
            a_bar = chosen(scaled(d, scale), kept_in)
            return a_bar, thunk(lambda: unbroadcast(-a_bar, np.shape(mean)))

        return y, moment_pullback

    def moment_frule(
        dots, a, mean=NO_VALUE, *, axis=None, dtype=None, ddof=0, keepdims=False, where=True,
        correction=NO_VALUE,
    ):  # fmt: skip
        options = options_of(keepdims=keepdims, where=where, mean=mean, correction=correction)
        y = f(a, axis=axis, dtype=dtype, ddof=ddof, **options)
        shape, kept_in = np.shape(a), elements(a, where)
        n = freedom(count(shape, axis, kept_in), ddof, correction, y)
        m = mean if is_given(mean) else mean_of(a, axis, kept_in)
        a_dot = dots[0] - dots[1] if is_given(mean) else dots[0]
        if not squares(a, mean):
            d_dot = np.real(conj(a - m) * a_dot)
        elif elements is present:
            d_dot = np.real(a - m) * np.real(a_dot)
        else:
            d_dot = (a - m) * a_dot
        moved = d_dot * factor(y, np.ones_like(y), n, shape, axis)
        return y, fit(np.sum(chosen(moved, kept_in), axis=axis, **options_of(keepdims=keepdims)), y)

    return moment_rrule, moment_frule


for _f, _is_root, _elements in (
    (np.var, False, every),
    (np.std, True, every),
    (np.nanvar, False, present),
    (np.nanstd, True, present),
):
    _rrule, _frule = moment_rules(_f, _is_root, _elements)
    rrule.register(_f, Numeric, lists=True, shaped_by=(0,))(_rrule)
    frule.register(_f, Numeric, lists=True)(_frule)
