"""Whether a value has the right form: type, shape and precision; and whether it has changed."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_core.tangents import AbstractZero, NotImplementedTangent, Tangent, unthunk_deep
from chainrules_core.testing.failures import described, shown
from chainrules_core.testing.numeric.vectors import (
    Parts,
    is_sparse,
    items_of,
    parts_of,
    primal_type_of,
)

_CONTAINERS = (tuple, list, dict)


def tangent_problem(
    primal: Any,
    tangent: Any,
    *,
    check_dtype: bool = True,
    real_for_complex: bool = False,
    path: str = "",
) -> str:
    """Return what is wrong with the form of a tangent of `primal`; "" if nothing.

    Parameters
    ----------
    primal, tangent : value
        The two; zeros of every kind have the right form.
    check_dtype : bool
        Whether precision counts, and 0-d arrays differ from numbers.
    real_for_complex : bool
        Whether a real tangent will do for a complex primal.
    path : str
        Where in a structure this is.

    Examples
    --------
    >>> tangent_problem(np.ones(3, np.float32), np.ones(3))
    'it is a float64 array of shape (3,) for a float32 array of shape (3,)'
    >>> tangent_problem((1.0, 2.0), (1.0, 2.0))
    'it is a bare tuple, (1.0, 2.0): write Tangent[tuple](...)'
    """
    tangent = unthunk_deep(tangent)
    if isinstance(tangent, (AbstractZero, NotImplementedTangent)):
        return ""
    place = f"at {path}, " if path else ""
    parts = parts_of(primal)
    if parts is not None:
        problem = _structure_problem(parts, tangent)
        if problem:
            return place + problem
        for key, child, t in zip(
            parts.keys, parts.children, parts.of_tangent(tangent), strict=True
        ):
            problem = tangent_problem(
                child,
                t,
                check_dtype=check_dtype,
                real_for_complex=real_for_complex,
                path=path + parts.step(key),
            )
            if problem:
                return problem
        return ""
    dtype = _dtype(primal)
    if dtype is None or dtype.kind not in "fciu":
        return ""
    found = _dtype(tangent)
    kinds = f"it is a {_described(tangent)} for a {described(primal)}"
    if found is None or found.kind not in "fciu" or np.shape(tangent) != np.shape(primal):
        return place + kinds
    if found.kind == "c" and dtype.kind != "c":
        return f"{place}it is complex, {shown(tangent, 60)}, for a real {described(primal)}"
    if not check_dtype:
        return ""
    if dtype.kind == "c" and found.kind != "c" and not real_for_complex:
        return place + kinds
    if isinstance(tangent, np.ndarray) is not isinstance(primal, np.ndarray) and not (
        is_sparse(primal) or is_sparse(tangent)
    ):
        return place + kinds
    if isinstance(tangent, int):
        return ""
    return "" if _precision(found) == _precision(dtype) else place + kinds


def _structure_problem(parts: Parts, tangent: Any) -> str:
    """Return what is wrong with a structural tangent as a whole."""
    cls = type(parts.whole)
    if isinstance(parts.whole, np.ndarray):
        return (
            ""
            if np.shape(tangent) == parts.whole.shape
            else f"it is a {_described(tangent)} for an array of objects of shape "
            f"{parts.whole.shape}"
        )
    if isinstance(tangent, Tangent):
        if primal_type_of(tangent) not in (cls, Any, object):
            return f"it is a {type(tangent).__name__} for a {cls.__name__}"
        if not parts.by_name and len(items_of(tangent)) != len(parts.keys):
            found = len(items_of(tangent))
            return f"it has {found} parts for a {cls.__name__} of {len(parts.keys)} elements"
        unknown = [key for key, _ in items_of(tangent) if key not in parts.keys]
        return f"it has parts that its {cls.__name__} has not: {shown(unknown)}" if unknown else ""
    if isinstance(tangent, _CONTAINERS):
        return (
            f"it is a bare {type(tangent).__name__}, {shown(tangent, 60)}: write "
            f"Tangent[{cls.__name__}](...)"
        )
    if type(tangent) is cls:
        return ""
    return f"it is a {_described(tangent)} for a {cls.__name__}, whose tangent is a Tangent"


def _described(x: Any) -> str:
    return type(x).__name__ if isinstance(x, Tangent) else described(x)


def _dtype(x: Any) -> np.dtype | None:
    """Return the dtype of a number or array; None for all else."""
    if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        return np.dtype(type(x))
    dtype = getattr(x, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) else None


def _precision(dtype: np.dtype) -> int:
    """Return the bytes of a real number; integers count as float64."""
    return {"f": dtype.itemsize, "c": dtype.itemsize // 2}.get(dtype.kind, 8)


def primal_problem(actual: Any, expected: Any, strict: bool = False, path: str = "") -> str:
    """Return how the type of a rule's primal differs from that of the function's; "" if not.

    A Python number and the same as a NumPy scalar count as one, unless `strict`.

    Examples
    --------
    >>> primal_problem(np.float32(1), 1.0)
    'it is a float32, where the function returns a float'
    >>> primal_problem(np.float64(1), 1.0)
    ''
    """
    place = f"at {path}, " if path else ""
    ours, theirs = parts_of(actual), parts_of(expected)
    differ = (
        f"{place}it is a {described(actual)}, where the function returns a {described(expected)}"
    )
    if theirs is not None:
        if ours is None or type(actual) is not type(expected) or ours.keys != theirs.keys:
            return differ
        for key, a, e in zip(theirs.keys, ours.children, theirs.children, strict=True):
            problem = primal_problem(a, e, strict, path + theirs.step(key))
            if problem:
                return problem
        return ""
    found, dtype = _dtype(actual), _dtype(expected)
    if found is None and dtype is None:
        return "" if type(actual) is type(expected) else differ
    same = (
        found == dtype
        and np.shape(actual) == np.shape(expected)
        and isinstance(actual, np.ndarray) is isinstance(expected, np.ndarray)
        and (not strict or type(actual) is type(expected))
    )
    return "" if same else differ


def same_value(a: Any, b: Any) -> bool:
    """Whether two values are equal, bit by bit; what cannot be compared counts as equal.

    Examples
    --------
    >>> same_value({"a": np.array([1.0, np.nan])}, {"a": np.array([1.0, np.nan])})
    True
    """
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray) and a.dtype.kind != "O":
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        return np.array_equal(a, b) or np.array_equal(a, b, equal_nan=a.dtype.kind in "fcmM")
    if isinstance(a, Tangent):
        ours, theirs = dict(items_of(a)), dict(items_of(b))
        return ours.keys() == theirs.keys() and all(same_value(ours[k], theirs[k]) for k in ours)
    parts, others = parts_of(a), parts_of(b)
    if parts is not None and others is not None:
        return parts.keys == others.keys and all(map(same_value, parts.children, others.children))
    if is_sparse(a):
        return a.shape == b.shape and same_value(a.toarray(), b.toarray())
    if isinstance(a, (int, float, complex, str, bytes, np.generic)):
        return bool(a == b) or bool(a != a and b != b)
    return True
