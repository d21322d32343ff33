"""What is called for a function and the types of its arguments, where that is known.

A table in front of all others: see :mod:`autodiff.plan_source`, which writes what stands in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_core import frule, rrule
from chainrules_core.rule import Rule

_ways: dict[Callable, dict[Any, Callable]] = {}


def ways_of(f: Callable) -> dict[Any, Callable]:
    """Return what is known of a function: types of arguments and names of keywords → the code.

    It stays the same dict, which is emptied when a rule changes. Of a single argument the type
    stands for itself, two or more are a tuple.
    """
    known = _ways.get(f)
    if known is None:
        known = _ways[f] = {}
    return known


known_of = _ways.get
"""The same, or None: for functions that are not to be kept alive."""


def find(known: dict[Any, Callable], args: tuple, kwargs: dict[str, Any]) -> Callable | None:
    """Return what is called for arguments like these."""
    if kwargs:
        return known.get((*map(type, args), *kwargs))
    if len(args) == 1:
        return known.get(type(args[0]))
    if len(args) == 2:
        return known.get((type(args[0]), type(args[1])))
    return known.get(tuple(map(type, args)))


def add(f: Callable, args: tuple, kwargs: dict[str, Any], way: Callable) -> None:
    """Have `way` called for arguments like these, if nothing is yet."""
    key = type(args[0]) if len(args) == 1 and not kwargs else (*map(type, args), *kwargs)
    ways_of(f).setdefault(key, way)


def _forget(rule: Rule) -> None:
    for known in _ways.values():
        known.clear()


rrule.watch(_forget)
frule.watch(_forget)
