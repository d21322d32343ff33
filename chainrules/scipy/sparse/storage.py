"""The form in which SciPy stores what it computes of sparse arrays: class, format and order.

A sum or a product has entries that are computed, not moved. SciPy decides in which format and in
which order they are stored, from the formats of the operands and from how these are stored. SciPy
itself says so: its operation is done to arrays of ones of the same patterns. What it has made
holds the places of the elements; the entries of the operands are looked up there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.scipy.sparse.entries import (
    as_format,
    gathered,
    numbered,
    picked,
    places_of,
    vector_of,
)
from chainrules_core import natively
from chainrules_core.authoring import entries_of, with_entries


class Form:
    """How SciPy stores a result.

    Attributes
    ----------
    shape, dtype : tuple of int, dtype
        Those of the result.
    places : tuple of array of int
        The coordinates of the elements that are stored.
    numbers : sparse array
        The result with the number of the element, from 1 on, in place of each entry; 0 in what DIA
        and BSR store beside the elements.
    """

    def __init__(self, plain: Any) -> None:
        slots = np.arange(1, 1 + np.size(entries_of(plain)))
        stored = with_entries(plain, slots.reshape(np.shape(entries_of(plain)))).tocoo()
        self.shape, self.dtype = plain.shape, plain.dtype
        self.places = stored.coords
        numbers = np.zeros(len(slots), int)
        numbers[stored.data - 1] = np.arange(1, 1 + len(stored.data))
        self.numbers = with_entries(plain, numbers.reshape(np.shape(entries_of(plain))))

    def filled(self, elements: Any) -> Any:
        """Return the sparse array that holds these elements, of SciPy's dtype."""
        return gathered(self.numbers, as_dtype(elements, self.dtype))

    def in_slots(self, truths: np.ndarray) -> np.ndarray:
        """Return a truth for each entry: that of its element; true beside the elements."""
        return np.append(True, truths)[entries_of(self.numbers)]


def as_dtype(x: Any, dtype: Any) -> Any:
    """Return an array in a dtype; the array itself if it has it."""
    return x if x.dtype == dtype else x.astype(dtype)


def form_of(operation: Callable, x: Any, y: Any, ones: tuple = (1.0, 1.0)) -> Form:
    """Return the form of the result of an operation of two sparse arrays.

    Each element is to be stored once.

    Parameters
    ----------
    operation : callable
        What SciPy does.
    x, y : sparse array
        The operands.
    ones : tuple of float
        What stands in place of their entries. SciPy does not store elements of the result that
        are zero: the operation of such entries is to be no zero.
    """
    return natively(_form_of, operation, (x, y), ones)


def _form_of(operation: Callable, operands: tuple, ones: tuple) -> Form:
    return Form(operation(*map(pattern_of, operands, ones)))


def pattern_of(x: Any, value: float = 1.0) -> Any:
    """Return a sparse array of the same pattern that holds a number in place of each entry."""
    return natively(_pattern_of, x, value)


def _pattern_of(x: Any, value: float) -> Any:
    stored = entries_of(numbered(x)) != 0
    ones = np.where(stored, value, 0.0).astype(entries_of(x).dtype)
    return with_entries(x, ones, alone=True)


def elements_at(x: Any, form: Form) -> Any:
    """Return the elements of a sparse array at the places of a form; its shape is broadcast."""
    return with_stored(x, form)[0]


def with_stored(x: Any, form: Form) -> tuple[Any, np.ndarray]:
    """Return these elements, and which of them the array stores."""
    x = as_format(x, "coo")
    numbers = natively(_numbers_at, places_of(x), x.shape, form.places)
    return picked(vector_of(x), numbers), numbers > 0


def _numbers_at(places: tuple, shape: tuple, wanted: tuple) -> np.ndarray:
    """Return which entry, from 1 on, stands at each of the wanted places; 0 where none does."""
    along = zip(wanted[len(wanted) - len(shape) :], shape, strict=True)
    at = tuple([np.zeros_like(p) if n == 1 else p for p, n in along])
    stored, keys = np.ravel_multi_index(places, shape), np.ravel_multi_index(at, shape)
    numbers = np.arange(1, 1 + len(stored))
    if np.array_equal(stored, keys):
        return numbers
    # In order, in which two patterns are compared by a pass through both.
    own, order = np.argsort(stored, kind="stable"), np.argsort(keys, kind="stable")
    stored, keys, numbers = stored[own], keys[order], numbers[own]
    if not np.array_equal(stored, keys):
        index = np.searchsorted(stored, keys)
        found = np.append(stored, -1)[index] == keys
        numbers = np.where(found, np.append(numbers, 0)[index], 0)
    result = np.empty(len(keys), int)
    result[order] = numbers
    return result


def combined(f: Callable, x: Any, y: Any, form: Form) -> Any:
    """Return ``f`` of the elements of two sparse arrays, in a form."""
    return form.filled(f(elements_at(x, form), elements_at(y, form)))


def combined_slots(f: Callable, x: Any, y: Any, operation: Callable, neutral: float) -> Any:
    """Return ``f`` of two sparse arrays in DIA, also of what they store outside of the array.

    SciPy's operation is done to the numbers of the entries of one and to entries of the other that
    do not change them.
    """
    slots = natively(_slots, operation, x, y, neutral)
    sides = [picked(vector_of(s), n) for s, n in zip((x, y), slots[1:], strict=True)]
    return with_entries(slots[0], as_dtype(f(*sides), slots[0].dtype))


def _slots(operation: Callable, x: Any, y: Any, neutral: float) -> tuple:
    """Return the result for such entries, and the numbers of both sides' entries in its slots."""
    plain = [pattern_of(s, neutral) for s in (x, y)]
    from_x = operation(_as_floats(numbered(x)), plain[1])
    from_y = operation(plain[0], _as_floats(numbered(y)))
    return operation(*plain), np.abs(from_x.data), np.abs(from_y.data)


def _as_floats(x: Any) -> Any:
    return with_entries(x, entries_of(x).astype(float))


def stored_in(form: Form, x: Any) -> Any:
    """Return a sparse array with the same elements, in a form."""
    return form.filled(elements_at(x, form))
