"""The memory layout of items of lists and dicts, and dicts with known keys.

An item is a number (with its tag, if it has one), the address, shape and strides of an array, or
the address of a list or dict. A dict is a struct of its values in the order of `DictType`; so is an
object of a user's class. All of them are allocated in the store ``kept``.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from llvmlite import ir

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.arrays.fancy_indexing import GatherScatter
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.function_builder import I64, PTR, TYPES
from autodiff.structured.native.lowered_values import (
    CONTAINERS,
    Array,
    Container,
    Contents,
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
    TableRef,
    TableType,
    TupleValue,
    has_tag,
    letter_of,
    parts_of_tuple,
    width_of,
)
from autodiff.structured.native.numbers.comparisons import tag_of


class DictOperations(GatherScatter):
    """Operations on dicts with known keys."""

    state: Any

    # Methods that subclasses define.
    new_list: Callable[..., ListRef]
    new_table: Callable[[TableType, DictDisplay], TableRef]
    has_key: Callable[[TableRef, Any], Any]
    select_list: Callable[[ItemType, SelectedList], ListRef]

    # -- values and items as words -----------------------------------------------------------------

    def container_at(self, items: Contents, address: Any) -> Container:
        """Return the list or dict at an address."""
        if isinstance(items, TableType):
            return TableRef(items, address)
        return DictRef(items, address) if isinstance(items, DictType) else ListRef(items, address)

    def from_display(self, items: Contents, x: Any) -> Any:
        """Allocate a displayed list or dict; return anything else unchanged."""
        if isinstance(items, TableType):
            return self.new_table(items, x) if isinstance(x, DictDisplay) else x
        if isinstance(items, DictType):
            return self._made_record(items, x) if isinstance(x, DictDisplay) else x
        if isinstance(x, (TupleValue, RepeatedList)):
            return self.new_list(items, x.parts, x.times if isinstance(x, RepeatedList) else None)
        if isinstance(x, EmptyDeque):
            return self.new_list(items, [], n=x.maxlen)
        return self.select_list(items, x) if isinstance(x, SelectedList) else x

    def to_words(self, x: Number | Array | Container, kind: Kind) -> list:
        """Return the words of a value: address, shape and strides, or a number and its tag."""
        if isinstance(x, CONTAINERS):
            return [self.b.ptrtoint(x.address, I64)]
        if isinstance(x, Array):
            return [self.b.ptrtoint(x.address, I64), *x.shape, *x.strides]
        words = self.code.to_words(self.scalars.converted(x, letter_of(kind)))
        return [*words, tag_of(self.code, x)] if has_tag(kind) else words

    def item_words(self, items: ItemType, x: Any) -> list:
        """Return the words of an item, which must have the type of the others."""
        b, kind = self.b, items.kind
        if items.may_be_none:
            is_there = not (isinstance(x, StaticValue) and x.x is None)
            own = replace(items, may_be_none=False)
            none = [self.code.whole(0)] * width_of_item(own)
            words = self.item_words(own, x) if is_there else none
            return [*words, self.code.whole(int(is_there))]
        if items.inner is not None:
            x = self.from_display(items.inner, x)
            if not isinstance(x, CONTAINERS) or x.items != items.inner:
                raise UnsupportedError("a list of lists and others")
            return self.to_words(x, kind)
        if kind.parts:
            each = zip(parts_of_tuple(x), kind.parts, strict=True)
            return [word for part, own in each for word in self.item_words(ItemType(own), part)]
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
        if items.may_be_none:
            self.code.exit_if(self.code.equal(words[-1], self.code.whole(0)))
            return self.item_from_words(replace(items, may_be_none=False), words[:-1])
        if items.inner is not None:
            return self.container_at(items.inner, b.inttoptr(words[0], PTR))
        if kind.parts:
            rest, own = iter(words), map(ItemType, kind.parts)
            each = [(part, list(itertools.islice(rest, width_of_item(part)))) for part in own]
            return TupleValue([self.item_from_words(*pair) for pair in each])
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
        if tuple(x.parts) != tuple(dict(items.items)):
            raise UnsupportedError("a dict without the keys of the others, or in another order")
        words = [word for key, own in items.items for word in self.item_words(own, x.parts[key])]
        size = self.code.whole(8 * max(len(words), 1))
        result = DictRef(items, memory.allocated(self.code, self.state, memory.KEPT, size))
        for k, word in enumerate(words):
            self.code.set_word(result.address, k, word)
        return result

    def _field_of(self, x: DictRef, key: Any) -> tuple[Any, ItemType]:
        """Return the address of a value, and its type. Exit if the dict does not have the key."""
        code, first = self.code, 0
        if isinstance(key, StaticValue):
            for own, items in x.items.items:
                if own == key.x:
                    return code.at(x.address, code.whole(8 * first)), items
                first += width_of_item(items)
            raise UnsupportedError("a key that the dict does not have")
        types = {items for _, items in x.items.items}
        if len(types) != 1:
            raise UnsupportedError("a key that is not constant, of values of several kinds")
        (items,), place = types, code.whole(-1)
        for k, is_it in enumerate(self._is_key(x, key)):
            place = self.b.select(is_it, code.whole(8 * k * width_of_item(items)), place)
        code.exit_if(code.less(place, code.whole(0)))
        return code.at(x.address, place), items

    def on_has_keys(self, x: Any, keys: Any) -> StaticValue:
        """``has_keys(x, keys)``: whether a dict has these keys in this order."""
        if not isinstance(x, DictRef):
            raise UnsupportedError("the order of the keys of a dict that grows")
        return StaticValue([own for own, _ in x.items.items] == list(_constants(keys)))

    def _is_key(self, x: DictRef, key: Any) -> list:
        """Return for each key of a dict whether it is this number or symbol."""
        number, scalars = self.scalars.number(key), self.scalars
        if not isinstance(number, Number):
            raise UnsupportedError("a key that is no number or text")
        return [scalars.compared("==", number, scalars.known(own)) for own, _ in x.items.items]

    def contains(self, xs: Any, key: Any) -> Number:
        """``key in xs`` for a dict or set."""
        if isinstance(xs, TableRef):
            found = self.has_key(xs, key)
        elif isinstance(xs, DictRef):
            found = functools.reduce(self.b.or_, self._is_key(xs, key), ir.Constant(TYPES["b"], 0))
        else:
            raise UnsupportedError("a search in something other than a dict")
        return Number(Kind(frozenset([bool])), "b", found)

    def field(self, x: DictRef, key: Any) -> Any:
        """``x[key]``."""
        address, items = self._field_of(x, key)
        words = [self.code.word(address, k) for k in range(width_of_item(items))]
        return self.item_from_words(items, words)

    def set_field(self, x: DictRef, key: Any, value: Any, f: Any = None) -> None:
        """``x[key] = value`` or ``x[key] = f(x[key], value)``."""
        address, items = self._field_of(x, key)
        value = value if f is None else self.combined(items, self.field(x, key), f, value)
        for k, word in enumerate(self.item_words(items, value)):
            self.code.set_word(address, k, word)

    def same(self, x: Any, y: Any) -> Number:
        """``x is y``."""
        symbols = [self.scalars.number(a) for a in (x, y)]
        if all(isinstance(a, Number) and a.letter == "t" for a in symbols):
            return Number(Kind(frozenset([bool])), "b", self.scalars.compared("==", *symbols))
        if not all(isinstance(a, CONTAINERS) for a in (x, y)):
            raise UnsupportedError("a comparison by identity")
        is_same = self.code.equal(*[self.b.ptrtoint(a.address, I64) for a in (x, y)])
        return Number(Kind(frozenset([bool])), "b", is_same)


def _constants(x: Any) -> tuple:
    """Return a constant tuple."""
    parts = parts_of_tuple(x)
    if any(isinstance(part, Number) for part in parts):
        raise UnsupportedError("a tuple that is no constant")
    return tuple([p.x if isinstance(p, StaticValue) else _constants(p) for p in parts])


def width_of_item(items: ItemType) -> int:
    """Return how many words an item takes up."""
    if items.inner is not None:
        return 1
    if items.kind.parts:
        return sum(width_of_item(ItemType(part)) for part in items.kind.parts) + items.may_be_none
    return width_of(items.kind) + has_tag(items.kind) + items.may_be_none
