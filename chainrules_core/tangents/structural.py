"""Structural tangents: one tangent for each field of an object, or element of a container.

Their parts may be tangents of any kind, so this module also has the sums and conjugates of all
kinds.

For a sum, the first row that applies counts:

=============================  ================================================
either is                      the sum is
=============================  ================================================
`NotImplementedTangent`        that one, the left of two
`NoTangent`, `ZeroTangent`     the other; `NoTangent` for one of each
`Thunk`                        the sum of the values
`Tangent`                      the `Tangent` of the sums of the parts
array, number, anything else   ``a + b``
=============================  ================================================
"""

from __future__ import annotations

import numbers
import weakref
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NoReturn

import numpy as np

from chainrules_core.errors import TangentTypeError
from chainrules_core.tangents.fields import declared_fields, fields_of, is_namedtuple, primal_class
from chainrules_core.tangents.missing import NotImplementedTangent
from chainrules_core.tangents.thunk import AbstractThunk, unthunk, unthunk_deep
from chainrules_core.tangents.zero import ZERO, AbstractTangent, AbstractZero

# Asked of any object to see whether it is an array; only a field of that name may answer.
_ARRAY_PROTOCOL = frozenset({"dtype", "ndim", "shape", "size"})


class _Indexable(type):
    """What makes ``Tangent[Foo]`` a class, and the same one each time."""

    # By the id of Foo; an entry goes when Foo does. For each of Tangent and MutableTangent.
    _known_: dict[int, Any]

    def __getitem__(cls, primal: Any) -> Any:
        try:
            return cls._known_[id(primal)]
        except KeyError:
            return cls._indexed_by_(primal_class(primal))

    def _indexed_by_(cls, primal: type) -> Any:
        if cls._reference_ is not None:  # type: ignore[attr-defined]
            raise TangentTypeError(
                f"{cls.__name__} has the class of its primal already: give it the parts, as in "
                f"{cls.__name__}(...)."
            )
        known, key = cls._known_, id(primal)
        if key not in known:
            reference = weakref.ref(primal, lambda _: known.pop(key, None))
            bases = (cls, *cls._also_(primal))  # type: ignore[attr-defined]
            known.setdefault(key, _make_type(primal, reference, cls.__name__, bases))
        return known[key]


class Tangent(AbstractTangent, metaclass=_Indexable):
    """The tangent of a structured value: ``Tangent[Foo](a=a_bar, b=b_bar)``.

    ``Tangent[Foo]`` is always the same class, so you can use it with `isinstance` and in the
    signatures of rules. ``Tangent(Foo, a=a_bar)`` means the same as ``Tangent[Foo](a=a_bar)``.

    ==================================  =========================================================
    primal                              its tangent
    ==================================  =========================================================
    tuple, list                         ``Tangent[tuple](x, y)``: one part for each element
    dict                                ``Tangent[dict]({"k": x})``, ``Tangent[dict](k=x)``
    named tuple                         ``Tangent[P](x=x, y=y)`` or ``Tangent[P](x, y)``
    dataclass, attrs class, plain       ``Tangent[Foo](a=a)``: fields left out are zero
    object, class with ``__slots__``
    unknown                             ``Tangent[Any](...)``
    ==================================  =========================================================

    Read a part as ``t.a``, ``t["a"]`` or ``t[0]``. This is never a thunk, and is `ZeroTangent` if
    the part is absent. Iteration, ``values()`` and ``items()`` return the parts as stored. ``in``
    and ``keys()`` refer to names (for tuples and lists, to positions).

    You can add and scale tangents of the same primal type. The product of two has no meaning and is
    an error.

    If a *declared* field has the same name as a method (``keys``, ``map``, ...), ``t.keys`` is the
    field. No class declares the fields of plain objects: there, ``t.keys`` is the method and
    ``t["keys"]`` the field. ``Tangent.keys(t)`` is always the method.

    Raises
    ------
    TangentTypeError
        For a field that the primal's class does not have, for positional parts of a class whose
        fields have no order, or for keywords of a sequence.

    Examples
    --------
    >>> from dataclasses import make_dataclass
    >>> Foo = make_dataclass("Foo", ["a", "b"])
    >>> t = Tangent[Foo](a=2.0)
    >>> t + 2 * t
    Tangent[Foo](a=6.0)
    >>> t.a, t.b
    (2.0, ZeroTangent())
    >>> Tangent[Foo] is Tangent[Foo], isinstance(t, Tangent[Foo])
    (True, True)
    """

    # Names with an underscore at both ends are no user's fields.
    __slots__ = ("_backing_", "_primal_")

    _backing_: tuple | dict  # a tuple of parts for sequences, else a dict by name
    _primal_: type

    # The attributes of the classes Tangent[Foo]. They refer to Foo weakly: it can die although its
    # tangents' class is remembered. A tangent itself keeps the class of its primal alive.
    _reference_: ClassVar[Callable[[], type | None] | None] = None
    _fields_: ClassVar[tuple[str, ...] | None] = None
    _field_set_: ClassVar[frozenset[str] | None] = None
    _by_name_: ClassVar[bool] = False  # not a sequence
    _mapping_: ClassVar[bool] = False
    _known_: ClassVar[dict[int, Any]] = {}

    __array_ufunc__ = None  # NumPy's operators step back: array * tangent is ours
    __hash__ = None  # type: ignore[assignment]  # parts may be arrays

    @staticmethod
    def _also_(primal: type) -> tuple[type, ...]:
        """Further bases for the class that is indexed by `primal`."""
        return ()

    def __new__(cls, /, *parts: Any, **fields: Any) -> Tangent:
        """Check the fields against those of the primal's class, and store them."""
        if cls._reference_ is None:
            if not parts:
                raise TangentTypeError(
                    f"{cls.__name__}(...) needs the class of the primal: write "
                    f"{cls.__name__}[Foo](...), or {cls.__name__}[Any](...) where it is not known."
                )
            return cls[parts[0]](*parts[1:], **fields)
        stored: tuple | dict
        if cls._by_name_:
            stored = _by_position(cls, parts, fields) if parts else fields
            if cls._field_set_ is not None and not cls._field_set_.issuperset(stored):
                _unknown(cls, *(name for name in stored if name not in cls._field_set_))
        elif fields:
            raise TangentTypeError(
                f"{cls.__name__} takes one part for each element, by position, as in "
                f"{cls.__name__}(1.0, 2.0); it was given the keywords {', '.join(fields)}."
            )
        else:
            stored = parts
        return _new(cls, stored)

    # -- parts -----------------------------------------------------------------------------------

    @property
    def primal_type(self) -> type:
        """The class of the primal."""
        return self._primal_

    def __getattr__(self, name: str) -> Any:
        stored = self._backing_
        if type(stored) is dict:
            if name in stored:
                return unthunk(stored[name])
            if self._field_set_ is not None:
                if name in self._field_set_:
                    return ZERO
            elif name[:1] != "_" and name not in _ARRAY_PROTOCOL:
                return ZERO
        known = f": its fields are {', '.join(self._fields_)}" if self._fields_ else ""
        raise AttributeError(f"{type(self).__name__} has no field {name!r}{known}")

    def __getitem__(self, key: Any) -> Any:
        stored = self._backing_
        if type(stored) is tuple:
            if isinstance(key, slice):
                return _new(type(self), stored[key])
            return unthunk(stored[key])
        key = _name(self, key)
        return unthunk(stored[key]) if key in stored else ZERO

    def __iter__(self) -> Iterator[Any]:
        return iter(_values(self) if self._fields_ is None else _canonical(self).values())

    def __len__(self) -> int:
        return len(self._backing_)

    def __contains__(self, key: Any) -> bool:
        return key in _keys(self)

    def keys(self) -> Any:
        """The names of the stored parts; for a sequence, their positions."""
        return _keys(self)

    def values(self) -> Any:
        """The stored parts, which may be thunks."""
        return _values(self)

    def items(self) -> Any:
        """Pairs of name and part."""
        return zip(_keys(self), _values(self), strict=True)

    def map(self, function: Callable[[Any], Any]) -> Tangent:
        """The tangent of the same type with `function` applied to each stored part."""
        return _map(function, self)

    # -- arithmetic ------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        return _merge(self, other) if isinstance(other, Tangent) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return _merge(self, -other) if isinstance(other, Tangent) else NotImplemented

    def __neg__(self) -> Tangent:
        return _map(lambda part: -part, self)

    def __pos__(self) -> Tangent:
        return self

    # To a product with another special tangent that one has the answer: a zero absorbs, a thunk is
    # forced; a second Tangent has none, which is an error.

    def __mul__(self, factor: Any) -> Any:
        if isinstance(factor, AbstractTangent):
            return NotImplemented
        return _map(lambda part: part * factor, self)

    def __rmul__(self, factor: Any) -> Any:
        if isinstance(factor, AbstractTangent):
            return NotImplemented
        return _map(lambda part: factor * part, self)

    def __truediv__(self, divisor: Any) -> Any:
        if isinstance(divisor, AbstractTangent):
            return NotImplemented
        return _map(lambda part: part / divisor, self)

    def conj(self) -> Tangent:
        """The tangent with every part conjugated."""
        return _map(conj, self)

    conjugate = conj

    def __eq__(self, other: object) -> bool:
        """Whether all parts agree; order, thunks, and zeros left out make no difference."""
        if not isinstance(other, Tangent) or self._primal_ is not other._primal_:
            return NotImplemented
        if type(self._backing_) is not type(other._backing_):
            return False
        if type(self._backing_) is tuple and len(self._backing_) != len(other._backing_):
            return False
        keys = dict.fromkeys([*_keys(self), *_keys(other)])
        return all(_same(_part(self, key), _part(other, key)) for key in keys)

    # -- the rest --------------------------------------------------------------------------------

    def _forced_(self) -> Tangent:
        if not any(isinstance(part, AbstractTangent) for part in _values(self)):
            return self
        return _map(unthunk_deep, self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if dtype == np.dtype(object):
            return self._as_object_()
        raise TangentTypeError(
            f"A {type(self).__name__} is a structural tangent, not an array. Calculate with its "
            "parts: t.name, t[0] or Tangent.map(t, function).",
            self._primal_,
        )

    def __reduce__(self) -> tuple:
        unindexed = (base for base in type(self).__mro__ if not base.__dict__.get("_reference_"))
        return _rebuild, (next(unindexed), self._primal_, self._backing_)

    def __repr__(self) -> str:
        stored = self._backing_
        if isinstance(stored, tuple):
            inside = ", ".join(map(repr, stored))
        elif self._mapping_:
            inside = repr(stored)
        else:
            inside = ", ".join(f"{name}={part!r}" for name, part in stored.items())
        return f"{type(self).__name__}({inside})"


# ------------------------------------------------------------------------- the classes Tangent[Foo]


def _make_type(
    primal: type, reference: weakref.ref, name: str, bases: tuple[type, ...]
) -> type[Tangent]:
    fields = declared_fields(primal)
    members: dict[str, Any] = {
        "__slots__": (),
        "__module__": __name__,
        "__doc__": f"The tangent of a {primal.__qualname__}; see `{name}`.",
        "_reference_": staticmethod(reference),
        "_fields_": fields,
        "_field_set_": None if fields is None else frozenset(fields),
        "_by_name_": is_namedtuple(primal) or not issubclass(primal, (tuple, list)),
        "_mapping_": issubclass(primal, dict),
        "_known_": {},
    }
    for field in fields or ():
        if not field.startswith("__"):
            members.setdefault(field, _field(field))  # it wins over a method of that name
    return type(f"{name}[{primal.__name__}]", bases, members)


def _field(name: str) -> property:
    def part(self: Tangent) -> Any:
        return unthunk(self._backing_.get(name, ZERO))  # type: ignore[union-attr]

    return property(part, doc=f"The part for the field `{name}`.")


def _rebuild(kind: type[Tangent], primal: type, stored: tuple | dict) -> Tangent:
    return _new(kind[primal], stored)


def _by_position(cls: type[Tangent], parts: tuple, fields: dict[str, Any]) -> tuple | dict:
    """What is stored for parts given by position, where the primal is no sequence."""
    if cls._mapping_ and len(parts) == 1 and isinstance(parts[0], dict):
        return {**parts[0], **fields}
    primal = cls._reference_()  # type: ignore[misc]
    if primal is Any and not fields:
        return parts
    if primal is not None and is_namedtuple(primal) and not fields:
        names = cls._fields_ or ()
        if len(parts) == len(names):
            return dict(zip(names, parts, strict=True))
        raise TangentTypeError(
            f"{cls.__name__} takes {len(names)} parts by position ({', '.join(names)}), and was "
            f"given {len(parts)}. Give them all, or some by name: the others are zero."
        )
    raise TangentTypeError(
        f"{cls.__name__} takes its parts by name, not by position: {cls.__name__}"
        f"({(cls._fields_ or ('name',))[0]}=...)."
    )


def _unknown(cls: type[Tangent], *names: Any) -> NoReturn:
    raise TangentTypeError(
        f"{cls.__name__} has no field {', '.join(map(repr, names))}: the fields of its primal are "
        f"{', '.join(cls._fields_ or ())}."
    )


# -------------------------------------------------- on any tangent, whatever its fields are called


def _new(cls: type[Tangent], stored: tuple | dict) -> Any:
    new = object.__new__(cls)
    new._backing_ = stored
    new._primal_ = cls._reference_()  # type: ignore[misc, assignment]
    return new


def _name(t: Tangent, key: Any) -> Any:
    """The name of a field, where it may have been given by its position."""
    if t._field_set_ is None or key in t._field_set_:
        return key
    if isinstance(key, int):
        return t._fields_[key]  # type: ignore[index]
    _unknown(type(t), key)


def _keys(t: Tangent) -> Any:
    stored = t._backing_
    return stored.keys() if type(stored) is dict else range(len(stored))


def _values(t: Tangent) -> Any:
    stored = t._backing_
    return stored.values() if type(stored) is dict else stored


def _part(t: Tangent, key: Any) -> Any:
    stored = t._backing_
    return unthunk_deep(stored.get(key, ZERO) if type(stored) is dict else stored[key])


def _map(function: Callable[[Any], Any], t: Tangent) -> Any:
    stored = t._backing_
    if type(stored) is dict:
        return _new(type(t), {key: function(part) for key, part in stored.items()})
    return _new(type(t), tuple([function(part) for part in stored]))


def _canonical(t: Tangent) -> dict[str, Any]:
    return {name: t._backing_.get(name, ZERO) for name in t._fields_}  # type: ignore[union-attr]


def _merge(a: Tangent, b: Tangent) -> Tangent:
    """The sum; a tangent of unknown primal adapts to the other."""
    if a._primal_ is not b._primal_ and Any not in (a._primal_, b._primal_):
        raise TangentTypeError(
            f"A {type(a).__name__} cannot be added to a {type(b).__name__}: tangents of different "
            "types of primal have no sum. Make both with the class of the one primal.",
            a._primal_,
            b._primal_,
        )
    cls = type(b) if a._primal_ is Any else type(a)
    ours, theirs = a._backing_, b._backing_
    if type(ours) is tuple and type(theirs) is tuple:
        if len(ours) != len(theirs):
            raise TangentTypeError(
                f"Tangents of {len(ours)} and of {len(theirs)} elements have no sum: a "
                f"{type(a).__name__} has one part for each element of its primal, ZeroTangent() "
                "where it does not change.",
                a._primal_,
            )
        return _new(cls, tuple(map(add, ours, theirs)))
    if type(ours) is not dict or type(theirs) is not dict:
        raise TangentTypeError(
            f"Tangents with parts by position and by name have no sum: {a!r:.60} and {b!r:.60}. "
            "Give the parts of both in the same way."
        )
    merged = dict(ours)
    for key, part in theirs.items():
        merged[key] = add(merged[key], part) if key in merged else part
    return _new(cls, merged)


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, AbstractTangent) or isinstance(b, AbstractTangent):
        return isinstance(a, Tangent) and isinstance(b, Tangent) and bool(a == b)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)


# ------------------------------------------------------------------------------ public functions


def canonicalize(t: Any) -> Any:
    """Return the tangent with all fields of its primal, in order; absent ones are zero.

    Only declared fields are known. The tangent of a tuple, list, dict, plain object or unknown
    primal is returned unchanged, and so is anything that is not a structural tangent.

    Examples
    --------
    >>> from collections import namedtuple
    >>> P = namedtuple("P", "x y z")
    >>> canonicalize(Tangent[P](y=1.0))
    Tangent[P](x=ZeroTangent(), y=1.0, z=ZeroTangent())
    """
    if not isinstance(t, Tangent) or t._fields_ is None:
        return t
    return _new(type(t), _canonical(t))


def backing(x: Any) -> Any:
    """Return the stored parts of a structural tangent, or the fields of a structured value.

    Returns
    -------
    tuple, list or dict
        A tuple or dict of parts, which may be thunks. For a tuple or list, the value itself; for
        other structures, a dict of their fields.

    Raises
    ------
    TangentTypeError
        If `x` has no structure.

    Examples
    --------
    >>> backing(Tangent[tuple](1.0, 2.0))
    (1.0, 2.0)
    """
    if isinstance(x, Tangent):
        return x._backing_
    if isinstance(x, (tuple, list)) and not is_namedtuple(type(x)):
        return x
    fields = None if isinstance(x, AbstractTangent) else fields_of(x)
    if fields is None:
        raise TangentTypeError(
            f"A {type(x).__name__} has no fields or elements. backing takes a structural tangent, "
            "a container, or an object with attributes.",
            type(x),
        )
    return fields


# --------------------------------------------------------------------- sums of tangents of any kind

CONTAINERS = (tuple, list, dict, set, frozenset)
"""The classes of containers, which are no tangents themselves."""


# Types of which both terms of a sum are, mostly.
_PLAIN = frozenset({np.ndarray, float, complex, np.float64, np.float32, np.complex128})


def refuse_container(x: Any) -> None:
    """Raise if `x` is a bare container, which is no tangent."""
    if isinstance(x, CONTAINERS) and not hasattr(x, "tocsr"):  # scipy.sparse has a kind of dict
        name = type(x).__name__
        raise TangentTypeError(
            f"A bare {name} is no tangent. "
            + (
                "The elements of a set have no places for tangents: use a tuple, list or dict."
                if isinstance(x, (set, frozenset))
                else f"The tangent of a {name} is a Tangent[{name}](...), with one part for each "
                "element."
            ),
            type(x),
        )


def add(a: Any, b: Any) -> Any:
    """Return the sum of two tangents of the same primal.

    Parameters
    ----------
    a, b : tangent
        Numbers, arrays, thunks, zeros, structural tangents, in any combination that fits.

    Returns
    -------
    tangent
        The sum, which may *be* one of the arguments. Neither argument changes.

    Raises
    ------
    TangentTypeError
        For tangents of different types of primal, and for a bare tuple, list or dict.

    Examples
    --------
    >>> from chainrules_core.tangents import NoTangent, ZeroTangent, thunk
    >>> add(ZeroTangent(), thunk(lambda: 1.0)) + 1.0
    2.0
    >>> add(ZeroTangent(), NoTangent())
    NoTangent()
    >>> add(Tangent[tuple](1.0, ZeroTangent()), Tangent[tuple](2.0, 3.0))
    Tangent[tuple](3.0, 3.0)
    """
    if type(a) in _PLAIN and type(b) in _PLAIN:
        return a + b
    if not (isinstance(a, AbstractTangent) or isinstance(b, AbstractTangent)):
        refuse_container(a)
        refuse_container(b)
        return a + b
    if isinstance(a, NotImplementedTangent):
        return a
    if isinstance(b, NotImplementedTangent):
        return b
    if isinstance(a, AbstractZero):
        return a + b
    if isinstance(b, AbstractZero):
        return a
    if isinstance(a, AbstractThunk) or isinstance(b, AbstractThunk):
        return add(unthunk_deep(a), unthunk_deep(b))
    if isinstance(a, Tangent) and isinstance(b, Tangent):
        return a + b
    raise TangentTypeError(
        f"{type(a).__name__} and {type(b).__name__} have no sum: the one is a structural "
        "tangent, the other is not. Give both the form that a tangent of the primal x has, with "
        "ProjectTo(x)(tangent).",
        type(a),
        type(b),
    )


def conj(t: Any) -> Any:
    """Return the complex conjugate of a tangent; real values are returned unchanged, not copied.

    Examples
    --------
    >>> conj(Tangent[tuple](1.0, 1j))
    Tangent[tuple](1.0, -1j)
    """
    if isinstance(t, AbstractTangent):
        if isinstance(t, Tangent):
            return Tangent.map(t, conj)
        return t.conj() if isinstance(t, AbstractThunk) else t
    if isinstance(t, (float, int)) or getattr(getattr(t, "dtype", None), "kind", "?") in "fiub":
        return t
    refuse_container(t)
    if isinstance(t, numbers.Complex) or hasattr(t, "tocsr"):
        return t.conjugate()
    return t if isinstance(t, numbers.Number) else np.conj(t)
