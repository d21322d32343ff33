"""Choosing between values: extrema, bounds, conditions.

Each output element is one of the arguments' elements, and that one gets the cotangent. Equal ones
share it equally. The arguments not chosen get exactly 0, whatever is in them: a 0 is put in place
of their cotangent, so that a slope of Inf behind it makes no NaN.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_core import (
    AbstractZero,
    NoTangent,
    ProjectTo,
    Tangent,
    ZeroTangent,
    decompose,
    frule,
    linear_rule,
    non_differentiable,
    rrule,
    scalar_rule,
    thunk,
    unbroadcast,
)
from chainrules_core.authoring import (
    NO_VALUE,
    expression,
    fit,
    is_foreign,
    natural,
    remainder,
    where_true,
)

UNSET: Any = object()  # an argument that the call leaves out


def as_chosen(y: Any, a: Any) -> Any:
    """Return an argument in the precision of the result, to which ``dtype=`` may round."""
    wanted, own = getattr(y, "dtype", None), getattr(a, "dtype", None)
    return a if wanted is own or wanted is None or own is None else a.astype(wanted)


def share(y: Any, a: Any, b: Any) -> Any:
    """Return ∂y/∂a: a truth value where there are no ties."""
    if type(y) is np.float64:  # in a third of the time
        return y == a and (0.5 if y == b else True)
    hit = y == as_chosen(y, a)
    tie = hit & (y == as_chosen(y, b))
    if not (np.any(tie) if is_foreign(tie) else np.count_nonzero(tie)):  # in a tenth of the time
        return hit
    return hit * (1 - 0.5 * tie)


def extrema_together(y_bar: Any, y: Any, a: Any, b: Any) -> tuple | None:
    """Both cotangents of an extremum, where no elements tie: one gets what the other does not."""
    hit, other = y == as_chosen(y, a), y == as_chosen(y, b)
    if np.count_nonzero(np.not_equal(hit, other, out=other)) < hit.size:
        return None
    a_bar = where_true(hit, y_bar)
    return a_bar, remainder(y_bar, a_bar)


# A NaN is equal to nothing: where the output is one, nothing gets a gradient.
scalar_rule(
    (np.maximum, np.minimum, np.fmax, np.fmin),
    lambda y, a, b: share(y, a, b),
    lambda y, a, b: share(y, b, a),
    together=extrema_together,
)


scalar_rule(np.heaviside, ZeroTangent(), lambda y, x1, x2: 1.0 * np.equal(x1, 0))

# With a condition alone, where(c) is nonzero(c): indices.
non_differentiable(np.where)


def where_chosen(y_bar: Any, condition: Any, x: Any, y: Any) -> Any:
    return np.where(condition, y_bar, 0)


def where_not_chosen(y_bar: Any, condition: Any, x: Any, y: Any) -> Any:
    return np.where(condition, 0, y_bar)


linear_rule(
    np.where,
    where_chosen,
    where_not_chosen,
    rows=(where_chosen, where_not_chosen),
    argnums=(1, 2),
    joint=True,
    broadcasts=True,
    types=(object, object, object),
)


def is_bound(x: Any) -> bool:
    """Whether an argument of clip is a bound: neither None nor left out."""
    return x is not None and x is not UNSET and x is not NO_VALUE


def bounds_of(given: tuple) -> tuple[Any, Any]:
    """Return the lower and the upper bound, each of which has two names."""
    low, high = (pair[0] if is_bound(pair[0]) else pair[1] for pair in (given[::2], given[1::2]))
    return (low if is_bound(low) else None), (high if is_bound(high) else None)


def clip_shares(y: Any, a: Any, low: Any, high: Any) -> Callable[[int, Any], Any]:
    """Return ``(i, t) -> t`` times ∂y/∂a, ∂y/∂low, ∂y/∂high for i = 0, 1, 2.

    Where the bounds are in the wrong order, clip returns the upper one.
    """
    values = (a, low, high)
    if not any(map(is_foreign, (y, *values))):
        once = [None if x is None else y == x for x in values]
        if comes_from_one(once):  # then the bounds are in order wherever it matters
            return lambda i, t: where_true(once[i], t)
    in_order = low is None or high is None or np.less_equal(low, high)
    if np.ndim(in_order) == 0 and in_order:
        in_order = True
    conditions = (in_order, in_order, True)
    hits: list = [None, None, None]

    def hit(i: int, x: Any) -> Any:
        if hits[i] is None:
            hits[i] = y == x if conditions[i] is True else (y == x) & conditions[i]
        return hits[i]

    def clip_share(i: int, t: Any) -> Any:
        own = hit(i, values[i])
        others = [hit(j, x) for j, x in enumerate(values) if x is not None and j != i]
        shared = functools.reduce(np.logical_or, others) if others else False
        if np.any(np.logical_and(own, shared)):
            t = t / np.maximum(1.0 * own + sum(others), 1.0)
        return where_true(own, t)

    return clip_share


def comes_from_one(hits: list) -> bool:
    """Whether each element is hit once, where something may hit it."""
    found = [np.asarray(hit).view(np.int8) for hit in hits if hit is not None]
    count = functools.reduce(np.add, found)
    return bool(np.all(count == 1))


_SMALL = 2048  # elements: fewer steps count for more than fewer passes


def strictly_inside(a: np.ndarray, low: Any, high: Any) -> np.ndarray | None:
    """Which elements of an array lie between two numbers; None if some lie on one of them.

    Examples
    --------
    >>> strictly_inside(np.array([0.5, -2.0, 1.5]), -1.0, 1.0)
    array([ True, False, False])
    """
    for bound in (low, high):
        if type(bound) is not float and type(bound) is not int:
            return None
    inside = a > low
    inside &= a < high
    on_one = a == low
    on_one |= a == high
    return inside if low < high and not np.any(on_one) else None


@rrule.register(np.clip, lists=True, shaped_by=(0, 1, 2, 3, 4))
def clip_rrule(
    a: Any, a_min: Any = UNSET, a_max: Any = UNSET, min: Any = UNSET, max: Any = UNSET
) -> Any:
    given = tuple([b for b in (a_min, a_max, min, max) if b is not UNSET])
    low, high = bounds_of((a_min, a_max, min, max))
    y = np.clip(a, low, high)

    def clip_pullback(y_bar: Any) -> Any:
        made: list = []

        def bar(i: int, x: Any) -> Any:
            def pulled() -> Any:
                if not made:  # once for all of them
                    made.append(clip_shares(y, a, low, high))
                return unbroadcast(made[0](i, y_bar), np.shape(x))

            return thunk(pulled)

        inside = None
        if type(a) is np.ndarray and a.size <= _SMALL and not (is_foreign(a) or is_foreign(y_bar)):
            inside = strictly_inside(a, low, high)
        a_bar = bar(0, a) if inside is None else where_true(inside, y_bar)
        bounds = [bar(1 + i % 2, b) if is_bound(b) else NoTangent() for i, b in enumerate(given)]
        return (a_bar, *bounds) if bounds else a_bar

    return y, clip_pullback


@frule.register(np.clip, lists=True)
def clip_frule(
    dots: tuple,
    a: Any,
    a_min: Any = UNSET,
    a_max: Any = UNSET,
    min: Any = UNSET,
    max: Any = UNSET,
) -> Any:
    given = (a_min, a_max, min, max)
    low, high = bounds_of(given)
    y = np.clip(a, low, high)
    shares = clip_shares(y, a, low, high)
    y_dot = 0 if isinstance(dots[0], AbstractZero) else shares(0, dots[0])
    for i, (bound, dot) in enumerate(zip(given, dots[1:], strict=False)):
        if is_bound(bound) and not isinstance(dot, AbstractZero):
            y_dot = y_dot + shares(1 + i % 2, dot)
    return y, fit(y_dot, y)


# Equal ones share the cotangent, where the bounds are in order.
expression(
    np.clip,
    lambda y, a, low, high: ((y == a) * (low <= high)) / (1.0 + ((y == low) + 1.0 * (y == high))),
    lambda y, a, low, high: ((y == low) * (low <= high)) / (1.0 + ((y == a) + 1.0 * (y == high))),
    lambda y, a, low, high: (
        (y == high) / (1.0 + ((y == a) + 1.0 * (y == low)) * (1.0 * (low <= high)))
    ),
)


def keep_finite(x_bar: Any, x: Any) -> Any:
    """Return `x_bar` with 0 where a part of `x` is NaN or Inf; self-adjoint."""
    if not np.iscomplexobj(x):
        return where_true(np.isfinite(x), x_bar)
    real = np.where(np.isfinite(np.real(x)), np.real(x_bar), 0)
    return real + 1j * np.where(np.isfinite(np.imag(x)), np.imag(x_bar), 0)


_HOLES: tuple[Callable, ...] = (np.isnan, np.isposinf, np.isneginf)


def where_filled(is_hole: Callable, x: Any, t: Any) -> Any:
    """Return `t` where `x` was filled, else 0; of complex numbers the sum over both parts."""
    if not np.iscomplexobj(x):
        return where_true(is_hole(x), t)
    of_real = where_true(is_hole(np.real(x)), np.real(t))
    return of_real + where_true(is_hole(np.imag(x)), np.imag(t))


def writes_into(x: Any, copy: bool) -> bool:
    """Whether ``nan_to_num`` fills the holes of its argument, which is for engines to follow."""
    return not copy and isinstance(x, np.ndarray)


@rrule.register(np.nan_to_num, shaped_by=(0, 2, 3, 4))
def nan_to_num_rrule(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    if writes_into(x, copy):
        return None
    y = np.nan_to_num(x, copy, nan, posinf, neginf)

    def nan_to_num_pullback(y_bar: Any) -> tuple:
        fills = [
            NoTangent()
            if fill is None
            else thunk(
                lambda is_hole=is_hole, fill=fill: unbroadcast(
                    where_filled(is_hole, x, y_bar), np.shape(fill)
                )
            )
            for is_hole, fill in zip(_HOLES, (nan, posinf, neginf), strict=True)
        ]
        return (keep_finite(y_bar, x), NoTangent(), *fills)

    return y, nan_to_num_pullback


@frule.register(np.nan_to_num)
def nan_to_num_frule(
    dots: Any,
    x: Any,
    copy: bool = True,
    nan: Any = 0.0,
    posinf: Any = None,
    neginf: Any = None,
) -> Any:
    if writes_into(x, copy):
        return None
    x_dot, _, *fill_dots = dots
    y_dot: Any = 0.0 if isinstance(x_dot, AbstractZero) else keep_finite(x_dot, x)
    for is_hole, fill_dot in zip(_HOLES, fill_dots, strict=True):
        if isinstance(fill_dot, AbstractZero):
            continue
        y_dot = y_dot + where_true(is_hole(np.real(x)), fill_dot)
        if np.iscomplexobj(x):
            y_dot = y_dot + 1j * where_true(is_hole(np.imag(x)), fill_dot)
    y = np.nan_to_num(x, copy, nan, posinf, neginf)
    return y, fit(y_dot, y)


def chosen(masks: list, choices: Any, y_bar: Any) -> Any:
    """Return the cotangent of each choice: `y_bar` where its mask is true."""
    parts = [
        ProjectTo(choice)(unbroadcast(where_true(mask, y_bar), np.shape(choice)))
        for mask, choice in zip(masks, choices, strict=True)
    ]
    return np.stack(parts) if isinstance(choices, np.ndarray) else Tangent[type(choices)](*parts)


def select_masks(condlist: Any) -> tuple[list, Any]:
    """Return where each condition is the first true one, and where none is."""
    masks, rest = [], True
    for condition in condlist:
        masks.append(np.logical_and(rest, condition))
        rest = np.logical_and(rest, np.logical_not(condition))
    return masks, rest


@rrule.register(np.select, shaped_by=(0, 1, 2))
def select_rrule(condlist: Any, choicelist: Any, default: Any = UNSET) -> Any:
    has_default = default is not UNSET
    y = np.select(condlist, choicelist, default if has_default else 0)

    def select_pullback(y_bar: Any) -> tuple:
        masks, rest = select_masks(condlist)
        bars = NoTangent(), chosen(masks, choicelist, y_bar)
        if not has_default:
            return bars
        return *bars, unbroadcast(np.where(rest, y_bar, 0), np.shape(default))

    return y, select_pullback


@frule.register(np.select)
def select_frule(dots: tuple, condlist: Any, choicelist: Any, default: Any = UNSET) -> Any:
    y = np.select(condlist, choicelist, 0 if default is UNSET else default)
    moved = [natural(dots[1][i], c) + np.zeros_like(c) for i, c in enumerate(choicelist)]
    return y, fit(np.select(condlist, moved, 0 if default is UNSET else dots[2]), y)


def choose_indices(a: Any, n: int, mode: Any) -> Any:
    """Return the indices that ``choose`` takes for `a`."""
    if mode == "wrap":
        return np.mod(a, n)
    return np.clip(a, 0, n - 1) if mode == "clip" else a


@rrule.register(np.choose, shaped_by=(0, 1))
def choose_rrule(a: Any, choices: Any, *, mode: Any = "raise") -> Any:
    y = np.choose(a, choices, mode=mode)

    def choose_pullback(y_bar: Any) -> tuple:
        index = choose_indices(a, len(choices), mode)
        masks = [np.equal(index, i) for i in range(len(choices))]
        return NoTangent(), chosen(masks, choices, y_bar)

    return y, choose_pullback


@frule.register(np.choose)
def choose_frule(dots: Any, a: Any, choices: Any, *, mode: Any = "raise") -> Any:
    y = np.choose(a, choices, mode=mode)
    moved = [natural(dots[1][i], c) + np.zeros_like(c) for i, c in enumerate(choices)]
    return y, fit(np.choose(a, moved, mode=mode), y)


@decompose(np.piecewise)
def piecewise_body(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Compute each piece from the elements it is for, and put it in their places."""
    x = np.asanyarray(x)
    if np.isscalar(condlist) or (np.ndim(condlist[0]) == 0 and np.ndim(x) != 0):
        condlist = [condlist]
    masks = [np.asarray(c, bool) for c in condlist]
    if len(funclist) == len(masks) + 1:
        masks.append(np.logical_not(np.any(masks, axis=0)))
    elif len(funclist) != len(masks):
        raise ValueError(
            f"with {len(masks)} condition(s), either {len(masks)} or {len(masks) + 1} functions "
            "are expected"
        )
    y = np.zeros_like(x)
    for mask, f in zip(masks, funclist, strict=True):
        if not callable(f):
            y[mask] = f
        elif np.any(mask):
            y[mask] = f(x[mask], *args, **kw)
    return y
