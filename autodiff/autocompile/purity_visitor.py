"""The visitor that checks the code of a function, statement by statement, for a purity proof."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import math
import operator
import types
from typing import Any

import numpy as np

from autodiff.autocompile import pure_functions, user_classes
from autodiff.autocompile.control_flow import ControlFlow
from autodiff.autocompile.outer_names import (
    COMPREHENSIONS,
    MISSING,
    bindings,
    defined_in,
    parameters_of,
)
from autodiff.compiler.recording.function_effects import SEEDED
from autodiff.intercept.source.library_code import is_library
from autodiff.intercept.source.name_bindings import dotted
from chainrules_core.tangents.fields import in_class

_SINGLETONS = (bool, type(None))
_DECORATORS = (functools.cache, functools.lru_cache, functools.wraps)
_CALLING_FIRST = (filter, functools.reduce, map)
"""Functions that call their first argument, and no other."""
_PLACES = pure_functions.PLACES_OF_OUT


class PurityVisitor(ControlFlow):
    """Checks the code of one function."""

    # -- scopes -----------------------------------------------------------------------------------

    def definition(self, node: Any) -> None:
        """Check a function, except for its defaults, which belong to the enclosing scope."""
        body = node.body if isinstance(node.body, list) else [node.body]
        if not self.scopes:
            self.defined = defined_in(node)
            self.proof.classes.mentioned |= user_classes.names_in(node)
            first = user_classes.first_parameter(node) if self.kind is not None else None
            self.own, self.own_class = (None, first) if self.is_of_class else (first, None)
            if self.is_of_class:
                self._begin_of_class(node)
            self.is_raising = self.kind is not None and issubclass(self.kind, BaseException)
        self.scopes.append(parameters_of(node).union(bindings(body)))
        self._statements(body)
        self.scopes.pop()

    def _begin_of_class(self, node: Any) -> None:
        """Check that a method of a class only calls its class and reads attributes of it."""
        self.proof.classes.made_by.add(self.kind)
        owners = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
        for n in ast.walk(node):
            if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load):
                owners.append(n.value)
                if isinstance(n.value, ast.Name) and n.value.id == self.own_class:
                    self.proof.classes.by_class.add(n.attr)
        for n in ast.walk(node):
            if isinstance(n, ast.Name) and n.id == self.own_class and n not in owners:
                raise self._doubt(n, "a class goes by another name")
        if self.own_class is None:
            raise self._doubt(node, "a class goes by another name")

    # -- statements and expressions ---------------------------------------------------------------

    def visit(self, node: ast.AST) -> None:
        """Check a statement or an expression."""
        method = _CHECKS.get(type(node))
        if method is not None:
            method(self, node)
        elif isinstance(node, _HARMLESS):
            for child in ast.iter_child_nodes(node):
                self.visit(child)
        else:
            raise self._doubt(node, f"{type(node).__name__} is not followed")

    def _name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and not self._is_local(node.id):
            value = self._outside(node.id)
            if value is MISSING or isinstance(value, types.ModuleType):
                raise self._doubt(node, f"{node.id!r} is not known")
            self.proof.value(value, repr(node.id))

    def _attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._bind_attribute(node)
            return
        value, rest = self._resolved(node)
        if value is not MISSING and not rest:
            self.proof.value(value, repr(dotted(node)))
            return
        if user_classes.member_of(value, rest) is not None:
            return
        if len(rest) == 1 and user_classes.is_plain_class(value) and not rest[0].startswith("__"):
            self._read_of_class(value, rest[0])
            return
        place = _PLACES.get(node.attr)
        if place is not None:  # it may be a method of an array, and be called by another name
            self.proof.note_output(place)
        self._check_read(node)

    def _read_of_class(self, kind: type, name: str) -> None:
        """Note that code reads an attribute of a class itself: a constant, say."""
        self.proof.classes.enter(kind, is_called=type(in_class(kind, name)) is classmethod)
        self.proof.classes.by_class.add(name)

    def _bind_attribute(self, node: ast.Attribute) -> None:
        """Check an attribute assignment: not of a module, nor perhaps the shape of an array."""
        self.proof.classes.written.add(node.attr)
        owner = node.value
        if (
            not isinstance(owner, ast.Name)
            or isinstance(node.ctx, ast.Del)
            or not self._is_local(owner.id)
            or node.attr.startswith("__")
        ):
            raise self._doubt(node, "an attribute is written")
        if owner.id != self.own and hasattr(np.ndarray, node.attr):
            raise self._doubt(node, f"{node.attr!r} is written, perhaps of an array")

    def _check_read(self, node: ast.Attribute) -> None:
        """Check that an attribute may be read, and check its owner."""
        if node.attr.startswith("__"):
            is_refused = node.attr != "__init__" or not self._is_super(node.value)
        else:
            is_refused = node.attr in pure_functions.REFUSED and not self._is_object(node.value)
        if is_refused:
            raise self._doubt(node, f"{node.attr!r} is read")
        self.visit(node.value)

    def _is_object(self, owner: ast.expr) -> bool:
        """Whether this names ``self``, or an outer object of a user-defined class."""
        if isinstance(owner, ast.Name) and self._is_local(owner.id):
            return owner.id == self.own
        value, rest = self._resolved(owner)
        return not rest and user_classes.is_plain_class(type(value))

    def _subscript(self, node: ast.Subscript) -> None:
        owner: Any = node.value
        self.visit(owner.value if _is_at(node) else owner)
        self.visit(node.slice)

    def _call(self, node: ast.Call) -> None:
        value, rest = self._resolved(node.func)
        is_users = not rest and (
            (type(value) is types.FunctionType and not is_library(value))
            or user_classes.is_plain_class(value)
            or pure_functions.function_behind(value) is not None
        )
        takes_order = not is_users and _may_take_order(node, value, rest)
        self._arguments(node, value, is_users, takes_order)
        is_open = any(isinstance(a, ast.Starred) for a in node.args)
        given = math.inf if is_open else len(node.args)
        if self._is_super(node) or (not rest and self._is_made_here(node, value)):
            return
        if value is isinstance:
            self._check_classes(node.args[1:])
        self.proof.classes.asks |= any(value is asking for asking in (type, str, hasattr))
        if value is not MISSING and not rest:
            is_shown = bool(node.args) and self._is_defined_here(node.args[0])
            passes_on = not is_shown or not any(value is g for g in _CALLING_FIRST)
            self.proof.called(value, repr(dotted(node.func)), given, passes_on)
            if not is_users and not user_classes.is_plain_class(type(value)):
                place = pure_functions.place_of_out(value)
                if place is not None and (is_open or len(node.args) > place):
                    raise self._doubt(node, "an array to write into is given")
        elif len(rest) == 1 and pure_functions.is_pure_method(value, rest[0]):
            return
        elif isinstance(node.func, ast.Attribute):
            self.proof.classes.note_call(node.func.attr, given)
            self._method(node, node.func, is_open)
        else:
            if not self._is_defined_here(node.func):
                self.proof.most_given = max(self.proof.most_given, given)
            self.visit(node.func)

    def _is_defined_here(self, node: ast.expr) -> bool:
        """Whether this can only be a function that the code defines."""
        if isinstance(node, ast.Name):
            return node.id in self.defined and self._is_local(node.id)
        return isinstance(node, ast.Lambda)

    def _is_made_here(self, node: ast.Call, value: Any) -> bool:
        """Whether a call makes an object of a class that takes its arguments in its own way."""
        classes = self.proof.classes
        if any(value is made for made in SEEDED):
            if not node.args:
                raise self._doubt(node, "random numbers without a seed are not followed")
        elif self._is_own_class(node.func):
            classes.made_by.add(self.kind)
        elif value is dataclasses.replace:
            classes.made_by.add(object)  # it calls the class of what it is given, whichever that is
        elif value is contextlib.suppress:
            self._check_classes(node.args)
        elif value is operator.attrgetter or value is operator.methodcaller:
            texts = node.args[: 1 if value is operator.methodcaller else None]
            for text in texts:
                self._check_text(text)
        else:
            return False
        return True

    def _check_text(self, node: ast.expr) -> None:
        """Check a text that names attributes to read."""
        text = node.value if isinstance(node, ast.Constant) else None
        names = text.split(".") if isinstance(text, str) else [""]
        refused = pure_functions.REFUSED | _PLACES.keys()
        if any(n.startswith("__") or n in refused or not n for n in names):
            raise self._doubt(node, "which attribute is read is not followed")
        self.proof.classes.mentioned.update(names)

    def _arguments(self, node: ast.Call, value: Any, takes_any: bool, takes_order: bool) -> None:
        """Check the arguments of a call.

        `takes_any` says that they may have any names (a function of the user's), and `takes_order`
        that they may ask how an array lies in memory.
        """
        for keyword in node.keywords:
            self.visit(keyword.value)
            if keyword.arg is None and takes_any:
                continue
            if keyword.arg is None or pure_functions.is_written_into(keyword.arg):
                raise self._doubt(node, f"the argument {keyword.arg or '**'} is not followed")
            if keyword.arg == "order" and getattr(keyword.value, "value", None) not in ("C", "F"):
                raise self._doubt(node, "how an array lies in memory is not followed")
        n_values = 1 if value is isinstance else 0 if value is contextlib.suppress else None
        for a in node.args[:n_values]:
            self.visit(a)
            if takes_order and isinstance(a, ast.Constant) and a.value in ("A", "K", "a", "k"):
                raise self._doubt(node, "how an array lies in memory is not followed")

    def _is_own_class(self, node: ast.expr) -> bool:
        """Whether this is ``type(self)`` or ``self.__class__``."""
        if isinstance(node, ast.Attribute) and node.attr == "__class__":
            owner: Any = node.value
        elif isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
            if self._resolved(node.func)[0] is not type:
                return False
            owner = node.args[0]
        else:
            return False
        return isinstance(owner, ast.Name) and self.own is not None and owner.id == self.own

    def _method(self, node: ast.Call, function: ast.Attribute, is_open: bool) -> None:
        """Check a method call."""
        name = function.attr
        value, rest = self._resolved(function)
        if len(rest) == 1 and user_classes.is_plain_class(value):
            self.visit(function)
            return
        place = _PLACES.get(name)
        if place is not None and (is_open or len(node.args) > place):
            raise self._doubt(node, "an array to write into is given")
        self._check_read(function)

    def _check_classes(self, nodes: list[ast.expr]) -> None:
        """Check classes that are compared with those of values: by `isinstance`, say."""
        for node in nodes:
            parts = node.elts if isinstance(node, ast.Tuple) else [node]
            for part in parts:
                value, rest = self._resolved(part)
                if rest or not user_classes.is_plain_class(value):
                    self.visit(part)
                elif type(value) is not type:
                    raise self._doubt(part, "other classes may be registered with an abstract one")

    def _compare(self, node: ast.Compare) -> None:
        """Check a comparison; identity may be tested with constants only."""
        sides = [node.left, *node.comparators]
        for a, how, b in zip(sides, node.ops, node.comparators, strict=False):
            if isinstance(how, (ast.Is, ast.IsNot)) and not any(map(self._is_singleton, (a, b))):
                raise self._doubt(node, "whether two objects are one is not followed")
        for side in sides:
            self.visit(side)

    def _is_singleton(self, node: ast.expr) -> bool:
        """Whether nothing else can be this object: None, a sentinel, a member of an enumeration."""
        if isinstance(node, ast.Constant):
            return node.value is ... or type(node.value) in _SINGLETONS
        value, rest = self._resolved(node)
        if value is MISSING:
            return False
        is_sentinel = not rest and type(value) is object
        return is_sentinel or user_classes.member_of(value, rest) is not None

    def _function(self, node: ast.FunctionDef) -> None:
        for decorator in node.decorator_list:
            made_by = decorator.func if isinstance(decorator, ast.Call) else decorator
            value = self._resolved(made_by)[0]
            if not any(value is known for known in _DECORATORS):
                self.visit(decorator)
                self.proof.most_given = max(self.proof.most_given, 1)
            elif isinstance(decorator, ast.Call):
                for a in (*decorator.args, *[keyword.value for keyword in decorator.keywords]):
                    self.visit(a)
        self._lambda(node)

    def _lambda(self, node: ast.Lambda | ast.FunctionDef) -> None:
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(default)
        self.definition(node)

    def _comprehension(self, node: Any) -> None:
        """Check a comprehension: a scope of its own, except for its first iterable."""
        first = node.generators[0]
        self.visit(first.iter)
        if any(part.is_async for part in node.generators):
            raise self._doubt(node, "an asynchronous loop is not followed")
        self.scopes.append(set(bindings([part.target for part in node.generators])))
        for child in ast.walk(node):
            if isinstance(child, ast.NamedExpr):
                raise self._doubt(node, "a name bound in a comprehension is not followed")
        for part in node.generators:
            for child in (part.target, *([] if part is first else [part.iter]), *part.ifs):
                self.visit(child)
        for child in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.visit(child)
        self.scopes.pop()

    def _assert(self, node: ast.Assert) -> None:
        self.visit(node.test)
        self._message([] if node.msg is None else [node.msg])

    def _raise(self, node: ast.Raise) -> None:
        value, rest = (MISSING, []) if node.exc is None else self._resolved(node.exc)
        is_class = not rest and user_classes.is_plain_class(value)
        if is_class:
            self.proof.called(value, repr(value.__name__), 0)
        parts = (node.cause,) if is_class else (node.exc, node.cause)
        self._message([part for part in parts if part is not None])

    def _f_string(self, node: ast.JoinedStr) -> None:
        self.proof.classes.asks |= not self.is_raising
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)
                if part.format_spec is not None:
                    self.visit(part.format_spec)


def _is_at(node: ast.expr) -> bool:
    """Whether this is ``x.at[i]`` of JAX; a ufunc's method ``at`` cannot be indexed."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "at"
    )


def _may_take_order(node: ast.Call, value: Any, rest: list[str]) -> bool:
    """Whether a call may be one of NumPy's that asks how an array lies in memory."""
    if value is not MISSING and not rest:
        return getattr(value, "__module__", "") != "builtins"
    return not isinstance(node.func, ast.Attribute) or hasattr(np.ndarray, node.func.attr)


_CHECKS: dict[type, Any] = {
    ast.Name: PurityVisitor._name,
    ast.Attribute: PurityVisitor._attribute,
    ast.Subscript: PurityVisitor._subscript,
    ast.Call: PurityVisitor._call,
    ast.Compare: PurityVisitor._compare,
    ast.FunctionDef: PurityVisitor._function,
    ast.Lambda: PurityVisitor._lambda,
    ast.AnnAssign: PurityVisitor._annotated_assign,
    ast.Import: PurityVisitor._import,
    ast.ImportFrom: PurityVisitor._import_from,
    ast.Raise: PurityVisitor._raise,
    ast.Assert: PurityVisitor._assert,
    ast.With: PurityVisitor._with,
    ast.Delete: PurityVisitor._delete,
    ast.Try: PurityVisitor._try,
    ast.Match: PurityVisitor._match,
    ast.Nonlocal: PurityVisitor._nonlocal,
    ast.JoinedStr: PurityVisitor._f_string,
    **dict.fromkeys(COMPREHENSIONS, PurityVisitor._comprehension),
}
_HARMLESS = (
    ast.Assign, ast.AugAssign, ast.NamedExpr, ast.If, ast.For, ast.While,
    ast.Return, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.BinOp, ast.UnaryOp, ast.BoolOp,
    ast.IfExp, ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Slice,
    ast.Starred, ast.Yield, ast.YieldFrom, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
    ast.expr_context,
)  # fmt: skip
