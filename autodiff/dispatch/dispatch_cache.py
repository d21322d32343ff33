"""The generated code for a function and the types of its arguments: the first table of a call.

:mod:`autodiff.fastpath.codegen.plan_code` and
:mod:`autodiff.fastpath.codegen.frequent_operations` fill it.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from autodiff import caches
from chainrules_core import frule, rrule
from chainrules_core.interpreter.places import MADE_HERE
from chainrules_core.rule import Rule

OFTEN = 16
"""Calls of one kind after which code is generated, which takes as long as 200 calls."""
_LONGEST = 16  # arguments: calls with more are not cached, since there may be any number of kinds

ADD_NODE = """\
    nodes = tape.nodes
    place = len(nodes)
    nodes.append(node)
    if nodes[place] is not node:
        place = place_of(node, nodes)
"""
"""The text that records a node, and finds its place."""

NEW_TRACER = """\
    made = new(Tracer)
    made._value = y
    made._tape = tape
    made._index = place
    made._origin = made._views = None
"""
"""Written code's ``made = Tracer(y, tape, place)``, in two thirds of the time of a call."""


@functools.lru_cache(maxsize=1024)
def _compiled(source: str) -> types.CodeType:
    return compile(source, f"{MADE_HERE}call of a function>", "exec")


def define(name: str, source: str, scope: dict[str, Any]) -> Any:
    """Execute source code and return what it defines; equal source is compiled once."""
    exec(_compiled(source), scope)
    return scope[name]


def define_later(name: str, scope: dict[str, Any], write: Callable[[], Callable]) -> None:
    """Put a function into a scope that is generated at its first call."""

    def call(*args: Any, **kwargs: Any) -> Any:
        scope[name] = written = write()
        return written(*args, **kwargs)

    scope[name] = call


_ways: dict[Callable, dict[Any, Callable]] = caches.register("dispatch", {})
# Of functions that have no rule any more: callers may hold the dict, nothing here the function.
_without_rules: WeakKeyDictionary[Callable, dict[Any, Callable]]
_without_rules = caches.register("dispatch without rules", WeakKeyDictionary())


def ways_of(f: Callable) -> dict[Any, Callable]:
    """Return the table of a function: types of arguments and names of keywords → the code.

    It stays the same dict, which is emptied when a rule changes. Of a single argument the type
    stands for itself, two or more are a tuple.
    """
    known = _ways.get(f)
    if known is None:
        known = _ways[f] = _kept_for(f)
    return known


def _kept_for(f: Callable) -> dict[Any, Callable]:
    try:
        return _without_rules.pop(f, {})
    except TypeError:  # made in C, without weak references
        return {}


known_of = _ways.get
"""The table or None; a lookup does not keep the function alive."""


def find(known: dict[Any, Callable], args: tuple, kwargs: dict[str, Any]) -> Callable | None:
    """Return the code for arguments like these, or None."""
    if kwargs:
        return known.get((*map(type, args), *kwargs))
    if len(args) == 1:
        return known.get(type(args[0]))
    if len(args) == 2:
        return known.get((type(args[0]), type(args[1])))
    return known.get(tuple(map(type, args)))


def is_short(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether a call has few enough arguments to be cached."""
    return len(args) + len(kwargs) <= _LONGEST


def add(f: Callable, args: tuple, kwargs: dict[str, Any], way: Callable) -> None:
    """Register `way` for arguments like these, unless there is code for them."""
    if not is_short(args, kwargs):
        return
    key = type(args[0]) if len(args) == 1 and not kwargs else (*map(type, args), *kwargs)
    ways_of(f).setdefault(key, way)


def _forget(rule: Rule) -> None:
    for known in list(_ways.values()):
        known.clear()
    f = rule.f
    if f in _ways and rrule.entry(f) is None and frule.entry(f) is None:
        try:
            _without_rules[f] = _ways[f]
        except TypeError:  # it is one of a module made in C, and stays
            return
        del _ways[f]


caches.on_rule_change(_forget)
