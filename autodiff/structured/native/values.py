"""What expressions are while machine code is written: numbers, arrays, arrays yet to be made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autodiff.structured.form.kinds import Kind, UnsupportedError

_INTEGERS = frozenset({int, np.int64, np.intp})
_DOUBLES = frozenset({int, float, np.float64})
_SINGLES = frozenset({int, float, np.float32})
_OF_SINGLE_PRECISION = frozenset([np.float32, np.complex64])
_TRUTHS = frozenset({bool, np.bool_})
_OTHER_INTEGERS = frozenset({np.int32, np.int16, np.int8, np.uint8, np.uint16, np.uint32})
_COMPLEX = _DOUBLES | {complex, np.complex128}

COMPLEX_TAG = 4
"""The bit that the tag of a complex class has, beside those of its parts."""
TAGS: dict[type, int] = {int: 0, float: 1, np.float64: 2, np.float32: 3, complex: 1 + COMPLEX_TAG,
                         np.complex128: 2 + COMPLEX_TAG}  # fmt: skip
"""What says of which class a number is, where it may be of several: see `joined_tags`.

None may be of both of NumPy's real classes.
"""
CLASSES = {tag: cls for cls, tag in TAGS.items()}
LARGE = 2**62
"""What integers in machine code are smaller than."""


def letter_of(kind: Kind) -> str:
    """Return how a number of a kind is held: one of the keys of `code.TYPES`.

    One that may be complex is held as if it was.
    """
    classes = kind.classes
    if kind.is_array or not classes:
        raise UnsupportedError("an array in the place of a number")
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


def is_whole(kind: Kind) -> bool:
    """Whether integers of a kind have 64 bits, so that what overflows is seen."""
    return kind.classes <= _INTEGERS


def has_tag(kind: Kind) -> bool:
    """Whether it is a number that may be of several classes that count."""
    return kind.is_scalar and len(kind.classes) > 1 and letter_of(kind) in "dz"


def may_be_single(kind: Kind) -> bool:
    """Whether a number may be one of float32 or one of Python's, and is held as a double."""
    return not kind.is_array and len(kind.classes) > 1 and np.float32 in kind.classes


def cotangent_of(kind: Kind) -> Kind:
    """Return the kind of the cotangent of a number."""
    if len(kind.classes) == 1 and kind.classes <= _OF_SINGLE_PRECISION:
        return kind
    return Kind(frozenset([np.complex128 if kind.is_complex else np.float64]))


def width_of(kind: Kind | None) -> int:
    """Return how many words a number (without its tag) or an array has; a list has one."""
    if kind is None or not (kind.is_array or kind.is_scalar):
        return 1
    return 1 + 2 * kind.ndim if kind.is_array else 1 + (letter_of(kind) in "zc")


@dataclass
class Known:
    """What is known while code is written: a literal, a function, a dtype."""

    x: Any


@dataclass
class Number:
    """A number.

    Attributes
    ----------
    kind : Kind
        Of which classes it may be.
    letter : str
        How it is held.
    value : llvmlite value
        The number.
    tag : llvmlite value, optional
        Of which class it is, if it may be of several.
    """

    kind: Kind
    letter: str
    value: Any
    tag: Any = None


class Fresh:
    """Stands for the memory of an array that machine code has made."""


@dataclass
class Array:
    """An array in memory.

    Attributes
    ----------
    dtype : np.dtype
        Of its elements.
    address : llvmlite value
        Of the first one.
    shape, strides : list
        Integers; strides in bytes. Where elements are known to lie side by side, the stride is a
        constant.
    group : Any
        Arrays of different groups never share memory.
    text : str
        How it is written, if it is a part of another.
    """

    dtype: np.dtype
    address: Any
    shape: list
    strides: list
    group: Any
    text: str = ""

    @property
    def kind(self) -> Kind:
        """What it is."""
        return Kind(frozenset([np.ndarray]), self.dtype, len(self.shape))


@dataclass
class Tree:
    """An array that is computed element by element where it is used.

    Attributes
    ----------
    kind : Kind
        What it is.
    f : callable
        The function that makes each element.
    parts : list
        Numbers, arrays and trees.
    shape : list
        Integers.
    """

    kind: Kind
    f: Any
    parts: list = field(default_factory=list)
    shape: list = field(default_factory=list)


@dataclass
class Several:
    """A tuple."""

    parts: list


@dataclass(frozen=True)
class Items:
    """Of what a list is, or what a dict has under a key.

    Attributes
    ----------
    kind : Kind
        What its items are.
    group : Any
        Arrays of different groups never share memory.
    inner : Items or Fields, optional
        Of what its items are, if they are lists or dicts.
    """

    kind: Kind
    group: Any = None
    inner: Items | Fields | None = None


@dataclass(frozen=True)
class Fields:
    """Of what a dict is whose keys are known.

    Attributes
    ----------
    items : tuple
        Each key, and what is under it.
    """

    items: tuple[tuple[Any, Items], ...]


@dataclass
class List:
    """A list that may grow, or a deque, and where it is."""

    items: Items
    address: Any


@dataclass
class Record:
    """A dict whose keys are known, and where it is."""

    items: Fields
    address: Any


@dataclass
class Displayed:
    """A dict as it is written."""

    parts: dict[Any, Any]


@dataclass
class Queue:
    """A deque without items, and how many it may have."""

    most: Any


@dataclass
class Repeated:
    """A list as it is written, so many times over."""

    parts: list
    times: Any


@dataclass
class Chosen:
    """One of several lists as they are written."""

    parts: list
    place: Any


@dataclass
class Turns:
    """A range."""

    start: Any
    stop: Any
    step: Any


def leaves(x: Any) -> list[Array]:
    """Return the arrays that are read for an array."""
    if isinstance(x, Array):
        return [x]
    return [leaf for p in x.parts for leaf in leaves(p)] if isinstance(x, Tree) else []


def as_float(kind: Kind, given: list[Kind]) -> Kind:
    """Return the kind of a derivative, which may be a truth value for samples."""
    if kind.letter == "b":
        return kind._replace(dtype=np.result_type(*[k.dtype for k in given if k.dtype is not None]))
    return Kind(frozenset([np.float64])) if kind.classes <= {bool, np.bool_} else kind


def dtype_of(x: Array | Tree) -> np.dtype:
    """Return the dtype of an array."""
    dtype = x.kind.dtype
    assert dtype is not None
    return dtype
