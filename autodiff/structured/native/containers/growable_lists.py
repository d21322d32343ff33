"""Growable lists and deques.

A list is a struct of words: the address of its first item, its length, its capacity from there on,
the free capacity before the first item, and the `maxlen` of a deque. Structs and items lie in the
store ``kept``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from autodiff.intercept.runtime.builtin_calls import SUM_TAKES_ERRORS_ALONG
from autodiff.structured.form.kinds import INT, Kind, UnsupportedError
from autodiff.structured.native.containers.known_dicts import DictOperations, width_of_item
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.function_builder import I64, PTR, TYPES, constant, element_of
from autodiff.structured.native.lowered_values import (
    COMPLEX_TAG,
    TAGS,
    Array,
    EmptyDeque,
    ItemType,
    ListRef,
    Number,
    SelectedList,
    StaticValue,
    has_tag,
    is_whole,
    letter_of,
    may_be_float32,
)
from autodiff.structured.native.numbers.comparisons import common_tag, tag_of
from autodiff.structured.writing.rules.known_adjoints import JOINS

DATA, _LENGTH, _CAPACITY, _BEFORE, _MAXLEN = range(5)
_MIN_CAPACITY = 8
_DTYPES = {"d": np.dtype(float), "z": np.dtype(complex), "s": np.dtype(np.float32),
           "i": np.dtype(np.int64), "b": np.dtype(bool)}  # fmt: skip


class ListOperations(DictOperations):
    """Operations on lists and deques."""

    def _address_of_item(self, xs: ListRef, k: Any) -> Any:
        size = self.code.whole(self._size_of_item(xs))
        return self.code.at(self.code.word(xs.address, DATA, PTR), self.b.mul(k, size))

    def _size_of_item(self, xs: ListRef) -> int:
        return 8 * width_of_item(xs.items)

    def _store_words(self, xs: ListRef, k: Any, words: list) -> None:
        address = self._address_of_item(xs, k)
        for j, word in enumerate(words):
            self.code.set_word(address, j, word)

    def _item_at(self, xs: ListRef, k: Any) -> Any:
        """Return the item at an index that is known to be in bounds."""
        address = self._address_of_item(xs, k)
        words = [self.code.word(address, j) for j in range(width_of_item(xs.items))]
        return self.item_from_words(xs.items, words)

    # -- lists -------------------------------------------------------------------------------------

    def new_list(self, items: ItemType, parts: list, times: Any = None, n: Any = None) -> ListRef:
        """Allocate the list ``parts * times``, or a deque of at most n items."""
        code, b = self.code, self.b
        count: Any = code.whole(len(parts))
        if times is not None:
            times = code.greater(times, code.whole(0))
            count = b.mul(count, times)
        capacity = code.greater(count, code.whole(_MIN_CAPACITY))
        words = [self.item_words(items, x) for x in parts]
        size = b.mul(capacity, code.whole(8 * width_of_item(items)))
        data = memory.allocated(code, self.state, memory.KEPT, size)
        result = ListRef(items, memory.allocated(code, self.state, memory.KEPT, code.whole(40)))
        zero = code.whole(0)
        for k, word in enumerate((b.ptrtoint(data, I64), count, capacity, zero, n or zero)):
            code.set_word(result.address, k, word)
        if times is None:
            for k, own in enumerate(words):
                self._store_words(result, code.whole(k), own)
        else:
            with code.counted(times) as i:
                for k, own in enumerate(words):
                    index = b.add(b.mul(i, code.whole(len(parts))), code.whole(k))
                    self._store_words(result, index, own)
        return result

    def select_list(self, items: ItemType, x: SelectedList) -> ListRef:
        """Allocate the list display at an index, and no other."""
        code, b = self.code, self.b
        address = code.variable(PTR)
        at = self.indexing.checked_index(x.index, code.whole(len(x.parts)))
        for k, part in enumerate(x.parts):
            with code.branch(code.equal(at, code.whole(k))):
                b.store(self.new_list(items, part.parts).address, address)
        return ListRef(items, b.load(address, typ=PTR))

    def select_number(self, parts: list, k: Any) -> Number:
        """Return the number at an index of a tuple."""
        numbers = [self.scalars.number(p) for p in parts]
        if not all(isinstance(x, Number) for x in numbers) or not numbers:
            raise UnsupportedError("an index of a tuple")
        kind = Kind(frozenset[type]().union(*[x.kind.classes for x in numbers]))
        letter, b, code = letter_of(kind), self.b, self.code
        i = self.indexing.checked_index(self.scalars.converted(k, "i"), code.whole(len(numbers)))
        first, *others = numbers
        result = Number(kind, letter, self.scalars.converted(first, letter))
        result.tag = tag_of(code, first) if has_tag(kind) else None
        for n, x in enumerate(others, 1):
            is_it = code.equal(i, code.whole(n))
            result.value = b.select(is_it, self.scalars.converted(x, letter), result.value)
            if result.tag is not None:
                result.tag = b.select(is_it, tag_of(code, x), result.tag)
        return result

    def length(self, xs: ListRef) -> Any:
        """``len(xs)``."""
        return self.code.word(xs.address, _LENGTH)

    def maxlen(self, xs: ListRef) -> Any:
        """``xs.maxlen``."""
        return self.code.word(xs.address, _MAXLEN)

    def queue(self, items: Any, maxlen: Any = None) -> EmptyDeque:
        """``deque((), maxlen)``."""
        if maxlen is None:
            return EmptyDeque(None)
        maxlen = self.scalars.number(maxlen).value
        self.code.exit_if(self.code.less(maxlen, self.code.whole(0)))
        return EmptyDeque(maxlen)

    def append(self, xs: ListRef, x: Any) -> None:
        """``xs.append(x)``."""
        self.append_words(xs, self.item_words(xs.items, x))

    def append_words(self, xs: ListRef, words: list) -> None:
        """Append the words of an item."""
        n = self.length(xs)
        with self.code.branch(self.code.equal(n, self.code.word(xs.address, _CAPACITY))):
            self._grow(xs, is_before=False)
        self._store_words(xs, n, words)
        self.code.set_word(xs.address, _LENGTH, self.b.add(n, self.code.whole(1)))

    def _grow(self, xs: ListRef, is_before: bool) -> None:
        """Make room after the last item, or before the first one.

        Unless items are only added at the end, the free capacity is split evenly between both ends.
        So insertions and deletions at both ends take amortized constant time.
        """
        code, b, width = self.code, self.b, self._size_of_item(xs)
        n, before = self.length(xs), code.word(xs.address, _BEFORE)
        capacity = b.add(before, code.word(xs.address, _CAPACITY))
        least = b.add(b.add(n, n), code.whole(_MIN_CAPACITY))
        is_short = code.less(capacity, least)
        larger = b.select(is_short, least, capacity)
        start = b.sdiv(b.sub(larger, n), code.whole(2))
        if not is_before:
            start = b.select(code.equal(before, code.whole(0)), before, start)
        old = code.word(xs.address, DATA, PTR)
        first = code.variable(PTR)
        with code.branches(is_short) as (then, otherwise):
            with then:
                size = b.mul(larger, code.whole(width))
                b.store(memory.allocated(code, self.state, memory.KEPT, size), first)
            with otherwise:
                b.store(code.at(old, b.mul(before, code.whole(-width))), first)
        data = code.at(b.load(first, typ=PTR), b.mul(start, code.whole(width)))
        code.call("memmove", PTR, [data, old, b.mul(n, code.whole(width))])
        code.set_word(xs.address, DATA, data)
        code.set_word(xs.address, _CAPACITY, b.sub(larger, start))
        code.set_word(xs.address, _BEFORE, start)

    def _move_start(self, xs: ListRef, by: int) -> None:
        """Move the start of a list by some items, without moving the items."""
        code, b = self.code, self.b
        data = code.at(code.word(xs.address, DATA, PTR), code.whole(by * self._size_of_item(xs)))
        code.set_word(xs.address, DATA, data)
        for k, change in ((_LENGTH, -by), (_CAPACITY, -by), (_BEFORE, by)):
            code.set_word(xs.address, k, b.add(code.word(xs.address, k), code.whole(change)))

    def _shift(self, xs: ListRef, start: Any, count: Any, by: int) -> None:
        """Move items by some positions."""
        source = self._address_of_item(xs, start)
        target = self.code.at(source, self.code.whole(by * self._size_of_item(xs)))
        size = self.b.mul(count, self.code.whole(self._size_of_item(xs)))
        self.code.call("memmove", PTR, [target, source, size])

    def insert(self, xs: ListRef, k: Any, x: Any) -> None:
        """``xs.insert(k, x)``, which clamps `k`."""
        code, b, zero = self.code, self.b, self.code.whole(0)
        words = self.item_words(xs.items, x)
        n = self.length(xs)
        at = self.code.greater(b.select(code.less(k, zero), b.add(k, n), k), zero)
        at = self.code.lesser(at, n)
        with code.branches(code.equal(at, zero)) as (then, otherwise):
            with then:
                with code.branch(code.equal(code.word(xs.address, _BEFORE), zero)):
                    self._grow(xs, is_before=True)
                self._move_start(xs, -1)
            with otherwise:
                with code.branch(code.equal(n, code.word(xs.address, _CAPACITY))):
                    self._grow(xs, is_before=False)
                self._shift(xs, at, b.sub(n, at), 1)
                code.set_word(xs.address, _LENGTH, b.add(n, code.whole(1)))
        self._store_words(xs, at, words)

    def drop(self, xs: ListRef, k: Any) -> None:
        """``del xs[k]``."""
        code, b, one = self.code, self.b, self.code.whole(1)
        n = self.length(xs)
        at = self.indexing.checked_index(k, n)
        with code.branches(code.equal(at, code.whole(0))) as (then, otherwise):
            with then:
                self._move_start(xs, 1)
            with otherwise:
                after = b.add(at, one)
                self._shift(xs, after, b.sub(n, after), -1)
                code.set_word(xs.address, _LENGTH, b.sub(n, one))

    def on_put_back(self, xs: ListRef, k: Any, x: Any) -> None:
        """``put_back(xs, k, x)``: undo ``del xs[k]``."""
        code, b = self.code, self.b
        at, n = self.scalars.number(k).value, self.length(xs)
        from_end = b.add(b.add(n, code.whole(1)), at)
        self.insert(xs, b.select(code.less(at, code.whole(0)), from_end, at), x)

    def on_taken_out(self, xs: ListRef, k: Any) -> Any:
        """``taken_out(xs, k)``: undo ``xs.insert(k, x)``, and return the item."""
        code, b, zero = self.code, self.b, self.code.whole(0)
        at, last = self.scalars.number(k).value, b.sub(self.length(xs), code.whole(1))
        from_end = self.code.greater(b.add(at, last), zero)
        at = b.select(code.less(at, zero), from_end, self.code.lesser(at, last))
        found = self.item(xs, at)
        self.drop(xs, at)
        return found

    def pop(self, xs: ListRef) -> Any:
        """``xs.pop()``."""
        code = self.code
        n = self.length(xs)
        code.exit_if(code.equal(n, code.whole(0)))
        last = self.b.sub(n, code.whole(1))
        code.set_word(xs.address, _LENGTH, last)
        return self._item_at(xs, last)

    def item(self, xs: ListRef, k: Any) -> Any:
        """``xs[k]``."""
        return self._item_at(xs, self.indexing.checked_index(k, self.length(xs)))

    def on_has_item(self, xs: Any, k: Any) -> Number:
        """``has_item(xs, k)``."""
        return Number(Kind(frozenset([bool])), "b", self._item_and_flag(xs, k)[1])

    def on_item_or(self, xs: Any, k: Any, otherwise: Any) -> Any:
        """``item_or(xs, k, otherwise)``; nobody reads what stands in for None."""
        return self._item_and_flag(xs, k)[0]

    def _item_and_flag(self, xs: Any, k: Any) -> tuple[Any, Any]:
        """Return an item and whether it is not None."""
        if not (isinstance(xs, ListRef) and xs.items.may_be_none):
            raise UnsupportedError("an item that may be None, of something other than a list")
        at = self.indexing.checked_index(self.scalars.number(k).value, self.length(xs))
        address, n = self._address_of_item(xs, at), width_of_item(xs.items) - 1
        words = [self.code.word(address, j) for j in range(n + 1)]
        has = self.b.icmp_signed("!=", words[n], self.code.whole(0))
        return self.item_from_words(replace(xs.items, may_be_none=False), words[:n]), has

    def set_item(self, xs: ListRef, k: Any, x: Any, f: Any = None) -> None:
        """``xs[k] = x`` or ``xs[k] = f(xs[k], x)``."""
        index = self.indexing.checked_index(k, self.length(xs))
        if f is not None:
            x = self.combined(xs.items, self._item_at(xs, index), f, x)
        self._store_words(xs, index, self.item_words(xs.items, x))

    # -- functions ---------------------------------------------------------------------------------

    def joined_list(self, f: Any, xs: ListRef, options: dict[str, Any]) -> Array:
        """``np.array``, ``np.stack``, ``np.concatenate`` and the like of all items of a list."""
        ndim = xs.items.kind.ndim
        is_stacked = f not in JOINS or f is np.stack or (f is np.vstack and ndim < 2)
        if is_stacked and not (f is np.vstack and not ndim):
            return self.array_of(xs, options)
        axis = options.get("axis", StaticValue(1 if f is np.hstack and ndim > 1 else 0))
        if not ndim or not isinstance(axis, StaticValue) or type(axis.x) is not int:
            raise UnsupportedError("an array of this list")
        return self._concatenated(xs, axis.x % ndim)

    def _concatenated(self, xs: ListRef, axis: int) -> Array:
        code, b, e, n = self.code, self.b, self.elementwise, self.length(xs)
        code.exit_if(code.equal(n, code.whole(0)))
        first = self._item_at(xs, code.whole(0))
        shape = list(first.shape)
        size = code.stored(code.whole(0))
        with code.counted(n) as i:
            x = self._item_at(xs, i)
            e.check_shape(*[[*s[:axis], *s[axis + 1 :]] for s in (x.shape, shape)])
            b.store(b.add(b.load(size, typ=I64), x.shape[axis]), size)
        shape[axis] = b.load(size, typ=I64)
        result = e.allocate(first.dtype, shape, self.store)
        self._each_piece(xs, result, axis, lambda x, piece: e.write(piece, x))
        return result

    def _each_piece(self, xs: ListRef, whole: Array, axis: int, body: Callable) -> None:
        """Emit a loop over the arrays of a list and their pieces of the concatenated array."""
        code, b, start = self.code, self.b, self.code.stored(self.code.whole(0))
        with code.counted(self.length(xs)) as i:
            x, first = self._item_at(xs, i), b.load(start, typ=I64)
            at = code.at(whole.address, b.mul(first, whole.strides[axis]))
            body(x, whole.view(at, x.shape, whole.strides))
            b.store(b.add(first, x.shape[axis]), start)

    def on_concatenate_back(self, shadows: Any, g: Any, axis: Any) -> None:
        """``concatenate_back(shadows, g, axis)``: split a cotangent, and add the pieces."""
        e = self.elementwise
        if not isinstance(shadows, ListRef) or not shadows.items.kind.is_array:
            raise UnsupportedError("the adjoint of this concatenation")
        g = e.as_array(g)
        k = axis.x % len(g.shape)
        self._each_piece(shadows, g, k, lambda x, piece: e.write(x, piece, operator.add))

    def array_of(self, xs: ListRef, options: dict[str, Any]) -> Array:
        """Stack the items of a list: numbers, arrays or lists."""
        code, b, e, kind = self.code, self.b, self.elementwise, xs.items.kind
        dtype, axis = options.pop("dtype", StaticValue(None)), options.pop("axis", StaticValue(0))
        if options or not isinstance(axis, StaticValue) or axis.x != 0:
            raise UnsupportedError("an array of this list")
        if isinstance(xs.items.inner, ItemType):
            return self._stacked(xs, lambda x: self.array_of(x, {"dtype": dtype}))
        if xs.items.inner is not None:
            raise UnsupportedError("an array of dicts")
        own = kind.dtype if kind.is_array else _DTYPES.get(letter_of(kind))
        if not isinstance(dtype, StaticValue):
            raise UnsupportedError("an array whose dtype is not constant")
        requested = None if dtype.x is None else np.dtype(dtype.x)
        if own == np.int64 and requested == np.float64:
            own = requested
        if requested is not None and requested != own:
            raise UnsupportedError("an array of another dtype")
        if kind.is_array:
            return self._stacked(xs, lambda x: x, own)
        n = self.length(xs)
        is_other = may_be_float32(kind) or (letter_of(kind) == "i" and not is_whole(kind))
        if own is None or is_other:
            raise UnsupportedError("an array of these numbers")
        if requested is None and own != np.float64:
            code.exit_if(code.equal(n, code.whole(0)))
        if has_tag(kind) and requested is None:
            least = code.whole(COMPLEX_TAG if kind.is_complex else TAGS[float])
            is_lower = b.icmp_signed("<", self._highest_tag(xs), least)
            code.exit_if(b.and_(is_lower, code.less(code.whole(0), n)))
        result = e.allocate(own, [n], self.store)
        with code.counted(n) as i:
            e.store_item(result, i, self._item_at(xs, i))
        return result

    def _stacked(self, xs: ListRef, row: Callable[[Any], Any], dtype: Any = None) -> Array:
        """Stack the arrays, of one shape, that `row` makes of the items of a list."""
        code, e, n = self.code, self.elementwise, self.length(xs)
        code.exit_if(code.equal(n, code.whole(0)))
        first = row(self._item_at(xs, code.whole(0)))
        result = e.allocate(dtype or first.dtype, [n, *first.shape], self.store)
        with code.counted(n) as i:
            x = row(self._item_at(xs, i))
            e.check_shape(x.shape, first.shape)
            e.write(e.row(result, i), x)
        return result

    def _highest_tag(self, xs: ListRef) -> Any:
        """Return the tag of the class of the sum of all numbers."""
        code, b = self.code, self.b
        variable = code.stored(code.whole(TAGS[int]))
        with code.counted(self.length(xs)) as i:
            tag, highest = self._item_at(xs, i).tag, b.load(variable, typ=I64)
            b.store(common_tag(code, highest, tag), variable)
        return b.load(variable, typ=I64)

    def _sum_of_arrays(self, xs: ListRef) -> Array:
        code, e = self.code, self.elementwise
        n = self.length(xs)
        code.exit_if(code.equal(n, code.whole(0)))  # the sum is an integer
        first = self._item_at(xs, code.whole(0))
        result = e.allocate(first.dtype, first.shape, self.store)
        e.write(result, self.scalars.known(0.0))
        with code.counted(n) as i:
            x = self._item_at(xs, i)
            e.check_shape(x.shape, first.shape)
            e.write(result, x, operator.add)
        return result

    def sum_of(self, xs: ListRef) -> Number | Array:
        """``sum(xs)`` of numbers or arrays, in order."""
        code, b, kind = self.code, self.b, xs.items.kind
        if kind.is_array and kind.ndim and element_of(kind.dtype)[1] in "dszc":
            return self._sum_of_arrays(xs)
        is_other = kind.is_array or xs.items.inner is not None
        if not is_other and kind.classes <= {int, bool}:
            return self._sum_of_integers(xs)
        if is_other or letter_of(kind) not in "dzs":
            raise UnsupportedError("a sum of these items")
        letter = letter_of(kind)
        has_errors = SUM_TAKES_ERRORS_ALONG and float in kind.classes
        if has_errors and letter != "d":
            raise UnsupportedError("a sum of complex numbers and floats")
        wide = "d" if letter == "s" else letter  # the sum may be an integer
        add_all = self._added_with_errors if has_errors else self._added
        value = self.scalars.converted(Number(kind, letter, add_all(xs, TYPES[letter])), wide)
        result = Number(Kind(kind.classes | {int}), wide, value)
        tag = self._highest_tag(xs) if has_tag(kind) else tag_of(code, Number(kind, letter, None))
        is_empty = code.equal(self.length(xs), code.whole(0))
        result.tag = b.select(is_empty, code.whole(TAGS[int]), tag)  # sum([]) is 0
        return result

    def _added(self, xs: ListRef, held: Any) -> Any:
        b, total = self.b, self.code.stored(constant(held, 0.0))
        with self.code.counted(self.length(xs)) as i:
            b.store(b.fadd(b.load(total, typ=held), self._item_at(xs, i).value), total)
        return b.load(total, typ=held)

    def _added_with_errors(self, xs: ListRef, held: Any) -> Any:
        """Add as Python does: the rounding errors of its floats are added at the end.

        The first number of NumPy ends this: the errors so far are added before it.
        """
        code, b = self.code, self.b
        zero = constant(held, 0.0)
        total, error = code.stored(zero), code.stored(zero)
        are_pythons = code.stored(code.whole(1))

        def with_error(t: Any, e: Any) -> Any:
            size = self.scalars.library("fabs", [e], "d")
            is_kept = b.fcmp_ordered("<", size, constant(held, math.inf))
            is_kept = b.and_(is_kept, b.fcmp_ordered("!=", e, zero))
            return b.select(is_kept, b.fadd(t, e), t)

        with code.counted(self.length(xs)) as i:
            item = self._item_at(xs, i)
            x, tag = item.value, tag_of(code, item)
            before, e = b.load(total, typ=held), b.load(error, typ=held)
            is_float = code.equal(tag, code.whole(TAGS[float]))
            is_pythons = b.or_(is_float, code.equal(tag, code.whole(TAGS[int])))
            was_pythons = code.equal(b.load(are_pythons, typ=I64), code.whole(1))
            goes_on = b.and_(was_pythons, is_pythons)
            b.store(b.select(goes_on, code.whole(1), code.whole(0)), are_pythons)
            after = b.fadd(before, x)
            added = b.fsub(after, before)  # D. E. Knuth's two-sum
            lost = b.fadd(b.fsub(before, b.fsub(after, added)), b.fsub(x, added))
            carried = b.select(is_float, b.fadd(e, lost), e)
            b.store(b.select(goes_on, carried, zero), error)
            b.store(b.select(goes_on, after, b.fadd(with_error(before, e), x)), total)
        return with_error(b.load(total, typ=held), b.load(error, typ=held))

    def _sum_of_integers(self, xs: ListRef) -> Number:
        total, kind = self.code.stored(self.code.whole(0)), INT
        with self.code.counted(self.length(xs)) as i:
            parts = [Number(kind, "i", self.b.load(total, typ=I64)), self._item_at(xs, i)]
            self.b.store(self.scalars.function(operator.add, parts, kind).value, total)
        return Number(kind, "i", self.b.load(total, typ=I64))

    def on_sum_back(self, shadows: Any, g: Any, axis: Any) -> None:
        """``sum_back(shadows, g, axis)``: add the cotangent of a sum to each number or array."""
        of_arrays = shadows.items.kind.is_array
        g = self.elementwise.as_array(g) if of_arrays else g
        with self.code.counted(self.length(shadows)) as i:
            if of_arrays:
                self.elementwise.write(self._item_at(shadows, i), g, operator.add)
            else:
                self.set_item(shadows, i, g, np.add)

    def on_stack_back(self, shadows: Any, g: Any, axis: Any) -> None:
        """``stack_back(shadows, g, 0)``: add each row of a cotangent to the shadow of an item."""
        e = self.elementwise
        if not isinstance(shadows, ListRef) or axis.x != 0:
            raise UnsupportedError("the adjoint of this stack")
        g = e.as_array(g)
        e.check_shape([g.shape[0]], [self.length(shadows)])
        with self.code.counted(g.shape[0]) as i:
            if shadows.items.inner is not None:
                self.on_stack_back(self._item_at(shadows, i), self.elementwise.row(g, i), axis)
            elif shadows.items.kind.is_array:
                e.write(self._item_at(shadows, i), self.elementwise.row(g, i), np.add)
            else:
                self.set_item(shadows, i, e.load_item(g, i), np.add)
