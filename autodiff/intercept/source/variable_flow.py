"""The variables of statements: which they may read before they bind them, and which they bind."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from autodiff.intercept.source.name_bindings import own_names

_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_NAMED = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs,
    ast.MatchStar,
)  # fmt: skip
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def read_first(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that statements may read before they bind them.

    These include all names that are live where the statements begin.
    """
    reads = _Reads()
    reads.block(nodes, set())
    return reads.found


def bound_before(node: ast.FunctionDef) -> dict[ast.stmt, set[str]]:
    """Return, for each statement of a function, the variables that are bound on all paths to it."""
    reads = _Reads()
    reads.block(node.body, {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)})
    return reads.bound_before


def names_bound(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that statements bind or delete, without those of functions inside them."""
    found: set[str] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, _NAMED) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
        if isinstance(node, _COMPREHENSIONS):  # it binds only what := binds
            parts = [part.target for part in ast.walk(node) if isinstance(part, ast.NamedExpr)]
            waiting.extend(parts)
        elif not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(node))
    return found


def names_captured(node: Any) -> set[str]:
    """Return the names that a function or a generator expression uses of what is around it."""
    elsewhere = [part.names for part in ast.walk(node) if isinstance(part, ast.Nonlocal)]
    return _names_read_inside(node).union(*elsewhere)


def _names_read_inside(node: Any) -> set[str]:
    if isinstance(node, FUNCTIONS):
        return names_read(node) - own_names(node)
    return read_first([ast.Expr(node)])


def names_read(node: ast.AST) -> set[str]:
    """Return all names that are read in a tree."""
    parts = ast.walk(node)
    return {p.id for p in parts if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Load)}


class _Reads:
    """Goes through statements in the order in which they run.

    Each method gets the names that are bound on every path to a statement, and those for
    statements return the names that are bound after it: None if nothing follows.

    Attributes
    ----------
    found : set of str
        The names that may be read before they are bound.
    bound_before : dict
        For each statement, the names that are bound on all paths to it.
    """

    def __init__(self) -> None:
        self.found: set[str] = set()
        self.bound_before: dict[ast.stmt, set[str]] = {}

    def block(self, nodes: Iterable[ast.AST], bound: set[str]) -> set[str] | None:
        """Go through a block."""
        after: set[str] | None = bound
        for node in nodes:
            if after is None:
                return None
            after = self.statement(node, after)
        return after

    def statement(self, node: Any, bound: set[str]) -> set[str] | None:
        """Go through a statement."""
        self.bound_before[node] = {*bound}
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is not None:
            return method(node, bound)
        self.expression(node, bound)
        return None if isinstance(node, _LEAVING) else bound

    def _if(self, node: ast.If, bound: set[str]) -> set[str] | None:
        self.expression(node.test, bound)
        branches = [self.block(body, {*bound}) for body in (node.body, node.orelse)]
        ending = [branch for branch in branches if branch is not None]
        return set.intersection(*ending) if ending else None

    def _for(self, node: Any, bound: set[str]) -> set[str]:
        self.expression(node.iter, bound)
        inner = {*bound}
        self.target(node.target, inner)
        self.block(node.body, inner)
        self.block(node.orelse, {*bound})
        return bound

    _asyncfor = _for

    def _while(self, node: ast.While, bound: set[str]) -> set[str]:
        self.expression(node.test, bound)
        self.block(node.body, {*bound})
        self.block(node.orelse, {*bound})
        return bound

    def _with(self, node: Any, bound: set[str]) -> set[str]:
        for entered in node.items:
            self.expression(entered.context_expr, bound)
            if entered.optional_vars is not None:
                self.target(entered.optional_vars, bound)
        self.block(node.body, {*bound})  # the context may end it at any statement
        return bound

    _asyncwith = _with

    def _try(self, node: Any, bound: set[str]) -> set[str]:
        after = self.block(node.body, {*bound})
        if after is not None:
            self.block(node.orelse, after)
        for handler in node.handlers:
            if handler.type is not None:
                self.expression(handler.type, {*bound})
            self.block(handler.body, bound | ({handler.name} - {None}))
        self.block(node.finalbody, {*bound})
        return bound

    _trystar = _try

    def _match(self, node: ast.Match, bound: set[str]) -> set[str]:
        self.expression(node.subject, bound)
        for case in node.cases:
            inner = bound | names_bound([case.pattern])
            self.expression(case.pattern, inner)
            if case.guard is not None:
                self.expression(case.guard, inner)
            self.block(case.body, inner)
        return bound

    def _functiondef(self, node: Any, bound: set[str]) -> set[str]:
        self.expression(node.args, bound)
        for decorator in node.decorator_list:
            self.expression(decorator, bound)
        self.found |= _names_read_inside(node) - bound
        return bound | {node.name}

    _asyncfunctiondef = _functiondef

    def _classdef(self, node: ast.ClassDef, bound: set[str]) -> set[str]:
        self.found |= names_read(node) - bound
        return bound | {node.name}

    def _assign(self, node: ast.Assign, bound: set[str]) -> set[str]:
        self.expression(node.value, bound)
        for target in node.targets:
            self.target(target, bound)
        return bound

    def _annassign(self, node: ast.AnnAssign, bound: set[str]) -> set[str]:
        if node.value is not None:
            self.expression(node.value, bound)
            self.target(node.target, bound)
        return bound

    def _augassign(self, node: ast.AugAssign, bound: set[str]) -> set[str]:
        if isinstance(node.target, ast.Name):
            self.found |= {node.target.id} - bound
        self.expression(node.value, bound)
        self.target(node.target, bound)
        return bound

    def _assert(self, node: ast.Assert, bound: set[str]) -> set[str]:
        self.expression(node.test, bound)
        if node.msg is not None:
            self.expression(node.msg, {*bound})
        return bound

    def _delete(self, node: ast.Delete, bound: set[str]) -> set[str]:
        self.expression(node, bound)
        return bound - names_bound([node])

    def _import(self, node: ast.Import, bound: set[str]) -> set[str]:
        return bound | names_bound([node])

    _importfrom = _import

    def target(self, node: Any, bound: set[str]) -> None:
        """Go through the target of an assignment."""
        if isinstance(node, ast.Name):
            bound.add(node.id)
        elif isinstance(node, (ast.Tuple, ast.List)):
            for part in node.elts:
                self.target(part, bound)
        elif isinstance(node, ast.Starred):
            self.target(node.value, bound)
        else:
            self.expression(node, bound)

    def expression(self, node: Any, bound: set[str]) -> None:
        """Go through an expression."""
        match node:
            case ast.Name():
                if not isinstance(node.ctx, ast.Store):
                    self.found |= {node.id} - bound
            case ast.NamedExpr():
                self.expression(node.value, bound)
                bound.add(node.target.id)
            case ast.BoolOp():
                self._in_turn(node.values, bound)
            case ast.Compare():
                self._in_turn([ast.Tuple([node.left, node.comparators[0]]), *node.comparators[1:]],
                              bound)  # fmt: skip
            case ast.IfExp():
                self.expression(node.test, bound)
                self.expression(node.body, {*bound})
                self.expression(node.orelse, {*bound})
            case ast.Lambda():
                self.expression(node.args, bound)
                self.found |= _names_read_inside(node) - bound
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                inner = {*bound}
                for part in node.generators:
                    self.expression(part.iter, inner)
                    self.target(part.target, inner)
                    self._in_turn(part.ifs, inner)
                parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
                self._in_turn(parts, inner)
            case _:
                for child in ast.iter_child_nodes(node):
                    self.expression(child, bound)

    def _in_turn(self, nodes: list[Any], bound: set[str]) -> None:
        """Go through expressions of which only the first one is evaluated for sure."""
        for i, node in enumerate(nodes):
            bound = {*bound} if i == 1 else bound
            self.expression(node, bound)
