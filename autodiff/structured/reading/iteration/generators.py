"""Inlining generator functions: each ``yield`` becomes an iteration of the loop over them."""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

from autodiff.intercept.source.library_code import is_library, is_ours
from autodiff.structured.form.function_ir import Value, known
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.reading.builder import Consumer
from autodiff.structured.reading.containers.classes import class_of, is_object
from autodiff.structured.reading.iteration.iterators import is_iterator_maker
from autodiff.structured.reading.jumps import COMPOUND, classes_in, with_bodies
from autodiff.structured.reading.libraries.iterator_decompositions import GENERATORS, READ_AHEAD
from autodiff.structured.reading.parameters import ParameterReader
from autodiff.structured.reading.scopes import ITERATORS, LocalFunction, SuperProxy

ENDED = ".ended"
"""A variable of a generator: whether the loop over it was left, so that it must return."""


class GeneratorReader(ParameterReader):
    """Layer of the reader: generators."""

    def gives_iterator(self, f: Any) -> bool:
        """Whether a function returns an iterator."""
        return f in GENERATORS or is_iterator_maker(f) or self._yields(f)

    def is_generator(self, node: ast.expr) -> bool:
        """Whether this is a call of a generator function."""
        return isinstance(node, ast.Call) and self._generator(node) is not None

    def generator_called(self, node: ast.Call) -> tuple[Any, list[Any], dict[str, Any]] | None:
        """Return the generator function of a call, and the arguments; None for other calls."""
        found = self._generator(node)
        if found is None:
            return None
        f, *owner = found
        given = list(map(self.as_list_display, node.args)) if f in READ_AHEAD else node.args
        return f, [*owner, *self._displayed(given)], self._named(node)

    def _generator(self, node: ast.Call) -> tuple | None:
        """Return the generator function of a call, and its owner, if any; None for other calls."""
        called = self.callee(node)
        if called in GENERATORS:
            return (GENERATORS[called],)
        if isinstance(node.func, ast.Attribute):
            owner = self._without_calls(node.func.value)
            if type(owner) is SuperProxy:
                f, owner = self.first_attribute(owner.classes, node.func.attr), owner.owner
            elif is_object(owner):
                f = self.of_class(class_of(owner), node.func.attr)
            else:
                return None
            return (f, owner) if self._yields(f) else None
        f = self.expression(node.func) if isinstance(node.func, ast.Name) else None
        f = known(f) if type(f) is Value else f
        return (f,) if self._yields(f) else None

    def generator_of_object(self, x: Any) -> Any:
        """Return the method ``__iter__`` of an object, if it is a generator; else None."""
        f = self.special_method(x, "__iter__") if is_object(x) else None
        return f if self._yields(f) else None

    def _without_calls(self, node: ast.expr) -> Any:
        """Read a name, `super()` or attribute of objects, no property; else return None."""
        if isinstance(node, ast.Name) or (
            isinstance(node, ast.Call) and self.callee(node) is super
        ):
            return self.expression(node)
        owner = self._without_calls(node.value) if isinstance(node, ast.Attribute) else None
        if not is_object(owner) or type(self.of_class(class_of(owner), node.attr)) is property:  # type: ignore[attr-defined] # an attribute
            return None
        return self.read_attribute(owner, node.attr)  # type: ignore[attr-defined]

    def _yields(self, f: Any) -> bool:
        """Whether this is a generator function of the user's."""
        if type(f) is LocalFunction:
            return yields(f.node)
        if f in GENERATORS.values():
            return True
        if type(f) is not types.FunctionType or is_ours(f) or is_library(f):
            return False
        found = self.found_definition(f)
        return found is not None and yields(found.node)

    def loop_over_generator(
        self, node: ast.For, f: Any, args: list[Any], names: dict[str, Any]
    ) -> None:  # fmt: skip
        """Read a loop over a generator: inline the generator, and the loop body at each ``yield``.

        Where the loop is left, the generator returns.
        """
        nodes, left = self._inlined_body(node)

        def take(item: Any) -> None:
            self.assign(node.target, item)
            self.statements(nodes)

        read = functools.partial(self._inline_generator, f, args, names, take, left)
        if f in READ_AHEAD:
            self.without_changes([*args, *names.values(), *self.sources_of(node.iter)], read)
        else:
            read()

    def sources_of(self, node: ast.expr) -> list[Any]:
        """Return the values of the variables that a call names, which its iterators may read.

        A list is made of such iterators ahead, so the loop must not change what they read.
        """
        names = {n.id: n for n in ast.walk(node) if isinstance(n, ast.Name)}
        bound = {n.id for n in names.values() if isinstance(n.ctx, ast.Store)}
        bound |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
        found = [self.expression(n) for name, n in names.items() if name not in bound]
        is_lazy = any(isinstance(n, ast.GeneratorExp) for n in ast.walk(node))
        if is_lazy or any(type(x) in ITERATORS for x in found):
            raise UnsupportedError("an iterator of which a list is made ahead")
        return found

    def yielded_values(self, function: types.FunctionType, args: list[Any]) -> list[Any]:
        """Return all values that a generator without loops and branches yields."""
        names: list[str] = []
        depth = self.depth

        def take(item: Any) -> None:
            if self.depth != depth:
                raise UnsupportedError("the parts of a generator with loops or branches")
            names.append(self.hold(item))

        self._inline_generator(function, args, {}, take, "")
        return list(map(self.read, names))

    def _inline_generator(
        self, f: Any, args: list[Any], names: dict[str, Any], take: Callable[[Any], None], flag: str
    ) -> None:  # fmt: skip
        """Inline a generator; `take` reads what is done with each value until the flag is set."""
        node = f.node if type(f) is LocalFunction else self.definition_of(f)
        consumer = Consumer(node, take, self.scope, self.calling[-1], list(self.inlined), flag)
        self.consumers.append(consumer)
        try:
            self.inline(f, args, names)
        finally:
            self.consumers.pop()

    def read_yield(self, node: ast.Yield) -> None:
        """Read a ``yield``: an iteration of the loop over the generator."""
        if not self.consumers or self.consumers[-1].generator is not self.calling[-1]:
            raise UnsupportedError("a generator that no loop iterates over")
        value = self.const(None) if node.value is None else self.expression(node.value)
        consumer = self.consumers.pop()
        own = self.scope, self.inlined
        self.scope, self.inlined = consumer.scope, consumer.inlined
        self.calling.append(consumer.caller)
        try:
            consumer.take(value)
            is_left = self.read(consumer.flag) if consumer.flag else None
        finally:
            self.calling.pop()
            self.scope, self.inlined = own
            self.consumers.append(consumer)
        if is_left is not None:
            self.scope.locals |= {ENDED}
            self.bind(ENDED, is_left)


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function that do not belong to an inner function or class."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            yield child
            yield from own_nodes(child)


def yields(node: ast.AST) -> bool:
    """Whether a function is a generator."""
    kinds = ast.Yield, ast.YieldFrom
    is_without = classes_in(node).isdisjoint(kinds)
    return not is_without and any(isinstance(part, kinds) for part in own_nodes(node))


def yielding(
    nodes: list[ast.stmt], ended: str, fresh: Callable[[str], str]
) -> list[ast.stmt]:  # fmt: skip
    """Replace each ``yield from`` in the body of a generator by a loop.

    Unless `ended` is empty, the generator returns after each ``yield`` if the variable of this
    name is true.
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
        elif isinstance(node, (*COMPOUND, ast.Try)):
            made.append(with_bodies(node, lambda own: yielding(own, ended, fresh)))
        else:
            made.append(node)
    return made
