"""Jumps out of the middle of a block: brought to the ends of branches."""

from __future__ import annotations

import ast

from autodiff.structured.kinds import UnsupportedError

_MOST_STATEMENTS = 400


def structured(nodes: list[ast.stmt], jumps: tuple[type, ...]) -> list[ast.stmt]:
    """Return statements in which jumps stand at the ends of branches alone.

    What follows a branch that may jump goes to the ends of the branches that do not.
    """
    for i, node in enumerate(nodes):
        if isinstance(node, jumps):
            return nodes[: i + 1]
        if isinstance(node, ast.If) and _jumps(node, jumps):
            if len(nodes) > _MOST_STATEMENTS:
                raise UnsupportedError("very long")
            rest = nodes[i + 1 :]
            branches = [structured([*branch, *rest], jumps) for branch in (node.body, node.orelse)]
            made = ast.If(node.test, branches[0], branches[1])
            return [*nodes[:i], ast.copy_location(made, node)]
        if _jumps(node, jumps):
            raise UnsupportedError("a jump out of a loop")
    return nodes


def _jumps(node: ast.AST, jumps: tuple[type, ...]) -> bool:
    """Whether a statement has jumps in it that leave the block it stands in."""
    if isinstance(node, jumps):
        return True
    if isinstance(node, (ast.For, ast.While)):
        if ast.Return not in jumps:
            return False
        return any(isinstance(part, ast.Return) for part in ast.walk(node))
    return any(
        _jumps(child, jumps) for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)
    )


def breaks(node: ast.AST) -> bool:
    """Whether a statement leaves the loop that it stands in."""
    return _jumps(node, (ast.Break,))


def always_returns(body: list[ast.stmt]) -> bool:
    """Whether every way through structured statements ends with a return."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return always_returns(last.body) and always_returns(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise))
