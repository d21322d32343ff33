"""Rewrite a definition so that each call in it is seen.

``g(x)`` becomes ``intercept(g)(x)``, an attribute that may be a property is read through
``read(obj, "name")``, and writes into arrays are looked at. Nothing else changes: names, closures,
line and column numbers are those of the source, so tracebacks and debuggers show the user's lines.
"""

from __future__ import annotations

import ast
import types
from typing import Any

INTERCEPT = "__autodiff_intercept__"
READ = "__autodiff_read__"
STORE = "__autodiff_store__"
CHANGE = "__autodiff_change__"
SLICE = "__autodiff_slice__"

# What looks at the frame it is called from: a call in between would show it another one.
_FRAME_DEPENDENT = frozenset(
    {"super", "locals", "globals", "vars", "dir", "eval", "exec", "breakpoint", "__import__"}
)


class _Rewriter(ast.NodeTransformer):
    """Rewrites the body of one definition.

    Parameters
    ----------
    modules : set of str
        Global names that are bound to modules: their attributes are not properties.
    """

    def __init__(self, modules: set[str]) -> None:
        self.modules = modules

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = node.func
        if isinstance(function, ast.Name) and function.id in _FRAME_DEPENDENT:
            rewritten: ast.expr = function
        elif isinstance(function, ast.Attribute):
            # A method: what the property gives is looked at anyway.
            owner = ast.Attribute(self.visit(function.value), function.attr, function.ctx)
            rewritten = self._seen(ast.copy_location(owner, function))
        else:
            rewritten = self._seen(self.visit(function))
        new = ast.Call(
            rewritten,
            [self.visit(a) for a in node.args],
            [self.visit(k) for k in node.keywords],
        )
        return ast.copy_location(new, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        owner = self.visit(node.value)
        new = ast.copy_location(ast.Attribute(owner, node.attr, node.ctx), node)
        if not isinstance(node.ctx, ast.Load) or self._is_module(node.value):
            return new
        if node.attr.startswith("__"):
            return new  # private or special: its mangled name is the compiler's business
        read = ast.Call(_name(READ), [owner, ast.Constant(node.attr)], [])
        return _located(read, node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        # Types are left alone: they may be kept as text.
        arguments = node.args
        arguments.defaults = [self.visit(d) for d in arguments.defaults]
        arguments.kw_defaults = [d and self.visit(d) for d in arguments.kw_defaults]
        node.decorator_list = [self._seen(self.visit(d)) for d in node.decorator_list]
        node.body = self.statements(node.body)
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self.visit_FunctionDef(node)  # type: ignore[arg-type] # the same fields

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        """``x[i] = v`` becomes ``store(v, x, i)``, evaluated in the same order."""
        target = node.targets[0]
        if len(node.targets) != 1 or not isinstance(target, ast.Subscript):
            return self.generic_visit(node)
        arguments = [
            self.visit(node.value),
            self.visit(target.value),
            _index(self.visit(target.slice)),
        ]
        return ast.copy_location(ast.Expr(_located(_call(STORE, arguments), target)), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        """``x += v``: what is about to change in place is looked at before."""
        target = node.target
        owner: ast.expr = target.value if isinstance(target, ast.Subscript) else target
        node.value = self.visit(node.value)
        node.target = self.visit(target)
        if not isinstance(owner, ast.Name):
            return node
        look = ast.Expr(_located(_call(CHANGE, [ast.Name(owner.id, ast.Load())]), target))
        return [ast.copy_location(look, node), node]

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        # Patterns are no expressions, though they hold some.
        if node.guard is not None:
            node.guard = self.visit(node.guard)
        node.body = self.statements(node.body)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        node.target = self.visit(node.target)
        return node

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return the rewritten statements of a block; one may become two."""
        new: list[ast.stmt] = []
        for statement in body:
            made = self.visit(statement)
            new.extend(made if isinstance(made, list) else [made])
        return new

    def _seen(self, function: ast.expr) -> ast.expr:
        return _located(ast.Call(_name(INTERCEPT), [function], []), function)

    def _is_module(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.modules


def _call(name: str, arguments: list[ast.expr]) -> ast.Call:
    return ast.Call(_name(name), arguments, [])


def _index(node: ast.expr) -> ast.expr:
    """Return an index as an expression of its own: slices are written out."""
    if isinstance(node, ast.Slice):
        none = ast.Constant(None)
        parts = [node.lower or none, node.upper or none, node.step or none]
        return _call(SLICE, parts)
    if isinstance(node, ast.Tuple):
        return ast.Tuple([_index(e) for e in node.elts], ast.Load())
    return node


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _located(new: Any, old: ast.AST) -> Any:
    ast.copy_location(new, old)
    ast.fix_missing_locations(new)
    return new


def rewritten(node: Any, code: types.CodeType, namespace: dict[str, Any]) -> Any:
    """Return a rewritten copy of a definition."""
    local = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    modules = {
        name
        for name in _names_in(node)
        if name not in local and isinstance(namespace.get(name), types.ModuleType)
    }
    copy = _copied(node)
    rewriter = _Rewriter(modules)
    if isinstance(copy, ast.Lambda):
        copy.body = rewriter.visit(copy.body)
    else:
        copy.body = rewriter.statements(copy.body)
    return copy


def _names_in(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _copied(node: ast.AST) -> Any:
    """Return a deep copy of a tree, without recursion into what is no node."""
    if isinstance(node, list):
        return [_copied(n) for n in node]
    if not isinstance(node, ast.AST):
        return node
    new = type(node)(**{name: _copied(value) for name, value in ast.iter_fields(node)})
    return ast.copy_location(new, node)
