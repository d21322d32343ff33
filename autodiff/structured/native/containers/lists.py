"""Lists that may grow, and deques, in machine code.

A list is the address of some words: where its items lie, how many there are, for how many there is
room, for how many more before the first one, and how many a deque may have. All of them lie in the
store ``kept``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.containers.records import Records, width_of_item
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.code import I64, PTR, TYPES, constant, element_of
from autodiff.structured.native.numbers.comparisons import joined_tags, tag_of
from autodiff.structured.native.values import (
    COMPLEX_TAG,
    TAGS,
    Array,
    Chosen,
    Items,
    Known,
    List,
    Number,
    Queue,
    has_tag,
    is_whole,
    letter_of,
    may_be_single,
)
from autodiff.structured.writing.rules.calls_without_rules import JOINS

_DATA, _LENGTH, _ROOM, _BEFORE, _MOST = range(5)
_FIRST_ROOM = 8
_DTYPES = {"d": np.dtype(float), "z": np.dtype(complex), "s": np.dtype(np.float32),
           "i": np.dtype(np.int64), "b": np.dtype(bool)}  # fmt: skip


class Lists(Records):
    """Writes what is done with lists."""

    def _place(self, xs: List, k: Any) -> Any:
        """Return where an item is."""
        size = self.code.whole(self._size_of_item(xs))
        return self.code.at(self.code.word(xs.address, _DATA, PTR), self.b.mul(k, size))

    def _size_of_item(self, xs: List) -> int:
        return 8 * width_of_item(xs.items)

    def _put_words(self, xs: List, k: Any, words: list) -> None:
        place = self._place(xs, k)
        for j, word in enumerate(words):
            self.code.set_word(place, j, word)

    def _item_at(self, xs: List, k: Any) -> Any:
        place = self._place(xs, k)
        words = [self.code.word(place, j) for j in range(width_of_item(xs.items))]
        return self.of_words(xs.items, words)

    # -- lists -------------------------------------------------------------------------------------

    def made_list(self, items: Items, parts: list, times: Any = None, most: Any = None) -> List:
        """Return a list of these items, which may be repeated; a deque may have so many at most."""
        code, b = self.code, self.b
        count: Any = code.whole(len(parts))
        if times is not None:
            times = b.select(code.less(times, code.whole(0)), code.whole(0), times)
            count = b.mul(count, times)
        least = code.whole(_FIRST_ROOM)
        room = b.select(code.less(count, least), least, count)
        words = [self.words_of(items, x) for x in parts]
        size = b.mul(room, code.whole(8 * width_of_item(items)))
        data = memory.allocated(code, self.state, memory.KEPT, size)
        made = List(items, memory.allocated(code, self.state, memory.KEPT, code.whole(40)))
        none = code.whole(0)
        for k, word in enumerate((b.ptrtoint(data, I64), count, room, none, most or none)):
            code.set_word(made.address, k, word)
        if times is None:
            for k, own in enumerate(words):
                self._put_words(made, code.whole(k), own)
        else:
            with code.counted(times) as turn:
                for k, own in enumerate(words):
                    place = b.add(b.mul(turn, code.whole(len(parts))), code.whole(k))
                    self._put_words(made, place, own)
        return made

    def made_one_of(self, items: Items, x: Chosen) -> List:
        """Return the list that is chosen of several, which alone is made."""
        code, b = self.code, self.b
        place = code.variable(PTR)
        at = self.indexing.place(x.place, code.whole(len(x.parts)))
        for k, part in enumerate(x.parts):
            with code.branch(code.equal(at, code.whole(k))):
                b.store(self.made_list(items, part.parts).address, place)
        return List(items, b.load(place, typ=PTR))

    def one_of(self, parts: list, k: Any) -> Number:
        """Return one of some numbers that are displayed."""
        numbers = [self.scalars.number(p) for p in parts]
        if not all(isinstance(x, Number) for x in numbers) or not numbers:
            raise UnsupportedError("an index of a tuple")
        kind = Kind(frozenset[type]().union(*[x.kind.classes for x in numbers]))
        letter, b, code = letter_of(kind), self.b, self.code
        i = self.indexing.place(self.scalars.converted(k, "i"), code.whole(len(numbers)))
        first, *others = numbers
        made = Number(kind, letter, self.scalars.converted(first, letter))
        made.tag = tag_of(code, first) if has_tag(kind) else None
        for n, x in enumerate(others, 1):
            is_it = code.equal(i, code.whole(n))
            made.value = b.select(is_it, self.scalars.converted(x, letter), made.value)
            if made.tag is not None:
                made.tag = b.select(is_it, tag_of(code, x), made.tag)
        return made

    def length(self, xs: List) -> Any:
        """Return how many items there are."""
        return self.code.word(xs.address, _LENGTH)

    def most_of(self, xs: List) -> Any:
        """Return how many items a deque may have."""
        return self.code.word(xs.address, _MOST)

    def queue(self, items: Any, most: Any = None) -> Queue:
        """``deque((), maxlen)``."""
        if most is None:
            return Queue(None)
        most = self.scalars.number(most).value
        self.code.exit_if(self.code.less(most, self.code.whole(0)))
        return Queue(most)

    def append(self, xs: List, x: Any) -> None:
        """Append an item."""
        words = self.words_of(xs.items, x)
        n = self.length(xs)
        with self.code.branch(self.code.equal(n, self.code.word(xs.address, _ROOM))):
            self._make_room(xs, is_before=False)
        self._put_words(xs, n, words)
        self.code.set_word(xs.address, _LENGTH, self.b.add(n, self.code.whole(1)))

    def _make_room(self, xs: List, is_before: bool) -> None:
        """Make room behind the last item, or before the first one.

        What has room before its first item keeps as much there as behind the last one. So each item
        is moved a few times at most, wherever others are put in and taken out.
        """
        code, b, width = self.code, self.b, self._size_of_item(xs)
        n, before = self.length(xs), code.word(xs.address, _BEFORE)
        room = b.add(before, code.word(xs.address, _ROOM))
        least = b.add(b.add(n, n), code.whole(_FIRST_ROOM))
        is_short = code.less(room, least)
        larger = b.select(is_short, least, room)
        start = b.sdiv(b.sub(larger, n), code.whole(2))
        if not is_before:
            start = b.select(code.equal(before, code.whole(0)), before, start)
        old = code.word(xs.address, _DATA, PTR)
        first = code.variable(PTR)
        with code.branches(is_short) as (then, otherwise):
            with then:
                size = b.mul(larger, code.whole(width))
                b.store(memory.allocated(code, self.state, memory.KEPT, size), first)
            with otherwise:
                b.store(code.at(old, b.mul(before, code.whole(-width))), first)
        data = code.at(b.load(first, typ=PTR), b.mul(start, code.whole(width)))
        code.call("memmove", PTR, [data, old, b.mul(n, code.whole(width))])
        code.set_word(xs.address, _DATA, data)
        code.set_word(xs.address, _ROOM, b.sub(larger, start))
        code.set_word(xs.address, _BEFORE, start)

    def _move_start(self, xs: List, by: int) -> None:
        """Let a list start so many items later."""
        code, b = self.code, self.b
        data = code.at(code.word(xs.address, _DATA, PTR), code.whole(by * self._size_of_item(xs)))
        code.set_word(xs.address, _DATA, data)
        for k, change in ((_LENGTH, -by), (_ROOM, -by), (_BEFORE, by)):
            code.set_word(xs.address, k, b.add(code.word(xs.address, k), code.whole(change)))

    def _shift(self, xs: List, start: Any, count: Any, by: int) -> None:
        """Move items so many places on."""
        source = self._place(xs, start)
        target = self.code.at(source, self.code.whole(by * self._size_of_item(xs)))
        size = self.b.mul(count, self.code.whole(self._size_of_item(xs)))
        self.code.call("memmove", PTR, [target, source, size])

    def insert(self, xs: List, k: Any, x: Any) -> None:
        """``xs.insert(k, x)``: beyond an end, at this end."""
        code, b, zero = self.code, self.b, self.code.whole(0)
        words = self.words_of(xs.items, x)
        n = self.length(xs)
        at = self._most(b.select(code.less(k, zero), b.add(k, n), k), zero)
        at = self._least(at, n)
        with code.branches(code.equal(at, zero)) as (then, otherwise):
            with then:
                with code.branch(code.equal(code.word(xs.address, _BEFORE), zero)):
                    self._make_room(xs, is_before=True)
                self._move_start(xs, -1)
            with otherwise:
                with code.branch(code.equal(n, code.word(xs.address, _ROOM))):
                    self._make_room(xs, is_before=False)
                self._shift(xs, at, b.sub(n, at), 1)
                code.set_word(xs.address, _LENGTH, b.add(n, code.whole(1)))
        self._put_words(xs, at, words)

    def drop(self, xs: List, k: Any) -> None:
        """``del xs[k]``."""
        code, b, one = self.code, self.b, self.code.whole(1)
        n = self.length(xs)
        at = self.indexing.place(k, n)
        with code.branches(code.equal(at, code.whole(0))) as (then, otherwise):
            with then:
                self._move_start(xs, 1)
            with otherwise:
                after = b.add(at, one)
                self._shift(xs, after, b.sub(n, after), -1)
                code.set_word(xs.address, _LENGTH, b.sub(n, one))

    def on_put_back(self, xs: List, k: Any, x: Any) -> None:
        """``put_back(xs, k, x)``: what ``del xs[k]`` has taken out."""
        code, b = self.code, self.b
        at, n = self.scalars.number(k).value, self.length(xs)
        from_end = b.add(b.add(n, code.whole(1)), at)
        self.insert(xs, b.select(code.less(at, code.whole(0)), from_end, at), x)

    def on_taken_out(self, xs: List, k: Any) -> Any:
        """``taken_out(xs, k)``: what ``xs.insert(k, x)`` has put in."""
        code, b, zero = self.code, self.b, self.code.whole(0)
        at, last = self.scalars.number(k).value, b.sub(self.length(xs), code.whole(1))
        from_end = self._most(b.add(at, last), zero)
        at = b.select(code.less(at, zero), from_end, self._least(at, last))
        found = self.item(xs, at)
        self.drop(xs, at)
        return found

    def taken_off(self, xs: List) -> Any:
        """Take the last item off."""
        code = self.code
        n = self.length(xs)
        code.exit_if(code.equal(n, code.whole(0)))
        last = self.b.sub(n, code.whole(1))
        code.set_word(xs.address, _LENGTH, last)
        return self._item_at(xs, last)

    def item(self, xs: List, k: Any) -> Any:
        """Return the item at an index."""
        return self._item_at(xs, self.indexing.place(k, self.length(xs)))

    def set_item(self, xs: List, k: Any, x: Any, f: Any = None) -> None:
        """Write an item: `x`, or what a function makes of the number that was there and of `x`."""
        place = self.indexing.place(k, self.length(xs))
        if f is not None:
            x = self.changed(xs.items, self._item_at(xs, place), f, x)
        self._put_words(xs, place, self.words_of(xs.items, x))

    # -- functions ---------------------------------------------------------------------------------

    def joined_list(self, f: Any, xs: List, options: dict[str, Any]) -> Array:
        """Return an array of all items: put side by side, or one after the other along an axis."""
        ndim = xs.items.kind.ndim
        is_stacked = f not in JOINS or f is np.stack or (f is np.vstack and ndim < 2)
        if is_stacked and not (f is np.vstack and not ndim):
            return self.array_of(xs, options)
        axis = options.get("axis", Known(1 if f is np.hstack and ndim > 1 else 0))
        if not ndim or not isinstance(axis, Known) or type(axis.x) is not int:
            raise UnsupportedError("an array of a list like this in machine code")
        return self._concatenated(xs, axis.x % ndim)

    def _concatenated(self, xs: List, axis: int) -> Array:
        """Return the array in which all arrays of a list follow each other along an axis."""
        code, b, e, n = self.code, self.b, self.elementwise, self.length(xs)
        code.exit_if(code.equal(n, code.whole(0)))
        dtype, shape = xs.items.kind.dtype, list(self._item_at(xs, code.whole(0)).shape)
        assert dtype is not None
        size = code.variable(I64)
        b.store(code.whole(0), size)
        with code.counted(n) as i:
            x = self._item_at(xs, i)
            e.check_shape(*[[*s[:axis], *s[axis + 1 :]] for s in (x.shape, shape)])
            b.store(b.add(b.load(size, typ=I64), x.shape[axis]), size)
        shape[axis] = b.load(size, typ=I64)
        made = e.made(dtype, shape, self.store_of_new())
        self._each_piece(xs, made, axis, lambda x, piece: e.write(piece, x))
        return made

    def _each_piece(self, xs: List, whole: Array, axis: int, body: Callable) -> None:
        """Run a body for each array of a list, and the piece of an array that belongs to it."""
        code, b, start = self.code, self.b, self.code.variable(I64)
        b.store(code.whole(0), start)
        with code.counted(self.length(xs)) as i:
            x, first = self._item_at(xs, i), b.load(start, typ=I64)
            at = code.at(whole.address, b.mul(first, whole.strides[axis]))
            body(x, Array(whole.dtype, at, x.shape, whole.strides, whole.group))
            b.store(b.add(first, x.shape[axis]), start)

    def on_concatenate_back(self, shadows: Any, g: Any, axis: Any) -> None:
        """``concatenate_back(shadows, g, axis)``: cut the cotangent of joined arrays."""
        e = self.elementwise
        if not isinstance(shadows, List) or not shadows.items.kind.is_array:
            raise UnsupportedError("the adjoint of such an array in machine code")
        g = e.at_hand(g)
        k = axis.x % len(g.shape)
        self._each_piece(shadows, g, k, lambda x, piece: e.write(x, piece, operator.add))

    def array_of(self, xs: List, options: dict[str, Any]) -> Array:
        """Return the array of all items: of numbers, or of arrays of one shape."""
        code, b, e, kind = self.code, self.b, self.elementwise, xs.items.kind
        dtype, axis = options.pop("dtype", Known(None)), options.pop("axis", Known(0))
        if options or not isinstance(axis, Known) or axis.x != 0:
            raise UnsupportedError("an array of a list like this in machine code")
        if xs.items.inner is not None:
            return self._array_of_rows(xs, dtype)
        own = kind.dtype if kind.is_array else _DTYPES.get(letter_of(kind))
        wanted = dtype.x if isinstance(dtype, Known) else None
        if own == np.int64 and wanted is not None and np.dtype(wanted) == np.float64:
            own = np.dtype(float)
        if not isinstance(dtype, Known) or (wanted is not None and np.dtype(wanted) != own):
            raise UnsupportedError("an array of another dtype in machine code")
        n = self.length(xs)
        if kind.is_array:
            assert own is not None
            code.exit_if(code.equal(n, code.whole(0)))
            first = self._item_at(xs, code.whole(0))
            made = e.made(own, [n, *first.shape], self.store_of_new())
            with code.counted(n) as i:
                x = self._item_at(xs, i)
                e.check_shape(x.shape, first.shape)
                e.write(self.elementwise.row(made, i), x)
            return made
        is_other = may_be_single(kind) or (letter_of(kind) == "i" and not is_whole(kind))
        if own is None or is_other:
            raise UnsupportedError("an array of such numbers in machine code")
        if wanted is None and own != np.float64:
            code.exit_if(code.equal(n, code.whole(0)))
        if has_tag(kind) and wanted is None:
            is_other = b.icmp_signed("<", self._highest_tag(xs), code.whole(
                COMPLEX_TAG if kind.is_complex else TAGS[float]))  # fmt: skip
            code.exit_if(b.and_(is_other, code.less(code.whole(0), n)))
        made = e.made(own, [n], self.store_of_new())
        with code.counted(n) as i:
            e.put(own, self._item_at(xs, i), code.at(made.address, b.mul(i, made.strides[0])))
        return made

    def _array_of_rows(self, xs: List, dtype: Any) -> Array:
        """Return the array of lists of one length."""
        code, e = self.code, self.elementwise
        n = self.length(xs)
        if not isinstance(xs.items.inner, Items):
            raise UnsupportedError("an array of dicts")
        code.exit_if(code.equal(n, code.whole(0)))
        first = self.array_of(self._item_at(xs, code.whole(0)), {"dtype": dtype})
        made = e.made(first.dtype, [n, *first.shape], self.store_of_new())
        with code.counted(n) as i:
            row = self.array_of(self._item_at(xs, i), {"dtype": dtype})
            e.check_shape(row.shape, first.shape)
            e.write(self.elementwise.row(made, i), row)
        return made

    def _highest_tag(self, xs: List) -> Any:
        """Return the tag of the class that a sum of all numbers has."""
        code, b = self.code, self.b
        place = code.variable(I64)
        b.store(code.whole(TAGS[int]), place)
        with code.counted(self.length(xs)) as i:
            tag, highest = self._item_at(xs, i).tag, b.load(place, typ=I64)
            b.store(joined_tags(code, highest, tag), place)
        return b.load(place, typ=I64)

    def _sum_of_arrays(self, xs: List) -> Array:
        code, e = self.code, self.elementwise
        dtype, n = xs.items.kind.dtype, self.length(xs)
        assert dtype is not None
        code.exit_if(code.equal(n, code.whole(0)))  # an integer
        first = self._item_at(xs, code.whole(0))
        made = e.made(dtype, first.shape, self.store_of_new())
        e.write(made, self.scalars.known(0.0))
        with code.counted(n) as i:
            x = self._item_at(xs, i)
            e.check_shape(x.shape, first.shape)
            e.write(made, x, operator.add)
        return made

    def sum_of(self, xs: List) -> Number | Array:
        """Return the sum of numbers or arrays, one after the other."""
        code, b, kind = self.code, self.b, xs.items.kind
        if kind.is_array and kind.ndim and element_of(kind.dtype)[1] in "dszc":
            return self._sum_of_arrays(xs)
        is_other = kind.is_array or xs.items.inner is not None
        if not is_other and kind.classes <= {int, bool}:
            return self._sum_of_integers(xs)
        if is_other or letter_of(kind) not in "dzs":
            raise UnsupportedError("a sum of such items in machine code")
        letter = letter_of(kind)
        held = TYPES[letter]
        place = code.variable(held)
        b.store(constant(held, 0.0), place)
        with code.counted(self.length(xs)) as i:
            b.store(b.fadd(b.load(place, typ=held), self._item_at(xs, i).value), place)
        value = self.scalars.converted(Number(kind, letter, b.load(place, typ=held)), _wide(letter))
        made = Number(Kind(kind.classes | {int}), _wide(letter), value)
        # That of nothing is an integer.
        own = self._highest_tag(xs) if has_tag(kind) else tag_of(code, Number(kind, letter, None))
        is_empty = code.equal(self.length(xs), code.whole(0))
        made.tag = b.select(is_empty, code.whole(TAGS[int]), own)
        return made

    def _sum_of_integers(self, xs: List) -> Number:
        place, kind = self.code.variable(I64), Kind(frozenset([int]))
        self.b.store(self.code.whole(0), place)
        with self.code.counted(self.length(xs)) as i:
            parts = [Number(kind, "i", self.b.load(place, typ=I64)), self._item_at(xs, i)]
            self.b.store(self.scalars.function(operator.add, parts, kind).value, place)
        return Number(kind, "i", self.b.load(place, typ=I64))

    def on_sum_back(self, shadows: Any, g: Any, axis: Any) -> None:
        """``sum_back(shadows, g, axis)``: add the cotangent of a sum to each number or array."""
        if shadows.items.kind.is_array:
            g = self.elementwise.at_hand(g)
            with self.code.counted(self.length(shadows)) as i:
                self.elementwise.write(self._item_at(shadows, i), g, operator.add)
            return
        with self.code.counted(self.length(shadows)) as i:
            self.set_item(shadows, i, g, np.add)

    def on_stack_back(self, shadows: Any, g: Any, axis: Any) -> None:
        """``stack_back(shadows, g, 0)``: take the cotangent of an array of all items apart."""
        code, e = self.code, self.elementwise
        if not isinstance(shadows, List) or axis.x != 0:
            raise UnsupportedError("the adjoint of such an array in machine code")
        g = e.at_hand(g)
        e.check_shape([g.shape[0]], [self.length(shadows)])
        with code.counted(g.shape[0]) as i:
            if shadows.items.inner is not None:
                self.on_stack_back(self._item_at(shadows, i), self.elementwise.row(g, i), axis)
            elif shadows.items.kind.is_array:
                e.write(self._item_at(shadows, i), self.elementwise.row(g, i), np.add)
            else:
                at = code.at(g.address, self.b.mul(i, g.strides[0]))
                self.set_item(shadows, i, e.read(g.dtype, at), np.add)


def _wide(letter: str) -> str:
    """Return how a number is held that may be an integer instead of one of single precision."""
    return "d" if letter == "s" else letter
