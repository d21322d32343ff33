"""Reading writes into arrays, and into items of lists, dicts and objects."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.form.function_ir import LIST_WRITES, WRITES, Op, Value
from autodiff.structured.form.indices import (
    WHOLE,
    arrays_in,
    has_arrays,
    is_element,
    kind_of_index,
    without_ellipsis,
)
from autodiff.structured.form.kinds import (
    Kind,
    ListInMemoryError,
    UnsupportedError,
    kind_of_result,
)
from autodiff.structured.reading.builder import places_of
from autodiff.structured.reading.containers.classes import is_object
from autodiff.structured.reading.iteration.comprehensions import ComprehensionReader

_IN_PLACE: dict[Any, str] = {operator.add: "add", operator.sub: "sub"}


def may_share(x: Value, y: Value) -> bool:
    """Whether two arrays may be in the same memory."""
    return x.memory is not None and y.memory is not None and x.root is y.root


class WriteReader(ComprehensionReader):
    """Layer of the reader: writes."""

    def add_at(self, base: Value, at: ast.expr, value: Value) -> None:
        """Read ``np.add.at``, which adds to an element once for each time that its index occurs."""
        values, template = self._index(at)
        if may_share(value, base):
            raise UnsupportedError("np.add.at with parts of the array itself")
        self.store(base, value, values, template, "add", np.add)

    def store(
        self,
        base: Value,
        value: Value,
        values: list[Value],
        template: Any,
        code: str = "store",
        f: Any = None,
    ) -> None:
        """Write a value into an array at an index, or add or subtract it there."""
        if not base.kind.is_array:
            raise UnsupportedError("an item of something other than an array")
        if not (value.kind.is_scalar or value.kind.is_array):
            raise UnsupportedError("a write of what is no number or array")
        if len({a.kind.letter == "b" for a in arrays_in(template, values)}) > 1:
            raise UnsupportedError("a write at a mask and at indices")
        if code != "store" and base.kind.letter == "b":
            raise UnsupportedError("a sum in an array of truth values")
        is_cut_off = value.kind.is_inexact and base.kind.letter not in "fc"
        if is_cut_off and (code != "store" or value.kind.is_complex):
            raise UnsupportedError("floats added to integers, or complex numbers in their place")
        if value.kind.is_complex and base.kind.letter != "c":
            raise UnsupportedError("complex numbers written into an array of floats")
        region = kind_of_index(base.kind, [v.kind for v in values], template)
        if is_element(region, template):
            template = without_ellipsis(template)
            region = kind_of_index(base.kind, [v.kind for v in values], template)
        if value.kind.is_array and value.kind.ndim > region.ndim:
            raise UnsupportedError("a write of an array with too many axes")
        # The sweep writes the old contents back to the same place: the write must not move it.
        values = [*values]
        for k, v in enumerate(values):
            if v.kind.is_array and v.kind.dtype == base.kind.dtype:
                if v is not base and v.kind.letter == "b" and may_share(v, base):
                    # NumPy reads such a mask while it writes: what it reads depends on its order.
                    raise UnsupportedError("a write at a mask that may be part of the array itself")
                values[k] = self.emit_call(np.copy, [v])
        self.emit_effect(Op(code, [base, value, *values], f=f, data=template))
        base.root.is_written = True

    def _base_of(self, node: ast.Subscript) -> Any:
        """Read the container of an item that is written."""
        base = self.expression(node.value)
        if type(base) is Value and base.kind.is_set:
            raise UnsupportedError("an item of a set")
        return base if is_object(base) else self.as_value(base)

    def _change_part(self, f: Callable, target: ast.expr, value: ast.expr) -> None:
        """Read an augmented assignment to an item of a container, or to a part of an array."""
        if not isinstance(target, ast.Subscript):
            raise UnsupportedError(f"assignment to {type(target).__name__}")
        base = self._base_of(target)
        if is_object(base):
            self._change_item_of_object(f, base, self.expression(target.slice), value)
            return
        if base.kind.has_items:
            self._change_item(f, base, self.value(target.slice), value)
            return
        values, template = self._index(target.slice)
        if not base.kind.is_array:
            raise UnsupportedError("an item of something other than an array")
        self._change_in_place(f, base, values, template, value)

    def _change_in_place(
        self, f: Callable, base: Value, values: list[Value], template: Any, node: ast.expr
    ) -> None:
        """Read an augmented assignment to elements of an array."""
        region = kind_of_index(base.kind, [v.kind for v in values], template)
        if is_element(region, template):
            value = self._read_without_writes(node)
            template = without_ellipsis(template)
            element = self.indexed(base, values, template)
            self.store(base, self.binary(f, element, value), values, template)
            return
        is_sum = f in _IN_PLACE and base.kind.letter != "b"  # True + -1 is 0: no truth value
        if is_sum and not has_arrays(template):
            # Python reads the element before the operand, which may write into the array.
            old = None if region.is_array else self.indexed(base, values, template)
            block, n = self.block, len(self.block.ops)
            value = self.value(node)
            self._check_in_place(f, region, value)
            wrote = self.block is not block or any(op.code in WRITES for op in block.ops[n:])
            if old is not None and wrote:
                self.store(base, self.binary(f, old, value), values, template)
                return
            if old is not None:
                self.drop(old)
            self.store(base, value, values, template, _IN_PLACE[f])
            return
        old = self.indexed(base, values, template)
        value = self.value(node)
        self._check_in_place(f, region, value)
        self.store(base, self.binary(f, old, value), values, template)

    def _read_without_writes(self, node: ast.expr) -> Value:
        """Read an operand that must not write, because NumPy has a view of the element."""
        block, n = self.block, len(self.block.ops)
        value = self.value(node)
        if self.block is not block or any(op.code in WRITES for op in block.ops[n:]):
            raise UnsupportedError("an augmented assignment whose operand may change the element")
        return value

    def _extend(self, f: Callable, xs: Any, node: ast.expr) -> None:
        """Read ``xs += items`` for a list that may grow, or ``xs |= items`` for a set."""
        if f is operator.or_ and type(xs) is Value and xs.kind.is_set:
            self.update_set(xs, self.expression(node))
            return
        if f is not operator.add or type(xs) is not Value or not xs.kind.is_list:
            raise ListInMemoryError("this change of a list, tuple or dict", places_of(xs))
        items = self.expression(self.as_list_display(node))
        is_other = type(items) is Value and not (items.kind.is_list or items.kind.is_mapping)
        if is_other or is_object(items):  # it defines the sum: that with an array is an array
            raise UnsupportedError("this change of a list")
        self._extend_list(xs, items)

    def _change_attribute(self, f: Callable, owner: Value, node: ast.AugAssign) -> None:
        """Read an augmented assignment to an attribute of an object in memory."""
        name = node.target.attr  # type: ignore[union-attr] # it is an attribute
        self.check_assignable(owner, name)
        self.exit_if_missing(owner, name)
        self._change_item(f, owner, self.const(name), node.value)

    def _change_item(self, f: Callable, xs: Value, at: Value, node: ast.expr) -> None:
        """Read an augmented assignment to an item of a list; an array there changes in place."""
        old = self.item(xs, at)
        if type(old) is not Value:
            raise UnsupportedError("an augmented assignment to a named tuple")
        block, n = self.block, len(self.block.ops)
        value = self.value(node)
        if not old.kind.is_array:
            self.set_item(xs, at, self.binary(f, old, value))
            return
        if self.block is not block or any(op.code in LIST_WRITES for op in block.ops[n:]):
            raise UnsupportedError("an augmented assignment whose operand may change the list")
        self._check_in_place(f, old.kind, value)
        if f in _IN_PLACE:
            self.store(old, value, [], WHOLE, _IN_PLACE[f])
        else:
            self.store(old, self.binary(f, old, value), [], WHOLE)

    def _change_item_of_object(self, f: Callable, owner: Any, at: Any, node: ast.expr) -> None:
        """Read an augmented assignment to an item of an object."""
        old, value = self.call_special_method("__getitem__", owner, at), self.expression(node)
        is_one = type(old) is Value and old.kind.is_scalar
        if is_object(value) or not is_one:
            raise UnsupportedError("an augmented assignment to an item that is not a number")
        self.call_special_method("__setitem__", owner, at, self.binary(f, old, value))

    def write_out(self, out: Value, made: Value) -> Value:
        """Write the result of a ufunc into its argument ``out``; return that."""
        if out.kind.dtype is None or made.kind.dtype != out.kind.dtype:
            raise UnsupportedError("an argument out with another dtype")
        self.store(out, made, [], WHOLE)
        return out

    def drop(self, value: Value) -> None:
        """Remove the operation that made an unused value from the current block."""
        self.block.ops.remove(value.op)
        for a in value.op.args:
            a.uses -= 1

    def _check_in_place(self, f: Callable, region: Kind, value: Value) -> None:
        if not (value.kind.is_scalar or value.kind.is_array):
            raise UnsupportedError(
                "an in-place operation with something other than numbers and arrays"
            )
        result = kind_of_result(f, [region, value.kind])
        if region.is_array and result.general() != region.general():
            raise UnsupportedError("an in-place operation that changes the dtype or axes")
