"""Decompositions of Python's own functions, most of them into loops over lists."""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np


def sort_by_keys(xs: Any, keys: Any) -> Any:
    """Sort a list by keys, stably; exit the program if a key is NaN."""
    measured = np.array(keys)
    if np.any(np.isnan(measured)):
        raise ValueError  # their order depends on how Python sorts
    return [xs[int(i)] for i in np.argsort(measured, kind="stable")]


def reverse_sort_by_keys(xs: Any, keys: Any) -> Any:
    """Sort a list by keys in descending order, stably, as Python does."""
    measured = np.array(keys)
    if np.any(np.isnan(measured)):
        raise ValueError
    last = len(measured) - 1
    order = np.argsort(measured[::-1], kind="stable")
    return [xs[last - int(i)] for i in order[::-1]]


def sort_keys(xs: Any, key: Any) -> Any:
    """Compute the sort key of each item."""
    return [key(x) for x in xs]


def assign_items(xs: Any, items: Any) -> None:
    """Overwrite the items of a list with as many others."""
    for i in range(len(items)):
        xs[i] = items[i]


def accumulate_items(xs: Any, f: Any) -> Any:
    """Compute `itertools.accumulate` without an initial value."""
    made: list = []
    if len(xs) > 0:
        total = xs[0]
        made.append(total)
        for i in range(1, len(xs)):
            total = f(total, xs[i])
            made.append(total)
    return made


def accumulate_from(xs: Any, f: Any, first: Any) -> Any:
    """Compute `itertools.accumulate` with an initial value."""
    made = [first]
    total = first
    for x in xs:
        total = f(total, x)
        made.append(total)
    return made


def transposed(rows: Any, strict: Any) -> Any:
    """Compute ``list(zip(*rows))``."""
    if len(rows) == 0:
        raise ValueError  # the number and kinds of the columns are unknown
    n = len(rows[0])
    for row in rows:
        if strict and len(row) != n:
            raise ValueError
        n = min(n, len(row))
    return [tuple([row[j] for row in rows]) for j in range(n)]


def bisect_left(xs: Any, x: Any) -> Any:
    """Compute `bisect.bisect_left`."""
    low, high = 0, len(xs)
    while low < high:
        middle = (low + high) // 2
        if xs[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def bisect_right(xs: Any, x: Any) -> Any:
    """Compute `bisect.bisect_right`."""
    low, high = 0, len(xs)
    while low < high:
        middle = (low + high) // 2
        if x < xs[middle]:
            high = middle
        else:
            low = middle + 1
    return low


def list_contains(xs: Any, x: Any) -> Any:
    """Return whether an item of a list equals an integer or string."""
    return any(item == x for item in xs)


def index_in_list(xs: Any, x: Any) -> Any:
    """Compute ``xs.index(x)`` for numbers."""
    for i in range(len(xs)):
        if xs[i] == x:
            return i
    raise ValueError


def object_init(self: Any) -> None:
    """Do what ``object.__init__`` does: nothing."""


FUNCTIONS = frozenset({
    sort_by_keys, reverse_sort_by_keys, sort_keys, assign_items, accumulate_items, accumulate_from,
    transposed, object_init, list_contains, index_in_list, bisect_left, bisect_right,
})  # fmt: skip
"""All decompositions of this module."""

BISECTIONS = {bisect.bisect_left: bisect_left, bisect.bisect_right: bisect_right}
"""Decompositions of the functions of `bisect`."""
