"""The names in the code of a function: which it binds, and what the others are outside."""

from __future__ import annotations

import ast
import builtins
import collections
import sys
import types
from collections.abc import Iterator
from typing import Any

from autodiff.closures.captured_values import is_empty
from autodiff.intercept.source.name_bindings import dotted
from chainrules_core.rules import name_of

MISSING: Any = object()
"""The value of an unbound name."""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_BUILT_IN = frozenset(sys.builtin_module_names)


class Impurity(Exception):  # noqa: N818 - not an error
    """The reason why a function cannot be shown to be pure."""


class OuterNames:
    """Name resolution for the code of one function.

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
    scopes : list of set of str
        The names that the enclosing functions and comprehensions bind, outer ones first.
    defined : set of str
        The names that stand for an inner function wherever the code binds them.
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
        self.scopes: list[set[str]] = []
        self.defined: set[str] = set()
        self.imported: dict[str, Any] = {}
        self.is_raising = False

    def _doubt(self, node: ast.AST, why: str) -> Impurity:
        return Impurity(f"{why} (line {getattr(node, 'lineno', '?')} of {name_of(self.g)})")

    def _is_local(self, name: str) -> bool:
        """Whether the function or an enclosing scope binds a name."""
        return any(name in scope for scope in self.scopes)

    def _outside(self, name: str) -> Any:
        """Return the value of an outer name."""
        if name in self.imported:
            return self.imported[name]
        if name in self.cells:
            return MISSING if is_empty(self.cells[name]) else self.cells[name].cell_contents
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

    def _is_super(self, node: ast.expr) -> bool:
        """Whether this is ``super()`` in a method."""
        if not isinstance(node, ast.Call) or node.args or node.keywords or self.own is None:
            return False
        return self._resolved(node.func)[0] is super


def parameters_of(node: Any) -> set[str]:
    """Return the names of all parameters of a function."""
    given = node.args
    found = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    return {a.arg for a in found if a is not None}


def bindings(body: list[Any]) -> Iterator[str]:
    """Yield the names that statements bind."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda, *COMPREHENSIONS)):
            if isinstance(node, ast.FunctionDef):
                yield node.name
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):  # defaults belong to this scope
                waiting += [d for d in (*node.args.defaults, *node.args.kw_defaults) if d]
            continue
        waiting.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest


def defined_in(node: Any) -> set[str]:
    """Return the names that a function binds only once, to an inner function or a lambda."""
    functions, names = set(), collections.Counter[str]()
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef) and part is not node and not part.decorator_list:
            functions.add(part.name)
        elif isinstance(part, ast.Assign) and isinstance(part.value, ast.Lambda):
            functions.update(t.id for t in part.targets if isinstance(t, ast.Name))
        names.update(_bound_by(part))
    return {name for name in functions if names[name] == 1}


def _bound_by(node: ast.AST) -> list[str]:
    """Return the names that this node itself may bind, in its scope or another one."""
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return [*node.names, *node.names]  # others may bind them too
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).partition(".")[0]]
    texts = [getattr(node, field, None) for field in ("name", "arg", "rest")]
    return [text for text in texts if isinstance(text, str)]
