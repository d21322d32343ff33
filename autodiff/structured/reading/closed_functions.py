"""Functions that are differentiated inside others, as functions that capture nothing."""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import itertools
import linecache
import symtable
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from autodiff.structured.form.function_ir import InstanceValue, Named, Value, known
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.reading.containers.classes import is_object
from autodiff.structured.reading.parameters import parameters_of
from autodiff.structured.reading.recursion import body_of
from autodiff.structured.reading.scopes import LocalFunction, LocalPartial, Method, is_the_same
from chainrules_core import frule, rrule

_serials = itertools.count(1)
_WHOLE = frozenset({int, np.int64})
_MAY_NOT_RUN = (
    ast.IfExp, ast.BoolOp, ast.Compare, ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp,
    ast.DictComp,
)  # fmt: skip
"""Expressions of which a part may not be evaluated."""


class Closure:
    """What a function, and the inner functions that it calls, capture.

    Attributes
    ----------
    values : dict of str to Value
        The numbers and arrays, and nests of them.
    functions : dict of str to statement
        The inner functions.
    constants : dict of str to object
        Functions, modules and known values that are no global variables.
    """

    def __init__(self, reader: Any) -> None:
        self.reader = reader
        self.values: dict[str, Value] = {}
        self.functions: dict[str, ast.stmt] = {}
        self.constants: dict[str, Any] = {}
        self._globals: dict[str, Any] | None = None
        # Variables in place of attributes: the object, the attribute, and what it holds.
        self._of_objects: dict[str, tuple[Any, str, Any]] = {}
        self._parts: dict[str, Value] = {}  # variables in place of ``X[i]``
        self._meanings: dict[str, Any] = {}  # names, and what they stand for in all functions

    def enter(
        self, f: Any, n: int = 0, named: Iterable[str] = ()
    ) -> tuple[types.FunctionType, Any, dict[str, Callable[[], Any]]]:
        """Add what a function captures; return it (or the outer one), its definition and defaults.

        A `functools.partial` that is called with `n` arguments, and others by name, is a lambda.
        """
        reader = self.reader
        if type(f) is LocalPartial:
            self._globals = self._globals or f.scope.function.__globals__
            name, own = reader.fresh("partial"), [reader.fresh("given") for _ in range(n)]
            self._add(name, f)
            by_name = [ast.keyword(key, _name(key)) for key in named]
            call = ast.Call(_name(name), list(map(_name, own)), by_name)
            node = ast.Lambda(defined("_", [*own, *named], []).args, call)
            return f.scope.function, node, {}
        objects: dict[str, Any] = {}
        if type(f) is LocalFunction:
            node, scope, defaults = reader.callee_inside(f)
        elif type(f) is Method:
            node, scope, defaults = reader.callee_outside(f.function)
            node = copy.deepcopy(node)
            own = node.args.posonlyargs or node.args.args
            objects[own.pop(0).arg] = f.owner
        elif type(f) is Value and type(known(f)) is types.FunctionType:
            if rrule.entry(known(f)) is not None or frule.entry(known(f)) is not None:
                raise UnsupportedError("a derivative of a function with a rule")
            node, scope, defaults = reader.callee_outside(known(f))
        else:
            raise UnsupportedError("a derivative of what is no function")
        function = scope.function
        outer, reader.scope = reader.scope, scope
        try:
            names = [name for name in _names_in(node)[0] if name not in objects]
            found = {name: reader.read(name) for name in names}
            objects |= {name: x for name, x in found.items() if is_object(x)}
            node = self._without_objects(node, objects)
            if self._globals is None:  # the inner functions may not be called
                node = self._without_indices(node, found)
        finally:
            reader.scope = outer
        free, bound = _names_in(node)
        if self._globals is None:  # the function itself: the others are defined inside it
            self._globals = function.__globals__
            for name in bound:
                self._note(name, node)
        if function.__globals__ is not self._globals:
            raise UnsupportedError("a derivative of functions of several modules")
        found |= self._parts | {name: value for name, (_, _, value) in self._of_objects.items()}
        for name in free:
            self._add(name, found[name])
        return function, node, defaults

    def _without_objects(self, node: Any, objects: dict[str, Any]) -> Any:
        """Return a function with variables in place of the attributes of objects."""
        if not objects:
            return node
        if any(isinstance(part, ast.arg) and part.arg in objects for part in ast.walk(node)):
            raise UnsupportedError("a derivative of functions with two variables of one name")
        return _WithoutObjects(objects, self._attribute).visit(copy.deepcopy(node))

    def _without_indices(self, node: Any, found: dict[str, Any]) -> Any:
        """Return a function with variables in place of ``X[i]``, if it captures `X` and `i`.

        A program of its derivative compares `i`, so it would serve only one iteration of a loop.
        """
        free = found.keys() - set(_names_in(node)[1])
        kinds = {name: found[name].kind for name in free if type(found[name]) is Value}
        changing = {x for x, kind in kinds.items() if kind.classes <= _WHOLE and not kind.is_known}
        arrays = {x for x, kind in kinds.items() if kind.is_array}
        if not changing or not arrays:
            return node
        node, change = copy.deepcopy(node), _WithoutIndices(arrays, changing, free, self._part)
        if isinstance(node, ast.Lambda):
            node.body = change.visit(node.body)
            return node
        for statement in node.body:
            if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)):
                break  # what follows may not run
            change.visit(statement)
        return node

    def _part(self, node: ast.Subscript) -> str:
        """Return the variable in place of a part of an array."""
        name = self.reader.fresh("part")
        self._parts[name] = self.reader.expression(node)
        return name

    def _attribute(self, owner: Any, name: str) -> tuple[str, Any]:
        """Return the variable in place of an attribute, and what it holds."""
        for own, (x, attribute, value) in self._of_objects.items():
            if attribute == name and is_the_same(x, owner):
                return own, value
        own, value = self.reader.fresh(f"its_{name}"), self.reader.read_attribute(owner, name)
        self._of_objects[own] = owner, name, value
        return own, value

    def _note(self, name: str, meaning: Any) -> None:
        before = self._meanings.setdefault(name, meaning)
        if before is not meaning and not (_is_nest(meaning) and before == meaning):
            raise UnsupportedError("a derivative of functions with two variables of one name")

    def _add(self, name: str, x: Any) -> None:
        """Add a captured variable."""
        is_known = type(x) is Value and x.kind.is_known
        meaning = known(x) if is_known else x
        self._note(name, meaning)
        if type(x) in (LocalFunction, Method):
            if name not in self.functions:
                self._define(name, x)
        elif type(x) is LocalPartial:
            if name not in self.functions:
                self._bind_partial(name, x)
        elif not is_known:
            if type(x) is not Value and not _is_nest(x):
                raise UnsupportedError("a derivative of a function that captures such a value")
            self.values[name] = x
        elif type(meaning) is types.FunctionType and self._captures(name, x):
            return
        elif self._globals.get(name, getattr(builtins, name, self)) is not meaning:  # type: ignore[union-attr] # set by `enter`
            self.constants[name] = meaning

    def _define(self, name: str, f: Any) -> None:
        """Add a function that is called, as an inner one."""
        self.functions[name] = ast.Pass()  # it may call itself
        _, node, defaults = self.enter(f)
        parameters = parameters_of(node)
        optional = [name for name in parameters if name in defaults]
        is_last = parameters[len(parameters) - len(optional) :] == optional
        if node.args.vararg or node.args.kwarg or not is_last:
            raise UnsupportedError("a derivative of functions with other parameters")
        made = defined(name, parameters, body_of(node))
        for parameter in optional:
            own = self.reader.fresh("default")
            self._add(own, defaults[parameter]())
            made.args.defaults.append(_name(own))
        self.functions[name] = made

    def _bind_partial(self, name: str, f: LocalPartial) -> None:
        """Add a `functools.partial`, as an assignment."""

        def held(place: str) -> ast.expr:
            own = self.reader.fresh("held")
            self._add(own, self.reader.read_in(f.scope, place))
            return _name(own)

        partial = self.reader.fresh("partial")
        self.constants[partial] = functools.partial
        keywords = [ast.keyword(key, held(place)) for key, place in f.named.items()]
        call = ast.Call(_name(partial), [held(f.function), *map(held, f.args)], keywords)
        self.functions[name] = ast.Assign([ast.Name(name, ast.Store())], call)

    def _captures(self, name: str, f: Value) -> bool:
        """Add a global function, if it reads arrays from outside; return whether it does."""
        if name in self.functions:
            return True
        before = len(self.values)
        try:
            self._define(name, f)
        except UnsupportedError:  # of a library, or reading it will tell
            self.values = dict(itertools.islice(self.values.items(), before))
        if len(self.values) > before:
            return True
        del self.functions[name]
        return False

    def unused(self, name: str) -> str:
        """Return a name that stands for nothing else, so that it hides nothing."""
        while name in self._meanings:
            name += "_"
        return name

    def made(self, definition: ast.FunctionDef) -> types.FunctionType:
        """Return the function with this definition, which finds the constants in its closure."""
        end = ast.Return(_name(definition.name))
        outer = defined(f"{definition.name}_", list(self.constants), [definition, end])
        text = _source(outer)
        file = f"<{definition.name} of a gradient {next(_serials)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        namespace: dict[str, Any] = {}
        exec(compile(text, file, "exec"), self._globals, namespace)
        made = namespace[outer.name](*self.constants.values())
        weakref.finalize(made, linecache.cache.pop, file, None)
        return made


class _WithoutObjects(ast.NodeTransformer):
    """Replaces attributes of objects by variables; ``variable(owner, name)`` returns one."""

    def __init__(self, objects: dict[str, Any], variable: Callable[[Any, str], tuple]) -> None:
        self.objects = objects
        self.variable = variable

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Replace an attribute."""
        owner = node.value
        if isinstance(owner, ast.Attribute):
            owner = self.visit_Attribute(owner)
        if not isinstance(owner, ast.Name) or owner.id not in self.objects:
            return ast.Attribute(self.visit(owner), node.attr, node.ctx)
        if not isinstance(node.ctx, ast.Load):
            raise UnsupportedError("a derivative of a function that changes an object")
        name, value = self.variable(self.objects[owner.id], node.attr)
        if is_object(value):
            self.objects[name] = value
        return _name(name)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Refuse an object itself."""
        if node.id in self.objects:
            raise UnsupportedError("a derivative of a function that uses an object")
        return node


class _WithoutIndices(ast.NodeTransformer):
    """Replaces parts of arrays at changing integers by variables; ``variable(node)`` returns one.

    Parts that may not be read stay: they may not exist. `free` are the names that have a value
    outside of the function.
    """

    def __init__(
        self, arrays: set[str], changing: set[str], free: set[str],
        variable: Callable[[ast.Subscript], str],
    ) -> None:  # fmt: skip
        self.arrays = arrays
        self.changing = changing
        self.free = free
        self.variable = variable
        self.names: dict[str, str] = {}

    def visit(self, node: ast.AST) -> Any:
        """Replace the parts of arrays in a node."""
        return node if isinstance(node, _MAY_NOT_RUN) else super().visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Replace a part of an array."""
        names = {part.id for part in ast.walk(node.slice) if isinstance(part, ast.Name)}
        is_part = (
            isinstance(node.value, ast.Name)
            and node.value.id in self.arrays
            and isinstance(node.ctx, ast.Load)
            and names <= self.free
            and not names.isdisjoint(self.changing)
            and not any(isinstance(part, ast.Call) for part in ast.walk(node.slice))
        )
        if not is_part:
            self.generic_visit(node)
            return node
        text = ast.unparse(node)
        if text not in self.names:
            self.names[text] = self.variable(node)
        return _name(self.names[text])


def _names_in(node: ast.FunctionDef | ast.Lambda) -> tuple[list[str], list[str]]:
    """Return the names that a function reads from outside, and those that it binds."""
    text = _source(defined("_", parameters_of(node), body_of(node)))
    try:
        (table,) = symtable.symtable(text, "_", "exec").get_children()
    except SyntaxError:  # `nonlocal` of a variable outside
        raise UnsupportedError("a derivative of a function with nonlocal statements") from None
    symbols = [symbol for inner in _tables(table) for symbol in inner.get_symbols()]
    if any(symbol.is_declared_global() for symbol in symbols):
        raise UnsupportedError("a derivative of a function with global statements")
    free = dict.fromkeys([symbol.get_name() for symbol in symbols if symbol.is_global()])
    bound = dict.fromkeys([symbol.get_name() for symbol in symbols if symbol.is_local()])
    return list(free), list(bound)


def _tables(table: Any) -> Iterator[Any]:
    yield table
    for inner in table.get_children():
        yield from _tables(inner)


def _is_nest(x: Any) -> bool:
    return isinstance(x, (tuple, Named)) and not isinstance(x, InstanceValue)


def _source(definition: ast.FunctionDef) -> str:
    return ast.unparse(ast.fix_missing_locations(ast.Module([definition], []))) + "\n"


def defined(name: str, parameters: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
    """Return the definition of a function."""
    args = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
    return ast.FunctionDef(name=name, args=args, body=body, decorator_list=[])


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())
