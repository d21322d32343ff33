"""Values of expressions during lowering: numbers, arrays, lazy arrays, containers, constants."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.form.kinds import Kind, UnsupportedError

_INTEGERS = frozenset({int, np.int64, np.intp})
_DOUBLES = frozenset({int, float, np.float64})
_SINGLES = frozenset({int, float, np.float32})
_OF_SINGLE_PRECISION = frozenset([np.float32, np.complex64])
_TRUTHS = frozenset({bool, np.bool_})
_OTHER_INTEGERS = frozenset({np.int32, np.int16, np.int8, np.uint8, np.uint16, np.uint32})
_COMPLEX = _DOUBLES | {complex, np.complex128}

COMPLEX_TAG = 4
"""The bit that is set in the tags of complex classes."""
TAGS: dict[type, int] = {int: 0, float: 1, np.float64: 2, np.float32: 3, complex: 1 + COMPLEX_TAG,
                         np.complex128: 2 + COMPLEX_TAG}  # fmt: skip
"""The run-time tag of a number whose class is not known statically: see `common_tag`.

No number may be either a float32 or a float64.
"""
CLASSES = {tag: cls for cls, tag in TAGS.items()}
_MOST_SYMBOLS = 100_000
LARGE = 2**62
"""A bound on the magnitude of integers in machine code."""


def letter_of(kind: Kind) -> str:
    """Return the representation of a number or symbol, a key of `function_builder.TYPES`.

    A number that may be complex is represented as complex.
    """
    classes = kind.classes
    if kind.is_array or not classes:
        raise UnsupportedError("an array instead of a number")
    if kind.is_text or (kind.is_member and len(classes) == 1):
        return "t"
    if classes <= _INTEGERS or classes <= _OTHER_INTEGERS:
        return "i"
    if classes <= _DOUBLES:
        return "d"
    if classes <= _TRUTHS:
        return "b"
    if classes <= _SINGLES:
        return "s" if len(classes) == 1 else "d"
    if classes <= _COMPLEX:
        return "z"
    if classes == {np.complex64}:
        return "c"
    raise UnsupportedError(f"a number of class {sorted(c.__name__ for c in classes)}")


class Symbols:
    """The texts and members of enumerations that machine code has seen, each with a number.

    Machine code compares these numbers. It does nothing else with symbols.
    """

    def __init__(self) -> None:
        self.objects: list = []
        self._numbers: dict[tuple[type, Any], int] = {}
        self._lock = threading.Lock()

    def number(self, x: Any) -> int:
        """Return the number of a symbol, a new one for a new symbol.

        Raises
        ------
        UnsupportedError
            If there are too many, because each call has others.
        """
        key = type(x), x  # a member of an enumeration may equal a text
        found = self._numbers.get(key)
        if found is not None:
            return found
        with self._lock:
            if key not in self._numbers:
                if len(self.objects) >= _MOST_SYMBOLS:
                    raise UnsupportedError("too many texts in machine code")
                self.objects.append(x)
                self._numbers[key] = len(self.objects) - 1
            return self._numbers[key]


SYMBOLS = Symbols()


def is_word(kind: Kind) -> bool:
    """Whether values of this kind are numbers or symbols."""
    return kind.is_scalar or kind.is_text or (kind.is_member and len(kind.classes) == 1)


def is_opaque(kind: Kind) -> bool:
    """Whether values of this kind are objects that only Python reads: random generators."""
    return not (is_word(kind) or kind.is_member or kind.has_memory or kind.parts or kind.is_known)


def is_whole(kind: Kind) -> bool:
    """Whether numbers are integers of 64 bits, whose overflow is detected."""
    return kind.classes <= _INTEGERS


def dtype_of_integers(kind: Kind) -> np.dtype:
    """Return the dtype of an array of integers, or of one that holds such numbers."""
    if kind.dtype is not None:
        return kind.dtype
    if is_whole(kind):
        return np.dtype(np.int64)
    if len(kind.classes) > 1:
        raise UnsupportedError("integers of several classes")
    return np.dtype(next(iter(kind.classes)))


def has_tag(kind: Kind) -> bool:
    """Whether the class of a number has to be tracked at run time."""
    return kind.is_scalar and len(kind.classes) > 1 and letter_of(kind) in "dz"


def may_be_float32(kind: Kind) -> bool:
    """Whether a number may be either a float32 or one of Python's, and is held as a double."""
    return not kind.is_array and len(kind.classes) > 1 and np.float32 in kind.classes


def cotangent_kind(kind: Kind) -> Kind:
    """Return the kind of the cotangent of a number."""
    if len(kind.classes) == 1 and kind.classes <= _OF_SINGLE_PRECISION:
        return kind
    return Kind(frozenset([np.complex128 if kind.is_complex else np.float64]))


def width_of(kind: Kind | None) -> int:
    """Return how many words a number (without its tag), an array or a list takes up."""
    if kind is None or not (kind.is_array or kind.is_scalar):
        return 1
    return 1 + 2 * kind.ndim if kind.is_array else 1 + (letter_of(kind) in "zc")


@dataclass
class StaticValue:
    """A compile-time constant: a literal, a function, a dtype."""

    x: Any


@dataclass
class Number:
    """A number.

    Attributes
    ----------
    kind : Kind
        The classes that it may have.
    letter : str
        Its representation: see `letter_of`.
    value : llvmlite value
        The number.
    tag : llvmlite value, optional
        The tag of its class, if it may have several: see `TAGS`.
    """

    kind: Kind
    letter: str
    value: Any
    tag: Any = None


@dataclass
class PythonObject:
    """An object of Python's that only Python reads, such as a pullback.

    Attributes
    ----------
    text : str
        The expression of its place, in `RunTape.values`.
    """

    text: str

    def __getattr__(self, name: str) -> Any:
        raise UnsupportedError("an object of Python's")


class FreshMemory:
    """The alias set of a newly allocated array."""


@dataclass
class Array:
    """A strided array in memory.

    Attributes
    ----------
    dtype : np.dtype
        The dtype.
    address : llvmlite value
        The address of the first element.
    shape, strides : list
        Integers; strides in bytes. The stride of a contiguous axis is a constant.
    alias_set : Any
        Arrays of different alias sets never share memory.
    text : str
        Its source text, if it is a named array or a view. Equal texts mean the same elements.
    window : tuple, optional
        The array of which it is one range along each axis, and the first index of each range.
    """

    dtype: np.dtype
    address: Any
    shape: list
    strides: list
    alias_set: Any
    text: str = ""
    window: tuple[Array, list] | None = None

    @property
    def kind(self) -> Kind:
        """The kind."""
        return Kind(frozenset([np.ndarray]), self.dtype, len(self.shape))

    def view(self, address: Any, shape: list, strides: list, text: str = "") -> Array:
        """Return an array of the same dtype in the same memory."""
        return Array(self.dtype, address, shape, strides, self.alias_set, text)

    def with_axes(self, axes: Iterable[int]) -> Array:
        """Return a view of these axes in this order, at index 0 of the others."""
        axes = list(axes)
        shape, strides = ([n[k] for k in axes] for n in (self.shape, self.strides))
        return self.view(self.address, shape, strides)


@dataclass
class LazyArray:
    """A lazy elementwise expression, which is fused into the loop that uses it.

    Attributes
    ----------
    kind : Kind
        The kind of the array.
    f : callable
        The function of each element.
    parts : list
        The operands: numbers, arrays and lazy arrays.
    shape : list
        Integers.
    size : int
        The number of operations, of which those of a part that occurs twice count twice.
    """

    kind: Kind
    f: Any
    parts: list = field(default_factory=list)
    shape: list = field(default_factory=list)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        self.size = 1 + sum(p.size for p in self.parts if isinstance(p, LazyArray))


@dataclass
class TupleValue:
    """A tuple."""

    parts: list


def parts_of_tuple(x: Any) -> list:
    """Return the parts of a tuple, which may be a constant."""
    if isinstance(x, StaticValue) and type(x.x) is tuple:
        return list(map(StaticValue, x.x))
    if not isinstance(x, TupleValue):
        raise UnsupportedError("something other than a tuple")
    return x.parts


@dataclass(frozen=True)
class ItemType:
    """The type of the items of a list, or of a field of a dict.

    Attributes
    ----------
    kind : Kind
        The kind of an item.
    alias_set : Any
        The alias set of items that are arrays.
    inner : ItemType, DictType or TableType, optional
        The element type of items that are lists or dicts.
    may_be_none : bool
        Whether an item has a further word, which is 0 if the item is None.
    """

    kind: Kind
    alias_set: Any = None
    inner: ItemType | DictType | TableType | None = None
    may_be_none: bool = False


@dataclass(frozen=True)
class DictType:
    """The type of a dict with known keys.

    Attributes
    ----------
    items : tuple
        Pairs of a key and the type of its value.
    """

    items: tuple[tuple[Any, ItemType], ...]


@dataclass(frozen=True)
class TableType:
    """The type of a growing dict or set.

    Attributes
    ----------
    keys : ItemType
        The type of the keys, which are None where they were removed.
    values : ItemType
        The type of the values.
    is_set : bool
        Whether it is a set.
    is_shadow : bool
        Whether it is the shadow of a dict: missing keys have the value 0.
    """

    keys: ItemType
    values: ItemType
    is_set: bool
    is_shadow: bool


@dataclass
class ListRef:
    """A list or deque: the type of its items, and its address."""

    items: ItemType
    address: Any


@dataclass
class DictRef:
    """A dict with known keys: its type and its address."""

    items: DictType
    address: Any


@dataclass
class TableRef:
    """A growing dict or set: its type and its address."""

    items: TableType
    address: Any


CONTAINERS = (ListRef, DictRef, TableRef)
Container = ListRef | DictRef | TableRef
Contents = ItemType | DictType | TableType
"""The type of a container."""


@dataclass
class DictDisplay:
    """A dict display, or a new set, before it is allocated."""

    parts: dict[Any, Any]


@dataclass
class EmptyDeque:
    """An empty deque, before it is allocated, and its `maxlen`."""

    maxlen: Any


@dataclass
class RepeatedList:
    """A list display times an integer, before it is allocated."""

    parts: list
    times: Any


@dataclass
class SelectedList:
    """A tuple of list displays at an index: only the selected list is allocated."""

    parts: list
    index: Any


@dataclass
class RangeValue:
    """A range."""

    start: Any
    stop: Any
    step: Any


def nodes_of(x: Any) -> list[LazyArray | Array]:
    """Return the arrays and expressions that an expression consists of, each once."""
    found: dict[int, Any] = {}

    def visit(part: Any) -> None:
        if isinstance(part, (Array, LazyArray)) and id(part) not in found:
            found[id(part)] = part
            for p in part.parts if isinstance(part, LazyArray) else ():
                visit(p)

    visit(x)
    return list(found.values())


def leaves(x: Any) -> list[Array]:
    """Return the arrays that an array or lazy expression reads, each once."""
    return [n for n in nodes_of(x) if isinstance(n, Array)]


def as_float(kind: Kind, given: list[Kind]) -> Kind:
    """Return the kind of a derivative as a float: found by samples, it may be that of a bool."""
    if kind.letter == "b":
        return kind._replace(dtype=np.result_type(*[k.dtype for k in given if k.dtype is not None]))
    return Kind(frozenset([np.float64])) if kind.classes <= {bool, np.bool_} else kind


def is_one(n: Any) -> bool:
    """Whether an integer is the constant 1."""
    return isinstance(n, ir.Constant) and n.constant == 1


def dtype_of(x: Array | LazyArray) -> np.dtype:
    """Return the dtype of an array."""
    dtype = x.kind.dtype
    assert dtype is not None
    return dtype
