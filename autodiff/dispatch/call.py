"""The central decision: call a function by a rule for these arguments, or else trace its body.

A call with a traced argument strips the innermost trace level off its arguments, looks up a rule by
the types of the values underneath, computes the primal and records one node. Where outer levels
trace these values, computing the primal is again such a call.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.closures.captured_state import Contents
from autodiff.dispatch.arguments import (
    PLAIN,
    Stripped,
    as_they_are,
    cells_as_numbers,
    check_unchanged,
    constant_array,
    has_constants,
    held_in,
    innermost,
    is_constant,
    kept,
    numbers_of,
    through_containers,
    without,
)
from autodiff.errors import DifferentiationError, array_of_objects, missing_rule, not_connected
from autodiff.fastpath.elementwise import NOT_HERE
from autodiff.fastpath.gather_scalars import gathered
from autodiff.mutation.views import note_shared, noting_writes, shares_memory
from autodiff.trace.checks.conversions import OF_SHAPE, check_texts, constant
from autodiff.trace.checks.decisions import note_call
from autodiff.trace.checks.number_classes import INSTANCES, computes_itself
from autodiff.trace.nodes import Node, Part, ProductNode, Whole
from autodiff.trace.pytree import as_tangent, is_row, map_leaves, parts_of, rebuilt, tangent_of
from autodiff.trace.tape import CONSTANT, Tape
from autodiff.trace.tracer import TRACERS, Tracer, wrap
from chainrules_core import (
    ChainRulesError,
    Closure,
    HasForwardMode,
    HasReverseMode,
    NoTangent,
    ProjectTo,
    RuleConfig,
    SupportsMutation,
    Tangent,
    ZeroTangent,
    frule,
    rrule,
)
from chainrules_core.define import DecomposeRule, LinearRule
from chainrules_core.registry.entries import Entry, key_of
from chainrules_core.rule import Rule, name_of

NO_RULE: Any = object()


# What this module calls and cannot import, since it is built on this one; `connect` puts it in.
push_of: Callable = not_connected
as_written: Callable = not_connected
converted: Callable = not_connected
body_of: Callable = not_connected
planned: Callable = not_connected
with_closures: Callable = not_connected
numerically: Callable = not_connected
pullback_of: Callable = not_connected
pushforward_of: Callable = not_connected
repeated: Callable = not_connected


def connect(**functions: Callable) -> None:
    """Set the functions of upper modules that this one calls; see :mod:`autodiff.wiring`.

    Parameters
    ----------
    **functions
        ``push_of(key, args, kwargs, tape)`` calls a function on a forward level.
        ``as_written(f)`` is a function as it was written, to be called on plain values.
        ``converted(x)`` is the array that an object of the user's stands for.
        ``body_of(f)`` is a function with the calls in its body seen.
        ``planned(f, args, kwargs)`` does a call that has been decided on before, or is `NO_RULE`.
        ``with_closures(args, kwargs)`` has functions that captured traced values as structs.
        ``numerically(f, args, kwargs)`` differentiates by differences, or is `NO_RULE`.
        ``pullback_of`` and ``pushforward_of`` differentiate a function for a rule, and
        ``repeated`` at many points.
    """
    globals().update(functions)


def call(f: Callable, args: tuple, kwargs: dict[str, Any] | None = None) -> Any:
    """Call `f` on arguments some of which are traced: by a rule, else by its body."""
    kwargs = kwargs or {}
    result = by_rule(f, args, kwargs)
    return body_of(f)(*args, **kwargs) if result is NO_RULE else result


def by_rule(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call `f` by a rule and record it; `NO_RULE` where there is none or nothing is traced."""
    result = planned(f, args, kwargs)
    return without_plan(f, args, kwargs) if result is NO_RULE else result


def without_plan(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call `f` as `by_rule` does, where no plan applies."""
    key, own = key_of(f)
    entry = rrule.entry(key)
    forward = frule.entry(key) if entry is None else entry
    if forward is None:
        return NO_RULE
    args = own + args
    if forward.takes_functions:
        args, kwargs = with_closures(args, kwargs)
    tape = innermost(args, kwargs)
    if tape is not None:
        args = tuple([a if type(a) in TRACERS else cells_as_numbers(a) for a in args])
        if tape.observer is not None:
            proceed = functools.partial(_on_tape, key, entry, args, kwargs, tape)
            return tape.observer.call(proceed, key, args, kwargs, tape)
        if tape.forward:
            return push_of(key, args, kwargs, tape)
        if tape.program:
            return tape.call(key, args, kwargs)
        return NO_RULE if entry is None else record(entry, args, kwargs, tape)
    return untraced_call(key, args, kwargs) if has_constants(args, kwargs) else NO_RULE


def _on_tape(key: Callable, entry: Any, args: tuple, kwargs: dict[str, Any], tape: Tape) -> Any:
    """Call by a rule on a tape that is observed."""
    if tape.forward:
        return push_of(key, args, kwargs, tape)
    return NO_RULE if entry is None else record(entry, args, kwargs, tape)


def untraced_call(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call `f` on arguments none of which is traced; the result may be written into."""
    entry = rrule.entry(f) or frule.entry(f)
    if f is memoryview and entry is not None:  # writes by it, and into the array, would not be seen
        entry.rules[0].record(args, kwargs, ())  # which refuses
    if entry is not None and any(isinstance(rule, DecomposeRule) for rule in entry.rules):
        # The function itself may write into its argument, and nobody would notice.
        resolved = entry.resolve(args, kwargs, CONFIG)
        if resolved is not None and isinstance(resolved[0], DecomposeRule):
            return body_of(resolved[0].body)(*args, **kwargs)
    plain = tuple([without(a, CONSTANT) for a in args])
    options = {name: without(value, CONSTANT) for name, value in kwargs.items()}
    if _leaves_alone(f):
        y = f(*plain, **options)
    else:
        held = held_in((plain, options), (args, kwargs))
        y, has_written = noting_writes(f, args, plain, kwargs, options)
        check_unchanged(held)
        if has_written:
            return y
    if type(y) not in (np.ndarray, list, tuple) and not shares_memory(y, (args, kwargs)):
        return y
    return note_shared(map_leaves(y, constant_array), args, f, lambda args: call(f, args, kwargs))


_READERS = frozenset({"numpy", "builtins", "_operator", "operator", "math", "chainrules"})


def copies_in(given: Stripped, f: Callable, originals: tuple, options: dict) -> list:
    """Return the containers that a function of the user's could change in vain, and their parts."""
    if given.direct or _leaves_alone(f):
        return []
    return held_in((given.primals, options), originals)


def _leaves_alone(f: Any) -> bool:
    """Whether a function is known not to write into its arguments."""
    home = getattr(f, "__objclass__", f)
    package = (getattr(home, "__module__", None) or "").partition(".")[0]
    return isinstance(f, np.ufunc) or package in _READERS


def record(entry: Entry, args: tuple, kwargs: dict[str, Any], tape: Tape) -> Any:
    """Call the function of an entry by its rule for these arguments, on `tape`."""
    resolved = entry.resolve(args, kwargs, CONFIG)
    if resolved is None:
        return NO_RULE
    rule, bound, options = resolved
    if isinstance(rule, DecomposeRule):
        return body_of(rule.body)(*args, **kwargs)
    is_constant = rule.kind == "non_differentiable"
    given = Stripped(bound, tape, keeps=not is_constant)
    if is_constant:
        return constant_call(rule, given, options, tape)
    check_functions(rule, bound, options)
    options = checked_options(rule, given, options, tape)
    contents = Contents([*bound, *options.values()]) if entry.takes_functions else None
    held = copies_in(given, rule.f, (bound, kwargs), options)
    recorded = rule.record(given.primals, options, given.wanted, config_for(given))
    if recorded is None:
        return NO_RULE
    check_unchanged(held)
    y, pull = recorded
    if contents is not None:
        for x in contents.arrays:
            tape.hold(x)
        pull = contents.guarded(pull, rule.name)
    parents: tuple
    if given.direct:
        parents, positions = tuple([s._index for s in given.sources]), given.wanted
    else:
        parents, positions, pull = through_containers(rule, given, pull, tape)
    result = outputs(y, tape, rule, parents, positions, pull)
    given_args = bound if kwargs else bound[: len(args)]  # not what stands for a default
    return note_shared(result, given_args, rule, lambda args: call(rule.f, args, options))


def constant_call(rule: Rule, given: Stripped, options: dict[str, Any], tape: Tape) -> Any:
    """Call a function without derivative."""
    options = {name: without(without(value, CONSTANT), tape) for name, value in options.items()}
    nested = given.nested or innermost((), options) is not None
    if nested:
        y = call(rule.f, given.primals, options)
        note_call(rule.f, given.sources, tape, y)
        return as_constant(y, rule.f)
    primals = given.primals
    if any(type(p) in _FUNCTIONS or type(p) is Closure for p in primals):
        # Nothing that it calls is differentiated either.
        primals = tuple([as_written(p) for p in primals])
    y = rule.f(*primals, **options)
    note_call(rule.f, given.sources, tape, y)
    return as_constant(y, rule.f)


def checked_options(
    rule: Rule, given: Stripped, options: dict[str, Any], tape: Tape
) -> dict[str, Any]:
    """Return the options of a call, none of which may be traced."""
    for name, value in options.items():
        if type(value) not in PLAIN and without(value, tape) is not value:
            raise _traced_option(rule, name)
    if isinstance(rule, LinearRule) and not set(given.wanted).issubset(rule.argnums):
        raise _traced_option(rule, rule.signature.positional[max(given.wanted)])
    return {
        name: kept(as_they_are(without(value, CONSTANT)), tape) for name, value in options.items()
    }


_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


def check_functions(rule: Rule, bound: tuple, options: dict[str, Any]) -> None:
    """Raise if a function with captured traced values is given to a rule that ignores them."""
    names = [*rule.signature.positional, *["one of its *args"] * len(bound)]
    for name, value in (*zip(names, bound, strict=False), *options.items()):
        if type(value) in _FUNCTIONS and type(with_closures((value,), {})[0][0]) is Closure:
            raise _traced_option(
                rule, name, f"{name_of(value)}, which has captured a traced value,"
            )


def _traced_option(rule: Rule, name: str, what: str = "a traced value") -> ChainRulesError:
    if rule.kind == "refused":
        return rule.error()  # type: ignore[attr-defined] # of chainrules' RefusedRule
    return DifferentiationError(
        f"{what} was given to {rule.name} as {name}, which its rule ({rule.defined_at}) does not "
        "differentiate: its derivative would be lost. If the value is a constant, wrap it in "
        "autodiff.ignore_derivatives(...); else give the function a rule that differentiates it."
    )


def outputs(
    y: Any,
    tape: Tape,
    rule: Rule,
    parents: tuple,
    positions: tuple,
    pull: Callable,
) -> Any:
    """Record an output and return it traced; of several parts, each is recorded."""
    if is_differentiable(y):
        made = ProductNode if rule.kind == "scalar" and pull.__name__ == "pull" else Node
        node = made(parents, pull, ProjectTo(y), rule, positions)
        return wrap(y, tape, tape.add(node))
    check_is_no_object_array(y, rule)
    if parts_of(y) is None:
        return constant(y)
    return _several_outputs(y, tape, rule, parents, positions, pull)


def check_is_no_object_array(y: Any, rule: Rule) -> None:
    """Raise if the result of a rule for traced values is an array of objects."""
    if type(y) is np.ndarray and y.dtype.kind == "O":
        raise array_of_objects(f"{rule.name} was given a traced value and made an array")


def is_differentiable(y: Any) -> bool:
    """Whether a value is recorded: an inexact number or array, traced or not."""
    kind = type(y)
    if kind is np.ndarray or isinstance(y, (np.ndarray, np.generic)):
        return y.dtype.kind in "fc"
    return isinstance(y, (float, complex))


def _several_outputs(
    y: Any, tape: Tape, rule: Rule, parents: tuple, positions: tuple, pull: Callable
) -> Any:
    """Record an output with several parts."""
    if is_row(y):
        return _row_of_outputs(y, tape, rule, parents, positions, pull)
    places: list[Any] = []

    def tangent(bars: dict) -> Any:
        position = iter(range(len(places)))

        def one(leaf: Any) -> Any:
            if not is_differentiable(leaf):
                return NoTangent()
            return bars.get(next(position), ZeroTangent())

        return tangent_of(y, one)

    whole = tape.add(Whole(parents, pull, rule, positions, tangent))

    def part(leaf: Any) -> Any:
        if not is_differentiable(leaf):
            return leaf
        places.append(leaf)
        place = tape.add(Part(whole, len(places) - 1, ProjectTo(leaf)))
        return wrap(leaf, tape, place)

    return map_leaves(y, part)


def _row_of_outputs(
    y: Any, tape: Tape, rule: Rule, parents: tuple, positions: tuple, pull: Callable
) -> Any:
    """Record an output that is a tuple or list of arrays and numbers."""
    kind = type(y)
    size = len(y)

    def tangent(bars: dict) -> Any:
        return Tangent[kind](*[bars.get(i, absent[i]) for i in range(size)])

    whole = tape.add(Whole(parents, pull, rule, positions, tangent))
    parts: list[Any] = []
    absent: list[Any] = []
    for i, leaf in enumerate(y):
        if is_differentiable(leaf):
            leaf = wrap(leaf, tape, tape.add(Part(whole, i, ProjectTo(leaf))))
            absent.append(ZeroTangent())
        else:
            absent.append(NoTangent())
        parts.append(leaf)
    return rebuilt(y, parts)


def as_constant(y: Any, f: Callable) -> Any:
    """Return the result of a function without derivative; an array can be written into."""
    if type(y) is np.ndarray and y.dtype.kind in "fc" and y.base is None:
        return Tracer(y, CONSTANT, -1)
    return y if f in OF_SHAPE else constant(y)


class EngineConfig(RuleConfig):
    """How rules call back into the engine."""

    capabilities = frozenset({HasReverseMode, HasForwardMode, SupportsMutation})

    def rrule_via_ad(self, f: Callable, *args: Any, **kwargs: Any) -> tuple[Any, Callable]:
        """Differentiate `f` in reverse."""
        called = (f, *args) if parts_of(f) is not None else args
        run = _call_first if called is not args else f
        y, back = pullback_of(run, *called, argnums=tuple(range(len(called))), **kwargs)

        def via_ad_pullback(y_bar: Any) -> tuple:
            bars = tuple(map(as_tangent, called, back(y_bar)))
            return bars if called is not args else (NoTangent(), *bars)

        return y, via_ad_pullback

    def frule_via_ad(self, dots: tuple, f: Callable, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Differentiate `f` forward."""
        if parts_of(f) is not None:
            return pushforward_of(_call_first, (f, *args), kwargs, None).push(tuple(dots))
        return pushforward_of(f, args, kwargs, None).push(tuple(dots[1:]))

    def as_written(self, f: Callable) -> Callable:
        """Return the function without what was put in to see its calls."""
        return as_written(f)

    def repeated(self, which: str, f: Callable, argnums: tuple[int, ...]) -> Callable | None:
        """Record a derivative of `f` once."""
        return repeated(which, f, argnums)


def _call_first(f: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call an object with fields, with respect to which it is differentiated as well."""
    return call(f, args, kwargs)


class NestedConfig(EngineConfig):
    """How rules call back into the engine where outer levels trace the arguments."""

    @staticmethod
    def primal(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Compute a primal that an outer level traces."""
        return call(f, args, kwargs)

    @staticmethod
    def body(function: Callable) -> Callable:
        """Return the function of a rule as it is to be run on values traced outside."""
        return body_of(function)

    def as_written(self, f: Callable) -> Callable:
        """Return the function: outer levels must see its calls."""
        return f

    def repeated(self, which: str, f: Callable, argnums: tuple[int, ...]) -> Callable | None:
        """Leave it to `rrule_via_ad` and `frule_via_ad`: outer levels must see each call."""
        return None


CONFIG = EngineConfig()
NESTED = NestedConfig()


def config_for(given: Stripped) -> EngineConfig:
    """Return the configuration for a rule that is called with these arguments."""
    return NESTED if given.nested else CONFIG


def operate_by_rule(op: Callable, a: Any, b: Any) -> Any:
    """Apply a binary operator that has no fast path."""
    if any(type(x) in INSTANCES or computes_itself(type(x)) for x in (a, b)):
        return NotImplemented  # the class says itself what it computes
    a, b = _as_operand(a, b), _as_operand(b, a)
    if (is_constant(a) or is_constant(b)) and innermost((a, b), {}) is None:
        return untraced_call(op, (a, b), {})
    result = by_rule(op, (a, b), {})
    return NotImplemented if result is NO_RULE else result


def _as_operand(x: Any, other: Any) -> Any:
    """Return a list beside an array as an array, as NumPy does."""
    x = numbers_of(x)
    return as_array(converted(x)) if isinstance(other, (np.ndarray, np.generic)) else x


def as_array(x: Any) -> Any:
    """Return nested lists as an array, traced if something in them is; anything else as it is."""
    if type(x) not in (list, tuple):
        return x
    made = gathered(np.array, x, {})
    if made is not NOT_HERE:
        return made
    check_texts(x)
    return np.asarray(x) if innermost((x,), {}) is None else call(np.array, (x,))


def require_rule(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call by a rule, or raise that there is none."""
    result = by_rule(f, args, kwargs)
    if result is NO_RULE:
        result = numerically(f, args, kwargs)
    if result is NO_RULE:
        if innermost(args, kwargs) is None:
            return untraced_call(f, args, kwargs)
        raise missing_rule(f, args, kwargs, rrule.methods(f))
    return result
