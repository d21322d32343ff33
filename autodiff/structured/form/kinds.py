"""Kinds: the abstract values of the reader.

A kind has the class of a value, the dtype and rank of an array, and the value itself if it is a
known constant (a function, a module, a literal). The kind of a result is inferred by calling the
function itself on sample values. Where it could depend on values, the generated code checks it.
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
    """A function uses something that the reader does not support; it is traced instead."""


class EmptyListError(UnsupportedError):
    """An item of a list is read that is empty so far: a later loop iteration may add items."""


class BindsAttributeError(UnsupportedError):
    """A function assigns an attribute of an argument."""


class ItemsChangeError(UnsupportedError):
    """A loop writes into a container whose items Python takes before the loop runs."""

    def __init__(self) -> None:
        super().__init__("a write into a container whose items are taken before their iterations")


class UnboundError(UnsupportedError):
    """A variable is read that may be unbound, because only a loop or branch binds it.

    `variable` is the function and the name, and None for a hidden variable; `loop` is the source
    position of the loop that binds it, if any.
    """

    def __init__(self, function: Any, name: str, loop: tuple[int, int] | None) -> None:
        super().__init__(f"{name} may not be bound")
        self.variable = None if name.startswith(".") else (function, name)
        self.loop = loop


class MixedKindsError(UnsupportedError):
    """A variable has different kinds at different times.

    Attributes
    ----------
    loop : tuple or None
        The source position of the innermost enclosing loop that is not peeled yet: its first
        iteration may be read separately.
    other : tuple or None
        If the variable may be None: the variable, its other kind, and the memory of that.
    choice : tuple or None
        The source position of a conditional expression whose values have these kinds.
    """

    def __init__(self) -> None:
        super().__init__("a variable that is of one kind and then of another")
        self.loop: tuple[int, int] | None = None
        self.other: tuple[Any, Any, Any] | None = None
        self.choice: tuple[int, int] | None = None


class ListInMemoryError(UnsupportedError):
    """A named list or dict is put into another, and is changed or escapes.

    Attributes
    ----------
    places : set of tuple
        The source positions of the displays that may be read as lists and dicts in memory instead.
    grow : bool
        Whether these are dicts that may get more keys.
    """

    def __init__(self, message: str, places: Iterable[Any], grow: bool = False) -> None:
        super().__init__(message)
        self.places = set(places)
        self.grow = grow


class MadeInLoopError(UnsupportedError):
    """An object of class `cls` is made in a branch or loop: split all such objects instead."""

    def __init__(self, cls: type) -> None:
        super().__init__("an object that is made in a branch or loop")
        self.cls = cls


class InMemoryError(UnsupportedError):
    """An object changes, or a list holds it: read all objects of its class in memory instead.

    Attributes
    ----------
    cls : type
        The class.
    """

    def __init__(self, cls: type) -> None:
        super().__init__("an object that changes, or that a list holds")
        self.cls = cls


class MayBeMissingError(UnsupportedError):
    """An attribute is None or unbound at first, and bound later: read it as optional instead.

    Attributes
    ----------
    key : tuple
        The class and the name.
    value : Any
        A placeholder for the missing value.
    is_none : bool
        Whether the attribute is None rather than unbound.
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
"""Stands for a value that is not a known constant."""


def is_member(x: Any) -> bool:
    """Whether `x` is a member of an enumeration, compared by identity."""
    eq = getattr(type(x), "__eq__", None)
    return isinstance(x, enum.Enum) and not isinstance(eq, types.FunctionType)


SCALARS: tuple[type, ...] = (
    bool, int, float, complex, np.float64, np.float32, np.complex128, np.complex64,
    np.int64, np.int32, np.intp, np.bool_,
    np.uint8, np.int8, np.int16, np.uint16, np.uint32, np.uint64,
)  # fmt: skip


class _Bounded(collections.deque):
    """Stands in kinds for deques with ``maxlen``."""


class _Table(dict):
    """Stands in kinds for growing dicts."""


class _Fixed(tuple):
    """Stands in kinds for tuples of unknown length."""


_STANDS_FOR: dict[type, type] = {_Bounded: collections.deque, _Table: dict, _Fixed: tuple}
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
    """What the reader knows of a value.

    Attributes
    ----------
    classes : frozenset of type
        The classes that it may have; several only for scalars.
    dtype : np.dtype or None
        The dtype of an array.
    ndim : int
        The rank of an array.
    parts : tuple of Kind
        The kinds of the parts of a tuple.
    value : Any
        The value, or `UNKNOWN`.
    ones : frozenset of int
        The axes of an array that are expected to have length 1.
    owner : weakref.ref, optional
        For an object in memory, which is a dict of its attributes: its class. For a `defaultdict`:
        its factory. For a set: `set`.
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
    def own_classes(self) -> frozenset[type]:
        """The classes that it may have in the function, where no class stands for another one."""
        if self.is_table and self.owner is not None:
            owner = self.owner()  # a set or a Counter, or the factory of a defaultdict
            is_own = owner in (set, collections.Counter)
            return frozenset([owner if is_own else collections.defaultdict])  # type: ignore[list-item]
        return frozenset([_STANDS_FOR.get(cls, cls) for cls in self.classes])

    @property
    def is_list(self) -> bool:
        """Whether it is a growing list, a deque or `FIXED`; `Memory` knows its items."""
        return self.classes <= _LISTS

    @property
    def is_queue(self) -> bool:
        """Whether it is a deque."""
        return self.classes <= _DEQUES

    @property
    def is_fixed(self) -> bool:
        """Whether it is a tuple of unknown length: an immutable list."""
        return self.classes == _TUPLE

    @property
    def is_dict(self) -> bool:
        """Whether it is a dict with fixed keys, or an object; `Memory` knows its items."""
        return self.classes == _DICT

    @property
    def is_object(self) -> bool:
        """Whether it is a user-defined object, as a dict of its attributes."""
        return self.owner is not None and self.is_dict

    @property
    def is_table(self) -> bool:
        """Whether it is a growing dict; `Memory` knows its items."""
        return self.classes == _TABLE

    @property
    def is_set(self) -> bool:
        """Whether it is a set: a growing dict whose keys are its items."""
        return self.is_table and self.owner is not None and self.owner() is set

    @property
    def is_mapping(self) -> bool:
        """Whether it is a dict of the user's in memory, with fixed keys or growing."""
        return self.is_table or (self.is_dict and self.owner is None)

    @property
    def is_text(self) -> bool:
        """Whether it is a string."""
        return self.classes == _TEXT

    @property
    def is_member(self) -> bool:
        """Whether it is a member of an enumeration."""
        return self.dtype is None and all(issubclass(c, enum.Enum) for c in self.classes)

    @property
    def has_items(self) -> bool:
        """Whether it is a list or dict in memory."""
        return self.is_list or self.is_dict or self.is_table

    @property
    def has_memory(self) -> bool:
        """Whether it is mutable: an array, or a list or dict in memory."""
        return self.dtype is not None or self.has_items

    @property
    def letter(self) -> str:
        """The kind code of an array's dtype, such as "f" or "c"; empty for other values."""
        return "" if self.dtype is None else self.dtype.kind

    @property
    def is_scalar(self) -> bool:
        """Whether it is a number."""
        return self.dtype is None and self.classes.issubset(SCALARS)

    @property
    def is_integral(self) -> bool:
        """Whether it is an integer or boolean, which has no derivative."""
        return self.dtype is None and self.classes.issubset(_INTEGRAL)

    @property
    def is_inexact(self) -> bool:
        """Whether a derivative with respect to it makes sense."""
        if self.dtype is not None:
            return self.dtype.kind in "fc"
        return self.is_scalar and not self.is_integral

    @property
    def is_complex(self) -> bool:
        """Whether it may be complex, or is a complex array."""
        if self.dtype is not None:
            return self.dtype.kind == "c"
        return not self.classes.isdisjoint(_COMPLEX) or any(p.is_complex for p in self.parts)

    @property
    def has_floats(self) -> bool:
        """Whether it is a float or complex number or array, or a tuple that has one."""
        return self.is_inexact or any(p.has_floats for p in self.parts)

    @property
    def is_known(self) -> bool:
        """Whether the value is a known constant."""
        return self.value is not UNKNOWN

    def general(self) -> Kind:
        """Return the kind without known constants and axes of length 1."""
        parts = tuple([p.general() for p in self.parts])
        return self._replace(value=UNKNOWN, parts=parts, ones=frozenset())


INT, BOOL = Kind(frozenset([int])), Kind(frozenset([bool]))
"""Python's own integers and truth values."""

LIST, TABLE = Kind(_LIST), Kind(_TABLE)
"""A growing list, and a growing dict."""

DEQUE, BOUNDED = Kind(frozenset([collections.deque])), Kind(frozenset([_Bounded]))
"""Deques without and with ``maxlen``."""

FIXED = Kind(_TUPLE)
"""A tuple of unknown length."""

DICT = Kind(_DICT)
"""A dict with fixed keys in memory: an item of a list, for example."""

ANYTHING = Kind(frozenset([object]))
"""The top element: a variable that holds values of incompatible kinds."""


def kind_of(x: Any, known: bool = False) -> Kind:
    """Return the kind of a value; with `known`, as a known constant.

    Raises
    ------
    UnsupportedError
        If its class is not supported.
    """
    value = x if known else UNKNOWN
    cls = type(x)
    if cls is np.ndarray:
        if x.dtype.kind not in "fciub" or not x.dtype.isnative:
            raise UnsupportedError(f"an array of {x.dtype}")
        return Kind(frozenset([cls]), x.dtype, x.ndim)
    if cls is tuple:
        parts = tuple([kind_of(p, known) for p in x])
        is_known = all(p.is_known for p in parts)
        return Kind(frozenset([cls]), parts=parts, value=value if is_known else UNKNOWN)
    if cls in SCALARS:
        is_minus_zero = x == 0 and "-" in repr(x)  # kinds are compared, and it equals 0.0
        return Kind(frozenset([cls]), value=UNKNOWN if is_minus_zero else value)
    if known or x is None or isinstance(x, (str, np.dtype, type, slice)) or x is Ellipsis:
        return Kind(frozenset([cls]), value=x)
    raise UnsupportedError(f"a value of class {cls.__name__}")


def kind_with_unit_axes(x: np.ndarray) -> Kind:
    """Return the kind of an array, including its axes of length 1."""
    return kind_of(x)._replace(ones=frozenset([k for k, n in enumerate(x.shape) if n == 1]))


def join(a: Kind, b: Kind) -> Kind:
    """Return the join of two kinds: the kind of a value that has one or the other."""
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
    raise MixedKindsError


def samples(kind: Kind, n: int = 2) -> list[Any]:
    """Return sample values of a kind, one for each class that it may have.

    Arrays have length `n` along each axis, and numbers are `n`.
    """
    if kind.is_known:
        return [kind.value]
    if kind.is_array:
        x = np.ones([1 if k in kind.ones else n for k in range(kind.ndim)], kind.dtype)
        if kind.ndim > 1:
            x += np.eye(*x.shape[-2:]).astype(x.dtype)  # an invertible matrix
        return [x]
    if kind.parts:
        return [tuple(p) for p in itertools.product(*[samples(p, n) for p in kind.parts])]
    if kind.classes == {tuple}:
        return [()]
    if kind.has_items:
        raise UnsupportedError("a list or dict as an argument")
    if kind.is_text:
        return ["111"]  # works as a number, as a format, and as a string of several letters
    return [cls(n) for cls in sorted(kind.classes, key=lambda c: c.__name__)]


def _kind_of_output(x: Any) -> Kind:
    """Return the kind of a result, which may be a named tuple."""
    cls = type(x)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return kind_of(tuple(x))._replace(classes=frozenset([cls]))
    return kind_of(x)


def _with_unit_axes(x: Any) -> Any:
    """Reduce every axis of a sample to length 1."""
    return x[(slice(1),) * x.ndim] if isinstance(x, np.ndarray) else x


def kind_of_result(f: Callable, kinds: list[Kind], options: dict[str, Kind] | None = None) -> Kind:
    """Infer the kind of ``f(*args, **options)`` by calls with sample values.

    Raises
    ------
    UnsupportedError
        If the calls fail, or the kind of the result is not supported.
    """
    options = options or {}
    try:
        kind = _kind_of_some_size(f, kinds, options)
        if kind.ones:  # an axis may have length 1 only because samples are short, as in x[1::2]
            longer = _kind_of_calls(f, kinds, options, _LARGER + 3)
            kind = kind._replace(ones=kind.ones & longer.ones)
        return kind
    except UnsupportedError:
        if not any(kind.ones for kind in (*kinds, *options.values())):
            raise
    plain = {name: kind._replace(ones=frozenset()) for name, kind in options.items()}
    return kind_of_result(f, [kind._replace(ones=frozenset()) for kind in kinds], plain)


_LARGER = 8
"""The length of samples for a function that fails for length 2: it may use a constant index."""


def _kind_of_some_size(f: Callable, kinds: list[Kind], options: dict[str, Kind]) -> Kind:
    """Infer the kind of a result with the first sample size that the function accepts."""
    try:
        return _kind_of_calls(f, kinds, options, 2)
    except UnsupportedError:
        is_number = all(kind.is_scalar for kind in kinds)
        if is_number and getattr(f, "__module__", None) in ("math", "cmath"):
            return _kind_of_calls(f, kinds, options, 0)  # math.acos(2.0) fails
        return _kind_of_calls(f, kinds, options, _LARGER)


def _kind_of_calls(f: Callable, kinds: list[Kind], options: dict[str, Kind], size: int) -> Kind:
    """Infer the kind of a result from samples of this size."""
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
                    output = called(row)
                except ValueError:  # np.squeeze needs axes of length 1
                    output = called(tuple(map(_with_unit_axes, row)))
            except Exception as error:  # samples may be outside the domain
                raise UnsupportedError(f"{f} fails for samples: {error}") from error
            kind = _kind_of_output(output)
            if kind.is_known and type(output) is slice:
                raise UnsupportedError("a slice that depends on values")
            if kind.is_text:
                kind = kind.general()
            if kind.is_array:
                kind = kind_with_unit_axes(output)
            result = kind if result is None else join(result, kind)
    if result is None:
        raise UnsupportedError("no samples")
    return result
