"""Resolve names in the code of a function, and find the origins of expressions."""

from __future__ import annotations

import ast
import builtins
import sys
import types
from typing import Any

from autodiff.autocompile import user_classes
from autodiff.autocompile.escape_analysis import MISSING, OBJECT, OTHER, Impurity, ScopeOrigins
from autodiff.intercept.source.name_bindings import dotted
from chainrules_core.rules import name_of

_BUILT_IN = frozenset(sys.builtin_module_names)


class NameOrigins:
    """Name resolution and origins of values for the code of one function.

    Attributes
    ----------
    proof : Proof
        The proof that the function is part of.
    kind : type or None
        The class whose method the function is.
    own : str or None
        The name of the ``self`` parameter of a method.
    own_class : str or None
        The name of the ``cls`` parameter of a method of a class.
    scopes : list of ScopeOrigins
        The enclosing functions and comprehensions, outer ones first.
    shared : set of str
        The local names that inner functions assign (``nonlocal``), at any time.
    """

    def __init__(
        self, proof: Any, g: types.FunctionType, kind: type | None = None, is_of_class: bool = False
    ) -> None:
        self.proof = proof
        self.g = g
        self.kind = kind
        self.is_of_class = is_of_class
        self.own: str | None = None
        self.own_class: str | None = None
        self.cells = dict(zip(g.__code__.co_freevars, g.__closure__ or (), strict=True))
        self.scopes: list[ScopeOrigins] = []
        self.shared: set[str] = set()
        self.imported: dict[str, Any] = {}
        self.is_raising = False

    def _doubt(self, node: ast.AST, why: str) -> Impurity:
        return Impurity(f"{why} (line {getattr(node, 'lineno', '?')} of {name_of(self.g)})")

    def _is_local(self, name: str) -> bool:
        """Whether the function or an enclosing scope binds a name."""
        return any(name in scope.all for scope in self.scopes)

    def _outside(self, name: str) -> Any:
        """Return the value of an outer name."""
        if name in self.imported:
            return self.imported[name]
        if name in self.cells:
            try:
                return self.cells[name].cell_contents
            except ValueError:
                return MISSING
        value = self.g.__globals__.get(name, MISSING)
        return vars(builtins).get(name, MISSING) if value is MISSING else value

    def _resolved(self, node: ast.expr) -> tuple[Any, list[str]]:
        """Resolve a dotted outer name through modules; return the value and the remaining names."""
        name = dotted(node)
        if name is None or self._is_local(name.partition(".")[0]):
            return MISSING, []
        first, *rest = name.split(".")
        value = self._outside(first)
        while rest and type(value) is types.ModuleType:
            if getattr(value, "__file__", None) is None and value.__name__ not in _BUILT_IN:
                raise self._doubt(node, f"the module {value.__name__} has no file")
            value = vars(value).get(rest.pop(0), MISSING)
        return value, rest

    def _origins(self, name: str) -> set[str]:
        """Return the possible origins of a local name here."""
        if name in self.shared:
            return {OTHER}
        for scope in reversed(self.scopes):
            if name in scope.all:
                return scope.now[name] if scope is self.scopes[-1] else scope.all[name]
        return {OTHER}

    def _origin(self, node: ast.expr | None) -> str:
        """Return the origin of the value of an expression."""
        if isinstance(node, ast.IfExp):
            found = {self._origin(node.body), self._origin(node.orelse)}
            return OTHER if OTHER in found else OBJECT
        if isinstance(node, ast.Call):
            value, rest = self._resolved(node.func)
            return OBJECT if not rest and user_classes.is_plain_class(value) else OTHER
        return OTHER

    def _is_super(self, node: ast.expr) -> bool:
        """Whether this is ``super()`` in a method."""
        if not isinstance(node, ast.Call) or node.args or node.keywords or self.own is None:
            return False
        return self._resolved(node.func)[0] is super

    def _is_object(self, owner: ast.expr) -> bool:
        """Whether this names an object of a user-defined class."""
        if isinstance(owner, ast.Name) and self._is_local(owner.id):
            return owner.id == self.own or self._origins(owner.id) == {OBJECT}
        value, rest = self._resolved(owner)
        return not rest and user_classes.is_plain_class(type(value))
