"""Programs that call programs: a function is analysed together with those that it calls."""

from __future__ import annotations

import copy
import itertools
import types
import weakref
from collections.abc import Callable
from typing import Any, Self

from autodiff.repeatable import is_repeatable
from autodiff.structured.callables.recursive_calls import (
    HidesDecisionsError,
    RecursiveCallee,
    callees_of,
)
from autodiff.structured.form.function_ir import FunctionIR, ops_of
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.reading.assumptions import Assumptions
from autodiff.structured.reading.lowering import Lowered
from autodiff.structured.respecialization import Respecializing
from autodiff.structured.settings import has_llvm
from autodiff.structured.writing.activity import is_active
from chainrules_core.interpreter.noticed import within

_MOST_TRIES = 3  # to read a function with programs of those that it calls


class CallingPrograms(Respecializing):
    """A program, which may call the programs of other functions.

    Attributes
    ----------
    others : list
        The programs of the functions that it calls, directly or not: callers come first.
    """

    name: str
    active: tuple[int, ...]
    positions: list[int]
    n: int
    called: set[Any]
    _read: Any = None  # how to read it once more, if it calls programs that may be inlined

    # Methods that subclasses define.
    _analyse: Callable[[Lowered, bool], None]
    lacks_path: Callable[[], bool]

    def _read_and_build(
        self, f: types.FunctionType, read: Callable, varying: frozenset[str], keeps: bool,
        has_checkpoints: bool,
    ) -> None:  # fmt: skip
        """Read the function, and make its program.

        Functions are inlined if they may hide a decision, and all are if something else fails.

        Parameters
        ----------
        f : FunctionType
            The function.
        read : callable
            Reads it with assumptions.
        varying : frozenset of str
            The names of numbers from outside that differ from call to call.
        keeps : bool
            Whether `read` keeps objects of the user's alive, so that it must not be kept.
        has_checkpoints : bool
            Whether its outermost loops keep few states.
        """
        # A call takes longer than inlined source, and less time than inlined machine code.
        inlines_all = has_checkpoints or is_repeatable() or not has_llvm()
        assumed = Assumptions(varying=varying, inlines_all=inlines_all)
        own = self.positions
        for tries in itertools.count():
            lowered, self.positions = read(f, assumed=assumed), own
            try:
                self._build(lowered, has_checkpoints)
                break
            except HidesDecisionsError as error:
                if not assumed.inline(error.callees):
                    raise
                assumed.inlines_all = tries == _MOST_TRIES
            except UnsupportedError:
                if assumed.inlines_all or not assumed.programs:
                    raise
                assumed.inlines_all, assumed.programs = True, {}
        has_programs = any((assumed.programs or {}).values()) and not keeps
        self._read = (weakref.ref(f), read, varying) if has_programs else None

    def _with_calls_inlined(self) -> Lowered | None:
        """Read the function without calls of programs; None if it has none, or that fails."""
        if self._read is None:
            return None
        f, read, varying = self._read
        g = f()
        if g is None:
            return None
        try:
            with within(None):  # errors of calls with sample values are handled here
                lowered = read(g, assumed=Assumptions(varying=varying, inlines_all=True))
        except UnsupportedError:  # it is too long, say
            return None
        mine, others = ([x[1] for x in p.captured] for p in (self.program, lowered.program))
        return lowered if mine == others else None

    def without_calls(self) -> FunctionIR:
        """Return the function as one that calls no programs but recursive ones, if possible."""
        lowered = self._with_calls_inlined()
        if lowered is None:
            return self.program
        other = copy.copy(self)
        other.positions = self.positions[: len(self.positions) - len(self.program.captured)]
        other._analyse(lowered, False)
        return other.program

    def _inline_calls(self) -> bool:
        """Make the program once more, without calls of programs; return whether it had some."""
        lowered = self._with_calls_inlined()
        if lowered is None:
            return False
        self._read, before = None, vars(self).copy()
        try:
            self.positions = self.positions[: len(self.positions) - len(self.program.captured)]
            self._build(lowered, False)
        except UnsupportedError:
            vars(self).update(before)
            return False
        return True

    @classmethod
    def _of_callee(cls, itself: RecursiveCallee, active: tuple[int, ...]) -> Self:
        """Return the program of a function that others call. Its code is generated with theirs."""
        program = cls.__new__(cls)
        lowered = itself.lowered
        program.name = itself.__name__
        program.active = active
        program.n = len(lowered.program.parameters)
        program.positions = list(range(program.n))
        program._analyse(lowered, False)
        return program

    def _build(self, lowered: Lowered, has_checkpoints: bool) -> None:
        """Run the passes on a lowered function, and generate its code."""
        self._analyse(lowered, has_checkpoints)
        self.others = self._programs_called()
        hiding = {other.program.itself for other in self.others if other._hides()}
        if hiding:
            raise HidesDecisionsError(hiding)
        self._generate()

    def _hides(self) -> bool:
        """Whether it may be a search: something that its result does not show decides."""
        return self.lacks_path() or not (is_active(self.program.returned) or not self.active)

    def _active_in_itself(self) -> set[int]:
        """Return the positions of the arguments that are active in recursive calls."""
        calls = [op for op in ops_of(self.program.body) if op.f is self.program.itself]
        return {i for op in calls for i, v in enumerate(op.args) if is_active(v)}

    def _programs_called(self) -> list[Self]:
        """Make the programs of the functions that this one calls, directly or not.

        Callers come before what they call: they decide what that is differentiated with respect to.
        """
        programs: list[Self] = []
        variables: dict[RecursiveCallee, set[int]] = {}
        for itself in (None, *callees_of(self.program)):
            caller = self
            if itself is not None:
                caller = self._of_callee(itself, tuple(sorted(variables[itself])))
                programs.append(caller)
                self.called |= caller.called
            for op in ops_of(caller.program.body):
                if type(op.f) is RecursiveCallee and op.f is not caller.program.itself:
                    own = variables.setdefault(op.f, set())
                    own |= {i for i, v in enumerate(op.args) if is_active(v)}
        return programs
