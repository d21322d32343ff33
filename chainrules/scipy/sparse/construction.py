"""Sparse arrays made from traced entries, and put together from blocks and diagonals.

The places are constants. Of a dense array what is not zero is stored; that the derivatives of its
zeros would be lost is an error where something depends on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from chainrules.dropped import without
from chainrules.scipy.sparse.entries import (
    CLASSES,
    canonical,
    compressed,
    followed,
    gathered,
    is_sparse,
    numbered,
    numbers_for,
    vector_of,
)
from chainrules.scipy.sparse.products import coo_of
from chainrules.scipy.sparse.structure import has_sums, moved
from chainrules_core import decompose, natively
from chainrules_core.authoring import entries_of, with_entries


def _constructor(cls: type) -> Callable:
    name = cls.__name__.partition("_")[0]

    def construct(
        arg1: Any,
        shape: Any = None,
        dtype: Any = None,
        copy: Any = False,
        blocksize: Any = None,
        *,
        maxprint: Any = None,
    ) -> Any:
        options: dict[str, Any] = {} if shape is None else {"shape": shape}
        if blocksize is not None:
            options["blocksize"] = blocksize
        if is_sparse(arg1):
            x = arg1 if arg1.format == name else getattr(arg1, f"to{name}")(copy=copy)
            made = followed(cls, x, copy=copy, **options)
        elif isinstance(arg1, tuple) and len(arg1) in (2, 3) and _is_entries(arg1):
            made = _from_entries(cls, name, np.asarray(arg1[0]), arg1[1:], copy, options)
        else:
            made = _from_dense(cls, name, np.asarray(arg1), options)
        return made if dtype is None else made.astype(dtype, copy=False)

    return construct


def _is_entries(given: tuple) -> bool:
    return np.ndim(given[0]) > 0 or np.ndim(given[1]) > 0


def _from_entries(cls: type, name: str, data: Any, places: tuple, copy: Any, options: dict) -> Any:
    entries = np.reshape(data, (-1,))
    numbers = natively(numbers_for, data)
    if name in ("csr", "csc", "lil", "dok", "bsr") and len(places) == 1:
        coordinates = sp.coo_array if "array" in cls.__name__ else sp.coo_matrix
        shape = {n: v for n, v in options.items() if n == "shape"}
        coo = natively(coordinates, (numbers, *places), **shape)
        if name in ("csr", "csc"):
            return compressed(coo, entries, name)
        rest = {n: v for n, v in options.items() if n != "shape"}
        return followed(cls, canonical(gathered(coo, entries)), **rest)
    made = natively(cls, (numbers, *places), copy=copy, **options)
    is_as_given = np.shape(data) == np.shape(entries_of(made))
    return gathered(made, data if is_as_given else entries, numbers)


_ZEROS = (
    "an array is made sparse that has elements which are exactly 0 and depend on what is "
    "differentiated by: they are not stored, and their derivatives would be lost. Say where the "
    "entries are, csr_array((data, (rows, columns)), shape=...), or make the zeros constants, "
    "csr_array(x * (x != 0))."
)


def _from_dense(cls: type, name: str, x: Any, options: dict) -> Any:
    x = np.atleast_2d(x) if "matrix" in cls.__name__ else x
    if np.size(x) and np.asarray(x).dtype.kind not in "fc":
        return cls(x, **options)
    places = np.nonzero(x)
    numbers = np.zeros(np.shape(x), int)
    numbers[places] = np.arange(1, 1 + len(places[0]))
    zeros = np.nonzero(numbers == 0)
    entries = x[places]
    if len(zeros[0]):
        entries = without(entries, x[zeros], why=_ZEROS)
    return gathered(natively(cls, numbers, **options), entries)


for _cls in CLASSES:
    decompose(_cls)(_constructor(_cls))


# -- from blocks ----------------------------------------------------------------------------------


def _numbered_blocks(
    blocks: Any, entries: list, keep: bool, alone: bool = True, first: int = 1
) -> Any:
    """Return a nest of blocks with the numbers of their entries, which are appended to a list.

    With `alone` each element of a sparse block is stored once.
    """
    if isinstance(blocks, (list, tuple)) and not _is_numbers(blocks):
        return [_numbered_blocks(b, entries, keep, alone, first) for b in blocks]
    if blocks is None:
        return None
    start = first + sum(np.size(e) for e in entries)
    if is_sparse(blocks):
        x = canonical(blocks) if alone else blocks
        entries.append(vector_of(x))
        return numbered(x, start)
    x = np.asarray(blocks)
    numbers = natively(numbers_for, x, start)
    entries.append(np.reshape(x, (-1,)))
    return numbers if keep else np.where(np.asarray(x != 0), numbers, 0)


def _is_numbers(blocks: Any) -> bool:
    return all(np.ndim(b) == 0 and b is not None and not is_sparse(b) for b in blocks)


def _assembling(f: Callable, keep: bool = False) -> Callable:
    """Return the body of a function that puts blocks together."""

    def assemble(blocks: Any, args: tuple, kwargs: dict) -> Any:
        kwargs = dict(kwargs)
        dtype = kwargs.pop("dtype", None)
        entries: list[Any] = []
        if not isinstance(blocks, (list, tuple)):
            blocks = list(blocks)
        numbers = _numbered_blocks(blocks, entries, keep, alone=False)
        made = natively(f, numbers, *args, **kwargs)
        first = 1 + sum(np.size(e) for e in entries)
        from_first = _numbered_blocks(blocks, [], keep, alone=False, first=first)
        if natively(has_sums, natively(f, from_first, *args, **kwargs), first):
            entries = []
            numbers = _numbered_blocks(blocks, entries, keep)
            made = natively(f, numbers, *args, **kwargs)
        common = np.result_type(*entries)
        whole = np.concatenate([e.astype(common) for e in entries])
        made = gathered(made, whole)
        return made if dtype is None else made.astype(dtype)

    return assemble


def _decompose_blocks(name: str) -> None:
    f = getattr(sp, name, None)
    if f is None:
        return
    assemble = _assembling(f)

    def body(blocks: Any, format: Any = None, dtype: Any = None) -> Any:
        return assemble(blocks, (), {"format": format, "dtype": dtype})

    def named(blocks: Any, *, format: Any = None, dtype: Any = None) -> Any:
        return assemble(blocks, (), {"format": format, "dtype": dtype})

    decompose(f)(named if name == "block_array" else body)


for _name in ("hstack", "vstack", "bmat", "block_array"):
    _decompose_blocks(_name)

_block_diag = _assembling(sp.block_diag)


@decompose(sp.block_diag)
def block_diag(mats: Any, format: Any = None, dtype: Any = None) -> Any:
    """Return the blocks along the diagonal."""
    mats = [m if sp.issparse(m) else np.atleast_2d(np.asarray(m)) for m in mats]
    return _block_diag(mats, (), {"format": format, "dtype": dtype})


# -- diagonals ------------------------------------------------------------------------------------


def _one_or_more(diagonals: Any) -> Any:
    """Return a list of diagonals as traced arrays; one that stands alone as an array."""
    if isinstance(diagonals, (list, tuple)) and not _is_numbers(diagonals):
        return [np.atleast_1d(np.asarray(d)) for d in diagonals]
    return np.asarray(diagonals)


def _along(f: Callable, diagonals: Any, args: tuple, kwargs: dict, dtype: Any) -> Any:
    given = _one_or_more(diagonals)
    entries: list[Any] = []
    numbers = _numbered_blocks(given, entries, True)
    # SciPy warns of integers here.
    several = isinstance(numbers, list)
    numbers = [n.astype(float) for n in numbers] if several else numbers.astype(float)
    made = natively(f, numbers, *args, **kwargs)
    common = np.result_type(*entries)
    made = gathered(made, np.concatenate([e.astype(common) for e in entries]))
    return made if dtype is None else made.astype(dtype)


@decompose(sp.diags)
def diags(
    diagonals: Any, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None
) -> Any:
    """Return a sparse matrix with these diagonals."""
    return _along(
        sp.diags, diagonals, (), {"offsets": offsets, "shape": shape, "format": format}, dtype
    )


@decompose(sp.diags_array)
def diags_array(
    diagonals: Any, /, *, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None
) -> Any:
    """Return a sparse array with these diagonals."""
    options = {"offsets": offsets, "shape": shape, "format": format}
    return _along(sp.diags_array, diagonals, (), options, dtype)


@decompose(sp.spdiags)
def spdiags(data: Any, diags: Any, m: Any = None, n: Any = None, format: Any = None) -> Any:
    """Return a sparse matrix whose diagonals are the rows of an array."""
    entries: list[Any] = []
    numbers = _numbered_blocks(np.asarray(data), entries, True)
    return gathered(natively(sp.spdiags, numbers, diags, m, n, format), entries[0], numbers)


# -- parts ----------------------------------------------------------------------------------------


def _part(f: Callable) -> Callable:
    def body(A: Any, k: Any = 0, format: Any = None) -> Any:
        return moved(lambda x: f(x, k=k, format=format), A if is_sparse(A) else coo_of(A))

    return body


decompose(sp.tril)(_part(sp.tril))
decompose(sp.triu)(_part(sp.triu))


@decompose(sp.find)
def find(A: Any) -> tuple:
    """Return the places and the values of what is not zero, in SciPy's order."""
    x = canonical(A) if is_sparse(A) else coo_of(A)
    entries = entries_of(x)
    stored = with_entries(x, np.where(entries != 0, entries_of(numbered(x)), 0))
    rows, columns, numbers = natively(sp.find, stored)
    return rows, columns, gathered(numbers, vector_of(x))


def _moving(f: Callable) -> Callable:
    def body(A: Any, *args: Any, **kwargs: Any) -> Any:
        return moved(lambda x: f(x, *args, **kwargs), A)

    return body


for _name in ("expand_dims", "permute_dims", "swapaxes"):
    _f = getattr(sp, _name, None)
    if _f is not None:
        decompose(_f)(_moving(_f))
