"""Reading parameters: the arguments of a program, as pytrees of numbers and arrays."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from typing import Any

from autodiff.intercept.source.rewritten_code import definition_of
from autodiff.structured.argument_forms import (
    Captured,
    Fields,
    MethodForm,
    PartialForm,
    Rows,
    default_name,
)
from autodiff.structured.form.function_ir import (
    Items,
    Memory,
    Named,
    Slot,
    formed,
    lists_of,
    parts_of,
)
from autodiff.structured.form.kinds import Kind, UnsupportedError, kind_of
from autodiff.structured.form.plain_classes import is_plain_class
from autodiff.structured.reading.builder import is_constant
from autodiff.structured.reading.scopes import (
    ArgumentRows,
    LocalFunction,
    LocalObject,
    LocalPartial,
    Method,
    Scope,
)
from autodiff.structured.reading.statements import StatementReader


class ParameterReader(StatementReader):
    """Layer of the reader: parameters."""

    objects_given = 0

    def parameter(self, name: str, form: Any, leaves: Iterator, known_args: dict) -> None:
        """Bind a parameter to its part of the form, and each leaf to an argument of the program."""
        if type(form) is Fields:
            own_scope = Scope(self.scope.function, self.scope.depth)
            self.scope.functions[name] = LocalObject(form.cls, own_scope, place=self.objects_given)
            self.objects_given += 1
            outer, self.scope = self.scope, own_scope
            for attribute, part in form.items():
                self.parameter(attribute, part, leaves, known_args)
            self.scope = outer
            return
        if type(form) is Captured:
            self.scope.functions[name] = self._bind_captured(form, leaves, known_args)
            return
        if type(form) is MethodForm:
            self.parameter(f"{name}.0", form["__self__"], leaves, known_args)
            owner = self.read_in(self.scope, f"{name}.0")
            self.scope.functions[name] = Method(form.function, owner)
            return
        if type(form) is PartialForm:
            places = {key: f"{name}.{key}" for key in form}
            for key, part in form.items():
                self.parameter(places[key], part, leaves, known_args)
            f = places.pop("func")
            by_name = [key for key in form if key.startswith(form.PREFIX)]
            named = {key.removeprefix(form.PREFIX): places.pop(key) for key in by_name}
            made = LocalPartial(self.scope, f, tuple(places.values()), named)
            self.scope.functions[name] = made
            return
        if type(form) is Rows:
            columns = tuple([f"{name}.{i}" for i in range(len(form))])
            for place in columns:
                self.parameter(place, None, leaves, known_args)
            self.scope.locals |= set(columns)
            self.scope.functions[name] = ArgumentRows(self.scope, columns, form.depth, form.row)
            return
        if form is not None:
            self._container(name, form, leaves, known_args)
            return
        i, kind = next(leaves)
        if i in known_args and is_plain_class(type(known_args[i])):
            self.scope.functions[name] = self.outside_object(known_args[i])
            return
        if i in known_args:
            self._bind_known(name, known_args[i])
            return
        slot = self._bind_argument(name, kind)
        if i in self.given_lists:
            slot.memory = self.given_lists[i].memory()
            self.lists += lists_of(slot.memory)

    def _container(self, name: str, form: Any, leaves: Iterator, known_args: dict) -> None:
        """Bind a parameter that is a tuple, list or dict: in memory if its place requires that."""
        names = [f"{name}.{i}" for i in range(len(form))]
        own = self.scope.forms[name] = formed(form, names)
        if type(own) is not tuple:
            own.has_name = own.is_given = True
        for part_name, part in zip(names, parts_of(form), strict=True):
            self.parameter(part_name, part, leaves, known_args)
        if type(form) not in (Items, Named):
            return
        self.given_containers += 1
        place = -1, self.given_containers
        own.places = frozenset([place])
        if place in self.displayed_in_memory:
            self.bind(name, self.in_memory_at(self.read_in(self.scope, name), place))

    def _bind_known(self, name: str, x: Any) -> None:
        """Bind a parameter to a value that the program is specialized for."""
        if is_constant(x):
            self.bind(name, self.const(x))
            return
        slot = self._slot(name)
        slot.writes += 1
        self.kinds[slot] = kind_of(x, known=True)

    def _bind_argument(self, name: str, kind: Kind) -> Slot:
        """Bind a parameter to the next argument of the program."""
        slot = self._slot(name)
        slot.writes += 1
        slot.holds(kind)
        self.kinds[slot] = kind
        slot.memory = Memory() if kind.is_array else None
        self.program.parameters.append(slot)
        return slot

    def _bind_captured(
        self, form: Captured, leaves: Iterator, known_args: dict
    ) -> LocalFunction:  # fmt: skip
        """Bind what a function that is an argument has captured, in a scope around it."""
        node = self.definition_of(form.function)
        parts = [part for part in ast.walk(node) if isinstance(part, ast.Nonlocal)]
        names = {name for part in parts for name in part.names}
        if not names.isdisjoint(form.code.co_freevars):
            raise UnsupportedError("a function that binds what it has captured")
        scope = Scope(form.function, self.scope.depth + 1)
        scope.locals = frozenset(form)
        outer, self.scope = self.scope, scope
        for name, part in form.items():
            self.parameter(name, part, leaves, known_args)
        self.scope = outer
        defaults = {name: default_name(name) for name in parameters_of(node)}
        defaults = {name: place for name, place in defaults.items() if place in form}
        return LocalFunction(node, scope, defaults)

    def found_definition(self, function: types.FunctionType) -> Any:
        """Return what `definition_of` finds for a function; it is asked once."""
        known = self.assumed.definitions
        if function not in known:
            known[function] = definition_of(function)
        return known[function]

    def definition_of(self, function: types.FunctionType) -> ast.FunctionDef | ast.Lambda:
        """Return the syntax tree of a function."""
        found = self.found_definition(function)
        if found is None or type(found.node) not in (ast.FunctionDef, ast.Lambda):
            raise UnsupportedError("its source is not to be had")
        node: Any = found.node
        if getattr(node, "decorator_list", None) and hasattr(function, "__wrapped__"):
            raise UnsupportedError("a decorated function")
        return node


def parameters_of(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """Return the names of all parameters."""
    a = node.args
    more = [p.arg for p in (*a.kwonlyargs, a.vararg, a.kwarg) if p]
    return [*positional_parameters(node), *more]


def positional_parameters(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """Return the names of the positional parameters."""
    return [p.arg for p in (*node.args.posonlyargs, *node.args.args)]


def given_to(
    node: ast.FunctionDef | ast.Lambda, args: list, names: dict[str, Any]
) -> dict[str, Any]:  # fmt: skip
    """Return what a call passes to each parameter of a function."""
    parameters, places = node.args, positional_parameters(node)
    given: dict[str, Any] = dict(zip(places, args, strict=False))
    by_name = {p.arg for p in (*parameters.args, *parameters.kwonlyargs)}
    more = {name: x for name, x in names.items() if name not in by_name}
    rest = args[len(places) :]
    is_twice = not names.keys().isdisjoint(given)
    if is_twice or (rest and not parameters.vararg) or (more and not parameters.kwarg):
        raise UnsupportedError("a call that fails")
    given |= {name: x for name, x in names.items() if name in by_name}
    if parameters.vararg:
        given[parameters.vararg.arg] = tuple(rest)
    if parameters.kwarg:
        given[parameters.kwarg.arg] = Named(more)
    return given
