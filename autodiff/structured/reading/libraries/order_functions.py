"""Functions of NumPy that sort, as they are made of others, to the last bit: see `numpy_functions`.

NaNs come last in the order of NumPy. Medians and quantiles of what has some are left to NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def in_order(x: Any) -> Any:
    """Return the elements of a vector in their order; equal ones stay in theirs."""
    return x[np.argsort(x, kind="stable")]


def put_in_order(x: Any) -> None:
    """Write the elements of a vector in their order."""
    x[:] = x[np.argsort(x, kind="stable")]


def all_in_order(a: Any) -> Any:
    """Return all elements of a matrix in their order."""
    return in_order(np.ravel(a))


def columns_in_order(a: Any) -> Any:
    """Return a matrix with the elements of each column in their order."""
    return a[np.argsort(a, axis=0, kind="stable"), np.arange(a.shape[1])]


def rows_in_order(a: Any) -> Any:
    """Return a matrix with the elements of each row in their order."""
    return a[np.arange(a.shape[0])[:, None], np.argsort(a, axis=1, kind="stable")]


def put_columns_in_order(a: Any) -> None:
    """Write the elements of each column of a matrix in their order."""
    a[...] = columns_in_order(a)


def put_rows_in_order(a: Any) -> None:
    """Write the elements of each row of a matrix in their order."""
    a[...] = rows_in_order(a)


def median(a: Any) -> Any:
    """Return the element in the middle of a vector, or the mean of both."""
    n = len(a)
    assert n > 0
    x = in_order(a)
    assert x[n - 1] == x[n - 1]
    k = n // 2
    return x[k] if n % 2 == 1 else (x[k - 1] + x[k]) / 2.0


def median_of_all(a: Any) -> Any:
    """Return the median of all elements of a matrix."""
    return median(np.ravel(a))


def medians_of_columns(a: Any) -> Any:
    """Return the median of each column of a matrix."""
    n = len(a)
    assert n > 0
    x = columns_in_order(a)
    assert np.all(x[n - 1] == x[n - 1])
    k = n // 2
    return x[k].copy() if n % 2 == 1 else (x[k - 1] + x[k]) / 2.0


def medians_of_rows(a: Any) -> Any:
    """Return the median of each row of a matrix."""
    return medians_of_columns(a.T)


def between(x: Any, q: Any) -> Any:
    """Return what is at a fraction of the way through what is in order."""
    last = len(x) - 1
    place = last * q
    k = int(place)
    low, high = x[k], x[min(k + 1, last)]
    d, t = high - low, place - k
    return high - d * (1.0 - t) if t >= 0.5 else low + d * t


def quantile(a: Any, q: Any) -> Any:
    """Return a quantile of a vector."""
    assert len(a) > 0
    x = in_order(a)
    assert x[-1] == x[-1]
    return between(x, q)


def quantiles(a: Any, fractions: Any) -> Any:
    """Return several quantiles of a vector."""
    assert len(a) > 0
    x = in_order(a)
    assert x[-1] == x[-1]
    return np.array([between(x, q) for q in fractions])


def quantile_of_all(a: Any, q: Any) -> Any:
    """Return a quantile of all elements of a matrix."""
    return quantile(np.ravel(a), q)


def quantiles_of_columns(a: Any, q: Any) -> Any:
    """Return a quantile of each column of a matrix."""
    assert len(a) > 0
    x = columns_in_order(a)
    assert np.all(x[-1] == x[-1])
    return between(x, q)


def quantiles_of_rows(a: Any, q: Any) -> Any:
    """Return a quantile of each row of a matrix."""
    return quantiles_of_columns(a.T, q)
