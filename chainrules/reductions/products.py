"""Products and running products, right where factors are zero.

The derivative of y = Π x_j by x_i is the product of the others. Where no factor is near zero, that
is y / x_i. Else the others are multiplied in a tree: the product of the others is that of the other
half, times that of the others in the own half. Both are O(n).

For y_i = Π_{j≤i} x_j the forward derivative obeys ẏ_i = x_i ẏ_{i-1} + y_{i-1} ẋ_i, and backwards
x̄_i = y_{i-1} r_i with r_i = ȳ_i + x_{i+1} r_{i+1}. Where no x is near zero, the recurrences are
sums: ẏ = y Σ ẋ/x, and x̄ = (Σ from the end of y ȳ) / x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.reductions.axes import (
    UNSET,
    Rules,
    along_last,
    chosen,
    every,
    from_last,
    from_rows,
    is_given,
    kept,
    options_of,
    present,
    rounds,
    rows,
    selected,
)
from chainrules.reductions.fast_extrema import placed
from chainrules.reductions.recurrence import recurrence, reversed_recurrence
from chainrules_core import AbstractZero, NoTangent, Numeric, ZeroTangent, conj, frule, rrule
from chainrules_core.authoring import fit, is_foreign, where_true

_TINY = np.finfo(float).tiny
_LARGE = 64  # elements: fewer steps count for more than fewer passes


def can_divide(y: Any, a: Any) -> bool:
    """Whether the products `y` of elements of `a` may be divided by an element.

    They may if no element is near zero and no product infinite: what is lost where a product is
    near zero is smaller than any number that matters.
    """
    dtype = getattr(a, "dtype", np.dtype(float))
    if np.size(a) == 0 or dtype.kind not in "fc":
        return bool(np.all(np.not_equal(y, 0)))
    if 4 * np.size(y) <= np.size(a) and is_normal(y):
        return True
    if not np.all(np.isfinite(y)):
        return False
    least = np.finfo(dtype).tiny ** 0.5
    if dtype.kind == "f" and np.min(a) > least:
        return True
    return bool(np.min(np.abs(a)) > least)


def is_normal(y: Any) -> bool:
    """Whether all products are finite, and so far from zero that no factor can be zero.

    >>> is_normal(np.array([2.0, 1e-300])), is_normal(np.array([2.0, 0.0]))
    (True, False)
    """
    if type(y) is np.float64 and not is_foreign(y):
        return bool(_TINY <= abs(y) < np.inf)
    size = np.abs(y)
    least = np.finfo(getattr(y, "dtype", float)).tiny
    return bool(np.all(size >= least)) and bool(np.all(np.isfinite(size)))


def others(a: Any) -> Any:
    """The product of the other elements of the row, for each element of a matrix.

    Examples
    --------
    >>> others(np.array([[2.0, 0.0, 5.0]]))
    array([[ 0., 10.,  0.]])
    """
    n = np.shape(a)[-1]
    if n <= 1:
        return np.ones_like(a)
    half = n // 2
    left, right, odd = a[:, :half], a[:, half : 2 * half], a[:, 2 * half :]
    above = others(np.concatenate([left * right, odd], axis=-1) if n % 2 else left * right)
    parts = [above[:, :half] * right, above[:, :half] * left, above[:, half:]]
    return np.concatenate(parts[: 2 + n % 2], axis=-1)


class Factors:
    """The factors of a product, and what depends on them: y = initial Π a."""

    def __init__(self, a: Any, y: Any, initial: Any, axis: Any, where: Any) -> None:
        self.shape, self.axis, self.where, self.initial = np.shape(a), axis, where, initial
        self.a = np.where(where, a, 1) if selected(where) else a
        if is_given(initial):
            y = np.prod(self.a, axis=axis, keepdims=True)
        self.product = kept(y, self.shape, axis)

    def times_others(self, scale: Any, conjugate: Callable) -> Any:
        """Each element of the (conjugate) derivative of the product by a factor, times `scale`."""
        if is_given(self.initial):
            scale = scale * conjugate(self.initial)
        by_a = self._at_zeros(scale, conjugate)
        if by_a is not None:
            return chosen(by_a, self.where)
        if can_divide(self.product, self.a):
            by_a = (scale * conjugate(self.product)) / conjugate(self.a)
        else:
            rest = from_rows(others(rows(self.a, self.axis)), self.shape, self.axis)
            by_a = scale * conjugate(rest)
        return chosen(by_a, self.where)

    def _at_zeros(self, scale: Any, conjugate: Callable) -> Any:
        """The result of `times_others` where each product has a zero factor; None elsewhere.

        A product with one zero changes with this factor alone, one with two does not change.
        """
        if is_foreign(self.a) or np.size(self.a) < _LARGE or np.any(self.product):
            return None
        zero = np.equal(self.a, 0)
        n: Any = np.count_nonzero(zero)  # along axes it takes much longer
        if np.ndim(self.product) and n:
            n = np.count_nonzero(zero, axis=self.axis, keepdims=True)
        if not np.all(n):
            return None
        if np.ndim(self.product) == 0 and n == 1:
            return self._at_one_zero(np.argmax(zero), scale, conjugate)
        rest = self.a.copy()
        rest[zero] = 1
        product = np.prod(rest, axis=self.axis, keepdims=np.ndim(self.product) > 0)
        if not can_divide(product, rest):
            return None
        share = np.where(np.equal(n, 1), scale * conjugate(product), 0)
        return where_true(zero, share)

    def _at_one_zero(self, place: Any, scale: Any, conjugate: Callable) -> Any:
        """The result of `times_others` for a product of all elements of which one is 0."""
        flat = np.reshape(self.a, (-1,))
        product = np.prod(flat[:place]) * np.prod(flat[place + 1 :])
        if not np.isfinite(product):
            return None
        return placed(scale * conjugate(product), np.array([place]), self.shape)


def product_rules(f: Callable, factors: Callable) -> Rules:
    """Return the rules of a product; ``initial`` is one more factor of every result.

    `factors` returns ``where`` less what `f` leaves out by itself.
    """

    def value(a: Any, initial: Any, axis: Any, dtype: Any, keepdims: Any, where: Any) -> Any:
        options = options_of(keepdims=keepdims, initial=initial, where=where)
        return f(a, axis=axis, dtype=dtype, **options)

    def product_rrule(a, initial=UNSET, *, axis=None, dtype=None, keepdims=False, where=True):
        y = value(a, initial, axis, dtype, keepdims, where)

        def product_pullback(y_bar):
            if rounds(dtype):
                return ZeroTangent(), ZeroTangent()
            x = Factors(a, y, initial, axis, factors(a, where))
            full = kept(y_bar, x.shape, axis)
            a_bar = x.times_others(full, conj)
            return a_bar, np.sum(conj(x.product) * full) if is_given(initial) else NoTangent()

        return y, product_pullback

    def product_frule(dots, a, initial=UNSET, *, axis=None, dtype=None, keepdims=False, where=True):
        a_dot, initial_dot = dots
        y = value(a, initial, axis, dtype, keepdims, where)
        if rounds(dtype):
            return y, ZeroTangent()
        x = Factors(a, y, initial, axis, factors(a, where))
        y_dot: Any = ZeroTangent()
        if not isinstance(a_dot, AbstractZero):
            moved = x.times_others(1, same) * a_dot
            y_dot = np.sum(moved, axis=axis, **options_of(keepdims=keepdims))
        if is_given(initial) and not isinstance(initial_dot, AbstractZero):
            y_dot = y_dot + np.reshape(x.product * initial_dot, np.shape(y))
        return y, fit(y_dot, y)

    return product_rrule, product_frule


def same(x: Any) -> Any:
    """Return a derivative unchanged, where the pullback takes its conjugate."""
    return x


_f: Callable
for _f, _factors in ((np.prod, every), (np.nanprod, present)):
    _rrule, _frule = product_rules(_f, _factors)
    rrule.register(_f, Numeric, lists=True, shaped_by=(0,))(_rrule)
    frule.register(_f, Numeric, lists=True)(_frule)


# --------------------------------------------------------------------------------- running products


def before(y: Any) -> Any:
    """Each running product without its last factor, along the last axis."""
    return np.concatenate([np.ones_like(y[..., :1]), y[..., :-1]], axis=-1)


def pull_running(y_bar: Any, a: Any, y: Any) -> Any:
    """Pull back through a running product along the last axis."""
    a, y = conj(a), conj(y)
    is_line = np.ndim(a) == 1 and np.size(a) >= _LARGE and not is_foreign(a) and not is_foreign(y)
    if is_line and y[-1] == 0 and not is_foreign(y_bar):
        zero = int(np.argmax(np.equal(a, 0)))
        if a[zero] == 0 and can_divide(y[:zero], a[:zero]):
            return pull_past_zero(zero, y_bar, a, y)
    if can_divide(y, a):
        return pull_divided(y_bar, a, y)
    return before(y) * reversed_recurrence(a, y_bar)


def pull_divided(y_bar: Any, a: Any, y: Any) -> Any:
    """The cotangents where no factor is near zero, given the conjugates of the factors."""
    return np.cumsum((y * y_bar)[..., ::-1], axis=-1)[..., ::-1] / a


def pull_past_zero(zero: int, y_bar: Any, a: Any, y: Any) -> Any:
    """The cotangents where the first zero is at a place, and no factor before it is near zero.

    The running products from there on change with this one factor alone.
    """
    bar = np.zeros_like(y, dtype=np.result_type(y_bar, a))
    bar[:zero] = pull_divided(y_bar[:zero], a[:zero], y[:zero])
    behind = np.dot(np.cumprod(a[zero + 1 :]), y_bar[zero + 1 :])
    bar[zero] = (y[zero - 1] if zero else 1) * (y_bar[zero] + behind)
    return bar


def push_running(a_dot: Any, a: Any, y: Any) -> Any:
    """Push forward through a running product along the last axis."""
    if can_divide(y, a):
        return y * np.cumsum(a_dot / a, axis=-1)
    return recurrence(a, before(y) * a_dot)


def running_rules(f: Callable, default_axis: Any = None, *, ignores_nan: bool = False) -> Rules:
    """Return the rules of a running product; ``include_initial`` puts a constant 1 before it."""

    def value(a: Any, axis: Any, dtype: Any, include_initial: bool) -> Any:
        options = {"include_initial": True} if include_initial else {}
        return f(a, axis=axis, dtype=dtype, **options)

    def factors(a: Any) -> tuple[Any, Any]:
        """Return the factors, and which of them vary."""
        if not ignores_nan:
            return a, True
        numbers = present(a)
        return np.where(numbers, a, 1), numbers

    def running_rrule(a, *, axis=default_axis, dtype=None, include_initial=False):
        y = value(a, axis, dtype, include_initial)

        def running_pullback(y_bar):
            if rounds(dtype):
                return ZeroTangent()
            x, varying = factors(a)
            y_bar, x, products = [along_last(v, axis) for v in (y_bar, x, y)]
            if include_initial:
                y_bar, products = y_bar[..., 1:], products[..., 1:]
            a_bar = from_last(pull_running(y_bar, x, products), np.shape(a), axis)
            return chosen(a_bar, varying)

        return y, running_pullback

    def running_frule(dots, a, *, axis=default_axis, dtype=None, include_initial=False):
        y = value(a, axis, dtype, include_initial)
        if rounds(dtype):
            return y, ZeroTangent()
        x, varying = factors(a)
        a_dot, x, products = [along_last(v, axis) for v in (chosen(dots[0], varying), x, y)]
        if include_initial:
            y_dot = push_running(a_dot, x, products[..., 1:])
            y_dot = np.concatenate([np.zeros_like(y_dot[..., :1]), y_dot], axis=-1)
        else:
            y_dot = push_running(a_dot, x, products)
        return y, fit(from_last(y_dot, np.shape(y), axis), y)

    return running_rrule, running_frule


for _f in (np.cumprod, np.cumulative_prod, np.nancumprod):
    _rrule, _frule = running_rules(_f, ignores_nan=_f is np.nancumprod)
    rrule.register(_f, Numeric, lists=True, shaped_by=(0,))(_rrule)
    frule.register(_f, Numeric, lists=True)(_frule)
