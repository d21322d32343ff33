"""Reading generator functions in the place of the loops that go over what they yield."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterator
from typing import Any

from autodiff.intercept.source.library_code import is_library, is_ours
from autodiff.intercept.source.rewritten_code import definition_of
from autodiff.structured.form.ir import Value, known
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.reading.containers.classes import class_of, is_object
from autodiff.structured.reading.jumps import noting_breaks
from autodiff.structured.reading.parameters import Parameters
from autodiff.structured.reading.scopes import LocalFunction

ENDED = ".ended"
"""A variable of a generator that says that nobody takes what it would yield."""


class Generators(Parameters):
    """Reads generators."""

    def is_generator(self, node: ast.expr) -> bool:
        """Whether a call is one of a generator function."""
        return isinstance(node, ast.Call) and self._generator(node) is not None

    def generator_called(self, node: ast.Call) -> tuple[Any, list[Any], dict[str, Any]] | None:
        """Return the generator function that a call calls, and the arguments; None for others."""
        found = self._generator(node)
        if found is None:
            return None
        f, *owner = found
        return f, [*owner, *self._displayed(node.args)], self._named(node)

    def _generator(self, node: ast.Call) -> tuple | None:
        """Return the generator function that a call calls, and its owner; None for others."""
        if isinstance(node.func, ast.Attribute):
            owner = self._without_calls(node.func.value)
            if not is_object(owner):
                return None
            f = self.of_class(class_of(owner), node.func.attr)
            return (f, owner) if self._yields(f) else None
        f = self.expression(node.func) if isinstance(node.func, ast.Name) else None
        f = known(f) if type(f) is Value else f
        return (f,) if self._yields(f) else None

    def generator_of_object(self, x: Any) -> Any:
        """Return the method of an object that a loop over it runs, if it is a generator."""
        f = self.special_method(x, "__iter__") if is_object(x) else None
        return f if self._yields(f) else None

    def _without_calls(self, node: ast.expr) -> Any:
        """Read a name, or attributes of objects of which none is a property; else None."""
        if isinstance(node, ast.Name):
            return self.expression(node)
        owner = self._without_calls(node.value) if isinstance(node, ast.Attribute) else None
        if not is_object(owner) or type(self.of_class(class_of(owner), node.attr)) is property:  # type: ignore[attr-defined] # an attribute
            return None
        return self.attribute_of_any(owner, node.attr)  # type: ignore[attr-defined]

    def _yields(self, f: Any) -> bool:
        """Whether it is a generator function of the user's."""
        if type(f) is LocalFunction:
            return yields(f.node)
        if type(f) is not types.FunctionType or is_ours(f) or is_library(f):
            return False
        found = definition_of(f)
        return found is not None and yields(found.node)

    def over_generator(
        self, node: ast.For, f: Any, args: list[Any], names: dict[str, Any]
    ) -> None:  # fmt: skip
        """Read a loop over what a generator function yields: its statements, in its place.

        Where the loop is left, the generator returns.
        """
        nodes, flag = self._body_of(node)
        left = self.hidden("left") if flag else ""
        if left:
            self.bind(left, self.const(False))
            nodes = noting_breaks(nodes, left, stays=False)

        def take(item: Any) -> None:
            self.assign(node.target, item)
            self.statements(nodes)

        self._run_generator(f, args, names, take, left)

    def parts_yielded(self, function: types.FunctionType, args: list[Any]) -> list[Any]:
        """Return what a generator without loops and branches yields."""
        names: list[str] = []
        depth = self.depth

        def take(item: Any) -> None:
            if self.depth != depth:
                raise UnsupportedError("the parts of a generator with loops or branches")
            names.append(self.held(item))

        self._run_generator(function, args, {}, take, "")
        return list(map(self.read, names))

    def _run_generator(
        self, f: Any, args: list[Any], names: dict[str, Any], take: Callable[[Any], None], left: str
    ) -> None:  # fmt: skip
        """Read a generator in whose place what it yields is taken, until `left` says no more."""
        definition = f.node if type(f) is LocalFunction else self.definition_of(f)
        own = list(self.inlined)
        self.takers.append((definition, take, self.scope, self.calling[-1], own, left))
        try:
            self.inline(f, args, names)
        finally:
            self.takers.pop()

    def given_to_loop(self, node: ast.Yield) -> None:
        """Read what a generator yields: a turn of the loop over it."""
        if not self.takers or self.takers[-1][0] is not self.calling[-1]:
            raise UnsupportedError("a generator that no loop goes over")
        _, take, scope, calling, inlined, left = taker = self.takers.pop()
        value = self.const(None) if node.value is None else self.expression(node.value)
        own, self.scope = self.scope, scope
        within, self.inlined = self.inlined, inlined  # where the loop stands, not in the generator
        self.calling.append(calling)
        try:
            take(value)
            is_left = self.read(left) if left else None
        finally:
            self.calling.pop()
            self.scope, self.inlined = own, within
            self.takers.append(taker)
        if is_left is not None:
            self.scope.locals |= {ENDED}
            self.bind(ENDED, is_left)


def own_parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a function that are no parts of functions and classes inside it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            yield child
            yield from own_parts(child)


def yields(node: ast.AST) -> bool:
    """Whether a function is a generator."""
    return any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in own_parts(node))


def yielding(
    nodes: list[ast.stmt], ended: str, fresh: Callable[[str], str]
) -> list[ast.stmt]:  # fmt: skip
    """Return the statements of a generator in which each ``yield from`` is a loop.

    Where a loop over the generator may end, it returns if a variable of the name `ended` says so.
    """
    made: list[ast.stmt] = []
    for node in nodes:
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.YieldFrom):
            item = fresh("item")
            given: ast.stmt = ast.Expr(ast.Yield(ast.Name(item, ast.Load())))
            loop = ast.For(ast.Name(item, ast.Store()), value.value, [given], [])
            ast.fix_missing_locations(ast.copy_location(loop, node))
            made += yielding([loop], ended, fresh)
        elif isinstance(value, ast.Yield) and ended:
            leaves = ast.If(ast.Name(ended, ast.Load()), [ast.Return(None)], [])
            made += [node, ast.fix_missing_locations(ast.copy_location(leaves, node))]
        elif isinstance(node, (ast.If, ast.With, ast.For, ast.While, ast.Try)):
            fields = dict(ast.iter_fields(node))
            for name in fields.keys() & {"body", "orelse", "finalbody"}:
                fields[name] = yielding(fields[name], ended, fresh)
            made.append(ast.copy_location(type(node)(**fields), node))
        else:
            made.append(node)
    return made
