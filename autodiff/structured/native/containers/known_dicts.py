"""The memory layout of items of lists and dicts, and dicts with known keys.

An item is a number (with its tag, if it has one), the address, shape and strides of an array, or
the address of a list or dict. A dict is a struct of its values in the order of `DictType`; so is an
object of a user's class. All of them are allocated in the store ``kept``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.arrays.fancy_indexing import GatherScatter
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.function_builder import I64, PTR
from autodiff.structured.native.lowered_values import (
    Array,
    DictDisplay,
    DictRef,
    DictType,
    EmptyDeque,
    ItemType,
    LazyArray,
    ListRef,
    Number,
    RepeatedList,
    SelectedList,
    StaticValue,
    TupleValue,
    has_tag,
    letter_of,
    width_of,
)
from autodiff.structured.native.numbers.comparisons import tag_of


class DictOperations(GatherScatter):
    """Operations on dicts with known keys."""

    state: Any

    # Methods that subclasses define.
    new_list: Callable[..., ListRef]
    select_list: Callable[[ItemType, SelectedList], ListRef]

    # -- values and items as words -----------------------------------------------------------------

    def container_at(self, items: ItemType | DictType, address: Any) -> ListRef | DictRef:
        """Return the list or dict at an address."""
        return DictRef(items, address) if isinstance(items, DictType) else ListRef(items, address)

    def from_display(self, items: ItemType | DictType, x: Any) -> Any:
        """Allocate a displayed list or dict; return anything else unchanged."""
        if isinstance(items, DictType):
            return self._made_record(items, x) if isinstance(x, DictDisplay) else x
        if isinstance(x, (TupleValue, RepeatedList)):
            return self.new_list(items, x.parts, x.times if isinstance(x, RepeatedList) else None)
        if isinstance(x, EmptyDeque):
            return self.new_list(items, [], n=x.maxlen)
        return self.select_list(items, x) if isinstance(x, SelectedList) else x

    def to_words(self, x: Number | Array | ListRef | DictRef, kind: Kind) -> list:
        """Return the words of a value: address, shape and strides, or a number and its tag."""
        if isinstance(x, (ListRef, DictRef)):
            return [self.b.ptrtoint(x.address, I64)]
        if isinstance(x, Array):
            return [self.b.ptrtoint(x.address, I64), *x.shape, *x.strides]
        words = self.code.to_words(self.scalars.converted(x, letter_of(kind)))
        return [*words, tag_of(self.code, x)] if has_tag(kind) else words

    def item_words(self, items: ItemType, x: Any) -> list:
        """Return the words of an item, which must have the type of the others."""
        b, kind = self.b, items.kind
        if kind.is_text:  # texts are never read
            return []
        if items.inner is not None:
            x = self.from_display(items.inner, x)
            if not isinstance(x, (ListRef, DictRef)) or x.items != items.inner:
                raise UnsupportedError("a list of lists and others")
            return self.to_words(x, kind)
        if kind.is_array:
            if isinstance(x, LazyArray):
                x = self.elementwise.materialize(x, memory.KEPT)
            if not isinstance(x, Array) or x.dtype != kind.dtype or len(x.shape) != kind.ndim:
                raise UnsupportedError("a list of arrays and others")
            if not x.shape:
                raise UnsupportedError("a 0-d array")
            if self.store != memory.KEPT:
                raise UnsupportedError("an array that a list outlives")
            itemsize = self.code.whole(x.dtype.itemsize)
            is_strided = b.not_(self.code.equal(x.strides[-1], itemsize))
            self.code.exit_if(b.and_(is_strided, self.code.less(self.code.whole(1), x.shape[-1])))
            return self.to_words(x, kind)
        number = self.scalars.number(x)
        letter = letter_of(kind)
        is_whole = isinstance(number, Number) and number.letter in "ib"
        if not isinstance(number, Number) or (letter in "ib" and not is_whole):
            raise UnsupportedError("a list of several kinds of numbers")
        if letter not in "ib" and is_whole and (int not in kind.classes or number.letter == "b"):
            raise UnsupportedError("a list of several kinds of numbers")
        return self.to_words(number, kind)

    def item_from_words(self, items: ItemType, words: list) -> Any:
        """Return an item from its words."""
        b, kind = self.b, items.kind
        if not words:
            raise UnsupportedError("a text")
        if items.inner is not None:
            return self.container_at(items.inner, b.inttoptr(words[0], PTR))
        if kind.is_array:
            n, dtype = kind.ndim, kind.dtype
            assert dtype is not None
            strides = [*words[1 + n : 2 * n], self.code.whole(dtype.itemsize)]
            return Array(
                dtype, b.inttoptr(words[0], PTR), words[1 : 1 + n], strides, items.alias_set
            )
        letter = letter_of(kind)
        value = self.code.from_words(letter, iter(words))
        return Number(kind, letter, value, words[-1] if has_tag(kind) else None)

    def combined(self, items: ItemType, old: Any, f: Any, x: Any) -> Any:
        """Return ``f(old, x)`` of an item that is a number."""
        if not isinstance(old, Number):
            raise UnsupportedError("an augmented assignment to an array in a list")
        return self.scalars.function(f, [old, self.scalars.number(x)], items.kind)

    # -- dicts -------------------------------------------------------------------------------------

    def _made_record(self, items: DictType, x: DictDisplay) -> DictRef:
        if x.parts.keys() != dict(items.items).keys():
            raise UnsupportedError("a dict without all keys of the others")
        words = [word for key, own in items.items for word in self.item_words(own, x.parts[key])]
        size = self.code.whole(8 * max(len(words), 1))
        result = DictRef(items, memory.allocated(self.code, self.state, memory.KEPT, size))
        for k, word in enumerate(words):
            self.code.set_word(result.address, k, word)
        return result

    def _field_of(self, x: DictRef, key: Any) -> tuple[int, ItemType]:
        """Return the first word of a value, and its type."""
        first = 0
        for own, items in x.items.items:
            if isinstance(key, StaticValue) and own == key.x:
                return first, items
            first += width_of_item(items)
        raise UnsupportedError("a key that is not constant")

    def field(self, x: DictRef, key: Any) -> Any:
        """``x[key]``."""
        first, items = self._field_of(x, key)
        words = range(first, first + width_of_item(items))
        return self.item_from_words(items, [self.code.word(x.address, k) for k in words])

    def set_field(self, x: DictRef, key: Any, value: Any, f: Any = None) -> None:
        """``x[key] = value`` or ``x[key] = f(x[key], value)``."""
        first, items = self._field_of(x, key)
        value = value if f is None else self.combined(items, self.field(x, key), f, value)
        for k, word in enumerate(self.item_words(items, value)):
            self.code.set_word(x.address, first + k, word)

    def same(self, x: Any, y: Any) -> Number:
        """``x is y``."""
        if not all(isinstance(a, (ListRef, DictRef)) for a in (x, y)):
            raise UnsupportedError("a comparison by identity")
        is_same = self.code.equal(*[self.b.ptrtoint(a.address, I64) for a in (x, y)])
        return Number(Kind(frozenset([bool])), "b", is_same)


def width_of_item(items: ItemType) -> int:
    """Return how many words an item takes up. A text takes up none."""
    if items.inner is not None:
        return 1
    return 0 if items.kind.is_text else width_of(items.kind) + has_tag(items.kind)
