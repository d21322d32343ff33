"""Rewriting statements until jumps stand at the ends of branches alone."""

from __future__ import annotations

import ast
from collections.abc import Callable

from autodiff.structured.form.kinds import UnsupportedError

COMPOUND = (ast.If, ast.With, ast.For, ast.While)
_LEAVING = (ast.Return, ast.Break, ast.Continue)
_MOST_STATEMENTS = 400


def classes_in(node: ast.AST) -> frozenset[type]:
    """Return the classes of the nodes of a syntax tree, which keeps them: many ask for them."""
    found = getattr(node, "classes_in", None)
    if found is None:
        inner = map(classes_in, ast.iter_child_nodes(node))
        found = node.classes_in = frozenset([type(node)]).union(*inner)  # type: ignore[attr-defined]
    return found


def with_jumps_last(nodes: list[ast.stmt], kinds: tuple[type, ...]) -> list[ast.stmt]:
    """Return statements in which jumps of some kinds stand at the ends of branches alone.

    What follows a branch that may jump moves to the ends of the branches that do not.
    """
    for i, node in enumerate(nodes):
        if isinstance(node, kinds):
            return nodes[: i + 1]
        if isinstance(node, ast.If) and jumps(node, kinds):
            if len(nodes) > _MOST_STATEMENTS:
                raise UnsupportedError("very long")
            rest = nodes[i + 1 :]
            branches = [
                with_jumps_last([*branch, *rest], kinds) for branch in (node.body, node.orelse)
            ]
            made = ast.If(node.test, branches[0], branches[1])
            return [*nodes[:i], ast.copy_location(made, node)]
        if jumps(node, kinds):
            raise UnsupportedError("a jump out of a loop")
    return nodes


def jumps(node: ast.AST, kinds: tuple[type, ...]) -> bool:
    """Whether a statement contains a jump that leaves the block it stands in."""
    if isinstance(node, kinds):
        return True
    if classes_in(node).isdisjoint(kinds):
        return False
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
    """Replace each ``return`` in a loop by ``break``, and return after the loop.

    Parameters
    ----------
    loop : For or While
        A loop with ``return`` in it.
    flag, result : str
        Names of the variables for whether the loop has returned, and for the result.
    """
    before = ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(False))
    has_values = any(not _is_none(node.value) for node in _returns_in([loop]))
    returns: ast.stmt = ast.Return(_read(result) if has_values else None)
    if _may_end(loop):
        returns = ast.If(_read(flag), [returns], [])
    return [before, _with_breaks(loop, flag, result, has_values), returns]


def with_breaks(loop: ast.For | ast.While, flag: str) -> ast.stmt:
    """Return a loop without ``else`` with ``break`` for each ``return``, and a flag for whether."""
    return _with_breaks(loop, flag, "", has_values=False)


def _may_end(loop: ast.For | ast.While) -> bool:
    """Whether a loop may end without returning."""
    if not (isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant)):
        return True
    return not loop.test.value or any(map(breaks, loop.body))


def _with_breaks(loop: ast.For | ast.While, flag: str, result: str, has_values: bool) -> ast.stmt:
    """Return a loop with ``break`` in place of each ``return``."""

    def without_returns(nodes: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for node in nodes:
            if isinstance(node, ast.Return):
                if has_values:
                    value = node.value or ast.Constant(None)
                    made.append(ast.Assign([ast.Name(result, ast.Store())], value))
                made.append(ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(True)))
                made.append(ast.Break())
            elif isinstance(node, ast.If):
                made.append(with_bodies(node, without_returns))
            elif isinstance(node, (ast.For, ast.While)) and jumps(node, (ast.Return,)):
                made.append(_with_breaks(node, flag, result, has_values))
                made.append(ast.If(_read(flag), [ast.Break()], []))
            else:
                made.append(node)
        return made

    return _with_body(loop, without_returns(loop.body))


def _read(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def breaks(node: ast.AST) -> bool:
    """Whether a statement leaves the loop that it stands in."""
    return jumps(node, (ast.Break,))


def always_returns(body: list[ast.stmt]) -> bool:
    """Whether every path through statements with jumps at the ends returns or raises."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return always_returns(last.body) and always_returns(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise))


def with_ends(body: list[ast.stmt], leaves: bool) -> tuple[list[ast.stmt], bool]:
    """Return the body of a function with ``return`` or ``raise`` at its end.

    A branch that ends with ``raise`` raises at once. With `leaves`, so does a branch that returns
    nothing if others return values. Also return whether there are such branches. A program that
    takes a raising branch exits, and the call is traced from its beginning.
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
    """Whether it returns None, a string or an empty list, or a call of a function on one."""
    if not isinstance(node, ast.Return):
        return False
    value = node.value
    if isinstance(value, ast.Call) and value.args:
        value = value.args[0]
    if isinstance(value, ast.Constant):
        return not isinstance(value.value, (int, float, complex))
    return value is None or (isinstance(value, (ast.List, ast.Tuple)) and not value.elts)


def _raising(nodes: list[ast.stmt], leaves: bool) -> list[ast.stmt]:
    """Return a body or branch that does nothing before it raises."""
    last = nodes[-1] if nodes else None
    if isinstance(last, ast.Raise) or (leaves and last and _returns_nothing(last)):
        n = max([i + 1 for i, node in enumerate(nodes[:-1]) if jumps(node, _LEAVING)], default=0)
        nodes = [*nodes[:n], ast.copy_location(ast.Raise(), last)]
    return _raising_inside(nodes, leaves)


def _raising_inside(nodes: list[ast.stmt], leaves: bool) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for node in nodes:
        if isinstance(node, ast.If):
            node = with_bodies(node, lambda own: _raising(own, leaves))
        elif isinstance(node, (ast.With, ast.For, ast.While)):
            node = with_bodies(node, lambda own: _raising_inside(own, leaves))
        made.append(node)
    return made


def with_bodies(
    node: ast.stmt, change: Callable[[list[ast.stmt]], list[ast.stmt]]
) -> ast.stmt:  # fmt: skip
    """Return a compound statement with each of its bodies changed."""
    fields = dict(ast.iter_fields(node))
    for name in ("body", "orelse", "finalbody"):
        if name in fields:
            fields[name] = change(fields[name])
    return ast.copy_location(type(node)(**fields), node)


def without_handlers(nodes: list[ast.stmt]) -> list[ast.stmt]:
    """Replace each ``try`` by its body, its ``else`` and its ``finally``.

    Handlers are dropped, because a program exits at any exception: the call is then traced.
    """
    made: list[ast.stmt] = []
    for node in nodes:
        if isinstance(node, ast.Try):
            guarded = [*node.body, *node.orelse]
            if node.finalbody and any(jumps(n, _LEAVING) for n in guarded):
                raise UnsupportedError("a jump out of a statement with finally")
            made += without_handlers([*guarded, *node.finalbody])
        elif isinstance(node, COMPOUND):
            made.append(with_bodies(node, without_handlers))
        else:
            made.append(node)
    return made


def without_else(nodes: list[ast.stmt], fresh: Callable[[str], str]) -> list[ast.stmt]:
    """Replace the ``else`` of each loop by a branch after the loop.

    A variable records whether the loop was left by ``break``. So all jumps out of an ``else``
    stand in a branch when the enclosing loops are read.
    """
    loops = [node for node in nodes if not classes_in(node).isdisjoint((ast.For, ast.While))]
    parts = [part for node in loops for part in ast.walk(node)]
    if not any(isinstance(part, (ast.For, ast.While)) and part.orelse for part in parts):
        return nodes
    made: list[ast.stmt] = []
    for node in nodes:
        if isinstance(node, (ast.If, ast.With)):
            made.append(with_bodies(node, lambda nodes: without_else(nodes, fresh)))
        elif isinstance(node, (ast.For, ast.While)):
            made += _loop_without_else(node, fresh)
        else:
            made.append(node)
    return made


def _loop_without_else(loop: ast.For | ast.While, fresh: Callable[[str], str]) -> list[ast.stmt]:
    body = without_else(loop.body, fresh)
    if not loop.orelse:
        return [_with_body(loop, body)]
    flag = fresh("left")
    before = ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(False))
    test = ast.UnaryOp(ast.Not(), _read(flag))
    made = [before, _with_body(loop, recording_breaks(body, flag, keep=True)),
            ast.If(test, without_else(loop.orelse, fresh), [])]  # fmt: skip
    return [ast.fix_missing_locations(ast.copy_location(node, loop)) for node in made]


def _with_body(loop: ast.For | ast.While, body: list[ast.stmt]) -> ast.stmt:
    """Return a loop with another body and no ``else``."""
    made: ast.stmt
    if isinstance(loop, ast.For):
        made = ast.For(loop.target, loop.iter, body, [])
    else:
        made = ast.While(loop.test, body, [])
    return ast.copy_location(made, loop)


def recording_breaks(nodes: list[ast.stmt], flag: str, keep: bool) -> list[ast.stmt]:
    """Return statements that set a variable before each ``break``.

    Unless it is to `keep` them, they drop each ``break``: in an unrolled iteration, nothing
    follows it.
    """
    made: list[ast.stmt] = []
    for node in nodes:
        if isinstance(node, ast.Break):
            made.append(ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(True)))
            made += [node] if keep else []
        elif isinstance(node, ast.If):
            made.append(with_bodies(node, lambda own: recording_breaks(own, flag, keep)))
        else:
            made.append(node)
    return made
