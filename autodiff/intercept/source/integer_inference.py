"""Which names of a function hold Python's own integers, by how they are bound.

Operators on loop counters are not intercepted: ``i + 1`` is left as it is. A name counts only if
all its bindings in the function, nested functions included, are counters of ``range`` or
``enumerate``, or a ``len``.
"""

from __future__ import annotations

import ast
from typing import Any

_COUNTING = ("range", "enumerate", "len")
_CLOSED = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


class IntegerNames:
    """The names of one function that hold integers.

    Parameters
    ----------
    node : ast.AST
        Its definition.
    outside : dict
        Its globals, in which ``range`` and its kin may have been replaced.
    free : tuple of str
        Its free variables, which others bind.
    """

    def __init__(self, node: ast.AST, outside: dict[str, Any], free: tuple[str, ...]) -> None:
        bound: set[str] = {*free}
        counters: dict[str, int] = {}
        uses: dict[str, int] = {}
        for child in ast.walk(node):
            if isinstance(child, ast.Name):
                if not isinstance(child.ctx, ast.Load):
                    uses[child.id] = uses.get(child.id, 0) + 1
            elif isinstance(child, ast.arg):
                bound.add(child.arg)
            else:
                bound.update(_other_names(child))
        self._builtin = frozenset(
            n for n in _COUNTING if n not in bound and n not in uses and n not in outside
        )
        for child in ast.walk(node):
            target = self._counter(child)
            if target is not None:
                counters[target] = counters.get(target, 0) + 1
        self._names = frozenset(
            n for n, count in counters.items() if count == uses[n] and n not in bound
        )

    def _counter(self, node: ast.AST) -> str | None:
        """Return the name that a node binds to an integer."""
        if isinstance(node, (ast.For, ast.comprehension)):
            target: ast.expr = node.target
            name = self._called(node.iter)
            if name == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
                keywords = node.iter.keywords  # type: ignore[attr-defined] # a call
                arguments = node.iter.args  # type: ignore[attr-defined]
                target = target.elts[0] if len(arguments) == 1 and not keywords else target
            elif name != "range":
                return None
            return target.id if isinstance(target, ast.Name) else None
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            only = node.targets[0]
            if isinstance(only, ast.Name) and self._called(node.value) == "len":
                return only.id
        return None

    def _called(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return node.func.id if node.func.id in self._builtin else None
        return None

    def __contains__(self, node: ast.expr) -> bool:
        """Whether an expression is an integer, or a constant, for certain."""
        if isinstance(node, ast.Constant):
            return type(node.value) is int
        if isinstance(node, ast.Name):
            return node.id in self._names
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, _CLOSED) and node.left in self and node.right in self
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.USub) and node.operand in self
        return self._called(node) == "len"


def _other_names(node: ast.AST) -> list[str]:
    """Return the names that a node binds, or declares to be bound elsewhere, without a Name."""
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return node.names
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.alias):
        return [node.asname or node.name.partition(".")[0]]
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        return [node.name] if node.name else []
    if isinstance(node, ast.MatchMapping):
        return [node.rest] if node.rest else []
    return []
