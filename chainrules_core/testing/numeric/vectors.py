"""Any value as a vector of real numbers, and back: what finite differences perturb.

A value's *coordinates* are the floating point numbers in it: real ones as they are, complex ones
as real and imaginary part, those of containers and objects one after the other. What cannot be
perturbed (integers, truth values, strings, functions, types, …) has none.

The inner product Re⟨a, b⟩ of two tangents is the dot product of their vectors.
"""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_core.tangents import (
    AbstractZero,
    NoTangent,
    NotImplementedTangent,
    Tangent,
    backing,
    construct,
    fields_of,
    unthunk_deep,
)
from chainrules_core.tangents.fields import is_namedtuple
from chainrules_core.tangents.thunk import AbstractThunk

Rebuild = Callable[[np.ndarray], Any]

_EMPTY = np.zeros(0)
_ATOMS = (
    int, float, complex, str, bytes, type(None), type, np.number, np.ufunc, types.FunctionType,
    types.BuiltinFunctionType, types.ModuleType, AbstractZero,
)  # fmt: skip


# ------------------------------------------------------------------------------------- structure


class Parts:
    """What a container or object consists of, and how it and its tangent are built from parts."""

    __slots__ = ("by_name", "children", "keys", "whole")

    def __init__(self, whole: Any, keys: Any, children: Any, by_name: bool) -> None:
        self.whole = whole
        self.keys = list(keys)
        self.children = list(children)
        self.by_name = by_name

    def build(self, children: list) -> Any:
        """Return a value like the whole one, of other parts."""
        if isinstance(self.whole, np.ndarray):
            return _object_array(children, self.whole.shape)
        fields = dict(zip(self.keys, children, strict=True)) if self.by_name else children
        return construct(self.whole, fields)

    def tangent(self, children: list) -> Any:
        """Return the tangent of these parts; NoTangent where all of them are."""
        if all(isinstance(child, NoTangent) for child in children):
            return NoTangent()
        if isinstance(self.whole, np.ndarray):
            return _object_array(children, self.whole.shape)
        cls: Any = Tangent[type(self.whole)]
        if not self.by_name:
            return cls(*children)
        fields = dict(zip(self.keys, children, strict=True))
        return cls(fields) if isinstance(self.whole, dict) else cls(**fields)

    def of_tangent(self, tangent: Any) -> list:
        """Return the part of `tangent` that belongs to each child."""
        if isinstance(tangent, Tangent):
            if not self.by_name and len(backing(tangent)) != len(self.keys):
                raise ValueError(
                    f"a tangent of {len(backing(tangent))} parts does not fit a "
                    f"{type(self.whole).__name__} of {len(self.keys)}."
                )
            return [tangent[key] for key in self.keys]
        if isinstance(self.whole, np.ndarray) and np.shape(tangent) == self.whole.shape:
            return list(np.ravel(tangent))
        other = parts_of(tangent)
        if other is None or other.keys != self.keys:
            raise ValueError(
                f"{tangent!r:.60} is no tangent of a {type(self.whole).__name__}: it takes a "
                f"Tangent[{type(self.whole).__name__}]."
            )
        return other.children

    def step(self, key: Any) -> str:
        """Return how code goes from the whole to a part: ``.a``, ``[0]``, ``['k']``."""
        if not self.by_name or isinstance(self.whole, dict):
            return f"[{key!r}]"
        return f".{key}"


def parts_of(x: Any) -> Parts | None:
    """Return the parts of a container or object; None for what is not made of parts."""
    cls = type(x)
    if isinstance(x, (tuple, list)) and not is_namedtuple(cls):
        return Parts(x, range(len(x)), x, by_name=False)
    if isinstance(x, np.ndarray):
        if x.dtype.kind != "O":
            return None
        return Parts(x, np.ndindex(x.shape), x.ravel().tolist(), by_name=False)
    if isinstance(x, _ATOMS) or is_sparse(x) or to_vector.dispatch(cls) is not _DEFAULT:
        return None
    fields = fields_of(x)
    return None if fields is None else Parts(x, fields, fields.values(), by_name=True)


def _object_array(children: list, shape: tuple) -> np.ndarray:
    array = np.empty(len(children), dtype=object)
    for i, child in enumerate(children):
        array[i] = child
    return array.reshape(shape)


def items_of(tangent: Tangent) -> list[tuple[Any, Any]]:
    """Return key and part of each part that a structural tangent stores.

    Unlike ``tangent.items()``, it cannot be taken for a field of that name.
    """
    stored = backing(tangent)
    return list(stored.items() if isinstance(stored, dict) else enumerate(stored))


def primal_type_of(tangent: Tangent) -> Any:
    """Return the class of a structural tangent's primal, whatever its fields are called."""
    return Tangent.primal_type.fget(tangent)  # type: ignore[attr-defined]


def leaves(x: Any) -> Iterator[Any]:
    """Yield the values in `x` that are not made of parts."""
    parts = parts_of(x)
    if parts is None:
        yield x
        return
    for child in parts.children:
        yield from leaves(child)


def fresh(x: Any) -> Any:
    """Return a deep copy, or `x` itself where Python cannot copy it (a generator, a file)."""
    if isinstance(x, _ATOMS):
        return x
    try:
        return copy.deepcopy(x)
    except (TypeError, copy.Error, NotImplementedError):
        return x


# ------------------------------------------------------------------------------------- to_vector


@functools.singledispatch
def to_vector(x: Any) -> tuple[np.ndarray, Rebuild]:
    """Return the coordinates of a value, and a function that builds such a value from others.

    Parameters
    ----------
    x : value
        A number, array, container, dataclass, named tuple, plain object or tangent.

    Returns
    -------
    vector : array of float64
        The coordinates.
    rebuild : callable
        ``rebuild(vector)`` returns a new value like `x`, float32 where `x` is float32.

    Notes
    -----
    ``@to_vector.register(Foo)`` says how for a class of one's own. Its coordinates have to be such
    that the inner product of two tangents is the dot product of their vectors.

    Examples
    --------
    >>> vector, rebuild = to_vector({"a": 1.0, "n": 3, "b": 2 + 5j})
    >>> vector
    array([1., 2., 5.])
    >>> rebuild(vector * 10)
    {'a': 10.0, 'n': 3, 'b': (20+50j)}
    """
    return _sparse_to_vector(x) if is_sparse(x) else _structure_to_vector(x)


_DEFAULT = to_vector.dispatch(object)


def _structure_to_vector(x: Any) -> tuple[np.ndarray, Rebuild]:
    parts = parts_of(x)
    if parts is None:
        return _EMPTY, lambda vector: x
    children = [to_vector(child) for child in parts.children]
    ends = np.cumsum([len(vector) for vector, _ in children])[:-1]
    if not children or not any(len(vector) for vector, _ in children):
        return _EMPTY, lambda vector: x

    def rebuild(vector: np.ndarray) -> Any:
        pieces = np.split(vector, ends)
        return parts.build(
            [child(piece) for (_, child), piece in zip(children, pieces, strict=True)]
        )

    return np.concatenate([vector for vector, _ in children]), rebuild


@to_vector.register(int)
@to_vector.register(np.integer)
@to_vector.register(np.bool_)
@to_vector.register(str)
@to_vector.register(bytes)
@to_vector.register(type(None))
@to_vector.register(AbstractZero)
def _constant_to_vector(x: Any) -> tuple[np.ndarray, Rebuild]:
    return _EMPTY, lambda vector: x


@to_vector.register(float)
@to_vector.register(np.floating)
def _real_to_vector(x: Any) -> tuple[np.ndarray, Rebuild]:
    cls = type(x)
    return np.array([x], dtype=float), lambda vector: cls(vector[0])


@to_vector.register(complex)
@to_vector.register(np.complexfloating)
def _complex_to_vector(x: Any) -> tuple[np.ndarray, Rebuild]:
    cls = type(x)
    return np.array([x.real, x.imag], dtype=float), lambda v: cls(complex(v[0], v[1]))


@to_vector.register(np.ndarray)
def _array_to_vector(x: np.ndarray) -> tuple[np.ndarray, Rebuild]:
    kind = x.dtype.kind
    if kind == "O":
        return _structure_to_vector(x)
    if kind not in "fc":
        return _EMPTY, lambda vector: x
    return _numbers(x), lambda vector: _like(x, vector)


def _numbers(x: np.ndarray) -> np.ndarray:
    """Return the coordinates of an array of floats, as a new vector."""
    if x.dtype.kind == "c":
        return np.array(x, dtype=complex, order="C", subok=False).ravel().view(float)
    return np.array(x, dtype=float, order="C", subok=False).ravel()


def _like(x: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return a new array like `x` with the coordinates of `vector`."""
    if x.dtype.kind == "c":
        vector = np.ascontiguousarray(vector).view(complex)
    values = vector.reshape(x.shape).astype(x.dtype)
    if type(x) is np.ndarray:
        return values
    new = x.copy()  # keeps what a subclass has besides
    new[...] = values
    return new


def is_sparse(x: Any) -> bool:
    """Whether `x` is a sparse array or matrix of scipy (which is not imported for that)."""
    return hasattr(type(x), "tocsr") and hasattr(type(x), "toarray")


def _sparse_to_vector(x: Any) -> tuple[np.ndarray, Rebuild]:
    """The coordinates are the stored entries."""
    if x.dtype.kind not in "fc":
        return _EMPTY, lambda vector: x
    stored = x.copy() if isinstance(getattr(x, "data", None), np.ndarray) else x.tocoo()
    if stored.data.dtype.kind == "O":  # rows of lists
        stored = x.tocoo()

    def rebuild(vector: np.ndarray) -> Any:
        new = stored.copy()
        new.data = _like(stored.data, vector)
        return new.asformat(x.format)

    return _numbers(stored.data), rebuild


@to_vector.register(Tangent)
def _tangent_vector(x: Tangent) -> tuple[np.ndarray, Rebuild]:
    children = [to_vector(part) for _, part in items_of(x)]
    ends = np.cumsum([len(vector) for vector, _ in children])[:-1]

    def rebuild(vector: np.ndarray) -> Any:
        pieces = iter(np.split(vector, ends))
        rebuilders = iter(child for _, child in children)
        return Tangent.map(x, lambda part: next(rebuilders)(next(pieces)))

    vectors = [vector for vector, _ in children]
    return (np.concatenate(vectors) if vectors else _EMPTY), rebuild


@to_vector.register(AbstractThunk)
def _thunk_to_vector(x: AbstractThunk) -> tuple[np.ndarray, Rebuild]:
    return to_vector(unthunk_deep(x))


# ------------------------------------------------------------------- tangents in a primal's layout


def is_constant(x: Any) -> bool:
    """Whether nothing in `x` can be perturbed (arrays without elements can).

    Examples
    --------
    >>> is_constant([1, "a", None]), is_constant([1, 2.0]), is_constant(np.zeros(0))
    (True, False, False)
    """
    if isinstance(x, np.ndarray) and x.dtype.kind != "O":
        return x.dtype.kind not in "fc"
    parts = parts_of(x)
    if parts is not None:
        return all(is_constant(child) for child in parts.children)
    return to_vector(x)[0].size == 0


def tangent_to_vector(primal: Any, tangent: Any) -> np.ndarray:
    """Return the coordinates of a tangent or cotangent, one for each coordinate of `primal`.

    Zeros of any kind are written out, parts without coordinates left out.

    Raises
    ------
    ValueError
        If the tangent does not fit the primal.

    Examples
    --------
    >>> from chainrules_core import ZeroTangent
    >>> tangent_to_vector((1.0, np.ones(2)), Tangent[tuple](ZeroTangent(), np.array([3.0, 4.0])))
    array([0., 3., 4.])
    """
    tangent = unthunk_deep(tangent)
    if isinstance(tangent, NotImplementedTangent):
        raise tangent.error()
    parts = parts_of(primal)
    if isinstance(tangent, AbstractZero):
        return np.zeros(to_vector(primal)[0].size)
    if parts is not None:
        pieces = [
            tangent_to_vector(child, t)
            for child, t in zip(parts.children, parts.of_tangent(tangent), strict=True)
        ]
        return np.concatenate(pieces) if pieces else _EMPTY
    vector, _ = to_vector(primal)
    if vector.size == 0:
        return vector
    if isinstance(primal, (float, complex, np.number, np.ndarray)):
        values = np.asarray(tangent)
        if values.shape != np.shape(primal):
            raise ValueError(
                f"a tangent of shape {values.shape} does not fit a value of shape "
                f"{np.shape(primal)}."
            )
        is_complex = np.iscomplexobj(primal)
        return _numbers(values.astype(complex) if is_complex else np.real(values).astype(float))
    own, _ = to_vector(tangent)
    if own.size != vector.size:
        raise ValueError(
            f"a {type(tangent).__name__} with {own.size} coordinates is no tangent of a "
            f"{type(primal).__name__} with {vector.size}."
        )
    return own


def vector_to_tangent(primal: Any, vector: np.ndarray) -> Any:
    """Return the tangent of `primal` with the coordinates of `vector`.

    Containers and objects get a ``Tangent``, what has no coordinates gets ``NoTangent()``.

    Examples
    --------
    >>> vector_to_tangent((1.0, "a"), np.array([5.0]))
    Tangent[tuple](5.0, NoTangent())
    """
    if is_constant(primal):
        return NoTangent()
    parts = parts_of(primal)
    if parts is None:
        return to_vector(primal)[1](vector)
    children, start = [], 0
    for child in parts.children:
        stop = start + to_vector(child)[0].size
        children.append(vector_to_tangent(child, vector[start:stop]))
        start = stop
    return parts.tangent(children)
