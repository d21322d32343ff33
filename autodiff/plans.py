"""The decision for a function and the types of its arguments, remembered.

Most calls of a program are made again and again with arguments of the same types: traced arrays and
numbers of one level, plain ones and simple options. For such a call the rule, the places of the
arguments and the way the result is recorded have been found out before; what remains is to call the
rule and to add a node. All other calls take the general way of :mod:`autodiff.call`.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import call as calls
from autodiff.call import CONFIG, NO_RULE
from autodiff.tape import Node, Tape
from autodiff.tracer import FloatTracer, Tracer
from autodiff.views import note_shared
from chainrules_core import ProjectTo, frule, rrule
from chainrules_core.define import DecomposeRule, LinearRule
from chainrules_core.registry import key_of
from chainrules_core.rule import HandRule, Rule

# Plain values that hold nothing traced and that no rule needs looked at.
_SIMPLE = frozenset(
    {
        float, int, bool, complex, str, type(None), np.ndarray, np.float64, np.float32, np.int64,
        type(np._NoValue), type, np.dtype, type(Ellipsis), slice,
    }
)  # fmt: skip
_KEYED = (types.FunctionType, np.ufunc, type(np.sum), types.BuiltinFunctionType)
_INTS = (int, type(None))


class Plan:
    """What a call of a function with arguments of given types comes to.

    Attributes
    ----------
    rule : Rule
        The rule.
    places : tuple
        For each bound argument its place in the call, or -1 and a default.
    options : tuple of (str, int)
        The options that the call gives, each with its place.
    fixed : dict
        The options that it does not give.
    """

    __slots__ = ("argnums", "fixed", "options", "places", "rule", "straight")

    def __init__(
        self, rule: Rule, places: tuple, options: tuple[tuple[str, int], ...], fixed: dict
    ) -> None:
        self.rule = rule
        self.places = places
        self.options = options
        self.fixed = fixed
        self.argnums = rule.argnums if isinstance(rule, LinearRule) else None
        # Whether the bound arguments are the first ones of the call, as they stand.
        self.straight = all(place == i for i, (place, _) in enumerate(places))


class _Place:
    """Stands for an argument, to see where it goes."""

    def __init__(self, index: int) -> None:
        self.index = index


_plans: dict[tuple, Plan | None] = {}


def _forget(rule: Rule) -> None:
    _plans.clear()


rrule.watch(_forget)
frule.watch(_forget)


def planned(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call `f` as planned; `NO_RULE` where there is no plan."""
    values = (*args, *kwargs.values()) if kwargs else args
    tape: Any = None
    kinds: list[Any] = [f]
    for a in values:
        kind = type(a)
        if kind is Tracer or kind is FloatTracer:
            if tape is None:
                tape = a._tape
            elif a._tape is not tape:
                return NO_RULE
            kind = type(a._value)
            if kind not in _SIMPLE:
                return NO_RULE
        elif kind not in _SIMPLE and not (kind is tuple and all(type(e) in _INTS for e in a)):
            return NO_RULE
        kinds.append(kind)
    if tape is None or not tape.records:
        return NO_RULE
    key = (*kinds, *kwargs)
    try:
        plan = _plans[key]
    except KeyError:
        plan = _plans[key] = _made(f, values, len(args), tuple(kwargs))
    return NO_RULE if plan is None else _carried_out(plan, values, tape)


def _made(f: Callable, values: tuple, n: int, names: tuple[str, ...]) -> Plan | None:
    """Find out what a call comes to; None where it is not for a plan."""
    if type(f) not in _KEYED or key_of(f)[0] is not f:
        return None
    entry = rrule.entry(f)
    if entry is None or entry.takes_functions:
        return None
    plain = [v._value if type(v) in (Tracer, FloatTracer) else v for v in values]
    resolved = entry.resolve(tuple(plain[:n]), dict(zip(names, plain[n:], strict=True)), CONFIG)
    if resolved is None or not isinstance(resolved[0], (HandRule, LinearRule)):
        return None
    rule = resolved[0]
    stand_ins = [_Place(i) for i in range(len(values))]
    bound = rule.binder.bind(tuple(stand_ins[:n]), dict(zip(names, stand_ins[n:], strict=True)))
    if bound is None or isinstance(rule, DecomposeRule):
        return None
    places = tuple([(a.index, None) if type(a) is _Place else (-1, a) for a in bound[0]])
    options = tuple([(k, v.index) for k, v in bound[1].items() if type(v) is _Place])
    fixed = {k: v for k, v in bound[1].items() if type(v) is not _Place}
    if any(type(v) not in _SIMPLE for v in fixed.values()):
        return None
    return Plan(rule, places, options, fixed)


def _carried_out(plan: Plan, values: tuple, tape: Tape) -> Any:
    """Call the rule and record the result."""
    bound = (
        values[: len(plan.places)]
        if plan.straight
        else tuple([values[i] if i >= 0 else default for i, default in plan.places])
    )
    primals = []
    wanted = []
    parents = []
    for position, a in enumerate(bound):
        kind = type(a)
        if kind is Tracer or kind is FloatTracer:
            wanted.append(position)
            parents.append(a._index)
            a = a._value
        elif kind is np.ndarray:
            tape.hold(a)
        primals.append(a)
    options = plan.fixed
    if plan.options:
        options = {**options, **{name: values[i] for name, i in plan.options}}
        if any(type(v) is Tracer or type(v) is FloatTracer for v in options.values()):
            return NO_RULE
    rule = plan.rule
    if plan.argnums is not None and not all(i in plan.argnums for i in wanted):
        return NO_RULE
    recorded = rule.record(tuple(primals), options, tuple(wanted), CONFIG)
    if recorded is None:
        return NO_RULE
    y, pull = recorded
    kind = type(y)
    if kind is np.ndarray:
        if y.dtype.kind not in "fc":
            return calls.outputs(y, tape, rule, tuple(parents), tuple(wanted), pull)
        nodes = tape.nodes
        nodes.append(Node(tuple(parents), pull, ProjectTo(y), rule, tuple(wanted)))
        made = Tracer(y, tape, len(nodes) - 1)
        if y.base is not None or any(y is p for p in primals):
            note_shared(made, bound, lambda args: calls.call(rule.f, args, options))
        return made
    if kind is float or kind is np.float64:
        nodes = tape.nodes
        nodes.append(Node(tuple(parents), pull, ProjectTo(y), rule, tuple(wanted)))
        return FloatTracer(y, tape, len(nodes) - 1)
    result = calls.outputs(y, tape, rule, tuple(parents), tuple(wanted), pull)
    note_shared(result, bound, lambda args: calls.call(rule.f, args, options))
    return result


calls.planned = planned
