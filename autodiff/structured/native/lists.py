"""Lists that may grow, in machine code.

A list is the address of three words: where its items lie, how many there are, and for how many
there is room. An item is a number (with its class, if it may be of several), the address, shape and
strides of an array, or the address of a list. All of them lie in the store ``kept``.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.code import I64, PTR, TYPES, constant, element_of
from autodiff.structured.native.numbers.comparisons import joined_tags, tag_of
from autodiff.structured.native.places import Places
from autodiff.structured.native.values import (
    COMPLEX_TAG,
    TAGS,
    Array,
    Chosen,
    Items,
    Known,
    List,
    Number,
    Several,
    Tree,
    has_tag,
    letter_of,
    width_of,
)

_DATA, _LENGTH, _ROOM = 0, 1, 2
_FIRST_ROOM = 8
_FLOATS = {"d": np.dtype(float), "z": np.dtype(complex)}


class Lists(Places):
    """Writes what is done with lists."""

    state: Any

    # -- values and items as words -----------------------------------------------------------------

    def as_words(self, x: Number | Array | List, kind: Kind) -> list:
        """Return a value as words: where it lies, and in which form, or a number with its class."""
        if isinstance(x, List):
            return [self.b.ptrtoint(x.address, I64)]
        if isinstance(x, Array):
            return [self.b.ptrtoint(x.address, I64), *x.shape, *x.strides]
        words = self.code.as_words(self.scalars.converted(x, letter_of(kind)))
        return [*words, tag_of(self.code, x)] if has_tag(kind) else words

    def words_of(self, items: Items, x: Any) -> list:
        """Return an item as words."""
        b, kind = self.b, items.kind
        if items.inner is not None:
            x = self.made_list(items.inner, x.parts) if isinstance(x, Several) else x
            if not isinstance(x, List):
                raise UnsupportedError("a list of lists and others in machine code")
            return self.as_words(x, kind)
        if kind.is_array:
            if isinstance(x, Tree):
                x = self.elementwise.computed(x, memory.KEPT)
            if not isinstance(x, Array) or x.dtype != kind.dtype or len(x.shape) != kind.ndim:
                raise UnsupportedError("a list of arrays and others in machine code")
            side_by_side = self.code.whole(x.dtype.itemsize)
            apart = b.not_(self.code.equal(x.strides[-1], side_by_side))
            self.code.exit_if(b.and_(apart, self.code.less(self.code.whole(1), x.shape[-1])))
            return self.as_words(x, kind)
        number = self.scalars.number(x)
        letter = letter_of(kind)
        is_whole = isinstance(number, Number) and number.letter in "ib"
        if not isinstance(number, Number) or (letter in "ib" and not is_whole):
            raise UnsupportedError("a list of several kinds of numbers in machine code")
        if letter not in "ib" and is_whole and (int not in kind.classes or number.letter == "b"):
            raise UnsupportedError("a list of several kinds of numbers in machine code")
        return self.as_words(number, kind)

    def of_words(self, items: Items, words: list) -> Any:
        """Return an item that is given as words."""
        b, kind = self.b, items.kind
        if items.inner is not None:
            return List(items.inner, b.inttoptr(words[0], PTR))
        if kind.is_array:
            n, dtype = kind.ndim, kind.dtype
            assert dtype is not None
            strides = [*words[1 + n : 2 * n], self.code.whole(dtype.itemsize)]
            return Array(dtype, b.inttoptr(words[0], PTR), words[1 : 1 + n], strides, items.group)
        letter = letter_of(kind)
        value = self.code.of_words(letter, iter(words))
        return Number(kind, letter, value, words[-1] if has_tag(kind) else None)

    def _place(self, xs: List, k: Any) -> Any:
        """Return where an item is."""
        size = self.code.whole(8 * _width(xs.items))
        return self.code.at(self.code.word(xs.address, _DATA, PTR), self.b.mul(k, size))

    def _put_words(self, xs: List, k: Any, words: list) -> None:
        place = self._place(xs, k)
        for j, word in enumerate(words):
            self.code.set_word(place, j, word)

    def _item_at(self, xs: List, k: Any) -> Any:
        place = self._place(xs, k)
        words = [self.code.word(place, j) for j in range(_width(xs.items))]
        return self.of_words(xs.items, words)

    # -- lists -------------------------------------------------------------------------------------

    def made_list(self, items: Items, parts: list, times: Any = None) -> List:
        """Return a list of these items, which may be repeated."""
        code, b = self.code, self.b
        count: Any = code.whole(len(parts))
        if times is not None:
            count = b.mul(count, b.select(code.less(times, code.whole(0)), code.whole(0), times))
        least = code.whole(_FIRST_ROOM)
        room = b.select(code.less(count, least), least, count)
        words = [self.words_of(items, x) for x in parts]
        size = b.mul(room, code.whole(8 * _width(items)))
        data = memory.allocated(code, self.state, memory.KEPT, size)
        made = List(items, memory.allocated(code, self.state, memory.KEPT, code.whole(24)))
        for k, word in ((_DATA, b.ptrtoint(data, I64)), (_LENGTH, count), (_ROOM, room)):
            code.set_word(made.address, k, word)
        if times is None:
            for k, own in enumerate(words):
                self._put_words(made, code.whole(k), own)
        elif len(parts) == 1:
            with code.counted(count) as i:
                self._put_words(made, i, words[0])
        else:
            raise UnsupportedError("a list of several items that is repeated, in machine code")
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

    def length(self, xs: List) -> Any:
        """Return how many items there are."""
        return self.code.word(xs.address, _LENGTH)

    def append(self, xs: List, x: Any) -> None:
        """Append an item."""
        code, b = self.code, self.b
        words = self.words_of(xs.items, x)
        n = self.length(xs)
        with code.branch(code.equal(n, code.word(xs.address, _ROOM))):
            size = b.mul(n, code.whole(8 * _width(xs.items)))
            larger = memory.allocated(code, self.state, memory.KEPT, b.mul(size, code.whole(2)))
            code.call("memcpy", PTR, [larger, code.word(xs.address, _DATA, PTR), size])
            code.set_word(xs.address, _DATA, larger)
            code.set_word(xs.address, _ROOM, b.mul(n, code.whole(2)))
        self._put_words(xs, n, words)
        code.set_word(xs.address, _LENGTH, b.add(n, code.whole(1)))

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
            old = self._item_at(xs, place)
            if not isinstance(old, Number):
                raise UnsupportedError("an array in a list that is changed, in machine code")
            x = self.scalars.function(f, [old, self.scalars.number(x)], xs.items.kind)
        self._put_words(xs, place, self.words_of(xs.items, x))

    # -- functions ---------------------------------------------------------------------------------

    def array_of(self, xs: List, options: dict[str, Any]) -> Array:
        """Return the array of all items: of numbers, or of arrays of one shape."""
        code, b, e, kind = self.code, self.b, self.elementwise, xs.items.kind
        dtype, axis = options.pop("dtype", Known(None)), options.pop("axis", Known(0))
        if options or not isinstance(axis, Known) or axis.x != 0:
            raise UnsupportedError("an array of a list like this in machine code")
        if xs.items.inner is not None:
            return self._array_of_rows(xs, dtype)
        own = kind.dtype if kind.is_array else _FLOATS.get(letter_of(kind))
        wanted = dtype.x if isinstance(dtype, Known) else None
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
        if own is None or kind.classes == {int}:
            raise UnsupportedError("an array of such numbers in machine code")
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
        if kind.is_array or xs.items.inner is not None or letter_of(kind) not in _FLOATS:
            raise UnsupportedError("a sum of such items in machine code")
        letter = letter_of(kind)
        held = TYPES[letter]
        place = code.variable(held)
        b.store(constant(held, 0.0), place)
        with code.counted(self.length(xs)) as i:
            b.store(b.fadd(b.load(place, typ=held), self._item_at(xs, i).value), place)
        made = Number(Kind(kind.classes | {int}), letter, b.load(place, typ=held))
        # That of nothing is an integer.
        own = self._highest_tag(xs) if has_tag(kind) else tag_of(code, Number(kind, letter, None))
        is_empty = code.equal(self.length(xs), code.whole(0))
        made.tag = b.select(is_empty, code.whole(TAGS[int]), own)
        return made

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


def _width(items: Items) -> int:
    """Return how many words an item has."""
    if items.inner is not None:
        return 1
    return width_of(items.kind) + has_tag(items.kind)
