"""Reading what loops iterate over: dicts in memory, and their views."""

from __future__ import annotations

import ast
from typing import Any

from autodiff.structured.form.function_ir import Value, known
from autodiff.structured.reading.containers.lists import VIEWS
from autodiff.structured.reading.iteration.iteration_space import IterationSpace
from autodiff.structured.reading.iteration.nested_loops import NestedLoopReader
from autodiff.structured.reading.rewriting import has_no_calls


class DictIterationReader(NestedLoopReader):
    """Layer of the reader: loops over dicts."""

    def table_of_view(self, node: ast.expr) -> Value | None:
        """Return the growing dict of ``xs.keys()``, ``values()`` or ``items()``, if it is one."""
        if not isinstance(node, ast.Call) or node.args or node.keywords:
            return None
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in VIEWS:
            return None
        if not has_no_calls(node.func.value):
            return None
        found = self.expression(node.func.value)
        return found if type(found) is Value and found.kind.is_mapping else None

    def over_table(self, xs: Value, view: str) -> IterationSpace:
        """Return the iteration space of a dict in memory, whose keys the loop must not change."""
        if not xs.kind.is_table:
            return self._over_fixed_keys(xs, view)
        keys, name, n = self.hold(self.list_of_keys(xs)), self.hold(xs), self.hold(self.length(xs))

        def item(i: Value) -> Any:
            key = self.item(self.read(keys), i)
            if view == "keys":
                return key
            key = self.hold(key)
            value = self.stored(self.read(name), self.read(key))
            return value if view == "values" else (self.read(key), value)

        trips = 0 if self.is_empty(xs) else None
        over = IterationSpace(lambda: self.read(n), item, known=trips)
        over.lists.append((name, n))
        over.tables.append(xs.root)
        return over

    def _over_fixed_keys(self, xs: Value, view: str) -> IterationSpace:
        """Return the iteration space of a dict whose keys are known."""
        name, keys = self.hold(xs), self.keys_in_order(xs)

        def item(i: Value) -> Any:
            key = self.const(keys[known(i)])
            if view == "keys":
                return key
            value = self.item(self.read(name), key)
            return value if view == "values" else (key, value)

        n = self.const(len(keys))
        return IterationSpace(lambda: n, item, known=len(keys))
