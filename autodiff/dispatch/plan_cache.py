"""Cached decisions for a function and the types of its arguments: plans.

Most calls of a program are repeated with arguments of the same types: traced arrays and numbers,
plain ones and simple options. For such a call the rule, the order of the arguments and the way of
recording are found once; a repeated call only computes the primal and adds a node. All other calls
take the general path of :mod:`autodiff.dispatch.call`.

The key of a plan is the function, the type of each argument, whether it is traced on the innermost
level, and the names of the keywords. All plans are dropped when a rule changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.dispatch import call as calls, dispatch_cache
from autodiff.dispatch.arguments import as_it_is, place_of_out
from autodiff.dispatch.call import CONFIG, NO_RULE
from autodiff.dispatch.jvp_plans import ForwardOfLinear, ForwardPlan
from autodiff.dispatch.plan_types import (
    KEYED,
    SIMPLE,
    OfBody,
    OfConstant,
    OfHand,
    OfLinear,
    Plan,
    bound_call,
)
from autodiff.dispatch.sequence_plans import planned_with_list
from autodiff.fastpath.codegen.plan_code import IN_TUPLES, write
from autodiff.trace.checks.decisions import ASKING
from autodiff.trace.tape import CONSTANT, Forward, Tape
from autodiff.trace.tracer import TRACERS, FloatTracer, Tracer, bare
from chainrules_core import frule, rrule
from chainrules_core.define import DecomposeRule, LinearRule, ScalarRule
from chainrules_core.registry.entries import key_of
from chainrules_core.rule import HandRule

_ndarray = np.ndarray
_OBJECTS = np.dtype(object)  # its elements may be numbers: the general way looks
_KINDS: tuple[tuple[type, type], ...] = (
    (LinearRule, OfLinear),
    (HandRule, OfHand),
    (ScalarRule, Plan),
)

_NESTS = frozenset({tuple, list})
_IN_NESTS = IN_TUPLES | {float, bool, str}

_plans: dict[tuple, Any] = caches.register("plans", {}, of_rules=True)
_forward_plans: dict[tuple, Any] = caches.register("forward plans", {}, of_rules=True)


def planned(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call `f` by its plan; `NO_RULE` where there is none."""
    try:
        known = dispatch_cache.known_of(f)
    except TypeError:  # a function that cannot be hashed
        return NO_RULE
    way = dispatch_cache.find(known, args, kwargs) if known else None
    if way is not None:
        result = NO_RULE if way is f else way(*args, **kwargs)  # itself for plain values alone
        if result is not NO_RULE:
            return result
    if args and type(args[0]) in _NESTS and _is_nest(args[0]):
        return planned_with_list(f, args, kwargs)
    values = (*args, *kwargs.values()) if kwargs else args
    tape = _innermost(values)
    stripped = None if tape is None else _stripped(values, tape)
    if tape is None or stripped is None:
        return NO_RULE
    kinds, plain, nests, nested, is_of_one_tape = stripped
    plans = _plans if tape.records else _forward_plans
    key = (f, nested, *kinds, *kwargs)
    try:
        plan = plans[key]
    except KeyError:
        plan = _remembered(plans, key, f, values, len(args), tuple(kwargs), tape)
    if plan is None:
        return NO_RULE
    kind = type(plan)
    if kind is OfBody:
        return calls.body_of(plan.body)(*args, **kwargs)
    if _ndarray in kinds and kind is not OfConstant and not _keep_arrays(values, plain, tape):
        return NO_RULE
    given = tuple([nests.get(i, a) for i, a in enumerate(values)]) if nests else values
    result = plan.run(given, plain, tape, nested)
    over_levels = kind is ForwardOfLinear or (nested and kind is OfLinear)
    if over_levels or (is_of_one_tape and not nests):
        plan.runs += 1
        if plan.runs == dispatch_cache.OFTEN and result is not NO_RULE:
            if over_levels:
                _write_for_levels(plan, f, args, kwargs, values, tape, result)
            elif way is None:
                write(plan, f, args, kwargs, result)
    return result


def _is_nest(x: Any) -> bool:
    """Whether `x` is a list, or a tuple with more in it than an index or a shape has."""
    kind = type(x)
    return kind is list or (kind is tuple and not IN_TUPLES.issuperset(map(type, x)))


def _innermost(values: tuple) -> Tape | None:
    """Return the innermost tape or forward level of the values; None if that is neither."""
    tape: Any = None
    for a in values:
        kind = type(a)
        if (kind is Tracer or kind is FloatTracer) and (
            tape is None or a._tape.serial > tape.serial
        ):
            tape = a._tape
    return tape if tape is not None and (tape.records or type(tape) is Forward) else None


def _stripped(values: tuple, tape: Tape) -> tuple[list, list, dict[int, Any], bool, bool] | None:
    """Return the arguments of a call without the innermost level; None where they are not simple.

    Returns
    -------
    kinds : list
        The types of the values beneath; of traced ones first whether they are of that level.
    plain : list
        The values without that level.
    nests : dict
        Place → a copy of a pytree of options.
    nested : bool
        Whether values traced on outer levels remain.
    is_of_one_tape : bool
        Whether all that is traced is so on one tape alone.
    """
    kinds: list[Any] = []
    plain: list[Any] = []
    nests: dict[int, Any] = {}
    nested = False
    is_of_one_tape = tape.records
    for a in values:
        kind = type(a)
        if kind is Tracer or kind is FloatTracer:
            here = a._tape
            kinds.append(here is tape)
            if here is tape:
                a = a._value
            else:
                is_of_one_tape = False
                a = a._value if here is CONSTANT else as_it_is(a)
            kind = type(a)
            if kind is Tracer or kind is FloatTracer:
                nested = True
                if a._tape.program:
                    return None
                kind = a.__class__
        elif kind in _NESTS and _is_nest(a):
            a = nest_of_options(a)
            if a is None:
                return None
            nests[len(plain)] = a
        if kind not in SIMPLE and kind not in _NESTS:
            return None
        kinds.append(kind)
        plain.append(a)
    is_of_one_tape = is_of_one_tape and not nested
    return (kinds, plain, nests, nested, is_of_one_tape) if is_of_one_tape or not nests else None


def _keep_arrays(values: tuple, plain: list, tape: Tape) -> bool:
    """Replace plain arrays by what a pullback may keep; return False for arrays of objects."""
    for i, a in enumerate(values):
        if type(a) is _ndarray:
            if a.dtype is _OBJECTS:
                return False
            plain[i] = tape.kept(a)
    return True


def nest_of_options(x: Any) -> Any:
    """Return a copy of nested tuples and lists of simple options; None if they hold anything else.

    A pullback may keep it, and a list may be changed.
    """
    parts: list[Any] = []
    for part in x:
        kind = type(part)
        if kind in _NESTS:
            part = nest_of_options(part)
            if part is None:
                return None
        elif kind not in _IN_NESTS:
            return None
        parts.append(part)
    return parts if type(x) is list else tuple(parts)


def _write_for_levels(
    plan: Any, f: Callable, args: tuple, kwargs: dict, values: tuple, tape: Tape, result: Any
) -> None:
    """Generate code for calls of a linear function like this one, if there is none yet."""
    if [i for i, a in enumerate(values) if type(a) in TRACERS] != [*plan.sources]:
        return
    if type(bare(result)) not in (_ndarray, np.float64) or dispatch_cache.find(
        dispatch_cache.ways_of(f), args, kwargs
    ):
        return
    if tape.forward:
        plan = _made(f, values, len(args), tuple(kwargs), tape, forward=False)
    if type(plan) is OfLinear:
        write(plan, f, args, kwargs, result)


def _remembered(
    plans: dict, key: tuple, f: Callable, values: tuple, n: int, names: tuple, tape: Tape
) -> Any:
    """Make the plan of a call and cache it; functions without rules are not kept alive."""
    plan = _made(f, values, n, names, tape, tape.forward)
    if plan is not None or rrule.entry(f) is not None or frule.entry(f) is not None:
        plans[key] = plan
    return plan


def _writes(f: Any, n: int) -> bool:
    """Whether a call with `n` positional arguments gives an array to be written into."""
    return n > place_of_out(f)[0]


def _made(
    f: Callable, values: tuple, n: int, names: tuple[str, ...], tape: Tape, forward: bool
) -> Any:
    """Make the plan of a call; None where plans do not apply."""
    if type(f) not in KEYED or key_of(f)[0] is not f:
        return None
    table = frule if forward else rrule
    entry = table.entry(f)
    if entry is None or entry.takes_functions or "out" in names:  # no rule writes into an array
        return None
    plain = [v._value if type(v) in (Tracer, FloatTracer) else v for v in values]
    resolved = entry.resolve(tuple(plain[:n]), dict(zip(names, plain[n:], strict=True)), CONFIG)
    if resolved is None:
        return None
    rule = resolved[0]
    if rule.kind == "non_differentiable":
        return None if _writes(f, n) or f in ASKING else OfConstant(rule.f, n, names)
    traced = {i for i, v in enumerate(values) if type(v) in (Tracer, FloatTracer)}
    call = bound_call(rule, n, names, {i for i in traced if values[i]._tape is tape})
    if call is None:
        return None
    call.has_tuples = any(type(values[i]) in _NESTS for i, _ in call.places if i >= 0)
    if any(type(v) not in SIMPLE for v in call.fixed.values()):
        return None
    if isinstance(rule, DecomposeRule):
        return OfBody(rule, call)
    if any(place in traced for _, place in call.options):
        return None
    if isinstance(rule, LinearRule) and not set(call.wanted).issubset(rule.argnums):
        return None
    if forward:
        if isinstance(rule, LinearRule) and len(call.wanted) == 1:
            alone = not rule.joint or len(rule.argnums) == 1
            return (ForwardOfLinear if alone else ForwardPlan)(rule, call)
        return ForwardPlan(rule, call)
    for kind, plan in _KINDS:
        if isinstance(rule, kind):
            return plan(rule, call)
    return None
