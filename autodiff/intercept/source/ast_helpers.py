"""Builders for the syntax trees of rewritten code."""

from __future__ import annotations

import ast
from typing import Any


def helper(name: str) -> str:
    """Return the name under which rewritten code finds a function of the engine."""
    return f"__autodiff_{name}__"


def assigned(owner: Any, value: ast.expr) -> ast.Assign:
    """Return the statement that binds a name anew."""
    return ast.Assign([ast.copy_location(ast.Name(owner.id, ast.Store()), owner)], value)


def is_public(node: ast.Attribute) -> bool:
    """Whether the compiler leaves the name of an attribute as it is: private ones are mangled."""
    return not node.attr.startswith("__")


def called(name: str, arguments: list[ast.expr]) -> ast.Call:
    """Return a call of a function of the engine."""
    return ast.Call(named(helper(name)), arguments, [])


def entry(table: str, place: ast.expr) -> ast.Subscript:
    """Return the entry of a table of the engine."""
    return ast.Subscript(named(helper(table)), place, ast.Load())


def index_of(node: ast.expr) -> ast.expr:
    """Return an index as an expression: slices become calls of ``slice``."""
    if isinstance(node, ast.Slice):
        none = ast.Constant(None)
        parts = [node.lower or none, node.upper or none, node.step or none]
        return called("slice", parts)
    if isinstance(node, ast.Tuple):
        return ast.Tuple([index_of(e) for e in node.elts], ast.Load())
    return node


def named(name: str) -> ast.Name:
    """Return a name that is read."""
    return ast.Name(name, ast.Load())


def located(new: Any, old: ast.AST) -> Any:
    """Give `new` the source location of `old`, and return it.

    New nodes inside it get theirs when the whole definition is compiled
    (`source.compiled_like`): a node without a location has that of the node around it.
    """
    return ast.copy_location(new, old)


def copied(node: ast.AST) -> Any:
    """Return a deep copy of a tree, without recursion into what is no node."""
    if isinstance(node, list):
        return [copied(n) for n in node]
    if not isinstance(node, ast.AST):
        return node
    new = type(node)(**{name: copied(value) for name, value in ast.iter_fields(node)})
    return ast.copy_location(new, node)
