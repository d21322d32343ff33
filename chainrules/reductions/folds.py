"""Reductions by any function of two numbers that has partial derivatives.

A reduction is linear to first order: ẏ = Σ w_i ẋ_i with weights w_i = ∂y/∂x_i. For some functions a
weight depends on the element and the result alone: it is 1 for ``add``, exp(x - y) for
``logaddexp``, x / y for ``hypot``; for ``maximum`` those that tie share 1.

For any other f, the running results y_i = f(y_{i-1}, x_i) are needed. With p_i and q_i the partials
of f at (y_{i-1}, x_i), derivatives obey ẏ_i = p_i ẏ_{i-1} + q_i ẋ_i, and backwards they are
x̄_i = conj(q_i) r_i with r_i = ȳ_i + conj(p_{i+1}) r_{i+1}: linear recurrences. The weights of the
last result are w_i = q_i r_i for ȳ = (0, …, 0, 1).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrules.elementwise.selection import as_chosen
from chainrules.reductions.axes import (
    Rules,
    along_last,
    chosen,
    divisor,
    from_last,
    from_rows,
    is_given,
    options_of,
    precision,
    rows,
    selected,
)
from chainrules.reductions.fast_extrema import placed
from chainrules.reductions.products import can_divide
from chainrules.reductions.recurrence import recurrence, reversed_recurrence
from chainrules_core import (
    AbstractZero,
    ChainRulesError,
    NoTangent,
    NotImplementedTangent,
    ZeroTangent,
    conj,
    derivatives_given_output,
    rrule,
)
from chainrules_core.authoring import NO_VALUE, fit


class FoldError(ChainRulesError, ArithmeticError):
    """A reduction by NumPy is not that of the elements one after the other."""


def check_fold(f: np.ufunc, y: Any, last: Any) -> None:
    """Raise where a result is not the last of the running results.

    NumPy 2.4 reduces by ``power`` and ``arctan2`` wrongly where the processor has AVX-512.
    """
    rounding = 1e3 * np.finfo(getattr(last, "dtype", float)).eps
    if not np.all(np.isclose(y, last, rtol=rounding, atol=0, equal_nan=True)):
        raise FoldError(
            f"np.{f.__name__}.reduce does not give what np.{f.__name__} gives of one element after "
            f"the other, as np.{f.__name__}.accumulate does: this build of NumPy is wrong on this "
            f"processor, and the derivative would be that of another function. Use "
            f"functools.reduce(np.{f.__name__}, x)."
        )


# ---------------------------------------------------------------------------- weights of elements


def weigh_exp(x: Any, y: Any) -> Any:
    """Weights of ``logaddexp``; 0 where the result is infinite."""
    finite = np.isfinite(y)
    return np.where(finite, np.exp(x - np.where(finite, y, 0)), 0)


def weigh_exp2(x: Any, y: Any) -> Any:
    """Weights of ``logaddexp2``; 0 where the result is infinite."""
    finite = np.isfinite(y)
    return np.where(finite, np.exp2(x - np.where(finite, y, 0)), 0)


def weigh_ratio(x: Any, y: Any) -> Any:
    """Weights of ``hypot``; 0 where the result is 0."""
    zero = np.equal(y, 0)
    return np.where(zero, 0, x / np.where(zero, 1, y))


WEIGHTS = {np.logaddexp: weigh_exp, np.logaddexp2: weigh_exp2, np.hypot: weigh_ratio}
"""The functions whose weights depend on the element and the result alone."""


def first(a: Any) -> Any:
    """The first element along the last axis."""
    return a[..., :1]


def signs(n: int) -> Any:
    """The signs with which a difference has its terms: + for the first, - for all others."""
    found = np.full(n, -1.0)
    found[:1] = 1
    return found


def has_derivatives(f: np.ufunc) -> bool:
    """Whether f has both partials, as a function of two real numbers."""
    if "dd->d" not in f.types:
        return False
    found = derivatives_given_output(f(1.5, 1.25), f, 1.5, 1.25)
    return found is not None and not any(isinstance(d, NotImplementedTangent) for d in found[0])


def derivative(j: int, y: Any, f: np.ufunc, a: Any, b: Any) -> Any:
    """Return one of ∂y/∂a and ∂y/∂b for y = f(a, b)."""
    resolved: Any = rrule.resolve(f, (a, b), {})
    rule, (a, b), _ = resolved
    if rule.kind == "non_differentiable":
        return ZeroTangent()
    shared = () if rule.setup is None else (rule.setup(y, a, b),)
    with np.errstate(all="ignore"):
        return rule.partials[0][j](y, a, b, *shared)


def products_together(f: np.ufunc, y_bar: Any, y: Any, a: Any, b: Any) -> tuple | None:
    """Return the products of ȳ with both derivatives, where f has a quicker way to make them."""
    resolved: Any = rrule.resolve(f, (a, b), {})
    return None if resolved is None else resolved[0].products_together(y_bar, (y, *resolved[1]))


def partials(f: np.ufunc, y: Any, x: Any) -> tuple[Any, Any]:
    """Return p and q along the last axis, from the second element on."""
    after = y[..., 1:]
    found = [derivative(j, after, f, y[..., :-1], x[..., 1:]) for j in (0, 1)]
    p, q = [0.0 if isinstance(d, AbstractZero) else d for d in found]
    return np.broadcast_to(p, np.shape(after)), np.broadcast_to(q, np.shape(after))


def weights(f: np.ufunc, x: Any, y: Any) -> Any:
    """The derivatives of the results `y` by the elements of the rows of `x`.

    Examples
    --------
    >>> from chainrules.elementwise import arithmetic
    >>> x = np.array([[8.0, 2.0, 2.0]])
    >>> weights(np.divide, x, np.divide.reduce(x, axis=-1, keepdims=True))
    array([[ 0.25, -1.  , -1.  ]])
    """
    if f in WEIGHTS:
        return WEIGHTS[f](x, y)
    if np.shape(x)[-1] == 0:
        return np.zeros_like(x)
    if f is np.subtract:
        return np.broadcast_to(signs(np.shape(x)[-1]), np.shape(x))
    if f is np.divide and can_divide(y, x):
        return signs(np.shape(x)[-1]) * (y / x)
    running = f.accumulate(x, axis=-1)
    check_fold(f, y, running[..., -1:])
    p, q = partials(f, running, x)
    nothing, one = np.zeros_like(x[..., 1:]), np.ones_like(first(x))
    end = np.concatenate([nothing, one], axis=-1)
    r = reversed_recurrence(np.concatenate([one, p], axis=-1), end)
    return np.concatenate([first(r), q * r[..., 1:]], axis=-1)


def reduce_rules(f: np.ufunc) -> Rules:
    """Return the rules of ``f.reduce``."""

    def prepared(a: Any, y: Any, axis: Any, initial: Any, where: Any) -> Any:
        """The weights, in rows."""
        if selected(where):
            a = np.where(where, a, f.identity)
        x = rows(a, axis)
        if is_given(initial):
            x = np.concatenate([np.full_like(first(x), initial), x], axis=-1)
        return weights(f, x, np.reshape(y, (-1, 1)))

    def reduce_rrule(array, initial=NO_VALUE, *, axis=0, dtype=None, keepdims=False, where=True):
        options = options_of(keepdims=keepdims, initial=initial, where=where)
        if selected(where) and f.identity is None:
            return None  # what is left out cannot be replaced by something neutral
        y = f.reduce(array, axis=axis, dtype=dtype, **options)

        def reduce_pullback(y_bar):
            w = prepared(array, y, axis, initial, where)
            bar = conj(w) * np.reshape(y_bar, (-1, 1))
            own = NoTangent()
            if is_given(initial):
                own, bar = np.sum(bar[:, 0]), bar[:, 1:]
            return chosen(from_rows(bar, np.shape(array), axis), where), own

        return y, reduce_pullback

    def reduce_frule(
        dots, array, initial=NO_VALUE, *, axis=0, dtype=None, keepdims=False, where=True
    ):
        options = options_of(keepdims=keepdims, initial=initial, where=where)
        if selected(where) and f.identity is None:
            return None
        y = f.reduce(array, axis=axis, dtype=dtype, **options)
        array_dot, *initial_dot = [0.0 if isinstance(d, AbstractZero) else d for d in dots]
        moved = rows(chosen(array_dot + np.zeros_like(array), where), axis)
        if is_given(initial):
            moved = np.concatenate([np.full_like(first(moved), initial_dot[0]), moved], axis=-1)
        moved = prepared(array, y, axis, initial, where) * moved
        return y, fit(np.reshape(np.sum(moved, axis=-1), np.shape(y)), y)

    return reduce_rrule, reduce_frule


# ------------------------------------------------------------------------------- running results


def reversed_sums(y_bar: Any) -> Any:
    """Running sums from the end."""
    return np.cumsum(y_bar[..., ::-1], axis=-1)[..., ::-1]


def pull_accumulated(f: np.ufunc, y_bar: Any, y: Any, x: Any) -> Any:
    """Pull back through running results along the last axis."""
    if f is np.subtract:
        return signs(np.shape(x)[-1]) * reversed_sums(y_bar)
    if f is np.divide and can_divide(y, x):
        return signs(np.shape(x)[-1]) * reversed_sums(conj(y) * y_bar) / conj(x)
    p, q = partials(f, y, x)
    before = np.concatenate([np.ones_like(first(y_bar)), conj(p)], axis=-1)
    r = reversed_recurrence(before, y_bar)
    return np.concatenate([first(r), conj(q) * r[..., 1:]], axis=-1)


def push_accumulated(f: np.ufunc, x_dot: Any, y: Any, x: Any) -> Any:
    """Push forward to running results along the last axis."""
    if f is np.subtract:
        return np.subtract.accumulate(x_dot, axis=-1)
    if f is np.divide and can_divide(y, x):
        return y * np.subtract.accumulate(x_dot / x, axis=-1)
    p, q = partials(f, y, x)
    before = np.concatenate([np.ones_like(first(x_dot)), p], axis=-1)
    return recurrence(before, np.concatenate([first(x_dot), q * x_dot[..., 1:]], axis=-1))


def accumulate_rules(f: np.ufunc) -> Rules:
    """Return the rules of ``f.accumulate``."""

    def accumulate_rrule(array, *, axis=0, dtype=None):
        y = f.accumulate(array, axis=axis, dtype=dtype)

        def accumulate_pullback(y_bar):
            moved = [along_last(v, axis) for v in (y_bar, y, array)]
            return from_last(pull_accumulated(f, *moved), np.shape(array), axis)

        return y, accumulate_pullback

    def accumulate_frule(dots, array, *, axis=0, dtype=None):
        y = f.accumulate(array, axis=axis, dtype=dtype)
        moved = [along_last(v, axis) for v in (dots[0], y, array)]
        return y, fit(from_last(push_accumulated(f, *moved), np.shape(y), axis), y)

    return accumulate_rrule, accumulate_frule


class RunningTies:
    """Which elements equal a running extremum when they come, along the last axis.

    While the extremum stays the same, the elements that equal it share it: the i-th of the results
    belongs to the n_i elements that tie so far.
    """

    def __init__(self, a: Any, y: Any) -> None:
        self.shape = np.shape(a)
        self.tie = np.equal(as_chosen(y, a), y)
        same = np.equal(y[..., 1:], y[..., :-1])
        same = np.concatenate([np.zeros_like(first(self.tie)), same], axis=-1)
        # Where in the flat array an extremum begins, if nothing but what begins it ties.
        self.starts: Any = None
        if np.array_equal(self.tie, np.logical_not(same)):
            self.starts = np.flatnonzero(self.tie)
        else:
            self.same = same.astype(precision(a))
            self.n = divisor(recurrence(self.same, self.tie.astype(precision(a))), a)

    def pull(self, y_bar: Any) -> Any:
        """Hand each result's cotangent to the elements that tie."""
        if self.starts is None:
            return np.where(self.tie, reversed_recurrence(self.same, y_bar / self.n), 0)
        if len(self.starts) == 0:
            return y_bar
        sums = np.add.reduceat(np.reshape(y_bar, (-1,)), self.starts)
        return placed(sums, self.starts, self.shape)

    def push(self, a_dot: Any) -> Any:
        """Average the tangents of the elements that tie."""
        if self.starts is None:
            return recurrence(self.same, np.where(self.tie, a_dot, 0)) / self.n
        lengths = np.diff(np.append(self.starts, math.prod(self.shape)))
        dots = np.reshape(a_dot, (-1,))[self.starts]
        return np.reshape(np.repeat(dots, lengths), self.shape)


def running_extremum_rules(f: np.ufunc) -> Rules:
    """Return the rules of the running maximum or minimum."""

    def ties(array: Any, y: Any, axis: Any) -> RunningTies:
        return RunningTies(along_last(array, axis), along_last(y, axis))

    def accumulate_rrule(array, *, axis=0, dtype=None):
        y = f.accumulate(array, axis=axis, dtype=dtype)

        def accumulate_pullback(y_bar):
            bar = ties(array, y, axis).pull(along_last(y_bar, axis))
            return from_last(bar, np.shape(array), axis)

        return y, accumulate_pullback

    def accumulate_frule(dots, array, *, axis=0, dtype=None):
        y = f.accumulate(array, axis=axis, dtype=dtype)
        y_dot = ties(array, y, axis).push(along_last(dots[0], axis))
        return y, fit(from_last(y_dot, np.shape(y), axis), y)

    return accumulate_rrule, accumulate_frule
