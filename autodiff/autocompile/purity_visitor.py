"""The visitor that checks the code of a function, statement by statement, for a purity proof."""

from __future__ import annotations

import ast
import math
import sys
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from autodiff.autocompile import pure_functions, user_classes
from autodiff.autocompile.escape_analysis import (
    ARRAY,
    COMPREHENSIONS,
    MISSING,
    OBJECT,
    OTHER,
    OWN,
    ScopeOrigins,
    bindings,
    bound_by,
    is_alone,
    is_at,
)
from autodiff.autocompile.name_origins import NameOrigins
from autodiff.compiler.recording.executed_code import places_of
from autodiff.intercept.source.library_code import is_library, is_of_library
from autodiff.intercept.source.name_bindings import dotted
from chainrules_core.tangents.fields import in_class

_SINGLETONS = (bool, type(None))


class PurityVisitor(NameOrigins):
    """Checks the code of one function, and tracks the origins of its local values."""

    # -- scopes -----------------------------------------------------------------------------------

    def definition(self, node: Any) -> None:
        """Check a function, except for its defaults, which belong to the enclosing scope."""
        body = node.body if isinstance(node.body, list) else [node.body]
        is_first = self.is_first and not self.scopes
        if not self.scopes:
            self.node = node
            self.proof.classes.mentioned |= user_classes.names_in(node)
            self.own = user_classes.first_parameter(node) if self.kind is not None else None
        names = ScopeOrigins()
        arguments = {
            a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        }
        variadic = {a.arg for a in (node.args.vararg, node.args.kwarg) if a is not None}
        for name in arguments | variadic:
            names.add(name, OTHER)
        bound = list(bindings(body))
        for name, _ in bound:
            names.all.setdefault(name, set())
        self.scopes.append(names)
        names.now = {name: {OTHER} for name in names.all}
        for name, value in bound:
            names.add(name, self._origin(value))
        names.begin(
            {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)} - variadic, is_first
        )
        self._statements(body)
        self.scopes.pop()

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
            if isinstance(target, ast.Attribute):
                self._bind_attribute(target, self._origin(node.value))
            else:
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

    def _forget_bindings(self, node: ast.For | ast.While) -> None:
        """Let the names that a loop binds come from any of their bindings."""
        names = self.scopes[-1]
        for name, _ in bindings([node]):
            names.now[name] = set(names.all[name])

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
            self._bind_attribute(node, OTHER)
            return
        value, rest = self._resolved(node)
        if value is not MISSING and not rest:
            self.proof.value(value, repr(dotted(node)))
            return
        if node.attr in pure_functions.MUTATING or node.attr in pure_functions.PLACES_OF_OUT:
            raise self._doubt(node, f"{node.attr!r} is read")  # and may be called by another name
        self._check_read(node)

    def _bind_attribute(self, node: ast.Attribute, origin: str) -> None:
        """Check an attribute assignment: only to ``self``, or to an object created here."""
        owner = node.value
        if not isinstance(owner, ast.Name) or isinstance(node.ctx, ast.Del):
            raise self._doubt(node, "an attribute is written")
        if owner.id == self.own:
            self.proof.classes.writing.add(self.kind)
        elif not self._is_local(owner.id):
            raise self._doubt(node, "an attribute is written")
        elif self._origins(owner.id) != {OBJECT}:
            self.proof.note_write(self._doubt(node, "an attribute is written"))
            if hasattr(np.ndarray, node.attr):
                raise self._doubt(node, f"{node.attr!r} is written, perhaps of an array")
        if node.attr.startswith("__"):
            raise self._doubt(node, f"{node.attr!r} is written")
        self.proof.classes.origins.setdefault(node.attr, set()).add(origin)

    def _check_read(self, node: ast.Attribute) -> None:
        """Check that an attribute may be read, and check its owner."""
        if node.attr.startswith("__"):
            is_refused = node.attr != "__init__" or not self._is_super(node.value)
        else:
            is_refused = node.attr in pure_functions.REFUSED and not self._is_object(node.value)
        if is_refused:
            raise self._doubt(node, f"{node.attr!r} is read")
        self.visit(node.value)

    def _subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._check_write(node, node.value, {ARRAY, OWN})
        owner: Any = node.value
        self.visit(owner.value if is_at(node) else owner)
        self.visit(node.slice)

    def _augmented_assign(self, node: ast.AugAssign) -> None:
        target = node.target
        if isinstance(target, ast.Name):
            self._augmented_name(node, target.id)
        elif isinstance(target, ast.Attribute):
            self._check_write(node, target, {ARRAY, OWN})
            self._bind_attribute(target, ARRAY)
            self.visit(node.value)
            return
        elif isinstance(target, ast.Subscript):
            if not self._is_item_of_own(target):
                self._check_write(node, target.value, {ARRAY})
            elif not self._origins(target.value.id) <= {ARRAY}:  # type: ignore[attr-defined]
                self._require_number(node, target.value.id, ast.unparse(target))  # type: ignore[attr-defined]
            if isinstance(node.op, ast.BitOr):  # the element may be a dict
                doubt = self._doubt(node, "what is written into may be another's")
                self.proof.note_write(doubt)
        self.visit(target)
        self.visit(node.value)

    def _augmented_name(self, node: ast.AugAssign, name: str) -> None:
        """Check that a variable was created here; else require that it is a number."""
        if not (self._is_local(name) and self._origins(name) <= {ARRAY, OWN}):
            self._require_number(node, name, name)

    def _require_number(self, node: ast.AugAssign, name: str, text: str) -> None:
        """Require that a variable, or an item of it that `text` names, is a number here."""
        place = self.g.__code__.co_filename, node.lineno
        is_seen = name in self.scopes[-1].all and place in places_of([self.g])
        known = self.proof.numbers.setdefault(place, text)  # or from another file of this name
        if not is_seen or not is_alone(node, self.node) or known != text:
            doubt = self._doubt(node, f"{text!r}, which is written into, may be another's")
            self.proof.note_write(doubt)

    def _is_item_of_own(self, target: ast.Subscript) -> bool:
        """Whether this is an item, by a key without operations, of a variable created here."""
        owner, key = target.value, target.slice
        parts = key.elts if isinstance(key, ast.Tuple) else [key]
        return (
            isinstance(owner, ast.Name)
            and self._is_local(owner.id)
            and self._origins(owner.id) <= {ARRAY, OWN}
            and all(isinstance(part, (ast.Name, ast.Constant)) for part in parts)
        )

    def _check_write(self, node: ast.AST, owner: ast.expr, allowed: set[str]) -> None:
        """Note a write into a container or array that may not have been created here."""
        if isinstance(owner, ast.Attribute) and self._is_own_object(owner.value):
            doubt = self._doubt(node, f"{owner.attr!r}, which is written into, may be another's")
            self.proof.classes.written.append((owner.attr, allowed, doubt))
            return
        if not isinstance(owner, ast.Name) or not self._is_local(owner.id):
            self.proof.note_write(self._doubt(node, "what is written into may be another's"))
        elif not self._origins(owner.id) <= allowed:
            doubt = self._doubt(node, f"{owner.id!r}, which is written into, may be another's")
            self.proof.note_write(doubt)

    def _is_own_object(self, owner: ast.expr) -> bool:
        """Whether this names ``self``, or an object created here."""
        if not isinstance(owner, ast.Name):
            return False
        if owner.id == self.own:
            self.proof.classes.writing.add(self.kind)  # then no object of it may be an outer one
            return True
        return self._is_local(owner.id) and self._origins(owner.id) == {OBJECT}

    def _call(self, node: ast.Call) -> None:
        for keyword in node.keywords:
            self.visit(keyword.value)
            if keyword.arg is None or pure_functions.is_written_into(keyword.arg):
                raise self._doubt(node, f"the argument {keyword.arg or '**'} is not followed")
            if keyword.arg == "order" and getattr(keyword.value, "value", None) not in ("C", "F"):
                raise self._doubt(node, "how an array lies in memory is not followed")
        value, rest = self._resolved(node.func)
        for a in node.args[: 1 if value is isinstance else None]:
            self.visit(a)
            if isinstance(a, ast.Constant) and a.value in ("A", "K", "a", "k"):
                raise self._doubt(node, "how an array lies in memory is not followed")
        is_open = any(isinstance(a, ast.Starred) for a in node.args)
        given = math.inf if is_open else len(node.args)
        if self._is_super(node):
            return
        if value is isinstance:
            self._check_classes(node.args[1:])
        self.proof.classes.asks |= any(value is asking for asking in (type, str, hasattr))
        if value is not MISSING and not rest:
            self.proof.called(value, repr(dotted(node.func)), given)
            is_users = type(value) is types.FunctionType and not is_library(value)
            if not is_users and not user_classes.is_plain_class(type(value)):
                place = pure_functions.place_of_out(value)
                if place is not None and (is_open or len(node.args) > place):
                    raise self._doubt(node, "an array to write into is given")
        elif len(rest) == 1 and pure_functions.is_pure_method(value, rest[0]):
            return
        elif isinstance(node.func, ast.Attribute):
            self.proof.classes.called.add(node.func.attr)
            self.proof.classes.most_given = max(self.proof.classes.most_given, given)
            self._method(node, node.func, is_open)
        else:
            self.proof.most_given = max(self.proof.most_given, given)
            self.visit(node.func)

    def _method(self, node: ast.Call, function: ast.Attribute, is_open: bool) -> None:
        """Check a method call."""
        name = function.attr
        if self._is_method_of_object(function):
            self._check_read(function)
            return
        if name in pure_functions.MUTATING and not name.startswith("__"):
            self._check_write(node, function.value, {ARRAY, OWN})
            self.visit(function.value)
            return
        place = pure_functions.PLACES_OF_OUT.get(name)
        if place is not None and (is_open or len(node.args) > place):
            raise self._doubt(node, "an array to write into is given")
        self._check_read(function)

    def _check_classes(self, nodes: list[ast.expr]) -> None:
        """Check the class argument of `isinstance`, the one place for user classes as values."""
        for node in nodes:
            parts = node.elts if isinstance(node, ast.Tuple) else [node]
            for part in parts:
                value, rest = self._resolved(part)
                if rest or not user_classes.is_plain_class(value):
                    self.visit(part)

    def _is_method_of_object(self, function: ast.Attribute) -> bool:
        """Whether this is a method of ``self``, or of an object created here."""
        owner = function.value
        if not isinstance(owner, ast.Name):
            return self._is_super(owner) or self._origin(owner) == OBJECT
        if owner.id == self.own:
            return type(in_class(self.kind, function.attr)) is types.FunctionType  # type: ignore[arg-type] # it has one
        return self._is_local(owner.id) and self._origins(owner.id) == {OBJECT}

    def _compare(self, node: ast.Compare) -> None:
        """Check a comparison; identity may be tested with constants only."""
        sides = [node.left, *node.comparators]
        for a, how, b in zip(sides, node.ops, node.comparators, strict=False):
            if isinstance(how, (ast.Is, ast.IsNot)) and not (_is_singleton(a) or _is_singleton(b)):
                raise self._doubt(node, "whether two objects are one is not followed")
        for side in sides:
            self.visit(side)

    def _function(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            raise self._doubt(node, "a decorator is not followed")
        self._lambda(node)
        self.scopes[-1].now[node.name] = {OTHER}

    def _lambda(self, node: ast.Lambda | ast.FunctionDef) -> None:
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(default)
        self.definition(node)

    def _comprehension(self, node: Any) -> None:
        """Check a comprehension: a scope of its own, except for its first iterable."""
        first = node.generators[0]
        self.visit(first.iter)
        names = ScopeOrigins()
        for part in node.generators:
            if part.is_async:
                raise self._doubt(node, "an asynchronous loop is not followed")
            for name, _ in bound_by(part.target, None):
                names.add(name, OTHER)
        names.now = names.all
        self.scopes.append(names)
        for child in ast.walk(node):
            if isinstance(child, ast.NamedExpr):
                raise self._doubt(node, "a name bound in a comprehension is not followed")
        for part in node.generators:
            for child in (part.target, *([] if part is first else [part.iter]), *part.ifs):
                self.visit(child)
        for child in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.visit(child)
        self.scopes.pop()

    def _with(self, node: ast.With) -> None:
        """Check ``with np.errstate``, which is safe: a program gives up at any warning anyway."""
        for item in node.items:
            call = item.context_expr
            called = self._resolved(call.func)[0] if isinstance(call, ast.Call) else None
            if called is not np.errstate or item.optional_vars is not None:
                raise self._doubt(node, "a context manager is not followed")
            for keyword in call.keywords:  # type: ignore[attr-defined] # it is a call
                self.visit(keyword.value)
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

    def _assert(self, node: ast.Assert) -> None:
        self.visit(node.test)
        self._message([] if node.msg is None else [node.msg])

    def _raise(self, node: ast.Raise) -> None:
        self._message(ast.iter_child_nodes(node))

    def _message(self, nodes: Iterable[ast.AST]) -> None:
        """Check expressions of an error message, which may format values."""
        self.is_raising = True
        for node in nodes:
            self.visit(node)
        self.is_raising = False

    def _f_string(self, node: ast.JoinedStr) -> None:
        if not self.is_raising:
            raise self._doubt(node, "the text of a value is not followed")
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)
                if part.format_spec is not None:
                    self.visit(part.format_spec)


def _is_singleton(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is ... or type(node.value) in _SINGLETONS)


_CHECKS: dict[type, Any] = {
    ast.Name: PurityVisitor._name,
    ast.Attribute: PurityVisitor._attribute,
    ast.Subscript: PurityVisitor._subscript,
    ast.AugAssign: PurityVisitor._augmented_assign,
    ast.Call: PurityVisitor._call,
    ast.Compare: PurityVisitor._compare,
    ast.FunctionDef: PurityVisitor._function,
    ast.Lambda: PurityVisitor._lambda,
    ast.Assign: PurityVisitor._assign,
    ast.AnnAssign: PurityVisitor._annotated_assign,
    ast.NamedExpr: PurityVisitor._named_expression,
    ast.If: PurityVisitor._if,
    ast.For: PurityVisitor._loop,
    ast.While: PurityVisitor._loop,
    ast.Import: PurityVisitor._import,
    ast.ImportFrom: PurityVisitor._import_from,
    ast.Raise: PurityVisitor._raise,
    ast.Assert: PurityVisitor._assert,
    ast.With: PurityVisitor._with,
    ast.Delete: PurityVisitor._delete,
    ast.JoinedStr: PurityVisitor._f_string,
    **dict.fromkeys(COMPREHENSIONS, PurityVisitor._comprehension),
}
_HARMLESS = (
    ast.Return, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.BinOp, ast.UnaryOp, ast.BoolOp,
    ast.IfExp, ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Slice,
    ast.Starred, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context,
)  # fmt: skip
