"""Arrays of arrays, and of diagonals, as they are made of others, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.form.ir import Items, Value
from autodiff.structured.reading.libraries.given_arguments import Found, is_floats, is_integer


def same(x: Any) -> Any:
    """Return an array as it is."""
    return x


def stacked(parts: Any) -> Any:
    """Return an array of the arrays in a list."""
    return np.stack(parts)


def diag(v: Any, k: Any = 0) -> Any:
    """Return a matrix with a vector on its diagonal, or on one beside it."""
    n = len(v) + abs(k)
    m = np.zeros((n, n))
    first = max(-k, 0)
    for i in range(len(v)):
        m[first + i, first + i + k] = v[i]
    return m


def _of_arrays(args: list, given: dict[str, Any]) -> Found:
    """Read an array of arrays in a tuple or list as a stack of them."""
    parts = args[0] if len(args) == 1 and not given and type(args[0]) in (tuple, Items) else ()
    ranks = {x.kind.ndim if is_floats(x) else 0 for x in parts}
    return (stacked, args) if len(ranks) == 1 and 0 not in ranks else None


def _as_array(args: list, given: dict[str, Any]) -> Found:
    """Read `np.asarray`, which returns an array as it is."""
    is_one = len(args) == 1 and not given and type(args[0]) is Value and args[0].kind.is_array
    return (same, args) if is_one else _of_arrays(args, given)


def _on_diagonal(args: list, given: dict[str, Any]) -> Found:
    at = [*args[1:], *given.values()]
    is_one = is_floats(args[0]) and args[0].kind.ndim == 1 and not given.keys() - {"k"}
    return (diag, [args[0], *at]) if is_one and all(map(is_integer, at)) else None


OTHERS: dict[Any, Callable] = {
    np.array: _of_arrays, np.asarray: _as_array, np.diag: _on_diagonal,
}  # fmt: skip
"""See `by_others`."""
