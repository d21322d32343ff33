"""Decompositions of Python's own functions, most of them into loops over lists."""

from __future__ import annotations

import bisect
import heapq
from typing import Any

import numpy as np


def sort_by_keys(xs: Any, keys: Any, is_reversed: Any) -> Any:
    """Sort a list by keys, stably, as Python does; exit the program if a key is NaN."""
    measured = np.array(keys)
    if np.any(np.isnan(measured)):
        raise ValueError  # their order depends on how Python sorts
    if is_reversed:
        last = len(measured) - 1
        order = np.argsort(measured[::-1], kind="stable")
        return [xs[last - int(i)] for i in order[::-1]]
    return [xs[int(i)] for i in np.argsort(measured, kind="stable")]


def sort_keys(xs: Any, key: Any) -> Any:
    """Compute the sort key of each item."""
    return [key(x) for x in xs]


def items_at(xs: Any, order: Any) -> Any:
    """Return the items at these positions."""
    return [xs[i] for i in order]


def assign_items(xs: Any, items: Any) -> None:
    """Overwrite the items of a list with as many others."""
    for i in range(len(items)):
        xs[i] = items[i]


def reverse_items(xs: Any) -> None:
    """Reverse a list in place."""
    n = len(xs)
    for i in range(n // 2):
        xs[i], xs[n - 1 - i] = xs[n - 1 - i], xs[i]


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


def bounds_of_slice(start: Any, stop: Any, step: Any, low: Any, high: Any, by: Any) -> Any:
    """Return the bounds and the step of ``range(start, stop, step)[low:high:by]``."""
    n = len(range(start, stop, step))
    if by == 0:
        raise ValueError
    if by > 0:
        first = 0 if low is None else min(max(low + n if low < 0 else low, 0), n)
        last = n if high is None else min(max(high + n if high < 0 else high, 0), n)
    else:
        first = n - 1 if low is None else min(max(low + n if low < 0 else low, -1), n - 1)
        last = -1 if high is None else min(max(high + n if high < 0 else high, -1), n - 1)
    return start + first * step, start + last * step, step * by


def list_contains(xs: Any, x: Any) -> Any:
    """Return whether an item of a list equals an integer or string."""
    return any(item == x for item in xs)


def index_in_list(xs: Any, x: Any) -> Any:
    """Compute ``xs.index(x)`` for numbers."""
    for i in range(len(xs)):
        if xs[i] == x:
            return i
    raise ValueError


def heap_push(heap: Any, item: Any) -> None:
    """Do what `heapq.heappush` does."""
    heap.append(item)
    _move_up(heap, 0, len(heap) - 1)


def heap_pop(heap: Any) -> Any:
    """Compute `heapq.heappop`."""
    last = heap.pop()
    if len(heap) > 0:
        first = heap[0]
        heap[0] = last
        _move_down(heap, 0)
        return first
    return last


def heap_replace(heap: Any, item: Any) -> Any:
    """Compute `heapq.heapreplace`."""
    first = heap[0]
    heap[0] = item
    _move_down(heap, 0)
    return first


def heap_push_pop(heap: Any, item: Any) -> Any:
    """Compute `heapq.heappushpop`."""
    if len(heap) > 0 and heap[0] < item:
        return heap_replace(heap, item)
    return item


def heapify(heap: Any) -> None:
    """Do what `heapq.heapify` does."""
    for k in range(len(heap) // 2):
        _move_down(heap, len(heap) // 2 - 1 - k)


def _move_up(heap: Any, start: Any, place: Any) -> None:
    """Move the item at a place of a heap towards its start, until its parent is smaller."""
    item = heap[place]
    while place > start:
        above = (place - 1) >> 1
        if not item < heap[above]:
            break
        heap[place] = heap[above]
        place = above
    heap[place] = item


def _move_down(heap: Any, place: Any) -> None:
    """Move the smaller child up, down to a leaf, and then the item from there to its place."""
    start = place
    item = heap[place]
    below = 2 * place + 1
    while below < len(heap):
        right = below + 1
        if right < len(heap) and not heap[below] < heap[right]:
            below = right
        heap[place] = heap[below]
        place = below
        below = 2 * place + 1
    heap[place] = item
    _move_up(heap, start, place)


def object_init(self: Any) -> None:
    """Do what ``object.__init__`` does: nothing."""


BISECTIONS = {bisect.bisect_left: bisect_left, bisect.bisect_right: bisect_right}
"""Decompositions of the functions of `bisect`."""

HEAPS = {
    heapq.heappush: heap_push, heapq.heappop: heap_pop, heapq.heapreplace: heap_replace,
    heapq.heappushpop: heap_push_pop, heapq.heapify: heapify,
}  # fmt: skip
"""Decompositions of the functions of `heapq`: the same comparisons, so the same order of ties."""
