"""Methods of sparse arrays that only move entries about: other formats, slices, transposes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.reductions.fast_extrema import placed
from chainrules.scipy.sparse.entries import (
    CLASSES,
    MATRIX_RESULT,
    as_format,
    become,
    canonical,
    decompose_method,
    followed,
    from_places,
    gathered,
    is_matrix,
    is_sparse,
    method,
    numbered,
    places_of,
    refused,
    vector_of,
)
from chainrules_core import decompose, natively, non_differentiable
from chainrules_core.authoring import with_entries


def _moving(name: str, *, alone: bool = True) -> Callable:
    """Return the body of a method that moves entries; `alone` if elements must be stored once."""

    def body(self: Any, *args: Any, **kwargs: Any) -> Any:
        x = canonical(self) if alone else self
        return followed(method(name, *args, **kwargs), x)

    return body


for _name in (
    "tocsr", "tocsc", "tobsr", "todia", "tolil", "todok", "asformat", "diagonal", "reshape",
    "__getitem__", "getrow", "getcol", "_getrow", "_getcol",
):  # fmt: skip
    decompose_method(_name, _moving(_name))
for _name in ("tocoo", "transpose", "copy"):
    decompose_method(_name, _moving(_name, alone=False))


def flat_places(x: Any) -> np.ndarray:
    """Return where in the flat dense array each entry stands."""
    if x.format == "coo":
        coords = x.coords
    elif x.ndim == 1:
        return x.indices.astype(np.intp)
    else:
        lines = np.repeat(np.arange(len(x.indptr) - 1), np.diff(x.indptr))
        coords = (lines, x.indices) if x.format == "csr" else (x.indices, lines)
    return np.ravel_multi_index(coords, x.shape) if len(coords[0]) else np.zeros(0, np.intp)


def _dense(name: str) -> Callable:
    def body(self: Any, order: Any = None, out: Any = None) -> Any:
        if out is not None:
            refused(
                f"{name}(out=) of a sparse array",
                "out= has no rule here. Assign the result of toarray() instead.",
            )
        if order is None and self.format in ("csr", "csc", "coo"):
            x = canonical(self)
            return placed(vector_of(x), natively(flat_places, x), x.shape)
        x = as_format(self, "coo")
        return gathered(method("toarray", order=order)(numbered(x)), vector_of(x))

    return body


decompose_method("toarray", _dense("toarray"))


def _todense(self: Any, order: Any = None, out: Any = None) -> Any:
    if is_matrix(self):
        refused("todense of a sparse matrix", MATRIX_RESULT)
    return _dense("todense")(self, order, out)


decompose_method("todense", _todense)


def _changing(name: str) -> Callable:
    """Return the body of a method that moves entries in place."""

    def body(self: Any, *args: Any, **kwargs: Any) -> None:
        x = canonical(self)
        plain = numbered(x)
        method(name, *args, **kwargs)(plain)
        become(self, gathered(plain, vector_of(x)))

    return body


for _name in ("resize", "sort_indices", "prune"):
    decompose_method(_name, _changing(_name))


def _sum_duplicates(self: Any) -> None:
    x = as_format(self, "coo") if self.format == "bsr" else canonical(self)
    if x is self:
        return
    x = as_format(x, "coo")
    plain = numbered(self)
    method("sum_duplicates")(plain)
    # The sums in the order in which SciPy leaves them.
    stored = np.ravel_multi_index(places_of(x), x.shape)
    wanted = np.ravel_multi_index(places_of(plain), x.shape)
    order = np.argsort(stored)[np.searchsorted(np.sort(stored), wanted)]
    become(self, with_entries(plain, vector_of(x)[order]))


def _sorted_indices(self: Any) -> Any:
    plain = numbered(self)
    return gathered(method("sorted_indices")(plain), vector_of(self))


def _eliminate_zeros(self: Any) -> None:
    x = as_format(self, "coo")
    kept = np.nonzero(vector_of(x))[0]
    places = tuple([a[kept] for a in places_of(x)])
    made = from_places(vector_of(x)[kept], places, x.shape)
    become(self, _as(made, self))


def _as(x: Any, example: Any) -> Any:
    return as_format(followed(type(example), x), example.format)


decompose_method("sum_duplicates", _sum_duplicates)
decompose_method("sorted_indices", _sorted_indices)
decompose_method("eliminate_zeros", _eliminate_zeros)


def stored_values(x: Any) -> tuple[Any, Any]:
    """Return (array of numbers from 1, or sparse array of them; entries) for a value to assign."""
    if is_sparse(x):
        x = canonical(x)
        return numbered(x), vector_of(x)
    values = np.asarray(x)
    return np.arange(1, 1 + np.size(values)).reshape(np.shape(values)), np.reshape(values, (-1,))


def _writing(name: str) -> Callable:
    """Return the body of a method that writes values into some places."""

    def write(self: Any, values: Any, method: Callable) -> None:
        x = canonical(self)
        old = vector_of(x)
        numbers, entries = stored_values(values)
        plain = numbered(x)
        n = np.size(old)
        numbers = numbered(numbers, n + 1) if is_sparse(numbers) else numbers + n
        method(plain, numbers)
        both = np.concatenate([old, entries.astype(np.result_type(old, entries))])
        made = gathered(plain, both)
        become(self, made)

    if name == "__setitem__":

        def setitem(self: Any, key: Any, x: Any) -> None:
            write(self, x, lambda plain, v: method(name, key, v)(plain))

        return setitem

    def setdiag(self: Any, values: Any, k: Any = 0) -> None:
        write(self, values, lambda plain, v: method(name, v, k)(plain))

    return setdiag


decompose_method("__setitem__", _writing("__setitem__"))
decompose_method("setdiag", _writing("setdiag"))


def _iterated(self: Any) -> Any:
    return iter([self[i] for i in range(self.shape[0])])


decompose_method("__iter__", _iterated)


def _nonzero(self: Any) -> Any:
    x = as_format(self, "coo")
    kept = np.nonzero(vector_of(x))[0]
    return tuple([a[kept] for a in places_of(x)])


decompose_method("nonzero", _nonzero)

# Classes share what they inherit.
for _transposed in {_cls.T.fget for _cls in CLASSES}:
    decompose(_transposed)(lambda self: self.transpose())
_constants = {_property.fget for _cls in CLASSES for _property in (_cls.nnz, _cls.size)}
for _cls in CLASSES:
    for _name in (
        "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "argmax", "argmin",
        "count_nonzero", "getnnz", "_getnnz", "check_format", "__repr__", "__str__",
    ):  # fmt: skip
        _constants.add(getattr(_cls, _name, None))
for _constant in _constants - {None}:
    non_differentiable(_constant)
