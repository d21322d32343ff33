"""Decompositions that assemble arrays from arrays or numbers: see `numpy_decompositions`."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.structured.form.function_ir import Items, Value
from autodiff.structured.reading.libraries.argument_checks import (
    among,
    decomposes,
    floats,
    integer,
    is_floats,
    is_integer,
    known_parts,
    that,
)


def _are_stacked(v: Any) -> bool:
    """Whether this is a tuple or list of arrays of one rank."""
    parts = v if type(v) in (tuple, Items) else ()
    ranks = {x.kind.ndim if is_floats(x) else 0 for x in parts}
    return len(ranks) == 1 and 0 not in ranks


def _are_rows(v: Any) -> bool:
    """Whether this is a list of lists of matrices."""
    if type(v) is not Items or not v or not all(type(row) is Items and row for row in v):
        return False
    return all(is_floats(x) and x.kind.ndim == 2 for row in v for x in row)


def _are_indices(v: Any) -> bool:
    """Whether this is a vector, or a non-empty list or tuple, of integers, or a mask."""
    if isinstance(v, tuple):
        return bool(v) and all(is_integer(part) for part in v)
    if type(v) is Value and v.kind.parts:
        return all(p.is_integral and p.classes.isdisjoint({bool, np.bool_}) for p in v.kind.parts)
    return type(v) is Value and v.kind.letter in ("b", "i", "u") and v.kind.ndim == 1


def _widths(v: Any, named: dict[str, Any]) -> Any:
    """Check for known widths; return those before and after, axis by axis."""
    try:
        pairs = np.broadcast_to(np.array(known_parts(v)), (named["array"].kind.ndim, 2))
    except ValueError:
        return NotImplemented
    are_widths = pairs.dtype.kind == "i" and (pairs >= 0).all()
    return tuple(map(tuple, pairs.tolist())) if are_widths else NotImplemented


_indices = that(_are_indices)


@decomposes(np.asarray, a=that(lambda v: type(v) is Value and v.kind.is_array))
def same(a: Any) -> Any:
    """Return an array, not a copy of it."""
    return a


@decomposes(np.array, np.asarray, object=that(_are_stacked))
def stack(parts: Any) -> Any:
    """Stack the arrays in a list."""
    return np.stack(parts)


@decomposes(np.diag, v=floats(1), k=integer)
def diag(v: Any, k: Any = 0) -> Any:
    """Compute `numpy.diag` of a vector."""
    n = len(v) + abs(k)
    m = np.zeros((n, n))
    first = max(-k, 0)
    for i in range(len(v)):
        m[first + i, first + i + k] = v[i]
    return m


@decomposes(np.block, arrays=that(_are_rows))
def block(rows: Any) -> Any:
    """Compute `numpy.block` of rows of matrices."""
    return np.concatenate([np.concatenate(row, axis=1) for row in rows])


def _positions(a: Any) -> Any:
    """Return the indices that an index or a mask selects."""
    x = np.array(a)
    return np.flatnonzero(x) if x.dtype.kind == "b" else x


@decomposes(np.ix_, a=_indices)
def ix_1(a: Any) -> Any:
    """Compute `numpy.ix_` for one axis."""
    return (_positions(a),)


@decomposes(np.ix_, a=_indices, b=_indices)
def ix_2(a: Any, b: Any) -> Any:
    """Compute `numpy.ix_` for two axes."""
    return _positions(a)[:, None], _positions(b)[None, :]


@decomposes(np.ix_, a=_indices, b=_indices, c=_indices)
def ix_3(a: Any, b: Any, c: Any) -> Any:
    """Compute `numpy.ix_` for three axes."""
    x, y, z = _positions(a), _positions(b), _positions(c)
    return x[:, None, None], y[None, :, None], z[None, None, :]


# -- padding ---------------------------------------------------------------------------------------


@decomposes(np.pad, array=floats(1), pad_width=_widths, mode=among("constant", "edge"))
def pad_vector(a: Any, widths: Any, mode: Any = "constant") -> Any:
    """Pad a vector with zeros, or with its first and last element."""
    ((before, after),) = widths
    n = len(a)
    if mode == "constant":
        out = np.zeros(before + n + after)
        out[before : before + n] = a
    else:
        out = np.empty(before + n + after)
        out[before : before + n] = a
        out[:before] = a[0]
        out[before + n :] = a[n - 1]
    return out


@decomposes(np.pad, array=floats(2), pad_width=_widths, mode=among("constant", "edge"))
def pad_matrix(a: Any, widths: Any, mode: Any = "constant") -> Any:
    """Pad a matrix with zeros, or with its outermost elements."""
    (above, below), (before, after) = widths
    m, n = a.shape
    if mode == "constant":
        out = np.zeros((above + m + below, before + n + after))
        out[above : above + m, before : before + n] = a
    else:
        out = np.empty((above + m + below, before + n + after))
        out[above : above + m, before : before + n] = a
        out[above : above + m, :before] = a[:, :1]
        out[above : above + m, before + n :] = a[:, n - 1 :]
        out[:above] = out[above : above + 1]
        out[above + m :] = out[above + m - 1 : above + m]
    return out


@decomposes(
    np.pad, array=floats(1, 2), pad_width=_widths, mode=among("wrap", "reflect", "symmetric")
)  # fmt: skip
def pad_with_itself(a: Any, widths: Any, mode: Any) -> Any:
    """Pad a vector or matrix periodically, or with its mirror image."""
    made = padded(a, widths[0], mode)
    return made if a.ndim == 1 else padded(made.T, widths[1], mode).T


def padded(a: Any, widths: Any, mode: Any) -> Any:
    """Pad the first axis; the mirror image is without the edge if `mode` is "reflect"."""
    before, after = widths
    n = len(a)
    most = n - 1 if mode == "reflect" else n
    assert before <= most
    assert after <= most
    if mode == "wrap":
        return np.concatenate((a[n - before :], a, a[:after]))
    if mode == "reflect":
        return np.concatenate((a[1 : before + 1][::-1], a, a[n - 1 - after : n - 1][::-1]))
    return np.concatenate((a[:before][::-1], a, a[n - after :][::-1]))
