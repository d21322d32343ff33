"""Generators that take items as the iterators of `itertools` do, and no item more."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any


def islice(xs: Any, *bounds: Any) -> Iterator[Any]:
    """Yield what `itertools.islice` does."""
    start, stop, step = 0, None, 1
    if len(bounds) == 1:
        (stop,) = bounds
    elif len(bounds) == 2:
        start, stop = bounds
    else:
        start, stop, step = bounds
    start = 0 if start is None else start
    step = 1 if step is None else step
    if start < 0 or step < 1 or (stop is not None and stop < 0):
        raise ValueError
    last = -1 if stop is None else max(start, stop)
    place = 0
    if last == 0:
        return
    for x in xs:
        if _takes(place, start, stop, step):
            yield x
        place = place + 1
        if place == last:
            break


def _takes(place: Any, start: Any, stop: Any, step: Any) -> Any:
    """Whether `itertools.islice` yields the item at a place before the end."""
    is_behind = start == 0 or place >= start
    return (
        is_behind
        and (stop is None or start <= stop or place < stop)
        and (step == 1 or (place - start) % step == 0)
    )


def takewhile(test: Any, xs: Any) -> Iterator[Any]:
    """Yield what `itertools.takewhile` does."""
    for x in xs:
        if not test(x):
            break
        yield x


def dropwhile(test: Any, xs: Any) -> Iterator[Any]:
    """Yield what `itertools.dropwhile` does."""
    drops = True
    for x in xs:
        if drops:
            drops = test(x)
        if not drops:
            yield x


def filterfalse(test: Any, xs: Any) -> Iterator[Any]:
    """Yield what `itertools.filterfalse` does."""
    for x in xs:
        if not test(x):
            yield x


def compress(xs: Any, selectors: Any) -> Iterator[Any]:
    """Yield what `itertools.compress` does."""
    for x, is_chosen in zip(xs, selectors):  # noqa: B905 # the shorter one ends it
        if is_chosen:
            yield x


def starmap(f: Any, rows: Any) -> Iterator[Any]:
    """Yield what `itertools.starmap` does."""
    for row in rows:
        yield f(*row)


def chained(rows: Any) -> Iterator[Any]:
    """Yield what ``itertools.chain.from_iterable`` does."""
    for row in rows:
        yield from row


def cycle(xs: Any) -> Iterator[Any]:
    """Yield what `itertools.cycle` does; nobody must change `xs` meanwhile."""
    place, n = 0, len(xs)
    while n > 0:
        yield xs[place % n]
        place = place + 1


def permutations_of_two(xs: Any, n: Any) -> Iterator[Any]:
    """Yield what `itertools.permutations` does; nobody must change `xs` meanwhile."""
    if n != 2:
        raise ValueError
    for i in range(len(xs)):
        for j in range(len(xs)):
            if i != j:
                yield xs[i], xs[j]


def groupby(xs: Any, key: Any = None) -> Iterator[Any]:
    """Yield what `itertools.groupby` does; nobody must change `xs` and the key meanwhile."""
    start, n = 0, len(xs)
    while start < n:
        first = xs[start] if key is None else key(xs[start])
        end = start + 1
        while end < n and (xs[end] if key is None else key(xs[end])) == first:
            end = end + 1
        yield first, items_between(xs, start, end)
        start = end


def items_between(xs: Any, start: Any, end: Any) -> Iterator[Any]:
    """Return an iterator over the items between two positions."""
    return itertools.islice(xs, start, end)


GENERATORS: dict[Any, Callable] = {
    itertools.islice: islice, itertools.takewhile: takewhile, itertools.dropwhile: dropwhile,
    itertools.filterfalse: filterfalse, itertools.compress: compress, itertools.starmap: starmap,
    itertools.chain.from_iterable: chained, itertools.cycle: cycle, itertools.groupby: groupby,
    itertools.permutations: permutations_of_two,
}  # fmt: skip
"""Iterators of `itertools` → the generators that stand for them."""

READ_AHEAD = frozenset({cycle, permutations_of_two, groupby})
"""Generators that take items earlier or later than the iterators that they stand for."""
