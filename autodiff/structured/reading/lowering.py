"""From the source of a function to its structured form.

The verified syntax tree is read once for arguments of given kinds. Names of functions and modules
are looked up now, and what was found is noted, to be compared at each call (`guards`). Calls of
plain functions are read in their place. What is not handled raises `UnsupportedError`: the
function is then traced as ever.
"""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

from autodiff.intercept.source.find_source import definition_of
from autodiff.intercept.source.library_code import is_library, is_ours
from autodiff.structured.form.indices import has_arrays, kind_of_index, parts_of_index
from autodiff.structured.form.ir import (
    LIST_WRITES,
    WRITES,
    Items,
    Memory,
    Named,
    Op,
    Program,
    Value,
    blocks_of,
    flat,
)
from autodiff.structured.form.kinds import Kind, UnsupportedError, kind_of, kind_of_result
from autodiff.structured.form.known_functions import are_distinct
from autodiff.structured.form.order import Order
from autodiff.structured.reading.building import formed, parts_of
from autodiff.structured.reading.expressions import BINARY
from autodiff.structured.reading.jumps import (
    always_returns,
    jumps,
    leaving,
    structured,
    without_else,
)
from autodiff.structured.reading.lists import grown_in
from autodiff.structured.reading.loops import Loops
from autodiff.structured.reading.scopes import Attributes, LocalFunction, Scope

RETURNED = ".returned"
_MOST_INLINED = 8


def lower(
    function: types.FunctionType, form: Any, kinds: list[Kind], known_args: dict[int, Any]
) -> Lowered:
    """Read a function from its source, for arguments of these kinds.

    Parameters
    ----------
    function : FunctionType
        The function.
    form : tuple
        The nest of its positional arguments, with None for each number or array.
    kinds : list of Kind
        Those of the numbers and arrays in it.
    known_args : dict
        Position → value of those that the program is made for.

    Raises
    ------
    UnsupportedError
        If it uses what is not handled.
    """
    return _Lowering().function(function, form, kinds, known_args)


class Lowered:
    """A program, and what was looked up for it."""

    __slots__ = ("guards", "program")

    def __init__(self, program: Program, guards: list[tuple[dict, Any, Any]]) -> None:
        self.program = program
        self.guards = guards


class _Lowering(Loops):
    """Reads functions and statements."""

    # -- functions ---------------------------------------------------------------------------------

    def function(
        self, function: types.FunctionType, form: Any, kinds: list[Kind], known_args: dict[int, Any]
    ) -> Lowered:
        node = self._definition(function)
        self.calling.append(node)
        self.scope = Scope(function, 0)
        leaves = iter(enumerate(kinds))
        for name, part in zip(_parameters(node), form, strict=True):
            self._parameter(name, part, leaves, known_args)
        self.program.returned = self._statements_of(_statements(node))
        if not _can_be_returned(self.program.returned):
            raise UnsupportedError("a list, dict or function as a result")
        self.end_block()
        self.program.body = self.body
        for slot, where in self.arrays:
            if slot.memory.root().is_written:  # type: ignore[union-attr] # an array has one
                raise UnsupportedError("a write into an array from outside")
            self.program.parameters.append(slot)
            self.program.captured.append((*where, self.lasting_kinds[slot]))
        self._check_views()
        self.check_copies()
        return Lowered(self.program, self.guards)

    def _check_views(self) -> None:
        """Raise if what may or may not be a view is written into, or a result."""
        order = Order(self.program.body)
        writes = [op for block in blocks_of(self.body) for op in block.ops if op.code in WRITES]
        returned = {v.memory.root() for v in flat(self.program.returned) if v.memory is not None}
        for made, given in self.may_share:
            if made.op not in order.places:  # of an earlier reading of a loop
                continue
            mine, other = made.memory.root(), given.memory.root()  # type: ignore[union-attr] # arrays
            for op in writes:
                written = op.args[0].memory.root()  # type: ignore[union-attr] # an array has one
                if written is mine or (written is other and order.may_precede(made.op, op)):
                    raise UnsupportedError("a write into what may be a view")
            if mine in returned:
                raise UnsupportedError("a result that may be a view")

    def _parameter(self, name: str, form: Any, leaves: Iterator, known_args: dict) -> None:
        """Bind a parameter: a number or array, or the parts of a nest of such."""
        if form is not None:
            names = [f"{name}.{i}" for i in range(len(form))]
            own = self.scope.forms[name] = formed(form, names)
            if type(own) is Items:
                own.has_name = True
            for place, part in zip(names, parts_of(form), strict=True):
                self._parameter(place, part, leaves, known_args)
            return
        i, kind = next(leaves)
        slot = self._slot(name)
        slot.writes += 1
        if i in known_args:
            self.kinds[slot] = kind_of(known_args[i], known=True)
            return
        slot.holds(kind)
        self.kinds[slot] = kind
        slot.memory = Memory() if kind.is_array else None
        self.program.parameters.append(slot)

    def _definition(self, function: types.FunctionType) -> ast.FunctionDef | ast.Lambda:
        found = definition_of(function)
        if found is None or type(found.node) not in (ast.FunctionDef, ast.Lambda):
            raise UnsupportedError("its source is not to be had")
        node: Any = found.node
        if getattr(node, "decorator_list", None) and hasattr(function, "__wrapped__"):
            raise UnsupportedError("a decorated function")
        return node

    def inline(self, function: Any, args: list[Any], names: dict[str, Any]) -> Any:
        """Read a function in the place of its call."""
        if type(function) is LocalFunction:
            node, outer = function.node, function.scope
            parameters = _parameters(node)
            own = [*parameters, *_bound_in(node)]
            scope = Scope(outer.function, outer.depth, outer, own, self.depth)
            defaults: tuple = tuple([self.read_in(outer, place) for place in function.defaults])
        else:
            if is_ours(function) or is_library(function):
                raise UnsupportedError(f"{function.__name__} of a library")
            node = self._definition(function)
            parameters = _parameters(node)
            scope = Scope(function, self.scope.depth + 1, blocks=self.depth)
            self.guards.append((Attributes(function), "__code__", function.__code__))
            self.guards.append((Attributes(function), "__defaults__", function.__defaults__))
            defaults = function.__defaults__ or ()
        if node in self.calling or len(self.calling) >= _MOST_INLINED:
            raise UnsupportedError("a function that calls itself")
        given: dict[str, Any] = dict(zip(parameters, args, strict=False))
        if len(args) > len(parameters) or not names.keys() <= set(parameters) - given.keys():
            raise UnsupportedError("a call that fails")
        given |= names
        last = parameters[len(parameters) - len(defaults) :]
        for name, x in zip(last, defaults, strict=True):
            if name not in given:
                given[name] = x if type(function) is LocalFunction else self.const(x)
        if given.keys() != set(parameters):
            raise UnsupportedError("a call that fails")
        caller, self.scope = self.scope, scope
        self.calling.append(node)
        try:
            for name in parameters:
                self.bind(name, given[name])
            return self._statements_of(_statements(node))
        finally:
            self.scope = caller
            self.calling.pop()

    def on_functiondef(self, node: ast.FunctionDef) -> None:
        """Read the definition of a function inside: its body is read where it is called."""
        if node.decorator_list or self.depth != self.scope.blocks:
            raise UnsupportedError("a function with decorators, or defined in a branch or loop")
        self.bind(node.name, self._defined(node))

    def on_lambda(self, node: ast.Lambda) -> LocalFunction:
        return self._defined(node)

    def _defined(self, node: ast.FunctionDef | ast.Lambda) -> LocalFunction:
        _parameters(node)
        held = tuple([self.held(self.expression(d)) for d in node.args.defaults])
        return LocalFunction(node, self.scope, held)

    def _statements_of(self, body: list[ast.stmt]) -> Any:
        """Read the statements of a function; return what it returns."""
        body = self._without_returns_in_loops(without_else(body, self.hidden))
        body = structured(body, (ast.Return, ast.Raise))
        last = body[-1]
        if isinstance(last, ast.Return):
            self.statements(body[:-1])
            return self.const(None) if last.value is None else self.expression(last.value)
        returns = any(jumps(node, (ast.Return,)) for node in body)
        self.scope.locals |= {RETURNED}
        self.statements(body)
        if not returns:
            return self.const(None)
        if not always_returns(body):
            raise UnsupportedError("a function that returns this and that")
        return self.read(RETURNED)

    def _without_returns_in_loops(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Leave loops that return by ``break``: the function returns behind them."""
        made: list[ast.stmt] = []
        for node in body:
            if isinstance(node, ast.If):
                branches = map(self._without_returns_in_loops, (node.body, node.orelse))
                made.append(ast.copy_location(ast.If(node.test, *branches), node))
            elif isinstance(node, (ast.For, ast.While)) and jumps(node, (ast.Return,)):
                made += leaving(node, self.hidden("returns"), self.hidden("result", lasts=True))
            else:
                made.append(node)
        return made

    def on_return(self, node: ast.Return) -> None:
        """At the end of a branch."""
        value = self.const(None) if node.value is None else self.expression(node.value)
        self.bind(RETURNED, value)

    # -- statements --------------------------------------------------------------------------------

    def statements(self, nodes: list[ast.stmt]) -> None:
        for node in nodes:
            method = getattr(self, f"on_{type(node).__name__.lower()}", None)
            if method is None:
                raise UnsupportedError(f"statement {type(node).__name__}")
            method(node)

    def on_pass(self, node: ast.Pass) -> None:
        pass

    def on_continue(self, node: ast.Continue) -> None:
        """At the end of a branch: nothing is left of the turn."""

    def on_break(self, node: ast.Break) -> None:
        """At the end of a branch: nothing is left of the turn, and it is the last."""
        self.done(Op("break", [], data=self.flags[-1]))

    def on_expr(self, node: ast.Expr) -> None:
        self.expression(node.value)

    def on_assign(self, node: ast.Assign) -> None:
        value = self.expression(node.value)
        if type(value) is Items and (not value or self._may_grow(node.targets)):
            value = self.list_from(value)
        for target in node.targets:
            self.assign(target, value)

    def _may_grow(self, targets: list[ast.expr]) -> bool:
        """Whether the function that is read changes a list that it binds."""
        grown = grown_in(self.calling[-1])
        return any(isinstance(t, ast.Name) and t.id in grown for t in targets)

    def on_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            assigned = ast.Assign([node.target], node.value)
            self.on_assign(ast.copy_location(assigned, node))

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            if any(isinstance(t, ast.Starred) for t in target.elts):
                raise UnsupportedError("* in an assignment")
            for t, v in zip(target.elts, self._unpacked(value, len(target.elts)), strict=True):
                self.assign(t, v)
        elif isinstance(target, ast.Subscript):
            base = self.value(target.value)
            if base.kind.is_list:
                self.set_item(base, self.value(target.slice), value)
                return
            values, template = self._index(target.slice)
            if isinstance(value, tuple):
                raise UnsupportedError("a tuple written into an array")
            self.store(base, value, values, template)
        else:
            raise UnsupportedError(f"assignment to {type(target).__name__}")

    def _unpacked(self, value: Any, n: int) -> list:
        """Return the parts of a tuple, or the elements or rows of an array that has so many."""
        if isinstance(value, tuple) or not value.kind.is_array:
            parts = self._parts_of(value)
            if len(parts) != n:
                raise UnsupportedError("unpacking that fails")
            return parts
        name = self.held(value)
        length = self.called(len, [value], {})
        self.leave_unless(self.call(operator.eq, [length, self.const(n)]))
        at = [self.const(i) for i in range(n)]
        return [self.indexed(self.read(name), [i], ("value", 0)) for i in at]

    def store(
        self, base: Value, value: Value, values: list[Value], template: Any, code: str = "store"
    ) -> None:
        if not base.kind.is_array:
            raise UnsupportedError("an item of what is no array")
        if not (value.kind.is_scalar or value.kind.is_array):
            raise UnsupportedError("a write of what is no number or array")
        arrays = [values[part[1]] for part in parts_of_index(template) if part[0] == "array"]
        if any(a.kind.letter != "b" for a in arrays):
            if len(arrays) > 1:
                raise UnsupportedError("a write at several arrays of indices")
            self.leave_unless(self.call(are_distinct, arrays))
        if value.kind.is_inexact and base.kind.letter not in "fc":
            raise UnsupportedError("floats written into an array of integers")
        if value.kind.is_complex and base.kind.letter != "c":
            raise UnsupportedError("complex numbers written into an array of floats")
        region = kind_of_index(base.kind, [v.kind for v in values], template)
        if value.kind.is_array and value.kind.ndim > region.ndim:
            raise UnsupportedError("a write of more axes")
        self.done(Op(code, [base, value, *values], data=template))
        base.memory.root().is_written = True  # type: ignore[union-attr] # an array has one

    def on_raise(self, node: ast.Raise) -> None:
        """Leave the program: the function is then traced, and raises what it raises."""
        self.done(Op("raise", []))

    def on_assert(self, node: ast.Assert) -> None:
        self.on_if(ast.copy_location(ast.If(node.test, [ast.Pass()], [ast.Raise()]), node))

    def on_augassign(self, node: ast.AugAssign) -> None:
        f = BINARY.get(type(node.op))
        if f is None:
            raise UnsupportedError(f"operator {type(node.op).__name__}")
        if isinstance(node.target, ast.Name):
            old = self.read(node.target.id)
            if isinstance(old, (tuple, Named)) or old.kind.is_list:
                self._extend(f, old, node.value)
                return
            if not old.kind.is_array:
                self.bind(node.target.id, self._binary(f, old, self.value(node.value)))
                return
            base, values, template = old, list[Value](), ("known", Ellipsis)
        elif isinstance(node.target, ast.Subscript):
            base = self.value(node.target.value)
            if base.kind.is_list:
                self._change_item(f, base, self.value(node.target.slice), node.value)
                return
            values, template = self._index(node.target.slice)
        else:
            raise UnsupportedError(f"assignment to {type(node.target).__name__}")
        if not base.kind.is_array:
            raise UnsupportedError("an item of what is no array")
        region = kind_of_index(base.kind, [v.kind for v in values], template)
        if f in (operator.add, operator.sub) and not has_arrays(template):
            # Python reads an element before what is added to it, which may write into the array.
            old = None if region.is_array else self.indexed(base, values, template)
            block, n = self.block, len(self.block.ops)
            value = self.value(node.value)
            self._check_in_place(f, region, value)
            wrote = self.block is not block or any(op.code in WRITES for op in block.ops[n:])
            if old is not None and wrote:
                self.store(base, self._binary(f, old, value), values, template)
                return
            if old is not None:
                self.drop(old)
            self.store(base, value, values, template, "add" if f is operator.add else "sub")
            return
        old = self.indexed(base, values, template)
        value = self.value(node.value)
        self._check_in_place(f, region, value)
        self.store(base, self._binary(f, old, value), values, template)

    def _extend(self, f: Callable, xs: Any, node: ast.expr) -> None:
        """Read ``xs += [a, b]``, for a list that may grow."""
        items = self.expression(node)
        if f is not operator.add or type(xs) is not Value or type(items) is not Items:
            raise UnsupportedError("this change of a list, tuple or dict")
        for x in items:
            self.append(xs, x)

    def _change_item(self, f: Callable, xs: Value, at: Value, node: ast.expr) -> None:
        """Read an item of a list that is changed by an operator; an array changes in place."""
        old = self.item(xs, at)
        block, n = self.block, len(self.block.ops)
        value = self.value(node)
        if not old.kind.is_array:
            self.set_item(xs, at, self._binary(f, old, value))
            return
        if self.block is not block or any(op.code in LIST_WRITES for op in block.ops[n:]):
            raise UnsupportedError("a list that changes while one of its items does")
        self._check_in_place(f, old.kind, value)
        whole = ("known", Ellipsis)
        if f in (operator.add, operator.sub):
            self.store(old, value, [], whole, "add" if f is operator.add else "sub")
        else:
            self.store(old, self._binary(f, old, value), [], whole)

    def drop(self, value: Value) -> None:
        """Take the operation that made a value out of the block: nobody reads it."""
        self.block.ops.remove(value.op)
        for a in value.op.args:
            a.uses -= 1

    def _check_in_place(self, f: Callable, region: Kind, value: Value) -> None:
        if not (value.kind.is_scalar or value.kind.is_array):
            raise UnsupportedError("an operator on what is no number or array")
        result = kind_of_result(f, [region, value.kind])
        if region.is_array and result.general() != region.general():
            raise UnsupportedError("an operation in place that changes dtype or axes")

    def on_if(self, node: ast.If) -> None:
        self.branches(
            self.test(node.test),
            lambda: self.statements(node.body),
            lambda: self.statements(node.orelse),
        )


def _can_be_returned(x: Any) -> bool:
    return type(x) is Value or (type(x) is tuple and all(map(_can_be_returned, x)))


def _parameters(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    a = node.args
    if a.vararg or a.kwarg or a.kwonlyargs:
        raise UnsupportedError("parameters * and **")
    return [p.arg for p in (*a.posonlyargs, *a.args)]


def _statements(node: ast.FunctionDef | ast.Lambda) -> list[ast.stmt]:
    return node.body if isinstance(node, ast.FunctionDef) else [ast.Return(node.body)]


def _bound_in(node: ast.FunctionDef | ast.Lambda) -> Iterator[str]:
    """Yield the names that a function inside another may bind."""
    for statement in _statements(node):
        for part in ast.walk(statement):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id
            elif isinstance(part, ast.FunctionDef):
                yield part.name
