"""Nests of containers and objects: their leaves out, and the same nest with other leaves back.

Tuples, lists, dicts, namedtuples, dataclasses and plain objects are nests; floats, complex
numbers and arrays of them are the leaves that can be perturbed; all else is constant.
"""

from __future__ import annotations

import copy
import dataclasses
import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.tracer import is_tracer
from chainrules_core import Tangent, ZeroTangent

_LEAF_TYPES = (float, complex, np.ndarray, np.generic, int, str, bytes, bool, type(None), type)
_INEXACT = "fc"


def is_perturbable(x: Any) -> bool:
    """Whether `x` is a number or array that a derivative can be taken with respect to."""
    if isinstance(x, (float, complex)):
        return True
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in _INEXACT


def parts_of(x: Any) -> list[tuple[Any, Any]] | None:
    """Return ``(key, part)`` for each part of a nest, or None if `x` is a leaf."""
    kind = type(x)
    if kind in _LEAF_TYPES or is_tracer(x):
        return None
    if isinstance(x, (tuple, list)):
        fields = getattr(kind, "_fields", None)
        return list(zip(fields if fields is not None else range(len(x)), x, strict=True))
    if isinstance(x, dict):
        return list(x.items())
    fields = _field_names(x)
    return None if fields is None else [(name, getattr(x, name)) for name in fields]


def _field_names(x: Any) -> list[str] | None:
    """Return the names of the fields of a dataclass or plain object; None for other things."""
    kind = type(x)
    if dataclasses.is_dataclass(kind):
        return [f.name for f in dataclasses.fields(x) if hasattr(x, f.name)]
    if (
        kind.__module__.partition(".")[0] in ("builtins", "numpy", "scipy", "types", "functools")
        or isinstance(x, (type, enum.Enum, BaseException))
        or not kind.__flags__ & (1 << 9)  # a class made in C
    ):
        return None
    names = [n for c in kind.__mro__ for n in _slots_of(c) if hasattr(x, n)]
    names += list(getattr(x, "__dict__", ()))
    return names


def _slots_of(cls: type) -> list[str]:
    slots = cls.__dict__.get("__slots__", ())
    slots = (slots,) if isinstance(slots, str) else slots
    return [
        f"_{cls.__name__.lstrip('_')}{n}" if n.startswith("__") and not n.endswith("__") else n
        for n in slots
        if n not in ("__dict__", "__weakref__")
    ]


def rebuilt(x: Any, parts: list[Any]) -> Any:
    """Return a nest like `x` with other parts, without calling its constructor."""
    kind = type(x)
    if kind is tuple or kind is list:
        return kind(parts)
    if isinstance(x, tuple):
        return kind._make(parts) if hasattr(kind, "_make") else tuple.__new__(kind, parts)
    new = copy.copy(x)
    if isinstance(x, list):
        new[:] = parts
    elif isinstance(x, dict):
        for key, part in zip(x, parts, strict=True):
            new[key] = part
    else:
        for (name, _), part in zip(parts_of(x) or (), parts, strict=True):
            object.__setattr__(new, name, part)
    return new


def map_leaves(x: Any, change: Callable[[Any], Any], seen: dict | None = None) -> Any:
    """Apply `change` to every leaf of a nest; a nest in which nothing changes is returned itself.

    An object that stands in several places stays one object, and cycles end.
    """
    parts = parts_of(x)
    if parts is None:
        return change(x)
    seen = {} if seen is None else seen
    if id(x) in seen:
        return seen[id(x)][1]
    seen[id(x)] = (x, x)
    new = [map_leaves(part, change, seen) for _, part in parts]
    if any(n is not part for n, (_, part) in zip(new, parts, strict=True)):
        result = rebuilt(x, new)
        seen[id(x)] = (x, result)
        return result
    return x


def leaves_of(x: Any) -> list[Any]:
    """Return the leaves of a nest in order; an object that stands in several places counts once."""
    found: list[Any] = []

    def note(leaf: Any) -> Any:
        found.append(leaf)
        return leaf

    map_leaves(x, note)
    return found


def tangent_of(x: Any, tangent: Callable[[Any], Any]) -> Any:
    """Return the `Tangent` of a nest, with ``tangent(leaf)`` for its leaves."""
    parts = parts_of(x)
    if parts is None:
        return tangent(x)
    new = [tangent_of(part, tangent) for _, part in parts]
    kind = type(x)
    if isinstance(x, (tuple, list)) and not hasattr(kind, "_fields"):
        return Tangent[kind](*new)
    fields = {key: value for (key, _), value in zip(parts, new, strict=True)}
    return Tangent[kind](fields) if isinstance(x, dict) else Tangent[kind](**fields)


def part_of_tangent(x_bar: Any, key: Any) -> Any:
    """Return a part of a cotangent; zeros and what is missing are zero."""
    if isinstance(x_bar, (Tangent, list, tuple, dict)):
        return x_bar[key]
    return ZeroTangent()
