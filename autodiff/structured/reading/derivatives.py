"""Reading derivatives inside functions: ``gradient(loss, w, x)`` in a loop.

The function that is differentiated becomes a function of its own (`_closed`): the numbers and
arrays that it captures are further arguments. It is read once, so that all it does is known. The
call is then one operation, an `InnerGradient`.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import linecache
import operator
import symtable
import types
import weakref
from collections.abc import Iterator
from typing import Any

from autodiff.structured.form.function_ir import Op, Value, changes_list, known
from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.inner_gradients import InnerGradient
from autodiff.structured.reading.parameters import positional_parameters
from autodiff.structured.reading.recursion import RecursionReader, body_of
from autodiff.structured.reading.scopes import LocalFunction

_serials = itertools.count(1)


class DerivativeReader(RecursionReader):
    """Layer of the reader: calls of `autodiff.gradient`."""

    def read_gradient(self, args: list, options: dict[str, Any]) -> Any:
        """Read ``gradient(f, *args)``, perhaps with `argnums`."""
        if not args or options.keys() - {"argnums"}:
            raise UnsupportedError("a gradient with these options")
        f, *rest = args
        given = [self.pack(x) for x in rest]
        argnums = known(options["argnums"]) if "argnums" in options else None
        if argnums is None:
            argnums = 0 if len(given) == 1 else tuple(range(len(given)))
        is_single = type(argnums) is int
        places = (argnums,) if is_single else argnums
        if not all(type(i) is int and 0 <= i < len(given) for i in places) or not places:
            raise UnsupportedError("a gradient with such argnums")
        if not all(given[i].kind.has_floats for i in places):
            raise UnsupportedError("a gradient by an integer")
        g, values, order = _closed(self, f, given)
        places = tuple([order[i] for i in places])
        self._check_gradient(g, values)
        n_floats = sum(x.kind.has_floats for x in values)
        rule = InnerGradient(g, places, is_single, n_floats)
        kinds = tuple([values[i].kind.general() for i in places])
        kind = kinds[0] if is_single else Kind(frozenset([tuple]), parts=kinds)
        made = self.emit(Op("call", values, f=rule), kind)
        return made if is_single else tuple(self.unpack(made))

    def _check_gradient(self, g: types.FunctionType, values: list[Value]) -> None:
        """Read a function of its own; raise if its gradient may be more than a function's."""
        for x in values:
            if not (x.kind.is_known or x.kind.is_scalar or x.kind.is_array) or x.kind.is_complex:
                raise UnsupportedError("a gradient of a function of such arguments")
        leaves = [x.kind.general() for x in values if not x.kind.is_known]
        form = [("known", type(known(x)), known(x)) if x.kind.is_known else None for x in values]
        node = self.definition_of(g)
        read = operator.methodcaller("recursion", g, node, (None, *form), leaves)
        lowered = self.lower_separately(read)
        program = lowered.program
        y = program.returned
        if not (type(y) is Value and y.kind.is_scalar and y.kind.has_floats) or y.kind.is_complex:
            raise UnsupportedError("a gradient of a function that returns no real number")
        changes = any(s.memory is not None and (s.memory.root().is_written or changes_list(s.memory))
                      for s in program.parameters)  # fmt: skip
        if changes or program.captured or program.bound or program.itself is not None:
            raise UnsupportedError(
                "a gradient of a function that reads or changes something outside"
            )
        if lowered.outside_objects or lowered.outside_lists:
            raise UnsupportedError(
                "a gradient of a function that reads objects or lists from outside"
            )
        self.guards += lowered.guards
        self.decomposed |= lowered.decomposed


def _closed(
    reader: Any, f: Any, given: list[Value]
) -> tuple[types.FunctionType, list[Value], list[int]]:
    """Return a function that captures no arrays, its arguments, and the place of each one given.

    Further arguments are what `f` captures. Numbers and arrays of floats come first.
    """
    closure = _Closure(reader)
    function, node = closure.enter(f)
    own = positional_parameters(node)
    if len(own) != len(given) or node.args.vararg or node.args.kwarg or node.args.kwonlyargs:
        raise UnsupportedError("a gradient of a function with other parameters")
    names = [*own, *closure.values]
    values = [*given, *closure.values.values()]
    order = sorted(range(len(names)), key=lambda i: not values[i].kind.has_floats)
    place = [order.index(i) for i in range(len(given))]
    is_same = type(f) is Value and len(names) == len(own) and order == sorted(order)
    if not is_same or closure.functions:
        body = [*closure.functions.values(), *body_of(node)]
        name = getattr(node, "name", "inner")
        function = closure.made(_function(name, [names[i] for i in order], body))
    return function, [values[i] for i in order], place


class _Closure:
    """What a function, and the inner functions that it calls, capture.

    Attributes
    ----------
    values : dict of str to Value
        The numbers and arrays.
    functions : dict of str to FunctionDef
        The inner functions.
    constants : dict of str to object
        Functions and other constants that are no global variables.
    """

    def __init__(self, reader: Any) -> None:
        self.reader = reader
        self.values: dict[str, Value] = {}
        self.functions: dict[str, ast.stmt] = {}
        self.constants: dict[str, Any] = {}
        self.globals: dict[str, Any] | None = None
        self._bound: dict[str, Any] = {}  # names → what they stand for, the same in all functions

    def enter(self, f: Any) -> tuple[types.FunctionType, ast.FunctionDef | ast.Lambda]:
        """Add what a function captures; return it, or the outer function, and its definition."""
        reader = self.reader
        if type(f) is LocalFunction:
            node, scope, defaults = reader.callee_inside(f)
        elif type(f) is Value and type(known(f)) is types.FunctionType:
            node, scope, defaults = reader.callee_outside(known(f))
        else:
            raise UnsupportedError("a gradient of what is no function")
        if defaults or any(isinstance(part, (ast.Nonlocal, ast.Global)) for part in ast.walk(node)):
            raise UnsupportedError("a gradient of a function with defaults, or that binds outside")
        function = scope.function
        if self.globals is None:
            self.globals = function.__globals__
        if function.__globals__ is not self.globals:
            raise UnsupportedError("a gradient of functions of several modules")
        own = _names_in(node)
        for name in own.bound:
            self._binds(name, node)
        outer, reader.scope = reader.scope, scope
        try:
            found = {name: reader.read(name) for name in own.free}
        finally:
            reader.scope = outer
        for name, x in found.items():
            self._add(name, x, function)
        return function, node

    def _binds(self, name: str, what: Any) -> None:
        if self._bound.setdefault(name, what) is not what:
            raise UnsupportedError("a gradient of functions with two variables of one name")

    def _add(self, name: str, x: Any, function: types.FunctionType) -> None:
        if type(x) is LocalFunction:
            if name not in self.functions:
                self._binds(name, x)
                self.functions[name] = ast.Pass()  # it may call itself
                _, node = self.enter(x)
                self.functions[name] = _function(name, positional_parameters(node), body_of(node))
            self._binds(name, x)
        elif type(x) is not Value:
            raise UnsupportedError("a gradient of a function that captures such a value")
        elif not x.kind.is_known:
            self._binds(name, x)
            self.values[name] = x
        else:
            constant = known(x)
            self._binds(name, constant)
            outside = function.__globals__.get(name, getattr(builtins, name, self))
            if outside is not constant:
                self.constants[name] = constant

    def made(self, definition: ast.FunctionDef) -> types.FunctionType:
        """Return the function with this definition, which finds the constants in its closure."""
        name = definition.name
        end = ast.Return(ast.Name(name, ast.Load()))
        outer = _function(f"{name}_", list(self.constants), [definition, end])
        text = ast.unparse(ast.fix_missing_locations(ast.Module([outer], []))) + "\n"
        file = f"<{name} of a gradient {next(_serials)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        namespace: dict[str, Any] = {}
        exec(compile(text, file, "exec"), self.globals, namespace)
        made = namespace[outer.name](*self.constants.values())
        weakref.finalize(made, linecache.cache.pop, file, None)
        return made


class _Names:
    def __init__(self, free: list[str], bound: list[str]) -> None:
        self.free = free
        self.bound = bound


def _names_in(node: ast.FunctionDef | ast.Lambda) -> _Names:
    """Return the names that a function reads from outside, and those that it binds."""
    own = _function("_", positional_parameters(node), body_of(node))
    text = ast.unparse(ast.fix_missing_locations(ast.Module([own], [])))
    (table,) = symtable.symtable(text, "_", "exec").get_children()
    found = [s for t in _tables(table) for s in t.get_symbols()]
    free = dict.fromkeys([s.get_name() for s in found if s.is_global()])
    bound = dict.fromkeys([s.get_name() for s in found if s.is_local()])
    return _Names(list(free), list(bound))


def _tables(table: Any) -> Iterator[Any]:
    yield table
    for inner in table.get_children():
        yield from _tables(inner)


def _function(name: str, parameters: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
    """Return the definition of a function."""
    places = [ast.arg(p) for p in parameters]
    args = ast.arguments([], places, None, [], [], None, [])
    return ast.FunctionDef(name=name, args=args, body=body, decorator_list=[])
