"""Fast path for arrays made from lists of traced floats: record one node.

The general path projects each element of the cotangent, which costs a hundred times as much as
reading it. Here, the sweep propagates the elements directly. The rule of the function has to
declare that it keeps the elements in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.fastpath.elementwise import NOT_HERE
from autodiff.trace.tape import FLOAT, FLOAT64, Cotangents
from autodiff.trace.tracer import FloatTracer, Tracer
from chainrules_core import ProjectTo, rrule
from chainrules_core.rule import Rule

_ndarray = np.ndarray
_SEQUENCES = frozenset({list, tuple})
_FLOATS = frozenset({FloatTracer})
_NUMBERS = frozenset({FloatTracer, float, int, bool, np.float64})

_rules: dict[tuple[Callable, type], Rule | None] = caches.register(
    "rules for lists", {}, of_rules=True
)
_of_arrays: dict[Callable, bool] = caches.register("functions of lists", {}, of_rules=True)


def _rule(f: Callable, kind: type) -> Rule | None:
    """Return the rule of `f` for a list or tuple, if it keeps the elements in their order."""
    key = f, kind
    if key not in _rules:
        entry = rrule.entry(f)
        rule = None if entry is None else entry.find((kind,))
        function = getattr(rule, "function", None)
        _rules[key] = rule if getattr(function, "puts_together", False) else None
    return _rules[key]


def takes_lists_as_arrays(f: Callable) -> bool:
    """Whether all rules of `f` are for arrays and treat lists as arrays."""
    known = _of_arrays.get(f)
    if known is None:
        entry = rrule.entry(f)
        functions = [getattr(r, "function", None) for r in entry.rules] if entry else []
        known = bool(functions) and all(hasattr(g, "without_lists") for g in functions)
        _of_arrays[f] = known
    return known


def as_traced_array(x: Any) -> Any:
    """Return a list of traced floats as a traced array, if possible; anything else unchanged."""
    if type(x) not in _SEQUENCES:
        return x
    made = gathered(np.array, x, {})
    return x if made is NOT_HERE else made


class GatheredNode:
    """The node of an array made from floats, some of them traced.

    Attributes
    ----------
    parents : list of int
        The places of the traced floats on the tape.
    elements : sequence of int
        Their flat indices in the array.
    """

    __slots__ = ("elements", "parents", "rule", "space")

    positions = (0,)

    def __init__(self, parents: list, elements: Any, space: Any, rule: Rule) -> None:
        self.parents = parents
        self.elements = elements
        self.space = space
        self.rule = rule

    def hand_on(self, y_bar: Any, bars: Cotangents, strong: bool) -> None:
        """Propagate each element's cotangent to its traced float."""
        if type(y_bar) is not _ndarray:  # traced on an outer level
            flat = y_bar.reshape(-1)
            for i, j in zip(self.elements, self.parents, strict=True):
                bars.put(j, flat[i], False)
            return
        flat = y_bar.reshape(-1)
        if len(self.parents) != flat.size:
            flat = flat[self.elements]
        nodes, values = bars.nodes, bars.values
        for j, bar in zip(self.parents, flat.tolist(), strict=True):
            target = nodes[j]
            if type(target) is tuple or target.space is FLOAT:
                before = values[j]
                values[j] = bar if before is None else before + bar
            else:
                bars.put(j, bar, False)


def gathered(f: Callable, x: Any, options: dict[str, Any]) -> Any:
    """Make an array from nested lists of floats, some traced; return `NOT_HERE` if impossible.

    Parameters
    ----------
    f : callable
        Makes arrays from lists.
    x : list or tuple
        The numbers.
    options : dict
        Other arguments of `f`, by name.
    """
    flat = x
    shape: tuple[int, ...] = (len(x),)
    while flat and type(flat[0]) in _SEQUENCES:
        n = len(flat[0])
        if not (_SEQUENCES.issuperset(map(type, flat)) and {n}.issuperset(map(len, flat))):
            return NOT_HERE
        flat = [element for part in flat for element in part]
        shape = (*shape, n)
    kinds = set(map(type, flat))
    if FloatTracer not in kinds or not _NUMBERS.issuperset(kinds):
        return NOT_HERE
    elements: Any
    if kinds == _FLOATS:
        elements, traced = range(len(flat)), flat
        values = [a._value for a in flat]
    else:
        elements = [i for i, a in enumerate(flat) if type(a) is FloatTracer]
        traced = [flat[i] for i in elements]
        values = [a._value if type(a) is FloatTracer else a for a in flat]
    tape = traced[0]._tape
    if not tape.records or len({id(a._tape) for a in traced}) > 1:
        return NOT_HERE
    rule = _rule(f, type(x))
    if rule is None:
        return NOT_HERE
    y = f(values, **options)
    if type(y) is not _ndarray or y.dtype is not FLOAT64 or y.shape != (len(values),):
        return NOT_HERE
    if len(shape) > 1:
        y = y.reshape(shape).copy()  # owns its memory, as the array that NumPy would make
    parents = [a._index for a in traced]
    return Tracer(y, tape, tape.add(GatheredNode(parents, elements, ProjectTo(y), rule)))
