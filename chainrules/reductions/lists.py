"""Nested lists where NumPy takes an array: rules that see arrays alone.

Functions of several arrays are often called with a list in one place (``weights=[1, 2, 1]``). The
decorators here make arrays of the lists before a rule sees them, and give the cotangent of a list
the form of a list.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from chainrules.reductions.axes import NUMERIC, array_of
from chainrules_core import ProjectTo
from chainrules_core.define.linear import natural

ARRAY_LIKE = (*NUMERIC, list, tuple)
"""An array, a number, or nested lists of them."""


def _is_list(x: Any) -> bool:
    return isinstance(x, (list, tuple))


def rrule_on_arrays(rule: Callable) -> Callable:
    """Decorate an rrule written for arrays so that it takes lists as well."""

    @functools.wraps(rule)
    def rule_on_arrays(*args: Any, **options: Any) -> Any:
        if not any(map(_is_list, args)):
            return rule(*args, **options)
        recorded = rule(*map(array_of, args), **options)
        if recorded is None:
            return None
        y, pullback = recorded
        spaces = [ProjectTo(a) if _is_list(a) else None for a in args]

        @functools.wraps(pullback)
        def pullback_to_lists(y_bar: Any) -> tuple:
            bars = pullback(y_bar)
            bars = bars if type(bars) is tuple else (bars,)
            return tuple([s(b) if s else b for s, b in zip(spaces, bars, strict=True)])

        return y, pullback_to_lists

    rule_on_arrays.without_lists = rule  # type: ignore[attr-defined] # for engines that know
    return rule_on_arrays


def frule_on_arrays(rule: Callable) -> Callable:
    """Decorate an frule written for arrays so that it takes lists as well."""

    @functools.wraps(rule)
    def rule_on_arrays(dots: tuple, *args: Any, **options: Any) -> Any:
        if not any(map(_is_list, args)):
            return rule(dots, *args, **options)
        dots = tuple(
            [array_of(natural(d, a)) if _is_list(a) else d for d, a in zip(dots, args, strict=True)]
        )
        return rule(dots, *map(array_of, args), **options)

    return rule_on_arrays
