"""Dispatch calls of functions with loops to structured programs.

A function is traced at first, until tracing has taken as long as reading its source would. Then a
structured program is made, specialized to the kinds of the arguments. A call becomes one node of
the tape, and its pullback is the program's reverse sweep.

A program either does exactly what the function does or is not used. Calls with aliased arrays,
arguments that a program does not accept, or exceptions are traced instead. So are cotangents that
are not finite, because rules decide about those.
"""

from __future__ import annotations

import ast
import functools
import inspect
import time
import types
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff import caches
from autodiff.dispatch.arguments import innermost
from autodiff.errors import DifferentiationError
from autodiff.intercept.runtime.replacements import traced_body
from autodiff.intercept.source.library_code import is_library, is_of_library, is_ours
from autodiff.intercept.source.rewritten_code import definition_of, is_inside
from autodiff.repeatable import is_repeatable
from autodiff.structured.argument_forms import Flattener, key_of_form
from autodiff.structured.call_nodes import (
    can_run,
    finished,
    kept_of,
    key_of,
    plain_and_active,
    recorded,
    variables_of,
    with_attributes,
)
from autodiff.structured.form.function_ir import Items
from autodiff.structured.form.kinds import UNKNOWN, BindsAttributeError, UnsupportedError
from autodiff.structured.form.plain_classes import is_plain_class
from autodiff.structured.levels import Callee, call_at_levels, has_levels
from autodiff.structured.list_arguments import ListArgument
from autodiff.structured.program_runs import ProgramRun
from autodiff.structured.separate_loops import in_parts
from autodiff.structured.settings import Settings, TracedTimes
from autodiff.trace.checks.decisions import MaySearch, UnnotedCall, may_be_asked
from autodiff.trace.tape import CONSTANT, Tape
from autodiff.trace.trace_stack import is_recording, program_tape
from autodiff.trace.tracer import TRACERS, bare
from chainrules_core.interpreter.noticed import within
from chainrules_core.rule import Rule

if TYPE_CHECKING:
    from autodiff.structured.runtime import Structured

_MOST_KINDS, _MOST_OBJECTS = 32, 8
"""The most programs of a function; and the most before objects are split into their attributes."""
_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_MOST_FAILURES = 3


# From the id of a code object (see `caches.keep_with`) to its programs: without checkpoints under
# False, with checkpoints under True.
_programs: dict[int, tuple] = caches.register("structured programs", {})


def _forget(rule: Rule) -> None:
    """Drop the programs that call, or may have inlined, a function whose rules have changed."""
    f: Any = rule.f
    is_function = type(f) is types.FunctionType
    may_be_inlined = (is_function and not (is_ours(f) or is_library(f))) or (
        isinstance(f, type) and not is_of_library(f)
    )
    for _, of_code in list(_programs.values()):
        for programs in list(of_code.values()):
            for key, program in list(programs.known.items()):
                if program is None or may_be_inlined or f in program.called:
                    programs.known.pop(key, None)


def _end(key: int, name: str) -> None:
    """Drop the programs of a module: they hold its globals, and so keep its code alive."""
    for code in list(_programs):  # not its items: garbage collection may drop some meanwhile
        _, of_code = _programs.get(code, (None, {}))
        if any(programs.globals == key for programs in list(of_code.values())):
            _programs.pop(code, None)


caches.on_rule_change(_forget)
caches.on_module_end(_end)


def calling(g: types.FunctionType, body: Callable) -> Callable:
    """Return the replacement for a function with loops.

    Parameters
    ----------
    g : FunctionType
        The function.
    body : callable
        The function, rewritten so that its calls are intercepted.
    """
    if is_ours(g):
        return body
    programs = _programs_of(g)
    # The replacement does not keep the function alive.
    return functools.partial(_called, programs, weakref.ref(g), body)


def _programs_of(g: types.FunctionType, has_checkpoints: bool = False) -> Programs:
    known = _programs.get(id(g.__code__))
    of_code: dict[bool, Programs] = {} if known is None else known[1]
    if has_checkpoints not in of_code:
        of_code[has_checkpoints] = Programs(g, has_checkpoints)
    if known is None:
        caches.is_of_module(g.__globals__)
        caches.keep_with(_programs, g.__code__, of_code)
    return of_code[has_checkpoints]


def call_with_checkpoints(g: types.FunctionType, body: Callable, args: tuple, kwargs: dict) -> Any:
    """Call a function whose outermost loops keep only a few checkpoints of their state.

    Raises
    ------
    DifferentiationError
        If no program can be made of the function.
    """
    programs = _programs_of(g, has_checkpoints=True)
    return _called(programs, weakref.ref(g), body, *args, **kwargs)


def _called(
    programs: Programs, function: weakref.ref, body: Callable, /, *args: Any, **kwargs: Any
) -> Any:
    g = function()
    if g is None or not Settings.enabled:
        return body(*args, **kwargs)
    if kwargs or len(args) < programs.n or programs.keywords:
        placed = _placed(g, args, kwargs)
        if placed is None:
            return body(*args, **kwargs)
        args = placed
    if len(args) != programs.n:
        return body(*args)
    taken = Flattener(programs.takes_objects_apart, programs.takes_lists_whole)
    own = taken.form_of_captured(g) if programs.takes_captured else None
    form = taken.forms_of(args)
    if own is not None:
        form, args = (own, *form), (g, *args)
    body = functools.partial(_traced, programs, None if own is not None else g, body)
    leaves = tuple(taken.leaves)
    tape = programs.tape_of(leaves)
    if tape is None:
        recording = program_tape()
        if recording is not None:
            return recording.with_loops(programs, g, body, args, leaves, form)
        return programs.call_at_levels(g, body, args, leaves, form)
    return programs.call(g, body, args, leaves, form, tape, taken.objects)


def _traced(
    programs: Programs, g: types.FunctionType | None, body: Callable, /, *args: Any
) -> Any:  # fmt: skip
    """Trace a function; it is the first argument if its captured values differ between calls."""
    if g is None:
        g, *args = args  # type: ignore[assignment] # a list
        body = traced_body(g)
    is_divided = programs.is_divided and programs.may_divide()
    divided = in_parts(g, _programs_of) if is_divided else None
    if divided is not None:
        body, programs.separate_loops = divided
    n, start = len(args) - len(programs.keywords), time.perf_counter()
    result = body(*args[:n], **dict(zip(programs.keywords, args[n:], strict=True)))
    programs.last = time.perf_counter() - start
    return result


def _placed(g: types.FunctionType, args: tuple, kwargs: dict[str, Any]) -> tuple | None:
    """Return all arguments in parameter order; None if the call does not match the signature."""
    code, defaults = g.__code__, g.__defaults__ or ()
    if code.co_posonlyargcount or code.co_flags & _VARIADIC or len(args) > code.co_argcount:
        return None
    rest = code.co_varnames[len(args) : code.co_argcount + code.co_kwonlyargcount]
    if not kwargs.keys() <= set(rest):
        return None
    first, named = code.co_argcount - len(defaults), g.__kwdefaults__ or {}
    placed = list(args)
    for i, name in enumerate(rest, len(args)):
        if name in kwargs:
            placed.append(kwargs[name])
        elif first <= i < code.co_argcount:
            placed.append(defaults[i - first])
        elif name in named:
            placed.append(named[name])
        else:
            return None
    return tuple(placed)


class Programs(TracedTimes):
    """The programs of one function, by the kinds of its arguments.

    Functions with the same code share them: each call compares what the function has captured.
    """

    def __init__(self, g: types.FunctionType, has_checkpoints: bool = False) -> None:
        super().__init__()
        self.has_checkpoints = has_checkpoints
        self.globals = id(g.__globals__)
        self.known: dict[tuple, Structured | None] = {}
        self.failures = 0
        self.takes_objects_apart = False  # it assigns their attributes, or they are often new
        self.takes_captured = is_inside(g)  # also once a call had new captured values
        self.takes_lists_whole = False  # one variable for each number did not work
        self.varying: frozenset[str] = frozenset()  # names of numbers outside that differ
        self.is_of_tangent = False  # the function is the tangent function of a program
        self.is_divided = False  # its loops have programs of their own, because it has none
        self.separate_loops: tuple = ()
        self.why: str | None = None
        self.name, self.file = g.__qualname__, g.__code__.co_filename
        self._function = weakref.ref(g)
        code = g.__code__
        self.n = code.co_argcount + code.co_kwonlyargcount
        self.keywords = code.co_varnames[code.co_argcount : self.n]

    @property
    def lines(self) -> list[int]:
        """The lines of the function's loops; empty once it has been collected."""
        g = self._function()
        found = definition_of(g) if g is not None else None
        nodes = ast.walk(found.node) if found is not None else ()
        return sorted(part.lineno for part in nodes if isinstance(part, (ast.For, ast.While)))

    def tape_of(self, leaves: tuple) -> Tape | None:
        """Return the tape that all traced leaves are on, if a program may run the call."""
        found: Tape | None = None
        for a in leaves:
            kind = type(a)
            if kind not in TRACERS and kind is not ListArgument:
                continue
            for tape in a.tapes if kind is ListArgument else (a._tape,):
                if tape is CONSTANT:
                    continue
                if found is None:
                    found = tape
                elif tape is not found:
                    return None
        if found is None or self.failures > _MOST_FAILURES:
            return None
        if type(found) is not Tape or found.observer is not None or not is_recording(found):
            return None
        return found

    def call(
        self, g: types.FunctionType, body: Callable, args: tuple, leaves: tuple, form: tuple,
        tape: Tape, objects: list, otherwise: Callable | None = None,
    ) -> Any:  # fmt: skip
        """Run the call by a program if there is one, else by `otherwise` (default: trace it)."""
        traced = otherwise or body
        if not self.known and not self.is_worth_it(leaves):
            return self.timed(traced, args)
        plain, active = plain_and_active(leaves)
        if any(map(_is_nested, leaves)):
            return self.call_at_levels(g, body, args, leaves, form, otherwise)
        kinds = key_of(plain, active)
        if kinds is None or id(g.__globals__) != self.globals:
            return traced(*args)
        key = (key_of_form(form), kinds)
        program = self.known.get(key, UNKNOWN)
        if program is UNKNOWN:
            has_objects = any(is_plain_class(type(v)) for v in plain)
            is_full = len(self.known) >= (_MOST_OBJECTS if has_objects else _MOST_KINDS)
            are_new = has_objects and not self.takes_objects_apart
            if are_new and (is_full or any(map(_has_lost_objects, self.known.values()))):
                self.takes_objects_apart = is_full = True
            if not self.is_worth_it(leaves) or is_full:
                return self.timed(traced, args)
            program = self.known[key] = self.made(g, form, plain, active)
            self.takes_lists_whole |= program is None and _has_short_lists(form)
        if program is None:
            if self.has_checkpoints:
                raise DifferentiationError(
                    f"checkpoint_loops({self.name}): the loops cannot keep few states, because the "
                    f"function is not read from its source: {self.why}. Write it without that, or "
                    "put the steps of the loop into a function and call checkpoint(step)."
                )
            return traced(*args)
        outside = program.reads.values(g)
        if outside is None:
            del self.known[key]
            self._note_changed(program, g)
            return traced(*args)
        if not (can_run(program, leaves, outside) and program.may_bind(objects, leaves)):
            return traced(*args)
        values = tuple([kept_of(program, i, v, tape) if type(v) is np.ndarray and v is a else v
                        for i, (v, a) in enumerate(zip(plain, leaves, strict=True))])  # fmt: skip
        values += tuple([tape.kept(v) if type(v) is np.ndarray else v for v in outside])
        run = None
        try:
            run = ProgramRun(program, g, body, form, values)
        except Exception as error:
            # The function itself fails, or the program does not accept a value.
            program.failure = f"it failed ({type(error).__name__}: {error})"
            self.failures += 1
        if run is None:  # outside the handler: `error` must not be the context of a user's error
            return traced(*args)
        if program.may_search:
            places = [a._index for a, _ in variables_of(program, leaves)]
            is_mask = program.may_search is MaySearch.BY_RESULTS and may_be_asked(tape)
            tape.decisions[run] = UnnotedCall(places, run.traced_again, is_mask)
        return with_attributes(program, recorded(run, leaves, tape), objects)

    def _note_changed(self, program: Structured, g: types.FunctionType) -> None:
        """Note what has changed outside a program: it becomes an argument of the next one."""
        numbers = program.reads.changed_numbers()
        if _has_lost_objects(program):  # another object has got the same id
            self.takes_objects_apart = True
        elif not numbers <= self.varying:
            self.varying |= numbers
        elif g.__closure__ and not self.takes_captured:
            self.takes_captured = True
        elif program.outside_objects and not self.takes_objects_apart:
            self.takes_objects_apart = True
        else:
            self.failures += 1

    def call_at_levels(
        self, g: types.FunctionType, body: Callable, args: tuple, leaves: tuple, form: tuple,
        otherwise: Callable | None = None,
    ) -> Any:  # fmt: skip
        """Run a call in forward mode or at several trace levels."""
        traced = otherwise or body
        if self.is_of_tangent and not has_levels(leaves):
            run = self._without_variables(g, body, leaves, form)
            return traced(*args) if run is None else finished(run.program, run.outs, leaves)
        if self.has_checkpoints or not has_levels(leaves):
            return traced(*args)
        if not self.is_worth_it(leaves):
            return self.timed(traced, args)
        result = self.at_levels(g, body, leaves, form)
        return traced(*args) if result is NotImplemented else result

    def _without_variables(
        self, g: types.FunctionType, body: Callable, leaves: tuple, form: tuple
    ) -> ProgramRun | None:
        """Run a call without active arguments; None if no program can."""
        values = tuple(map(bare, leaves))
        program = self.program_with(g, form, values, ())
        callee = None if program is None else Callee(self, g, body, form, program)
        if callee is None or not callee.is_current or callee.program.bound:
            return None
        return callee.run(values) if can_run(callee.program, leaves, callee.outside) else None

    def at_levels(self, g: types.FunctionType, body: Callable, leaves: tuple, form: tuple) -> Any:
        """Run such a call by programs; NotImplemented if they cannot."""
        program = self.program_for(g, form, leaves)
        if program is None:
            return NotImplemented
        return call_at_levels(Callee(self, g, body, form, program), leaves)

    def beneath(self, g: types.FunctionType, body: Callable, leaves: tuple, form: tuple) -> Any:
        """Run a call at the trace levels of its leaves; NotImplemented if no program can.

        The function itself does not run.
        """
        if not has_levels(leaves):
            run = self._without_variables(g, body, leaves, form)
            return NotImplemented if run is None else finished(run.program, run.outs, leaves)
        level: Any = innermost(leaves, {})
        if level is not None and level.program:
            return level.as_step(self, g, body, leaves, form)
        tape = self.tape_of(leaves)
        if tape is not None and not any(map(_is_nested, leaves)):
            return self.call(g, body, (), leaves, form, tape, [], lambda: NotImplemented)
        return self.at_levels(g, body, leaves, form)

    @staticmethod
    def call_tangent(g: types.FunctionType, given: Sequence) -> Any:
        """Call the tangent function of a program at the trace levels of its arguments."""
        return calling(g, traced_body(g))(*given)

    @staticmethod
    def of_tangent(g: types.FunctionType) -> Programs:
        """Return the programs of the tangent function of a program."""
        programs = _programs_of(g)
        programs.is_of_tangent = True
        return programs

    def may_divide(self) -> bool:
        """Whether calls take long enough for programs of single loops, or there are such."""
        if self.last >= Settings.least or program_tape() is not None:
            return True
        return any(any(loop.programs.known.values()) for loop in self.separate_loops)

    @property
    def has_none(self) -> bool:
        """Whether the source was read, and there is no program."""
        return bool(self.known) and not any(self.known.values())

    def is_worth_it(self, leaves: tuple) -> bool:
        """Whether a program is expected to pay for reading the source."""
        if self.has_checkpoints or self.is_of_tangent or is_repeatable():
            return True
        if self.has_paid():
            return True
        # At the first call, estimate the number of loop iterations.
        return not self.spent and self.turns(leaves) >= Settings.turns

    def turns(self, leaves: tuple) -> int:
        """Estimate how many iterations the loops of a call have, from its largest argument."""
        return self._size(leaves) ** self.depth

    @functools.cached_property
    def depth(self) -> int:
        """The depth of the deepest loop nest in the function itself."""
        g = self._function()
        found = definition_of(g) if g is not None else None
        return 0 if found is None else _depth_of(found.node)

    def _size(self, leaves: tuple) -> int:
        """Return the largest integer argument or array length."""
        found = 1
        for a in map(bare, leaves):
            if type(a) is int:
                found = max(found, a)
            elif type(a) is np.ndarray:
                found = max([found, *a.shape])
            elif type(a) is ListArgument:
                found = max(found, *map(len, a.own))
        return found

    def program_for(self, g: types.FunctionType, form: tuple, leaves: tuple) -> Structured | None:
        """Return a program for a call with these traced leaves, if one can be made."""
        return self.program_with(g, form, *plain_and_active(leaves))

    def program_with(
        self, g: types.FunctionType, form: tuple, values: tuple, active: tuple[int, ...]
    ) -> Structured | None:
        """Return a program for arguments like these, with some active, if one can be made."""
        kinds = key_of(values, active)
        if kinds is None or id(g.__globals__) != self.globals:
            return None
        if any(is_plain_class(type(v)) for v in values):
            return None
        key = (key_of_form(form), kinds)
        if key not in self.known and len(self.known) < _MOST_KINDS:
            self.known[key] = self.made(g, form, values, active)
        return self.known.get(key)

    def made(
        self, g: types.FunctionType, form: tuple, values: tuple, active: tuple[int, ...]
    ) -> Structured | None:
        """Make a program for arguments like these; return None if that fails."""
        # Imported at the first loop, because it loads all of the reader and the code generator.
        from autodiff.structured.runtime import Structured

        try:
            with within(None):  # errors of calls with sample values are handled here
                return Structured(g, form, values, active, self.has_checkpoints, self.varying)
        except BindsAttributeError as error:
            self.why, self.takes_objects_apart = str(error), True
        except UnsupportedError as error:
            self.why = str(error)
        except Exception as error:  # a bug in the reader: the function is traced
            self.why = f"{type(error).__name__} while it was read: {error}"
        self.is_divided = not (self.has_checkpoints or self.is_of_tangent)
        return None


def _has_lost_objects(program: Structured | None) -> bool:
    """Whether an object that a program is made for is gone: each call makes one anew."""
    return program is not None and any(find() is None for find in program.outside_objects)


def _is_nested(a: Any) -> bool:
    """Whether an argument is traced at several levels."""
    if type(a) is ListArgument:
        return a.is_nested
    return type(a) in TRACERS and type(a._value) in TRACERS


def _has_short_lists(form: Any) -> bool:
    """Whether a form has lists with a variable for each item."""
    if type(form) is Items:
        return True
    parts = form.values() if isinstance(form, dict) else form
    return isinstance(form, (tuple, dict)) and any(map(_has_short_lists, parts))


def _depth_of(node: ast.AST) -> int:
    """Return the depth of the deepest loop nest."""
    inner = max(map(_depth_of, ast.iter_child_nodes(node)), default=0)
    return inner + isinstance(node, (ast.For, ast.While))
