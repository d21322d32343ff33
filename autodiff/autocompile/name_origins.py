"""Resolve names in the code of a function, and find the origins of expressions."""

from __future__ import annotations

import ast
import builtins
import sys
import types
from typing import Any

from autodiff.autocompile import pure_functions, user_classes
from autodiff.autocompile.escape_analysis import (
    ARGUMENT,
    ARRAY,
    MADE_HERE,
    MISSING,
    OBJECT,
    OTHER,
    OWN,
    Impurity,
    ScopeOrigins,
    is_set_at,
)
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
    node : ast.FunctionDef or ast.Lambda
        The syntax tree of the function.
    scopes : list of ScopeOrigins
        The enclosing functions and comprehensions, outer ones first.
    shared : set of str
        The local names that inner functions assign (``nonlocal``), at any time.
    """

    def __init__(
        self, proof: Any, g: types.FunctionType, is_first: bool, kind: type | None = None,
        is_of_class: bool = False,
    ) -> None:  # fmt: skip
        self.proof = proof
        self.g = g
        self.is_first = is_first
        self.kind = kind
        self.is_of_class = is_of_class
        self.own: str | None = None
        self.own_class: str | None = None
        self.node: Any = None
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
        if node is None:
            return OTHER
        if isinstance(node, ast.IfExp):
            found = {self._origin(node.body), self._origin(node.orelse)}
            return OTHER if OTHER in found else found.pop() if len(found) == 1 else OWN
        if isinstance(node, ast.Call):
            return self._origin_of_call(node)
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)) and self.proof.objects_compute:
            return OTHER
        if isinstance(node, (ast.BinOp, ast.UnaryOp)) and self._is_numeric(node):
            return ARRAY
        return OWN if isinstance(node, MADE_HERE) else OTHER

    def _origin_of_call(self, node: ast.Call) -> str:
        """Return the origin of the result of a call."""
        value, rest = self._resolved(node.func)
        if value is not MISSING and not rest:
            if user_classes.is_plain_class(type(value)):
                return OTHER
            if pure_functions.makes_array(value):
                if self.proof.objects_compute and not pure_functions.always_makes_array(value):
                    return OTHER
                return OWN if any(map(_may_be_object, ast.walk(node))) else ARRAY
            if user_classes.is_plain_class(value):
                return OBJECT
            return OWN if any(value is made for made in pure_functions.MAKING) else OTHER
        if not isinstance(node.func, ast.Attribute):
            return OTHER
        owner = node.func.value
        if self.proof.objects_compute:
            return OTHER
        if node.func.attr in pure_functions.METHODS_MAKE_ARRAYS or is_set_at(node):
            return ARRAY
        if node.func.attr != "copy":
            return OTHER
        while isinstance(owner, ast.Subscript):  # an item of an array is an array or a number
            owner = owner.value
        known = self._origins(owner.id) if isinstance(owner, ast.Name) else {OTHER}
        if not known <= {ARGUMENT, ARRAY}:
            return OWN  # perhaps a list, whose items are shared
        self.proof.takes_containers = self.proof.takes_containers and ARGUMENT not in known
        return ARRAY

    def _is_numeric(self, node: ast.expr) -> bool:
        """Whether an expression gives a number or a new array: neither a list nor a view."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, float)
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, (ast.USub, ast.UAdd))
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, (ast.Sub, ast.Div, ast.Pow, ast.MatMult)):
                return True
            return self._is_numeric(node.left) or self._is_numeric(node.right)
        return isinstance(node, ast.Call) and self._origin(node) == ARRAY

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


def _may_be_object(node: ast.AST) -> bool:
    """Whether an argument like this may request an array of objects, whose items are shared."""
    if isinstance(node, ast.Constant):
        return node.value is None or isinstance(node.value, str)
    return isinstance(node, ast.Attribute) and node.attr == "object_"
