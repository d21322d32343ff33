"""What is computed entry by entry, and sums, products and quotients of sparse arrays by element.

A function with f(0) = 0 keeps the pattern. A sum of two sparse arrays has the union of their
patterns: each side's entries go there by a constant matrix of zeros and ones. A product by element
has the intersection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from chainrules.scipy.sparse.entries import (
    ARRAYS,
    CLASSES,
    MATRIX_RESULT,
    as_format,
    become,
    from_places,
    is_matrix,
    is_sparse,
    like_class,
    places_of,
    refused,
    vector_of,
    with_new,
)
from chainrules.scipy.sparse.in_place import decompose_method, deduplicated
from chainrules_core import decompose
from chainrules_core.authoring import entries_of, with_entries


def mapped(f: Callable, x: Any) -> Any:
    """Return a sparse array with a function of each entry."""
    x = in_arrays(x)
    return with_new(x, f(entries_of(deduplicated(x))))


def in_arrays(x: Any) -> Any:
    """Return a sparse array in a format that has an array of entries, as SciPy does."""
    return as_format(x, "csr") if x.format in ("lil", "dok") else x


def _each(f: Callable) -> Callable:
    def body(self: Any) -> Any:
        return mapped(f, self)

    return body


def _each_stored(f: Callable) -> Callable:
    """Return the body of a linear method, for which elements may be stored twice."""

    def body(self: Any) -> Any:
        x = in_arrays(self)
        return with_new(x, f(entries_of(x)))

    return body


decompose_method("__abs__", _each(np.abs))
decompose_method("__neg__", _each_stored(np.negative))
for _name in (
    "sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "rint", "sign",
    "expm1", "log1p", "deg2rad", "rad2deg", "floor", "ceil", "trunc", "sqrt",
):  # fmt: skip
    decompose_method(_name, _each(getattr(np, _name)))
for _getter in {_cls.real.fget for _cls in CLASSES}:
    decompose(_getter)(_each_stored(np.real))
for _getter in {_cls.imag.fget for _cls in CLASSES}:
    decompose(_getter)(_each_stored(np.imag))


def _conjugate(self: Any, copy: Any = True) -> Any:
    if self.format in ("lil", "dok"):
        return _conjugate(self.tocsr(copy=copy), False)
    if np.iscomplexobj(entries_of(self)):
        return with_new(self, np.conj(entries_of(self)))
    return self.copy() if copy else self


def _round(self: Any, ndigits: Any = 0) -> Any:
    return mapped(lambda v: np.round(v, ndigits), self)


def _astype(self: Any, dtype: Any, casting: Any = "unsafe", copy: Any = True) -> Any:
    if np.dtype(dtype) == self.dtype:
        return self.copy() if copy else self
    return deduplicated(with_new(self, entries_of(self).astype(dtype, casting=casting)))


def _power(self: Any, n: Any, dtype: Any = None) -> Any:
    if not np.isscalar(n) and np.ndim(n):
        raise NotImplementedError("input is not scalar")
    if n == 0:
        raise NotImplementedError(
            "zero power is not supported as it would densify the matrix.\n"
            "Use `np.ones(A.shape, dtype=A.dtype)` for this case."
        )
    made = mapped(lambda v: v**n, self)
    return made if dtype is None else made.astype(dtype)


decompose_method("conj conjugate", _conjugate)
decompose_method("__round__", _round)
decompose_method("astype", _astype)
decompose_method("power", _power)


def _array_power(self: Any, *args: Any, **kwargs: Any) -> Any:
    return _power(self, *args, **kwargs)


decompose_method("__pow__", _array_power, ARRAYS)


# -- two operands ---------------------------------------------------------------------------------


def dense(x: Any) -> Any:
    """Return a sparse array as an array, for what has a dense result."""
    if is_matrix(x):
        refused("an operation between a sparse matrix and an array", MATRIX_RESULT)
    return x.toarray()


def union(x: Any, y: Any) -> tuple[Any, Any, tuple]:
    """Return the entries of two sparse arrays on the union of their patterns, and its places."""
    x, y = as_format(x, "coo"), as_format(y, "coo")
    if x.shape != y.shape:
        raise ValueError(f"inconsistent shapes: {x.shape} and {y.shape}")
    if not np.size(entries_of(x)) and not np.size(entries_of(y)):
        return vector_of(x), vector_of(y), x.coords
    linear = [np.ravel_multi_index(places_of(a), a.shape) for a in (x, y)]
    both = np.union1d(*linear)
    sides = []
    for a, where in zip((x, y), linear, strict=True):
        at = np.searchsorted(both, where)
        if len(where) == len(both):
            sides.append(vector_of(a)[np.argsort(at)])
            continue
        source = np.zeros(len(both), int)
        source[at] = np.arange(1, 1 + len(where))
        padded = np.concatenate([np.zeros(1, entries_of(a).dtype), vector_of(a)])
        sides.append(padded[source])
    return sides[0], sides[1], np.unravel_index(both, x.shape)


def combined(f: Callable, x: Any, y: Any) -> Any:
    """Return ``f`` of two sparse arrays by element, for which f(0, 0) = 0."""
    a, b, places = union(x, y)
    made = like_class(from_places(f(a, b), places, x.shape), x)
    return made if x.format in ("csr", "csc", "bsr", "coo") else as_format(made, "csr")


def _is_number(x: Any) -> bool:
    return not is_sparse(x) and np.ndim(x) == 0


def _plus(f: Callable, reflected: bool = False) -> Callable:
    def body(self: Any, other: Any) -> Any:
        if is_sparse(other):
            return combined(f, self, other)
        if _is_number(other):
            if other == 0:
                return _zero_plus(f, self, reflected)
            raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
        other = np.asarray(other)
        return f(other, dense(self)) if reflected else f(dense(self), other)

    return body


def _zero_plus(f: Callable, x: Any, reflected: bool) -> Any:
    return mapped(np.negative, x) if reflected and f is np.subtract else x.copy()


decompose_method("__add__", _plus(np.add))
decompose_method("__radd__", _plus(np.add, True))
decompose_method("__sub__", _plus(np.subtract))
decompose_method("__rsub__", _plus(np.subtract, True))


def scaled(x: Any, factor: Any) -> Any:
    """Return a sparse array times a number."""
    return with_new(x, entries_of(x) * factor)


def times(x: Any, y: Any) -> Any:
    """Return the product by element of a sparse array and anything."""
    if is_sparse(y):
        if x.shape != y.shape:
            return _broadcast_times(x, y)
        return _intersected(np.multiply, x, y)
    if _is_number(y):
        return scaled(x, y)
    y = np.asarray(y)
    shape = np.broadcast_shapes(x.shape, np.shape(y))
    if shape != x.shape:
        return times(_spread(x, shape), y)
    return at_places(np.multiply, x, y)


def at_places(f: Callable, x: Any, y: Any) -> Any:
    """Return ``f`` of the entries of a sparse array and of the elements of an array there."""
    x = as_format(x, "coo")
    there = np.broadcast_to(y, x.shape)[places_of(x)]
    return with_entries(x, f(vector_of(x), there))


def _broadcast_times(x: Any, y: Any) -> Any:
    shape = np.broadcast_shapes(x.shape, y.shape)
    return _intersected(np.multiply, _spread(x, shape), _spread(y, shape))


def _spread(x: Any, shape: tuple) -> Any:
    """Return a sparse array broadcast to a shape."""
    if x.shape == shape:
        return x
    x = as_format(x, "csr" if x.ndim <= 2 else "coo")
    numbers = np.zeros(x.shape, int)
    coo = as_format(x, "coo")
    numbers[places_of(coo)] = np.arange(1, 1 + np.size(vector_of(coo)))
    numbers = np.broadcast_to(numbers, shape)
    places = np.nonzero(numbers)
    made = from_places(vector_of(coo)[numbers[places] - 1], places, shape)
    return like_class(made, x)


def _intersected(f: Callable, x: Any, y: Any) -> Any:
    a, b = as_format(x, "coo"), as_format(y, "coo")
    linear = [np.ravel_multi_index(places_of(s), s.shape) for s in (a, b)]
    both, at_a, at_b = np.intersect1d(*linear, assume_unique=True, return_indices=True)
    entries = f(vector_of(a)[at_a], vector_of(b)[at_b])
    made = like_class(from_places(entries, np.unravel_index(both, x.shape), x.shape), x)
    return made if x.format in ("csr", "csc", "bsr", "coo") else as_format(made, "csr")


def _multiply(self: Any, other: Any) -> Any:
    return times(self, other)


decompose_method("multiply", _multiply)
decompose_method("__mul__ __rmul__", _multiply, ARRAYS)


def _divided(self: Any, other: Any) -> Any:
    if is_sparse(other):
        if self.shape != other.shape:
            raise ValueError("inconsistent shapes")
        # Where neither stores anything, SciPy has 0/0.
        return dense(self) / dense(other)
    if _is_number(other):
        return with_new(self, entries_of(self) / other)
    other = np.asarray(other)
    if np.broadcast_shapes(self.shape, np.shape(other)) != self.shape:
        return _divided(_spread(self, np.broadcast_shapes(self.shape, np.shape(other))), other)
    return at_places(np.divide, self, other)


decompose_method("__truediv__ _divide", _divided)


LISTS = (sp.lil_array, sp.lil_matrix)


def _changed_by(f: Callable) -> Callable:
    def body(self: Any, other: Any) -> Any:
        return become(self, as_format(f(self, other), self.format))

    return body


def _times_number(self: Any, other: Any) -> Any:
    if not _is_number(other):
        return NotImplemented
    if self.format in ("lil", "dok"):
        return become(self, scaled(self, other))
    self.data *= other
    return self


def _over_number(self: Any, other: Any) -> Any:
    return _times_number(self, 1.0 / other) if _is_number(other) else NotImplemented


decompose_method("__imul__", _times_number)
decompose_method("__iadd__", _changed_by(lambda x, y: x + y), LISTS)
decompose_method("__isub__", _changed_by(lambda x, y: x - y), LISTS)
decompose_method("__itruediv__", _over_number)


def _extreme(f: Callable) -> Callable:
    def body(self: Any, other: Any) -> Any:
        if is_sparse(other):
            return combined(f, self, other)
        if not _is_number(other):
            return f(dense(self), np.asarray(other))
        if f(0, other) == 0:
            return mapped(lambda v: f(v, other), self)
        whole = f(self.toarray(), other)
        places = np.nonzero(np.ones(self.shape))
        return like_class(from_places(whole[places], places, self.shape), self)

    return body


decompose_method("maximum", _extreme(np.maximum))
decompose_method("minimum", _extreme(np.minimum))
