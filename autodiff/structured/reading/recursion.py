"""Reading functions that get programs of their own: recursive ones, and those called often."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff.structured.callables.recursive_calls import RecursionKindError, RecursiveCallee
from autodiff.structured.form.function_ir import (
    FunctionIR,
    InstanceValue,
    Named,
    Op,
    Value,
    blocks_of,
    known,
    lists_of,
    parts_of,
)
from autodiff.structured.form.indices import WHOLE
from autodiff.structured.form.kinds import ANYTHING, Kind, UnsupportedError, join
from autodiff.structured.reading.assumptions import Assumptions
from autodiff.structured.reading.iteration.generators import GeneratorReader, own_nodes
from autodiff.structured.reading.parameters import parameters_of
from autodiff.structured.reading.scopes import LocalFunction, Scope
from autodiff.structured.settings import Settings


class RecursesError(UnsupportedError):
    """An inlined function is recursive: it needs a program of its own."""

    def __init__(self, node: Any) -> None:
        super().__init__("a function that calls itself")
        self.node = node


class StaleProgramError(UnsupportedError):
    """A recursive function has got a more general program, so what was read so far is stale."""


class ManyCallsError(Exception):
    """Many calls have been inlined: functions of numbers get programs of their own.

    It is no `UnsupportedError`, because nobody reads the calls in another way.
    """


class OtherKindsError(UnsupportedError):
    """A recursive call has arguments of other kinds than the function is read for.

    Attributes
    ----------
    kinds : list of Kind
        The kinds to read it for.
    """

    def __init__(self, kinds: list[Kind]) -> None:
        super().__init__("a function that calls itself with arguments of other kinds")
        self.kinds = kinds


class WritesArgumentError(UnsupportedError):
    """A recursive function writes into an argument: its program works on a copy and returns that.

    Attributes
    ----------
    written : tuple of (int, bool)
        The position of the argument, and whether the function returns it, or nothing.
    kind : Kind
        Its kind.
    """

    def __init__(self, written: tuple[int, bool], kind: Kind) -> None:
        super().__init__("a function that calls itself and writes into its arguments")
        self.written, self.kind = written, kind


class RecursionReader(GeneratorReader):
    """Layer of the reader: calls of functions that have programs of their own."""

    calls_itself = False

    # Methods that subclasses define.
    lower_separately: Callable[[Callable, Assumptions], Any]
    read_body_of: Callable[[Any], Any]
    finish: Callable[[], Any]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.apart: list[tuple[Value, Value]] = []  # arrays that must not share memory
        self.called: set[RecursiveCallee] = set()  # programs whose guards are among the guards
        # The function, for each argument its kind or value, and whether all arguments are leaves.
        self.given: tuple = ()
        # The recursive function that is read for others: its definition, the form and the kinds.
        self.own: tuple[Any, Any, list[Kind]] | None = None

    def recursion(self, function: Any, node: Any, form: tuple, kinds: list[Kind]) -> Any:
        """Read a recursive function for a program of its own, for arguments of a form."""
        own, *parts = form
        is_inner = type(own) is tuple
        self.own, self.given = (node, form, kinds), (None, [], False)
        self.calling.append(node)
        leaves = iter(kinds)
        self.scope = Scope(own[2] if is_inner else function, 1)
        if is_inner:
            f = self._bind_function(own, leaves)
            names = {*parameters_of(node), *names_bound_in(node)}
            self.scope = Scope(f.scope.function, f.scope.depth, f.scope, names)
        for name, part in zip(parameters_of(node), parts, strict=True):
            self._bind_given(name, part, leaves)
        copy = self._copy_of_written()
        x = self._returned(self.read_body_of(node), copy)
        given = [s.root for s in self.program.parameters if s.memory is not None]
        if type(x) is Value and x.kind.is_array and x.root in given:
            x = self.emit_call(np.copy, [x])
            if self.program.itself is not None:
                self.program.itself.copies_arguments = True
        self.program.returned = x
        return self.finish()

    def _copy_of_written(self) -> Value | None:
        """Bind the argument that the function writes into to a copy; return that."""
        if self.assumed.written is None:
            return None
        slot = self.program.parameters[self.assumed.written[0]]
        name = self.names[slot][1]
        if self.scope.slots.get(name) is not slot:
            raise UnsupportedError("a function that calls itself and writes into a part of a tuple")
        copy = self.emit_call(np.copy, [self.read(name)])
        self.bind(name, copy)
        return copy

    def _returned(self, x: Any, copy: Value | None) -> Any:
        """Return the result of the program of a function with the result `x`."""
        if copy is None:
            arrays = [(k, s) for k, s in enumerate(self.program.parameters) if s.memory is not None]
            written = [(k, s) for k, s in arrays if s.root.is_written]
            if not written and _is_none(x):  # it must do something
                written = arrays
            if len(written) == 1:
                ((k, slot),) = written
                raise WritesArgumentError((k, not _is_none(x)), slot.kind or ANYTHING)
            return x
        returns_it = not _is_none(x)
        if returns_it != self.assumed.written[1] or (returns_it and not self._is_same(x, copy)):  # type: ignore[index] # there is a copy
            raise UnsupportedError(
                "a function that calls itself, writes into an argument and returns something else"
            )
        return self.read(self.hold(copy))

    def _is_same(self, x: Any, array: Value) -> bool:
        """Whether a value is this array, which variables alone have passed on."""
        blocks = list(blocks_of(self.body))
        waiting, seen = [x], set()
        while waiting:
            x = waiting.pop()
            if x is array:
                continue
            if type(x) is not Value or x.op is None or x.op.code != "read":
                return False
            slot = x.op.data
            bound = [block.writes[slot] for block in blocks if slot in block.writes]
            if not bound:
                return False
            waiting += bound if slot not in seen else []
            seen.add(slot)
        return True

    def _bind_function(self, form: tuple, leaves: Iterator[Kind]) -> LocalFunction:
        """Bind what an inner function has captured; return the function."""
        _, node, function, depth, names, parts = form
        f = LocalFunction(node, Scope(function, depth), {})
        f.scope.locals = frozenset(names)
        outer, self.scope = self.scope, f.scope
        for name, part in zip(names, parts, strict=True):
            if part == ():
                f.scope.functions[name] = f
            else:
                self._bind_given(name, part, leaves)
        self.scope = outer
        return f

    def _bind_given(self, name: str, form: Any, leaves: Iterator[Kind]) -> None:
        """Bind a variable to an argument whose form is what `_form_of` returned."""
        if form is None:
            self._bind_argument(name, next(leaves))
            return
        if form[0] == "known":
            self._bind_known(name, form[2])
            return
        if form[0] == "function":
            self.scope.functions[name] = self._bind_function(form, leaves)
            return
        _, cls, keys, parts = form
        names = [f"{name}.{i}" for i in range(len(parts))]
        made = Named(zip(keys, names, strict=True)) if cls is Named else cls(names)
        self.scope.forms[name] = made
        if cls is not tuple:
            made.has_name = made.is_given = True
        for place, part in zip(names, parts, strict=True):
            self._bind_given(place, part, leaves)

    def _form_of(self, x: Any, leaves: list[Value], within: Any = None) -> Any:
        """Return the form of an argument: None for numbers and arrays, which go to `leaves`."""
        is_number = type(x) is Value and x.kind.is_scalar and type(known(x)) is not bool
        if is_number or (type(x) is Value and x.kind.is_array):
            leaves.append(x)
            return None
        if type(x) is Value and x.kind.is_known:
            return "known", type(known(x)), known(x)
        if type(x) is Named or (isinstance(x, tuple) and not isinstance(x, InstanceValue)):
            keys = tuple(x) if type(x) is Named else ()
            parts = [self._form_of(p, leaves, within) for p in parts_of(x)]
            return "pytree", type(x), keys, tuple(parts)
        if type(x) is not LocalFunction or x.defaults or nonlocal_names(x.node):
            raise UnsupportedError("a function that calls itself, with an argument of this class")
        if x.node is within:
            return ()
        names, parts = [], []
        own = {*parameters_of(x.node), *names_bound_in(x.node)}
        read = {p.id for p in ast.walk(x.node) if isinstance(p, ast.Name)} - own
        for name in sorted(read):
            scope: Any = x.scope
            while scope is not None and name not in scope.locals:
                scope = scope.parent
            if scope is not None:
                names.append(name)
                parts.append(self._form_of(self.read_in(scope, name), leaves, x.node))
        return "function", x.node, x.scope.function, x.scope.depth, tuple(names), tuple(parts)

    def call_by_program(self, function: Any, node: Any, values: list[Any]) -> Value | None:
        """Read a call as a call of the function's program; None if it has none."""
        is_own = self.own is not None and self.own[0] is node
        if not is_own and node not in self.assumed.recursive:
            return self._call_apart(function, node, values)
        leaves: list[Value] = []
        form = self._form_of_call(function, values, leaves)
        kinds = [x.kind.general() for x in leaves]
        if is_own and self.own[1] == form:  # type: ignore[index] # it is one
            before = self.own[2]  # type: ignore[index]
            joined = list(map(join, before, kinds))
            if joined != before:
                raise OtherKindsError(joined)
            return self.recursive_call(function, leaves)
        if node not in self.assumed.recursive:
            return None
        known_forms = self.assumed.recursive[node]
        before, lowered = known_forms.get(form, (kinds, None))
        joined = list(map(join, before, kinds))
        while lowered is None or joined != before:
            before = joined
            read = operator.methodcaller("recursion", function, node, form, before)
            try:
                lowered = self.lower_separately(read, self.assumed.for_another())
            except OtherKindsError as error:
                joined, lowered = error.kinds, None
                continue
            is_other = form in known_forms
            known_forms[form] = before, lowered
            if is_other:
                raise StaleProgramError("a function that calls itself")
        program = lowered.program
        if program.itself is None or lowered.outside_objects or lowered.outside_lists:
            raise UnsupportedError(
                "a function that calls itself, and reads or changes something outside"
            )
        self.guards += lowered.guards
        self.decomposed |= lowered.decomposed
        program.itself.lowered = lowered
        return self._call_program(program.itself, leaves)

    def _form_of_call(self, function: Any, values: list[Any], leaves: list[Value]) -> tuple:
        """Return the form of a function and of its arguments; numbers and arrays go to `leaves`."""
        # Functions with one definition may have captured other variables: they are not the same.
        own = self._form_of(function, leaves) if type(function) is LocalFunction else function
        return (own, *[self._form_of(x, leaves) for x in values])

    def _call_apart(self, function: Any, node: Any, values: list[Any]) -> Value | None:
        """Read a call of a function of numbers as a call of its program; None if it is inlined.

        So what is read, differentiated and compiled does not grow with the number of calls. Short
        functions are inlined, and so are all functions as long as few calls have been.
        """
        is_short = not isinstance(node, ast.FunctionDef) or len(node.body) < _FEW_STATEMENTS
        if is_short or self.assumed.inlines_all:
            return None
        leaves: list[Value] = []
        try:
            form = self._form_of_call(function, values, leaves)
        except UnsupportedError:
            return None
        are_numbers = all(x.kind.is_scalar for x in leaves)
        if not (leaves and are_numbers and self.elements.isdisjoint(leaves)):
            return None
        programs = self.assumed.programs
        if programs is None:
            self.inlined_count += 1
            if self.inlined_count > Settings.inlined:
                raise ManyCallsError
            return None
        kinds = [x.kind.general() for x in leaves]
        key = (form, tuple(kinds))
        if key not in programs:
            programs[key] = None  # what calls itself by way of others is inlined
            programs[key] = self._program_apart(function, node, form, kinds)
        itself = programs[key]
        if itself is None:
            return None
        if itself not in self.called:
            self.called.add(itself)
            self.guards += itself.lowered.guards
            self.decomposed |= itself.lowered.decomposed
        return self._call_program(itself, leaves)

    def _program_apart(
        self, function: Any, node: Any, form: tuple, kinds: list[Kind]
    ) -> RecursiveCallee | None:
        """Read a function for a program of its own; None if it is more than one of numbers."""
        read = operator.methodcaller("recursion", function, node, form, kinds)
        try:
            lowered = self.lower_separately(read, self.assumed.for_another())
            program, kind = lowered.program, kind_returned(lowered.program)
        except UnsupportedError:
            return None
        reads_outside = program.captured or lowered.outside_objects or lowered.outside_lists
        does_more = program.catches or program.has_errstates or program.has_messages
        decides = any(x.has_floats for x in kinds) and not kind.has_floats
        if not kind.is_scalar or decides or reads_outside or does_more or program.bound:
            return None
        if program.itself is None:
            program.itself = RecursiveCallee(node.name, kind)
        program.itself.lowered = lowered
        return program.itself

    def check_writes(self) -> None:
        """Raise if a write was forbidden, or if a function that writes gets an array twice."""
        super().check_writes()
        if any(array.root is other.root for array, other in self.apart):
            raise UnsupportedError("a function that calls itself, with arrays that share memory")

    def check_inner_writes(self, node: Any) -> None:
        """Raise if the program calls itself, and writes into its arguments or returns nothing.

        The inner calls then have a program of their own, which returns what it writes.
        """
        arrays = [s for s in self.program.parameters if s.memory is not None]
        writes = any(s.root.is_written for s in arrays) or _is_none(self.program.returned)
        if self.calls_itself and writes:
            raise RecursesError(node)

    def recursive_call(self, function: Any, values: list[Value]) -> Value:
        """Read a recursive call; raise if the kind of the result is still unknown."""
        self.calls_itself = True
        if self.assumed.returns is None:
            raise RecursionKindError
        if self.program.itself is None:
            own = function.node if type(function) is LocalFunction else function
            name = getattr(own, "name", getattr(own, "__name__", "inner"))
            itself = self.program.itself = RecursiveCallee(name, self.assumed.returns)
            itself.written = self.assumed.written
            itself.returns_new = itself.written is not None
        return self._call_program(self.program.itself, values)

    def _call_program(self, itself: RecursiveCallee, values: list[Value]) -> Value:
        if itself.written is not None:
            return self._call_and_write(itself, *itself.written, values)
        made = self.emit(Op("call", values, f=itself), itself.kind)
        if itself.kind.is_array:
            self.may_alias += [(made, v) for v in values if v.kind.is_array]
        return made

    def _call_and_write(
        self, itself: RecursiveCallee, k: int, returns_it: bool, values: list[Value]
    ) -> Value:  # fmt: skip
        """Read a call that writes into its argument `k`: its program returns what is there then."""
        array, others = values[k], [v for i, v in enumerate(values) if i != k and v.kind.is_array]
        self.apart += [(array, v) for v in others]
        name = self.hold(array)
        made = self.emit(Op("call", values, f=itself), itself.kind)
        self.store(self.read(name), made, [], WHOLE)
        return self.read(name) if returns_it else self.const(None)


_FEW_STATEMENTS = 3
"""Functions of fewer statements are always inlined."""


def _is_none(x: Any) -> bool:
    return type(x) is Value and known(x) is None


def kind_returned(program: FunctionIR) -> Kind:
    """Return the kind of the result of a function that calls itself."""
    x = program.returned
    if type(x) is not Value or not (x.kind.is_array or x.kind.is_scalar):
        raise UnsupportedError("a function that calls itself, and returns no number or array")
    return x.kind.general()


def kinds_of(x: Any) -> Any:
    """Return the kind of an argument, and the kinds of its parts."""
    if type(x) is Value:
        return x.kind.general(), [part.root().contents() for part in lists_of(x.memory)]
    if isinstance(x, (tuple, Named)):
        return type(x), list(map(kinds_of, parts_of(x)))
    return type(x), id(x)


def body_of(node: ast.FunctionDef | ast.Lambda) -> list[ast.stmt]:
    """Return the body of a function; a lambda is one ``return``."""
    return node.body if isinstance(node, ast.FunctionDef) else [ast.Return(node.body)]


def nonlocal_names(node: ast.AST) -> set[str]:
    """Return the names that a function declares ``nonlocal``."""
    parts = [part for part in own_nodes(node) if isinstance(part, ast.Nonlocal)]
    return {name for part in parts for name in part.names}


def names_bound_in(node: ast.FunctionDef | ast.Lambda) -> Iterator[str]:
    """Yield the names that an inner function may bind."""
    for statement in body_of(node):
        for part in ast.walk(statement):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id
            elif isinstance(part, ast.FunctionDef):
                yield part.name
