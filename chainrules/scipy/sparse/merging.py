"""Entries put in order, and those that stand for the same element found, by SciPy's own passes.

The transpose of a matrix in CSR is a sort by counting, which is stable: after two of them the
entries of each row are in the order of their columns, and those of one element beside each other,
in the order in which they were given. That takes a fifth of the time of sorting the places as
numbers. All of it is computed of plain arrays of numbers, in which no calls are looked at.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp


def in_order(x: Any, name: str = "csr") -> Any:
    """Return an array in CSR or CSC whose indices are sorted; what is stored twice stays so."""
    if x.format == "coo" and not x.has_canonical_format:
        x = copy.copy(x)
        x.has_canonical_format = True  # else SciPy adds up what stands in the same place
    if x.ndim < 2:
        x = x.tocsr().copy()  # tocsr may share the places, which are then sorted
        x.sort_indices()
        return x
    return x.tocsr().tocsc() if name == "csc" else x.tocsc().tocsr()


def begins_of(x: Any) -> np.ndarray | None:
    """Return at which entries of an ordered array elements begin, and their number behind that.

    None where each element is stored once.
    """
    begin = np.empty(len(x.indices), bool)
    begin[:1] = True
    np.not_equal(x.indices[1:], x.indices[:-1], out=begin[1:])
    begin[x.indptr[:-1][np.diff(x.indptr) > 0]] = True
    if begin.all():
        return None
    return np.append(np.flatnonzero(begin), begin.size)


def merged(x: Any, begins: np.ndarray) -> Any:
    """Return the pattern of an ordered array with each element once, numbered from 1 on."""
    n = len(begins) - 1
    indptr = np.searchsorted(begins, x.indptr)
    indptr = indptr.astype(x.indptr.dtype)
    made = type(x)((np.arange(1, n + 1), x.indices.take(begins[:-1]), indptr), shape=x.shape)
    made.has_canonical_format = True
    return made


def added_up(numbers: Any, name: str) -> tuple[Any, Any]:
    """Return a numbered array in CSR or CSC with each element stored once, and the sums for it.

    Parameters
    ----------
    numbers : sparse array
        In COO, CSR or CSC; in place of the entries the numbers from 1 on.
    name : str
        ``"csr"`` or ``"csc"``.

    Returns
    -------
    made : sparse array
        The pattern; in place of the entries their numbers among the given ones, or among the sums.
    weights : csr_array or None
        What makes the sums of the given entries. None where no element was stored twice.
    """
    made = in_order(numbers, name)
    begins = begins_of(made)
    if begins is None:
        made.has_canonical_format = True
        return made, None
    n, given = len(made.data), made.data - 1
    ones = np.ones(n, np.int8)
    weights = sp.csr_array((ones, given, begins), shape=(len(begins) - 1, n))
    return merged(made, begins), weights
