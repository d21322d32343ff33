"""What purity proofs make of statements that bind names or contain other statements."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from autodiff.autocompile import pure_functions
from autodiff.autocompile.escape_analysis import MISSING, bindings, bound_by
from autodiff.autocompile.name_origins import NameOrigins
from autodiff.intercept.source.library_code import is_of_library


class ControlFlow(NameOrigins):
    """Statements that bind names or contain others: where the values of names come from then."""

    def visit(self, node: ast.AST) -> None:
        """Check a statement or an expression."""
        raise NotImplementedError

    def _check_classes(self, nodes: list[ast.expr]) -> None:
        """Check classes that are compared with those of values."""
        raise NotImplementedError

    def _statements(self, body: list[Any]) -> None:
        """Check statements in order."""
        for child in body:
            self.visit(child)

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        """Record the new origins of the names in an assignment target."""
        found = [(name, self._origin(v)) for name, v in bound_by(target, value)]
        for name, origin in found:
            self.scopes[-1].now[name] = {origin}

    def _assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)
        for target in node.targets:
            self._bind(target, node.value)

    def _annotated_assign(self, node: ast.AnnAssign) -> None:
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)
            self._bind(node.target, node.value)

    def _named_expression(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.scopes[-1].now[node.target.id].add(self._origin(node.value))  # may not be evaluated

    def _if(self, node: ast.If) -> None:
        self.visit(node.test)
        names = self.scopes[-1]
        before = names.copied()
        self._statements(node.body)
        behind, names.now = names.now, before
        self._statements(node.orelse)
        names.join(behind)

    def _loop(self, node: ast.For | ast.While) -> None:
        names = self.scopes[-1]
        if isinstance(node, ast.For):
            self.visit(node.iter)
        has_jumps = any(isinstance(n, (ast.Break, ast.Continue)) for n in ast.walk(node))
        if has_jumps:
            self._forget_bindings(node)
        while True:  # iterate to a fixed point
            before = names.copied()
            if isinstance(node, ast.For):
                self.visit(node.target)
                self._bind(node.target, None)
            else:
                self.visit(node.test)
            self._statements(node.body)
            names.join(before)
            if names.now == before:
                break
        if has_jumps:
            self._forget_bindings(node)
        self._statements(node.orelse)

    def _forget_bindings(self, node: ast.stmt) -> None:
        """Let the names that a statement binds come from any of their bindings."""
        names = self.scopes[-1]
        for name, _ in bindings([node]):
            names.now[name] = set(names.all[name])

    def _try(self, node: ast.Try) -> None:
        """Check ``try``: any statement of it may be its last."""
        self._statements(node.body)
        self._forget_bindings(node)
        for handler in node.handlers:
            if handler.type is not None:
                self._check_classes([handler.type])
            self._statements(handler.body)
            self._forget_bindings(node)
        for body in (node.orelse, node.finalbody):
            self._statements(body)
            self._forget_bindings(node)

    def _match(self, node: ast.Match) -> None:
        """Check ``match``: a pattern that does not match may have bound some of its names."""
        self.visit(node.subject)
        self._forget_bindings(node)
        names = self.scopes[-1]
        before = names.copied()
        behind = names.copied()
        for case in node.cases:
            names.now = {name: set(found) for name, found in before.items()}
            self._pattern(case.pattern)
            if case.guard is not None:
                self.visit(case.guard)
            self._statements(case.body)
            names.join(behind)
            behind = names.copied()
        names.now = behind

    def _pattern(self, node: ast.pattern) -> None:
        """Check the classes, values and attributes that a pattern compares."""
        if isinstance(node, ast.MatchClass):
            kind, rest = self._resolved(node.cls)
            self._check_classes([node.cls])
            positional = getattr(kind, "__match_args__", ()) if not rest else ()
            read = [*node.kwd_attrs, *positional[: len(node.patterns)]]
            if any(name.startswith("__") or name in pure_functions.REFUSED for name in read):
                raise self._doubt(node, f"{min(read)!r} is read")
            self.proof.classes.mentioned.update(read)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.pattern):
                self._pattern(child)
            elif not isinstance(node, ast.MatchClass):
                self.visit(child)

    def _with(self, node: ast.With) -> None:
        """Check ``with``: of `np.errstate`, and of objects, which may end the block at an error.

        `np.errstate` is safe: a program gives up at any warning anyway.
        """
        for item in node.items:
            call = item.context_expr
            called = self._resolved(call.func)[0] if isinstance(call, ast.Call) else None
            if called is np.errstate and item.optional_vars is None:
                for keyword in call.keywords:  # type: ignore[attr-defined] # it is a call
                    self.visit(keyword.value)
            else:
                self.visit(call)
                if item.optional_vars is not None:
                    self.visit(item.optional_vars)
                    self._bind(item.optional_vars, None)
        self._statements(node.body)
        self._forget_bindings(node)

    def _import(self, node: ast.Import) -> None:
        """Check an import of a library module, which must be loaded already."""
        for alias in node.names:
            module = sys.modules.get(alias.name)
            if module is None or not is_of_library(module):
                raise self._doubt(node, "an import is not followed")
            first = alias.name.partition(".")[0]
            value = module if alias.asname else sys.modules[first]
            self._bind_import(node, alias.asname or first, value)

    def _import_from(self, node: ast.ImportFrom) -> None:
        """Check an import of names from a library module."""
        module = sys.modules.get(node.module or "")
        if node.level or module is None or not is_of_library(module):
            raise self._doubt(node, "an import is not followed")
        for alias in node.names:
            value = vars(module).get(alias.name, MISSING)
            self._bind_import(node, alias.asname or alias.name, value)

    def _bind_import(self, node: ast.stmt, name: str, value: Any) -> None:
        """Record the value of an imported name, which must have no other binding."""
        others = {*self.imported, *self.g.__globals__, *self.cells}
        is_same = name in others and self._outside(name) is value
        if self.scopes[1:] or self._is_local(name) or (name in others and not is_same):
            raise self._doubt(node, f"{name!r} is imported, and bound elsewhere too")
        self.imported[name] = value

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                self.visit(target)
            elif not isinstance(target, ast.Name):
                raise self._doubt(node, "what is deleted may be another's")

    def _nonlocal(self, node: ast.Nonlocal) -> None:
        for name in node.names:
            if not any(name in scope.all for scope in self.scopes[:-1]):
                raise self._doubt(node, f"{name!r} is assigned, of a function around it")

    def _message(self, nodes: Iterable[ast.AST]) -> None:
        """Check expressions of an error message, which may format values."""
        self.is_raising = True
        for node in nodes:
            self.visit(node)
        self.is_raising = False
