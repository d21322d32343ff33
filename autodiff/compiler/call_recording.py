"""From a call to a variant: the call is recorded, and what it read is guarded."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff.compiler.compile_errors import (
    MISMATCH,
    BudgetExceededError,
    LoopsUnrolledError,
    NotRecordedError,
)
from autodiff.compiler.passes.simplify import has_nan
from autodiff.compiler.python_backend.emitter import restored
from autodiff.compiler.recording import effect_hooks as effect_hooks
from autodiff.compiler.recording.captured_guards import dependencies
from autodiff.compiler.recording.changing_objects import Ways, is_new_way
from autodiff.compiler.recording.content_guards import SIMPLE
from autodiff.compiler.recording.dependency import Dependency, LargeArrays
from autodiff.compiler.recording.executed_code import Place, Watch, places_of
from autodiff.compiler.recording.functions_made_anew import FunctionMadeAnew
from autodiff.compiler.recording.guard_source import checks_of
from autodiff.compiler.recording.ir import (
    Program,
    Ref,
    Step,
    effect,
    guard,
    is_inexact,
    read_by_guards,
)
from autodiff.compiler.recording.mentioned_names import Mentioned
from autodiff.compiler.recording.recorder import Recording
from autodiff.compiler.recording.results import Outputs
from autodiff.compiler.recording.signature_guards import MAY_CHANGE, Inputs, Names
from autodiff.compiler.tiering.budget import Budget
from autodiff.compiler.variants import Variant, VariantBuilder
from autodiff.intercept import intercept
from autodiff.intercept.runtime.replacements import give_variables
from autodiff.mutation import written_arguments
from autodiff.trace.pytree import leaves_of, parts_of
from autodiff.trace.trace_stack import recording as at_level
from autodiff.trace.varying_inputs import VaryingInputs
from chainrules_core.rules import name_of

_READ = (*SIMPLE, bytes, tuple, list, dict, *MAY_CHANGE)
_FINAL = (BudgetExceededError, LoopsUnrolledError)
"""Errors that end a recording also if all of its inputs are constants."""
_READ_WITH_SUBCLASSES = (np.ndarray, np.generic, np.random.Generator)
"""Classes of arguments that a program reads or compares at each call."""


def recorded(
    f: Callable,
    args: tuple,
    kwargs: dict[str, Any],
    backend: str,
    also: Sequence[Callable] = (),
    exact: bool = False,
    budget: Budget | None = None,
    keep_loops: bool = False,
    is_proved: Callable[[set[Place]], bool] = lambda _: False,
    varying: VaryingInputs | None = None,
    takes_function: bool = False,
    takes_parts: bool = False,
) -> tuple[Variant, Any]:
    """Record a call; return a variant, and the result.

    Parameters
    ----------
    f : callable
        The function.
    args, kwargs : tuple, dict
        Its arguments.
    backend : str
        As for `compile`, or `AUTOMATIC`.
    also : sequence of callable
        Functions whose outer variables are guarded as well.
    exact : bool
        Whether `f` is known to branch on the last bits of a value.
    budget : Budget, optional
        What recording and compiling may cost.
    keep_loops : bool
        Whether loops run as structured programs; otherwise they are unrolled.
    is_proved : callable
        Says whether a proof shows that of the user's code only functions at these places run.
    varying : VaryingInputs, optional
        What has differed between the calls so far.
    takes_function : bool
        Whether the first argument is the user's function: that of another call has the same code,
        and may have captured something else.
    takes_parts : bool
        Whether it may be a method of another object then, or a partial function of other data.

    Returns
    -------
    tuple of (Variant, Any)
        The variant, and the result of the call.

    Raises
    ------
    NotRecordedError
        If the call cannot be recorded.
    """
    budget = budget or Budget()
    arguments = (*args, *kwargs.values())
    varying = VaryingInputs() if varying is None else varying
    given = args[0] if takes_function else None
    objects = _objects_in(arguments[takes_function:])
    if takes_function:
        objects += _behind(given) if takes_parts else [(given, frozenset())]
    outside, functions, anew, names = _outer_reads(f, also, objects, given)
    variables = _variables_in(outside, anew)
    varying.note(arguments, given, variables)
    is_only_thread, places = _is_only_thread(), places_of(functions)
    watch, states = Watch(places, is_proved(places)), generator_states(arguments)

    def attempt(strict: bool = False) -> tuple:
        restored(*states)  # so that each attempt draws the same numbers
        with watch:
            made = _record_once(
                f, args, kwargs, budget, keep_loops, strict, outside, varying, bound,
                takes_function, anew, names if takes_parts else None,
            )  # fmt: skip
        if watch.not_given:
            raise NotRecordedError(f"{watch.not_given} reads a variable that differs between calls")
        return made

    followed = varying.followed
    while True:
        # Another thread would read what attributes and captured variables are bound to meanwhile.
        bound = [
            d for d in variables if varying.has_variable(d) and (d.is_global or is_only_thread)
        ]
        watch.variables = {str(d.name) for d in bound if d.is_global}
        give_variables(functions, watch.variables)
        taken = {d.place for d in bound}
        fixed = [d for d in outside if d.place not in taken]
        if anew is not None:
            anew.choose_inputs(varying)
            fixed = anew.without_inputs(fixed)
        large = LargeArrays(fixed)
        try:
            tape, inputs, outputs, parameters = attempt()
            changed = _undo(outside, large)
            gives_nan = any(map(_is_nan, leaves_of(outputs.value)))
            if tape.assumes_no_nan and gives_nan and not changed:
                tape, inputs, outputs, parameters = attempt(strict=True)
                changed = _undo(outside, large)
            break
        except Exception as error:
            _undo(outside, large)
            if not keep_loops and getattr(error, "as_steps", False):
                keep_loops = True
            elif isinstance(error, _FINAL) or not varying.follow_less():
                varying.followed = followed  # what differs is not the reason
                raise
    if changed:
        raise NotRecordedError(f"{name_of(f)} changes {changed[0]!r}, which is not its own")
    if watch.unseen:
        raise NotRecordedError(f"runs {watch.unseen}, which its code does not name")
    program = _program(tape, inputs, outputs)
    _leave_out(bound, fixed)
    checks = checks_of(fixed, inputs.names, None if anew is None else given)
    inputs.checks[:0] = [*checks, *large.checks(inputs.names)]
    inputs.names.scope.update(MISMATCH=MISMATCH, ndarray=np.ndarray)
    loops = [(owner, not calls.is_one_step) for owner, calls in tape.loops.items()]
    builder = VariantBuilder(f, inputs, outputs, parameters, backend, loops, budget)
    variant = _built(builder, program, arguments, exact)
    variant.leaves_arguments = not inputs.are_written
    variant.variables = variables
    for effect_of_call in tape.late:  # nothing can fail any more
        effect_of_call()
    return variant, outputs.released()


def _is_only_thread() -> bool:
    """Whether there are no other threads, also none that `threading` does not know."""
    return len(sys._current_frames()) == 1


def _outer_reads(
    f: Callable, also: Sequence[Callable], objects: list[tuple[Any, frozenset[str]]], given: Any
) -> tuple[list[Dependency], list[types.FunctionType], FunctionMadeAnew | None, Mentioned]:
    """Return the outer variables that functions read, and the functions that may run.

    `objects` are those among the arguments. The third part is about the function `given`; None if
    something else refers to that, too. The last one has the names in the code.

    Raise if a variable cannot be guarded.
    """
    outside: list[Dependency] = []
    run: list[types.FunctionType] = []
    shared: set[int] = set()
    is_alone = type(given) is types.FunctionType
    searches = [dependencies(g, () if k else objects) for k, g in enumerate((f, *also))]
    for k, (g, search) in enumerate(zip((f, *also), searches, strict=True)):
        is_alone = is_alone and id(given) not in search.found_again
        shared |= search.found_again
        outside += search.found
        run += search.functions
        shared |= {id(c) for h in search.functions if h is not given for c in h.__closure__ or ()}
        if search.why_not:
            raise NotRecordedError(f"{name_of(g)} {search.why_not}")
        contents = [d.inside for d in search.found if d.inside is not None]
        if not all(c.is_small if k else c.is_whole for c in contents):
            raise NotRecordedError(f"{name_of(g)} reads more than can be compared")
    anew = FunctionMadeAnew(given, shared) if is_alone else None
    return outside, run, anew, searches[0].names


def _variables_in(outside: list[Dependency], anew: FunctionMadeAnew | None) -> list[Dependency]:
    """Return the variables that can be inputs, each once."""
    found: dict[Any, Dependency] = {}
    for v in [v for d in outside for v in d.variables()]:
        found.setdefault(v.place, v).is_global &= v.is_global
    return [v for v in found.values() if anew is None or not anew.owns(v.container)]


def _objects_in(x: Any) -> list[tuple[Any, frozenset[str]]]:
    """Return what is in a pytree besides numbers, arrays, texts and plain containers of them.

    With each come the attributes that are on all ways to it.
    """
    seen: Ways = {}
    waiting: list[tuple[Any, frozenset[str]]] = [(x, frozenset())]
    while waiting:
        x, path = waiting.pop()
        if not is_new_way(seen, x, path):  # an object may refer to itself
            continue
        path = seen[id(x)][1]
        has_attributes = not isinstance(x, (tuple, list, dict))
        for key, part in parts_of(x) or ():
            waiting.append((part, path | {key} if has_attributes else path))
    return [
        (x, path)
        for x, path in seen.values()
        if type(x) not in _READ and not isinstance(x, _READ_WITH_SUBCLASSES)
    ]


def _behind(f: Any) -> list[tuple[Any, frozenset[str]]]:
    """Return the function behind a method or partial function, and the objects that this holds."""
    if type(f) is types.MethodType:
        return [*_behind(f.__func__), *_objects_in((f.__self__,))]
    if type(f) is functools.partial:
        return [*_behind(f.func), *_objects_in((f.args, f.keywords))]
    return [(f, frozenset())]


def generator_states(given: tuple) -> list[tuple[Any, Any]]:
    """Return the random generators among the arguments, with their states."""
    generators = [g for g in leaves_of(given) if isinstance(g, np.random.Generator)]
    return [(g, g.bit_generator.state) for g in generators]


def _leave_out(bound: list[Dependency], outside: list[Dependency]) -> None:
    """Compare no longer the numbers that are inputs."""
    for d in bound:
        for holder in outside:
            holder.leave_out(d)


def _undo(outside: list[Dependency], large: LargeArrays) -> list[str]:
    """Undo what a function has changed in its outer variables; return their names."""
    return [d.label for d in outside if d.undo()] + large.undo()


def _record_once(
    f: Callable, args: tuple, kwargs: dict[str, Any], budget: Budget,
    keep_loops: bool, strict: bool, outside: list[Dependency], varying: VaryingInputs,
    bound: list[Dependency], takes_function: bool, anew: FunctionMadeAnew | None,
    mentioned: Mentioned | None,
) -> tuple[Recording, Inputs, Outputs, list[str]]:  # fmt: skip
    tape = Recording(strict, budget, keep_loops)
    inputs = Inputs(tape, Names(), varying, mentioned)
    parameters = [f"a{i}" for i in range(len(args) + len(kwargs))]
    given = list(zip(parameters, (*args, *kwargs.values()), strict=True))
    traced: list[Any] = []
    for name, a in given:
        is_taken = takes_function and not traced
        traced.append(inputs.function(a, name, anew) if is_taken else inputs.traced(a, name))
    variables = [(d, inputs.variable(d)) for d in bound]
    tape.variables = {d.place: tracer for d, tracer in variables}
    tape.generators = inputs.generators
    named = dict(zip(kwargs, traced[len(args) :], strict=True))
    watched = written_arguments.watch(inputs.containers())
    try:
        for d, tracer in variables:
            if not d.is_global:
                d.bind(tracer)
        with at_level(tape):
            y = intercept(f)(*traced[: len(args)], **named)
        outputs = Outputs(tape, y, inputs, [d.value for d in outside])
    except NotRecordedError as error:
        error.loops = list(tape.loops)
        raise
    finally:
        changed = [d.label for d, tracer in variables if not _released(d, tracer, inputs)]
        written_arguments.end_watch(watched)
        has_changed = inputs.have_changed()
        tape.close()
    if changed:
        raise NotRecordedError(f"changes {changed[0]!r}, which is not its own")
    if has_changed:
        raise NotRecordedError("changes an argument that holds neither floats nor arrays")
    if tape.spoilt:
        raise NotRecordedError(tape.spoilt)
    if tape.has_changed():
        raise NotRecordedError("a function without source writes into an array after its use")
    inputs.check_written(f, given, any(d.may_be_written() for d in outside))
    return tape, inputs, outputs, parameters


def _released(d: Dependency, tracer: Any, inputs: Inputs) -> bool:
    """Bind a variable to its own value again; return whether the function left it as it was."""
    is_bound = d.is_global or d.now() is tracer
    if not d.is_global:
        d.bind(d.value)
    return is_bound and inputs.is_unchanged(tracer)


def _program(tape: Recording, inputs: Inputs, outputs: Outputs) -> Program:
    steps = tape.steps
    if tape.assumes_no_nan:
        for x in outputs.leaves:
            if type(x) is Ref and is_inexact(tape.metas[x.i]):
                steps.append(Step(guard, (x, has_nan, False), None, -1))
    return Program(steps, tape.metas, inputs.numbers, outputs.leaves)


def _built(builder: VariantBuilder, program: Program, args: tuple, exact: bool) -> Variant:
    """Return a variant, with exact results if branches depend on the last bits."""
    has_branches = any(s.f is guard and s.args[1] is not has_nan for s in program.steps)
    can_be_rerun = not any(s.f is effect for s in program.steps)
    may_change_branch = has_branches and can_be_rerun
    variant = builder.variant(program, last=not may_change_branch)
    if may_change_branch and (exact or _changes_branch(variant, args)):
        program.exact = read_by_guards(program.steps)
        return builder.variant(program, last=True)
    builder.promote(variant)
    return variant


def _changes_branch(variant: Variant, args: tuple) -> bool:
    """Whether a program fails its own guards, because a branch depends on the last bits."""
    try:
        return variant.run(*args) is MISMATCH
    except Exception:  # a later call that raises it runs as written
        return False


def _is_nan(x: Any) -> bool:
    if isinstance(x, (float, complex)):
        return x != x
    is_inexact = isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fc"
    return is_inexact and bool(np.isnan(x).any())
