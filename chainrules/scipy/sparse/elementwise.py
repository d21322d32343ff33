"""What is computed entry by entry, and sums, products and quotients of sparse arrays by element.

A function with f(0) = 0 keeps the pattern. A sum of two sparse arrays has the union of their
patterns, a product by element the intersection.
"""

from __future__ import annotations

import operator
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
    followed,
    from_places,
    is_matrix,
    is_sparse,
    like_class,
    picked,
    refused,
    with_new,
)
from chainrules.scipy.sparse.in_place import decompose_method, deduplicated, without_zeros
from chainrules.scipy.sparse.storage import (
    as_dtype,
    combined,
    combined_slots,
    form_of,
    pattern_of,
    with_stored,
)
from chainrules_core import decompose, ignore_derivatives, natively
from chainrules_core.authoring import entries_of, is_foreign, with_entries


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


def _negative(self: Any) -> Any:
    x = self if self.format == "dok" else in_arrays(self)
    return with_new(x, np.negative(entries_of(x)))


decompose_method("__neg__", _negative)
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
    if not np.iscomplexobj(entries_of(self)):
        return self.copy() if copy else self
    x = in_arrays(self)
    return with_new(x, np.conj(entries_of(x)))


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


def _is_number(x: Any) -> bool:
    return not is_sparse(x) and np.ndim(x) == 0


def _plus(f: Callable, reflected: bool = False) -> Callable:
    def body(self: Any, other: Any) -> Any:
        if is_sparse(other):
            return _added(f, self, other)
        if _is_number(other):
            if other == 0:
                return _zero_plus(f, self, reflected)
            raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
        other = np.asarray(other)
        return f(other, dense(self)) if reflected else f(dense(self), other)

    return body


def _added(f: Callable, x: Any, y: Any) -> Any:
    add = f is np.add
    operation = operator.add if add else operator.sub
    # Of truths, -1 is True: 2 - 1 is not zero either.
    form = form_of(operation, x, y, (1.0, 1.0) if add else (2.0, -1.0))
    if x.format == y.format == form.numbers.format == "dia":
        return combined_slots(f, x, y, operation, 0.0)
    return combined(f, x, y, form)


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
        form = form_of(_multiplied, x, y)
        if x.format == y.format == form.numbers.format == "dia":
            return combined_slots(np.multiply, x, y, _multiplied, 1.0)
        return combined(np.multiply, x, y, form)
    if _is_number(y):
        return scaled(x, y)
    y = np.asarray(y)
    if x.ndim <= 2 and (np.size(y) == 1 or x.shape in ((1,), (1, 1)) or np.ndim(y) > 2):
        return _times_few(x, y)
    if x.ndim <= 2 and x.format == "coo":
        x = as_format(x, "csr")  # as SciPy does: what is stored twice is added up
    made = followed(lambda plain: plain.multiply(np.broadcast_to(1, np.shape(y))), x)
    if made.format == "coo":
        factors = np.broadcast_to(y, made.shape)[made.coords]
    else:  # DIA stores products outside of the array, too
        numbers = np.arange(1, 1 + np.size(y)).reshape(np.shape(y))
        numbers = natively(_multiplied, pattern_of(x), numbers)
        factors = picked(np.reshape(y, (-1,)), entries_of(numbers))
    return with_entries(made, entries_of(made) * factors)


def _times_few(x: Any, y: Any) -> Any:
    """Return the product with an array where one of the two has one element, or is dense."""
    if np.size(y) != 1:
        return np.multiply(x.toarray(), y)
    return scaled(x, y.flat[0]).reshape(np.broadcast_shapes(x.shape, np.shape(y)))


def _multiplied(x: Any, y: Any) -> Any:
    return x.multiply(y)


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
    if not _is_number(other):
        return times(self, np.divide(1, other))
    if self.format in ("lil", "dok"):
        return with_new(self, entries_of(self) / other)
    x = self.astype(float, copy=False) if np.can_cast(self.dtype, float) else self
    return scaled(x, 1 / other)


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


def _extreme(f: Callable, sign: float) -> Callable:
    def body(self: Any, other: Any) -> Any:
        if is_sparse(other):
            return _extreme_of_two(f, self, other, sign)
        if not _is_number(other):
            return f(dense(self), np.asarray(other))
        if f(0, other) == 0:
            return _extreme_entries(f, self, other, sign)
        whole = f(self.toarray(), other)
        places = np.nonzero(np.ones(self.shape))
        return like_class(from_places(whole[places], places, self.shape), self)

    return body


# SciPy does not store extrema that are zero. Such a one is taken out if it is the zero of elements
# that are not stored, which have no derivative; the zero of an entry stays.


def _extreme_of_two(f: Callable, x: Any, y: Any, sign: float) -> Any:
    form = form_of(lambda x, y: getattr(x, f.__name__)(y), x, y, (sign, sign))
    (a, in_a), (b, in_b) = with_stored(x, form), with_stored(y, form)
    made = f(a, b)
    plain_a, plain_b, plain = map(ignore_derivatives, (a, b, made))
    others = np.where(in_a, plain_a, plain_b) != 0
    zeros = np.asarray((plain == 0) & others & ~(in_a & in_b))
    return without_zeros(form.filled(made), natively(form.in_slots, zeros))


def _extreme_entries(f: Callable, x: Any, other: Any, sign: float) -> Any:
    if x.ndim > 2:
        return _extreme_entries(f, x.reshape((1, -1)), other, sign).tocoo().reshape(x.shape)
    plain = natively(_extreme_of_pattern, f.__name__, x, ignore_derivatives(other), sign)
    x = deduplicated(x if x.format == plain.format else as_format(x, plain.format))
    entries = entries_of(x)
    made = with_new(x, as_dtype(f(entries, other), plain.dtype))
    if is_foreign(other):  # its zero has a derivative
        return made
    zeros = (ignore_derivatives(entries_of(made)) == 0) & (ignore_derivatives(entries) != 0)
    return without_zeros(made, np.asarray(zeros))


def _extreme_of_pattern(name: str, x: Any, other: Any, sign: float) -> Any:
    return getattr(pattern_of(x, sign), name)(other)


decompose_method("maximum", _extreme(np.maximum, 1.0))
decompose_method("minimum", _extreme(np.minimum, -1.0))
