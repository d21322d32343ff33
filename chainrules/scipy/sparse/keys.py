"""Arrays in DOK as the dictionaries that they are, by numbers in place of their entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from chainrules.scipy.sparse.entries import (
    become,
    gathered,
    method,
    numbered,
    refused,
    vector_of,
)
from chainrules.scipy.sparse.in_place import decompose_method
from chainrules.scipy.sparse.structure import written
from chainrules_core import decompose, natively
from chainrules_core.authoring import coords_of, with_entries

DICTIONARIES = (sp.dok_array, sp.dok_matrix)
LISTS = (sp.lil_array, sp.lil_matrix)
VIEW = (
    "it is a view, by whose lists the array is written. Use getrow, which copies, and write into "
    "the array itself."
)


def dictionary(self: Any) -> dict:
    """Return the entries by their keys, in the order in which these were stored."""
    entries = vector_of(self)
    numbers = natively(lambda: dict(numbered(self).items()))
    return {key: entries[number - 1] for key, number in numbers.items()}


def _asked(name: str) -> Callable:
    """Return the body of a method whose result has no entries."""
    return lambda self, *args: method(name, *args)(numbered(self))


def _get(self: Any, key: Any, default: Any = 0.0) -> Any:
    number = method("get", key, 0)(numbered(self))
    return vector_of(self)[number - 1] if number else default


def _without(self: Any, plain: Any) -> None:
    """Leave what a plain array of numbers still has."""
    become(self, gathered(plain, vector_of(self)))


def _pop(self: Any, key: Any, *default: Any) -> Any:
    plain, entries = numbered(self), vector_of(self)
    if not method("__contains__", key)(plain):
        return method("pop", key, *default)(plain)
    number = method("pop", key)(plain)
    _without(self, plain)
    return entries[number - 1]


def _popitem(self: Any) -> tuple:
    plain, entries = numbered(self), vector_of(self)
    key, number = method("popitem")(plain)
    _without(self, plain)
    return key, entries[number - 1]


def _delitem(self: Any, key: Any) -> None:
    plain = numbered(self)
    method("__delitem__", key)(plain)
    _without(self, plain)


def _clear(self: Any) -> None:
    plain = numbered(self)
    method("clear")(plain)
    _without(self, plain)


def _setdefault(self: Any, key: Any, default: Any = None) -> Any:
    number = method("get", key, 0)(numbered(self))
    if number:
        return vector_of(self)[number - 1]
    written(self, default, lambda plain, v: method("setdefault", key, int(v))(plain))
    return default


def _update(self: Any, val: Any) -> None:
    pairs = list(val.items() if hasattr(val, "items") else val)
    values = np.stack([np.asarray(value) for _, value in pairs]) if pairs else np.zeros(0)
    keys = [key for key, _ in pairs]

    def write(plain: Any, numbers: np.ndarray) -> None:
        method("update", dict(zip(keys, numbers.tolist(), strict=True)))(plain)

    written(self, values, write)


def _fromkeys(cls: Any, iterable: Any, value: Any = 1) -> Any:
    plain = natively(cls.fromkeys, iterable)
    return with_entries(plain, np.full(len(coords_of(plain)[0]), value))


for _name in ("keys", "__len__", "__contains__"):
    decompose_method(_name, _asked(_name), DICTIONARIES)
decompose_method("items", lambda self: dictionary(self).items(), DICTIONARIES)
decompose_method("values", lambda self: dictionary(self).values(), DICTIONARIES)
decompose_method("get", _get, DICTIONARIES)
decompose_method("pop", _pop, DICTIONARIES)
decompose_method("popitem", _popitem, DICTIONARIES)
decompose_method("__delitem__", _delitem, DICTIONARIES)
decompose_method("clear", _clear, DICTIONARIES)
decompose_method("setdefault", _setdefault, DICTIONARIES)
decompose(sp.dok_array.fromkeys.__func__)(_fromkeys)  # both classes inherit it
decompose_method("update", _update, DICTIONARIES)
decompose_method(
    "getrowview", lambda self, i: refused("getrowview of an array in LIL", VIEW), LISTS
)
