"""Structured programs at run time: compile the generated code, run it, and sweep back."""

from __future__ import annotations

import functools
import linecache
import time
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff.repeatable import is_repeatable
from autodiff.structured.argument_forms import KNOWN
from autodiff.structured.call_nodes import rule_of
from autodiff.structured.callables.calling_programs import CallingPrograms
from autodiff.structured.callables.inner_derivatives import InnerDerivative
from autodiff.structured.callables.recursive_calls import HidesDecisionsError, RecursiveCallee
from autodiff.structured.form.function_ir import Value, blocks_of, flat, ops_of
from autodiff.structured.form.kinds import Kind, UnsupportedError, is_member, kind_of
from autodiff.structured.form.known_functions import functions_called
from autodiff.structured.form.plain_classes import is_plain_class
from autodiff.structured.list_arguments import (
    SCOPE as LIST_SCOPE,
    ListArgument,
    classes_of,
    kind_of_list,
)
from autodiff.structured.loop_checkpoints import SCOPE as CHECKPOINT_SCOPE
from autodiff.structured.message_queue import add_message, without_messages_of_failures
from autodiff.structured.outside_reads import OutsideReads
from autodiff.structured.reading.lowering import Lowered, lower
from autodiff.structured.runtime_library import (
    SCOPE,
    BailoutError,
    ChangedError,
)
from autodiff.structured.settings import Settings, has_llvm
from autodiff.structured.unit_axes import UnitAxes, unit_axes_of
from autodiff.structured.writing.activity import (
    MaySearch,
    check_conversions,
    check_recursion,
    holds_active,
    is_active,
    mark_active,
    reached_results,
    remove_dead_bindings,
)
from autodiff.structured.writing.common_subexpressions import eliminate_common_subexpressions
from autodiff.structured.writing.program_writer import ProgramWriter
from autodiff.structured.writing.rules.bound_rules import resolve_rules
from chainrules_core.interpreter.collector import uncollected
from chainrules_core.interpreter.noticed import within
from chainrules_core.interpreter.quiet import ignores_underflow


class Structured(CallingPrograms):
    """A function as a structured program, specialized to the kinds of its arguments.

    Attributes
    ----------
    active : tuple of int
        The positions of the arguments to differentiate with respect to.
    rule : CallRule
        What the nodes of its calls have as their rule.
    written : list of int
        The positions of the arguments that it writes into.
    positions : list of int
        The position of each parameter of the generated code among the arguments, followed by the
        captured and global arrays.
    takes_lists : bool
        Whether lists are among its arguments.
    is_active_output : list of bool
        For each number or array that it returns, then for each that it writes into: whether it
        depends on the variables.
    may_search : MaySearch
        Where a decision may be made on which an output depends that has no path from a variable.
    ways : dict of int to list of int
        For each variable that is compared: the outputs that it has a differentiable path to.
    same : list
        For each returned number, array or list: the position of the argument that it is, or None.
    has_derivatives : bool
        Whether it calls functions that differentiate, such as `gradient`.
    reads : OutsideReads
        What it reads from outside.
    called : set
        The functions that it calls, whose rules it is built on.
    source : str
        The generated code.
    native : NativeProgram or None
        The loops as machine code, once compiled.
    why : str, optional
        Why the loops are not machine code and will not be.
    failure : str, optional
        Why the last call was traced instead.
    """

    failure: str | None = None
    tangent: Any = None  # the tangent function; False if there is none
    sweeps_tangent: bool | None = None  # whether a program can sweep it; None if unknown

    def __init__(
        self, f: types.FunctionType, form: tuple, args: tuple, active: tuple[int, ...],
        has_checkpoints: bool = False, varying: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        kinds: list[Kind] = []
        known, lists = {}, {}
        self.name = f.__qualname__
        self.rule = rule_of(f)
        self.n = len(args)
        self.active = active
        self.positions: list[int] = []
        for i, a in enumerate(args):
            if type(a) in KNOWN or is_plain_class(type(a)) or is_member(a):
                kinds.append(kind_of(a, known=True))
                known[i] = a
                continue
            if type(a) is ListArgument:
                lists[i] = a
                kinds.append(kind_of_list(a.classes[0]))
            else:
                kinds.append(kind_of(a))
            self.positions.append(i)
        if lists and has_checkpoints:
            raise UnsupportedError("a list of numbers, and loops that keep few states")
        read = functools.partial(lower, form=form, kinds=kinds, known_args=known, lists=lists)
        keeps = bool(lists) or any(is_plain_class(type(x)) for x in known.values())
        self._read_and_build(f, read, varying, keeps, has_checkpoints)

    def _analyse(self, lowered: Lowered, has_checkpoints: bool) -> None:
        """Run the passes on a lowered function."""
        program = self.program = lowered.program
        self.reads = OutsideReads(lowered.guards, program.captured)
        self.bound = program.bound
        self.outside_objects = lowered.outside_objects
        self.outside_lists = lowered.outside_lists
        self.positions = [*self.positions, *range(self.n, self.n + len(program.captured))]
        self.takes_lists = any(slot.kind is not None and slot.kind.is_list
                               for slot in program.parameters)  # fmt: skip
        self.called = functions_called(program.body, lowered.decomposed)
        self.has_derivatives = any(type(op.f) is InnerDerivative for op in ops_of(program.body))
        eliminate_common_subexpressions(program)
        remove_dead_bindings(program)
        if program.itself is not None:
            program.itself.returned = program.returned
        resolve_rules(blocks_of(program.body))
        mark_active(program, {self.positions.index(i) for i in self.active})
        if program.itself is not None and program.itself.lowered is not None:
            while not (found := self._active_in_itself()) <= set(self.active):
                self.active = tuple(sorted({*self.active, *found}))
                mark_active(program, set(self.active))
        self.others = []
        for name in ("reached", "variables"):  # of an earlier try
            vars(self).pop(name, None)
        self.broadcasts: set[int] = set()  # numbers of the operations that broadcast
        self.ones = UnitAxes()
        self.compares_all = False
        self.is_unknown = True  # no sweep has shown yet which arrays are broadcast
        self.steep: set[int] = set()  # numbers of the operations that met infinite slopes
        self.notes_steep = self.is_never_finite = False
        self.has_checkpoints = has_checkpoints
        check_recursion(program, has_checkpoints)
        self.has_plain_floats = not (has_checkpoints or program.catches)
        self.generated_for: Any = None
        values = [v for op in ops_of(program.body) for v in (op.out, *op.args) if v is not None]
        self.has_arrays = any(v.kind.has_memory for v in values)

    def _generate(self) -> None:
        """Generate and compile the code."""
        for other in self.others:
            other.compares_all = self.compares_all and other.has_arrays
            other.notes_steep = self.notes_steep
            if other.generated_for != other._assumed():
                other._generate()
        program = self.program
        emitter = self.emitter = ProgramWriter(
            program, frozenset(self.broadcasts), frozenset(self.steep),
            has_checkpoints=self.has_checkpoints, has_plain_floats=self.has_plain_floats,
            compares_all=self.compares_all, notes_steep=self.notes_steep,
        )  # fmt: skip
        self.source, scope = emitter.emit()
        self.lines = self.source.count("\n") + sum([other.lines for other in self.others])
        if not self.compares_all:  # else there is no sweep yet, which may need `math`
            self.has_plain_floats = bool(emitter.plain.loose) or emitter.needs_math
        parameters = program.parameters
        self.written = [self.positions[parameters.index(s)] for s in emitter.written_parameters]
        self.returned = program.returned
        self.changed_lists = [self.positions[parameters.index(s)] for s in emitter.changed_lists]
        self.n_outputs = len(emitter.outputs)
        self.first_changed = self.n_outputs + len(self.written)
        self.is_active_output = [is_active(v) for v in emitter.outputs]
        changed: list[Any] = [*emitter.written_parameters, *emitter.changed_lists]
        self.is_active_output += [s.root.is_active for s in changed]
        self.list_classes = {
            k: classes_of(v.kind, v.memory)
            for k, v in enumerate([*emitter.outputs, *changed])
            if v.kind is not None and v.kind.is_list
        }
        check_conversions(program)
        found, search = self.reached
        self.ways = {self.positions[i]: numbers for i, numbers in found.items()}
        self.may_search = MaySearch.NOWHERE if self.has_checkpoints else search
        if program.itself is not None and self.may_search:
            raise HidesDecisionsError({program.itself})
        self.same = list(map(self._same_as_argument, emitter.outputs))
        self.code = self._compile(self.source, scope, True)
        self.native: Any = None
        self.native_code: Any = None
        self.why: str | None = None if has_llvm() else "there is no llvmlite"
        if self.has_checkpoints:
            self.why = "its loops are checkpointed"
        if self.program.catches:
            self.why = "it handles exceptions"
        if self.program.itself is not None:
            self.why = "it calls itself"
        self.bailouts, self.takes_surroundings = 0, True
        self.spent = 0.0  # new code may be respecialized soon: do not compile its loops yet

        self.generated_for = self._assumed()

    def _assumed(self) -> tuple:
        """Return what the code is generated for."""
        found = self.compares_all, self.notes_steep, self.has_plain_floats
        return *found, len(self.broadcasts), len(self.steep)

    @functools.cached_property
    def reached(self) -> tuple[dict[int, list[int]], MaySearch]:
        """What `reached_results` finds; it does not change when the code is respecialised."""
        variables = {self.positions.index(i) for i in self.active}
        return reached_results(self.program, variables, flat(self.program.returned))

    def lacks_path(self) -> bool:
        """Whether a result that may be decided lacks a path from a variable."""
        return bool(self.reached[1])

    def _compile(
        self, source: str, scope: dict[str, Any], fills_tape: bool
    ) -> tuple[Callable, Callable]:
        """Compile generated source; return the forward and backward functions.

        `fills_tape` says that its tape may hold many objects, none of them garbage.
        """
        name = f"<structured {self.name}>"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        namespace = {
            **SCOPE,
            **LIST_SCOPE,
            **CHECKPOINT_SCOPE,
            **scope,
            "broadcast": self.broadcasts.add,
            "add_message": add_message,
        }
        if self.notes_steep:
            namespace.update(note_steep=self._note_steep, noted=self._recorded_product)
        exec(compile(source, name, "exec"), namespace)
        forward = namespace["forward"]
        itself = self.program.itself
        if itself is not None:
            itself.code = forward, namespace["backward"]
            namespace["is_outermost"] = itself.is_outermost
            itself.counts_depth = "is_outermost()" in source
        if self.program.has_errstates:  # an exception may leave one entered
            forward = np.errstate()(forward)
        if self.program.has_messages:
            forward = without_messages_of_failures(forward)
        backward = namespace["backward"]
        return (uncollected(forward), uncollected(backward)) if fills_tape else (forward, backward)

    def _make_native(self) -> None:
        """Compile the loops to machine code, as far as possible."""
        from autodiff.structured.native.regions import NativeProgram

        self.why = "it could not be compiled"  # not tried again if this raises
        try:
            with within(None):  # errors of calls with sample values are handled here
                native = NativeProgram(
                    self._native_writer(), self.ones.axes, self.ones.are_new,
                    self.takes_surroundings,
                    {other.program.itself: other._native_writer() for other in self.others},
                )  # fmt: skip
        except UnsupportedError as error:
            if not self._inline_calls():
                self.why = str(error)
            return
        if self._leaves_calls(native) and self._inline_calls():
            return
        fills_tape = bool(native.why)  # some loops stay source
        compiled = self._compile(native.source, native.scope, fills_tape)
        self.native_code = native.functions(*compiled)
        self.native, self.why = native, None

    def _leaves_calls(self, native: Any) -> bool:
        """Whether calls of programs are left to NumPy source, which is slower than inlined."""
        names = [x for x, f in native.emitter.constants.scope.items() if type(f) is RecursiveCallee]
        return any(x in native.source for x in names)

    def _native_writer(self) -> ProgramWriter:
        """Return the source for machine code."""
        writer = ProgramWriter(
            self.program, frozenset(self.broadcasts), frozenset(self.steep), for_native=True
        )
        writer.emit()
        return writer

    def _same_as_argument(self, returned: Value) -> int | None:
        """Return the position of the argument that is returned, or None.

        Views of arguments are not supported; the generated code checks that results are none.
        """
        kind = returned.kind
        if kind.is_list or (kind.is_known and kind.value is None):
            return None
        if not kind.is_array:
            if not kind.is_scalar:
                raise UnsupportedError(f"a result of class {kind.classes}")
            return None
        slot = self.emitter.argument_of(returned)
        if slot is None:
            return None
        at = self.positions[self.program.parameters.index(slot)]
        if returned.op.code == "view" or at >= self.n:
            raise UnsupportedError("a result that is a view of an argument")
        return at

    def _find_broadcasts(self, args: tuple) -> None:
        """Find which arrays are broadcast before the slow compilation to machine code."""
        self.is_unknown = False
        self.note_unit_axes(args)
        self.specialize_for_broadcasting(args)

    def note_unit_axes(self, args: Sequence) -> None:
        """Note the axes of length 1 of a call; drop machine code that takes others for granted."""
        names = [slot.name for slot in self.program.parameters]
        if self.ones.learn(unit_axes_of(names, [args[i] for i in self.positions])):
            self.native = self.native_code = None

    @functools.cached_property
    def variables(self) -> list[int]:
        """The parameters that have tangents, because they hold variables."""
        return [k for k, slot in enumerate(self.program.parameters) if holds_active(slot)]

    def reads_outside(self, lists: list[int]) -> bool:
        """Whether one of these lists, given by id, is also captured or global."""
        return not {id(x) for x in self.outside_lists}.isdisjoint(lists)

    def may_bind(self, objects: list, leaves: tuple) -> bool:
        """Whether the objects whose attributes the program assigns have no aliases."""
        if not self.bound:
            return True
        outside = [reference() for reference in self.outside_objects]
        found = list(map(id, (*objects, *leaves, *outside)))
        return all(found.count(id(x)) == 1 for x in objects)

    def run(self, args: tuple) -> tuple[list, tuple]:
        """Run the forward function; return its outputs, and the state for the sweep."""
        found = None
        if self.spent >= self.due and not (is_repeatable() or self.notes_steep):
            if self.is_unknown and self._may_make_native():
                self._find_broadcasts(args)
            values = self._values(args)
            found, backward = self._run_machine_code(values)
        else:
            values = self._values(args)
        if found is None:
            start = time.perf_counter()
            found, backward = self._run_forward(values)
            self.spent += time.perf_counter() - start
        outs, frame, tape = found
        return list(outs), (backward, frame, tape, outs)

    def _values(self, args: Sequence) -> Sequence:
        """Return the arguments of the generated code."""
        if not self.takes_lists and len(self.positions) == len(args):
            return args  # all of them, in order
        found = [args[i] for i in self.positions]
        return [x.plain if type(x) is ListArgument else x for x in found]

    def _run_machine_code(self, values: Sequence) -> tuple[Any, Callable | None]:
        """Run the forward function with machine code; return its result and sweep, or None twice.

        Recompile it if arrays turn out to be broadcast.
        """
        # It checks the processor's flags for every error that NumPy may warn of except underflow.
        while ignores_underflow():
            if self._may_make_native():
                self._make_native()
            if self.native_code is None:
                break
            forward, backward = self.native_code
            try:
                return forward(*values), backward
            except BailoutError as error:
                self.bail_out(error)
            if self.native is not None:
                break
        return None, None

    @property
    def due(self) -> float:
        """How many seconds it has to run before its loops become machine code.

        About as long as compilation takes, which then costs no more than has been spent anyway.
        """
        return Settings.native * self.lines

    def _may_make_native(self) -> bool:
        """Whether the loops are not machine code yet, but may become it."""
        return self.native is None and self.why is None

    def is_machine_code(self, args: tuple) -> bool:
        """Whether all loops are machine code, or can be."""
        if self._may_make_native():
            if self.is_unknown:
                self._find_broadcasts(args)
            self._make_native()
        return self.native is not None and not self.native.why

    def use_machine_code(self) -> None:
        """Compile the loops at once, and use machine code from now on.

        The first call and its sweep have run as source, and have shown which slopes are infinite,
        for example.
        """
        self.spent = max(self.spent, self.due)
        if self._may_make_native():
            self._make_native()
        if self.native is not None:
            self.native.compiled()

    def is_current(self, state: tuple) -> bool:
        """Whether a state stems from the current code, and not from code replaced since."""
        native = () if self.native_code is None else self.native_code
        return any(state[0] is f for f in (*self.code, *native))

    def sweep(self, state: tuple, bars: Sequence) -> tuple:
        """Run the reverse sweep; return the cotangents of all arguments, None if inactive."""
        backward, frame, tape, outs = state
        # Python computes with its own floats several times faster than with NumPy's.
        bars = [float(bar) if type(bar) is np.float64 else bar for bar in bars]
        start = time.perf_counter()
        try:
            found = backward(frame, tape, outs, bars)
            if tape:
                raise ChangedError("the sweep does not read what was pushed")
        except (BailoutError, ValueError) as error:
            if self.is_current(state) and (self.broadcasts or not isinstance(error, ValueError)):
                self.bail_out(error)
            raise
        self.spent += time.perf_counter() - start
        self.is_unknown = False
        n = self.n + len(self.program.captured)
        if len(found) == n:  # the positions are all there are, in order
            return found
        result: list[Any] = [None] * n
        for position, bar in zip(self.positions, found, strict=True):
            result[position] = bar
        return tuple(result)
