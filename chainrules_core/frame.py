"""What surrounds a rule, so that its author need not write it.

Thunks are forced, the function's own cotangent is filled in, the number of cotangents is checked,
and every cotangent is projected onto the tangent space of its argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrules_core.broadcasting import unbroadcast
from chainrules_core.debug import is_debug
from chainrules_core.errors import (
    CotangentError,
    ProjectionError,
    PullbackArityError,
    RuleResultError,
    TangentTypeError,
)
from chainrules_core.projection import ProjectTo
from chainrules_core.quiet import quiet
from chainrules_core.registry import key_of
from chainrules_core.tangents import AbstractZero, NoTangent, ZeroTangent, unthunk
from chainrules_core.zeros import zero_tangent

if TYPE_CHECKING:
    from chainrules_core.rule import Rule

_NO_TANGENT = NoTangent()


def checked_pair(rule: Rule, result: Any) -> tuple[Any, Any]:
    """Return a rule's result if it is a pair, else say whose it was."""
    if type(result) is not tuple or len(result) != 2:
        raise RuleResultError(rule, result)
    return result


def call_pullback(rule: Rule, pullback: Callable, n: int, y_bar: Any) -> tuple:
    """Call an author's pullback; return the cotangent of the function and of `n` arguments.

    The two forms an author may use are told apart by their number: one for the function and one
    for each argument, or the arguments alone (a bare value where there is one).
    """
    return sorted_bars(rule, pullback, n, pullback(unthunk(y_bar)))


def sorted_bars(rule: Rule, pullback: Callable, n: int, bars: Any) -> tuple:
    """Return what a pullback has returned, in either form, as one cotangent for each place."""
    if type(bars) is tuple:
        if len(bars) == n + 1:
            pass
        elif len(bars) == n:
            bars = (_NO_TANGENT, *bars)
        else:
            raise PullbackArityError(rule, pullback, n, len(bars))
    elif n == 1:
        bars = (_NO_TANGENT, bars)
    else:
        raise PullbackArityError(rule, pullback, n, 1)
    for position, bar in enumerate(bars):
        if bar is None or type(bar) in (list, dict, tuple):
            raise CotangentError(rule, position - 1, bar)
    return bars


def named_projection(rule: Rule, position: int, projector: Callable, x_bar: Any) -> Any:
    """Project a cotangent; where its shape is wrong, name the rule and the argument."""
    if getattr(rule, "broadcasts", False):
        shape = getattr(projector, "shape", None)
        if shape is not None and not isinstance(x_bar, AbstractZero):
            x_bar = unthunk(x_bar)
            if np.shape(x_bar) != shape:
                x_bar = unbroadcast(x_bar, shape)
    try:
        return projector(x_bar)
    except (ProjectionError, TangentTypeError) as error:
        raise CotangentError(rule, position, x_bar, error) from error


def full_pullback(
    rule: Rule, f: Callable, args: tuple, keywords: Iterable[str], bound: tuple, pull: Callable
) -> Callable[[Any], tuple]:
    """Return the pullback of the raw convention around a rule's own."""
    projectors = [ProjectTo(a) for a in bound]
    own = _has_own(f)
    order = call_order(rule, bound, len(args) + own, keywords)

    def wrapped_pullback(y_bar: Any) -> tuple:
        if isinstance(y_bar, AbstractZero):
            bars = tuple([ZeroTangent()] * (len(bound) + 1))
        else:
            with quiet():
                bars = pull(y_bar)
            if is_debug():
                _check_finite(rule, y_bar, bound, bars)
        projected = [
            named_projection(rule, i, projector, bar)
            for i, (projector, bar) in enumerate(zip(projectors, bars[1:], strict=True))
        ]
        placed = [_NO_TANGENT if i is None else projected[i] for i in order]
        return tuple(placed) if own else (bars[0], *placed)

    name = getattr(getattr(pull, "pullback", pull), "__name__", "pullback")
    wrapped_pullback.__name__ = wrapped_pullback.__qualname__ = (
        name if name != "pull" else f"{getattr(rule.f, '__name__', 'f')}_pullback"
    )
    return wrapped_pullback


def _has_own(f: Callable) -> bool:
    return bool(key_of(f)[1])


def call_order(
    rule: Rule, bound: tuple, given: int, keywords: Iterable[str] = ()
) -> list[int | None]:
    """Return, for each argument that has a cotangent, its place among the bound ones.

    These are the positional arguments of the call (None stands for one passed as an option), and
    what is differentiated and was passed by keyword.
    """
    order = rule.binder.places(given, keywords)
    return order[:given] + [i for i in order[given:] if i is not None and rule.differentiates(i)]


def split_dots(rule: Rule, f: Callable, dots: tuple, args: tuple, bound: tuple) -> tuple:
    """Bring the tangents of the raw convention into the order of the bound arguments."""
    if len(dots) != len(args) + 1:
        raise TypeError(
            f"frule of {rule.name} was given {len(dots)} tangents for {len(args)} arguments: it "
            "takes one for the function itself and one for each positional argument, "
            "frule((NoTangent(), x_dot), f, x)."
        )
    own = _has_own(f)
    given = dots if own else dots[1:]
    sorted_dots: list[Any] = [ZeroTangent()] * len(bound)
    for place, dot in zip(rule.binder.places(len(given)), given, strict=True):
        if place is not None:
            sorted_dots[place] = unthunk(dot)
    return tuple(sorted_dots)


def materialised(dot: Any, primal: Any) -> Any:
    """Return a tangent that hand-written rules can compute with: zeros made concrete."""
    if isinstance(dot, AbstractZero) and not isinstance(dot, NoTangent):
        return zero_tangent(primal)
    return dot


def _check_finite(rule: Rule, y_bar: Any, bound: tuple, bars: tuple) -> None:
    """In debug mode: a NaN out of no NaN is reported with the rule's name."""
    values = [v for v in (y_bar, *bound) if isinstance(v, (float, complex, np.ndarray, np.inexact))]
    if any(np.isnan(v).any() for v in values if np.asarray(v).dtype.kind in "fc"):
        return
    for position, bar in enumerate(bars[1:]):
        bar = unthunk(bar)
        if isinstance(bar, (float, complex, np.ndarray, np.inexact)) and np.isnan(bar).any():
            raise CotangentError(rule, position, bar, "it is NaN, but no argument or seed is")
