"""Reading comparisons of numbers, strings, tuples and enum members; ``is`` and ``in``."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.python_operators import COMPARISONS
from autodiff.structured.form.function_ir import Items, Maybe, Named, Op, Value, known
from autodiff.structured.form.kinds import BOOL, UnsupportedError
from autodiff.structured.reading.call_expressions import CallReader
from autodiff.structured.reading.containers.classes import is_object
from autodiff.structured.reading.libraries.python_decompositions import list_contains
from autodiff.structured.reading.scopes import Static

_POSITIVE: dict[type, type[ast.cmpop]] = {
    ast.NotEq: ast.Eq, ast.IsNot: ast.Is, ast.NotIn: ast.In,
}  # fmt: skip

_ORDERS = frozenset({ast.Lt, ast.LtE, ast.Gt, ast.GtE})


class ComparisonReader(CallReader):
    """Layer of the reader: comparisons."""

    def on_compare(self, node: ast.Compare) -> Value:
        """Read a comparison or a chain of comparisons."""
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            return self._compare_equal(node.ops[0], node.left, node.comparators[0])
        if not _compares_with_none(node):
            return self._compare_chain(self.expression(node.left), node.ops, node.comparators)
        has = None
        if isinstance(node.left, ast.Attribute):
            owner = self.expression(node.left.value)
            has = self.attribute_is_not_none(owner, node.left.attr)
            a = self.read_attribute(owner, node.left.attr) if has is None else None
        else:
            a = self.expression_or_none(node.left)
        has = a.has if type(a) is Maybe else has
        if has is not None:
            return has if isinstance(node.ops[0], ast.IsNot) else self._negated(has)
        return self._compare_chain(a, node.ops, node.comparators)

    def _compare_equal(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> Any:
        """Read ``==`` or ``!=``; None equals no number and no text."""
        a, b = self.expression_or_none(left), self.expression_or_none(right)
        for x, other in ((a, b), (b, a)):
            if type(x) is Maybe and type(other) is Value and _is_number_or_text(other):
                both = (x.value, b) if x is a else (a, x.value)
                compared = functools.partial(self._compare, op, *both)
                differs = isinstance(op, ast.NotEq)
                return self.choose(x.has, compared, functools.partial(self.const, differs))
        return self._compare(op, self.not_none(a), self.not_none(b))

    def _compare_chain(self, a: Any, ops: list[ast.cmpop], others: list[ast.expr]) -> Value:
        if isinstance(others[0], ast.Set) and isinstance(ops[0], (ast.In, ast.NotIn)):
            b = self._parts_of_set(a, others[0])
        else:
            b = self.expression(others[0])
        first = self._compare(ops[0], a, b)
        if len(ops) == 1:
            return first
        if not first.kind.is_scalar:
            raise UnsupportedError("a chain of comparisons of arrays")
        return self.choose(
            first, lambda: self._compare_chain(b, ops[1:], others[1:]), lambda: first
        )

    def _parts_of_set(self, x: Any, node: ast.Set) -> tuple:
        """Read a set display behind ``in`` as a tuple."""
        parts = self.expression(ast.copy_location(ast.Tuple(node.elts, ast.Load()), node))
        if not all(map(_may_be_in_a_set, (x, *parts))):
            raise UnsupportedError("a set of items other than numbers, strings and tuples")
        return tuple(parts)

    def _compare(self, op: ast.cmpop, a: Any, b: Any) -> Any:
        """Read one comparison of two values."""
        if (is_object(a) or is_object(b)) and type(op) in COMPARISONS:
            return self.compared_objects(type(op), a, b)
        if not isinstance(op, (ast.Is, ast.IsNot)):
            a, b = self.with_parts(a), self.with_parts(b)
        found = self._structural_test(_POSITIVE.get(type(op), type(op)), a, b)
        if found is not None:
            return self._negated(found) if type(op) in _POSITIVE else found
        if type(op) not in COMPARISONS:
            raise UnsupportedError(f"comparison {type(op).__name__}")
        f = COMPARISONS[type(op)].function
        if all(type(x) is Value and x.kind.is_set for x in (a, b)):
            return self.emit(Op("length", [a, b], f=f), BOOL)
        if type(a) is Value and type(known(a)) is str is type(known(b)):
            return self.const(f(known(a), known(b)))
        return self.binary(f, a, b)

    def _structural_test(self, op: type[ast.cmpop], a: Any, b: Any) -> Value | None:
        """Read ``==`` of tuples or enum members, ``is`` and ``in``; None for other tests."""
        are_members = all(type(v) is Value and v.kind.is_member for v in (a, b))
        if are_members and op in (ast.Eq, ast.Is):
            return self._same_member(a, b)
        if op is ast.Eq and type(a) in (tuple, Items) and type(b) in (tuple, Items):
            return self._are_equal(a, b) if type(a) is type(b) else self.const(False)
        if op in _ORDERS and type(a) is type(b) in (tuple, Items):
            return self._in_order(op, a, b)
        if op is ast.Is:
            if all(type(v) is Value and isinstance(known(v), type) for v in (a, b)):
                return self.const(known(a) is known(b))
            test = self.same_object(a, b)
            if test is not NotImplemented:
                return test
            nones = [type(v) is Value and known(v) is None for v in (a, b)]
            is_decided = any(nones) and all(map(_is_none_known, (a, b)))
            return self.const(all(nones)) if is_decided else None
        return self._membership(a, b) if op is ast.In else None

    def with_parts(self, x: Any) -> Any:
        """Return the parts of a tuple that is one value, such as a shape; else `x`."""
        if type(x) is not Value:
            return x
        if x.kind.is_known:
            return self._from_constant(known(x)) if _holds_integers_or_strings(known(x)) else x
        return tuple(self._parts_of(x)) if x.kind.parts else x

    def _in_order(self, op: type[ast.cmpop], a: tuple, b: tuple) -> Value:
        """Read ``a < b`` of tuples or lists: the first parts that differ decide."""
        if not a or not b:
            return self.const(COMPARISONS[op].function(len(a), len(b)))
        x, y = a[0], b[0]
        if x is y:
            return self._in_order(op, a[1:], b[1:])

        def after_smaller() -> Value:
            return self.choose(
                self._compare(ast.Gt(), x, y),
                lambda: self.const(op in (ast.Gt, ast.GtE)),
                after_neither,
            )

        def after_neither() -> Value:
            self.exit_unless(self._compare(ast.Eq(), x, y))  # one is NaN
            return self._in_order(op, a[1:], b[1:])

        return self.choose(
            self._compare(ast.Lt(), x, y),
            lambda: self.const(op in (ast.Lt, ast.LtE)),
            after_smaller,
        )

    def _membership(self, a: Any, b: Any) -> Value | None:
        """Read ``a in b``; None for other containers than those below."""
        if is_object(b):
            return self.object_contains(a, b)
        if type(b) is Named:
            return self._is_among(a, tuple(map(self.const, b)))
        if type(b) in (tuple, Items):
            return self._is_among(a, b)
        if type(b) is not Value:
            return None
        if type(a) is Value and type(known(a)) is str is type(known(b)):
            return self.const(known(a) in known(b))
        if b.kind.is_array and _is_scalar(a):
            equal = self.binary(operator.eq, b, a)
            return self.read_call(bool, [self.read_call(np.any, [equal], {})], {})
        if b.kind.is_list and _is_integer_or_string(a):
            return self.inline(list_contains, [b, a], {})
        if b.kind.is_mapping:
            return self.has_key(b, self.pack(a))
        return None

    def _negated(self, x: Value) -> Value:
        return self.const(not known(x)) if x.kind.is_known else self.emit_call(operator.not_, [x])

    def _are_equal(self, a: tuple, b: tuple) -> Value:
        """Read ``==`` of two tuples or lists."""
        found = self.const(len(a) == len(b))
        if known(found):
            for x, y in zip(a, b, strict=True):
                found = self._combine(operator.and_, found, self._equal_parts(x, y))
        return found

    def _is_among(self, x: Any, parts: tuple) -> Value:
        """Read ``x in (1, 2)``."""
        found = self.const(False)
        for part in parts:
            found = self._combine(operator.or_, found, self._equal_parts(x, part))
        return found

    def _combine(self, f: Callable, a: Value, b: Value) -> Value:
        """Combine two tests by ``and_`` or ``or_``; a known one decides or drops out."""
        for test, other in ((a, b), (b, a)):
            if test.kind.is_known:
                decides = bool(known(test)) is (f is operator.or_)
                return test if decides else other
        return self.emit_call(f, [a, b])

    def _equal_parts(self, a: Any, b: Any) -> Value:
        """Read whether two parts are identical or equal; floats are refused, because of NaN."""
        if is_object(a) or is_object(b):  # an object may differ from itself
            raise UnsupportedError("a comparison of objects")
        a, b = self.with_parts(a), self.with_parts(b)
        if isinstance(a, tuple) or isinstance(b, tuple):
            return self._compare(ast.Eq(), a, b)
        if type(a) is not Value or type(b) is not Value:
            raise UnsupportedError("a comparison of items other than integers and strings")
        if all(x.kind.is_member for x in (a, b)):
            return self._same_member(a, b)
        if not any(x.kind.is_integral or x.kind.is_text for x in (a, b)):
            raise UnsupportedError("a comparison of items other than integers and strings")
        if all(x.kind.is_known for x in (a, b)):
            return self.const(known(a) == known(b))
        return self._compare(ast.Eq(), a, b)

    def _same_member(self, a: Value, b: Value) -> Value:
        """Read whether two members of an enumeration are the same, which equal members are."""
        if a.kind.classes != b.kind.classes:
            raise UnsupportedError("a comparison of members of two enumerations")
        if a.kind.is_known and b.kind.is_known:
            return self.const(known(a) is known(b))
        return self.emit(Op("length", [a, b], f=operator.is_), BOOL)


def _compares_with_none(node: ast.Compare) -> bool:
    """Whether this is ``x is None`` or ``x is not None``."""
    is_one = len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot))
    other = node.comparators[0]
    is_none = isinstance(other, ast.Constant) and other.value is None
    return is_one and is_none


def _may_be_in_a_set(x: Any) -> bool:
    if type(x) is tuple:
        return all(map(_may_be_in_a_set, x))
    return type(x) is Value and (x.kind.is_scalar or x.kind.is_text or bool(x.kind.parts))


def _is_number_or_text(x: Value) -> bool:
    return x.kind.is_scalar or x.kind.is_text


def _is_scalar(x: Any) -> bool:
    return type(x) is Value and x.kind.is_scalar


def _is_integer_or_string(x: Any) -> bool:
    return type(x) is Value and (x.kind.is_integral or x.kind.is_text)


def _holds_integers_or_strings(x: Any) -> bool:
    """Whether this is a tuple of integers, strings and such tuples."""
    return type(x) is tuple and all(
        type(part) in (int, str) or _holds_integers_or_strings(part) for part in x
    )


def _is_none_known(v: Any) -> bool:
    """Whether it is known whether a value is None."""
    if isinstance(v, (tuple, Named, Static)):
        return True
    kind = v.kind
    return kind.is_known or kind.has_memory or _is_number_or_text(v) or kind.is_member
