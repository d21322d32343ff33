"""Projectors of scipy.sparse arrays and matrices: the stored entries, in the primal's format.

What a sparse primal does not store is zero by structure and has no cotangent; what it stores has
one, also where the stored value is zero. An element that is stored in several parts (duplicates in
COO, or in CSR before ``sum_duplicates``) gets its cotangent in equal parts, so that the matrix of
cotangents has the right value there.

The module is loaded when `ProjectTo` looks up a class and finds SciPy in ``sys.modules``: whoever
made the value has imported it.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from chainrules_core.errors import ProjectionError
from chainrules_core.projection import project_to
from chainrules_core.tangents.zero import AbstractTangent

Coords = tuple[np.ndarray, ...]


class _Pattern:
    """Which entries are stored, in one format; a subclass for each.

    ``key`` identifies the pattern, ``coords`` gives the place of each stored entry, ``build``
    makes a sparse array from values in that order.
    """

    key: tuple
    unique = True  # whether each element is stored at most once

    def __init__(self, x: Any) -> None:
        raise NotImplementedError

    def coords(self, shape: tuple[int, ...]) -> Coords:
        raise NotImplementedError

    def build(self, cls: type, values: np.ndarray, shape: tuple[int, ...]) -> Any:
        raise NotImplementedError

    def same_as(self, other: _Pattern) -> bool:
        return all(map(np.array_equal, self.key, other.key))


class _Compressed(_Pattern):
    """CSR and CSC."""

    def __init__(self, x: Any) -> None:
        self.unique = x.has_canonical_format
        self.by_row = x.format == "csr"
        # SciPy brings what is not canonical into order in place, now and then; hence copies.
        self.key = tuple(a if self.unique else a.copy() for a in (x.indptr, x.indices))

    def coords(self, shape: tuple[int, ...]) -> Coords:
        indptr, indices = self.key
        if len(shape) == 1:
            return (indices,)
        major = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        return (major, indices) if self.by_row else (indices, major)

    def build(self, cls: type, values: np.ndarray, shape: tuple[int, ...]) -> Any:
        indptr, indices = self.key
        return cls((values, indices.copy(), indptr.copy()), shape=shape)


class _Coordinates(_Pattern):
    """COO."""

    def __init__(self, x: Any) -> None:
        self.unique = x.has_canonical_format
        self.key = tuple(x.coords)

    def coords(self, shape: tuple[int, ...]) -> Coords:
        return self.key

    def build(self, cls: type, values: np.ndarray, shape: tuple[int, ...]) -> Any:
        return cls((values, tuple(a.copy() for a in self.key)), shape=shape)


class _Blocks(_Pattern):
    """BSR."""

    def __init__(self, x: Any) -> None:
        self.unique = x.has_canonical_format
        arrays = tuple(a if self.unique else a.copy() for a in (x.indptr, x.indices))
        self.key = (*arrays, x.blocksize)

    def coords(self, shape: tuple[int, ...]) -> Coords:
        indptr, indices, (height, width) = self.key
        block_rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        rows = height * block_rows[:, None, None] + np.arange(height)[:, None]
        columns = width * indices[:, None, None] + np.arange(width)
        rows, columns = np.broadcast_arrays(rows, columns)
        return rows.ravel(), columns.ravel()

    def build(self, cls: type, values: np.ndarray, shape: tuple[int, ...]) -> Any:
        indptr, indices, blocksize = self.key
        blocks = values.reshape(len(indices), *blocksize)
        return cls((blocks, indices.copy(), indptr.copy()), shape=shape)


class _Diagonals(_Pattern):
    """DIA: a row of data for each diagonal; its corners lie outside the matrix."""

    def __init__(self, x: Any) -> None:
        self.key = (x.offsets.copy(), x.data.shape)

    def _inside(self, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        offsets, (_, width) = self.key
        columns = np.arange(width)
        rows = columns - offsets[:, None]
        inside = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
        return inside, rows, np.broadcast_to(columns, rows.shape)

    def coords(self, shape: tuple[int, ...]) -> Coords:
        inside, rows, columns = self._inside(shape)
        return rows[inside], columns[inside]

    def build(self, cls: type, values: np.ndarray, shape: tuple[int, ...]) -> Any:
        offsets, data_shape = self.key
        data = np.zeros(data_shape, values.dtype)
        data[self._inside(shape)[0]] = values
        return cls((data, offsets.copy()), shape=shape)


class _Lists(_Pattern):
    """LIL and DOK: entries in an order that does not depend on their history."""

    def __init__(self, x: Any) -> None:
        self.format = x.format
        coords = x.tocoo().coords
        order = np.lexsort(coords[::-1])
        self.key = tuple(a[order] for a in coords)

    def coords(self, shape: tuple[int, ...]) -> Coords:
        return self.key

    def build(self, cls: type, values: np.ndarray, shape: tuple[int, ...]) -> Any:
        sparse = sys.modules["scipy.sparse"]
        make = sparse.coo_array if issubclass(cls, sparse.sparray) else sparse.coo_matrix
        return make((values, self.key), shape=shape).asformat(self.format)


_PATTERNS: dict[str, type[_Pattern]] = {
    "csr": _Compressed,
    "csc": _Compressed,
    "coo": _Coordinates,
    "bsr": _Blocks,
    "dia": _Diagonals,
    "lil": _Lists,
    "dok": _Lists,
}


class ProjectToSparse(project_to.OfShape):
    """The projector of sparse arrays of one format, shape, dtype and pattern."""

    __slots__ = ("_places", "_share", "dtype", "pattern", "shape", "type")

    def __init__(self, x: Any, dtype: np.dtype) -> None:
        self.type = type(x)
        self.shape = x.shape
        self.dtype = dtype
        self.pattern = _PATTERNS[x.format](x)
        self._places: Coords | None = None
        self._share: np.ndarray | None = None

    def __call__(self, dx: Any) -> Any:
        """`dx` at the stored entries; itself where it has the same pattern."""
        if isinstance(dx, AbstractTangent):
            return project_to._special(self, dx, self.type)
        if project_to.is_foreign(dx):
            return project_to.fit(dx, self.shape, self.dtype)
        if not hasattr(dx, "shape"):
            project_to._refuse(dx, "sparse array")
            dx = np.asarray(dx)
        if dx.shape != self.shape:
            raise ProjectionError(self.shape, dx.shape)
        if type(dx) is self.type and self.pattern.same_as(_PATTERNS[dx.format](dx)):
            return self._in_dtype(dx)
        return self._from_values(self._gather(dx))

    def zeros(self) -> Any:
        """The sparse array of the pattern whose stored entries are zeros."""
        return self._from_values(np.zeros(len(self._coords()[0])))

    def _coords(self) -> Coords:
        """The places of the stored entries, worked out when they are first needed."""
        if self._places is None:
            places = self.pattern.coords(self.shape)
            if not self.pattern.unique:
                linear = np.ravel_multi_index(places, self.shape)
                _, inverse, counts = np.unique(linear, return_inverse=True, return_counts=True)
                self._share = 1.0 / counts[inverse]
            self._places = places
        return self._places

    def _gather(self, dx: Any) -> np.ndarray:
        coords = self._coords()
        if not hasattr(dx, "tocoo"):
            return np.asarray(dx)[coords]
        coo = dx.tocoo()
        stored, inverse = np.unique(
            np.ravel_multi_index(coo.coords, self.shape), return_inverse=True
        )
        # One more at the end, for what dx does not store.
        sums = np.zeros(len(stored) + 1, coo.dtype)
        np.add.at(sums, inverse, coo.data)
        wanted = np.ravel_multi_index(coords, self.shape)
        at = np.searchsorted(stored, wanted)
        found = np.append(stored, -1)[at] == wanted
        return sums[np.where(found, at, len(stored))]

    def _from_values(self, values: np.ndarray) -> Any:
        values = project_to.fit(values, values.shape, self.dtype)
        if self._share is not None:
            values = values * self._share.astype(values.real.dtype)
        return self.pattern.build(self.type, values, self.shape)

    def _in_dtype(self, dx: Any) -> Any:
        if dx.dtype == self.dtype:
            return dx
        if dx.dtype.kind == "c" and self.dtype.kind != "c":
            dx = dx.real
        return dx.astype(self.dtype)

    def __repr__(self) -> str:
        return f"ProjectTo({self.type.__name__}, shape={self.shape}, dtype={self.dtype})"


def register_formats() -> None:
    """Register the projectors of the classes of scipy.sparse, which has been imported."""
    sparse = importlib.import_module("scipy.sparse")

    # Each by name: DOK is a dict as well, and would be projected like one.
    classes = [
        getattr(sparse, f"{name}_{kind}") for name in _PATTERNS for kind in ("array", "matrix")
    ]
    project_to.register(*(cls for cls in classes if not project_to.is_registered(cls)))(_for_sparse)


def _for_sparse(x: Any) -> Any:
    space = project_to._SPACES.get(x.dtype.newbyteorder("="))
    if space is None:
        return project_to.no_tangent if x.dtype == bool else project_to.identity
    return ProjectToSparse(x, space)


register_formats()
