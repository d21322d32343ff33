"""Calls of NumPy in whose place functions of `order_functions` are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.form.ir import Items
from autodiff.structured.reading.libraries import order_functions as made
from autodiff.structured.reading.libraries.given_arguments import (
    Found,
    is_first,
    is_floats,
    known_option,
    known_parts,
)


def _named(names: tuple[str, ...], args: list, given: dict[str, Any]) -> dict[str, Any] | None:
    """Return all arguments by name; None if there are others."""
    named = dict(zip(names, args, strict=False)) | given
    is_one = named.keys() <= set(names) and len(named) == len(args) + len(given)
    return named if is_one and is_floats(named.get("a")) else None


def _by_axis(a: Any, axis: Any, *functions: Callable | None) -> Callable | None:
    """Return the function for a vector, or for all, the columns or the rows of a matrix."""
    of_vectors, of_all, of_columns, of_rows = functions
    if a.kind.ndim == 1:
        return of_vectors if axis is None or is_first(a, axis) else None
    if a.kind.ndim != 2 or (axis is not None and is_first(a, axis) is None):
        return None
    return of_all if axis is None else of_columns if is_first(a, axis) else of_rows


def _sorted(*functions: Callable | None) -> Callable:
    def chosen(args: list, given: dict[str, Any]) -> Found:
        named = _named(("a", "axis"), args, given)
        if named is None:
            return None
        function = _by_axis(named["a"], known_option(named, "axis", -1), *functions)
        return None if function is None else (function, [named["a"]])

    return chosen


def _middle(args: list, given: dict[str, Any]) -> Found:
    named = _named(("a", "axis"), args, given)
    if named is None:
        return None
    function = _by_axis(
        named["a"], known_option(named, "axis"), made.median, made.median_of_all,
        made.medians_of_columns, made.medians_of_rows,
    )  # fmt: skip
    return None if function is None else (function, [named["a"]])


def _fractions(unit: int) -> Callable:
    """Return what chooses for quantiles; `unit` is what the largest is called."""

    def fraction(q: Any) -> float | None:
        is_one = type(q) is float or (unit > 1 and type(q) is int)
        return float(np.true_divide(q, unit)) if is_one and 0 <= q <= unit else None

    def chosen(args: list, given: dict[str, Any]) -> Found:
        named = _named(("a", "q", "axis"), args, given)
        if named is None or "q" not in named:
            return None
        a, axis, q = named["a"], known_option(named, "axis"), known_parts(named["q"])
        if isinstance(q, list):
            parts = list(map(fraction, q))
            is_vector = a.kind.ndim == 1 and (axis is None or is_first(a, axis))
            is_one = is_vector and parts and None not in parts
            return (made.quantiles, [a, Items(parts)]) if is_one else None
        function = _by_axis(a, axis, made.quantile, made.quantile_of_all,
                            made.quantiles_of_columns, made.quantiles_of_rows)  # fmt: skip
        part = fraction(q)
        return None if function is None or part is None else (function, [a, part])

    return chosen


OTHERS: dict[Any, Callable] = {
    np.sort: _sorted(
        made.in_order, made.all_in_order, made.columns_in_order, made.rows_in_order
    ),
    np.ndarray.sort: _sorted(
        made.put_in_order, None, made.put_columns_in_order, made.put_rows_in_order
    ),
    np.median: _middle, np.quantile: _fractions(1), np.percentile: _fractions(100),
}  # fmt: skip
"""What chooses the function that is read in the place of each."""
