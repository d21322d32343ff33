"""Rewriting loops over several indices to nested loops, and loops that count."""

from __future__ import annotations

import ast
import itertools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.form.ir import Columns, Memory, Value, known
from autodiff.structured.form.kinds import UNKNOWN, UnsupportedError
from autodiff.structured.reading.containers.lists import written
from autodiff.structured.reading.expressions import ExpressionReader
from autodiff.structured.reading.jumps import breaks


class NestedLoopReader(ExpressionReader):
    """Layer of the reader: loops over several indices."""

    # While one such loop is rewritten: names in the template → hidden variables, and what the loop
    # must not write into, because Python takes the items before their iterations.
    _names: dict[str, str]
    _read_only: list[Memory]

    def _positional_callee(self, node: ast.expr) -> Any:
        """Return the function of a call with positional arguments alone, or `UNKNOWN`.

        The function must be a name, or an attribute of a module.
        """
        if not isinstance(node, ast.Call) or node.keywords:
            return UNKNOWN
        if any(isinstance(a, ast.Starred) for a in node.args):
            return UNKNOWN
        f = node.func
        if isinstance(f, ast.Attribute):
            owner = self.expression(f.value) if isinstance(f.value, ast.Name) else None
            is_module = type(owner) is Value and type(known(owner)) is types.ModuleType
            return known(self.one(self.attribute_of_any(owner, f.attr))) if is_module else UNKNOWN
        found = self.expression(f) if isinstance(f, ast.Name) else None
        return known(found) if type(found) is Value else UNKNOWN

    def nested(self, node: ast.For) -> tuple[list[ast.stmt], list[Memory]] | None:
        """Return the nested loops for one over several indices; None for other loops.

        Also return what they must not write into.
        """
        f = self._positional_callee(node.iter)
        if f not in _NESTED or any(map(breaks, node.body)):
            return None
        if not node.iter.args:  # type: ignore[attr-defined] # a call
            return None
        outer = getattr(self, "_names", {}), getattr(self, "_read_only", [])
        self._read_only = []
        try:
            return self._nested(f, node), self._read_only
        finally:
            self._names, self._read_only = outer

    def _nested(self, f: Any, node: ast.For) -> list[ast.stmt]:
        args = node.iter.args  # type: ignore[attr-defined] # it is a call
        self._names = {"range": self.hidden("range"), "len": self.hidden("len")}
        for name, function in zip(self._names.values(), (range, len), strict=True):
            self.bind(name, self.const(function))
        overs, item = _NESTED[f](self, args)
        lines = [f"{' ' * k}for i{k} in {over}:" for k, over in enumerate(overs)]
        names = {f"i{k}": self.hidden("index") for k in range(len(overs))} | self._names
        (outer,) = written("\n".join([*lines, f"{' ' * len(overs)}item = {item}"]), **names)
        inner: Any = outer
        for k in range(len(overs)):
            inner.lineno, inner.col_offset = node.lineno, node.col_offset + k * _WIDE
            inner, loop = inner.body[0], inner
        loop.body = [ast.copy_location(ast.Assign([node.target], inner.value), node), *node.body]
        return [outer]

    def _hold(self, value: Any) -> str:
        """Bind a hidden variable; return its name in the template."""
        name = self.hidden("nested")
        self.bind(name, value)
        self._names[key := f"x{len(self._names)}"] = name
        return key

    def _iterable(self, node: ast.expr) -> str:
        """Return the text of a range, or the name of a list or array, for the template."""
        if self._positional_callee(node) is range:
            bounds = [self._hold(self.value(a)) for a in node.args]  # type: ignore[attr-defined]
            return f"range({', '.join(bounds)})"
        value = self.expression(node)
        self._read_only += memory_of_items(value)
        return self._hold(value)

    def over_product(self, nodes: list[ast.expr]) -> tuple[list[str], str]:
        """Read ``itertools.product(...)``."""
        return list(map(self._iterable, nodes)), _indices(len(nodes))

    def over_combinations(self, nodes: list[ast.expr]) -> tuple[list[str], str]:
        """Read ``itertools.combinations(items, n)``."""
        n = known(self.value(nodes[1])) if len(nodes) == 2 else None
        if type(n) is not int or not 0 < n < _MOST_INDICES:
            raise UnsupportedError("combinations of so many items")
        is_range = self._positional_callee(nodes[0]) is range and len(nodes[0].args) == 1  # type: ignore[attr-defined]
        if is_range:
            end, item = self._hold(self.value(nodes[0].args[0])), "i{}"  # type: ignore[attr-defined]
        else:
            xs = self._iterable(nodes[0])
            end, item = f"len({xs})", xs + "[i{}]"
        overs = [f"range({f'i{k - 1} + 1' if k else 0}, {end})" for k in range(n)]
        return overs, f"({', '.join([item.format(k) for k in range(n)])},)"

    def over_ndindex(self, nodes: list[ast.expr]) -> tuple[list[str], str]:
        """Read ``np.ndindex(shape)``."""
        given = [self.expression(a) for a in nodes]
        if len(given) == 1 and (isinstance(given[0], tuple) or given[0].kind.parts):
            given = self._parts_of(given[0])
        if len(given) > _MOST_INDICES:
            raise UnsupportedError("a loop over so many indices")
        return [f"range({self._hold(n)})" for n in given], _indices(len(given))

    def over_ndenumerate(self, nodes: list[ast.expr]) -> tuple[list[str], str]:
        """Read ``np.ndenumerate(array)``."""
        x = self.value(nodes[0])
        if not x.kind.is_array or not 0 < x.kind.ndim <= _MOST_INDICES:
            raise UnsupportedError("np.ndenumerate of something other than an array")
        n, name = x.kind.ndim, self._hold(x)
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

    def is_generator(self, node: ast.expr) -> bool:
        """Whether this is a call of a generator function."""
        raise NotImplementedError


def memory_of_items(value: Any) -> list[Memory]:
    """Return the memory of vectors and lists, whose items are not views."""
    found = [x for x in (value if isinstance(value, Columns) else [value]) if type(x) is Value]
    return [
        x.memory
        for x in found
        if x.memory is not None and (x.kind.is_list or (x.kind.is_array and x.kind.ndim == 1))
    ]


def _indices(n: int) -> str:
    return f"({', '.join([f'i{k}' for k in range(n)])},)"


_MOST_INDICES = 6
_WIDE = 1000  # columns: gives each of the nested loops a place of its own

_NESTED: dict[Any, Callable] = {
    itertools.product: NestedLoopReader.over_product,
    itertools.combinations: NestedLoopReader.over_combinations,
    np.ndindex: NestedLoopReader.over_ndindex,
    np.ndenumerate: NestedLoopReader.over_ndenumerate,
}
"""Iterators over several indices."""
