"""Moving windows and correlations of traced columns of pandas.

Imported once pandas is, as :mod:`autodiff.numpy_api.pandas_columns`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from autodiff.dispatch import call as calls
from autodiff.dispatch.call import as_array
from autodiff.errors import DifferentiationError
from autodiff.numpy_api.pandas_columns import TracedColumn, array_of, reduced
from autodiff.trace.tracer import bare


def _by_column(of_series: Callable) -> Callable:
    """Return what makes of a method of windows one that knows traced columns.

    Parameters
    ----------
    of_series : callable
        ``of_series(window, series, *args, **kwargs)`` does it for one Series that is traced.
    """

    def of(body: Callable) -> Callable:
        def called(window: Any, *args: Any, **kwargs: Any) -> Any:
            given = window._selected_obj
            if array_of(given) is None:
                return body(window, *args, **kwargs)
            if isinstance(given, pd.DataFrame):
                made = {c: of_series(window, given[c], *args, **kwargs) for c in given}
                return pd.DataFrame(made, index=given.index)
            return of_series(window, given, *args, **kwargs)

        return called

    return of


def window_statistic(name: str) -> Callable:
    """Return what does a statistic of moving windows."""

    def of_series(window: Any, series: Any, *args: Any, **kwargs: Any) -> Any:
        ddof = kwargs.get("ddof", args[0] if args and name in ("var", "std") else 1)
        return _windows(window, series, lambda v: reduced(name, v, ddof))

    return _by_column(of_series)


def _quantile(
    window: Any, series: Any, q: float, interpolation: str = "linear", **options: Any
) -> Any:
    quantile: Any = np.quantile
    return _windows(window, series, lambda v: quantile(v, q, method=interpolation))


def _applied(
    window: Any, series: Any, func: Callable, raw: bool = False, engine: Any = None,
    engine_kwargs: Any = None, args: tuple = (), kwargs: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    f = calls.body_of(func)

    def apply(values: Any, places: np.ndarray) -> Any:
        given = values if raw else pd.Series(TracedColumn(values), index=series.index[places])
        return f(given, *args, **(kwargs or {}))

    return _windows(window, series, apply, with_places=True)


window_quantile = _by_column(_quantile)
window_apply = _by_column(_applied)


def _windows(
    window: Any, series: Any, statistic: Callable[..., Any], with_places: bool = False
) -> Any:
    """Return a statistic of each window of a Series.

    `statistic` is called with the numbers that are not missing; with `with_places` with all, and
    their places.
    """
    values = array_of(series)
    indexer = window._get_window_indexer()
    least = indexer.window_size if window.min_periods is None else window.min_periods
    start, end = indexer.get_window_bounds(
        num_values=len(series), min_periods=least, center=window.center, closed=window.closed,
        step=window.step,
    )  # fmt: skip
    there = ~np.isnan(bare(values))
    made = []
    for first, last in zip(start, end, strict=True):
        every = np.arange(first, last)
        places = every[there[first:last]]
        if len(places) < max(least, 1):
            made.append(np.nan)
        elif with_places:
            made.append(statistic(values[every], every))
        else:
            made.append(statistic(values[places]))
    column = TracedColumn(as_array(made))
    return pd.Series(column, index=series.index[:: window.step or 1], name=series.name)


def _exponential_mean(window: Any, series: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the mean with weights that decay, by the recursion that the weights obey."""
    if window.times is not None:
        raise DifferentiationError(
            "ewm(times=...) of a traced column of pandas is not followed. Give the weights by "
            "alpha=, span= or com=, or compute with the array (s.to_numpy())."
        )
    values = array_of(series)
    there = ~np.isnan(bare(values))
    share = 1.0 / (1.0 + window._com)
    new = 1.0 if window.adjust else share
    mean: Any = np.nan
    weight: Any = 1.0
    count = 0
    made = []
    for i, is_there in enumerate(there):
        if count and (is_there or not window.ignore_na):
            weight = weight * (1.0 - share)
        if is_there and not count:
            mean = values[i]
        elif is_there:
            mean = (weight * mean + new * values[i]) / (weight + new)
            weight = weight + new if window.adjust else 1.0
        count += int(is_there)
        made.append(mean if count >= max(window.min_periods or 0, 1) else np.nan)
    return pd.Series(TracedColumn(as_array(made)), index=series.index, name=series.name)


exponential_mean = _by_column(_exponential_mean)


# -- correlations --------------------------------------------------------------------------------


def frame_covariance(is_scaled: bool) -> Callable:
    """Return what does ``DataFrame.cov``, or ``DataFrame.corr`` if `is_scaled` is true."""

    def of(body: Callable) -> Callable:
        def called(frame: Any, *args: Any, **kwargs: Any) -> Any:
            numeric = frame.select_dtypes("number") if kwargs.get("numeric_only") else frame
            table = array_of(numeric)
            if table is None:
                return body(frame, *args, **kwargs)
            method = kwargs.get("method", args[0] if is_scaled and args else "pearson")
            names = ("method", "min_periods") if is_scaled else ("min_periods", "ddof")
            options = {**dict(zip(names, args, strict=False)), **kwargs}
            if method != "pearson":
                raise DifferentiationError(
                    f"corr(method={method!r}) of traced columns of pandas counts ranks, which are "
                    "constant in pieces, and is not followed. Use method='pearson'."
                )
            least = max(options.get("min_periods") or 1, 1)
            made = _pairwise(table, is_scaled, least, options.get("ddof", 1))
            labels = numeric.columns
            columns = {i: TracedColumn(made[:, i]) for i in range(len(labels))}
            result = pd.DataFrame(columns, index=labels, copy=False)
            result.columns = labels
            return result

        return called

    return of


def series_covariance(is_scaled: bool) -> Callable:
    """Return what does ``Series.cov``, or ``Series.corr`` if `is_scaled` is true."""
    of_frame = frame_covariance(is_scaled)

    def of(body: Callable) -> Callable:
        def called(series: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
            if array_of(series) is None and array_of(other) is None:
                return body(series, other, *args, **kwargs)
            pair = pd.DataFrame({0: series, 1: other}, index=series.index, copy=False)
            return of_frame(body)(pair.dropna(), *args, **kwargs).iloc[0, 1]

        return called

    return of


def autocorrelation(body: Callable) -> Callable:
    """Return what does ``Series.autocorr``."""

    def called(series: Any, lag: int = 1) -> Any:
        if array_of(series) is None:
            return body(series, lag)
        return series_covariance(True)(body)(series, series.shift(lag))

    return called


def _pairwise(table: Any, is_scaled: bool, least: int, ddof: int) -> Any:
    """Return the covariances of columns, each of the rows where both numbers are there."""
    there = ~np.isnan(bare(table))
    made: list[list[Any]] = []
    for i in range(table.shape[1]):
        made.append([made[j][i] for j in range(i)])
        for j in range(i, table.shape[1]):
            rows = there[:, i] & there[:, j]
            made[i].append(_covariance(table[rows, i], table[rows, j], is_scaled, least, ddof))
    return as_array(made)


def _covariance(x: Any, y: Any, is_scaled: bool, least: int, ddof: int) -> Any:
    count = len(x)
    if count < least or (not is_scaled and count <= ddof):
        return np.nan
    x, y = x - np.mean(x), y - np.mean(y)
    both = np.sum(x * y)
    if not is_scaled:
        return both / (count - ddof)
    squares = np.sum(x**2) * np.sum(y**2)
    return both / np.sqrt(squares) if bare(squares) > 0 else np.nan
