"""Scalar replacement: arrays that are written or added to element by element are kept as elements.

A loop that writes ``out[i]``, or the gradient of one that reads ``x[i]``, makes a chain of arrays,
each of which differs from the one before in one place. Here such an array is a table of numbers,
which is materialised where an array is needed. Slices that are written or added become steps that
change an array in place, where nobody needs the old one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compiler.recording.ir import FLOAT64, Meta, Ref, Step, add_item, set_item, sub_item
from chainrules_core.operations.scattering import may_repeat, scatter

_LARGEST_BASE = 4096
_FROM_LISTS = frozenset({np.array, np.asarray, np.stack})


def pack(shape: tuple, places: tuple, *values: Any) -> np.ndarray:
    """Return an array of zeros with values at flat places."""
    x = np.zeros(shape)
    flat = x.reshape(-1)
    for place, value in zip(places, values, strict=True):
        flat[place] = value
    return x


class Pack:
    """An array as a table: flat place → number."""

    __slots__ = ("elements", "shape")

    def __init__(self, shape: tuple, elements: dict[int, Any]) -> None:
        self.shape = shape
        self.elements = elements


class Packs:
    """The tables of a program under way."""

    def __init__(self, simplifier: Any) -> None:
        self.simplifier = simplifier
        self.tables: dict[int, Pack] = {}
        self._arrays: dict[int, Ref] = {}

    def plain_call(self, f: Callable, args: tuple, kwargs: dict, meta: Meta) -> Ref:
        """Write a step."""
        s = self.simplifier
        args = tuple([s.needed(a) for a in args])
        key = (f, *[s._key(a) for a in args])
        known = s.made.get(key)
        if known is None:
            i = s.number(meta)
            step = Step(f, args, kwargs or None, i)
            s.steps.append(step)
            s.origin[i] = step
            known = s.made[key] = Ref(i)
        return known

    def materialised(self, ref: Ref) -> Ref:
        """Return an array that is one."""
        table = self.tables.get(ref.i)
        if table is None:
            return ref
        known = self._arrays.get(ref.i)
        if known is None:
            s = self.simplifier
            items = sorted(table.elements.items())
            args = (table.shape, tuple([p for p, _ in items]), *[v for _, v in items])
            i = s.number(s.metas[ref.i])
            step = Step(pack, args, None, i)
            s.steps.append(step)
            s.origin[i] = step
            known = self._arrays[ref.i] = Ref(i)
        return known

    def call(self, f: Any, args: tuple, kwargs: dict, meta: Meta, out: int | None) -> Any:
        """Return what stands for a call on or of tables, if it is one; None else."""
        if f is operator.getitem:
            return self._element(*args)
        if f is scatter:
            return self._scattered(args, meta, out)
        if f is set_item:
            return self._written(args, meta, out)
        if f is np.add and len(args) == 2:
            return self._sum(args[0], args[1], meta, out)
        if f in _FROM_LISTS:
            return self._from_list(f, args, kwargs, meta, out)
        if f is np.copy and args and type(args[0]) is Ref and args[0].i in self.tables:
            return args[0]
        return None

    def _table(self, x: Any) -> Pack | None:
        """Return an array as a table, if it is a small constant or one already."""
        if type(x) is Ref:
            return self.tables.get(x.i)
        if type(x) is np.ndarray and x.dtype == FLOAT64 and x.size <= _LARGEST_BASE:
            return Pack(x.shape, {i: v for i, v in enumerate(x.ravel().tolist()) if v != 0})
        return None

    def _new(self, table: Pack, meta: Meta, out: int | None) -> Ref:
        i = self.simplifier.number(meta) if out is None else out
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
            return self._new(Pack(shape, {place: y_bar}), meta, out)
        return None

    def _written(self, args: tuple, meta: Meta, out: int | None) -> Any:
        before, index, value = args
        table = self._table(before)
        if table is None or meta.dtype != FLOAT64:
            return None
        place = flat_place(index, table.shape)
        if place is None or not self.simplifier.meta(value).is_scalar:
            return None
        return self._new(Pack(table.shape, {**table.elements, place: value}), meta, out)

    def _from_list(self, f: Any, args: tuple, kwargs: dict, meta: Meta, out: int | None) -> Any:
        """An array made of a nest of numbers."""
        options = [*args[1:], *kwargs.values()]
        if meta.dtype != FLOAT64 or not meta.shape or not all(_is_usual(v) for v in options):
            return None
        items = [args[0]]
        for n in meta.shape:
            if any(type(x) not in (list, tuple) or len(x) != n for x in items):
                return None
            items = [y for x in items for y in x]
        is_number = self.simplifier.meta
        if not items or not all(type(x) is int or is_number(x).is_scalar for x in items):
            return None
        if not any(type(x) is Ref for x in items):
            return None
        elements = {k: float(x) if type(x) is int else x for k, x in enumerate(items)}
        return self._new(Pack(meta.shape, elements), meta, out)

    def _sum(self, a: Any, b: Any, meta: Meta, out: int | None) -> Any:
        s = self.simplifier
        left = self.tables.get(a.i) if type(a) is Ref else None
        right = self.tables.get(b.i) if type(b) is Ref else None
        if left is not None and right is not None and left.shape == right.shape:
            if len(left.elements) < len(right.elements):
                left, right = right, left
            elements = dict(left.elements)
            number = s.meta(0.0)
            for place, value in right.elements.items():
                before = elements.get(place)
                elements[place] = (
                    value if before is None else s.call(np.add, (before, value), {}, number)
                )
            return self._new(Pack(left.shape, elements), meta, out)
        for x, other in ((b, a), (a, b)):
            origin = s.origin.get(x.i) if type(x) is Ref else None
            if origin is None or origin.f is not scatter or s.meta(other).shape != meta.shape:
                continue
            y_bar, index = origin.args[:2]
            if _is_plain_index(index) and not may_repeat(index) and s.meta(x).dtype == meta.dtype:
                negated = s.origin.get(y_bar.i) if type(y_bar) is Ref else None
                if negated is not None and negated.f is np.negative:
                    return self.plain_call(sub_item, (other, index, negated.args[0]), {}, meta)
                return self.plain_call(add_item, (other, index, y_bar), {}, meta)
        return None


def _is_usual(option: Any) -> bool:
    """Whether an option of what makes an array leaves it an array of float64 in the given order."""
    return (
        option is None
        or option is float
        or (type(option) is int and option == 0)
        or (isinstance(option, np.dtype) and option == FLOAT64)
    )


def _is_plain_index(index: Any) -> bool:
    parts = index if type(index) is tuple else (index,)
    return all(p is None or type(p) in (int, slice, type(Ellipsis)) for p in parts)


def flat_place(index: Any, shape: tuple) -> int | None:
    """Return the flat place that an index of ints points to; None for another index."""
    parts = index if type(index) is tuple else (index,)
    if len(parts) != len(shape):
        return None
    place = 0
    for p, n in zip(parts, shape, strict=True):
        if type(p) is not int or not -n <= p < n:
            return None
        place = place * n + p % n
    return place
