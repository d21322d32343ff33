"""``heapq``, ``bisect`` and ``list.sort`` compare objects by what their class defines in Python."""

from __future__ import annotations

import bisect
import functools
import heapq
from collections.abc import Callable
from typing import Any

from autodiff.intercept.syntax import syntax_ops


class Compared:
    """An object whose ``__lt__`` and ``__gt__`` are traced."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Compared) -> bool:
        return bool(syntax_ops.truth(syntax_ops.COMPARISON["lt"](self.value, other.value)))

    def __gt__(self, other: Compared) -> bool:
        return bool(syntax_ops.truth(syntax_ops.COMPARISON["gt"](self.value, other.value)))


def _value(x: Any) -> Any:
    return x.value if type(x) is Compared else x


def _on_heaps(as_before: Callable) -> Callable:
    """Return a function of a list in the order of a heap, and maybe of an item."""

    def on_heap(heap: list, *item: Any) -> Any:
        # The elements of a heap are of one kind, or Python would not compare them.
        if all(syntax_ops.is_plain(type(v)) for v in (*heap[:1], *item)):
            return as_before(heap, *item)
        seen = [Compared(v) for v in heap]
        try:
            return _value(as_before(seen, *map(Compared, item)))
        finally:
            heap[:] = map(_value, seen)

    return functools.wraps(as_before)(on_heap)


def _searching(as_before: Callable) -> Callable:
    """Return a function that finds the place for a value in a list that is in order."""
    name = as_before.__name__
    is_inserting = name.startswith("insort")
    find = bisect.bisect_left if name.endswith("left") else bisect.bisect_right

    def search(a: Any, x: Any, *ends: Any, key: Any = None, **options: Any) -> Any:
        if key is None and syntax_ops.is_plain(type(x)):
            return as_before(a, x, *ends, **options)
        of: Callable = _same if key is None else syntax_ops.intercept(key)
        wanted = of(x) if is_inserting else x
        place = find(a, Compared(wanted), *ends, key=lambda v: Compared(of(v)), **options)
        return a.insert(place, x) if is_inserting else place

    return functools.wraps(as_before)(search)


def _same(x: Any) -> Any:
    return x


WRAPPERS: dict[Any, Callable[[Callable], Callable]] = {
    **dict.fromkeys(
        (heapq.heapify, heapq.heappush, heapq.heappop, heapq.heapreplace, heapq.heappushpop),
        _on_heaps,
    ),
    **dict.fromkeys(
        (bisect.bisect_left, bisect.bisect_right, bisect.insort_left, bisect.insort_right),
        _searching,
    ),
}
"""How each of these functions is wrapped."""
