"""From a call to a variant: the call is recorded, and what it read is guarded."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

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
from autodiff.compiler.recording.captured_guards import Search, dependencies
from autodiff.compiler.recording.changing_objects import Ways, is_new_way
from autodiff.compiler.recording.content_guards import SIMPLE
from autodiff.compiler.recording.dependency import Dependency, large_arrays
from autodiff.compiler.recording.executed_code import Place, Watch, places_of
from autodiff.compiler.recording.functions_made_anew import FunctionMadeAnew
from autodiff.compiler.recording.ir import (
    Program,
    Ref,
    Step,
    effect,
    guard,
    is_inexact,
    read_by_guards,
)
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


class FirstArgument(NamedTuple):
    """What holds of the user's function, if that is the first argument of a call.

    That of another call has the same code, and may have captured something else.

    Attributes
    ----------
    takes_parts : bool
        Whether it may also be a method of another object, or a partial function of other data.
    is_proved : callable
        Says whether a proof shows that of the user's code only functions at these places run.
    """

    takes_parts: bool
    is_proved: Callable[[set[Place]], bool]


def recorded(
    f: Callable,
    args: tuple,
    kwargs: dict[str, Any],
    backend: str,
    also: Sequence[Callable] = (),
    exact: bool = False,
    budget: Budget | None = None,
    keep_loops: bool = False,
    varying: VaryingInputs | None = None,
    first: FirstArgument | None = None,
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
    varying : VaryingInputs, optional
        What has differed between the calls so far.
    first : FirstArgument, optional
        About the user's function, if that is the first argument.

    Returns
    -------
    tuple of (Variant, Any)
        The variant, and the result of the call.

    Raises
    ------
    NotRecordedError
        If the call cannot be recorded.
    """
    call = _RecordedCall(f, args, kwargs, also, budget or Budget(), varying, first)
    tape, inputs, outputs = call.record(keep_loops)
    program = _program(tape, inputs, outputs)
    inputs.checks[:0] = call.checks(inputs.names)
    inputs.names.scope.update(MISMATCH=MISMATCH, ndarray=np.ndarray)
    loops = [(owner, not calls.is_one_step) for owner, calls in tape.loops.items()]
    builder = VariantBuilder(f, inputs, outputs, call.parameters, backend, loops, call.budget)
    variant = _built(builder, program, call.arguments, exact)
    variant.leaves_arguments = not inputs.are_written
    variant.variables = call.variables
    for effect_of_call in tape.late:  # nothing can fail any more
        effect_of_call()
    return variant, outputs.released()


class _RecordedCall:
    """A call that is recorded, and the variables outside that its code reads.

    Attributes
    ----------
    arguments : tuple
        The values of all arguments.
    parameters : list of str
        Their names in the source of the program.
    outside, fixed : list of Dependency
        All variables outside, and those that the program compares.
    variables, bound : list of Dependency
        Those that can be inputs, each once, and those that are.
    """

    def __init__(
        self, f: Callable, args: tuple, kwargs: dict[str, Any], also: Sequence[Callable],
        budget: Budget, varying: VaryingInputs | None, first: FirstArgument | None,
    ) -> None:  # fmt: skip
        self.f, self.args, self.kwargs = f, args, kwargs
        self.budget = budget
        self.varying = VaryingInputs() if varying is None else varying
        self.arguments = (*args, *kwargs.values())
        self.parameters = [f"a{i}" for i in range(len(self.arguments))]
        self.takes_function = first is not None
        takes_parts = first is not None and first.takes_parts
        self.given = args[0] if self.takes_function else None
        objects = _objects_in(self.arguments[self.takes_function :])
        if self.takes_function:
            objects += _behind(self.given) if takes_parts else [(self.given, frozenset())]
        searches = [dependencies(g, () if k else objects) for k, g in enumerate((f, *also))]
        self._names = searches[0].names if takes_parts else None
        self.outside = [d for search in searches for d in search.found]
        self._functions = [g for search in searches for g in search.functions]
        self.anew = self._function_made_anew(searches)
        self._check_guards(searches)
        found: dict[Any, Dependency] = {}
        for v in [v for d in self.outside for v in d.variables()]:
            found.setdefault(v.place, v).is_global &= v.is_global
        owns = (lambda _: False) if self.anew is None else self.anew.owns
        self.variables = [v for v in found.values() if not owns(v.container)]
        self.varying.note(self.arguments, self.given, self.variables)
        self.bound: list[Dependency] = []
        self.fixed: list[Dependency] = []
        places = places_of(self._functions)
        self._watch = Watch(places, first is not None and first.is_proved(places))
        self._states = generator_states(self.arguments)

    def _function_made_anew(self, searches: list[Search]) -> FunctionMadeAnew | None:
        """Return what is known of the function `given`; None if something else refers to it."""
        again = {i for search in searches for i in search.found_again}
        if type(self.given) is not types.FunctionType or id(self.given) in again:
            return None
        others = [g for g in self._functions if g is not self.given]
        return FunctionMadeAnew(
            self.given, again | {id(c) for g in others for c in g.__closure__ or ()}
        )

    def _check_guards(self, searches: list[Search]) -> None:
        """Raise if a variable cannot be guarded, or takes too long to compare."""
        for k, search in enumerate(searches):
            name = name_of(self.f)
            if search.why_not:
                raise NotRecordedError(f"{name} {search.why_not}")
            contents = [d.inside for d in search.found if d.inside is not None]
            is_short = k or self.takes_function
            if not all(c.is_small if is_short else c.is_whole for c in contents):
                raise NotRecordedError(f"{name} reads more than can be compared")

    def record(self, keep_loops: bool) -> tuple[Recording, Inputs, Outputs]:
        """Record the call, with as many inputs as the recording can follow."""
        followed, is_only_thread = self.varying.followed, _is_only_thread()
        while True:
            # Another thread would read what attributes and captured variables are bound to.
            self._choose_inputs(is_only_thread)
            try:
                made = self._attempt(keep_loops)
                changed = self._undo()
                tape, _, outputs = made
                gives_nan = any(map(_is_nan, leaves_of(outputs.value)))
                if tape.assumes_no_nan and gives_nan and not changed:
                    made = self._attempt(keep_loops, strict=True)
                    changed = self._undo()
                break
            except Exception as error:
                self._undo()
                if not keep_loops and getattr(error, "as_steps", False):
                    keep_loops = True
                elif isinstance(error, _FINAL) or not self.varying.follow_less():
                    self.varying.followed = followed  # what differs is not the reason
                    raise
        if changed:
            name = name_of(self.f)
            raise NotRecordedError(f"{name} changes {changed[0]!r}, which is not its own")
        if self._watch.unseen:
            raise NotRecordedError(f"runs {self._watch.unseen}, which its code does not name")
        return made

    def _choose_inputs(self, is_only_thread: bool) -> None:
        """Choose which variables are inputs, and which the program compares."""
        self.bound = [
            d for d in self.variables
            if self.varying.has_variable(d) and (d.is_global or is_only_thread)
        ]  # fmt: skip
        self._watch.variables = {str(d.name) for d in self.bound if d.is_global}
        give_variables(self._functions, self._watch.variables)
        taken = {d.place for d in self.bound}
        self.fixed = [d for d in self.outside if d.place not in taken]
        if self.anew is not None:
            self.anew.choose_inputs(self.varying)
            self.fixed = self.anew.without_inputs(self.fixed)
        self.fixed += large_arrays(self.fixed)

    def _undo(self) -> list[str]:
        """Undo what the function has changed in its outer variables; return their names."""
        every = {id(d): d for d in (*self.outside, *self.fixed)}
        return [d.label for d in every.values() if d.undo()]

    def checks(self, names: Names) -> list[str]:
        """Return the statements that check whether outside variables have changed."""
        for d in self.bound:  # they are inputs, so they are not compared
            for holder in self.fixed:
                holder.leave_out(d)
        given = None if self.anew is None else self.given
        found = [check for d in self.fixed for check in d.checks(names, given)]
        return list(dict.fromkeys(found))  # several functions may read one variable

    def _attempt(self, keep_loops: bool, strict: bool = False) -> tuple:
        restored(*self._states)  # so that each attempt draws the same numbers
        with self._watch:
            made = self._record_once(Recording(strict, self.budget, keep_loops))
        if self._watch.not_given:
            raise NotRecordedError(
                f"{self._watch.not_given} reads a variable that differs between calls"
            )
        return made

    def _record_once(self, tape: Recording) -> tuple[Recording, Inputs, Outputs]:
        inputs = Inputs(tape, Names(), self.varying, self._names)
        given = list(zip(self.parameters, self.arguments, strict=True))
        n = int(self.takes_function)
        traced = [inputs.function(a, name, self.anew) for name, a in given[:n]]
        traced += [inputs.traced(a, name) for name, a in given[n:]]
        variables = [(d, inputs.variable(d)) for d in self.bound]
        tape.variables = {d.place: tracer for d, tracer in variables}
        tape.generators = inputs.generators
        n = len(self.args)
        named = dict(zip(self.kwargs, traced[n:], strict=True))
        watched = written_arguments.watch(inputs.containers())
        try:
            for d, tracer in variables:
                if not d.is_global:
                    d.bind(tracer)
            with at_level(tape):
                y = intercept(self.f)(*traced[:n], **named)
            outputs = Outputs(tape, y, inputs, [d.value for d in self.outside])
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
        inputs.check_written(self.f, given, any(d.may_be_written() for d in self.outside))
        return tape, inputs, outputs


def _is_only_thread() -> bool:
    """Whether there are no other threads, also none that `threading` does not know."""
    return len(sys._current_frames()) == 1


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
