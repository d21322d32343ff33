"""Loops over several indices at once, which stand for loops in loops; counted generators."""

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
from autodiff.structured.reading.expressions import Expressions
from autodiff.structured.reading.jumps import breaks


class SeveralIndices(Expressions):
    """Reads loops over several indices."""

    # What is noted while one such loop is read: names of hidden variables, as they are written, and
    # what items are taken from before the turns that are given them.
    _names: dict[str, str]
    _taken: list[Memory]

    def _callee(self, node: ast.expr) -> Any:
        """Return the function that a call calls, if it is read by name, alone or in a module."""
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
        """Return the loops that one over several indices stands for; None for other loops.

        Also return what they must not write into.
        """
        f = self._callee(node.iter)
        if f not in _NESTED or any(map(breaks, node.body)):
            return None
        if not node.iter.args:  # type: ignore[attr-defined] # a call
            return None
        outer = getattr(self, "_names", {}), getattr(self, "_taken", [])
        self._taken = []
        try:
            return self._nested(f, node), self._taken
        finally:
            self._names, self._taken = outer

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
        """Bind a hidden variable, and return a name for it in what is written."""
        name = self.hidden("nested")
        self.bind(name, value)
        self._names[key := f"x{len(self._names)}"] = name
        return key

    def _gone_over(self, node: ast.expr) -> str:
        """Return a range, or the name of a list or array, as a loop goes over it."""
        if self._callee(node) is range:
            bounds = [self._hold(self.value(a)) for a in node.args]  # type: ignore[attr-defined]
            return f"range({', '.join(bounds)})"
        value = self.expression(node)
        self._taken += memory_of_items(value)
        return self._hold(value)

    def on_product(self, nodes: list[ast.expr]) -> tuple[list[str], str]:
        """Read ``itertools.product(...)``."""
        return list(map(self._gone_over, nodes)), _indices(len(nodes))

    def on_combinations(self, nodes: list[ast.expr]) -> tuple[list[str], str]:
        """Read ``itertools.combinations(items, n)``."""
        n = known(self.value(nodes[1])) if len(nodes) == 2 else None
        if type(n) is not int or not 0 < n < _MOST_INDICES:
            raise UnsupportedError("combinations of so many")
        is_range = self._callee(nodes[0]) is range and len(nodes[0].args) == 1  # type: ignore[attr-defined]
        if is_range:
            end, item = self._hold(self.value(nodes[0].args[0])), "i{}"  # type: ignore[attr-defined]
        else:
            xs = self._gone_over(nodes[0])
            end, item = f"len({xs})", xs + "[i{}]"
        overs = [f"range({f'i{k - 1} + 1' if k else 0}, {end})" for k in range(n)]
        return overs, f"({', '.join([item.format(k) for k in range(n)])},)"

    def on_ndindex(self, nodes: list[ast.expr]) -> tuple[list[str], str]:
        """Read ``np.ndindex(shape)``."""
        given = [self.expression(a) for a in nodes]
        if len(given) == 1 and (isinstance(given[0], tuple) or given[0].kind.parts):
            given = self._parts_of(given[0])
        if len(given) > _MOST_INDICES:
            raise UnsupportedError("a loop over so many indices")
        return [f"range({self._hold(n)})" for n in given], _indices(len(given))

    def on_ndenumerate(self, nodes: list[ast.expr]) -> tuple[list[str], str]:
        """Read ``np.ndenumerate(array)``."""
        x = self.value(nodes[0])
        if not x.kind.is_array or not 0 < x.kind.ndim <= _MOST_INDICES:
            raise UnsupportedError("a loop over the elements of no array")
        n, name = x.kind.ndim, self._hold(x)
        at = _indices(n)
        return [f"range({name}.shape[{k}])" for k in range(n)], f"({at}, {name}[{at[1:-2]}])"

    def counted(self, node: ast.For) -> list[ast.stmt] | None:
        """Return a loop whose turns or items are counted, as others; None for other loops."""
        callee = self._callee(node.iter)
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
        """Return the loop without end that one over ``itertools.count(...)`` is."""
        call: Any = node.iter
        if len(call.args) > 2:
            raise UnsupportedError("this call in a loop")
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
        """Whether a call is one of a generator function."""
        raise NotImplementedError


def memory_of_items(value: Any) -> list[Memory]:
    """Return the memory of a vector or list, whose items are not views."""
    found = [x for x in (value if isinstance(value, Columns) else [value]) if type(x) is Value]
    return [
        x.memory
        for x in found
        if x.memory is not None and (x.kind.is_list or (x.kind.is_array and x.kind.ndim == 1))
    ]


def _indices(n: int) -> str:
    return f"({', '.join([f'i{k}' for k in range(n)])},)"


_MOST_INDICES = 6
_WIDE = 1000  # columns: loops that stand for one have places of their own

_NESTED: dict[Any, Callable] = {
    itertools.product: SeveralIndices.on_product,
    itertools.combinations: SeveralIndices.on_combinations,
    np.ndindex: SeveralIndices.on_ndindex,
    np.ndenumerate: SeveralIndices.on_ndenumerate,
}
"""What goes over several indices at once."""
