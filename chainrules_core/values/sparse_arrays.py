"""Sparse arrays and matrices of scipy.sparse as structs: a constant pattern and the stored entries.

The entries are what can be perturbed. In the formats CSR, CSC, COO, BSR and DIA they are the
attribute ``data``, so that an array of the same class holds traced entries there. LIL and DOK keep
theirs in Python's lists and dicts; a shell of the same class holds them in a vector instead, sorted
by row and column, and none of what SciPy's own code would read. A shell in DOK knows in which order
its keys were stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_PLACES = "_chainrules_coords"
_ENTRIES = "_chainrules_entries"
_KEYS = "_chainrules_keys"


def is_sparse_class(kind: type) -> bool:
    """Whether instances of a class are sparse arrays or matrices of scipy."""
    return hasattr(kind, "tocsr") and any(
        base.__module__ == "scipy.sparse._base" for base in kind.__mro__
    )


def entries_of(x: Any) -> Any:
    """Return the stored entries of a sparse array, in the shape in which its format keeps them."""
    if x.format not in ("lil", "dok"):
        return x.data
    held = vars(x).get(_ENTRIES)
    if held is not None:
        return held
    coo = x.tocoo()
    return coo.data[np.lexsort(coo.coords[::-1])]


def coords_of(x: Any) -> tuple[np.ndarray, ...]:
    """Return the places of the entries of an array in LIL or DOK, sorted by row and column."""
    held = vars(x).get(_PLACES)
    if held is not None:
        return held
    coords = x.tocoo().coords
    order = np.lexsort(coords[::-1])
    return tuple([a[order] for a in coords])


def with_entries(x: Any, entries: Any, *, alone: bool = False) -> Any:
    """Return a sparse array of the class and pattern of `x` that stores other entries.

    It shares the arrays of places with `x`. With `alone` it has its own, and entries of its own,
    where SciPy might put them in order.
    """
    kind: Any = type(x)
    new = kind.__new__(kind)
    if x.format not in ("lil", "dok"):
        vars(new).update(vars(x))
        new.data = entries
        if alone and not _is_in_order(x):
            own_places(new)
            new.data = entries.copy() if type(entries) is np.ndarray else entries
        return new
    coords = coords_of(x)
    if type(entries) is np.ndarray:
        kind.__init__(new, x.shape, dtype=entries.dtype)
        if x.format == "dok":
            by_key = dict(zip(_as_keys(coords), entries, strict=True))
            new._dict = {key: by_key[key] for key in _keys_of(x)}
            return new
        new[coords] = entries
        return _storing_zeros(new, coords, entries)
    keep = {n: v for n, v in vars(x).items() if n not in ("rows", "data", "_dict")}
    if x.format == "dok":
        keep[_KEYS] = _keys_of(x)
    vars(new).update(keep, **{_PLACES: coords, _ENTRIES: entries, "dtype": entries.dtype})
    return new


def _is_in_order(x: Any) -> bool:
    """Whether it is known that SciPy has no reason to change the arrays of places of an array."""
    if x.format == "coo":
        return x.ndim > 1  # an array in CSR that is made of one with one axis shares its places
    return x.format == "dia" or bool(vars(x).get("_has_canonical_format"))


def own_places(x: Any) -> None:
    """Give a sparse array copies of the arrays of its places."""
    for name in ("indices", "indptr", "offsets", "coords"):
        places = vars(x).get(name)
        if type(places) is tuple:
            setattr(x, name, tuple([a.copy() for a in places]))
        elif places is not None:
            setattr(x, name, places.copy())


def _keys_of(x: Any) -> tuple:
    """Return the keys of an array in DOK in the order in which they were stored."""
    held = vars(x).get(_KEYS)
    return tuple(x.keys()) if held is None else held


def _as_keys(coords: tuple[np.ndarray, ...]) -> list:
    """Return the places in DOK's form: tuples, in one dimension numbers."""
    lists = [a.tolist() for a in coords]
    return list(zip(*lists, strict=True)) if len(lists) > 1 else lists[0]


def _storing_zeros(x: Any, coords: tuple[np.ndarray, ...], entries: np.ndarray) -> Any:
    """Have an array in LIL store its entries also where they are zero."""
    if entries.all() and np.size(entries) == x.nnz:
        return x
    for i, row in enumerate(np.split(np.arange(len(entries)), _starts(coords[0], x.shape[0]))):
        x.rows[i] = coords[1][row].tolist()
        x.data[i] = entries[row].tolist()
    return x


def _starts(rows: np.ndarray, n: int) -> np.ndarray:
    return np.searchsorted(rows, np.arange(1, n))
