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
    changed,
    followed,
    gathered,
    is_matrix,
    is_sparse,
    method,
    numbered,
    refused,
    vector_of,
    with_new,
)
from chainrules.scipy.sparse.in_place import (
    change_in_place,
    decompose_method,
    sum_duplicates,
    without_zeros,
)
from chainrules_core import (
    decompose,
    ignore_derivatives,
    natively,
    non_differentiable,
    primitive,
)
from chainrules_core.authoring import entries_of


def moved(f: Callable, x: Any) -> Any:
    """Return ``f(x)`` for a function that moves entries, and may add up those of one element."""
    alone = canonical(x)
    if alone is x:
        return followed(f, x)
    first = 1 + np.size(entries_of(x))
    made = f(with_new(x, entries_of(numbered(x, first))))
    return followed(f, alone if natively(has_sums, made, first) else x)


def has_sums(made: Any, first: int) -> bool:
    """Whether numbers from a large one on have been added up: a sum is larger than all of them."""
    numbers = entries_of(made) if is_sparse(made) else np.asarray(made)
    return bool(np.max(numbers, initial=0) >= 2 * first)


def _moving(name: str, *, alone: bool = True) -> Callable:
    """Return the body of a method that moves entries; `alone` if elements must be stored once."""

    def body(self: Any, *args: Any, **kwargs: Any) -> Any:
        f = method(name, *args, **kwargs)
        return moved(f, self) if alone else followed(f, self)

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
        changed(self, method(name, *args, **kwargs))

    return body


for _name in ("sort_indices", "prune"):
    decompose_method(_name, _changing(_name))


def _resize(self: Any, *shape: Any) -> None:
    if self.format in ("lil", "dok"):
        self.__dict__ = dict(vars(self))  # others may hold the same entries
    changed(self, method("resize", *shape))


def _sorted_indices(self: Any) -> Any:
    return followed(method("sorted_indices"), self)


_LOST = (
    "eliminate_zeros is called of a sparse array with entries that are exactly 0 and depend on "
    "what is differentiated by: they are not stored any more, and their derivatives would be lost. "
    "Leave them stored."
)


def _eliminate_zeros(self: Any) -> None:
    zeros = np.asarray(ignore_derivatives(entries_of(self)) == 0)
    without_zeros(self, zeros, lost=_LOST)


decompose_method("resize", _resize)
decompose_method("sum_duplicates", sum_duplicates)
decompose_method("sorted_indices", _sorted_indices)
decompose_method("eliminate_zeros", _eliminate_zeros)


def stored_values(x: Any) -> tuple[Any, Any]:
    """Return (array of numbers from 1, or sparse array of them; entries) for a value to assign."""
    if is_sparse(x):
        x = canonical(x)
        return numbered(x), vector_of(x)
    values = np.asarray(x)
    numbers = natively(np.arange, 1, 1 + np.size(values)).reshape(np.shape(values))
    return numbers, np.reshape(values, (-1,))


def written(self: Any, values: Any, write: Callable) -> None:
    """Write values into an array as ``write(numbered array, numbers in place of them)`` does."""
    old = vector_of(self)
    numbers, entries = stored_values(values)
    n = np.size(old)
    numbers = numbered(numbers, n + 1) if is_sparse(numbers) else numbers + n
    alone = canonical(self)
    if alone is not self:
        change = natively(added_up_by, self, numbers, write)
        if change:
            sum_duplicates(self) if change == "sum_duplicates" else become(self, alone)
            written(self, values, write)
            return
    both = np.concatenate([old, entries.astype(old.dtype)])
    changed(self, lambda plain: write(plain, numbers), both)


def added_up_by(x: Any, numbers: Any, write: Callable) -> str:
    """Return by what SciPy adds up what an array stores twice where it writes these numbers."""
    given = entries_of(numbers) if is_sparse(numbers) else numbers
    first = 1 + np.size(entries_of(x)) + np.size(given)
    probe = with_new(x, entries_of(numbered(x, first)))
    change = change_in_place(probe, lambda: write(probe, numbers))
    return change or ("new arrays" if has_sums(probe, first) else "")


def _setitem(self: Any, key: Any, x: Any) -> None:
    written(self, x, lambda plain, v: method("__setitem__", key, v)(plain))


def _setdiag(self: Any, values: Any, k: Any = 0) -> None:
    written(self, values, lambda plain, v: method("setdiag", v, k)(plain))


decompose_method("__setitem__", _setitem)
decompose_method("setdiag", _setdiag)


def _iterated(self: Any) -> Any:
    return iter([self[i] for i in range(self.shape[0])])


decompose_method("__iter__", _iterated)


decompose_method("getH", lambda self: self.conjugate().transpose())

# Classes share what they inherit.
for _transposed in {_cls.T.fget for _cls in CLASSES}:
    decompose(_transposed)(lambda self: self.transpose())
_constants = {_property.fget for _cls in CLASSES for _property in (_cls.nnz, _cls.size)}
for _cls in CLASSES:
    for _name in (
        "getnnz", "_getnnz", "check_format", "__repr__", "__str__",
    ):  # fmt: skip
        _constants.add(getattr(_cls, _name, None))
for _constant in _constants - {None}:
    non_differentiable(_constant)


# -- methods without derivative -------------------------------------------------------------------


@primitive
def asked(x: Any, name: str, args: tuple, kwargs: dict) -> Any:
    """Return what a method of a sparse array says that has no derivative."""
    return natively(getattr(x, name), *args, **kwargs)


non_differentiable(asked)


def _asking(name: str) -> Callable:
    return lambda self, *args, **kwargs: asked(self, name, args, kwargs)


for _name in (
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "argmax", "argmin",
    "count_nonzero", "nonzero",
):  # fmt: skip
    decompose_method(_name, _asking(_name))
