"""Conversion of lists between Python and machine code.

A list is passed by address: NumPy writes the words that machine code reads, in the layout of
`ListOperations`. The source around machine code works on that memory, too, by functions with the
names in `list_arguments.SCOPE`. After a run, the lists are converted back.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.list_arguments import check_apart
from autodiff.structured.native.llvm.function_builder import PARTS
from autodiff.structured.native.llvm.memory import array_at
from autodiff.structured.native.lowered_values import (
    CLASSES,
    COMPLEX_TAG,
    LARGE,
    SYMBOLS,
    TAGS,
    Contents,
    ItemType,
    cotangent_kind,
    has_tag,
    is_word,
    letter_of,
    width_of,
)
from autodiff.structured.native.numbers.scalars import EXACT
from autodiff.structured.runtime_library import BailoutError

_INTEGERS = (int, np.int64)
_WORDS = 5  # of a list: see `ListOperations`


class NativeList(int):
    """The address of a list in machine code.

    Attributes
    ----------
    items : ItemType
        The type of its items.
    owner : Any
        The owner of the memory.
    is_restored : bool
        Whether the sweep undoes writes into its arrays, so that the user gets copies of them.
    lists : list of tuple
        For an argument: each Python list in it with its type, itself first.
    copies : list of list
        For an argument that may be changed: the new contents of `lists`.
    """

    items: ItemType
    owner: Any = None
    is_restored = False
    lists: Sequence[tuple[list, ItemType]] = ()
    copies: Sequence[list] = ()

    def addresses(self) -> Iterator[tuple[int, ItemType]]:
        """Yield the address and type of each list in an argument."""
        for k, (_, items) in enumerate(self.lists):
            yield self + 8 * _WORDS * k, items


class ListSnapshot:
    """A snapshot of an argument, and of the lists in it, before the run."""

    def __init__(self, x: NativeList) -> None:
        self.list = x
        self.copies = x.copies
        result = {id(xs): copy for (xs, _), copy in zip(x.lists, self.copies, strict=True)}
        self.before = [tuple([result.get(id(item), item) for item in xs]) for xs, _ in x.lists]


def held(items: Any, address: int, owner: Any) -> NativeList:
    """Return the list at an address."""
    result = NativeList(address)
    result.items, result.owner = items, owner
    return result


def check_items(items: Contents, is_result: bool) -> None:
    """Check that a list holds numbers, or lists of numbers. A result may also hold arrays.

    Raises
    ------
    UnsupportedError
        If it holds something else.
    """
    while isinstance(items, ItemType) and items.inner is not None:
        items = items.inner
    if is_result and isinstance(items, ItemType) and items.kind.is_array:
        return
    if not isinstance(items, ItemType) or not (
        items.kind.is_scalar or (is_word(items.kind) and not is_result)
    ):
        raise UnsupportedError("a list of things other than numbers passed to machine code")
    letter_of(items.kind)
    if len(items.kind.classes) > 1 and not has_tag(items.kind):
        raise UnsupportedError("a list of several kinds of numbers passed to machine code")


# -- lists become words ----------------------------------------------------------------------------


def given(x: list, items: ItemType) -> NativeList:
    """Copy a list into memory of machine code."""
    lists, level, own = list[tuple[list, ItemType]](), [x], items
    while isinstance(own.inner, ItemType):
        lists += [(xs, own) for xs in level]
        level, own = list({id(part): part for xs in level for part in xs}.values()), own.inner
    n_outer = len(lists)
    lists += [(xs, own) for xs in level]
    lengths = np.fromiter([len(xs) for xs, _ in lists], np.int64, len(lists))
    positions = {id(xs): k for k, (xs, _) in enumerate(lists)}
    inner = [positions[id(part)] for xs, _ in lists[:n_outer] for part in xs]
    numbers = _words_of_items(list(chain.from_iterable(level)), own)
    result = _in_memory((lengths, n_outer, np.array(inner, np.int64)), numbers)
    result.items, result.lists = items, lists
    return result


def _in_memory(form: tuple[np.ndarray, int, np.ndarray], numbers: np.ndarray) -> NativeList:
    """Write lists into memory.

    Parameters
    ----------
    form : tuple
        The lengths of all lists, the number of those that hold lists, which come first, and the
        positions of the lists in these.
    numbers : np.ndarray
        The numbers in the other lists: a row of words for each.
    """
    lengths, n_outer, inner = form
    words = np.zeros((len(lengths), _WORDS), np.int64)
    words[:, 1] = words[:, 2] = lengths
    starts = np.cumsum(lengths) - lengths
    address, table = _address(words), None
    if n_outer:
        table = address + 8 * _WORDS * inner
        words[:n_outer, 0] = _address(table) + 8 * starts[:n_outer]
    width = numbers.shape[1]
    words[n_outer:, 0] = _address(numbers) + 8 * width * (starts[n_outer:] - len(inner))
    result = NativeList(address)
    result.owner = words, table, numbers, form
    return result


def _address(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


def _words_of_items(parts: list, items: ItemType) -> np.ndarray:
    """Return the words of items, one item in each row."""
    if not items.may_be_none:
        return _as_words(parts, items.kind)
    zero = min(items.kind.classes, key=lambda c: c.__name__)(0)
    words = _as_words([zero if x is None else x for x in parts], items.kind)
    has = np.fromiter([x is not None for x in parts], np.int64, len(parts))
    return np.concatenate([words, has.reshape(-1, 1)], axis=1)


def _as_words(numbers: list, kind: Kind) -> np.ndarray:
    """Return the words of numbers or symbols, one in each row.

    Raises
    ------
    BailoutError
        If an integer is too large, or there are too many texts.
    """
    letter, n = letter_of(kind), len(numbers)
    if letter == "t":
        try:
            symbols = {x: SYMBOLS.number(x) for x in set(numbers)}
            return np.fromiter(map(symbols.__getitem__, numbers), np.int64, n).reshape(n, 1)
        except UnsupportedError as error:
            raise BailoutError(str(error)) from error
    limit = LARGE if letter in "ib" else EXACT
    if not kind.classes.isdisjoint(_INTEGERS):
        whole = numbers if len(kind.classes) == 1 else [x for x in numbers if type(x) in _INTEGERS]
        if whole and not -limit < min(whole) <= max(whole) < limit:
            raise BailoutError("a large integer")
    if letter in "ib":
        return np.fromiter(numbers, np.int64, n).reshape(n, 1)
    dtype = np.complex128 if letter in PARTS else np.float64
    words = np.fromiter(numbers, dtype, n).view(np.int64).reshape(n, width_of(kind))
    if not has_tag(kind):
        return words
    tags = np.fromiter(map(TAGS.__getitem__, map(type, numbers)), np.int64, n)
    return np.concatenate([words, tags.reshape(n, 1)], axis=1)


# -- words become lists ----------------------------------------------------------------------------


class ListResults:
    """The conversion of lists back to Python after a run.

    Parameters
    ----------
    lists : iterable of NativeList
        The arguments. Their addresses are converted to the user's lists, or to `copies` of them.
    are_cotangents : bool
        Whether the numbers are cotangents: those of double precision become Python's own.

    Attributes
    ----------
    arrays : list of ndarray
        The arrays in the lists, in the memory of the run.
    """

    def __init__(self, lists: Iterable[NativeList] = (), are_cotangents: bool = False) -> None:
        self.are_cotangents = are_cotangents
        self.known: dict[int, list] = {}
        self.arrays: list[np.ndarray] = []
        for x in lists:
            own = x.copies or [xs for xs, _ in x.lists]
            self.known |= {at: xs for (at, _), xs in zip(x.addresses(), own, strict=True)}

    def read(self, x: Any) -> Any:
        """Convert a list, or a snapshot to pairs of new and old contents; return others as is."""
        if type(x) is NativeList:
            return self._at(x, x.items, x)
        if type(x) is not ListSnapshot:
            return x
        for copy, (address, items) in zip(x.copies, x.list.addresses(), strict=True):
            copy[:] = self._items_at(address, items, x.list)
        return list(zip(x.copies, x.before, strict=True))

    def _at(self, address: int, items: Any, of: NativeList) -> list:
        if address not in self.known:
            result = self.known[int(address)] = list[Any]()
            result += self._items_at(address, items, of)
        return self.known[address]

    def _items_at(self, address: int, items: ItemType, of: NativeList) -> list:
        data, n = _words_at(address, 2).tolist()
        if items.inner is not None:
            return [self._at(inner, items.inner, of) for inner in _words_at(data, n).tolist()]
        if not items.kind.is_array:
            return _numbers_at(data, n, items.kind, self.are_cotangents)
        found = _arrays_at(data, n, items.kind, of.owner)
        self.arrays += found
        return [x.copy("K") for x in found] if of.is_restored else found


def _words_at(address: int, n: int) -> np.ndarray:
    """Return a view of words of memory."""
    if not n:
        return np.empty(0, np.int64)
    memory: Any = (ctypes.c_int64 * n).from_address(address)
    return np.frombuffer(memory, np.int64)


def _arrays_at(address: int, n: int, kind: Kind, owner: Any) -> list[np.ndarray]:
    words = _words_at(address, n * width_of(kind)).reshape(n, width_of(kind)).tolist()
    ndim = kind.ndim
    return [array_at(kind.dtype, x[0], tuple(x[1 : 1 + ndim]), tuple(x[1 + ndim :]), owner)
            for x in words]  # fmt: skip


def _numbers_at(address: int, n: int, kind: Kind, are_cotangents: bool) -> list:
    letter, tagged = letter_of(kind), has_tag(kind)
    width = width_of(kind)
    words = _words_at(address, n * (width + tagged)).reshape(n, width + tagged)
    parts = words[:, :width].copy()
    if letter not in "ib":
        parts = parts.view(np.complex128 if letter in PARTS else np.float64)
    found = parts.reshape(n).tolist()
    if tagged:
        pairs = zip(found, words[:, -1].tolist(), strict=True)
        return [
            CLASSES[t](x.real if letter in PARTS and not t & COMPLEX_TAG else x) for x, t in pairs
        ]
    (cls,) = kind.classes
    is_double = are_cotangents and cls in (np.float64, np.complex128)
    return found if is_double or cls in (int, float, complex) else list(map(cls, found))


# -- what the source around machine code calls -----------------------------------------------------


def _copied_lists(x: NativeList) -> NativeList:
    """Prepare a list for changes: an argument gets `copies`, and arrays in others are copied."""
    x.is_restored = not x.lists
    x.copies = x.copies or [[] for _ in x.lists]
    return x


def _lists_in(x: NativeList) -> list[NativeList]:
    return [held(items, address, x) for address, items in x.addresses()]


def _zeros_in(x: NativeList) -> NativeList:
    """Return the shadow of an argument."""

    def cotangents_of(items: Any) -> ItemType:
        if items.inner is None:
            return ItemType(cotangent_kind(items.kind))
        return ItemType(items.kind, inner=cotangents_of(items.inner))

    _, _, numbers, form = x.owner
    types = {id(items): cotangents_of(items) for _, items in x.lists}
    innermost = types[id(x.lists[-1][1])]
    result = _in_memory(form, np.zeros((len(numbers), width_of(innermost.kind)), np.int64))
    result.items = types[id(x.items)]
    result.lists = [(xs, types[id(items)]) for xs, items in x.lists]
    return result


def _add_in(shadow: Any, seed: Any) -> None:
    """Add cotangents to the shadow of a list, or to a list of shadows. None is a zero."""
    if seed is None:
        return
    if type(shadow) is list:
        for part, own in zip(shadow, seed, strict=True):
            _add_in(part, own)
        return
    data, n = _words_at(shadow, 2).tolist()
    items = shadow.items
    if items.inner is not None:
        for address, own in zip(_words_at(data, n).tolist(), seed, strict=True):
            _add_in(held(items.inner, address, shadow), own)
        return
    if items.kind.is_array:
        for x, own in zip(_arrays_at(data, n, items.kind, shadow), seed, strict=True):
            if own is not None:
                x += own
        return
    dtype = np.complex128 if letter_of(items.kind) in PARTS else np.float64
    numbers = _words_at(data, n * width_of(items.kind)).view(dtype)
    numbers += np.array([0.0 if x is None else x for x in seed], dtype)


SCOPE = {
    "copied_lists": _copied_lists, "states_in": ListSnapshot, "lists_in": _lists_in,
    "zeros_in": _zeros_in, "add_in": _add_in,
}  # fmt: skip
"""The globals of the source around machine code: see `list_arguments.SCOPE`."""


def with_lists(forward: Callable, backward: Callable, types: dict[int, ItemType]) -> tuple:
    """Return both functions of a program as functions of Python lists.

    `types` has the positions of the arguments that are lists, and the types of their items. A list
    that is the same object as in the last run has not changed, and is not converted again.
    """
    last: dict[int, tuple[list, NativeList]] = {}

    def given_again(k: int, x: list) -> NativeList:
        before = last.get(k)
        if before is None or before[0] is not x or before[1].copies:  # the run may change those
            before = last[k] = x, given(x, types[k])
        return before[1]

    def forward_of_lists(*values: Any) -> tuple:
        args = list(values)
        for k in types:
            args[k] = given_again(k, args[k])
        outs, frame, tape = forward(*args)
        reading = ListResults([args[k] for k in types])
        results = tuple(map(reading.read, outs))
        check_apart(reading.arrays, ())
        return results, frame, tape

    def backward_of_lists(*args: Any) -> tuple:
        return tuple(map(ListResults(are_cotangents=True).read, backward(*args)))

    return forward_of_lists, backward_of_lists
