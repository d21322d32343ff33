"""Decompositions of sorts, medians and quantiles: see `numpy_decompositions`.

NumPy sorts NaNs to the end. Medians and quantiles of arrays with NaNs are left to NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.structured.form.function_ir import Items
from autodiff.structured.reading.libraries.argument_checks import (
    Check,
    decomposes,
    flat_or_end,
    floats,
    known_parts,
    only_or_end,
)


def _fraction(unit: int) -> Check:
    """Return a check for known quantiles; `unit` is the number that names the maximum.

    There may be several of a vector.
    """

    def one(q: Any) -> Any:
        is_one = type(q) is float or (unit > 1 and type(q) is int)
        return float(np.true_divide(q, unit)) if is_one and 0 <= q <= unit else NotImplemented

    def check(v: Any, named: dict[str, Any]) -> Any:
        if not isinstance(v, tuple):
            return one(known_parts(v))
        parts = list(map(one, known_parts(v)))
        is_one = parts and NotImplemented not in parts and named["a"].kind.ndim == 1
        return Items(parts) if is_one else NotImplemented

    return check


@decomposes(np.sort, a=floats(1, 2), axis=flat_or_end)
def sort(a: Any, axis: Any = -1) -> Any:
    """Sort a vector or matrix; equal elements keep their order."""
    if axis is not None and axis == 1:
        return sort_rows(a)
    return sort_columns(arranged(a, axis))


@decomposes(np.ndarray.sort, a=floats(1, 2), axis=only_or_end)
def sort_in_place(a: Any, axis: Any = -1) -> None:
    """Sort a vector or matrix in place."""
    a[:] = sort_rows(a) if axis == 1 else sort_columns(a)


def sort_columns(a: Any) -> Any:
    """Sort a vector, or each column of a matrix."""
    if a.ndim == 1:
        return a[np.argsort(a, kind="stable")]
    return a[np.argsort(a, axis=0, kind="stable"), np.arange(a.shape[1])]


def sort_rows(a: Any) -> Any:
    """Sort each row of a matrix."""
    return a[np.arange(a.shape[0])[:, None], np.argsort(a, axis=1, kind="stable")]


def arranged(a: Any, axis: Any) -> Any:
    """Return an array with an axis in front, or all elements as a vector if there is none."""
    if axis is None:
        return a if a.ndim == 1 else np.ravel(a)
    return a.T if axis == 1 else a


def sorted_along(a: Any, axis: Any) -> Any:
    """Sort an array without NaNs along an axis, which comes to the front."""
    assert len(a) > 0
    x = sort_columns(arranged(a, axis))
    if x.ndim == 1:
        assert x[-1] == x[-1]
    else:
        assert np.all(x[-1] == x[-1])
    return x


@decomposes(np.median, a=floats(1, 2), axis=flat_or_end)
def median(a: Any, axis: Any = None) -> Any:
    """Compute the median of all elements, or of each row or column of a matrix."""
    x = sorted_along(a, axis)
    n = len(x)
    k = n // 2
    if x.ndim == 1:
        return x[k] if n % 2 == 1 else (x[k - 1] + x[k]) / 2.0
    return x[k].copy() if n % 2 == 1 else (x[k - 1] + x[k]) / 2.0


@decomposes(np.quantile, a=floats(1, 2), q=_fraction(1), axis=flat_or_end)
@decomposes(np.percentile, a=floats(1, 2), q=_fraction(100), axis=flat_or_end)
def quantile(a: Any, q: Any, axis: Any = None) -> Any:
    """Compute a quantile of all elements, or of each row or column; or several of a vector."""
    x = sorted_along(a, axis)
    if isinstance(q, list):
        return np.array([interpolate(x, fraction) for fraction in q])
    return interpolate(x, q)


def interpolate(x: Any, q: Any) -> Any:
    """Interpolate sorted elements, or rows, linearly at a fraction of their index range."""
    last = len(x) - 1
    place = last * q
    k = int(place)
    low, high = x[k], x[min(k + 1, last)]
    d, t = high - low, place - k
    return high - d * (1.0 - t) if t >= 0.5 else low + d * t
