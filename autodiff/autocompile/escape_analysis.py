"""Escape analysis: which local variables hold objects that the function itself has made."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

OBJECT, OTHER = "object", "other"
"""Where a value comes from: an object of a user-defined class created here, anything else."""


class Impurity(Exception):  # noqa: N818 - not an error
    """The reason why a function cannot be shown to be pure."""


MISSING: Any = object()
"""The value of an unbound name."""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class ScopeOrigins:
    """The names that a function or a comprehension binds.

    Attributes
    ----------
    all : dict
        Name → the origins of its values anywhere in the function.
    now : dict
        Name → the origins of its values at the current statement.
    """

    def __init__(self) -> None:
        self.all: dict[str, set[str]] = {}
        self.now: dict[str, set[str]] = {}

    def add(self, name: str, origin: str) -> None:
        """Record an origin of a name anywhere in the function."""
        self.all.setdefault(name, set()).add(origin)

    def begin(self, arguments: set[str]) -> None:
        """Set the origins at the start of the function."""
        self.now = {name: {OTHER} if name in arguments else set() for name in self.all}

    def copied(self) -> dict[str, set[str]]:
        """Return a copy of the origins at the current statement."""
        return {name: set(found) for name, found in self.now.items()}

    def join(self, other: dict[str, set[str]]) -> None:
        """Merge the origins from another control-flow path."""
        for name, found in other.items():
            self.now[name] = self.now[name] | found


def bindings(body: list[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the names that statements bind, with the expressions of their values if explicit."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda, *COMPREHENSIONS)):
            if isinstance(node, ast.FunctionDef):
                yield node.name, None
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):  # defaults belong to this scope
                waiting += [d for d in (*node.args.defaults, *node.args.kw_defaults) if d]
            continue
        waiting.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from bound_by(target, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
            yield from bound_by(node.target, node.value)
        elif isinstance(node, ast.For):
            yield from bound_by(node.target, None)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            yield from bound_by(node.optional_vars, None)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            yield node.name, None
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest, None


def bound_by(target: ast.expr, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names in a target, with the expressions of their values if explicit."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts: Any = [None] * len(target.elts)
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(parts):
            parts = value.elts
        for t, v in zip(target.elts, parts, strict=True):
            yield from bound_by(t, v)
    elif isinstance(target, ast.Starred):
        yield from bound_by(target.value, None)


def is_at(node: ast.expr) -> bool:
    """Whether this is ``x.at[i]`` of JAX; a ufunc's method ``at`` cannot be indexed."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "at"
    )
