"""Running a structured program: its entry, what generated code calls, and its pullback."""

from __future__ import annotations

import functools
import linecache
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.functions import facts_of
from autodiff.repeatable import is_repeatable
from autodiff.structured import loop_states
from autodiff.structured.broadcast_axes import Ones, ones_of
from autodiff.structured.form.ir import Value, blocks_of, ops_of
from autodiff.structured.form.kinds import UNKNOWN, Kind, UnsupportedError, is_member, kind_of
from autodiff.structured.form.known_functions import function_of
from autodiff.structured.forms import KNOWN
from autodiff.structured.itself import Itself
from autodiff.structured.reading.lowering import Lowered, lower
from autodiff.structured.reading.scopes import OWN_CELLS, is_plain_class, looked_up
from autodiff.structured.runtime_calls import (
    SCOPE,
    ChangedError,
    SteppedAsideError,
    UnequalError,
    is_finite,
    raises_errors,
)
from autodiff.structured.settings import Settings, has_llvm
from autodiff.structured.whole_lists import (
    SCOPE as OF_LISTS,
    GivenList,
    classes_of,
    kind_of_list,
    whole_list,
)
from autodiff.structured.writing.activity import (
    check_conversions,
    check_itself,
    holds_active,
    is_active,
    mark_active,
    remove_unread,
    ways_of,
)
from autodiff.structured.writing.emission import Emitter
from autodiff.structured.writing.repeated_operations import share_repeated
from autodiff.structured.writing.rules.bound_rules import resolve_rules
from autodiff.structured.written_anew import WrittenAnew
from chainrules_core.interpreter.collector import uncollected
from chainrules_core.interpreter.noticed import within
from chainrules_core.registry.entries import key_of

_MOST_ASIDES = 3


class Structured(WrittenAnew):
    """A function in structured form, for arguments of some kinds.

    Attributes
    ----------
    active : tuple of int
        The arguments that it is differentiated with respect to.
    written : list of int
        The arguments that it writes into.
    is_active_output : list of bool
        Of each number or array that it returns, and of those that it writes into.
    hides_decisions : bool
        Whether a result, or an array that it writes into, may depend on comparisons alone.
    ways : dict of int to list of int
        If some arguments are compared: which of these depend on each of them in another way.
    same : list
        Of each number, array or list that it returns: which argument it is, or None.
    called : set
        The functions that it calls, whose rules it was made of.
    source : str
        The generated code.
    native : Native or None
        The loops as machine code, once they are.
    why : str, optional
        Why there are none.
    failure : str, optional
        What went wrong at the last call, which was traced.
    """

    failure: str | None = None
    tangent: Any = None  # its tangent function; False if it has none
    sweeps_tangent: bool | None = None  # whether a program sweeps that; None if it is not known

    def __init__(
        self, f: types.FunctionType, form: tuple, args: tuple, active: tuple[int, ...],
        has_checkpoints: bool = False,
    ) -> None:  # fmt: skip
        kinds: list[Kind] = []
        known, lists = {}, {}
        self.name = f.__qualname__
        self.n = len(args)
        self.active = active
        self.positions: list[int] = []
        for i, a in enumerate(args):
            if type(a) in KNOWN or is_plain_class(type(a)) or is_member(a):
                kinds.append(kind_of(a, known=True))
                known[i] = a
                continue
            if type(a) is GivenList:
                lists[i] = a
                kinds.append(kind_of_list(a.classes[0]))
            else:
                kinds.append(kind_of(a))
            self.positions.append(i)
        if lists and has_checkpoints:
            raise UnsupportedError("a list of numbers, and loops that keep few states")
        self._make(lower(f, form, kinds, known, lists), len(args), has_checkpoints)

    @classmethod
    def of_recursion(cls, itself: Itself, active: tuple[int, ...]) -> Structured:
        """Return the program of a function that calls itself, and that others call."""
        made = cls.__new__(cls)
        lowered = itself.lowered
        n = len(lowered.program.parameters)
        made.name, made.n, made.active, made.positions = itself.__name__, n, active, list(range(n))
        made._make(lowered, n, False)
        if active and not is_active(lowered.program.returned):
            raise UnsupportedError("a function that calls itself, and hides what it depends on")
        return made

    def _make(self, lowered: Lowered, n: int, has_checkpoints: bool) -> None:
        """Make the program of what was read."""
        guards = {(id(d), name, id(x)): (d, name, x) for d, name, x in lowered.guards}.values()
        self.guards = [(d.get, name, x) for d, name, x in guards if d is not OWN_CELLS]
        self.guards_of_cells = [(name, x) for d, name, x in guards if d is OWN_CELLS]
        program = self.program = lowered.program
        self.bound = program.bound
        self.outside_objects = lowered.outside_objects
        self.outside_lists = lowered.outside_lists
        self.n_arguments = n
        self.positions += range(n, n + len(program.captured))
        self.called = _functions_in(program.body, lowered.made_of_others)
        share_repeated(program)
        remove_unread(program)
        if program.itself is not None:
            program.itself.returned = program.returned
        resolve_rules(blocks_of(program.body))
        mark_active(program, {self.positions.index(i) for i in self.active})
        if program.itself is not None and program.itself.lowered is not None:
            while not self._active_in_itself() <= set(self.active):
                self.active = tuple(sorted({*self.active, *self._active_in_itself()}))
                mark_active(program, set(self.active))
        self.others = self._programs_called()
        self.broadcasts: set[int] = set()  # numbers of operations in which arrays differed
        self.ones = Ones()
        self.compares_all = False
        self.is_unknown = True  # which arrays are broadcast: no sweep has told
        self.steep: set[int] = set()  # numbers of operations in which slopes were infinite
        self.notes_steep = self.is_never_finite = False
        self.has_checkpoints = has_checkpoints
        check_itself(program, has_checkpoints)
        self.has_plain_floats = not (has_checkpoints or program.catches)
        self._write()

    def _active_in_itself(self) -> set[int]:
        """Return the arguments of which a call of the function in itself gives derivatives."""
        calls = [op for op in ops_of(self.program.body) if op.f is self.program.itself]
        return {i for op in calls for i, v in enumerate(op.args) if is_active(v)}

    def _programs_called(self) -> list[Structured]:
        """Return the programs of functions that call themselves, and that this one calls."""
        variables: dict[Itself, set[int]] = {}
        for op in ops_of(self.program.body):
            if type(op.f) is Itself and op.f is not self.program.itself:
                own = variables.setdefault(op.f, set())
                own |= {i for i, v in enumerate(op.args) if is_active(v)}
        made = []
        for itself, own in variables.items():
            made.append(Structured.of_recursion(itself, tuple(sorted(own))))
            self.called |= made[-1].called
        return made

    def _write(self) -> None:
        for other in self.others:
            other.compares_all, other.notes_steep = self.compares_all, self.notes_steep
            other._write()
        program = self.program
        emitter = self.emitter = Emitter(
            program, frozenset(self.broadcasts), frozenset(self.steep),
            has_checkpoints=self.has_checkpoints, has_plain_floats=self.has_plain_floats,
            compares_all=self.compares_all, notes_steep=self.notes_steep,
        )  # fmt: skip
        self.source, scope = emitter.emit()
        self.has_plain_floats = bool(emitter.plain.loose) or emitter.needs_math
        parameters = program.parameters
        self.written = [self.positions[parameters.index(s)] for s in emitter.written_parameters]
        self.returned = program.returned
        self.changed_lists = [self.positions[parameters.index(s)] for s in emitter.changed_lists]
        self.n_outputs = len(emitter.outputs)
        self.first_changed = self.n_outputs + len(self.written)
        self.is_active_output = [is_active(v) for v in emitter.outputs]
        changed: list[Any] = [*emitter.written_parameters, *emitter.changed_lists]
        self.is_active_output += [s.memory.root().is_active for s in changed]
        self.list_classes = {
            k: classes_of(v.kind, v.memory)
            for k, v in enumerate([*emitter.outputs, *changed])
            if v.kind is not None and v.kind.is_list
        }
        check_conversions(program)
        variables = {self.positions.index(i) for i in self.active}
        found, lacks_one = ways_of(program, variables, emitter.outputs)
        self.ways = {self.positions[i]: numbers for i, numbers in found.items()}
        self.hides_decisions = lacks_one and not self.has_checkpoints
        if program.itself is not None and self.hides_decisions:  # the turns of a search are calls
            raise UnsupportedError("a function that calls itself, and may be a search")
        self.same = list(map(self._same_as_argument, emitter.outputs))
        self.code = self._compiled(self.source, scope)
        self.native: Any = None
        self.native_code: Any = None
        self.why: str | None = None
        if self.has_checkpoints:
            self.why = "its loops are checkpointed"
        if self.program.catches:
            self.why = "it handles exceptions"
        if self.program.itself is not None or self.others:
            self.why = "it calls itself"
        self.asides = 0
        self.spent = 0.0  # before new code becomes machine code, it may have to be written anew

    def _compiled(self, source: str, scope: dict[str, Any]) -> tuple[Callable, Callable]:
        name = f"<structured {self.name}>"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        namespace = {
            **SCOPE,
            **OF_LISTS,
            **loop_states.SCOPE,
            **scope,
            "broadcast": self.broadcasts.add,
        }
        if self.notes_steep:
            namespace.update(note_steep=self._note_steep, noted=self._noted)
        exec(compile(source, name, "exec"), namespace)
        forward = namespace["forward"]
        itself = self.program.itself
        if itself is not None:
            itself.code = forward, namespace["backward"]
            namespace["is_outermost"] = itself.is_outermost
        if self.program.has_errstates:  # an exception may leave one
            forward = np.errstate()(forward)
        return forward, namespace["backward"]

    def _make_native(self) -> None:
        """Write the loops as machine code, as far as they can be."""
        if not has_llvm():
            self.why = "there is no llvmlite"
            return
        from autodiff.structured.native.regions import Native

        self.why = "it could not be compiled"  # once is enough
        try:
            with within(None):  # what calls with samples raise is handled here
                emitter = Emitter(
                    self.program, frozenset(self.broadcasts), frozenset(self.steep),
                    for_machine=True,
                )  # fmt: skip
                emitter.emit()
                native = Native(emitter, self.ones.axes, self.ones.are_new)
        except UnsupportedError as error:
            self.why = str(error)
            return
        self.native_code = native.functions(*self._compiled(native.source, native.scope))
        self.native, self.why = native, None

    def step_aside(self, error: Exception) -> None:
        """Note that machine code could not do what was asked; after some times it is given up.

        If other arrays have turned out to be broadcast, it is made anew.
        """
        if isinstance(error, UnequalError) and (
            self.ones.learn(error.ones) or self.ones.forget(error.ones, self.native.names.variables)
        ):
            self.native = self.native_code = None
            return
        self.asides += 1
        if self.asides > _MOST_ASIDES:
            self.native, self.native_code, self.why = None, None, str(error)

    def _same_as_argument(self, returned: Value) -> int | None:
        """Say which argument is returned; a view of one is not handled.

        The code checks that others are none.
        """
        kind = returned.kind
        if kind.is_known and kind.value is None:
            return None
        if kind.is_list:
            return None
        if not kind.is_array:
            if not kind.is_scalar:
                raise UnsupportedError(f"a result of class {kind.classes}")
            return None
        slot = self.emitter.argument_of(returned)
        if slot is None:
            if kind.letter not in ("f", "c"):
                raise UnsupportedError("a result that holds integers")
            return None
        at = self.positions[self.program.parameters.index(slot)]
        if returned.op.code == "view" or at >= self.n_arguments:
            raise UnsupportedError("a result that is a view of an argument")
        return at

    def _find_broadcasts(self, args: tuple) -> None:
        """Find which arrays are broadcast before machine code is made, which takes long."""
        if self.is_unknown:
            spent, self.is_unknown = self.spent, False
            names = [slot.name for slot in self.program.parameters]
            self.ones.learn(ones_of(names, [args[i] for i in self.positions]))
            self.with_broadcasting(args)
            self.spent = spent

    @functools.cached_property
    def variables(self) -> list[int]:
        """Which parameters have tangents: those that depend on the variables."""
        return [k for k, slot in enumerate(self.program.parameters) if holds_active(slot)]

    def outside(self, g: types.FunctionType) -> list | None:
        """Return arrays and lists from outside; None if what was looked up is not what it was."""
        for look_up, name, x in self.guards:
            if look_up(name, UNKNOWN) is not x:
                return None
        for name, x in self.guards_of_cells:
            if looked_up(OWN_CELLS, name, g) is not x:
                return None
        found = [looked_up(d, name, g) for d, name, _ in self.program.captured]
        for i, (x, (_, _, kind)) in enumerate(zip(found, self.program.captured, strict=True)):
            if type(kind) is tuple:
                found[i] = whole_list(x) if type(x) in (list, tuple) else None
                if found[i] is None or found[i].key != kind:
                    return None
            elif type(x) is not np.ndarray or x.dtype != kind.dtype or x.ndim != kind.ndim:
                return None
        return found

    def reads_outside(self, lists: list[int]) -> bool:
        """Whether the function reads one of these lists, by their ids, from outside as well."""
        return not {id(x) for x in self.outside_lists}.isdisjoint(lists)

    def may_bind(self, objects: list, leaves: tuple) -> bool:
        """Whether no object of which attributes are bound is read in another way as well."""
        if not self.bound:
            return True
        outside = [reference() for reference in self.outside_objects]
        found = list(map(id, (*objects, *leaves, *outside)))
        return all(found.count(id(x)) == 1 for x in objects)

    def run(self, args: tuple) -> tuple[list, tuple]:
        """Return what the function returns, what it has changed, and the state for the sweep."""
        is_due = self.spent >= Settings.native and not (is_repeatable() or self.notes_steep)
        if is_due:
            self._find_broadcasts(args)
        values = self._values(args)
        start = time.perf_counter()
        with uncollected:  # the tape may hold many objects, which are no garbage
            found, backward = self._run_machine_code(values) if is_due else (None, None)
            if found is None:
                found, backward = self._run_forward(values)
        outs, frame, tape = found
        self.spent += time.perf_counter() - start
        return list(outs), (backward, frame, tape, outs)

    def _values(self, args: tuple) -> list:
        """Return what the generated code is given."""
        found = [args[i] for i in self.positions]
        return [x.plain if type(x) is GivenList else x for x in found]

    def _run_machine_code(self, values: list[Any]) -> tuple[Any, Callable | None]:
        """Return what the forward function with machine code returns, and its sweep, or None.

        If arrays turn out to be broadcast, the machine code is made anew.
        """
        # It asks the processor for all that NumPy may warn of but underflow.
        while np.geterr()["under"] == "ignore":
            if self.native is None and self.why is None:
                self._make_native()
            if self.native_code is None:
                break
            forward, backward = self.native_code
            try:
                return forward(*values), backward
            except SteppedAsideError as error:
                self.step_aside(error)
            if self.native is not None:
                break
        return None, None

    def _run_forward(self, values: list[Any]) -> tuple[tuple, Callable]:
        """Return what the forward function returns, and its sweep; if need be, write them anew.

        Python's floats do not warn as NumPy's do, and raise an error in a division by zero: if a
        result is not finite, or the user has asked for errors, NumPy's own are taken.
        """
        if self.has_plain_floats and raises_errors():
            self.with_numpy_floats()
        while True:
            known = len(self.emitter.broadcasts)
            forward, backward = self.code
            try:
                found = forward(*values)
            except ArithmeticError:
                if not self.with_numpy_floats():
                    raise
            else:
                if len(self.broadcasts) > known:
                    self._write()
                elif not self.has_plain_floats or all(map(is_finite, found[0])):
                    return found, backward
                else:
                    self.with_numpy_floats()

    def is_machine_code(self, args: tuple) -> bool:
        """Whether all loops are machine code, or can be."""
        if self.native is None and self.why is None:
            self._find_broadcasts(args)
            self._make_native()
        return self.native is not None and not self.native.why

    def use_machine_code(self) -> None:
        """Have calls made by machine code from now on, which is compiled at once.

        A first call and its sweep, by the source, have told what there is to know by then: which
        slopes are infinite, say.
        """
        self.spent = max(self.spent, Settings.native)
        if self.native is None and self.why is None:
            self._make_native()
        if self.native is not None:
            self.native.compiled()

    def is_current(self, state: tuple) -> bool:
        """Whether the code that has left a state has not been written anew since."""
        native = () if self.native_code is None else self.native_code
        return any(state[0] is f for f in (*self.code, *native))

    def sweep(self, state: tuple, bars: list[Any]) -> tuple:
        """Return the cotangents of all arguments, None where there is none."""
        backward, *left = state
        # Python computes with its own floats several times faster than with NumPy's.
        bars = [float(bar) if type(bar) is np.float64 else bar for bar in bars]
        start = time.perf_counter()
        try:
            with uncollected:
                found = iter(backward(*left, bars))
            if left[1]:  # the tape
                raise ChangedError("the sweep does not read what was pushed")
        except (SteppedAsideError, ValueError) as error:
            if self.is_current(state) and (self.broadcasts or not isinstance(error, ValueError)):
                self.step_aside(error)
            raise
        self.spent += time.perf_counter() - start
        self.is_unknown = False
        result: list[Any] = []
        at = 0
        for position in self.positions:
            result += [None] * (position - at)
            result.append(next(found))
            at = position + 1
        return tuple(result)


def _functions_in(nodes: list, others: set[Any]) -> set[Any]:
    """Return the functions that are called, under all names that rules may have for them."""
    found: set[Any] = {np.square}  # whose rule is taken for that of a power or product
    called = {op.f for op in ops_of(nodes) if op.code == "call"}
    for f in called | others:
        own = function_of(f)
        found |= {f, own, key_of(own)[0], facts_of(own).ufunc}
    return found
