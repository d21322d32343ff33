"""Forward mode: tracers carry the tangents of their values.

A call on a forward level uses an frule. If there is only an rrule, the pushforward is the adjoint
of its pullback, which is linear in the cotangent.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch import call as calls
from autodiff.dispatch.arguments import (
    Stripped,
    as_it_is,
    check_unchanged,
    innermost,
    is_constant,
    numbers_of,
    of_level,
    without,
)
from autodiff.dispatch.call import (
    CONFIG,
    NESTED,
    NO_RULE,
    EngineConfig,
    check_functions,
    check_is_no_object_array,
    checked_options,
    config_for,
    constant_call,
    is_differentiable,
)
from autodiff.errors import SeedError
from autodiff.intercept import intercept
from autodiff.mutation.memory_layout import laid_like
from autodiff.mutation.shared_arguments import TracedArguments, copied
from autodiff.mutation.views import note_shared
from autodiff.mutation.written_arguments import check_writes, end_watch, watch
from autodiff.trace.checks.conversions import constant
from autodiff.trace.checks.decisions import check_forward
from autodiff.trace.checks.number_classes import given_out
from autodiff.trace.checks.runs import check_runs
from autodiff.trace.checks.seeds import PUSHFORWARD
from autodiff.trace.linearize import checked_argnums, nothing_to_differentiate, promoted
from autodiff.trace.nodes import Leaf
from autodiff.trace.observers import indices_on, new_forward
from autodiff.trace.pytree import (
    has_variables,
    is_perturbable,
    leaves_of,
    map_leaves,
    part_of_tangent,
    parts_of,
    rebuilt,
    tangent_of,
)
from autodiff.trace.tape import CONSTANT, Forward, Tape, sweep
from autodiff.trace.trace_stack import recording
from autodiff.trace.tracer import Tracer, is_tracer, wrap
from chainrules_core import (
    AbstractZero,
    ChainRulesError,
    NoTangent,
    NotImplementedTangent,
    ProjectTo,
    ZeroTangent,
    frule,
    inner,
    rrule,
    unthunk,
    zero_tangent,
)
from chainrules_core.define import DecomposeRule
from chainrules_core.interpreter.noticed import mark, noticing, restore
from chainrules_core.interpreter.places import say_where
from chainrules_core.interpreter.quiet import is_mild, quiet
from chainrules_core.rule import Rule
from chainrules_core.rules import name_of


def push(key: Callable, args: tuple, kwargs: dict[str, Any], tape: Forward) -> Any:
    """Call a function by its rule on a forward level; return `NO_RULE` if it has none."""
    tape.check_open()
    for table, by in ((frule, _by_frule), (rrule, _by_rrule)):
        entry = table.entry(key)
        resolved = None if entry is None else entry.resolve(args, kwargs, CONFIG)
        if resolved is None:
            continue
        rule, bound, options = resolved
        if isinstance(rule, DecomposeRule):
            return calls.body_of(rule.body)(*args, **kwargs)
        given = Stripped(bound, tape)
        if rule.kind == "non_differentiable":
            return constant_call(rule, given, options, tape)
        check_functions(rule, bound, options)
        options = checked_options(rule, given, options, tape)
        held = calls.copies_in(given, rule.f, (bound, kwargs), options)
        if is_mild() or not _can_be_repeated(rule, given.primals):
            result = by(rule, given, bound, options, tape)
        else:
            # A rule computes both together; what is reported are the errors of the function.
            calls.call(key, *_stripped(args, kwargs, tape))
            with quiet():
                result = by(rule, given, bound, options, tape)
        if result is None:
            continue
        check_unchanged(held)
        y, y_dot = result
        check_is_no_object_array(y, rule)
        made = with_tangent(y, unthunk(y_dot), tape)
        given_args = bound if kwargs else bound[: len(args)]  # without defaults
        return note_shared(made, given_args, rule, _again(rule, options))
    return NO_RULE


_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


def _can_be_repeated(rule: Rule, primals: tuple) -> bool:
    """Whether a function may be called twice: NumPy's and SciPy's, unless they call or draw."""
    home = getattr(rule.f, "__objclass__", rule.f)
    package = (getattr(home, "__module__", None) or "").partition(".")[0]
    if not isinstance(rule.f, np.ufunc) and package not in ("numpy", "scipy", "_operator"):
        return False
    # NumPy loads its generators at first use, so they are known by the place of their class.
    kinds = set(map(type, primals))
    return kinds.isdisjoint(_FUNCTIONS) and not any(
        kind.__module__.startswith("numpy.random.") for kind in kinds
    )


def _stripped(args: tuple, kwargs: dict[str, Any], tape: Forward) -> tuple[tuple, dict[str, Any]]:
    """Return the arguments of a call on the level beneath."""
    plain = tuple([without(without(a, CONSTANT), tape) for a in args])
    return plain, {name: without(without(a, CONSTANT), tape) for name, a in kwargs.items()}


def _again(rule: Rule, options: dict[str, Any]) -> Callable[[tuple], Any]:
    return lambda args: calls.call(rule.f, args, options)


def _by_frule(
    rule: Rule, given: Stripped, bound: tuple, options: dict[str, Any], tape: Forward
) -> tuple[Any, Any] | None:
    dots = tuple([dot_of(a, tape) for a in bound])
    config = NESTED if innermost(dots, {}) is not None else config_for(given)
    return pushed(rule, dots, given.primals, options, config)


def pushed(
    rule: Rule, dots: tuple, primals: tuple, options: dict[str, Any], config: EngineConfig
) -> tuple[Any, Any] | None:
    """Return the value of a rule's function and its tangent, which may be unimplemented.

    An unimplemented tangent is an error only if the final result depends on it. So if a rule fails
    on one, it is called with a zero instead, and its own tangent is unimplemented in turn.
    """
    before = mark()
    try:
        return rule.push(dots, primals, options, config)
    except (ChainRulesError, TypeError, AttributeError):
        missing = next((dot for dot in dots if isinstance(dot, NotImplementedTangent)), None)
        if missing is None:
            raise
        restore(before)
        zeros = tuple([ZeroTangent() if dot is missing else dot for dot in dots])
        made = pushed(rule, zeros, primals, options, config)
        return None if made is None else (made[0], missing)


def _by_rrule(
    rule: Rule, given: Stripped, bound: tuple, options: dict[str, Any], tape: Forward
) -> tuple[Any, Any] | None:
    """Return the value and its tangent by the adjoint of the pullback, by reverse mode."""
    recorded = rule.record(given.primals, options, given.wanted, config_for(given))
    if recorded is None:
        return None
    y, pull = recorded
    dots = [dot_of(source, tape) for source in given.sources]

    def paired(y_bar: Any) -> Any:
        bars = calls.body_of(pull)(y_bar)
        total = 0.0
        for bar, dot in zip(bars, dots, strict=True):
            total = total + inner(bar, dot)
        return total

    reverse = Tape()

    def seed(leaf: Any) -> Any:
        if not is_differentiable(leaf):
            return NoTangent()
        zero = zero_tangent(leaf)
        return wrap(zero, reverse, reverse.add(Leaf(ProjectTo(zero))))

    seeds = tangent_of(y, seed)
    reverse.leaves = len(reverse.nodes)
    total = paired(seeds)
    nodes = reverse.close()
    found: list = [None] * reverse.leaves
    if is_tracer(total) and total._tape is reverse:
        found = sweep(nodes, reverse.leaves, {total._index: 1.0}, nested=reverse.nested)
    remaining = iter(found)

    def tangent(leaf: Any) -> Any:
        if not is_differentiable(leaf):
            return NoTangent()
        bar = next(remaining)
        return zero_tangent(leaf) if bar is None else bar

    return y, tangent_of(y, tangent)


def dot_of(x: Any, tape: Forward) -> Any:
    """Return the tangent of an argument on this level."""
    if is_tracer(x):
        return x._index if x._tape is tape else ZeroTangent()
    if parts_of(x) is None:
        return ZeroTangent() if is_differentiable(x) else NoTangent()
    return tangent_of(x, lambda leaf: dot_of(leaf, tape))


def with_tangent(y: Any, y_dot: Any, tape: Forward) -> Any:
    """Return a value with its tangent; a value without one is a constant."""
    if is_differentiable(y):
        if isinstance(y_dot, AbstractZero):
            return Tracer(y, CONSTANT, -1) if type(y) is np.ndarray else y
        if isinstance(y_dot, NotImplementedTangent):
            return wrap(y, tape, y_dot)  # an error if the result depends on it
        return wrap(y, tape, ProjectTo(y)(y_dot))
    parts = parts_of(y)
    if parts is None:
        return constant(y)
    if isinstance(y_dot, AbstractZero):
        return y
    if isinstance(y_dot, NotImplementedTangent):
        return rebuilt(y, [with_tangent(part, y_dot, tape) for _, part in parts])
    new = [with_tangent(part, unthunk(part_of_tangent(y_dot, key)), tape) for key, part in parts]
    return rebuilt(y, new)


NO_RUN = object()


class Pushed:
    """A call in forward mode; each `push` runs it once.

    Parameters
    ----------
    f, args, kwargs
        The call.
    argnums : tuple of int, optional
        Which arguments have tangents; all by default.
    """

    def __init__(
        self,
        f: Callable,
        args: tuple,
        kwargs: dict[str, Any],
        argnums: tuple[int, ...] | None,
    ) -> None:
        self.f = f
        self.args = args
        self.kwargs = kwargs
        self._first: Any = NO_RUN  # the value of the first run
        self.argnums = checked_argnums(f, args, argnums)
        self.arguments = [promoted(f, args, i, argnums is not None) for i in self.argnums]
        if not any(map(has_variables, self.arguments)):
            raise nothing_to_differentiate(f, args)

    def value(self) -> Any:
        """Return the value.

        The function gets copies of its arguments: it may write into them (``overwrite_a=True``),
        and will run again with tangents.
        """
        memo: dict[int, np.ndarray] = {}

        def own(x: Any) -> Any:
            return copied(x, memo) if type(x) is np.ndarray else x

        y = self._run([own(a) for a in self.args], (None,) * len(self.arguments), own)[0]
        y = map_leaves(y, numbers_of)
        # The program may write into the result.
        self._first = map_leaves(y, lambda x: x.copy() if type(x) is np.ndarray else as_it_is(x))
        return y

    def push(self, dots: tuple) -> tuple[Any, Any]:
        """Return the value and its tangent, which has the structure of the value.

        Each call runs the function, which has to give the same value each time.
        """
        if len(dots) != len(self.arguments):
            raise SeedError(
                f"the pushforward of {name_of(self.f)} takes {len(self.arguments)} tangent(s), one "
                f"for each argument that is perturbed; it was given {len(dots)}."
            )
        try:
            y, y_dot = self._run(list(self.args), dots, lambda x: x)
            if self._first is NO_RUN:
                self._first = y
            else:
                check_runs(self.f, self._first, y)
            return y, y_dot
        except ChainRulesError as error:
            say_where(error)
            raise

    def _run(self, traced: list, dots: tuple, own: Callable[[Any], Any]) -> tuple[Any, Any]:
        """Run the function with these tangents; `traced` becomes the arguments of the call.

        `own` returns what the function gets of a number or array.
        """
        tape = new_forward()
        first = self.arguments[0]
        given = TracedArguments() if len(traced) + len(self.kwargs) > 1 or parts_of(first) else None
        containers: list = []
        for i, a, dot in zip(self.argnums, self.arguments, dots, strict=True):
            traced[i] = self._traced(a, dot, tape, given, {}, containers, own)
        if given is not None and len(self.argnums) < len(traced) + len(self.kwargs):
            others = [a for i, a in enumerate(traced) if i not in self.argnums]
            given.note_others((*others, *self.kwargs.values()), tape)
        watched = watch(containers)
        try:
            with recording(tape) if tape.copied or tape.aliases else noticing():
                y = given_out(intercept(self.f)(*traced, **self.kwargs))
        finally:
            tape.close()
            end_watch(watched)
        if tape.copied or containers:
            every = (*self.args, *self.kwargs.values())
            check_writes(self.f, every, tape.copied, containers, watched)
            tape.copied = []
        if tape.decisions and not indices_on(y, tape):
            check_forward(self.f, tape, y)
        known = {id(leaf) for dot in dots for leaf in leaves_of(dot)}

        def own_tangent(leaf: Any) -> Any:
            dot = tangent_out(leaf, tape)
            value = dot._value if is_tracer(dot) and dot._tape.program else dot
            if type(value) is np.ndarray:
                if value.base is not None or id(dot) in known:
                    dot = np.copy(dot)  # the caller may write into any of them
                known.add(id(dot))
            return dot

        return map_leaves(y, lambda leaf: of_level(leaf, tape)), map_leaves(y, own_tangent)

    def _traced(
        self,
        x: Any,
        dot: Any,
        tape: Forward,
        given: TracedArguments | None,
        known: dict[int, tuple],
        containers: list,
        own: Callable[[Any], Any],
    ) -> Any:
        """Return a pytree whose leaves have the tangents in the pytree `dot`.

        An object that is in several places stays one object: `known` has what was made of it.
        """
        dot = unthunk(dot)
        if is_perturbable(x):
            if is_constant(x):
                x = x._value
            copy = own(x)
            made = self._leaf(copy, dot, tape)
            if type(made) is Tracer and isinstance(x, np.ndarray):
                tape.copied.append((made, made._index, x))
                if given is not None:
                    given.note(made, copy, False)
            return made
        parts = parts_of(x)
        if parts is None:
            return own(x)
        if id(x) in known:
            made, before = known[id(x)]
            PUSHFORWARD.check_alike(self.f, x, before, dot)
            return made
        is_zero = dot is None or isinstance(dot, AbstractZero)
        new = []
        for key, part in parts:
            part_dot = None if is_zero else PUSHFORWARD.part(self.f, x, dot, key)
            new.append(self._traced(part, part_dot, tape, given, known, containers, own))
        made = rebuilt(x, new)
        if not issubclass(type(x), tuple):  # two equal ones may be one object by chance
            known[id(x)] = made, dot
            containers.append((x, [part for _, part in parts], made, new))
        return made

    def _leaf(self, x: Any, dot: Any, tape: Forward) -> Any:
        """Return a number or array with its tangent, if it has one."""
        if dot is None or isinstance(dot, AbstractZero):
            # A constant tracer, not the array itself: the function may write into it.
            if type(x) is Tracer:
                return wrap(x._value, x._tape, x._index)
            return Tracer(x, CONSTANT, -1) if type(x) is np.ndarray else x
        return wrap(x, tape, self._checked(x, dot))

    def _checked(self, x: Any, dot: Any) -> Any:
        """Return a tangent in the space of its argument and with the memory layout of that."""
        made = PUSHFORWARD.checked(self.f, x, dot)
        return laid_like(made, x) if type(made) is type(x) is np.ndarray else made


def tangent_out(x: Any, tape: Forward) -> Any:
    """Return the tangent of an output: zeros of its shape if it carries none."""
    if is_tracer(x) and x._tape is tape:
        dot = x._index
        if isinstance(dot, NotImplementedTangent):
            raise dot.error()
        return dot._tape.like(dot, x) if is_tracer(dot) and dot._tape.program else dot
    return zero_tangent(x) if is_differentiable(x) else None
