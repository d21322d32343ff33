"""Rewriting loops over several indices to nested loops, and loops that count."""

from __future__ import annotations

import ast
import itertools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.form.function_ir import Columns, Memory, Value, known
from autodiff.structured.form.kinds import UNKNOWN, UnsupportedError
from autodiff.structured.reading.expressions import ExpressionReader
from autodiff.structured.reading.jumps import breaks
from autodiff.structured.reading.rewriting import written

_Values = dict[str, Any]
"""Names in the source of nested loops → values."""


class NestedLoopReader(ExpressionReader):
    """Layer of the reader: loops over several indices."""

    # Methods that subclasses define.
    is_generator: Callable[[ast.expr], bool]

    def _positional_callee(self, node: ast.expr) -> Any:
        """Return the function of a call with positional arguments alone, or `UNKNOWN`.

        The function must be a name, or an attribute of a module.
        """
        if not isinstance(node, ast.Call) or node.keywords:
            return UNKNOWN
        return UNKNOWN if any(isinstance(a, ast.Starred) for a in node.args) else self.callee(node)

    def callee(self, node: ast.Call) -> Any:
        """Return the called function, if it is a name or an attribute of a module; or `UNKNOWN`."""
        return self._function_at(node.func)

    def _function_at(self, f: ast.expr) -> Any:
        if isinstance(f, ast.Name):
            found = self.expression(f)
            return known(found) if type(found) is Value else UNKNOWN
        owner = self._function_at(f.value) if isinstance(f, ast.Attribute) else UNKNOWN
        if type(owner) is types.ModuleType:
            return self.module_attribute(self.const(owner), f.attr)  # type: ignore[attr-defined]
        is_joined = owner is itertools.chain and f.attr == "from_iterable"  # type: ignore[attr-defined]
        return itertools.chain.from_iterable if is_joined else UNKNOWN

    def nested(self, node: ast.For) -> tuple[list[ast.stmt], list[Memory]] | None:
        """Return the nested loops for one over several indices; None for other loops.

        Also return what they must not write into, because Python takes the items before.
        """
        given: Any = self._without_repeat(node.iter)
        f = self._positional_callee(given)
        if f not in NESTED or not given.args or any(map(breaks, node.body)):
            return None
        values: _Values = {"range": self.const(range), "len": self.const(len)}
        overs, item = NESTED[f](self, given.args, values)
        lines = [f"{' ' * k}for i{k} in {over}:" for k, over in enumerate(overs)]
        names = {f"i{k}": self.hidden("index") for k in range(len(overs))}
        for name, value in values.items():
            names[name] = self.hidden("nested")
            self.bind(names[name], value)
        (outer,) = written("\n".join([*lines, f"{' ' * len(overs)}item = {item}"]), **names)
        inner: Any = outer
        for k in range(len(overs)):
            inner.lineno, inner.col_offset = node.lineno, node.col_offset + k * _WIDE
            inner, loop = inner.body[0], inner
        loop.body = [ast.copy_location(ast.Assign([node.target], inner.value), node), *node.body]
        if f not in (itertools.product, itertools.combinations):
            return [outer], []
        return [outer], [memory for value in values.values() for memory in memory_of_items(value)]

    def _iterable(self, values: _Values, node: ast.expr) -> str:
        """Return the text of a range, or the name of a list or array."""
        if self._positional_callee(node) is range:
            bounds = [_named(values, self.value(a)) for a in node.args]  # type: ignore[attr-defined]
            return f"range({', '.join(bounds)})"
        return _named(values, self.expression(node))

    def _without_repeat(self, node: ast.expr) -> ast.expr:
        """Return ``product(xs, xs)`` for ``product(xs, repeat=2)``; any other node as it is."""
        if not isinstance(node, ast.Call) or [k.arg for k in node.keywords] != ["repeat"]:
            return node
        if self.callee(node) is not itertools.product or not all(map(_is_simple, node.args)):
            return node
        times = known(self.value(node.keywords[0].value))
        if type(times) is not int or not 0 < times * len(node.args) <= _MOST_REPEATED:
            return node
        return ast.copy_location(ast.Call(node.func, node.args * times, []), node)

    def over_product(self, nodes: list[ast.expr], values: _Values) -> tuple[list[str], str]:
        """Read ``itertools.product(...)``."""
        return [self._iterable(values, node) for node in nodes], _indices(len(nodes))

    def over_combinations(self, nodes: list[ast.expr], values: _Values) -> tuple[list[str], str]:
        """Read ``itertools.combinations(items, n)``."""
        n = known(self.value(nodes[1])) if len(nodes) == 2 else None
        if type(n) is not int or not 0 < n < _MOST_INDICES:
            raise UnsupportedError("combinations of so many items")
        is_range = self._positional_callee(nodes[0]) is range and len(nodes[0].args) == 1  # type: ignore[attr-defined]
        if is_range:
            end, item = _named(values, self.value(nodes[0].args[0])), "i{}"  # type: ignore[attr-defined]
        else:
            xs = self._iterable(values, nodes[0])
            end, item = f"len({xs})", xs + "[i{}]"
        overs = [f"range({f'i{k - 1} + 1' if k else 0}, {end})" for k in range(n)]
        return overs, f"({', '.join([item.format(k) for k in range(n)])},)"

    def over_ndindex(self, nodes: list[ast.expr], values: _Values) -> tuple[list[str], str]:
        """Read ``np.ndindex(shape)``."""
        given = [self.expression(a) for a in nodes]
        if len(given) == 1 and (isinstance(given[0], tuple) or given[0].kind.parts):
            given = self._parts_of(given[0])
        if len(given) > _MOST_INDICES:
            raise UnsupportedError("a loop over so many indices")
        return [f"range({_named(values, n)})" for n in given], _indices(len(given))

    def over_ndenumerate(self, nodes: list[ast.expr], values: _Values) -> tuple[list[str], str]:
        """Read ``np.ndenumerate(array)``."""
        x = self.value(nodes[0])
        if not x.kind.is_array or not 0 < x.kind.ndim <= _MOST_INDICES:
            raise UnsupportedError("np.ndenumerate of something other than an array")
        n, name = x.kind.ndim, _named(values, x)
        at = _indices(n)
        return [f"range({name}.shape[{k}])" for k in range(n)], f"({at}, {name}[{at[1:-2]}])"

    def counted(self, node: ast.For) -> list[ast.stmt] | None:
        """Rewrite a loop over ``itertools.count`` or an enumerated generator, or return None."""
        callee = self._positional_callee(node.iter)
        if callee is itertools.count:
            return self._counting(node)
        if callee is not enumerate or not node.iter.args:  # type: ignore[attr-defined] # a call
            return None
        call, *start = node.iter.args  # type: ignore[attr-defined]
        if not self.is_generator(call) or len(start) > 1:
            return None
        n, item = self.hidden("count"), self.hidden("item")
        self.bind(n, self.value(start[0]) if start else self.const(0))
        first = written("target = n, item\nn = n + 1", n=n, item=item)
        first[0].targets = [node.target]  # type: ignore[attr-defined] # an assignment
        loop = ast.For(ast.Name(item, ast.Store()), call, [*first, *node.body], [])
        return [ast.fix_missing_locations(ast.copy_location(loop, node))]

    def _counting(self, node: ast.For) -> list[ast.stmt]:
        """Rewrite a loop over ``itertools.count(...)`` to ``while True``."""
        call: Any = node.iter
        if len(call.args) > 2:
            raise UnsupportedError("a loop over an iterator with these arguments")
        n, step = self.hidden("count"), self.hidden("step")
        values = list(map(self.value, call.args))
        values += list(map(self.const, (0, 1)))[len(values) :]
        for name, value in zip((n, step), values, strict=True):
            self.bind(name, value)
        first = written("target = n\nn = n + step", n=n, step=step)
        first[0].targets = [node.target]  # type: ignore[attr-defined] # an assignment
        loop = ast.While(ast.Constant(True), [*first, *node.body], [])
        return [ast.fix_missing_locations(ast.copy_location(loop, node))]

    def needs_loop(self, node: ast.expr) -> bool:
        """Whether only a loop can iterate over this: several indices, or a generator."""
        callee = self._positional_callee(self._without_repeat(node))
        return callee in NESTED or self.is_generator(node)


def memory_of_items(value: Any) -> list[Memory]:
    """Return the memory of vectors and lists, whose items are not views."""
    found = [x for x in (value if isinstance(value, Columns) else [value]) if type(x) is Value]
    return [
        x.memory
        for x in found
        if x.memory is not None and (x.kind.is_list or (x.kind.is_array and x.kind.ndim == 1))
    ]


def _named(values: _Values, value: Any) -> str:
    """Return a new name for a value."""
    name = f"x{len(values)}"
    values[name] = value
    return name


def _indices(n: int) -> str:
    return f"({', '.join([f'i{k}' for k in range(n)])},)"


def _is_simple(node: ast.expr) -> bool:
    """Whether it may be evaluated several times: it calls nothing but ``range``."""
    calls = [part for part in ast.walk(node) if isinstance(part, (ast.Call, ast.NamedExpr))]
    return all(getattr(getattr(call, "func", None), "id", "") == "range" for call in calls)


_MOST_INDICES, _MOST_REPEATED = 6, 16
_WIDE = 1000  # columns: gives each of the nested loops a place of its own

NESTED: dict[Any, Callable] = {
    itertools.product: NestedLoopReader.over_product,
    itertools.combinations: NestedLoopReader.over_combinations,
    np.ndindex: NestedLoopReader.over_ndindex,
    np.ndenumerate: NestedLoopReader.over_ndenumerate,
}
"""Iterators over several indices."""
