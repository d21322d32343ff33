"""Reading functions that call themselves, and that others call: they get programs of their own."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff.structured.form.ir import (
    Instance,
    Memory,
    Named,
    Op,
    Value,
    known,
    parts_of,
)
from autodiff.structured.form.kinds import Kind, UnsupportedError, join, kind_of
from autodiff.structured.itself import CallsItselfError, Itself
from autodiff.structured.reading.generators import Generators, own_parts
from autodiff.structured.reading.parameters import parameters_of
from autodiff.structured.reading.scopes import LocalFunction, Scope


class RecursesError(UnsupportedError):
    """A function that is read in the place of its call calls itself: it gets a program."""

    def __init__(self, node: Any) -> None:
        super().__init__("a function that calls itself")
        self.node = node


class AgainError(UnsupportedError):
    """A function that calls itself has got another program, for arguments of more kinds."""


class OtherKindsError(UnsupportedError):
    """A function calls itself with arguments of other kinds than it is read for.

    Attributes
    ----------
    kinds : list of Kind
        What it is to be read for.
    """

    def __init__(self, kinds: list[Kind]) -> None:
        super().__init__("a function that calls itself with arguments of other kinds")
        self.kinds = kinds


class Recursion(Generators):
    """Reads calls of functions that call themselves."""

    calls_itself = False
    returns: Kind | None = None  # what the function that is read returns, where it calls itself

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.given: tuple = ()  # the function, and for each argument its kind or value
        # Functions that call themselves, of which others call programs: by form, the kinds of the
        # arguments and the program. Of one that is read for that: itself, its form, the kinds.
        self.recursive: dict[Any, dict[Any, tuple[list[Kind], Any]]] = {}
        self.own: tuple[Any, Any, list[Kind]] | None = None

    def read_apart(self, read: Callable) -> Any:
        """Return what is read for a program of its own."""
        raise NotImplementedError

    def statements_of(self, node: Any) -> Any:
        """Read the statements of a function; return what it returns."""
        raise NotImplementedError

    def finished(self) -> Any:
        """Return what was read."""
        raise NotImplementedError

    def recursion(self, function: Any, node: Any, form: tuple, kinds: list[Kind]) -> Any:
        """Read a function that calls itself, and that others call, for arguments of a form."""
        own, *parts = form
        self.own, self.given = (node, form, kinds), (None, [], False)
        self.calling.append(node)
        leaves = iter(kinds)
        self.scope = Scope(own[2] if own else function, 1)
        if own:
            f = self._given_inside(own, leaves)
            names = {*parameters_of(node), *bound_in(node)}
            self.scope = Scope(f.scope.function, f.scope.depth, f.scope, names)
        for name, part in zip(parameters_of(node), parts, strict=True):
            self._bind_given(name, part, leaves)
        x = self.statements_of(node)
        given = [s.memory.root() for s in self.program.parameters if s.memory is not None]
        if type(x) is Value and x.kind.is_array and x.memory.root() in given:  # type: ignore[union-attr]
            x = self.call(np.copy, [x])
            if self.program.itself is not None:
                self.program.itself.copies_arguments = True
        self.program.returned = x
        return self.finished()

    def _given_inside(self, form: tuple, leaves: Iterator[Kind]) -> LocalFunction:
        """Return a function inside another one, with variables for what it has captured."""
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
        """Bind a variable to what `_form_of` was given."""
        if form is None or form[0] == "known":
            slot = self._slot(name)
            slot.writes += 1
            self.kinds[slot] = next(leaves) if form is None else kind_of(form[2], known=True)
            if form is None:
                slot.holds(self.kinds[slot])
                slot.memory = Memory() if self.kinds[slot].is_array else None
                self.program.parameters.append(slot)
            return
        if form[0] == "function":
            self.scope.functions[name] = self._given_inside(form, leaves)
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
        """Return the form of an argument: None for numbers and arrays, which it collects."""
        is_number = type(x) is Value and x.kind.is_scalar and type(known(x)) is not bool
        if is_number or (type(x) is Value and x.kind.is_array):
            leaves.append(x)
            return None
        if type(x) is Value and x.kind.is_known:
            return "known", type(known(x)), known(x)
        if type(x) is Named or (isinstance(x, tuple) and not isinstance(x, Instance)):
            keys = tuple(x) if type(x) is Named else ()
            parts = [self._form_of(p, leaves, within) for p in parts_of(x)]
            return "nest", type(x), keys, tuple(parts)
        if type(x) is not LocalFunction or x.defaults or nonlocal_in(x.node):
            raise UnsupportedError("a function that calls itself, and is given this")
        if x.node is within:
            return ()
        names, parts = [], []
        own = {*parameters_of(x.node), *bound_in(x.node)}
        read = {p.id for p in ast.walk(x.node) if isinstance(p, ast.Name)} - own
        for name in sorted(read):
            scope: Any = x.scope
            while scope is not None and name not in scope.locals:
                scope = scope.parent
            if scope is not None:
                names.append(name)
                parts.append(self._form_of(self.read_in(scope, name), leaves, x.node))
        return "function", x.node, x.scope.function, x.scope.depth, tuple(names), tuple(parts)

    def by_program(self, function: Any, node: Any, values: list[Any]) -> Value | None:
        """Read a call of a function that calls itself, by a program; None for other calls."""
        is_own = self.own is not None and self.own[0] is node
        if not is_own and node not in self.recursive:
            return None
        leaves: list[Value] = []
        own = self._form_of(function, leaves) if type(function) is LocalFunction else None
        form = (own, *[self._form_of(x, leaves) for x in values])
        kinds = [x.kind.general() for x in leaves]
        if is_own and self.own[1] == form:  # type: ignore[index] # it is one
            before = self.own[2]  # type: ignore[index]
            joined = list(map(join, before, kinds))
            if joined != before:
                raise OtherKindsError(joined)
            return self.call_of(function, leaves)
        if node not in self.recursive:
            return None
        known_forms = self.recursive[node]
        before, lowered = known_forms.get(form, (kinds, None))
        joined = list(map(join, before, kinds))
        while lowered is None or joined != before:
            before = joined
            read = operator.methodcaller("recursion", function, node, form, before)
            try:
                lowered = self.read_apart(read)
            except OtherKindsError as error:
                joined, lowered = error.kinds, None
                continue
            is_other = form in known_forms
            known_forms[form] = before, lowered
            if is_other:
                raise AgainError("a function that calls itself")
        program = lowered.program
        if program.itself is None or lowered.outside_objects or lowered.outside_lists:
            raise UnsupportedError("a function that calls itself, and reads or changes more")
        self.guards += lowered.guards
        self.made_of_others |= lowered.made_of_others
        program.itself.lowered = lowered
        return self._call_to(program.itself, leaves)

    def call_of(self, function: Any, values: list[Value]) -> Value:
        """Read a call of the function in itself; what it returns may be known by now."""
        self.calls_itself = True
        if self.returns is None:
            raise CallsItselfError
        if self.program.itself is None:
            own = function.node if type(function) is LocalFunction else function
            name = getattr(own, "name", getattr(own, "__name__", "inner"))
            self.program.itself = Itself(name, self.returns)
        return self._call_to(self.program.itself, values)

    def _call_to(self, itself: Itself, values: list[Value]) -> Value:
        made = self.made(Op("call", values, f=itself), itself.kind)
        if itself.kind.is_array:
            self.may_share += [(made, v) for v in values if v.kind.is_array]
        return made


def statements_in(node: ast.FunctionDef | ast.Lambda) -> list[ast.stmt]:
    """Return the statements of a function."""
    return node.body if isinstance(node, ast.FunctionDef) else [ast.Return(node.body)]


def nonlocal_in(node: ast.AST) -> set[str]:
    """Return the names that belong to a function around another one."""
    parts = [part for part in own_parts(node) if isinstance(part, ast.Nonlocal)]
    return {name for part in parts for name in part.names}


def bound_in(node: ast.FunctionDef | ast.Lambda) -> Iterator[str]:
    """Yield the names that a function inside another may bind."""
    for statement in statements_in(node):
        for part in ast.walk(statement):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id
            elif isinstance(part, ast.FunctionDef):
                yield part.name
