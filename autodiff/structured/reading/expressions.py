"""Reading expressions: each of their operations becomes one of the IR."""

from __future__ import annotations

import ast
import enum
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.form.function_ir import (
    Columns,
    HeldRange,
    Items,
    Maybe,
    Named,
    Op,
    RecordValue,
    Value,
    flat,
    known,
    parts_of,
)
from autodiff.structured.form.indices import has_arrays, is_element, kind_of_index
from autodiff.structured.form.kinds import (
    INT,
    LIST,
    Kind,
    MixedKindsError,
    UnsupportedError,
    is_member,
    kind_of,
    samples,
)
from autodiff.structured.form.known_functions import (
    grid_of,
    is_grid,
    is_joiner,
    letter_of_text,
    part_of_text,
)
from autodiff.structured.reading.builder import is_constant
from autodiff.structured.reading.containers.classes import is_class, is_object
from autodiff.structured.reading.libraries.python_decompositions import bounds_of_slice
from autodiff.structured.reading.operator_expressions import OperatorReader
from autodiff.structured.reading.rewriting import has_no_calls, written
from autodiff.structured.reading.scopes import OWNERS, ArgumentRows, HeldSlice, LocalFunction

_WIDE = frozenset(map(np.dtype, (np.float64, np.complex128, np.int64)))
_OF_DTYPES = frozenset({"kind", "char", "name", "itemsize", "type"})
_FORMS = frozenset({"shape", "size", "ndim", "dtype"})
PARTS = {"real": np.real, "imag": np.imag}
"""Attributes that are parts of complex numbers."""


class ExpressionReader(OperatorReader):
    """Layer of the reader: expressions."""

    def expression(self, node: ast.expr) -> Any:
        """Read an expression; return a value, a nested tuple of values, or what is static."""
        return self.not_none(self.expression_or_none(node))

    def expression_or_none(self, node: ast.expr) -> Any:
        """Read an expression whose value may be None."""
        method = getattr(self, f"on_{type(node).__name__.lower()}", None)
        if method is None:
            raise UnsupportedError(f"{type(node).__name__} in an expression")
        return method(node)

    def value(self, node: ast.expr) -> Value:
        """Read an expression as one value."""
        return self.as_value(self.expression(node))

    def on_constant(self, node: ast.Constant) -> Value:
        """Read a literal."""
        return self.const(node.value)

    def on_name(self, node: ast.Name) -> Any:
        """Read a name."""
        found = self.read(node.id)
        return found.value if type(found) is Maybe and self.is_present(found) else found

    def on_namedexpr(self, node: ast.NamedExpr) -> Any:
        """Read an assignment expression (``:=``)."""
        self.bind(node.target.id, self.expression_or_none(node.value))
        return self.read(node.target.id)

    def on_ifexp(self, node: ast.IfExp) -> Any:
        """Read a conditional expression."""
        first: Any = None

        def then() -> Any:
            nonlocal first
            first = self.expression_or_none(node.body)
            return first

        def otherwise() -> Any:
            found = self.expression_or_none(node.orelse)
            is_value = type(first) is Value and known(first) is not None
            return self.not_none(found) if is_value else found

        try:
            return self.choose(
                self.truth(node.test),
                then,
                otherwise,
                # Each reading of the function gives it the same name: `may_be_none` refers to it.
                f".chosen_{node.lineno}_{node.col_offset}" if _has_none(node) else None,
            )
        except MixedKindsError as error:
            error.choice = error.choice or (node.lineno, node.col_offset)
            raise

    def on_boolop(self, node: ast.BoolOp) -> Any:
        """Read ``a and b`` or ``a or b``: the value that decides is the result."""
        return self._short_circuit(node, self.test)

    def _short_circuit(self, node: ast.BoolOp, read: Callable[[ast.expr], Any]) -> Value:
        """Read ``and`` or ``or``, and each operand by a function."""
        first, *rest = node.values
        value = read(first)

        def others() -> Value:
            if rest[1:]:
                return self._short_circuit(ast.BoolOp(node.op, rest), read)
            return self.not_none(read(*rest))

        if isinstance(node.op, ast.And):
            value = self.not_none(value)
            return self.choose(value, others, lambda: value)
        if type(value) is Maybe:  # None or x is x
            x = self._as_test(value.value)
            return self.choose(value.has, lambda: self.choose(x, lambda: x, others), others)
        return self.choose(value, lambda: value, others)

    def truth_of(self, x: Any) -> Any:
        """Return a value with the truth of a list, dict or object; anything else unchanged."""
        if is_object(x):
            return self.truth_of_object(x)
        if type(x) in (Items, tuple):
            return self.const(bool(x))
        if type(x) is ArgumentRows:
            return self._length_of(x)
        is_one = type(x) is Value and (x.kind.is_list or x.kind.is_mapping)
        return self.length(x) if is_one else x

    def truth(self, node: ast.expr) -> Value:
        """Read the test of a branch or loop."""
        if isinstance(node, ast.BoolOp):
            return self._short_circuit(node, lambda part: self._as_bool(self.truth(part)))
        made = self.expression_or_none(node)
        if type(made) is not Maybe:
            return self._as_test(self.pack(self.truth_of(made)))
        return self.choose(
            made.has,
            lambda: self.emit_call(bool, [self._as_test(self.pack(self.truth_of(made.value)))]),
            lambda: self.const(False),
        )

    def test(self, node: ast.expr) -> Any:
        """Read an operand of ``and`` or ``or``, which may be None."""
        found = self.expression_or_none(node)
        return found if type(found) is Maybe else self._as_test(self.as_value(found))

    def _as_test(self, value: Value) -> Value:
        if not value.kind.is_scalar and not value.kind.is_known:
            raise UnsupportedError("the truth of what is no number")
        return value

    def _as_bool(self, test: Value) -> Value:
        """Convert the length of a list or dict to a truth value."""
        is_length = test.op.code == "length" and test.kind == INT
        return self.emit_call(bool, [test]) if is_length else test

    def on_attribute(self, node: ast.Attribute) -> Any:
        """Read an attribute of an object, an array or a module."""
        return self.read_attribute(self.expression(node.value), node.attr)

    def read_attribute(self, owner: Any, name: str) -> Any:
        """Read an attribute of something that has been read."""
        if type(owner) in OWNERS:
            return self.attribute(owner, name)
        if name == "get" and (
            type(owner) is Named or (type(owner) is Value and owner.kind.is_mapping)
        ):
            return self._getter(owner)
        if isinstance(owner, RecordValue):
            return self.of_record(owner, name)
        owner = self.as_value(owner)
        if owner.kind.is_object:
            return self.attribute_in_memory(owner, name)
        if owner.kind.is_queue:
            return self.attribute_of_queue(owner, name)
        if owner.kind.is_list:
            self.check_records(owner.memory)
        if name in PARTS and (owner.kind.is_scalar or owner.kind.is_array):
            return self._part_of_complex(owner, name)
        if isinstance(known(owner), np.dtype) and name in _OF_DTYPES:
            return self.const(getattr(known(owner), name))
        if owner.kind.is_known:
            found = self._attribute_of_class_or_member(owner.kind.value, name)
            return found or self.variable_from_outside(self.module_attribute(owner, name))
        if not owner.kind.is_array:
            raise UnsupportedError(f"attribute {name}")
        if name == "T":
            return self.emit_view(Op("view", [owner], data="T"), owner.kind)
        if name == "ndim":
            return self.const(owner.kind.ndim)
        if name == "dtype":
            return self.const(owner.kind.dtype)
        if name not in _FORMS:
            raise UnsupportedError(f"attribute {name}")
        kind = kind_of(getattr(samples(owner.kind)[0], name))
        return self.emit(Op("form", [owner], data=name), kind)

    def _getter(self, owner: Any) -> LocalFunction:
        """Read ``d.get`` of a dict, as a function of keys that the dict has."""
        (made,) = written("lambda key: d[key]", d=self.hold(owner))
        node = ast.copy_location(made.value, self.calling[-1])  # type: ignore[attr-defined]
        return LocalFunction(ast.fix_missing_locations(node), self.scope, {})

    def _attribute_of_class_or_member(self, x: Any, name: str) -> Any:
        """Read an attribute of a class or an enum member; None for other owners."""
        if is_class(x):
            return self.attribute_of_class(x, name)
        if isinstance(x, enum.EnumType):
            member = x.__members__.get(name)
            return self.const(member) if is_member(member) else None
        own = name in ("value", "name") and not isinstance(vars(type(x)).get(name), property)
        if not is_member(x) or not own:
            return None
        found = getattr(x, name)
        if not is_constant(found):
            return None
        self.guards.append((vars(x), f"_{name}_", found))
        return self.from_outside(found)

    def _part_of_complex(self, x: Value, name: str) -> Value:
        """Read ``x.real`` or ``x.imag``, which are views if `x` is a complex array."""
        if x.kind.letter != "c":
            return self.emit_call(PARTS[name], [x])
        kind = kind_of(getattr(samples(x.kind)[0], name))
        return self.emit_view(Op("view", [x], data=name), kind)

    def on_subscript(self, node: ast.Subscript) -> Any:
        """Read an index."""
        return self.subscripted(self.flattened(node.value), node.slice)

    def subscripted(self, base: Any, index: ast.expr) -> Any:
        """Read an index of a value that has been read."""
        index = self.index_at(index)
        if is_object(base):
            return self.call_special_method("__getitem__", base, self.expression(index))
        if type(base) is Named:
            at = self.value(index)
            if not at.kind.is_known:
                return self.item(self.keyed_in_memory(base), at)
            if known(at) not in base:
                raise UnsupportedError("a key that the dict does not have")
            return base[known(at)]
        if type(base) is ArgumentRows:
            return self.part_of_rows(base, index)
        if type(base) is Columns:
            return self._item_of_columns(base, self.value(index))
        if type(base) is Value and is_joiner(known(base)):
            return self._index_joiner(known(base), index)
        base = self.with_parts(base) if isinstance(index, ast.Slice) else base
        if isinstance(base, tuple) and isinstance(index, ast.Slice):
            return self._slice_of(base, index)
        if type(base) is HeldRange:
            return self._slice_of_range(base, index)
        if isinstance(base, tuple) or base.kind.parts or base.kind.classes == {tuple}:
            return self._part(base, self.value(index))
        if base.kind.is_list and isinstance(index, ast.Slice):
            if base.kind.is_queue:
                raise UnsupportedError("a slice of a deque")
            made = self.sliced(base, self.bounds_in(index))
            return self.fixed(made) if base.kind.is_fixed else made
        if base.kind.is_text:
            return self._index_text(base, index)
        if base.kind.has_items:
            return self.item_or_none(base, self.value(index))
        return self.indexed(base, *self._index(index))

    def _slice_of_range(self, base: HeldRange, index: ast.expr) -> HeldRange:
        """Read a slice of a range, which is a range."""
        if not isinstance(index, ast.Slice):
            raise UnsupportedError("an item of a range")
        low, high, by = self.bounds_in(index)
        bounds = [*parts_of(base), low, high, self.const(1) if known(by) is None else by]
        if not all(x.kind.is_integral or known(x) is None for x in bounds):
            raise UnsupportedError("a slice with bounds that are not integers")
        return HeldRange(*self._parts_of(self.inline(bounds_of_slice, bounds, {})))

    def flattened(self, node: ast.expr) -> Any:
        """Read what is indexed or iterated over: there ``a.flat`` is like ``a.ravel()``."""
        if isinstance(node, ast.Attribute) and node.attr == "flat" and has_no_calls(node.value):
            owner = self.expression(node.value)
            if type(owner) is Value and owner.kind.is_array:
                return self.reshaped(owner, self.pack((self.const(-1),)), 1)
        return self.expression(node)

    def _index_joiner(self, joiner: Any, node: ast.expr) -> Any:
        """Read an index into an object that makes an index or arrays of it."""
        if joiner is np.s_:
            return self.expression(node)
        if is_grid(joiner):
            several = isinstance(node, ast.Tuple) and len(node.elts) > 1
            return self._grid(joiner, node.elts if several else [node])  # type: ignore[attr-defined]
        parts = tuple(map(self.expression, node.elts if isinstance(node, ast.Tuple) else [node]))
        if any(type(p) is Value and not (p.kind.is_array or p.kind.is_scalar) for p in parts):
            raise UnsupportedError("a string or slice in np.r_ or np.c_")
        dtypes = {p.kind.dtype for p in parts if type(p) is Value and p.kind.is_array}
        has_numbers = any(type(p) is Value and p.kind.is_scalar for p in parts)
        if has_numbers and not dtypes <= _WIDE:
            raise UnsupportedError("np.r_ or np.c_ in which numbers take the dtype of arrays")
        if joiner is np.c_:
            return self.read_call(np.column_stack, [parts], {})
        vectors = [Items([p]) if type(p) is Value and p.kind.is_scalar else p for p in parts]
        return self.read_call(np.concatenate, [tuple(vectors)], {})

    def _grid(self, grid: Any, parts: list[ast.expr]) -> Any:
        """Read ``np.mgrid[a:b, c:d]`` or ``np.ogrid[a:b, c:d]`` of integers."""
        slices = list(map(self.expression, parts))
        if any(type(x) is not HeldSlice for x in slices):
            raise UnsupportedError("np.mgrid of something other than slices")
        bounds = [x for part in slices for x in parts_of(part)]
        if not all(x.kind.is_integral or known(x) is None for x in bounds):
            raise UnsupportedError("np.mgrid of slices with bounds that are not integers")
        made = self.emit_call(grid_of, [self.const(grid), *bounds])
        return self.unpacked_result(made) if made.kind.parts else made

    def on_slice(self, node: ast.Slice) -> HeldSlice:
        """Read a slice in ``np.s_[...]``, or one that a class gets as an index."""
        return HeldSlice(*self.bounds_in(node))

    def index_at(self, node: ast.expr) -> ast.expr:
        """Replace a variable that holds a slice, as an index, by that slice."""
        found = self.expression(node) if isinstance(node, ast.Name) else None
        if type(found) is not HeldSlice:
            return node
        bounds = [ast.Name(self.hold(x), ast.Load()) for x in parts_of(found)]
        return ast.copy_location(ast.Slice(*bounds), node)

    def bounds_in(self, node: ast.Slice) -> list[Value]:
        """Read the bounds of a slice; a missing one is None."""
        parts = (node.lower, node.upper, node.step)
        return [self.const(None) if part is None else self.value(part) for part in parts]

    def _index_text(self, text: Value, at: ast.expr) -> Value:
        """Read a character or a slice of a string."""
        if isinstance(at, ast.Slice):
            return self.emit_call(part_of_text, [text, *self.bounds_in(at)])
        return self.emit_call(letter_of_text, [text, self.value(at)])

    def on_joinedstr(self, node: ast.JoinedStr) -> Value:
        """Read an f-string."""
        made = self.const("")
        for part in node.values:
            made = self.emit_call(operator.add, [made, self.value(part)])
        return made

    def on_formattedvalue(self, node: ast.FormattedValue) -> Value:
        """Read a formatted value in an f-string."""
        if node.conversion != -1:
            raise UnsupportedError("a conversion in an f-string")
        spec = self.const("") if node.format_spec is None else self.value(node.format_spec)
        return self.emit_call(format, [self.value(node.value), spec])

    def _index(self, node: ast.expr) -> tuple[list[Value], Any]:
        """Read an index; return its values and its template."""
        values: list[Value] = []

        def one(part: ast.expr) -> Any:
            if isinstance(part, ast.Slice):
                bounds = (part.lower, part.upper, part.step)
                return ("slice", *[self._slice_bound(b, values) for b in bounds])
            if isinstance(part, ast.Starred):
                raise UnsupportedError("* in an index")
            return self._index_part(self.expression(part), values)

        if isinstance(node, ast.Tuple):
            return values, tuple(map(one, node.elts))
        if isinstance(node, ast.Slice):
            return values, one(node)
        whole = self.expression(node)
        if type(whole) is Value and whole.kind.classes == {tuple}:
            whole = tuple(self._parts_of(whole))
        if type(whole) is tuple:
            return values, tuple([self._index_part(part, values) for part in whole])
        return values, self._index_part(whole, values)

    def _index_part(self, found: Any, values: list[Value]) -> Any:
        """Return the template of a part of an index, and append its value to `values`."""
        if type(found) is HeldSlice:
            return ("slice", *[self._bound(x, values) for x in parts_of(found)])
        if type(found) is Items and found:
            found = self.read_call(np.array, [found], {})
        if type(found) is Value and found.kind == LIST:  # an index as a tuple is something else
            found = self.as_array(np.add, found)
        value = self.pack(found)
        if known(value) is None or known(value) is Ellipsis:
            return ("known", known(value))
        kind = value.kind
        if kind.is_array and kind.letter in "iub":
            values.append(value)
            return ("array", len(values) - 1)
        if not kind.is_integral or not kind.classes.isdisjoint({bool, np.bool_}):
            raise UnsupportedError("an index that is not an integer, slice or array")
        values.append(value)
        return ("value", len(values) - 1)

    def _slice_bound(self, part: ast.expr | None, values: list[Value]) -> int | None:
        """Append a bound of a slice to `values`; return its position, None for no bound."""
        return self._bound(self.const(None) if part is None else self.value(part), values)

    def _bound(self, value: Value, values: list[Value]) -> int | None:
        if known(value) is None:
            return None
        if not value.kind.is_integral:
            raise UnsupportedError("a slice with bounds that are not integers")
        values.append(value)
        return len(values) - 1

    def indexed(self, base: Value, values: list[Value], template: Any) -> Value:
        """Index an array."""
        if not base.kind.is_array:
            raise UnsupportedError("an index into something other than an array")
        kind = kind_of_index(base.kind, [v.kind for v in values], template)
        if is_element(kind, template):
            return self._element(base, values, template)
        if kind.is_array and not has_arrays(template):
            return self.emit_view(Op("view", [base, *values], data=template), kind)
        base.root.is_indexed = True
        return self.emit(Op("load", [base, *values], data=template), kind)

    def _element(self, base: Value, values: list[Value], template: Any) -> Value:
        """Read a view of one element as a number; `check_elements` makes sure that it may."""
        if base.kind.letter != "f":
            raise UnsupportedError("a view without axes")
        base.root.is_indexed = True
        kind = Kind(frozenset([base.kind.dtype.type]))  # type: ignore[union-attr] # an array has one
        made = self.emit(Op("load", [base, *values], data=template), kind)
        self.elements.add(made)
        return made

    def check_elements(self, blocks: list) -> None:
        """Raise if it matters that an element was read as a number, and not as a view."""
        for op in [op for block in blocks for op in block.ops]:
            is_one = op.out in self.elements and op.code == "load"
            if is_one and op.args[0].root.is_written:
                raise UnsupportedError("a view without axes of an array that changes")
            is_used = op.code in ("call", "tuple", "store", "add", "sub", "read")
            if not is_used and not self.elements.isdisjoint(op.args):
                raise UnsupportedError("a view without axes that is kept")
        returned = flat(self.program.returned)
        if not self.elements.isdisjoint(returned) or self.augmented & self.element_slots:
            raise UnsupportedError("a view without axes that is returned or changed")


def _has_none(node: ast.IfExp) -> bool:
    """Whether one of the two expressions is the literal None."""
    return any(isinstance(x, ast.Constant) and x.value is None for x in (node.body, node.orelse))
