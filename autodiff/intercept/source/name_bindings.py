"""The names in a piece of source: which are bound there, and which are read."""

from __future__ import annotations

import ast
from typing import Any


def own_names(node: Any) -> set[str]:
    """Return the local variables of a function: its parameters and the names that it binds."""
    arguments: ast.arguments = node.args
    found = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    elsewhere: set[str] = set()
    waiting: list[ast.AST] = [*node.body] if isinstance(node.body, list) else []
    while waiting:
        child = waiting.pop()
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            found.add(child.id)
        elif isinstance(child, (ast.Global, ast.Nonlocal)):
            elsewhere.update(child.names)
        if not isinstance(child, _SCOPES):
            waiting.extend(ast.iter_child_nodes(child))
    return found - elsewhere


_SCOPES = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp,
    ast.DictComp, ast.GeneratorExp,
)  # fmt: skip


def dotted(node: ast.expr) -> str | None:
    """Return ``a.b.c`` as it is written; None for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    if not isinstance(node, ast.Attribute):
        return None
    owner = dotted(node.value)
    return None if owner is None else f"{owner}.{node.attr}"


def names_in(node: ast.AST) -> set[str]:
    """Return all names that stand in a tree."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
