"""Arithmetic of tangents of every kind."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from chainrules_core.errors import ProjectionError
from chainrules_core.tangents.missing import NotImplementedTangent
from chainrules_core.tangents.structural import (
    CONTAINERS,
    Tangent,
    add as add,
    conj as conj,
    refuse_container,
)
from chainrules_core.tangents.thunk import unthunk_deep
from chainrules_core.tangents.zero import AbstractTangent, AbstractZero


def scale(t: Any, s: Any) -> Any:
    """The tangent `t` times the number `s`.

    Examples
    --------
    >>> scale(Tangent[tuple](1.0, 2.0), 3.0)
    Tangent[tuple](3.0, 6.0)
    """
    refuse_container(t)
    return t * s


def inner(a: Any, b: Any) -> Any:
    """The real inner product of two tangents, Re⟨a, b⟩, conjugate on the first.

    Examples
    --------
    >>> inner(np.array([1j, 2.0]), np.array([1j, 3.0]))
    7.0
    >>> inner(Tangent[dict](x=1.0, y=5.0), Tangent[dict](x=2.0))
    2.0

    Raises
    ------
    ProjectionError
        If arrays differ in shape.
    NotImplementedTangentError
        If a missing derivative meets anything except a zero.
    """
    if isinstance(a, AbstractTangent) or isinstance(b, AbstractTangent):
        return _inner_special(unthunk_deep(a), unthunk_deep(b))
    refuse_container(a)
    refuse_container(b)
    if hasattr(a, "tocsr") or hasattr(b, "tocsr"):  # scipy.sparse
        sparse, other = (a, b) if hasattr(a, "tocsr") else (b, a)
        _check_shapes(sparse, other)
        return np.real(sparse.multiply(other.conjugate()).sum()).item()
    shape = np.shape(a)
    if shape != np.shape(b):
        _check_shapes(a, b)
    if shape == ():
        return _plain(np.real(np.conj(a) * b))
    if _of_objects(a) or _of_objects(b):
        return sum(inner(x, y) for x, y in zip(np.ravel(a), np.ravel(b), strict=True))
    return _plain(np.real(np.vdot(a, b)))


def _check_shapes(a: Any, b: Any) -> None:
    if np.shape(a) != np.shape(b):
        raise ProjectionError(
            np.shape(a),
            np.shape(b),
            problem=f"inner(a, b) was given tangents of shapes {np.shape(a)} and {np.shape(b)}.",
            hint="Both must have the shape of the primal: np.reshape or np.broadcast_to one.",
        )


def _of_objects(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "O"


def _plain(x: Any) -> Any:
    return x.item() if isinstance(x, (np.generic, np.ndarray)) else x


def _inner_special(a: Any, b: Any) -> Any:
    if isinstance(a, AbstractZero) or isinstance(b, AbstractZero):
        return 0.0
    for x in (a, b):
        if isinstance(x, NotImplementedTangent):
            raise x.error()
    if isinstance(a, Tangent) and isinstance(b, Tangent):
        a + b  # raises where they are no tangents of one primal
        shared = dict.fromkeys(Tangent.keys(a)) | dict.fromkeys(Tangent.keys(b))
        return sum((inner(a[key], b[key]) for key in shared), 0.0)
    if isinstance(a, AbstractTangent) or isinstance(b, AbstractTangent):
        add(a, b)  # raises: a structural tangent and another
    return inner(a, b)


def norm(t: Any) -> float:
    """The Euclidean norm of a tangent.

    Examples
    --------
    >>> norm(Tangent[tuple](np.array([3.0, 0.0]), 4j))
    5.0
    """
    t = unthunk_deep(t)
    if isinstance(t, AbstractZero):
        return 0.0
    if isinstance(t, NotImplementedTangent):
        raise t.error()
    if isinstance(t, Tangent):
        return math.hypot(*map(norm, t))
    refuse_container(t)
    if hasattr(t, "tocsr"):  # scipy.sparse
        t = t.tocsr().data
    if _of_objects(t):
        return math.hypot(*map(norm, np.ravel(t)))
    return abs(t) if np.shape(t) == () else float(np.linalg.norm(np.ravel(t)))


def is_zero(t: Any) -> bool:
    """Whether a tangent is zero, by type or by value.

    Examples
    --------
    >>> from chainrules_core.tangents import NoTangent
    >>> is_zero(Tangent[tuple](np.zeros(2), NoTangent())), is_zero(0.0), is_zero(1e-300)
    (True, True, False)
    """
    t = unthunk_deep(t)
    if isinstance(t, AbstractZero):
        return True
    if isinstance(t, NotImplementedTangent):
        return False
    if isinstance(t, Tangent):
        return all(map(is_zero, t))
    refuse_container(t)
    if hasattr(t, "tocsr"):  # scipy.sparse
        t = t.tocsr().data
    if _of_objects(t):
        return all(map(is_zero, np.ravel(t)))
    return not np.any(t)


def is_tangent(x: Any) -> bool:
    """Whether `x` can be a tangent: a special one, a number, or an array of numbers.

    Booleans, strings and bare containers are not. A `numbers.Number` is, and so is any object that
    supports NumPy's protocols.

    Examples
    --------
    >>> from chainrules_core.tangents import NoTangent
    >>> is_tangent(1.0), is_tangent(np.ones(2)), is_tangent(NoTangent()), is_tangent((1.0,))
    (True, True, True, False)
    """
    if isinstance(x, AbstractTangent):
        return True
    if isinstance(x, (bool, np.bool_, *CONTAINERS)):
        return False
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype.kind in "fciu" or (x.dtype == object and all(map(is_tangent, np.ravel(x))))
    if isinstance(x, numbers.Number):
        return True
    return hasattr(type(x), "__array_ufunc__") or hasattr(type(x), "tocsr")
