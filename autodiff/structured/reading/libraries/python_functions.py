"""Functions of Python's, most as loops over lists: they are read in the place of their calls."""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np


def in_order(xs: Any, keys: Any) -> Any:
    """Return the items of a list in the order of their keys; equal ones stay in theirs."""
    measured = np.array(keys)
    if np.any(np.isnan(measured)):
        raise ValueError  # their order depends on how Python sorts
    return [xs[int(i)] for i in np.argsort(measured, kind="stable")]


def in_reverse_order(xs: Any, keys: Any) -> Any:
    """Return the items of a list, those with the largest keys first."""
    measured = np.array(keys)
    if np.any(np.isnan(measured)):
        raise ValueError
    last = len(measured) - 1
    order = np.argsort(measured[::-1], kind="stable")
    return [xs[last - int(i)] for i in order[::-1]]


def measured_by(xs: Any, key: Any) -> Any:
    """Return the keys of all items."""
    return [key(x) for x in xs]


def put_back(xs: Any, items: Any) -> None:
    """Write the items of a list, as many as there are."""
    for i in range(len(items)):
        xs[i] = items[i]


def running(xs: Any, f: Any) -> Any:
    """Return what a function makes of the first item, the first two, and so on."""
    made: list = []
    if len(xs) > 0:
        total = xs[0]
        made.append(total)
        for i in range(1, len(xs)):
            total = f(total, xs[i])
            made.append(total)
    return made


def running_from(xs: Any, f: Any, first: Any) -> Any:
    """Return what a function makes of something and no item, the first item, and so on."""
    made = [first]
    total = first
    for x in xs:
        total = f(total, x)
        made.append(total)
    return made


def columns_of(rows: Any, strict: Any) -> Any:
    """Return the columns of rows, as long as the shortest row."""
    if len(rows) == 0:
        raise ValueError  # there are none, of no kind
    n = len(rows[0])
    for row in rows:
        if strict and len(row) != n:
            raise ValueError
        n = min(n, len(row))
    return [tuple([row[j] for row in rows]) for j in range(n)]


def place_before(xs: Any, x: Any) -> Any:
    """Return `bisect.bisect_left`."""
    low, high = 0, len(xs)
    while low < high:
        middle = (low + high) // 2
        if xs[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def place_behind(xs: Any, x: Any) -> Any:
    """Return `bisect.bisect_right`."""
    low, high = 0, len(xs)
    while low < high:
        middle = (low + high) // 2
        if x < xs[middle]:
            high = middle
        else:
            low = middle + 1
    return low


def is_among(xs: Any, x: Any) -> Any:
    """Return whether a list has an item that is equal to an integer or text."""
    return any(item == x for item in xs)


def init_of_object(self: Any) -> None:
    """Do what the method ``__init__`` of `object` does."""


FUNCTIONS = frozenset({
    in_order, in_reverse_order, measured_by, put_back, running, running_from, columns_of,
    init_of_object, is_among, place_before, place_behind,
})  # fmt: skip
PLACES = {bisect.bisect_left: place_before, bisect.bisect_right: place_behind}
