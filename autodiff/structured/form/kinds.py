"""Kinds of values: what is known of a value while a function is read from its source.

A kind says of which class a value is, of which dtype and how many axes if it is an array, and which
value it is if that is known (a function, a module, a literal). Kinds of results are found by
calling the very function on sample values; the code that is generated checks them where they could
depend on values.
"""

from __future__ import annotations

import collections
import enum
import itertools
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np


class UnsupportedError(Exception):
    """A function uses something that is not read from its source; it is traced instead."""


class NoItemsError(UnsupportedError):
    """An item is read of a list that has had none so far: a later turn of a loop may add some."""


class BindsAttributeError(UnsupportedError):
    """A function binds an attribute of an object that it is given."""


class UnboundError(UnsupportedError):
    """A variable is read that may not be bound: a loop binds it, if it has a turn.

    Attributes
    ----------
    loop : tuple or None
        The place of the loop in the source.
    """

    def __init__(self, name: str, loop: tuple[int, int] | None) -> None:
        super().__init__(f"{name} may not be bound")
        self.loop = loop


class ManyKindsError(UnsupportedError):
    """A variable is of one kind and then of another.

    Attributes
    ----------
    loop : tuple or None
        The place of the innermost loop around it whose first turn is not read by itself so far.
    other : tuple or None
        If it may be None: the variable, its other kind, and the memory of that.
    """

    def __init__(self) -> None:
        super().__init__("a variable that is of one kind and then of another")
        self.loop: tuple[int, int] | None = None
        self.other: tuple[Any, Kind, Any] | None = None


class ListInMemoryError(UnsupportedError):
    """A list or dict with a name is put into another, and is changed or seen outside.

    Attributes
    ----------
    places : set of tuple
        Where such are displayed: they may be read as lists and dicts in memory.
    """

    def __init__(self, message: str, places: Iterable[tuple[int, int]]) -> None:
        super().__init__(message)
        self.places = set(places)


class MadeInLoopError(UnsupportedError):
    """An object is made in a branch or loop: all of its class may be read as their attributes.

    Attributes
    ----------
    cls : type
        The class.
    """

    def __init__(self, cls: type) -> None:
        super().__init__("an object that is made in a branch or loop")
        self.cls = cls


class InMemoryError(UnsupportedError):
    """An object changes, or a list holds it: all of its class may be read as objects in memory.

    Attributes
    ----------
    cls : type
        The class.
    """

    def __init__(self, cls: type) -> None:
        super().__init__("an object that changes, or that a list holds")
        self.cls = cls


class MayBeMissingError(UnsupportedError):
    """An attribute is None at first, or not there, and is bound later: it may be read as missing.

    Attributes
    ----------
    key : tuple
        The class and the name.
    value : Any
        What stands in the place of a value that is missing.
    is_none : bool
        Whether the attribute is None, and not without a value at all.
    """

    def __init__(self, key: tuple[type, str], value: Any, is_none: bool) -> None:
        super().__init__(f"attribute {key[1]}, which some objects do not have")
        self.key = key
        self.value = value
        self.is_none = is_none


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Any = _Unknown()
"""In the place of a value that is not known while the function is read."""


def is_member(x: Any) -> bool:
    """Whether it is a member of an enumeration, which is equal to itself alone."""
    eq = getattr(type(x), "__eq__", None)
    return isinstance(x, enum.Enum) and not isinstance(eq, types.FunctionType)


SCALARS: tuple[type, ...] = (
    bool, int, float, complex, np.float64, np.float32, np.complex128, np.complex64,
    np.int64, np.int32, np.intp, np.bool_,
    np.uint8, np.int8, np.int16, np.uint16, np.uint32, np.uint64,
)  # fmt: skip


class _Bounded(collections.deque):
    """The class of a deque with ``maxlen`` in a kind."""


class _Table(dict):
    """The class of a dict that grows in a kind."""


class _Fixed(tuple):
    """The class of a tuple of any length in a kind."""


_LIST = frozenset([list])
_DEQUES = frozenset([collections.deque, _Bounded])
_TUPLE = frozenset([_Fixed])
_TABLE = frozenset([_Table])
_LISTS = _LIST | _DEQUES | _TUPLE
_DICT = frozenset([dict])
_TEXT = frozenset([str])
_COMPLEX = frozenset([complex, np.complex128, np.complex64])
_INTEGRAL = frozenset(SCALARS) - {float, np.float64, np.float32} - _COMPLEX
_MOST_SAMPLES = 16


class Kind(NamedTuple):
    """What is known of a value.

    Attributes
    ----------
    classes : frozenset of type
        The classes that it may be of: several for scalars alone.
    dtype : np.dtype or None
        Of an array.
    ndim : int
        Of an array.
    parts : tuple of Kind
        Of a tuple.
    value : Any
        Which value it is, or `UNKNOWN`.
    ones : frozenset of int
        Of an array: axes that are expected to have one element.
    owner : weakref.ref, optional
        Of an object in memory, which is a dict of its attributes: its class. Of a `defaultdict`:
        what makes its items.
    """

    classes: frozenset[type]
    dtype: np.dtype | None = None
    ndim: int = 0
    parts: tuple[Kind, ...] = ()
    value: Any = UNKNOWN
    ones: frozenset[int] = frozenset()
    owner: weakref.ref[type] | None = None

    @property
    def is_array(self) -> bool:
        """Whether it is an array."""
        return self.dtype is not None

    @property
    def is_list(self) -> bool:
        """Whether it is a list that may grow, a deque or `FIXED`: `Memory` says of what."""
        return self.classes <= _LISTS

    @property
    def is_queue(self) -> bool:
        """Whether it is a deque."""
        return self.classes <= _DEQUES

    @property
    def is_fixed(self) -> bool:
        """Whether it is a tuple of any length: a list that nobody changes once it is made."""
        return self.classes == _TUPLE

    @property
    def is_dict(self) -> bool:
        """Whether it is a dict that others hold, or an object: `Memory` says of what."""
        return self.classes == _DICT

    @property
    def is_object(self) -> bool:
        """Whether it is an object of the user's, as a dict of its attributes."""
        return self.owner is not None and self.is_dict

    @property
    def is_table(self) -> bool:
        """Whether it is a dict that grows: `Memory` says of what."""
        return self.classes == _TABLE

    @property
    def is_text(self) -> bool:
        """Whether it is a text."""
        return self.classes == _TEXT

    @property
    def is_member(self) -> bool:
        """Whether it is a member of an enumeration."""
        return self.dtype is None and all(issubclass(c, enum.Enum) for c in self.classes)

    @property
    def has_items(self) -> bool:
        """Whether it is a list or dict that may grow, or a dict that others hold."""
        return self.is_list or self.is_dict or self.is_table

    @property
    def has_memory(self) -> bool:
        """Whether it can be written into: it is an array, or a list or dict in memory."""
        return self.dtype is not None or self.has_items

    @property
    def letter(self) -> str:
        """The kind of dtype of an array, "f" for floats, "c" for complex ones; empty for others."""
        return "" if self.dtype is None else self.dtype.kind

    @property
    def is_scalar(self) -> bool:
        """Whether it is a number."""
        return self.dtype is None and self.classes.issubset(SCALARS)

    @property
    def is_integral(self) -> bool:
        """Whether it is an integer or truth value: nothing that is differentiated."""
        return self.dtype is None and self.classes.issubset(_INTEGRAL)

    @property
    def is_inexact(self) -> bool:
        """Whether a derivative with respect to it makes sense."""
        if self.dtype is not None:
            return self.dtype.kind in "fc"
        return self.is_scalar and not self.is_integral

    @property
    def is_complex(self) -> bool:
        """Whether it may be a complex number, or is an array of such."""
        if self.dtype is not None:
            return self.dtype.kind == "c"
        return not self.classes.isdisjoint(_COMPLEX) or any(p.is_complex for p in self.parts)

    @property
    def has_floats(self) -> bool:
        """Whether it is a float or complex, or an array of such, or a tuple with such in it."""
        return self.is_inexact or any(p.has_floats for p in self.parts)

    @property
    def is_known(self) -> bool:
        """Whether the value is known."""
        return self.value is not UNKNOWN

    def general(self) -> Kind:
        """Return the kind of other values like this one."""
        parts = tuple([p.general() for p in self.parts])
        return self._replace(value=UNKNOWN, parts=parts, ones=frozenset())


LIST = Kind(_LIST)
"""Of a list that may grow."""

DEQUE, BOUNDED = Kind(frozenset([collections.deque])), Kind(frozenset([_Bounded]))
"""Of deques: those without ``maxlen``, and those with one."""

TABLE = Kind(_TABLE)
"""Of a dict that grows."""

FIXED = Kind(_TUPLE)
"""Of a tuple of any length."""

DICT = Kind(_DICT)
"""Of a dict that others hold: an item of a list, say."""

ANYTHING = Kind(frozenset([object]))
"""Of a variable that holds values of different kinds in different places."""


def kind_of(x: Any, known: bool = False) -> Kind:
    """Return the kind of a value; with `known` of this one value.

    Raises
    ------
    UnsupportedError
        If values of its class are not handled.
    """
    value = x if known else UNKNOWN
    cls = type(x)
    if cls is np.ndarray:
        if x.dtype.kind not in "fciub" or not x.dtype.isnative:
            raise UnsupportedError(f"an array of {x.dtype}")
        return Kind(frozenset([cls]), x.dtype, x.ndim)
    if cls is tuple:
        return Kind(frozenset([cls]), parts=tuple([kind_of(p, known) for p in x]), value=value)
    if cls in SCALARS:
        return Kind(frozenset([cls]), value=value)
    if known or x is None or isinstance(x, (str, np.dtype, type, slice)) or x is Ellipsis:
        return Kind(frozenset([cls]), value=x)
    raise UnsupportedError(f"a value of class {cls.__name__}")


def kind_like(x: np.ndarray) -> Kind:
    """Return the kind of arrays that have one element along the same axes."""
    return kind_of(x)._replace(ones=frozenset([k for k, n in enumerate(x.shape) if n == 1]))


def join(a: Kind, b: Kind) -> Kind:
    """Return the kind of a value that is one or the other."""
    if a == b:
        return a
    if a.is_scalar and b.is_scalar:
        return Kind(a.classes | b.classes)
    if a.is_text and b.is_text:
        return Kind(_TEXT)
    if a.is_member and a.classes == b.classes:
        return Kind(a.classes)
    if a.is_array and a.general() == b.general():
        return a.general()
    if a.parts and len(a.parts) == len(b.parts) and a.classes == b.classes:
        parts = tuple([join(p, q) for p, q in zip(a.parts, b.parts, strict=True)])
        return Kind(a.classes, parts=parts)
    raise ManyKindsError


def samples(kind: Kind, n: int = 2) -> list[Any]:
    """Return values of a kind: one for each class that it may be of.

    Arrays have `n` elements along each axis, and integers are `n`.
    """
    if kind.is_known:
        return [kind.value]
    if kind.is_array:
        made = np.ones([1 if k in kind.ones else n for k in range(kind.ndim)], kind.dtype)
        if kind.ndim > 1:
            made += np.eye(*made.shape[-2:]).astype(made.dtype)  # a matrix that has an inverse
        return [made]
    if kind.parts:
        return [tuple(p) for p in itertools.product(*[samples(p, n) for p in kind.parts])]
    if kind.classes == {tuple}:
        return [()]
    if kind.has_items:
        raise UnsupportedError("a list or dict as an argument")
    if kind.is_text:
        return ["111"]  # a number, a format and a text of several letters
    return [cls(n) for cls in sorted(kind.classes, key=lambda c: c.__name__)]


def _kind_made(x: Any) -> Kind:
    """Return the kind of what a function gives: it may be a named tuple."""
    cls = type(x)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return kind_of(tuple(x))._replace(classes=frozenset([cls]))
    return kind_of(x)


def _of_one_element(x: Any) -> Any:
    """Return a sample with axes of one element."""
    return x[(slice(1),) * x.ndim] if isinstance(x, np.ndarray) else x


def kind_of_result(f: Callable, kinds: list[Kind], options: dict[str, Kind] | None = None) -> Kind:
    """Return the kind of ``f(*args, **options)``, by calls with sample values.

    Raises
    ------
    UnsupportedError
        If that fails, or the result is of a kind that is not handled.
    """
    options = options or {}
    try:
        kind = _kind_of_some_size(f, kinds, options)
        if kind.ones:  # an axis may have one element only because the samples are small
            kind = kind._replace(ones=kind.ones & _kind_of_calls(f, kinds, options, 3).ones)
        return kind
    except UnsupportedError:
        if not any(kind.ones for kind in (*kinds, *options.values())):
            raise
    plain = {name: kind._replace(ones=frozenset()) for name, kind in options.items()}
    return kind_of_result(f, [kind._replace(ones=frozenset()) for kind in kinds], plain)


_LARGER = 8
"""The length of samples for a function that fails for two elements: an index may be a constant."""


def _kind_of_some_size(f: Callable, kinds: list[Kind], options: dict[str, Kind]) -> Kind:
    """Return the kind of what a function gives for samples that it takes."""
    try:
        return _kind_of_calls(f, kinds, options, 2)
    except UnsupportedError:
        is_number = all(kind.is_scalar for kind in kinds)
        if is_number and getattr(f, "__module__", None) in ("math", "cmath"):
            return _kind_of_calls(f, kinds, options, 0)  # math.acos(2.0) fails
        return _kind_of_calls(f, kinds, options, _LARGER)


def _kind_of_calls(f: Callable, kinds: list[Kind], options: dict[str, Kind], size: int) -> Kind:
    """Return the kind of what a function gives for samples of this size."""
    rows = itertools.product(*[samples(kind, size) for kind in (*kinds, *options.values())])
    result: Kind | None = None
    n = len(kinds)

    def called(row: tuple) -> Any:
        return f(*row[:n], **dict(zip(options, row[n:], strict=True)))

    with np.errstate(all="ignore"):
        for count, row in enumerate(rows):
            if count == _MOST_SAMPLES:
                raise UnsupportedError("numbers of too many classes")
            try:
                try:
                    made = called(row)
                except ValueError:  # np.squeeze takes axes of one element alone
                    made = called(tuple(map(_of_one_element, row)))
            except Exception as error:  # samples may be outside of the domain
                raise UnsupportedError(f"{f} fails for samples: {error}") from error
            kind = _kind_made(made)
            if kind.is_known and type(made) is slice:
                raise UnsupportedError("a slice that depends on values")
            if kind.is_text:
                kind = kind.general()
            if kind.is_array:
                kind = kind_like(made)
            result = kind if result is None else join(result, kind)
    if result is None:
        raise UnsupportedError("no samples")
    return result
