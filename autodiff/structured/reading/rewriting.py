"""Rewriting syntax: comprehensions to loops, iterators to comprehensions, with other names."""

from __future__ import annotations

import ast
from collections.abc import Callable

from autodiff.structured.form.kinds import UnsupportedError


def comprehension_loop(
    node: ast.ListComp | ast.DictComp, name: str, fresh: Callable[[str], str], adds: bool = False
) -> ast.For:
    """Rewrite a comprehension to a loop that appends, `adds` or fills a dict, with other names."""
    renaming = renaming_for(node, fresh)
    owner = ast.Name(name, ast.Load())
    made: ast.stmt
    if isinstance(node, ast.DictComp):
        place = ast.Subscript(owner, renaming.visit(node.key), ast.Store())
        made = ast.Assign([place], renaming.visit(node.value))
    elif adds:
        added = ast.BinOp(owner, ast.Add(), renaming.visit(node.elt))
        made = ast.Assign([ast.Name(name, ast.Store())], added)
    else:
        target = ast.Attribute(owner, "append", ast.Load())
        made = ast.Expr(ast.Call(target, [renaming.visit(node.elt)], []))
    return _loops_of(node, [made], renaming, lambda generator: [])


def search_loop(
    node: ast.GeneratorExp, decides: bool, found: str, fresh: Callable[[str], str], ends: bool,
    item: str = "",
) -> ast.For:  # fmt: skip
    """Rewrite a generator to a loop that searches for the first true, or false, item.

    The loop binds the variable `found` when it has found it, and breaks out of the inner loops; out
    of the outermost loop, too, if it `ends`. With a variable `item`, it takes the first item.
    """
    first = node.generators[0]
    renaming = renaming_for(node, fresh)

    def test(x: ast.expr) -> ast.expr:
        return x if decides else ast.UnaryOp(ast.Not(), x)

    name = ast.Name(found, ast.Store())
    bound = ast.Assign([name], ast.Constant(decides))

    def after(generator: ast.comprehension) -> list[ast.stmt]:
        if generator is first and not ends:
            return []
        return [ast.If(test(ast.Name(found, ast.Load())), [ast.Break()], [])]

    if item:
        taken = ast.Assign([ast.Name(item, ast.Store())], renaming.visit(node.elt))
        return _loops_of(node, [taken, bound], renaming, after)
    return _loops_of(node, [ast.If(test(renaming.visit(node.elt)), [bound], [])], renaming, after)


def _loops_of(
    node: ast.ListComp | ast.DictComp | ast.GeneratorExp, body: list[ast.stmt],
    renaming: _Renaming, after: Callable[[ast.comprehension], list[ast.stmt]],
) -> ast.For:  # fmt: skip
    """Return the loops and branches of a comprehension; `after` says what ends each loop body."""
    for generator in reversed(node.generators):
        if generator.is_async:
            raise UnsupportedError("async")
        for test in reversed(generator.ifs):
            body = [ast.If(renaming.visit(test), body, [])]
        is_first = generator is node.generators[0]
        over = generator.iter if is_first else renaming.visit(generator.iter)
        body = [ast.For(renaming.visit(generator.target), over, [*body, *after(generator)], [])]
    return ast.fix_missing_locations(ast.copy_location(body[0], node))  # type: ignore[return-value]


def has_no_calls(node: ast.expr) -> bool:
    """Whether an expression has no calls, so that it may be read twice."""
    parts = ast.walk(node)
    return all(isinstance(part, _WITHOUT_CALLS) for part in parts)


_WITHOUT_CALLS = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.BinOp, ast.UnaryOp,
    ast.operator, ast.unaryop, ast.expr_context,
)  # fmt: skip


def renaming_for(
    node: ast.ListComp | ast.GeneratorExp | ast.DictComp, fresh: Callable[[str], str]
) -> _Renaming:
    """Return a transformer that renames the variables of a comprehension.

    Nested comprehensions and inner functions may have variables of the same names.
    """
    targets = [part for generator in node.generators for part in ast.walk(generator.target)]
    return _Renaming({t.id: fresh(t.id) for t in targets if isinstance(t, ast.Name)})


def written(text: str, **names: str) -> list[ast.stmt]:
    """Parse statements, and rename the variables in them."""
    renaming = _Renaming(names)
    return [ast.fix_missing_locations(renaming.visit(node)) for node in ast.parse(text).body]


class _Renaming(ast.NodeTransformer):
    """Copies a syntax tree, and renames variables in it."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Copy a node."""
        fields = {
            name: [self.visit(x) if isinstance(x, ast.AST) else x for x in value]
            if isinstance(value, list)
            else self.visit(value)
            if isinstance(value, ast.AST)
            else value
            for name, value in ast.iter_fields(node)
        }
        return ast.copy_location(type(node)(**fields), node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """Copy a parameter, which may be a renamed variable."""
        return ast.copy_location(ast.arg(self.names.get(node.arg, node.arg)), node)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Copy a name, perhaps renamed."""
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)
