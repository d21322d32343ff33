"""The one decision: a rule for these arguments, else the function's body.

A call that sees a traced value strips the innermost level of differentiation off its arguments,
asks for a rule by the types of what is underneath, computes the primal and records one node.
Where values of outer levels remain, computing the primal is again such a call.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.elementwise import NOT_HERE, binary
from autodiff.errors import DifferentiationError, MutationError, missing_rule
from autodiff.structures import leaves_of, map_leaves, part_of_tangent, parts_of, tangent_of
from autodiff.tape import CONSTANT, Node, Part, ProductNode, Tape, Whole
from autodiff.tracer import FloatTracer, Tracer, is_tracer, note_view, untraced, wrap
from chainrules_core import (
    AbstractZero,
    CotangentError,
    HasForwardMode,
    HasReverseMode,
    NoTangent,
    NotImplementedTangent,
    ProjectTo,
    RuleConfig,
    SupportsMutation,
    Tangent,
    ZeroTangent,
    frule,
    rrule,
    unthunk,
)
from chainrules_core.define import DecomposeRule, LinearRule
from chainrules_core.frame import named_projection
from chainrules_core.registry import Entry, key_of
from chainrules_core.rules import Rule, name_of

# Types that hold no traced value: they are not looked into.
_PLAIN = frozenset(
    {
        float, int, bool, complex, str, bytes, type(None), slice, type(Ellipsis), type, range,
        np.ndarray, np.float64, np.float32, np.int64, np.bool_, np.dtype, np.ufunc,
        types.FunctionType, types.BuiltinFunctionType, types.ModuleType,
    }
)  # fmt: skip

NO_RULE: Any = object()


def _as_it_is(f: Callable) -> Callable:
    return f


def _no_forward(key: Callable, args: tuple, kwargs: dict[str, Any], tape: Tape) -> Any:
    raise NotImplementedError


push_of: Callable = _no_forward
"""Calls a function on a forward level; set by autodiff.forward, which needs us."""

body_of: Callable[[Callable], Callable] = _as_it_is
"""Returns a function with the calls in its body seen; set by autodiff.intercept, which needs us."""


def call(f: Callable, args: tuple, kwargs: dict[str, Any] | None = None) -> Any:
    """Call `f` on arguments some of which are traced: by a rule, else by its body."""
    kwargs = kwargs or {}
    result = by_rule(f, args, kwargs)
    return body_of(f)(*args, **kwargs) if result is NO_RULE else result


def by_rule(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call `f` by a rule and record it; `NO_RULE` where there is none or nothing is traced."""
    key, own = key_of(f)
    entry = rrule.entry(key)
    if entry is None and frule.entry(key) is None:
        return NO_RULE
    args = own + args
    tape = innermost(args, kwargs)
    if tape is not None:
        if tape.forward:
            return push_of(key, args, kwargs, tape)
        return NO_RULE if entry is None else record(entry, args, kwargs, tape)
    return untraced_call(key, args, kwargs) if _has_constants(args, kwargs) else NO_RULE


def innermost(args: tuple, kwargs: dict[str, Any]) -> Tape | None:
    """Return the tape of the innermost level among the arguments; None if nothing is traced."""
    found: Tape | None = None
    for a in (*args, *kwargs.values()) if kwargs else args:
        kind = type(a)
        if kind is FloatTracer or kind is Tracer:
            tape = a._tape
        elif kind in _PLAIN:
            continue
        else:
            tape = innermost(tuple([x for x in leaves_of(a) if is_tracer(x)]), {})
        if tape is None or tape is CONSTANT:
            continue
        if found is None or tape.serial > found.serial:
            found = tape
    return found


def is_constant(x: Any) -> bool:
    """Whether `x` is an array of a traced function that holds nothing traced."""
    return type(x) is Tracer and x._tape is CONSTANT


def of_level(x: Any, tape: Tape) -> Any:
    """Return a value with the level of `tape` stripped off, if it has it."""
    return x._value if is_tracer(x) and (x._tape is tape or x._tape is CONSTANT) else x


def _has_constants(args: tuple, kwargs: dict[str, Any]) -> bool:
    values = (*args, *kwargs.values())
    return any(
        is_constant(x) or (type(x) not in _PLAIN and any(map(is_constant, leaves_of(x))))
        for x in values
    )


def untraced_call(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call `f` on arguments none of which is traced; an array it makes may be written into."""
    plain = tuple([without(a, CONSTANT) for a in args])
    y = f(*plain, **{name: without(value, CONSTANT) for name, value in kwargs.items()})
    if type(y) is not np.ndarray or y.dtype.kind not in "fc":
        return y
    made = Tracer(y, CONSTANT, -1)
    note_shared(made, y, f, args, kwargs)
    return made


def record(entry: Entry, args: tuple, kwargs: dict[str, Any], tape: Tape) -> Any:
    """Call the entry's function by its rule for these arguments, on `tape`."""
    resolved = entry.resolve(args, kwargs, CONFIG)
    if resolved is None:
        return NO_RULE
    rule, bound, options = resolved
    if isinstance(rule, DecomposeRule):
        return body_of(rule.body)(*args, **kwargs)
    given = Stripped(bound, tape)
    if rule.kind == "non_differentiable":
        return constant_call(rule, given, options, tape)
    options = checked_options(rule, given, options, tape)
    recorded = rule.record(given.primals, options, given.wanted, given.config)
    if recorded is None:
        return NO_RULE
    y, pull = recorded
    parents: tuple
    if given.direct:
        parents, positions = tuple([s._index for s in given.sources]), given.wanted
    else:
        parents, positions, pull = _through_containers(rule, given, pull, tape)
    result = outputs(y, tape, rule, parents, positions, pull)
    note_shared(result, y, rule.f, bound, options)
    return result


class Stripped:
    """The arguments of a call with the innermost level of differentiation stripped off.

    Attributes
    ----------
    primals : tuple
        The arguments without that level.
    wanted : tuple of int
        The positions of those that had it.
    sources : list
        These themselves.
    direct : bool
        Whether all of them are traced values, and none a container of some.
    config : RuleConfig
        For rules; it tells whether outer levels remain.
    """

    __slots__ = ("config", "direct", "primals", "sources", "wanted")

    def __init__(self, bound: tuple, tape: Tape) -> None:
        primals = []
        wanted = []
        self.sources: list[Any] = []
        self.direct = True
        nested = False
        for i, a in enumerate(bound):
            kind = type(a)
            if kind is FloatTracer or kind is Tracer:
                if a._tape is tape:
                    wanted.append(i)
                    self.sources.append(a)
                    a = a._value
                    kind = type(a)
                elif a._tape is CONSTANT:
                    a = a._value
                    kind = type(a)
                nested = nested or kind is Tracer or kind is FloatTracer
            elif kind not in _PLAIN:
                a = without(a, CONSTANT)
                stripped = without(a, tape)
                if stripped is not a:
                    wanted.append(i)
                    self.sources.append(a)
                    self.direct = False
                    a = stripped
                nested = nested or any(is_tracer(x) for x in leaves_of(a))
            elif kind is np.ndarray:
                tape.held.add(id(a if a.base is None else a.base))
            primals.append(a)
        self.primals = tuple(primals)
        self.wanted = tuple(wanted)
        self.config = NESTED if nested else CONFIG


def constant_call(rule: Rule, given: Stripped, options: dict[str, Any], tape: Tape) -> Any:
    """Call a function without derivative."""
    options = {name: without(without(value, CONSTANT), tape) for name, value in options.items()}
    invoke = call if given.config is NESTED else _invoke
    return _constant(invoke(rule.f, given.primals, options))


def checked_options(
    rule: Rule, given: Stripped, options: dict[str, Any], tape: Tape
) -> dict[str, Any]:
    """Return the options of a call, none of which may be traced."""
    for name, value in options.items():
        if type(value) not in _PLAIN and without(value, tape) is not value:
            raise _traced_option(rule, name)
    if isinstance(rule, LinearRule) and not set(given.wanted).issubset(rule.argnums):
        raise _traced_option(rule, rule.signature.positional[max(given.wanted)])
    return {name: without(value, CONSTANT) for name, value in options.items()}


def _invoke(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    return f(*args, **kwargs)


def without(x: Any, tape: Tape) -> Any:
    """Return `x` with the level of `tape` stripped off."""
    if type(x) in _PLAIN:
        return x

    def strip(leaf: Any) -> Any:
        return leaf._value if is_tracer(leaf) and leaf._tape is tape else leaf

    return map_leaves(x, strip)


def _traced_option(rule: Rule, name: str) -> DifferentiationError:
    return DifferentiationError(
        f"a traced value was given to {rule.name} as {name}, which its rule ({rule.defined_at}) "
        "does not differentiate: its derivative would be lost. If it is a constant, wrap it in "
        "autodiff.ignore_derivatives(...)."
    )


def _through_containers(
    rule: Rule, given: Stripped, pull: Callable, tape: Tape
) -> tuple[tuple, tuple, Callable]:
    """Return parents and pull where traced values stand inside containers."""
    paths: list[tuple[int, tuple, int]] = []

    def note(x: Any, place: int, path: tuple) -> None:
        if is_tracer(x):
            if x._tape is tape:
                paths.append((place, path, x._index))
            return
        for key, part in parts_of(x) or ():
            note(part, place, (*path, key))

    for place, source in enumerate(given.sources):
        note(source, place, ())
    # The container as a whole is projected: what its pullback returned may have other forms.
    projectors = [
        None if is_tracer(source) else ProjectTo(given.primals[i])
        for source, i in zip(given.sources, given.wanted, strict=True)
    ]

    def pull_parts(y_bar: Any) -> list:
        bars = []
        for bar, projector, i in zip(pull(y_bar), projectors, given.wanted, strict=True):
            if projector is not None:
                bar = unthunk(named_projection(rule, i, projector, unthunk(bar)))
                _check_fields(rule, i, bar, given.primals[i])
            bars.append(bar)
        return [_at(rule, given.wanted[place], bars[place], path) for place, path, _ in paths]

    positions = tuple([given.wanted[place] for place, _, _ in paths])
    return tuple([i for _, _, i in paths]), positions, pull_parts


def _check_fields(rule: Rule, position: int, bar: Any, primal: Any) -> None:
    """Raise if a structural tangent has a field that the argument has not."""
    if not isinstance(bar, Tangent) or isinstance(primal, (tuple, list)):
        return
    unknown = [k for k in Tangent.keys(bar) if k not in {key for key, _ in parts_of(primal) or ()}]
    if unknown:
        reason = f"the argument, a {type(primal).__name__}, has no {unknown[0]!r}"
        raise CotangentError(rule, position, bar, reason)


def _at(rule: Rule, position: int, bar: Any, path: tuple) -> Any:
    """Return the part of a container's cotangent at the end of a path."""
    for key in path:
        if isinstance(bar, (AbstractZero, NotImplementedTangent)):
            return bar
        try:
            bar = unthunk(part_of_tangent(bar, key))
        except (LookupError, AttributeError, TypeError) as error:
            reason = f"a {type(bar).__name__} has no part {key!r} for the argument's"
            raise CotangentError(rule, position, bar, reason) from error
    return bar


def outputs(
    y: Any,
    tape: Tape,
    rule: Rule,
    parents: tuple,
    positions: tuple,
    pull: Callable,
) -> Any:
    """Record an output and return it traced; one of several parts is recorded part by part."""
    if is_differentiable(y):
        made = ProductNode if rule.kind == "scalar" and pull.__name__ == "pull" else Node
        node = made(parents, pull, ProjectTo(y), rule, positions)
        return wrap(y, tape, tape.add(node))
    if parts_of(y) is None:
        return y
    return _several_outputs(y, tape, rule, parents, positions, pull)


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


def _constant(y: Any) -> Any:
    """Return what a function without derivative made; an array may be written into."""
    if type(y) is np.ndarray and y.dtype.kind in "fc" and y.base is None:
        return Tracer(y, CONSTANT, -1)
    return y


def note_shared(made: Any, y: Any, f: Callable, args: tuple, options: dict[str, Any]) -> None:
    """Note from which argument a result has its memory: a write into one is seen in the other.

    `y` is the result before it was recorded; on an inner level it is traced on outer ones.
    """
    if type(made) is Tracer:
        plain = untraced(made)
        if type(plain) is np.ndarray:
            _note_views(made, plain, f, args, options, ())
        return
    if type(made) not in _PLAIN and not is_tracer(made):
        _note_parts(made, f, args, options, ())


def _note_parts(made: Any, f: Callable, args: tuple, options: dict[str, Any], path: tuple) -> None:
    for key, part in parts_of(made) or ():
        plain = untraced(part)
        if type(part) is Tracer and type(plain) is np.ndarray:
            _note_views(part, plain, f, args, options, (*path, key))
        elif type(part) not in _PLAIN and not is_tracer(part):
            _note_parts(part, f, args, options, (*path, key))


def _note_views(
    made: Tracer, y: np.ndarray, f: Callable, args: tuple, options: dict[str, Any], path: tuple
) -> None:
    owner = y if y.base is None else y.base
    for i, a in enumerate(args):
        if type(a) in (list, tuple):
            _note_views_of_elements(made, owner, a)
            continue
        value = untraced(a)
        if type(a) is not Tracer or type(value) is not np.ndarray:
            continue
        if value is owner or value.base is owner:
            before, after = args[:i], args[i + 1 :]

            def make(parent: Any, before: tuple = before, after: tuple = after) -> Any:
                result = call(f, (*before, parent, *after), options)
                for key in path:
                    is_container = isinstance(result, (list, tuple, dict))
                    result = result[key] if is_container else getattr(result, key)
                return result

            note_view(made, a, make)
            return


def _note_views_of_elements(made: Tracer, owner: Any, elements: Any) -> None:
    """A result that shares the memory of an array inside a list: writes into it are refused."""
    for element in elements:
        value = untraced(element)
        if type(value) is np.ndarray and (value is owner or value.base is owner):
            note_view(made, element, refuse)


def refuse(parent: Any) -> Any:
    """In the place of how a view is made where that cannot be followed."""
    raise MutationError(
        "an array is written into that shares its memory with another one in a way that is not "
        "followed. Write into a copy: x = x.copy()."
    )


class EngineConfig(RuleConfig):
    """How rules call back into this engine."""

    capabilities = frozenset({HasReverseMode, HasForwardMode, SupportsMutation})

    def rrule_via_ad(self, f: Callable, *args: Any, **kwargs: Any) -> tuple[Any, Callable]:
        """Differentiate `f` in reverse."""
        from autodiff.derivatives import pullback  # it needs this module

        y, back = pullback(f, *args, argnums=tuple(range(len(args))), **kwargs)

        def via_ad_pullback(y_bar: Any) -> tuple:
            return NoTangent(), *back(y_bar)

        return y, via_ad_pullback

    def frule_via_ad(self, dots: tuple, f: Callable, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Differentiate `f` forward."""
        from autodiff.forward import Pushed  # it needs this module

        return Pushed(f, args, kwargs, None).push(tuple(dots[1:]))


class NestedConfig(EngineConfig):
    """The same, where outer levels trace the arguments: their rules are asked in turn."""

    @staticmethod
    def primal(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Compute a primal that an outer level traces."""
        return call(f, args, kwargs)

    @staticmethod
    def body(function: Callable) -> Callable:
        """Return the function of a rule as it is to be run on values traced outside."""
        return body_of(function)


CONFIG = EngineConfig()
NESTED = NestedConfig()


def operate(op: Callable, a: Any, b: Any) -> Any:
    """Apply a binary operator, at least one side traced; NotImplemented where no rule fits."""
    result = binary(op, a, b)
    if result is not NOT_HERE:
        return result
    a, b = _as_operand(a, b), _as_operand(b, a)
    if (is_constant(a) or is_constant(b)) and innermost((a, b), {}) is None:
        return untraced_call(op, (a, b), {})
    result = by_rule(op, (a, b), {})
    return NotImplemented if result is NO_RULE else result


def _as_operand(x: Any, other: Any) -> Any:
    """A list beside an array is an array, as NumPy has it."""
    if type(x) in (list, tuple) and isinstance(other, (np.ndarray, np.generic)):
        if innermost((x,), {}) is None:
            return np.asarray(x)
        return call(np.stack, (list(x),))
    return x


def require_rule(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call by a rule, or say that there is none."""
    result = by_rule(f, args, kwargs)
    if result is NO_RULE:
        if kwargs:
            names = ", ".join(f"{k}=" for k in kwargs)
            raise DifferentiationError(
                f"{name_of(f)} with {names} has no rule for these arguments. Its rules are: "
                f"{rrule.methods(f) or 'none'}."
            )
        raise missing_rule(f, args)
    return result
