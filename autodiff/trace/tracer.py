"""Tracers: values being differentiated, which behave as the values themselves.

A tracer holds the value, the tape on which it is recorded and its place there. It passes for an
instance of the value's class (``isinstance(x, float)``, ``match``), so code that checks types takes
the same path as without a gradient. Its operators and methods are defined in
:mod:`autodiff.numpy_api.operators`, :mod:`autodiff.numpy_api.methods` and
:mod:`autodiff.numpy_api.protocols`.
"""

from __future__ import annotations

import copy
import math
import operator
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.errors import lost_value
from autodiff.trace.checks.conversions import constant, plain_text
from autodiff.trace.checks.number_classes import check_class
from autodiff.trace.tape import CONSTANT, FORCED, Tape
from chainrules_core import ProjectTo

_AS_KEY = (
    "Equal values are not the same variable. Use what does not depend on the variables as the key "
    "(a name, an index), or a list."
)
_IN_HERE = (
    "A copy in another process or file is not traced. Take the derivative where the value is "
    "computed."
)


class Tracer:
    """A traced value.

    Attributes
    ----------
    _value : Any
        The value; under nested differentiation a tracer of an outer level.
    _tape : Tape
        Where it is recorded.
    _index : int or tangent
        Its place on the tape; on a forward level its tangent.
    _origin : View or None
        How it was made from another tracer whose memory it shares.
    _views : list or None
        Weak references to the tracers that share its memory.
    """

    __slots__ = ("__weakref__", "_index", "_origin", "_tape", "_value", "_views")

    def __init__(self, value: Any, tape: Tape, index: Any) -> None:
        self._value = value
        self._tape = tape
        self._index = index
        self._origin: Any = None
        self._views: list | None = None

    @property  # type: ignore[misc] # object's is writeable; this one is not
    def __class__(self) -> type:
        """The class of the value: a tracer passes for it."""
        value = self._value
        while issubclass(type(value), Tracer):
            value = value._value
        return value.__class__

    # -- conversions that would lose the derivative ----------------------------------------------

    # What the value itself refuses is refused with the same error: code may rely on that.

    def __float__(self) -> float:
        value = float(bare(self))
        if self._tape is CONSTANT:
            return value
        raise self._lost("float(), or a C function that takes a float,")

    def __complex__(self) -> complex:
        value = complex(bare(self))
        if self._tape is CONSTANT:
            return value
        raise self._lost("complex(), or a C function that takes one,")

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        if self._tape is CONSTANT:
            # A copy: the caller may write into the array (f2py does).
            kwargs["copy"] = kwargs.get("copy", True) is not False
            return np.array(self._value, *args, **kwargs)
        raise self._lost("Converting to an array")

    def __index__(self) -> int:
        return self._read(operator.index)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._tape is CONSTANT:
            return self._value.__reduce_ex__(protocol)
        raise self._lost("pickle", _IN_HERE)

    def __hash__(self) -> int:
        hash(bare(self))
        raise self._lost("A set, dict key or cache", _AS_KEY)

    def _lost(self, how: str, instead: str = "") -> Exception:
        """Build the error for a conversion that would lose the derivative."""
        if self._tape is not CONSTANT:
            Tape.check_open(self._tape)
        return lost_value(how, self.__class__.__name__, instead)

    # -- conversions to constants ----------------------------------------------------------------

    def _read(self, how: Callable[[Any], Any]) -> Any:
        """Return ``how(value)`` as a constant; a recorded program guards it."""
        tape = self._tape
        if tape.program:
            return tape.read(self, how)
        found = how(self._value)
        return found if tape is CONSTANT else constant(found)

    def __bool__(self) -> bool:
        return self._read(bool)

    def __int__(self) -> int:
        return self._read(int)

    def __trunc__(self) -> int:
        return self._read(math.trunc)

    def __floor__(self) -> int:
        return self._read(math.floor)

    def __ceil__(self) -> int:
        return self._read(math.ceil)

    def __round__(self, digits: int | None = None) -> Any:
        return self._read(round if digits is None else lambda value: round(value, digits))

    def __len__(self) -> int:
        return len(self._value)

    def __contains__(self, item: Any) -> bool:
        return self._read(lambda value: item in value)

    def _shown(self, how: Callable[[Any], str]) -> str:
        """Return the text of the value; a plain string once the differentiation has ended."""
        text = self._read(how)
        return plain_text(text) if self._tape.is_closed else text

    def __repr__(self) -> str:
        return self._shown(repr)

    def __str__(self) -> str:
        return self._shown(str)

    def __format__(self, spec: str) -> str:
        return self._shown(lambda value: format(value, spec))

    def __sizeof__(self) -> int:
        return bare(self).__sizeof__()

    def __deepcopy__(self, memo: dict) -> Any:
        return copy.copy(self)


class FloatTracer(Tracer):
    """A traced ``float`` or ``np.float64`` that is traced on one level only.

    Operators between such values are recorded without dispatch: see
    :mod:`autodiff.fastpath.scalar_methods`.
    """

    __slots__ = ()

    def __init__(self, value: Any, tape: Tape, index: Any) -> None:
        self._value = value
        self._tape = tape
        self._index = index


FORCED.update((Tracer, FloatTracer))


class View:
    """How a tracer was made from another one whose memory it shares."""

    __slots__ = ("make", "parent")

    def __init__(self, parent: Tracer, make: Callable[[Any], Any]) -> None:
        self.parent = parent
        self.make = make


def note_view(view: Tracer, parent: Tracer, make: Callable[[Any], Any]) -> None:
    """Note that `view` is ``make(parent)`` and shares its memory."""
    note_origin(view, View(parent, make))


def note_origin(view: Tracer, origin: Any) -> None:
    """Note that `view` is ``origin.make(origin.parent)`` and shares its memory."""
    view._origin = origin
    parent = origin.parent
    if parent._views is None:
        parent._views = [weakref.ref(view)]
    else:
        parent._views.append(weakref.ref(view))


def wrap(value: Any, tape: Tape, index: Any) -> Tracer:
    """Return the tracer for a value recorded at `index`; a tangent on a forward level."""
    kind = type(value)
    if (kind is float or kind is np.float64) and tape.records:
        return FloatTracer(value, tape, index)
    if kind is not np.ndarray:
        if isinstance(value, Tracer):
            tape.nested = True
        else:
            check_class(kind)
    return Tracer(value, tape, index)


TRACERS = frozenset({Tracer, FloatTracer})
"""The classes of traced values."""


def is_tracer(x: Any) -> bool:
    """Whether `x` is a tracer; ``isinstance`` would see the class of its value."""
    return issubclass(type(x), Tracer)


def untraced(x: Any) -> Any:
    """Return the value behind a tracer of any trace level.

    While a program is recorded, this is the tracer of the recording.
    """
    while issubclass(type(x), Tracer) and not x._tape.program:
        x = x._value
    return x


def bare(x: Any) -> Any:
    """Return the plain value behind a tracer; use only its type, shape or memory."""
    while issubclass(type(x), Tracer):
        x = x._value
    return x


def shape_of(x: Any) -> tuple[int, ...]:
    """Return the shape of a value, traced or not."""
    return np.shape(bare(x))


@ProjectTo.register(Tracer, FloatTracer)  # type: ignore[attr-defined] # a function with one
def _projector(x: Tracer) -> Any:
    """The tangent space of a traced value is that of the value."""
    return ProjectTo(bare(x))
