"""Jumps out of the middle of a block: brought to the ends of branches."""

from __future__ import annotations

import ast
from collections.abc import Callable

from autodiff.structured.form.kinds import UnsupportedError

_MOST_STATEMENTS = 400


def structured(nodes: list[ast.stmt], kinds: tuple[type, ...]) -> list[ast.stmt]:
    """Return statements in which jumps stand at the ends of branches alone.

    What follows a branch that may jump goes to the ends of the branches that do not.
    """
    for i, node in enumerate(nodes):
        if isinstance(node, kinds):
            return nodes[: i + 1]
        if isinstance(node, ast.If) and jumps(node, kinds):
            if len(nodes) > _MOST_STATEMENTS:
                raise UnsupportedError("very long")
            rest = nodes[i + 1 :]
            branches = [structured([*branch, *rest], kinds) for branch in (node.body, node.orelse)]
            made = ast.If(node.test, branches[0], branches[1])
            return [*nodes[:i], ast.copy_location(made, node)]
        if jumps(node, kinds):
            raise UnsupportedError("a jump out of a loop")
    return nodes


def jumps(node: ast.AST, kinds: tuple[type, ...]) -> bool:
    """Whether a statement has jumps in it that leave the block it stands in."""
    if isinstance(node, kinds):
        return True
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    if isinstance(node, (ast.For, ast.While)):
        if ast.Return not in kinds:
            return False
        kinds = (ast.Return,)
    return any(
        jumps(child, kinds) for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)
    )


def leaving(loop: ast.For | ast.While, flag: str, result: str) -> list[ast.stmt]:
    """Return a loop that is left by ``break`` where it returns; behind it, the function returns.

    Parameters
    ----------
    loop : For or While
        A loop with ``return`` in it.
    flag, result : str
        Variables that say whether the function returns, and what.
    """
    before = ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(False))
    has_values = any(not _is_none(node.value) for node in _returns_in([loop]))
    returns: ast.stmt = ast.Return(_read(result) if has_values else None)
    if not _ends_otherwise(loop):
        return [before, _left(loop, flag, result, has_values), returns]
    return [before, _left(loop, flag, result, has_values), ast.If(_read(flag), [returns], [])]


def _ends_otherwise(loop: ast.For | ast.While) -> bool:
    """Whether a loop may end without returning."""
    if not (isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant)):
        return True
    return not loop.test.value or any(map(breaks, loop.body))


def _left(loop: ast.For | ast.While, flag: str, result: str, has_values: bool) -> ast.stmt:
    def without(nodes: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for node in nodes:
            if isinstance(node, ast.Return):
                if has_values:
                    value = node.value or ast.Constant(None)
                    made.append(ast.Assign([ast.Name(result, ast.Store())], value))
                made.append(ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(True)))
                made.append(ast.Break())
            elif isinstance(node, ast.If):
                made.append(ast.If(node.test, without(node.body), without(node.orelse)))
            elif isinstance(node, (ast.For, ast.While)) and jumps(node, (ast.Return,)):
                made.append(_left(node, flag, result, has_values))
                made.append(ast.If(_read(flag), [ast.Break()], []))
            else:
                made.append(node)
        return made

    return _like(loop, without(loop.body))


def _read(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def breaks(node: ast.AST) -> bool:
    """Whether a statement leaves the loop that it stands in."""
    return jumps(node, (ast.Break,))


def always_returns(body: list[ast.stmt]) -> bool:
    """Whether every way through structured statements ends with a return."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return always_returns(last.body) and always_returns(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise))


def with_ends(body: list[ast.stmt], leaves: bool) -> tuple[list[ast.stmt], bool]:
    """Return a function's statements, which end by ``return`` or ``raise``.

    Branches raise at once if they end by ``raise``. So do those that return nothing, where others
    return values, if `leaves` asks for it; whether there are such is returned, too. Whoever takes
    one of these branches leaves the program, and the call is traced from its beginning.
    """
    found = _returns_in(body)
    has_values = not all(map(_returns_nothing, found))
    may_leave = has_values and any(map(_returns_nothing, found))
    body = _raising(body, leaves and has_values)
    if found and not isinstance(body[-1], (ast.Return, ast.Raise)):
        last = ast.Raise() if has_values else ast.Return(None)
        body = [*body, ast.copy_location(last, body[-1])]
    return body, may_leave


def _returns_in(nodes: list[ast.stmt]) -> list[ast.Return]:
    found: list[ast.Return] = []
    for node in nodes:
        if isinstance(node, ast.Return):
            found.append(node)
        elif jumps(node, (ast.Return,)):
            parts = ast.iter_child_nodes(node)
            found += _returns_in([part for part in parts if isinstance(part, ast.stmt)])
    return found


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _returns_nothing(node: ast.stmt) -> bool:
    """Whether it returns None, a text or an empty list, or what one call makes of such."""
    if not isinstance(node, ast.Return):
        return False
    value = node.value
    if isinstance(value, ast.Call) and value.args:
        value = value.args[0]
    if isinstance(value, ast.Constant):
        return not isinstance(value.value, (int, float, complex))
    return value is None or (isinstance(value, (ast.List, ast.Tuple)) and not value.elts)


def _raising(nodes: list[ast.stmt], leaves: bool) -> list[ast.stmt]:
    """Return a function or branch in which nothing is done before it raises."""
    last = nodes[-1] if nodes else None
    if isinstance(last, ast.Raise) or (leaves and last and _returns_nothing(last)):
        n = max([i + 1 for i, node in enumerate(nodes[:-1]) if jumps(node, _LEAVING)], default=0)
        nodes = [*nodes[:n], ast.copy_location(ast.Raise(), last)]
    return _raising_inside(nodes, leaves)


def _raising_inside(nodes: list[ast.stmt], leaves: bool) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for node in nodes:
        if isinstance(node, ast.If):
            made.append(changed_inside(node, lambda own: _raising(own, leaves)))
        elif isinstance(node, ast.With):
            made.append(changed_inside(node, lambda own: _raising_inside(own, leaves)))
        elif isinstance(node, (ast.For, ast.While)):
            made.append(_like(node, _raising_inside(node.body, leaves)))
        else:
            made.append(node)
    return made


def changed_inside(
    node: ast.If | ast.With, change: Callable[[list[ast.stmt]], list[ast.stmt]]
) -> ast.stmt:
    """Return a branch, or a `with`, whose statements are changed."""
    made: ast.stmt
    if isinstance(node, ast.If):
        made = ast.If(node.test, change(node.body), change(node.orelse))
    else:
        made = ast.With(node.items, change(node.body))
    return ast.copy_location(made, node)


def without_handlers(nodes: list[ast.stmt]) -> list[ast.stmt]:
    """Return statements without ``try``: what it guards, its ``else`` and its ``finally``.

    Handlers are left out, because an exception ends a program: the call is then traced.
    """
    made: list[ast.stmt] = []
    for node in nodes:
        if isinstance(node, ast.Try):
            guarded = [*node.body, *node.orelse]
            if node.finalbody and any(jumps(n, _LEAVING) for n in guarded):
                raise UnsupportedError("a jump out of a statement with finally")
            made += without_handlers([*guarded, *node.finalbody])
        elif isinstance(node, (ast.If, ast.With)):
            made.append(changed_inside(node, without_handlers))
        elif isinstance(node, (ast.For, ast.While)):
            loop = _like(node, without_handlers(node.body))
            loop.orelse = without_handlers(node.orelse)  # type: ignore[attr-defined] # a loop
            made.append(loop)
        else:
            made.append(node)
    return made


_LEAVING = (ast.Return, ast.Break, ast.Continue)


def without_else(nodes: list[ast.stmt], fresh: Callable[[str], str]) -> list[ast.stmt]:
    """Return statements whose loops have no ``else``.

    A variable says whether a loop was left by ``break``; behind the loop, a branch asks for it.
    So all jumps out of an ``else`` stand in a branch when the loops around it are read.
    """
    parts = [part for node in nodes for part in ast.walk(node)]
    if not any(isinstance(part, (ast.For, ast.While)) and part.orelse for part in parts):
        return nodes
    made: list[ast.stmt] = []
    for node in nodes:
        if isinstance(node, (ast.If, ast.With)):
            made.append(changed_inside(node, lambda nodes: without_else(nodes, fresh)))
        elif isinstance(node, (ast.For, ast.While)):
            made += _plain_loop(node, fresh)
        else:
            made.append(node)
    return made


def _plain_loop(loop: ast.For | ast.While, fresh: Callable[[str], str]) -> list[ast.stmt]:
    body = without_else(loop.body, fresh)
    if not loop.orelse:
        return [_like(loop, body)]
    flag = fresh("left")
    before = ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(False))
    test = ast.UnaryOp(ast.Not(), _read(flag))
    made = [before, _like(loop, noting_breaks(body, flag, stays=True)),
            ast.If(test, without_else(loop.orelse, fresh), [])]  # fmt: skip
    return [ast.fix_missing_locations(ast.copy_location(node, loop)) for node in made]


def _like(loop: ast.For | ast.While, body: list[ast.stmt]) -> ast.stmt:
    """Return a loop with another body, and without ``else``."""
    made: ast.stmt
    if isinstance(loop, ast.For):
        made = ast.For(loop.target, loop.iter, body, [])
    else:
        made = ast.While(loop.test, body, [])
    return ast.copy_location(made, loop)


def noting_breaks(nodes: list[ast.stmt], flag: str, stays: bool) -> list[ast.stmt]:
    """Return statements in which a variable says, before each ``break``, that the loop is left.

    The ``break`` stays, or is left out: then nothing follows in the turn that it would end.
    """
    made: list[ast.stmt] = []
    for node in nodes:
        if isinstance(node, ast.Break):
            made.append(ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(True)))
            made += [node] if stays else []
        elif isinstance(node, ast.If):
            branches = [noting_breaks(part, flag, stays) for part in (node.body, node.orelse)]
            made.append(ast.copy_location(ast.If(node.test, *branches), node))
        else:
            made.append(node)
    return made
