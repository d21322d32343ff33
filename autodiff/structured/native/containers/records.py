"""Items of lists and dicts as words of memory, and dicts whose keys are known, in machine code.

An item is a number (with its class, if it may be of several), the address, shape and strides of an
array, or the address of a list or dict. A dict is the address of what it has under its keys, in the
order of `Fields`; objects of the user's classes are such dicts. All of them lie in the store
``kept``.
"""

from __future__ import annotations

from typing import Any

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.code import I64, PTR
from autodiff.structured.native.numbers.comparisons import tag_of
from autodiff.structured.native.places import Places
from autodiff.structured.native.values import (
    Array,
    Chosen,
    Displayed,
    Fields,
    Items,
    Known,
    List,
    Number,
    Queue,
    Record,
    Repeated,
    Several,
    Tree,
    has_tag,
    letter_of,
    width_of,
)


class Records(Places):
    """Writes what is done with dicts whose keys are known."""

    state: Any

    def made_list(self, items: Items, parts: list, times: Any = None, most: Any = None) -> List:
        """Return a list of these items, which may be repeated."""
        raise NotImplementedError

    def made_one_of(self, items: Items, x: Chosen) -> List:
        """Return the list that is chosen of several, which alone is made."""
        raise NotImplementedError

    # -- values and items as words -----------------------------------------------------------------

    def held(self, items: Items | Fields, address: Any) -> List | Record:
        """Return the list or dict at an address."""
        return Record(items, address) if isinstance(items, Fields) else List(items, address)

    def made_of(self, items: Items | Fields, x: Any) -> Any:
        """Return the list or dict that is made of what is written; anything else as it is."""
        if isinstance(items, Fields):
            return self._made_record(items, x) if isinstance(x, Displayed) else x
        if isinstance(x, (Several, Repeated)):
            return self.made_list(items, x.parts, x.times if isinstance(x, Repeated) else None)
        if isinstance(x, Queue):
            return self.made_list(items, [], most=x.most)
        return self.made_one_of(items, x) if isinstance(x, Chosen) else x

    def as_words(self, x: Number | Array | List | Record, kind: Kind) -> list:
        """Return a value as words: where it lies, and in which form, or a number with its class."""
        if isinstance(x, (List, Record)):
            return [self.b.ptrtoint(x.address, I64)]
        if isinstance(x, Array):
            return [self.b.ptrtoint(x.address, I64), *x.shape, *x.strides]
        words = self.code.as_words(self.scalars.converted(x, letter_of(kind)))
        return [*words, tag_of(self.code, x)] if has_tag(kind) else words

    def words_of(self, items: Items, x: Any) -> list:
        """Return an item as words."""
        b, kind = self.b, items.kind
        if kind.is_text:  # nobody reads it here
            return []
        if items.inner is not None:
            x = self.made_of(items.inner, x)
            if not isinstance(x, (List, Record)) or x.items != items.inner:
                raise UnsupportedError("a list of lists and others in machine code")
            return self.as_words(x, kind)
        if kind.is_array:
            if isinstance(x, Tree):
                x = self.elementwise.computed(x, memory.KEPT)
            if not isinstance(x, Array) or x.dtype != kind.dtype or len(x.shape) != kind.ndim:
                raise UnsupportedError("a list of arrays and others in machine code")
            if not x.shape:
                raise UnsupportedError("an array without axes")
            if self.store_of_new() != memory.KEPT:
                raise UnsupportedError("an array in a list longer than it lasts")
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
        if not words:
            raise UnsupportedError("a text in machine code")
        if items.inner is not None:
            return self.held(items.inner, b.inttoptr(words[0], PTR))
        if kind.is_array:
            n, dtype = kind.ndim, kind.dtype
            assert dtype is not None
            strides = [*words[1 + n : 2 * n], self.code.whole(dtype.itemsize)]
            return Array(dtype, b.inttoptr(words[0], PTR), words[1 : 1 + n], strides, items.group)
        letter = letter_of(kind)
        value = self.code.of_words(letter, iter(words))
        return Number(kind, letter, value, words[-1] if has_tag(kind) else None)

    def changed(self, items: Items, old: Any, f: Any, x: Any) -> Any:
        """Return what a function makes of the number that an item is, and of `x`."""
        if not isinstance(old, Number):
            raise UnsupportedError("an array in a list that is changed, in machine code")
        return self.scalars.function(f, [old, self.scalars.number(x)], items.kind)

    # -- dicts -------------------------------------------------------------------------------------

    def _made_record(self, items: Fields, x: Displayed) -> Record:
        if x.parts.keys() != dict(items.items).keys():
            raise UnsupportedError("a dict that has not all keys of the others")
        words = [word for key, own in items.items for word in self.words_of(own, x.parts[key])]
        size = self.code.whole(8 * max(len(words), 1))
        made = Record(items, memory.allocated(self.code, self.state, memory.KEPT, size))
        for k, word in enumerate(words):
            self.code.set_word(made.address, k, word)
        return made

    def _place_of(self, x: Record, key: Any) -> tuple[int, Items]:
        """Return at which word an item is, and of which kind."""
        first = 0
        for own, items in x.items.items:
            if isinstance(key, Known) and own == key.x:
                return first, items
            first += width_of_item(items)
        raise UnsupportedError("a key that is not known in machine code")

    def field(self, x: Record, key: Any) -> Any:
        """Return what is under a key."""
        first, items = self._place_of(x, key)
        places = range(first, first + width_of_item(items))
        return self.of_words(items, [self.code.word(x.address, k) for k in places])

    def set_field(self, x: Record, key: Any, value: Any, f: Any = None) -> None:
        """Write under a key: a value, or what a function makes of the old number and of that."""
        first, items = self._place_of(x, key)
        value = value if f is None else self.changed(items, self.field(x, key), f, value)
        for k, word in enumerate(self.words_of(items, value)):
            self.code.set_word(x.address, first + k, word)

    def same(self, x: Any, y: Any) -> Number:
        """``x is y``."""
        if not all(isinstance(a, (List, Record)) for a in (x, y)):
            raise UnsupportedError("a comparison by identity in machine code")
        is_same = self.code.equal(*[self.b.ptrtoint(a.address, I64) for a in (x, y)])
        return Number(Kind(frozenset([bool])), "b", is_same)


def width_of_item(items: Items) -> int:
    """Return how many words an item has; a text has none."""
    if items.inner is not None:
        return 1
    return 0 if items.kind.is_text else width_of(items.kind) + has_tag(items.kind)
