"""Functions that call a function: ``map``, ``functools.reduce``, ``itertools.accumulate``.

They call back into the engine for each call of the function; what the function has captured adds
up. An engine that sees calls inside of functions, as the one in ``autodiff`` does, has no need of
these rules. Where Python returns an iterator the value is a list: a cotangent needs something to
belong to.

For y_k = f(y_{k-1}, x_k), going backward: (f̄, ȳ_{k-1}, x̄_k) = pullback_k(ȳ_k).
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable
from typing import Any

from chainrules_core import (
    AbstractZero,
    HasForwardMode,
    HasReverseMode,
    NoTangent,
    RuleConfig,
    Tangent,
    ZeroTangent,
    add,
    frule,
    frule_via_ad,
    rrule,
    rrule_via_ad,
    unthunk,
)

_NONE: Any = object()
Sequence = (list, tuple)


def part(bar: Any, i: int) -> Any:
    """Return the part of a (co)tangent of a list; all those of a zero are zero."""
    bar = unthunk(bar)
    return ZeroTangent() if isinstance(bar, AbstractZero) else bar[i]


def folded(config: RuleConfig, f: Callable, xs: Iterable, start: Any) -> tuple[list, list]:
    """Return the running values of a fold, the first included, and the pullbacks of its steps."""
    values, pulls = [start], []
    for x in xs:
        y, pull = rrule_via_ad(config, f, values[-1], x)
        values.append(y)
        pulls.append(pull)
    return values, pulls


def pulled(pulls: list, bars: list) -> tuple[Any, Any, list]:
    """Pull the cotangents of the running values back: to f, to the first and to the elements."""
    f_bar: Any = NoTangent()
    x_bars: list[Any] = []
    y_bar = bars[-1]
    for pull, before in zip(reversed(pulls), reversed(bars[:-1]), strict=True):
        of_f, y_bar, x_bar = pull(unthunk(y_bar))
        f_bar = add(f_bar, of_f)
        y_bar = add(before, y_bar)
        x_bars.append(x_bar)
    return f_bar, y_bar, x_bars[::-1]


def pushed(
    config: RuleConfig, f: Callable, f_dot: Any, xs: Iterable, dots: Iterable, y: Any, y_dot: Any
) -> tuple[list, list]:
    """Return the running values of a fold and their tangents, the first included."""
    values, tangents = [y], [y_dot]
    for x, x_dot in zip(xs, dots, strict=True):
        y, y_dot = frule_via_ad(config, (f_dot, tangents[-1], x_dot), f, values[-1], x)
        values.append(y)
        tangents.append(y_dot)
    return values, tangents


@rrule.register(functools.reduce, Callable, Sequence, requires={HasReverseMode})
def reduce_rrule(config: RuleConfig, f: Callable, xs: Any, initial: Any = _NONE) -> Any:
    given = initial is not _NONE
    elements = xs if given else xs[1:]
    values, pulls = folded(config, f, elements, initial if given else xs[0])

    def reduce_pullback(y_bar: Any) -> Any:
        bars = [ZeroTangent()] * len(pulls) + [y_bar]
        f_bar, first, rest = pulled(pulls, bars)
        if given:
            return f_bar, Tangent[type(xs)](*rest), first
        return f_bar, Tangent[type(xs)](first, *rest), NoTangent()

    return values[-1], reduce_pullback


@frule.register(functools.reduce, Callable, Sequence, requires={HasForwardMode})
def reduce_frule(
    config: RuleConfig, dots: tuple, f: Callable, xs: Any, initial: Any = _NONE
) -> Any:
    f_dot, xs_dot, start_dot = dots
    of_xs = [part(xs_dot, i) for i in range(len(xs))]
    if initial is _NONE:
        values, tangents = pushed(config, f, f_dot, xs[1:], of_xs[1:], xs[0], of_xs[0])
    else:
        values, tangents = pushed(config, f, f_dot, xs, of_xs, initial, start_dot)
    return values[-1], tangents[-1]


@rrule.register(itertools.accumulate, Sequence, Callable, requires={HasReverseMode})
def accumulate_rrule(config: RuleConfig, xs: Any, func: Callable = operator.add) -> Any:
    values, pulls = folded(config, func, xs[1:], xs[0])

    def accumulate_pullback(y_bar: Any) -> Any:
        bars = [part(y_bar, i) for i in range(len(values))]
        f_bar, first, rest = pulled(pulls, bars)
        return Tangent[type(xs)](first, *rest), f_bar

    return values, accumulate_pullback


@frule.register(itertools.accumulate, Sequence, Callable, requires={HasForwardMode})
def accumulate_frule(
    config: RuleConfig, dots: tuple, xs: Any, func: Callable = operator.add
) -> Any:
    xs_dot, f_dot = dots
    of_xs = [part(xs_dot, i) for i in range(len(xs))]
    values, tangents = pushed(config, func, f_dot, xs[1:], of_xs[1:], xs[0], of_xs[0])
    return values, Tangent[list](*tangents)


@rrule.register(map, Callable, Sequence, requires={HasReverseMode})
def map_rrule(config: RuleConfig, f: Callable, xs: Any) -> Any:
    pairs = [rrule_via_ad(config, f, x) for x in xs]

    def map_pullback(y_bar: Any) -> Any:
        f_bar: Any = NoTangent()
        bars = []
        for i, (_, pull) in enumerate(pairs):
            of_f, x_bar = pull(unthunk(part(y_bar, i)))
            f_bar = add(f_bar, of_f)
            bars.append(x_bar)
        return f_bar, Tangent[type(xs)](*bars)

    return [y for y, _ in pairs], map_pullback


@frule.register(map, Callable, Sequence, requires={HasForwardMode})
def map_frule(config: RuleConfig, dots: tuple, f: Callable, xs: Any) -> Any:
    f_dot, xs_dot = dots
    pairs = [frule_via_ad(config, (f_dot, part(xs_dot, i)), f, x) for i, x in enumerate(xs)]
    return [y for y, _ in pairs], Tangent[list](*[y_dot for _, y_dot in pairs])
