"""Scalar replacement: treat the elements of small arrays as separate numbers.

A loop that writes ``out[i]``, or the gradient of a loop that reads ``x[i]``, makes a chain of
arrays, each of which differs from the previous one in one element. Here such an array is a table of
numbers, materialised only where an array is needed. Adding a scattered slice becomes a step that
can update an array in place.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from autodiff.compiler.recording.ir import FLOAT64, Meta, Ref, add_item, set_item, sub_item
from chainrules_core.operations.scattering import scatter

_LARGEST_BASE = 4096
_PLAIN_INDEX = (int, slice, type(None), type(Ellipsis))
_FROM_LISTS = frozenset({np.array, np.asarray, np.stack})


def pack(shape: tuple, places: tuple, *values: Any) -> np.ndarray:
    """Return an array of zeros with values at flat indices."""
    x = np.zeros(shape)
    flat = x.reshape(-1)
    for place, value in zip(places, values, strict=True):
        flat[place] = value
    return x


class ElementTable:
    """An array as a table: flat index → number; all other elements are zero."""

    __slots__ = ("elements", "shape")

    def __init__(self, shape: tuple, elements: dict[int, Any]) -> None:
        self.shape = shape
        self.elements = elements


class ElementTables:
    """The tables of a program that is being simplified."""

    def __init__(self, simplifier: Any) -> None:
        self.simplifier = simplifier
        self.tables: dict[int, ElementTable] = {}  # by the number of the value
        self._arrays: dict[int, Ref] = {}  # those that are materialised already

    def materialised(self, ref: Ref) -> Ref:
        """Return a value as an array; add the step that fills it, if it is a table."""
        table = self.tables.get(ref.i)
        if table is None:
            return ref
        known = self._arrays.get(ref.i)
        if known is None:
            s = self.simplifier
            items = sorted(table.elements.items())
            args = (table.shape, tuple([p for p, _ in items]), *[v for _, v in items])
            known = self._arrays[ref.i] = s.add_step(pack, args, {}, s.metas[ref.i])
        return known

    def call(self, f: Any, args: tuple, kwargs: dict, meta: Meta, out: int | None) -> Any:
        """Return the result of a call that reads or makes a table; None for other calls."""
        if f is operator.getitem:
            return self._element(*args)
        if f is scatter:
            return self._scattered(args, meta, out)
        if f is set_item:
            return self._written(args, meta, out)
        if f is np.add and len(args) == 2:
            return self._sum(args[0], args[1], meta, out)
        if f in _FROM_LISTS:
            return self._from_list(args, kwargs, meta, out)
        if f is np.copy and args and type(args[0]) is Ref and args[0].i in self.tables:
            return args[0]
        return None

    def _table(self, x: Any) -> ElementTable | None:
        """Return an array as a table, if it is one already or a small constant."""
        if type(x) is Ref:
            return self.tables.get(x.i)
        if type(x) is np.ndarray and x.dtype == FLOAT64 and x.size <= _LARGEST_BASE:
            items = enumerate(x.ravel().tolist())
            return ElementTable(x.shape, {i: v for i, v in items if v or math.copysign(1.0, v) < 0})
        return None

    def _new(self, table: ElementTable, meta: Meta, out: int | None) -> Ref:
        i = self.simplifier.new_value(meta) if out is None else out
        self.tables[i] = table
        return Ref(i)

    def _element(self, x: Any, index: Any) -> Any:
        table = self.tables.get(x.i) if type(x) is Ref else None
        if table is None:
            return None
        place = flat_place(index, table.shape)
        return None if place is None else table.elements.get(place, 0.0)

    def _scattered(self, args: tuple, meta: Meta, out: int | None) -> Any:
        y_bar, index, shape, _ = args
        if meta.dtype != FLOAT64:
            return None
        place = flat_place(index, shape)
        if place is not None and self.simplifier.meta(y_bar).is_scalar:
            return self._new(ElementTable(shape, {place: y_bar}), meta, out)
        return None

    def _written(self, args: tuple, meta: Meta, out: int | None) -> Any:
        before, index, value = args
        table = self._table(before)
        if table is None or meta.dtype != FLOAT64:
            return None
        place = flat_place(index, table.shape)
        if place is None or not self.simplifier.meta(value).is_scalar:
            return None
        return self._new(ElementTable(table.shape, {**table.elements, place: value}), meta, out)

    def _from_list(self, args: tuple, kwargs: dict, meta: Meta, out: int | None) -> Any:
        """Return the table of an array that is made from nested lists of numbers."""
        options = [*args[1:], *kwargs.values()]
        if meta.dtype != FLOAT64 or not meta.shape or not all(_is_usual(v) for v in options):
            return None
        items = [args[0]]
        for n in meta.shape:
            if any(type(x) not in (list, tuple) or len(x) != n for x in items):
                return None
            items = [y for x in items for y in x]
        meta_of = self.simplifier.meta
        if not items or not all(type(x) is int or meta_of(x).is_scalar for x in items):
            return None
        if not any(type(x) is Ref for x in items):
            return None
        elements = {k: float(x) if type(x) is int else x for k, x in enumerate(items)}
        return self._new(ElementTable(meta.shape, elements), meta, out)

    def _is_plain(self, index: Any) -> bool:
        """Whether an index names each element once: if it has integers and slices alone."""
        parts = index if type(index) is tuple else (index,)
        return all(self.simplifier.meta(p).type in _PLAIN_INDEX for p in parts)

    def _sum(self, a: Any, b: Any, meta: Meta, out: int | None) -> Any:
        s = self.simplifier
        left = self.tables.get(a.i) if type(a) is Ref else None
        right = self.tables.get(b.i) if type(b) is Ref else None
        if left is not None and right is not None and left.shape == right.shape:
            if len(left.elements) < len(right.elements):
                left, right = right, left
            elements = dict(left.elements)
            for place, value in right.elements.items():
                before = elements.get(place)
                if before is not None:
                    value = s.call(np.add, (before, value), {}, s.meta(0.0))
                elements[place] = value
            return self._new(ElementTable(left.shape, elements), meta, out)
        for x, other in ((b, a), (a, b)):
            origin = s.origin.get(x.i) if type(x) is Ref else None
            if origin is None or origin.f is not scatter:
                continue
            if not s.meta(x).shape == s.meta(other).shape == meta.shape:
                continue
            y_bar, index = origin.args[:2]
            if (self._is_plain(index) or s.has_no_repeats(index)) and s.meta(x).dtype == meta.dtype:
                negated = s.origin.get(y_bar.i) if type(y_bar) is Ref else None
                if negated is not None and negated.f is np.negative:
                    return s.plain_call(sub_item, (other, index, negated.args[0]), {}, meta)
                return s.plain_call(add_item, (other, index, y_bar), {}, meta)
        return None


def _is_usual(option: Any) -> bool:
    """Whether an option of a constructor keeps the dtype float64 and the order of the elements."""
    return (
        option is None
        or option is float
        or (type(option) is int and option == 0)
        or (isinstance(option, np.dtype) and option == FLOAT64)
    )


def flat_place(index: Any, shape: tuple) -> int | None:
    """Return the flat index of one element, given by ints; None for other indices."""
    parts = index if type(index) is tuple else (index,)
    if len(parts) != len(shape):
        return None
    place = 0
    for p, n in zip(parts, shape, strict=True):
        if type(p) is not int or not -n <= p < n:
            return None
        place = place * n + p % n
    return place
