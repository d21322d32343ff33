"""Calls of functions with loops in a recording: unrolled, or one step that runs a program.

A recording holds each operation of each iteration. If it becomes long, and machine code can run all
loops of a function, the call is recorded again as two steps: one runs the program, the other its
reverse sweep.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from autodiff.mutation.memory_layout import unshared
from autodiff.structured import runtime
from autodiff.structured.call_nodes import (
    can_run,
    recorded,
    shares_what_it_writes,
    variables_of,
)
from autodiff.structured.calls import Programs
from autodiff.structured.levels import Callee, call_at_levels
from autodiff.structured.list_arguments import ListArgument
from autodiff.structured.program_runs import ProgramRun
from autodiff.structured.runtime import Structured
from autodiff.structured.runtime_library import ChangedError
from autodiff.trace.checks.decisions import MaySearch, UnnotedCall, may_be_asked
from autodiff.trace.tape import CONSTANT, InsideProgram
from autodiff.trace.tracer import TRACERS, bare
from chainrules_core.interpreter.quiet import quiet

TOO_LONG, LONG_AS_SOURCE, LONG = 30_000, 8_000, 3_000
"""The most steps of an unrolled loop: if no step can run its program; if the program is not all
machine code; and if straight-line code would not be much faster than the program. Longer recordings
take seconds to compile."""
SECONDS_AS_SOURCE = 0.25
"""The most seconds of a recording that a program can replace."""

_SHARE_OF_COMPILING = 0.1
"""If the run that finds the broadcasts takes such a share of the time of compiling, the first call
runs as machine code. Otherwise its source runs, which shows infinite slopes before anything is
compiled."""

_LONG_AT_LEVELS = 2_000
"""The fewest steps of a loop at several trace levels that becomes one step. Programs make three or
four calls there; shorter recordings are faster as straight-line code, and quick to compile."""


class Unrolled:
    """The calls of a function with loops that a recording unrolls.

    Attributes
    ----------
    is_divided : bool
        Whether its loops have programs of their own.
    is_one_step : bool
        Whether a call was recorded as one step instead.
    """

    __slots__ = ("finished", "is_divided", "is_one_step", "last", "start")

    def __init__(self) -> None:
        self.finished = 0
        self.is_divided = False
        self.is_one_step = False
        self.start: int | None = None

    def call(
        self, steps: list, programs: Programs, g: types.FunctionType, form: tuple, leaves: tuple,
        body: Callable, args: tuple,
    ) -> Any:  # fmt: skip
        """Run the call, and count the steps that it records."""
        if self.start is not None:  # a recursion
            return body(*args)
        self.begin(steps, programs, g, form, leaves)
        try:
            return body(*args)
        finally:
            self.end(steps)

    def begin(
        self, steps: list, programs: Programs, g: types.FunctionType, form: tuple, leaves: tuple
    ) -> None:  # fmt: skip
        """Begin to count the steps of a call."""
        self.start = len(steps)
        self.last = programs, g, form, leaves
        self.is_divided = programs.is_divided

    def end(self, steps: list) -> None:
        """Count the steps that a call has recorded."""
        if self.start is not None:
            self.finished += len(steps) - self.start
            self.start = None

    def seems_long(self) -> bool:
        """Whether straight-line code of a call would probably be too long, even of numbers."""
        if self.start is None:
            return False
        programs, _, _, leaves = self.last
        return programs.turns(leaves) >= LONG_AS_SOURCE

    def _program(self, n: int) -> Structured | None:
        """Return the program of these calls, if they recorded most of `n` steps."""
        if not self._records_most(n):
            return None
        programs, g, form, leaves = self.last
        return programs.program_for(g, form, leaves)

    def _records_most(self, n: int) -> bool:
        own = self.finished + (0 if self.start is None else n - self.start)
        return 2 * own >= n

    def should_be_steps(self, recording: Any, n: int) -> bool:
        """Whether a program should run these calls, which recorded most of `n` steps, as steps."""
        program = self._program(n)
        if program is None:  # its loops may have programs of their own
            return self._records_most(n) and self.last[0].is_divided and not self.is_divided
        if program.spent < program.due and not recording.budget.has_time_to_compile(program.due):
            return False  # later: it becomes machine code once it has run for long enough
        programs, g, form, leaves = self.last
        can_run = _level_of(recording, leaves) is not None
        if not can_run and n < _LONG_AT_LEVELS:
            return False
        callee = Callee(programs, g, g, form, program)
        return _can_be_step(program, g, leaves) and (can_run or _has_tangent(callee, leaves))

    def should_run_as_written(self, recording: Any, n: int, seconds: float) -> bool:
        """Whether a program should run these calls in place of a recording of `n` steps.

        `seconds` says how long the recording has taken.
        """
        program = self._program(n)
        if program is None or not (program.active or program.has_derivatives):
            return False
        programs, _, _, leaves = self.last
        if _level_of(recording, leaves) is None:
            return n >= TOO_LONG
        is_fast = runtime.has_llvm() or recording.holds_mostly_numbers()
        most = LONG_AS_SOURCE if is_fast else LONG
        return seconds > SECONDS_AS_SOURCE or n >= most or programs.turns(leaves) >= most


class ProgramStep:
    """The step that runs a program: it returns the program's outputs, and the run.

    Integers are left out: a recording would compare them in each call.
    """

    def __init__(
        self, program: Structured, g: types.FunctionType, body: Callable, form: tuple,
        leaves: tuple,
    ) -> None:  # fmt: skip
        self.program = program
        self.g = g
        self.body = body
        self.form = form
        self.lists = {i: a for i, a in enumerate(leaves) if type(a) is ListArgument}
        self.given: dict[int, ListArgument] = {}  # the lists of the last call, as arguments
        self.returned: tuple | None = None  # the form of the lists among the outputs
        self.__name__ = program.name

    def __call__(self, *values: Any) -> tuple:
        """Run the program."""
        outside = self.program.reads.values(self.g)
        if outside is None:
            raise ChangedError("what the function reads has changed")
        given = (*values, *outside)
        if self.lists:
            given = tuple([self._list(i, x) if i in self.lists else x
                           for i, x in enumerate(given)])  # fmt: skip
        if shares_what_it_writes(self.program, given):
            raise ChangedError("what the function writes into has another name")
        run = ProgramRun(self.program, self.g, self.body, self.form, given)
        form = None if run.lists is None else run.lists.form(run.copies.own)
        if self.returned is None:
            self.returned = form
        if form != self.returned:
            raise ChangedError("the lists that are returned have another form")
        return (*[None if type(x) is int else x for x in run.outs], run)

    def _list(self, i: int, x: Any) -> ListArgument | None:
        """Return a list as an argument: that of the last call if it has the same items."""
        found: ListArgument | None = self.given.get(i)
        if found is None or not _have_same_items(x, found.plain, len(found.classes)):
            found = self.lists[i].like(x)
            if found is not None:
                self.given[i] = found
        return found


def integer_of(run: ProgramRun, k: int) -> int:
    """Return an output of a run that is an integer: a number of iterations, say."""
    return run.outs[k]


def _have_same_items(x: Any, y: Any, depth: int) -> bool:
    """Whether two lists of the same structure, of so many levels, hold the very same items."""
    for _ in range(depth - 1):
        x, y = chain.from_iterable(x), chain.from_iterable(y)
    return all(map(operator.is_, x, y))


class Sweep:
    """The step that runs the reverse sweep of a program.

    Its arguments include all arrays that the run holds, so that no earlier step may overwrite them.
    It returns new memory and Python numbers, whether source or machine code has run.
    """

    def __init__(self, program: Structured) -> None:
        self.program = program
        self.__name__ = f"{program.name}_sweep"
        self.positions: list[int] | None = None  # the variables that have a cotangent

    def __call__(self, run: ProgramRun, bars: tuple, *held: Any) -> tuple:
        """Return the cotangents of the variables that have one."""
        with quiet():
            swept = run.swept(bars)
        if swept is None:
            raise FloatingPointError("a cotangent is not finite: rules decide about it")
        found = run.of_variables(swept, bars)
        if self.positions is None:
            self.positions = [i for i, x in enumerate(found) if x is not None]
        results = [x for x in found if x is not None]
        others: list[np.ndarray] | None = None
        for k, x in enumerate(results):
            kind = type(x)
            if kind is np.ndarray:
                if others is None:
                    others = [y for y in (*bars, *held) if type(y) is np.ndarray]
                results[k] = x = unshared(x, others)
                others.append(x)
            elif kind is np.float64 or kind is np.complex128:
                results[k] = x.item()
        return tuple(results)


class RecordedRun:
    """A run of a program whose outputs are values of a recording."""

    def __init__(
        self, recording: Any, program: Structured, outs: list, run: Any, given: tuple, leaves: tuple
    ) -> None:  # fmt: skip
        self.recording = recording
        self.program = program
        self.outs = outs
        self.is_active_output = run._value.is_active_output
        self.run = run
        self.given = given
        self.leaves = leaves
        self.n_variables = len(variables_of(program, leaves))

    def with_lists(self, outs: list) -> list:
        """Rebuild the lists among the outputs; reuse the user's own lists."""
        run = self.run._value
        if run.lists is None:
            return outs
        own = {
            id(mine): users
            for x, leaf in zip(run.values, self.leaves, strict=False)
            if type(x) is ListArgument
            for mine, users in zip(x.own, leaf.own, strict=True)
        }
        run.copies.own = {key: own.get(id(xs), xs) for key, xs in run.copies.own.items()}
        return run.with_lists(outs)

    def cotangents(self, bars: list[Any]) -> list:
        """Pull cotangents of all outputs back to all variables."""
        sweep = Sweep(self.program)
        held = [x for x in self.given if type(bare(x)) is np.ndarray]
        found = self.recording.call(sweep, (self.run, tuple(bars), *held, *self.outs), {})
        result: list[Any] = [None] * self.n_variables
        for i, bar in zip(sweep.positions or (), found, strict=True):
            result[i] = bar
        return result


def as_one_step(
    recording: Any, programs: Programs, g: types.FunctionType, body: Callable, leaves: tuple,
    form: tuple,
) -> Any:  # fmt: skip
    """Record a call as one step that runs a program; NotImplemented if none can."""
    tape = _level_of(recording, leaves)
    program = programs.program_for(g, form, leaves)
    if program is None or not _can_be_step(program, g, leaves):
        return NotImplemented
    callee = Callee(programs, g, body, form, program)
    if tape is None:
        return call_at_levels(callee, leaves) if _has_tangent(callee, leaves) else NotImplemented

    def without_level(a: Any) -> Any:
        if type(a) is ListArgument:
            return a.with_numbers(map(without_level, a.numbers()))
        is_inner = tape is not recording and type(a) in TRACERS and a._tape is tape
        return a._value if is_inner else a

    given = tuple(map(without_level, leaves))
    run = _as_step(recording, callee, given, leaves)
    if run is None:
        return NotImplemented
    if program.may_search:
        places = [a._index for a, _ in variables_of(program, leaves)]
        is_mask = program.may_search is MaySearch.BY_RESULTS and may_be_asked(tape)
        tape.decisions[run] = UnnotedCall(places, recording.leave_loops, is_mask)
    return recorded(run, leaves, tape)


def run_as_step(recording: Any, callee: Callee, values: list) -> RecordedRun | None:
    """Record a call as one step whose sweep can be a step, too; None if no step can run it."""
    program = callee.program
    if program.may_search or not recording.keep_loops:
        return None
    if not _can_be_step(program, callee.g, tuple(values)):
        return None
    return _as_step(recording, callee, tuple(values), tuple(values))


def _as_step(recording: Any, callee: Callee, given: tuple, leaves: tuple) -> RecordedRun | None:
    """Record the step that runs a program; None if the program does not apply."""
    program = callee.program
    if not (callee.is_current and can_run(program, leaves, callee.outside)):
        return None
    program.note_unit_axes((*map(bare, given), *callee.outside))
    if program.spent >= _SHARE_OF_COMPILING * program.due:
        with recording.budget.uncounted():
            program.use_machine_code()
    else:
        recording.late.append(program.use_machine_code)
    step = ProgramStep(program, callee.g, callee.body, callee.form, leaves)
    *outs, run = recording.call(step, given, {})
    for k, x in enumerate(run._value.outs):
        if type(x) is int:
            outs[k] = recording.value_of(integer_of, run, k, x)
    return RecordedRun(recording, program, outs, run, given, leaves)


def _has_tangent(callee: Callee, leaves: tuple) -> bool:
    """Whether steps can run the tangent function of a program and its sweep."""
    if callee.program.may_search or any(type(a) is ListArgument for a in leaves):
        return False
    given = callee.given_to_tangent(list(map(bare, leaves)), {})
    tangent = callee.of_tangent(given)
    if tangent is None or tangent.program.may_search:
        return False
    return _can_be_step(tangent.program, tangent.g, tuple(given))


def _can_be_step(program: Structured, g: types.FunctionType, leaves: tuple) -> bool:
    """Whether a step can run a program: it is all machine code."""
    outside = program.reads.values(g)
    if program.bound or outside is None or program.program.has_messages:
        return False
    if program.changed_lists or not all(x.comes_once for x in leaves if type(x) is ListArgument):
        return False
    try:
        return program.is_machine_code((*map(bare, leaves), *outside))
    except Exception:  # the user's: the call itself raises it again
        return False


def _level_of(recording: Any, leaves: tuple) -> Any:
    """Return the tape of the trace level that a call in a recording is differentiated at.

    Return the recording itself if there is no such level, and None if there are several.
    """
    own = (CONSTANT, recording)
    found: Any = None
    parts = [x for a in leaves for x in (a.numbers() if type(a) is ListArgument else [a])]
    for a in parts:
        if type(a) not in TRACERS or a._tape in own:
            continue
        inner = a._value
        if (found is not None and a._tape is not found) or (
            type(inner) in TRACERS and inner._tape not in own
        ):
            return None
        found = a._tape
    if found is None:
        return recording
    return found if type(found) is InsideProgram and found.observer is None else None
