"""Nested lists where NumPy takes an array: rules that see arrays alone.

Functions of arrays are often called with lists, ``np.dot([1.0, 2.0], x)``. A rule registered with
``lists=True`` gets arrays in their place, and the frame gives the cotangent of a list the form of a
list.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_core.operations.broadcasting import unbroadcast
from chainrules_core.operations.zeros import zero_tangent
from chainrules_core.projection.project_to import ProjectTo
from chainrules_core.tangents import (
    AbstractThunk,
    AbstractZero,
    NotImplementedTangent,
    Tangent,
    ZeroTangent,
    thunk,
    unthunk,
)

LIST = (list, tuple)
"""What stands for an array."""


def is_list(x: Any) -> bool:
    """Whether an argument is a list or tuple."""
    return isinstance(x, LIST)


def array_of(x: Any) -> Any:
    """Return a list or tuple as an array, made by operations that have rules.

    Anything else is returned as it is.

    Examples
    --------
    >>> array_of([1.0, 2.0])
    array([1., 2.])
    """
    if not is_list(x):
        return x
    if _is_plain(x):
        return np.array(x)
    return np.stack([array_of(part) for part in x])


def _is_plain(x: Any) -> bool:
    """Whether nothing in a list is of a kind that NumPy's constructors do not know."""
    if type(x) in LIST:
        return all(map(_is_plain, x))
    kind = type(x)  # not __class__, for which a traced value gives that of its value
    return kind in (int, float, complex, bool, np.ndarray) or issubclass(kind, np.generic)


def natural(dot: Any, primal: Any) -> Any:
    """Return a tangent in the form that `primal` has, for functions to be applied to.

    A ``Tangent`` of a list becomes a list; zeros become concrete.
    """
    if is_list(primal):
        parts = (
            [natural(dot[i], p) for i, p in enumerate(primal)]
            if isinstance(dot, Tangent)
            else [natural(ZeroTangent(), p) for p in primal]
        )
        return type(primal)(parts) if type(primal) in LIST else parts
    if isinstance(dot, AbstractZero):
        zero = zero_tangent(primal)
        return zero if not isinstance(zero, AbstractZero) else 0 * primal
    return dot


def tangent_as_array(dot: Any, primal: Any) -> Any:
    """Return the tangent of a list as that of an array; any other unchanged."""
    return array_of(natural(unthunk(dot), primal)) if is_list(primal) else dot


def to_list(x: Any, array: Any) -> Callable[[Any], Any] | None:
    """Return what makes the cotangent of a list `x` of that of its `array`; None for no list."""
    if not is_list(x):
        return None
    shape = array.shape if type(array) is np.ndarray else np.shape(array)
    return functools.partial(_in_form_of_list, ProjectTo(x), shape)


def _in_form_of_list(space: Any, shape: tuple[int, ...], x_bar: Any) -> Any:
    if type(x_bar) is np.ndarray and x_bar.shape == shape:
        return space(x_bar)
    if isinstance(x_bar, AbstractThunk):  # the cotangent of a constant is never computed
        return thunk(lambda: _in_form_of_list(space, shape, unthunk(x_bar)))
    if not isinstance(x_bar, (AbstractZero, NotImplementedTangent)):
        x_bar = unbroadcast(x_bar, shape)
    return space(x_bar)


def in_lists(bars: Any, back: list[Callable[[Any], Any] | None]) -> Any:
    """Give what a pullback has returned the form of the arguments.

    `back` holds for each argument what `to_list` has returned. Another number of cotangents than
    that of the arguments (and one for the function itself) is the frame's to refuse.
    """
    bars = bars if type(bars) is tuple else (bars,)
    own = len(bars) - len(back)
    if own not in (0, 1):
        return bars
    pairs = zip(back, bars[own:], strict=True)
    return (*bars[:own], *[to(bar) if to else bar for to, bar in pairs])


def widened(types: tuple) -> tuple:
    """Return the types of a rule for arrays with lists added to each.

    Examples
    --------
    >>> widened((np.ndarray, (int, float)))
    ((<class 'numpy.ndarray'>, <class 'list'>, <class 'tuple'>), \
(<class 'int'>, <class 'float'>, <class 'list'>, <class 'tuple'>))
    """
    return tuple([_with_lists(t) for t in types])


def _with_lists(t: Any) -> Any:
    if isinstance(t, list):  # any number of arguments
        return [*t, *LIST]
    return (*(t if isinstance(t, tuple) else (t,)), *LIST)


def rrule_on_arrays(rule: Callable, leading: int = 0) -> Callable:
    """Let an rrule written for arrays take lists; `leading` parameters are no arguments."""

    def rule_on_arrays(*args: Any, **options: Any) -> Any:
        if not any(map(is_list, args)):
            return rule(*args, **options)
        arrays = [array_of(a) for a in args]
        recorded = rule(*arrays, **options)
        if type(recorded) is not tuple:
            return recorded  # None, or an error
        back = [to_list(x, array) for x, array in zip(args, arrays, strict=True)][leading:]
        *before, pullback = recorded

        def pullback_to_lists(y_bar: Any) -> Any:
            return in_lists(pullback(y_bar), back)

        pullback_to_lists.__name__ = pullback.__name__
        return (*before, pullback_to_lists)

    return _for_lists(rule_on_arrays, rule)


def frule_on_arrays(rule: Callable, leading: int = 0) -> Callable:
    """Let an frule written for arrays take lists; `leading` parameters come before the tangents."""

    def rule_on_arrays(*args: Any, **options: Any) -> Any:
        dots, *given = args[leading:]
        if not any(map(is_list, given)):
            return rule(*args, **options)
        dots = tuple([tangent_as_array(d, a) for d, a in zip(dots, given, strict=True)])
        return rule(*args[:leading], dots, *map(array_of, given), **options)

    return _for_lists(rule_on_arrays, rule)


def _for_lists(rule_on_arrays: Callable, rule: Callable) -> Callable:
    """Note what a function was made of; engines may call that where no argument is a list."""
    rule_on_arrays.__wrapped__ = rule  # type: ignore[attr-defined] # has the signature
    rule_on_arrays.without_lists = rule  # type: ignore[attr-defined]
    rule_on_arrays.__name__ = getattr(rule, "__name__", "rule")
    return rule_on_arrays
