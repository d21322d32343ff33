"""What purity proofs make of statements that compare classes, import names or end blocks."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from autodiff.autocompile import pure_functions
from autodiff.autocompile.outer_names import MISSING, OuterNames
from autodiff.intercept.source.library_code import is_of_library


class ControlFlow(OuterNames):
    """Statements of which not all parts are expressions like any others."""

    def visit(self, node: ast.AST) -> None:
        """Check a statement or an expression."""
        raise NotImplementedError

    def _check_classes(self, nodes: list[ast.expr]) -> None:
        """Check classes that are compared with those of values."""
        raise NotImplementedError

    def _statements(self, body: Iterable[ast.AST]) -> None:
        """Check statements in order."""
        for child in body:
            self.visit(child)

    def _annotated_assign(self, node: ast.AnnAssign) -> None:
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)

    def _try(self, node: ast.Try) -> None:
        self._statements([*node.body, *node.orelse, *node.finalbody])
        for handler in node.handlers:
            if handler.type is not None:
                self._check_classes([handler.type])
            self._statements(handler.body)

    def _match(self, node: ast.Match) -> None:
        self.visit(node.subject)
        for case in node.cases:
            self._pattern(case.pattern)
            if case.guard is not None:
                self.visit(case.guard)
            self._statements(case.body)

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
        self._statements(node.body)

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
            if not any(name in scope for scope in self.scopes[:-1]):
                raise self._doubt(node, f"{name!r} is assigned, of a function around it")

    def _message(self, nodes: Iterable[ast.AST]) -> None:
        """Check expressions of an error message, which may format values."""
        self.is_raising = True
        self._statements(nodes)
        self.is_raising = False
