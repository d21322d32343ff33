"""A proof that a function is pure: nothing but its arguments and constants, and no effect.

What is proved, is proved of the code: every name that it reads from outside is a constant, a
function of a library that is known to be pure, or a function of the user's of which the same is
shown; what it writes into, it has made itself. By induction its values are the arguments
(numbers, arrays and nests of them), constants, and what such functions made of those. All else is
a doubt, and with a doubt the function runs as it is written, always.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from autodiff.compile.dependencies import content_of
from autodiff.compile.snapshots import SMALL
from autodiff.hot import functions
from autodiff.intercept.asking import has_rule
from autodiff.intercept.libraries import is_library
from autodiff.intercept.names import dotted
from autodiff.intercept.source import definition_of
from chainrules_core.rules import name_of

_CONSTANTS = (int, float, complex, str, bytes, bool, type(None), range, slice, type(Ellipsis))
_MISSING = object()
_NOT_CALLED_ONCE = (
    inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    | inspect.CO_ITERABLE_COROUTINE
)  # fmt: skip
_BUILT_IN = frozenset(sys.builtin_module_names)
_LARGEST = 1 << 22  # bytes of arrays outside that are compared at each call


class Doubt(Exception):  # noqa: N818 - it is no error
    """Why a function is not known to be pure."""


class Proof:
    """That a function, with all that it calls, is pure.

    Attributes
    ----------
    arrays : list of ndarray
        Larger arrays from outside that it reads: the proof holds for their contents.

    Raises
    ------
    Doubt
        If there is no such proof.
    """

    def __init__(self, f: Any) -> None:
        self.arrays: list[np.ndarray] = []
        self._seen: set[int] = set()
        self.value(f, name_of(f))

    def function(self, g: types.FunctionType) -> None:
        """Prove it of a function of the user's."""
        if id(g) in self._seen:
            return
        self._seen.add(id(g))
        if g.__code__.co_flags & _NOT_CALLED_ONCE:
            raise Doubt(f"{name_of(g)} is a generator or a coroutine")
        if has_rule(g):
            raise Doubt(f"{name_of(g)} has a rule of its own")
        if not vars(g).keys() <= {"__wrapped__"}:
            raise Doubt(f"{name_of(g)} has attributes, which may change")
        found = definition_of(g)
        if found is None:
            raise Doubt(f"the source of {name_of(g)} is not to be had")
        for default in (*(g.__defaults__ or ()), *(g.__kwdefaults__ or {}).values()):
            self.value(default, f"a default of {name_of(g)}")
        _Body(self, g).definition(found.node)

    def value(self, x: Any, label: str) -> None:
        """Prove it of a value from outside."""
        if isinstance(x, (*_CONSTANTS, np.generic, np.dtype)) or id(x) in functions.OBJECTS:
            return
        if type(x) is tuple:
            for part in x:
                self.value(part, label)
        elif type(x) is types.FunctionType and not is_library(x) and not functions.is_pure(x):
            self.function(x)
        elif type(x) is functools.partial:
            self.value((x.func, *x.args, *x.keywords.values()), label)
        elif type(x) is np.ndarray and x.dtype.kind in "fciub":
            self._array(x, label)
        elif type(x) in (list, dict):
            if content_of(x) is None:
                raise Doubt(f"{label} holds more than can be compared at each call")
        elif not callable(x) or not functions.is_pure(x):
            raise Doubt(f"{label} is not known to stay as it is, or to do nothing ({x!r:.60})")

    def _array(self, x: np.ndarray, label: str) -> None:
        if x.nbytes <= SMALL or any(x is known for known in self.arrays):
            return  # small ones are compared by the program itself
        if not x.flags.c_contiguous or x.nbytes + sum(a.nbytes for a in self.arrays) > _LARGEST:
            raise Doubt(f"{label} is too large to be compared at each call")
        self.arrays.append(x)


class _Body:
    """The code of one function."""

    def __init__(self, proof: Proof, g: types.FunctionType) -> None:
        self.proof = proof
        self.g = g
        self.cells = dict(zip(g.__code__.co_freevars, g.__closure__ or (), strict=True))
        # The names that the functions and comprehensions around bind: name → what its values are.
        self.scopes: list[dict[str, list[str]]] = []
        self.is_raising = False

    def doubt(self, node: ast.AST, why: str) -> Doubt:
        return Doubt(f"{why} (line {getattr(node, 'lineno', '?')} of {name_of(self.g)})")

    # -- names ------------------------------------------------------------------------------------

    def is_local(self, name: str) -> bool:
        """Whether a name is bound by the function, or one around it that is looked at."""
        return any(name in scope for scope in self.scopes)

    def outside(self, name: str) -> Any:
        """Return what a name outside is bound to."""
        if name in self.cells:
            try:
                return self.cells[name].cell_contents
            except ValueError:
                return _MISSING
        scope = self.g.__globals__
        return scope.get(name, getattr(builtins, name, _MISSING))

    def resolved(self, node: ast.expr) -> tuple[Any, list[str]]:
        """Return what a dotted name outside leads to through modules, and the rest of the name."""
        name = dotted(node)
        if name is None or self.is_local(name.partition(".")[0]):
            return _MISSING, []
        first, *rest = name.split(".")
        value = self.outside(first)
        while rest and type(value) is types.ModuleType:
            if getattr(value, "__file__", None) is None and value.__name__ not in _BUILT_IN:
                raise self.doubt(node, f"the module {value.__name__} has no file")
            value = vars(value).get(rest.pop(0), _MISSING)
        return value, rest

    def origins(self, name: str) -> list[str]:
        """Return what the values of a local name are: "array", "own" or "other"."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), ["other"])

    def origin(self, node: ast.expr) -> str:
        """Return "array" for an array made here, "own" for what else is, "other" for all else."""
        if isinstance(node, ast.IfExp):
            found = {self.origin(node.body), self.origin(node.orelse)}
            return "other" if "other" in found else found.pop() if len(found) == 1 else "own"
        if isinstance(node, ast.Call):
            value, rest = self.resolved(node.func)
            if value is not _MISSING and not rest and functions.makes_array(value):
                return "array"
            if isinstance(node.func, ast.Attribute):
                if node.func.attr == "set" and _is_at(node.func.value):
                    return "array"
                return "own" if node.func.attr == "copy" else "other"
            return "own" if value in (float, int, len, list, dict) else "other"
        if isinstance(node, (ast.BinOp, ast.UnaryOp)) and self.is_numeric(node):
            return "array"
        made = isinstance(
            node,
            (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.List, ast.Dict, ast.Tuple,
             ast.ListComp, ast.DictComp),
        )  # fmt: skip
        return "own" if made else "other"

    def is_numeric(self, node: ast.expr) -> bool:
        """Whether an expression is a number or an array that is made by it: no list, no view."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, float)
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, (ast.USub, ast.UAdd))
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, (ast.Sub, ast.Div, ast.Pow, ast.MatMult)):
                return True
            return self.is_numeric(node.left) or self.is_numeric(node.right)
        return isinstance(node, ast.Call) and self.origin(node) == "array"

    # -- scopes -----------------------------------------------------------------------------------

    def definition(self, node: Any) -> None:
        """Look at a function; its defaults are evaluated outside of it."""
        body = node.body if isinstance(node.body, list) else [node.body]
        scope: dict[str, list[str]] = {}
        self.scopes.append(scope)
        for a in ast.walk(node.args):
            if isinstance(a, ast.arg):
                scope[a.arg] = ["other"]
        bound = list(self.bindings(body))
        for name, _ in bound:
            scope.setdefault(name, [])
        for name, value in bound:
            scope[name].append("other" if value is None else self.origin(value))
        for child in body:
            self.visit(child)
        self.scopes.pop()

    def bindings(self, body: list[ast.stmt]) -> Iterator[tuple[str, Any]]:
        """Yield the names that statements bind, and the values if they are written there."""
        waiting: list[ast.AST] = list(body)
        while waiting:
            node = waiting.pop()
            if isinstance(node, (ast.FunctionDef, ast.Lambda, *_COMPREHENSIONS)):
                if isinstance(node, ast.FunctionDef):
                    yield node.name, None
                continue
            waiting.extend(ast.iter_child_nodes(node))
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    yield from _bound(target, node.value)
            elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
                yield from _bound(node.target, node.value)
            elif isinstance(node, ast.For):
                yield from _bound(node.target, None)

    # -- what stands in it ------------------------------------------------------------------------

    def visit(self, node: ast.AST) -> None:
        """Look at a statement or an expression."""
        method = _LOOKED_AT.get(type(node))
        if method is not None:
            method(self, node)
        elif isinstance(node, _HARMLESS):
            for child in ast.iter_child_nodes(node):
                self.visit(child)
        else:
            raise self.doubt(node, f"{type(node).__name__} is not followed")

    def name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and not self.is_local(node.id):
            value = self.outside(node.id)
            if value is _MISSING or isinstance(value, types.ModuleType):
                raise self.doubt(node, f"{node.id!r} is not known")
            self.proof.value(value, repr(node.id))

    def attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            raise self.doubt(node, "an attribute is written")
        value, rest = self.resolved(node)
        if value is not _MISSING and not rest:
            self.proof.value(value, repr(dotted(node)))
            return
        name = node.attr
        if name.startswith("__") or name in functions.REFUSED or name in functions.MUTATING:
            raise self.doubt(node, f"{name!r} is read")
        self.visit(node.value)

    def item(self, node: ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.written(node, node.value, ("array", "own"))
        owner: Any = node.value
        self.visit(owner.value if _is_at(node) else owner)
        self.visit(node.slice)

    def added(self, node: ast.AugAssign) -> None:
        target = node.target
        if isinstance(target, ast.Name):
            self.written(node, target, ("array", "own"))
        elif isinstance(target, ast.Subscript):
            self.written(node, target.value, ("array",))
        self.visit(target)
        self.visit(node.value)

    def written(self, node: ast.AST, owner: ast.expr, allowed: tuple[str, ...]) -> None:
        """See that what is written into was made here, and has no other name."""
        if not isinstance(owner, ast.Name) or not self.is_local(owner.id):
            raise self.doubt(node, "what is written into may be another's")
        if not set(self.origins(owner.id)) <= set(allowed):
            raise self.doubt(node, f"{owner.id!r}, which is written into, may be another's")

    def call(self, node: ast.Call) -> None:
        for keyword in node.keywords:
            self.visit(keyword.value)
            if keyword.arg is None or keyword.arg == "out" or keyword.arg.startswith("overwrite"):
                raise self.doubt(node, f"the argument {keyword.arg or '**'} is not followed")
            if keyword.arg == "copy":
                raise self.doubt(node, "what is not copied may be another's")
        for a in node.args:
            self.visit(a)
        is_open = any(isinstance(a, ast.Starred) for a in node.args)
        value, rest = self.resolved(node.func)
        if value is not _MISSING and not rest:
            self.proof.value(value, repr(dotted(node.func)))
            if type(value) is not types.FunctionType or is_library(value):
                place = functions.place_of_out(value)
                if place is not None and (is_open or len(node.args) > place):
                    raise self.doubt(node, "an array to write into is given")
        elif len(rest) == 1 and functions.is_pure_method(value, rest[0]):
            return
        elif isinstance(node.func, ast.Attribute):
            self.method(node, node.func, is_open)
        else:
            self.visit(node.func)

    def method(self, node: ast.Call, function: ast.Attribute, is_open: bool) -> None:
        """Look at the call of a method."""
        name = function.attr
        if name in functions.MUTATING and not name.startswith("__"):
            self.written(node, function.value, ("array", "own"))
            self.visit(function.value)
            return
        place = functions.PLACES_OF_OUT.get(name)
        if place is not None and (is_open or len(node.args) > place):
            raise self.doubt(node, "an array to write into is given")
        self.visit(function)

    def inner_function(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            raise self.doubt(node, "a decorator is not followed")
        for default in (*node.args.defaults, *[d for d in node.args.kw_defaults if d is not None]):
            self.visit(default)
        self.definition(node)

    def inner_lambda(self, node: ast.Lambda) -> None:
        for default in (*node.args.defaults, *[d for d in node.args.kw_defaults if d is not None]):
            self.visit(default)
        self.definition(node)

    def annotated(self, node: ast.AnnAssign) -> None:
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)

    def comprehension(self, node: Any) -> None:
        """Look at a comprehension: a scope of its own, but for where its first loop begins."""
        first = node.generators[0]
        self.visit(first.iter)
        scope: dict[str, list[str]] = {}
        for part in node.generators:
            if part.is_async:
                raise self.doubt(node, "an asynchronous loop is not followed")
            scope.update((name, ["other"]) for name, _ in _bound(part.target, None))
        self.scopes.append(scope)
        for child in ast.walk(node):
            if isinstance(child, ast.NamedExpr):
                raise self.doubt(node, "a name bound in a comprehension is not followed")
        for part in node.generators:
            for child in (part.target, *([] if part is first else [part.iter]), *part.ifs):
                self.visit(child)
        for child in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.visit(child)
        self.scopes.pop()

    def with_statement(self, node: ast.With) -> None:
        """Look at ``with np.errstate``: where a program meets an error, it gives way anyway."""
        for item in node.items:
            made = item.context_expr
            called = self.resolved(made.func)[0] if isinstance(made, ast.Call) else None
            if called is not np.errstate or item.optional_vars is not None:
                raise self.doubt(node, "a context manager is not followed")
            for keyword in made.keywords:  # type: ignore[attr-defined] # it is a call
                self.visit(keyword.value)
        for child in node.body:
            self.visit(child)

    def deleted(self, node: ast.Delete) -> None:
        if not all(isinstance(target, ast.Name) for target in node.targets):
            raise self.doubt(node, "what is deleted may be another's")

    def asserted(self, node: ast.Assert) -> None:
        self.visit(node.test)
        if node.msg is not None:
            self.is_raising = True
            self.visit(node.msg)
            self.is_raising = False

    def raised(self, node: ast.Raise) -> None:
        self.is_raising = True
        for child in ast.iter_child_nodes(node):
            self.visit(child)
        self.is_raising = False

    def text(self, node: ast.JoinedStr) -> None:
        if not self.is_raising:
            raise self.doubt(node, "the text of a value is not followed")
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)


def _is_at(node: ast.expr) -> bool:
    """Whether this is ``x.at[i]`` of JAX, which is set then; methods of ufuncs have no items."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "at"
    )


def _bound(target: ast.expr, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts: Any = [None] * len(target.elts)
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(parts):
            parts = value.elts
        for t, v in zip(target.elts, parts, strict=True):
            yield from _bound(t, v)
    elif isinstance(target, ast.Starred):
        yield from _bound(target.value, None)


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOKED_AT: dict[type, Any] = {
    ast.Name: _Body.name,
    ast.Attribute: _Body.attribute,
    ast.Subscript: _Body.item,
    ast.AugAssign: _Body.added,
    ast.Call: _Body.call,
    ast.FunctionDef: _Body.inner_function,
    ast.Lambda: _Body.inner_lambda,
    ast.AnnAssign: _Body.annotated,
    ast.Raise: _Body.raised,
    ast.Assert: _Body.asserted,
    ast.With: _Body.with_statement,
    ast.Delete: _Body.deleted,
    ast.JoinedStr: _Body.text,
    **dict.fromkeys(_COMPREHENSIONS, _Body.comprehension),
}
_HARMLESS = (
    ast.Assign, ast.Return, ast.If, ast.For, ast.While, ast.Expr, ast.Pass, ast.Break,
    ast.Continue, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare,
    ast.IfExp, ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Slice, ast.Starred,
    ast.NamedExpr, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
    ast.expr_context,
)  # fmt: skip
