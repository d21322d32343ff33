"""Reading operators: of numbers and arrays, lists and tuples, and objects whose class has them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.python_operators import BINARY, UNARY
from autodiff.structured.form.function_ir import InstanceValue, Items, Value, known
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.reading.comparison_operators import ComparisonReader
from autodiff.structured.reading.containers.classes import is_object, may_have_operators
from autodiff.structured.reading.containers.sequences import is_sequence
from autodiff.structured.reading.containers.tables import SET_OPERATORS

_TRUTH = frozenset({bool, np.bool_})
_ARITHMETIC = frozenset({operator.add, operator.sub, operator.mul, operator.truediv, operator.pow})


class OperatorReader(ComparisonReader):
    """Layer of the reader: unary and binary operators."""

    # Methods that subclasses define.
    truth: Callable[[ast.expr], Value]

    def on_binop(self, node: ast.BinOp) -> Any:
        """Read a binary operator."""
        a, b = node.left, node.right
        if self.is_distributed(b):
            left = self.hold(self.expression(a))
            return self._choose_between(
                b, lambda x: self._operation(node.op, self.read(left), self.expression(x))
            )
        if self.is_distributed(a):
            return self._choose_between(
                a, lambda x: self._operation(node.op, self.expression(x), self.expression(b))
            )
        return self._operation(node.op, self.expression(a), self.expression(b))

    def is_distributed(self, node: ast.expr) -> bool:
        """Whether this is a conditional expression with values of two kinds."""
        is_one = isinstance(node, ast.IfExp)
        return is_one and (node.lineno, node.col_offset) in self.assumed.distributed

    def _choose_between(self, node: Any, read: Callable[[ast.expr], Any]) -> Any:
        """Read a conditional expression, and in each branch what is done with its value."""
        test = self.truth(node.test)
        return self.choose(test, lambda: read(node.body), lambda: read(node.orelse))

    def _operation(self, op: ast.operator, left: Any, right: Any) -> Any:
        """Read a binary operator on what its operands are."""
        name, f, _ = BINARY[type(op)]
        has_object = is_object(left) or is_object(right)
        is_array = type(left) is Value and left.kind.is_array
        if has_object or (not is_array and any(map(may_have_operators, (left, right)))):
            found = self.operator_of(name, left, right)
            if found is not NotImplemented:
                return found
            if has_object:
                raise UnsupportedError("an operator that the class of an object does not define")
        if f in SET_OPERATORS and all(type(x) is Value and x.kind.is_set for x in (left, right)):
            return self.set_from(f, left, right)
        if f is operator.add and is_sequence(left) and is_sequence(right):
            return self._together(left, right)
        if f is operator.mul and type(left) is Items and type(right) is Value:
            if not right.kind.is_integral:
                raise UnsupportedError("a list times something other than an integer")
            times = known(right)
            if type(times) is int and times > 0 and all(map(_is_immutable, left)):
                return Items(tuple(left) * times)
            return self.new_list(list(map(self.pack, left)), right)
        return self.binary(f, left, right)

    def binary(self, f: Callable, a: Any, b: Any) -> Value:
        """Read a binary operator on two values; a list beside an array becomes an array."""
        a, b = self._operand(a, b), self._operand(b, a)
        for v in (a, b):
            if isinstance(v, tuple) or not (v.kind.is_scalar or v.kind.is_array or v.kind.is_text):
                raise UnsupportedError(
                    "an operator on something other than numbers, arrays and strings"
                )
        if f in _ARITHMETIC:
            a, b = self._as_integer(a, b), self._as_integer(b, a)
        return self.emit_call(f, [a, b])

    def _as_integer(self, v: Value, other: Value) -> Value:
        """Convert a bool beside a float to an integer: rules take no bools."""
        is_truth = v.kind.is_scalar and v.kind.classes <= _TRUTH and not v.kind.is_known
        return self.emit_call(int, [v]) if is_truth and other.kind.has_floats else v

    def on_unaryop(self, node: ast.UnaryOp) -> Value:
        """Read a unary operator."""
        f = UNARY[type(node.op)].function
        made = self.expression(node.operand)
        if may_have_operators(made) and f is not operator.not_:
            return self.call_special_method(f"__{UNARY[type(node.op)].name}__", made)
        if isinstance(node.op, ast.Not):
            made = self.truth_of(made)
        x = self.as_value(made)
        is_known = known(x) is None or type(known(x)) is str
        if f is operator.not_ and not (x.kind.is_scalar or is_known):
            raise UnsupportedError(f"operator {type(node.op).__name__}")
        return self.emit_call(f, [x])

    def _operand(self, x: Any, other: Any) -> Any:
        if type(other) is not Value or not other.kind.is_array or other.kind.letter not in "fc":
            return x
        return self.as_array(np.add, self.as_vector(x, of_integers=True))


def _is_immutable(x: Any) -> bool:
    """Whether this is a text, or a tuple without lists, dicts and arrays."""
    if type(x) is Items or isinstance(x, InstanceValue) or not isinstance(x, tuple):
        return type(x) is Value and type(known(x)) is str
    return all(_is_immutable(p) if isinstance(p, tuple) else _is_immutable_value(p) for p in x)


def _is_immutable_value(x: Any) -> bool:
    return type(x) is Value and not x.kind.has_memory
