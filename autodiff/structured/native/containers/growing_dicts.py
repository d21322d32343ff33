"""Growing dicts and sets: hash tables with linear probing.

A table is a struct of words: the addresses of a list of its keys and of a list of its values, both
in the order of insertion; the address of the index; the number of places there, which is a power of
two, minus 1; and the number of keys. The index is an array of words, each 0 or 1 plus the position
of a key. A key that is removed becomes None in the list of keys.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from llvmlite import ir

from autodiff.structured.form.kinds import INT, UnsupportedError
from autodiff.structured.native.containers.growable_lists import DATA, ListOperations
from autodiff.structured.native.containers.known_dicts import width_of_item
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.function_builder import I32, I64, PTR, FunctionBuilder
from autodiff.structured.native.llvm.modules import LLVMModule
from autodiff.structured.native.lowered_values import (
    DictDisplay,
    ListRef,
    Number,
    StaticValue,
    TableRef,
    TableType,
)

_KEYS, _VALUES, _INDEX, _MASK, _COUNT = range(5)
_MIN_PLACES = 16
_MULTIPLIER = -7046029254386353131  # 2**64 divided by the golden ratio, as a signed integer


class TableOperations(ListOperations):
    """Operations on growing dicts and sets."""

    def on_set(self) -> DictDisplay:
        """``set()``."""
        return DictDisplay({})

    def on_zeros_by_key(self, factory: Any, shadows: Any = None) -> DictDisplay:
        """``zeros_by_key(float, shadows)``, the shadow of a dict."""
        return shadows or DictDisplay({})

    def new_table(self, items: TableType, x: DictDisplay) -> TableRef:
        """Allocate a displayed dict."""
        code = self.code
        made = TableRef(items, memory.allocated(code, self.state, memory.KEPT, code.whole(40)))
        for k, own in ((_KEYS, items.keys), (_VALUES, items.values)):
            code.set_word(made.address, k, self.new_list(own, []).address)
        self._new_index(made, code.whole(_MIN_PLACES))
        code.set_word(made.address, _COUNT, code.whole(0))
        for key, value in x.parts.items():
            self.set_in_table(made, StaticValue(key), value)
        return made

    def _new_index(self, xs: TableRef, n: Any) -> None:
        """Give a table an empty index with n places."""
        code, b = self.code, self.b
        size = b.mul(n, code.whole(8))
        index = memory.allocated(code, self.state, memory.KEPT, size)
        code.call("memset", PTR, [index, ir.Constant(I32, 0), size])
        code.set_word(xs.address, _INDEX, index)
        code.set_word(xs.address, _MASK, b.sub(n, code.whole(1)))

    def _lists_of(self, xs: TableRef) -> tuple[ListRef, ListRef]:
        keys, values = (self.code.word(xs.address, k, PTR) for k in (_KEYS, _VALUES))
        return ListRef(xs.items.keys, keys), ListRef(xs.items.values, values)

    def _find(self, xs: TableRef, key: Any) -> tuple[Any, list]:
        """Return the position of a key, and its words.

        If the table does not have the key, the position is -1 minus that of a free place in the
        index.
        """
        words = self.item_words(replace(xs.items.keys, may_be_none=False), key)
        define_find(self.code.module, len(words))
        return self.code.call(f"structured_find{len(words)}", I64, [xs.address, *words]), words

    def _value_at(self, xs: TableRef, at: Any) -> Any:
        """Return the value at a position; that of a missing key is 0 in a shadow."""
        code, values = self.code, self._lists_of(xs)[1]
        is_missing, n = code.less(at, code.whole(0)), width_of_item(values.items)
        address = self._address_of_item(values, at)
        if xs.items.is_shadow:
            address = self.b.select(is_missing, code.words(n), address)
        else:
            code.exit_if(is_missing)
        return self.item_from_words(values.items, [code.word(address, j) for j in range(n)])

    def item_of_table(self, xs: TableRef, key: Any) -> Any:
        """``xs[key]``."""
        return self._value_at(xs, self._find(xs, key)[0])

    def set_in_table(self, xs: TableRef, key: Any, x: Any, f: Any = None) -> None:
        """``xs[key] = x`` or ``xs[key] = f(xs[key], x)``."""
        code, items = self.code, xs.items.values
        at, key_words = self._find(xs, key)
        if f is not None:
            x = self.combined(items, self._value_at(xs, at), f, x)
        words = self.item_words(items, x)
        with code.branches(code.less(at, code.whole(0))) as (then, otherwise):
            with then:
                self._add(xs, at, key_words, words)
            with otherwise:
                self._store_words(self._lists_of(xs)[1], at, words)

    def _add(self, xs: TableRef, at: Any, key_words: list, words: list) -> None:
        """Add a key and its value; enlarge the index if it would be more than half full."""
        code, b, one = self.code, self.b, self.code.whole(1)
        keys, values = self._lists_of(xs)
        n = b.add(self.length(keys), one)
        self.append_words(keys, [*key_words, one])
        self.append_words(values, words)
        place = b.mul(b.sub(code.whole(-1), at), code.whole(8))
        code.set_word(code.at(code.word(xs.address, _INDEX, PTR), place), 0, n)
        code.set_word(xs.address, _COUNT, b.add(code.word(xs.address, _COUNT), one))
        places = b.add(code.word(xs.address, _MASK), one)
        with code.branch(code.less(places, b.add(n, n))):
            self._new_index(xs, b.mul(places, code.whole(4)))
            define_fill(code.module, len(key_words))
            code.call(f"structured_fill{len(key_words)}", I64, [xs.address])

    def remove_key(self, xs: TableRef, key: Any) -> None:
        """``del xs[key]``, or ``xs.remove(key)`` of a set."""
        code, zero = self.code, self.code.whole(0)
        at, words = self._find(xs, key)
        code.exit_if(code.less(at, zero))
        address = self._address_of_item(self._lists_of(xs)[0], at)
        code.set_word(address, len(words), zero)
        count = self.b.sub(code.word(xs.address, _COUNT), code.whole(1))
        code.set_word(xs.address, _COUNT, count)

    def has_key(self, xs: TableRef, key: Any) -> Any:
        """Return whether a table has a key."""
        return self.b.not_(self.code.less(self._find(xs, key)[0], self.code.whole(0)))

    def call_of_table(self, f: Any, xs: TableRef) -> Any:
        """``len(xs)`` or ``list(xs)``."""
        if f is len:
            return Number(INT, "i", self.code.word(xs.address, _COUNT))
        if f is not list or xs.items.is_set:  # the order of a set is Python's secret
            raise UnsupportedError("this function of a dict or set that grows")
        code, keys = self.code, self._lists_of(xs)[0]
        own = replace(keys.items, may_be_none=False)
        result, n = self.new_list(own, []), width_of_item(own)
        with code.counted(self.length(keys)) as i:
            address = self._address_of_item(keys, i)
            with code.branch(self.b.icmp_signed("!=", code.word(address, n), code.whole(0))):
                self.append_words(result, [code.word(address, j) for j in range(n)])
        return result


def _hash(code: FunctionBuilder, words: list) -> Any:
    """Return the hash of the words of a key."""
    b, found = code.b, code.whole(0)
    for word in words:
        found = b.mul(b.add(found, word), code.whole(_MULTIPLIER))
        found = b.xor(found, b.lshr(found, code.whole(32)))
    return found


def _function(module: LLVMModule, name: str, n: int) -> FunctionBuilder:
    code = FunctionBuilder(module, name, [PTR] + [I64] * n, I64)
    code.function.attributes.add("noinline")
    return code


def define_find(module: LLVMModule, n: int) -> None:
    """``structured_find(table, *words)``: see `TableOperations._find`."""
    name = f"structured_find{n}"
    if name in module.globals:
        return
    code = _function(module, name, n)
    b, one, (table, *key) = code.b, code.whole(1), code.function.args
    index, mask = code.word(table, _INDEX, PTR), code.word(table, _MASK)
    keys = code.word(code.word(table, _KEYS, PTR), DATA, PTR)
    place = code.stored(b.and_(_hash(code, key), mask))
    with code.endless():
        here = b.load(place, typ=I64)
        found = code.word(code.at(index, b.mul(here, code.whole(8))), 0)
        with code.branch(code.equal(found, code.whole(0))):
            b.ret(b.sub(code.whole(-1), here))
        at = b.sub(found, one)
        entry = code.at(keys, b.mul(at, code.whole(8 * (n + 1))))
        is_it = b.icmp_signed("!=", code.word(entry, n), code.whole(0))
        for j, word in enumerate(key):
            is_it = b.and_(is_it, code.equal(code.word(entry, j), word))
        with code.branch(is_it):
            b.ret(at)
        b.store(b.and_(b.add(here, one), mask), place)
    b.unreachable()
    code.begin()


def define_fill(module: LLVMModule, n: int) -> None:
    """``structured_fill(table)``: put the positions of all keys into a new index."""
    name = f"structured_fill{n}"
    if name in module.globals:
        return
    code = _function(module, name, 0)
    b, one, (table,) = code.b, code.whole(1), code.function.args
    index, mask = code.word(table, _INDEX, PTR), code.word(table, _MASK)
    keys = code.word(table, _KEYS, PTR)
    first = code.word(keys, DATA, PTR)
    with code.counted(code.word(keys, 1)) as i:
        entry = code.at(first, b.mul(i, code.whole(8 * (n + 1))))
        with code.branch(b.icmp_signed("!=", code.word(entry, n), code.whole(0))):
            words = [code.word(entry, j) for j in range(n)]
            place = code.stored(b.and_(_hash(code, words), mask))
            with code.endless():
                here = code.at(index, b.mul(b.load(place, typ=I64), code.whole(8)))
                code.leave_if(code.equal(code.word(here, 0), code.whole(0)))
                b.store(b.and_(b.add(b.load(place, typ=I64), one), mask), place)
            here = code.at(index, b.mul(b.load(place, typ=I64), code.whole(8)))
            code.set_word(here, 0, b.add(i, one))
    b.ret(code.whole(0))
    code.begin()
