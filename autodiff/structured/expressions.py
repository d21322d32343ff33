"""Reading expressions: each operation in them becomes one of the structured form."""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.building import Builder
from autodiff.structured.indices import has_arrays, kind_of_index
from autodiff.structured.ir import Op, Value, known
from autodiff.structured.kinds import (
    UNKNOWN,
    Kind,
    UnsupportedError,
    kind_of,
    samples,
)
from autodiff.structured.known_functions import (
    PURE,
    is_pure,
)
from chainrules_core import rrule

BINARY: dict[type, Callable] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
}
_UNARY: dict[type, Callable] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_COMPARISONS: dict[type, Callable] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FORMS = frozenset({"shape", "size", "ndim", "dtype"})


class Expressions(Builder):
    """Reads expressions."""

    def inline(self, function: types.FunctionType, args: list[Any], names: dict[str, Any]) -> Any:
        """Read a function in the place of its call."""
        raise NotImplementedError

    # -- expressions -------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> Any:
        """Read an expression: a value, or a tuple of such."""
        method = getattr(self, f"on_{type(node).__name__.lower()}", None)
        if method is None:
            raise UnsupportedError(f"{type(node).__name__} in an expression")
        return method(node)

    def value(self, node: ast.expr) -> Value:
        """Read an expression; a tuple becomes one value."""
        made = self.expression(node)
        return self.tuple_of(made) if type(made) is tuple else made

    def on_constant(self, node: ast.Constant) -> Value:
        """Read a literal."""
        return self.const(node.value)

    def on_name(self, node: ast.Name) -> Any:
        """Read a name."""
        return self.read(node.id)

    def on_tuple(self, node: ast.Tuple) -> tuple:
        """Read a tuple."""
        if any(isinstance(e, ast.Starred) for e in node.elts):
            raise UnsupportedError("* in a tuple")
        return tuple([self.expression(e) for e in node.elts])

    def on_binop(self, node: ast.BinOp) -> Value:
        """Read an operator between two operands."""
        f = BINARY.get(type(node.op))
        if f is None:
            raise UnsupportedError(f"operator {type(node.op).__name__}")
        return self._binary(f, self.expression(node.left), self.expression(node.right))

    def _binary(self, f: Callable, a: Any, b: Any) -> Value:
        for v in (a, b):
            if type(v) is tuple or not (v.kind.is_scalar or v.kind.is_array):
                raise UnsupportedError("an operator on what is no number or array")
        return self.call(f, [a, b])

    def on_unaryop(self, node: ast.UnaryOp) -> Value:
        """Read an operator before its operand."""
        f = _UNARY.get(type(node.op))
        x = self.value(node.operand)
        if f is None or (f is operator.not_ and not x.kind.is_scalar):
            raise UnsupportedError(f"operator {type(node.op).__name__}")
        return self.call(f, [x])

    def on_compare(self, node: ast.Compare) -> Value:
        """Read a comparison."""
        if len(node.ops) != 1:
            raise UnsupportedError("a chain of comparisons")
        a, b = self.value(node.left), self.value(node.comparators[0])
        f = _COMPARISONS.get(type(node.ops[0]))
        if f is None:
            if all(map(_is_told, (a, b))) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
                same = known(a) is None and known(b) is None
                if (known(a) is None) or (known(b) is None):
                    return self.const(same is isinstance(node.ops[0], ast.Is))
            raise UnsupportedError(f"comparison {type(node.ops[0]).__name__}")
        return self._binary(f, a, b)

    def on_attribute(self, node: ast.Attribute) -> Any:
        """Read an attribute of an array or a module."""
        owner = self.value(node.value)
        if owner.kind.is_known:
            return self.const(self.attribute_of(owner, node.attr))
        if not owner.kind.is_array:
            raise UnsupportedError(f"attribute {node.attr}")
        if node.attr == "T":
            return self.view(Op("view", [owner], data="T"), owner.kind)
        if node.attr == "ndim":
            return self.const(owner.kind.ndim)
        if node.attr == "dtype":
            return self.const(owner.kind.dtype)
        if node.attr not in _FORMS:
            raise UnsupportedError(f"attribute {node.attr}")
        kind = kind_of(getattr(samples(owner.kind)[0], node.attr))
        return self.made(Op("form", [owner], data=node.attr), kind)

    def on_subscript(self, node: ast.Subscript) -> Any:
        """Read an index."""
        base = self.expression(node.value)
        if type(base) is tuple or base.kind.parts or base.kind.classes == {tuple}:
            return self._part(base, self.value(node.slice))
        return self.indexed(base, *self._index(node.slice))

    def _part(self, base: Any, at: Value) -> Any:
        i = known(at)
        if type(i) is not int:
            raise UnsupportedError("an index of a tuple")
        parts = base if type(base) is tuple else base.kind.parts
        if not -len(parts) <= i < len(parts):
            raise UnsupportedError("an index of a tuple")
        if type(base) is tuple:
            return base[i]
        if parts[i].is_known:
            return self.const(parts[i].value)
        return self.made(Op("part", [base], data=i), parts[i])

    def _index(self, node: ast.expr) -> tuple[list[Value], Any]:
        """Return the values in an index and its template."""
        values: list[Value] = []

        def one(part: ast.expr) -> Any:
            if isinstance(part, ast.Slice):
                return ("slice", *[bound(b) for b in (part.lower, part.upper, part.step)])
            if isinstance(part, ast.Starred):
                raise UnsupportedError("* in an index")
            value = self.value(part)
            if known(value) is None or known(value) is Ellipsis:
                return ("known", known(value))
            kind = value.kind
            if kind.is_array and kind.letter in "iub":
                values.append(value)
                return ("array", len(values) - 1)
            if not kind.is_integral or not kind.classes.isdisjoint({bool, np.bool_}):
                raise UnsupportedError("an index that is no integer, slice or array")
            values.append(value)
            return ("value", len(values) - 1)

        def bound(part: ast.expr | None) -> Any:
            if part is None:
                return None
            value = self.value(part)
            if known(value) is None:
                return None
            if not value.kind.is_integral:
                raise UnsupportedError("a bound of a slice that is no integer")
            values.append(value)
            return len(values) - 1

        parts = node.elts if isinstance(node, ast.Tuple) else None
        template = tuple(map(one, parts)) if parts is not None else one(node)
        return values, template

    def indexed(self, base: Value, values: list[Value], template: Any) -> Value:
        """Read an array at an index."""
        if not base.kind.is_array:
            raise UnsupportedError("an index of what is no array")
        kind = kind_of_index(base.kind, [v.kind for v in values], template)
        if kind.is_array and not has_arrays(template):
            return self.view(Op("view", [base, *values], data=template), kind)
        base.memory.root().is_indexed = True  # type: ignore[union-attr] # an array has one
        return self.made(Op("load", [base, *values], data=template), kind)

    def on_call(self, node: ast.Call) -> Any:
        """Read a call."""
        if any(isinstance(a, ast.Starred) for a in node.args):
            raise UnsupportedError("* in a call")
        if any(k.arg is None for k in node.keywords):
            raise UnsupportedError("** in a call")
        own: list[Value] = []
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value)
            if owner.kind.is_array:
                f = getattr(np.ndarray, node.func.attr, None)
                own = [owner]
            else:
                f = self.attribute_of(owner, node.func.attr)
        else:
            f = known(self.value(node.func))
        if f is UNKNOWN or not callable(f):
            raise UnsupportedError("a call of what is not known")
        args = [*own, *[self.expression(a) for a in node.args]]
        options = {k.arg: self.expression(k.value) for k in node.keywords if k.arg}
        return self.called(f, args, options)

    def called(self, f: Callable, args: list[Any], options: dict[str, Any]) -> Any:
        """Read a call of a known function."""
        if f is len and len(args) == 1 and not options:
            (x,) = args
            if type(x) is tuple or x.kind.parts:
                return self.const(len(x if type(x) is tuple else x.kind.parts))
            if x.kind.is_array and x.kind.ndim:
                return self.made(Op("form", [x], data="len"), Kind(frozenset([int])))
        if type(f) is types.FunctionType and f not in PURE and rrule.entry(f) is None:
            if f.__module__.partition(".")[0] == "numpy":
                raise UnsupportedError(f"{f.__name__} has no rule")
            return self.inline(f, args, options)
        values = [self.tuple_of(a, given=True) if type(a) is tuple else a for a in args]
        named = {k: self.tuple_of(v) if type(v) is tuple else v for k, v in options.items()}
        if not is_pure(f):
            raise UnsupportedError(f"{f} is not known to be pure")
        if "out" in named or "where" in named:
            raise UnsupportedError("an argument out or where")
        return self.call(f, values, named)


def _is_told(v: Any) -> bool:
    return type(v) is not tuple and (v.kind.is_known or v.kind.is_array or v.kind.is_scalar)
