"""Decompositions that assemble arrays from arrays or numbers, and their selectors.

Those of `numpy.array`, `numpy.diag`, `numpy.block` and `numpy.ix_`: see `numpy_decompositions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.form.function_ir import Items, Value
from autodiff.structured.reading.libraries.argument_checks import Choice, is_floats, is_integer


def same(x: Any) -> Any:
    """Return an array, not a copy of it."""
    return x


def stack(parts: Any) -> Any:
    """Stack the arrays in a list."""
    return np.stack(parts)


def diag(v: Any, k: Any = 0) -> Any:
    """Compute `numpy.diag` of a vector."""
    n = len(v) + abs(k)
    m = np.zeros((n, n))
    first = max(-k, 0)
    for i in range(len(v)):
        m[first + i, first + i + k] = v[i]
    return m


def block(rows: Any) -> Any:
    """Compute `numpy.block` of rows of matrices."""
    return np.concatenate([np.concatenate(row, axis=1) for row in rows])


def ix_1(a: Any) -> Any:
    """Compute `numpy.ix_` for one axis."""
    return (np.array(a),)


def ix_2(a: Any, b: Any) -> Any:
    """Compute `numpy.ix_` for two axes."""
    return np.array(a)[:, None], np.array(b)[None, :]


def ix_3(a: Any, b: Any, c: Any) -> Any:
    """Compute `numpy.ix_` for three axes."""
    return np.array(a)[:, None, None], np.array(b)[None, :, None], np.array(c)[None, None, :]


_IX: dict[int, Callable] = {1: ix_1, 2: ix_2, 3: ix_3}


def _select_array(args: list, given: dict[str, Any]) -> Choice:
    """Stack the arrays in a tuple or list."""
    parts = args[0] if len(args) == 1 and not given and type(args[0]) in (tuple, Items) else ()
    ranks = {x.kind.ndim if is_floats(x) else 0 for x in parts}
    return (stack, args) if len(ranks) == 1 and 0 not in ranks else None


def _select_asarray(args: list, given: dict[str, Any]) -> Choice:
    """Return an array itself."""
    is_one = len(args) == 1 and not given and type(args[0]) is Value and args[0].kind.is_array
    return (same, args) if is_one else _select_array(args, given)


def _select_diag(args: list, given: dict[str, Any]) -> Choice:
    offset = [*args[1:], *given.values()]
    is_one = is_floats(args[0]) and args[0].kind.ndim == 1 and not given.keys() - {"k"}
    return (diag, [args[0], *offset]) if is_one and all(map(is_integer, offset)) else None


def _select_block(args: list, given: dict[str, Any]) -> Choice:
    rows = args[0] if len(args) == 1 and not given and type(args[0]) is Items else ()
    are_rows = rows and all(type(row) is Items and row for row in rows)
    if not are_rows or not all(is_floats(v) and v.kind.ndim == 2 for row in rows for v in row):
        return None
    return block, args


def _select_ix(args: list, given: dict[str, Any]) -> Choice:
    is_one = not given and all(map(_are_indices, args)) and len(args) in _IX
    return (_IX[len(args)], args) if is_one else None


def _are_indices(v: Any) -> bool:
    """Whether this is a vector, or a non-empty list or tuple, of integers."""
    if isinstance(v, tuple):
        return bool(v) and all(is_integer(part) for part in v)
    if type(v) is Value and v.kind.parts:
        return all(p.is_integral and p.classes.isdisjoint({bool, np.bool_}) for p in v.kind.parts)
    return type(v) is Value and v.kind.letter in ("i", "u") and v.kind.ndim == 1


SELECTORS: dict[Any, Callable] = {
    np.array: _select_array, np.asarray: _select_asarray, np.diag: _select_diag,
    np.block: _select_block, np.ix_: _select_ix,
}  # fmt: skip
"""See `decompositions`."""
