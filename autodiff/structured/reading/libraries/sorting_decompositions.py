"""Decompositions of sorts, medians and quantiles, and their selectors: see `numpy_decompositions`.

NumPy sorts NaNs to the end. Medians and quantiles of arrays with NaNs are left to NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.form.function_ir import Items
from autodiff.structured.reading.libraries.argument_checks import (
    Choice,
    by_name,
    is_first,
    is_floats,
    known_option,
    known_parts,
)


def sort_vector(x: Any) -> Any:
    """Sort a vector; equal elements keep their order."""
    return x[np.argsort(x, kind="stable")]


def sort_vector_in_place(x: Any) -> None:
    """Sort a vector in place."""
    x[:] = x[np.argsort(x, kind="stable")]


def sort_flat(a: Any) -> Any:
    """Sort all elements of a matrix."""
    return sort_vector(np.ravel(a))


def sort_columns(a: Any) -> Any:
    """Sort each column of a matrix."""
    return a[np.argsort(a, axis=0, kind="stable"), np.arange(a.shape[1])]


def sort_rows(a: Any) -> Any:
    """Sort each row of a matrix."""
    return a[np.arange(a.shape[0])[:, None], np.argsort(a, axis=1, kind="stable")]


def sort_columns_in_place(a: Any) -> None:
    """Sort each column of a matrix in place."""
    a[...] = sort_columns(a)


def sort_rows_in_place(a: Any) -> None:
    """Sort each row of a matrix in place."""
    a[...] = sort_rows(a)


def median(a: Any) -> Any:
    """Compute the median of a vector."""
    n = len(a)
    assert n > 0
    x = sort_vector(a)
    assert x[n - 1] == x[n - 1]
    k = n // 2
    return x[k] if n % 2 == 1 else (x[k - 1] + x[k]) / 2.0


def median_flat(a: Any) -> Any:
    """Compute the median of all elements of a matrix."""
    return median(np.ravel(a))


def column_medians(a: Any) -> Any:
    """Compute the median of each column of a matrix."""
    n = len(a)
    assert n > 0
    x = sort_columns(a)
    assert np.all(x[n - 1] == x[n - 1])
    k = n // 2
    return x[k].copy() if n % 2 == 1 else (x[k - 1] + x[k]) / 2.0


def row_medians(a: Any) -> Any:
    """Compute the median of each row of a matrix."""
    return column_medians(a.T)


def interpolate(x: Any, q: Any) -> Any:
    """Interpolate sorted elements, or rows, linearly at a fraction of their index range."""
    last = len(x) - 1
    place = last * q
    k = int(place)
    low, high = x[k], x[min(k + 1, last)]
    d, t = high - low, place - k
    return high - d * (1.0 - t) if t >= 0.5 else low + d * t


def quantile(a: Any, q: Any) -> Any:
    """Compute a quantile of a vector."""
    assert len(a) > 0
    x = sort_vector(a)
    assert x[-1] == x[-1]
    return interpolate(x, q)


def quantiles(a: Any, fractions: Any) -> Any:
    """Compute several quantiles of a vector."""
    assert len(a) > 0
    x = sort_vector(a)
    assert x[-1] == x[-1]
    return np.array([interpolate(x, q) for q in fractions])


def quantile_flat(a: Any, q: Any) -> Any:
    """Compute a quantile of all elements of a matrix."""
    return quantile(np.ravel(a), q)


def column_quantiles(a: Any, q: Any) -> Any:
    """Compute a quantile of each column of a matrix."""
    assert len(a) > 0
    x = sort_columns(a)
    assert np.all(x[-1] == x[-1])
    return interpolate(x, q)


def row_quantiles(a: Any, q: Any) -> Any:
    """Compute a quantile of each row of a matrix."""
    return column_quantiles(a.T, q)


def _for_axis(a: Any, axis: Any, functions: tuple[Callable | None, ...]) -> Callable | None:
    """Return the function for a vector, a flattened matrix, its columns or its rows."""
    for_vector, flat, columns, rows = functions
    if a.kind.ndim == 1:
        return for_vector if axis is None or is_first(a, axis) else None
    if a.kind.ndim != 2 or (axis is not None and is_first(a, axis) is None):
        return None
    return flat if axis is None else columns if is_first(a, axis) else rows


def _by_axis(default: int | None, *functions: Callable | None) -> Callable:
    """Return a selector by axis, of which this is the default: see `_for_axis`."""

    @by_name("a", "axis")
    def select(named: dict[str, Any]) -> Choice:
        if not is_floats(named["a"]):
            return None
        function = _for_axis(named["a"], known_option(named, "axis", default), functions)
        return None if function is None else (function, [named["a"]])

    return select


_QUANTILES = (quantile, quantile_flat, column_quantiles, row_quantiles)


def _fractions(unit: int) -> Callable:
    """Return a selector for quantiles; `unit` is the number that names the maximum."""

    def fraction(q: Any) -> float | None:
        is_one = type(q) is float or (unit > 1 and type(q) is int)
        return float(np.true_divide(q, unit)) if is_one and 0 <= q <= unit else None

    @by_name("a", "q", "axis")
    def select(named: dict[str, Any]) -> Choice:
        if "q" not in named or not is_floats(named["a"]):
            return None
        a, axis, q = named["a"], known_option(named, "axis"), known_parts(named["q"])
        if isinstance(q, list):
            parts = list(map(fraction, q))
            is_vector = a.kind.ndim == 1 and (axis is None or is_first(a, axis))
            is_one = is_vector and parts and None not in parts
            return (quantiles, [a, Items(parts)]) if is_one else None
        function, part = _for_axis(a, axis, _QUANTILES), fraction(q)
        return None if function is None or part is None else (function, [a, part])

    return select


SELECTORS: dict[Any, Callable] = {
    np.sort: _by_axis(-1, sort_vector, sort_flat, sort_columns, sort_rows),
    np.ndarray.sort: _by_axis(
        -1, sort_vector_in_place, None, sort_columns_in_place, sort_rows_in_place
    ),
    np.median: _by_axis(None, median, median_flat, column_medians, row_medians),
    np.quantile: _fractions(1), np.percentile: _fractions(100),
}  # fmt: skip
"""See `decompositions`."""
