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
from collections.abc import Callable
from typing import Any

from autodiff.intercept.source.find_source import definition_of
from autodiff.intercept.source.library_code import is_library, is_ours
from autodiff.structured.activity import blocks_of
from autodiff.structured.building import Attributes, Scope
from autodiff.structured.expressions import BINARY, Expressions
from autodiff.structured.indices import has_arrays, kind_of_index, parts_of_index
from autodiff.structured.ir import (
    WRITES,
    Block,
    For,
    If,
    Memory,
    Op,
    Program,
    Value,
    While,
    known,
)
from autodiff.structured.jumps import always_returns, breaks, structured
from autodiff.structured.kinds import (
    Kind,
    UnsupportedError,
    join,
    kind_of,
    kind_of_result,
)

_MOST_INLINED = 8
_MOST_ROUNDS = 4


def lower(function: types.FunctionType, kinds: list[Kind], known_args: dict[int, Any]) -> Lowered:
    """Read a function from its source, for arguments of these kinds.

    Parameters
    ----------
    function : FunctionType
        The function.
    kinds : list of Kind
        Those of its positional arguments.
    known_args : dict
        Position → value of the arguments that the program is made for.

    Raises
    ------
    UnsupportedError
        If it uses what is not handled.
    """
    return _Lowering().function(function, kinds, known_args)


class Lowered:
    """A program, and what was looked up for it."""

    __slots__ = ("guards", "program")

    def __init__(self, program: Program, guards: list[tuple[dict, Any, Any]]) -> None:
        self.program = program
        self.guards = guards


class _Lowering(Expressions):
    """Reads functions and statements."""

    # -- functions ---------------------------------------------------------------------------------

    def function(
        self, function: types.FunctionType, kinds: list[Kind], known_args: dict[int, Any]
    ) -> Lowered:
        node = self._definition(function)
        self.calling.append(function)
        self.scope = Scope(function, 0)
        for i, (a, kind) in enumerate(zip(_parameters(function), kinds, strict=True)):
            slot = self._slot(a)
            slot.writes += 1
            if i in known_args:
                self.kinds[slot] = kind_of(known_args[i], known=True)
                continue
            self.kinds[slot] = kind
            slot.memory = Memory() if kind.is_array else None
            self.program.parameters.append(slot)
        self.program.returned = self._statements_of(node.body)
        self.end_block()
        self.program.body = self.body
        for slot, where in self.arrays:
            if slot.memory.root().is_written:  # type: ignore[union-attr] # an array has one
                raise UnsupportedError("a write into an array from outside")
            self.program.parameters.append(slot)
            self.program.captured.append((*where, self.outside_kinds[slot]))
        for pair in self.may_share:
            if any(v.memory.root().is_written for v in pair):  # type: ignore[union-attr]
                raise UnsupportedError("a write into what may be a view")
        return Lowered(self.program, self.guards)

    def _definition(self, function: types.FunctionType) -> ast.FunctionDef:
        found = definition_of(function)
        if found is None or type(found.node) is not ast.FunctionDef:
            raise UnsupportedError("its source is not to be had")
        node = found.node
        a = node.args
        if a.vararg or a.kwarg or a.kwonlyargs or function.__code__.co_cellvars:
            raise UnsupportedError("parameters * and **, and functions inside")
        if node.decorator_list and hasattr(function, "__wrapped__"):
            raise UnsupportedError("a decorated function")
        return node

    def inline(self, function: types.FunctionType, args: list[Any], names: dict[str, Any]) -> Any:
        """Read a function in the place of its call."""
        if function in self.calling or len(self.calling) >= _MOST_INLINED:
            raise UnsupportedError("a function that calls itself")
        if is_ours(function) or is_library(function):
            raise UnsupportedError(f"{function.__name__} of a library")
        node = self._definition(function)
        parameters = _parameters(function)
        given: dict[str, Any] = dict(zip(parameters, args, strict=False))
        if len(args) > len(parameters) or not names.keys() <= set(parameters) - given.keys():
            raise UnsupportedError("a call that fails")
        given |= names
        defaults = dict(
            zip(reversed(parameters), reversed(function.__defaults__ or ()), strict=False)
        )
        self.guards.append((Attributes(function), "__code__", function.__code__))
        self.guards.append((Attributes(function), "__defaults__", function.__defaults__))
        for name in parameters:
            if name not in given:
                if name not in defaults:
                    raise UnsupportedError("a call that fails")
                given[name] = self.const(defaults[name])
        outer, self.scope = self.scope, Scope(function, self.scope.depth + 1)
        self.calling.append(function)
        try:
            for name in parameters:
                self.bind(name, given[name])
            return self._statements_of(node.body)
        finally:
            self.scope = outer
            self.calling.pop()

    def _statements_of(self, body: list[ast.stmt]) -> Any:
        """Read the statements of a function; return what it returns."""
        body = structured(body, (ast.Return, ast.Raise))
        last = body[-1]
        if isinstance(last, ast.Return):
            self.statements(body[:-1])
            return self.const(None) if last.value is None else self.expression(last.value)
        outer, self.returns = self.returns, []
        try:
            self.statements(body)
            if not self.returns:
                return self.const(None)
            return self._joined_returns(body)
        finally:
            self.returns = outer

    def _joined_returns(self, body: list[ast.stmt]) -> Any:
        """Return what is returned at the ends of branches."""
        if not always_returns(body) or len(set(map(repr, self.returns))) != 1:
            raise UnsupportedError("a function that returns this and that")

        def read(names: Any) -> Any:
            return tuple(map(read, names)) if type(names) is tuple else self.read(names)

        return read(self.returns[0])

    def on_return(self, node: ast.Return) -> None:
        """At the end of a branch: bind variables of their own."""
        value = self.const(None) if node.value is None else self.expression(node.value)

        def bind(x: Any, place: str) -> Any:
            if type(x) is tuple:
                return tuple([bind(part, f"{place}_{i}") for i, part in enumerate(x)])
            self.bind(place, x)
            return place

        self.scope.locals |= {f"return{''.join(p)}" for p in _places(value)}
        self.returns.append(bind(value, "return"))

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
        for target in node.targets:
            self.assign(target, value)

    def on_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.expression(node.value))

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            if any(isinstance(t, ast.Starred) for t in target.elts):
                raise UnsupportedError("* in an assignment")
            if type(value) is not tuple:
                if not value.kind.parts:
                    raise UnsupportedError("unpacking of what is no tuple")
                at = [self.const(i) for i in range(len(value.kind.parts))]
                value = tuple([self._part(value, i) for i in at])
            if len(value) != len(target.elts):
                raise UnsupportedError("unpacking that fails")
            for t, v in zip(target.elts, value, strict=True):
                self.assign(t, v)
        elif isinstance(target, ast.Subscript):
            base = self.value(target.value)
            values, template = self._index(target.slice)
            if type(value) is tuple:
                raise UnsupportedError("a tuple written into an array")
            self.store(base, value, values, template)
        else:
            raise UnsupportedError(f"assignment to {type(target).__name__}")

    def store(
        self, base: Value, value: Value, values: list[Value], template: Any, code: str = "store"
    ) -> None:
        if not base.kind.is_array:
            raise UnsupportedError("an item of what is no array")
        if not (value.kind.is_scalar or value.kind.is_array):
            raise UnsupportedError("a write of what is no number or array")
        for part in parts_of_index(template):
            if part[0] == "array" and values[part[1]].kind.letter != "b":
                raise UnsupportedError("a write at an array of indices")
        if base.kind.letter != "f" and value.kind.is_inexact:
            raise UnsupportedError("floats written into an array of integers")
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
            if not old.kind.is_array:
                self.bind(node.target.id, self._binary(f, old, self.value(node.value)))
                return
            base, values, template = old, list[Value](), ("known", Ellipsis)
        elif isinstance(node.target, ast.Subscript):
            base = self.value(node.target.value)
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
        test = self.test(node.test)
        if test.kind.is_known:
            self.statements(node.body if test.kind.value else node.orelse)
            return
        self.end_block()
        before = dict(self.kinds)
        then = self._branch(node.body)
        after, self.kinds = self.kinds, before
        otherwise = self._branch(node.orelse)
        if _raises(otherwise):
            self.kinds = after
        elif not _raises(then):
            self.kinds = {
                slot: join(kind, self.kinds[slot])
                for slot, kind in after.items()
                if slot in self.kinds
            }
        self.body.insert(len(self.body) - 1, If(test, then, otherwise))
        test.uses += 1

    def _branch(self, nodes: list[ast.stmt]) -> list:
        """Read statements into blocks of their own."""
        return self._apart(lambda: self.statements(nodes))

    def _apart(self, read: Callable[[], None]) -> list:
        """Return the blocks that are made while something is read."""
        outer = self.body, self.block, self.bound
        self.block = Block()
        self.body, self.bound = [self.block], {}
        self.depth += 1
        try:
            read()
            return self.body
        finally:
            self.depth -= 1
            self.body, self.block, self.bound = outer

    def test(self, node: ast.expr) -> Value:
        value = self.value(node)
        if not value.kind.is_scalar and not value.kind.is_known:
            raise UnsupportedError("the truth of what is no number")
        return value

    def on_for(self, node: ast.For) -> None:
        if node.orelse or not isinstance(node.target, ast.Name):
            raise UnsupportedError("this form of loop")
        call = node.iter
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.keywords:
            raise UnsupportedError("a loop over what is no range")
        if known(self.value(call.func)) is not range or not 1 <= len(call.args) <= 3:
            raise UnsupportedError("a loop over what is no range")
        bounds = [self.value(a) for a in call.args]
        for b in bounds:
            if not b.kind.is_integral:
                raise UnsupportedError("a range of what is no integer")
            b.uses += 1
        slot = self._slot(node.target.id)
        self.end_block()
        nodes, flag = self._body_of(node)
        self._widen(nodes)
        self.flags.append(flag or "")

        def turn() -> list:
            self.kinds[slot] = Kind(frozenset([int]))
            return self._branch(nodes)

        body = self._loop(turn)
        self.flags.pop()
        slot.writes += 2
        self.body.insert(len(self.body) - 1, For(slot, bounds, body, flag))

    def _body_of(self, node: ast.For | ast.While) -> tuple[list[ast.stmt], str | None]:
        """Return the body of a loop without jumps, and the name that says that it was left."""
        nodes = structured(node.body, (ast.Break, ast.Continue, ast.Raise))
        return nodes, self.fresh("left") if any(map(breaks, node.body)) else None

    def _widen(self, nodes: list[ast.stmt]) -> None:
        """Forget the values of variables that a loop binds."""
        for node in nodes:
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    slot = self.scope.slots.get(part.id)
                    if slot is not None and slot in self.kinds and self.kinds[slot].is_scalar:
                        self.kinds[slot] = self.kinds[slot].general()

    def _loop(self, turn: Callable[[], list]) -> list:
        """Read the body of a loop until the kinds at its beginning hold for every turn."""
        for _ in range(_MOST_ROUNDS):
            before = dict(self.kinds)
            state = [(s, s.writes, s.reads) for s in self.program.slots]
            body = turn()
            joined = {s: join(kind, self.kinds[s]) for s, kind in before.items()}
            if joined == before:
                # What is bound in the loop alone may not be bound after it.
                self.kinds = before
                return body
            self.kinds = joined
            for s, writes, reads in state:
                s.writes, s.reads = writes, reads
        raise UnsupportedError("a loop whose variables change their kinds")

    def on_while(self, node: ast.While) -> None:
        if node.orelse:
            raise UnsupportedError("else of a loop")
        self.end_block()
        nodes, flag = self._body_of(node)
        self._widen(nodes)
        parts: list = []

        def read_test() -> None:
            test = self.test(node.test)
            if test.kind.is_known and not (flag and test.kind.value):
                raise UnsupportedError("a loop without end")
            parts.append(test)

        def turn() -> list:
            parts.clear()
            parts.append(self._apart(read_test))
            return self._branch(nodes)

        self.flags.append(flag or "")
        body = self._loop(turn)
        if any(op.code in WRITES for block in blocks_of(parts[1]) for op in block.ops):
            raise UnsupportedError("a test that writes into an array")
        self.flags.pop()
        parts[0].uses += 1
        self.body.insert(len(self.body) - 1, While(parts[1], parts[0], body, flag))


def _places(value: Any, place: tuple = ()) -> list[tuple]:
    if type(value) is tuple:
        return [p for i, part in enumerate(value) for p in _places(part, (*place, f"_{i}"))]
    return [place]


def _raises(nodes: list) -> bool:
    """Whether a branch ends with an exception."""
    last = nodes[-1]
    return isinstance(last, Block) and bool(last.ops) and last.ops[-1].code == "raise"


def _parameters(function: types.FunctionType) -> list[str]:
    return list(function.__code__.co_varnames[: function.__code__.co_argcount])
