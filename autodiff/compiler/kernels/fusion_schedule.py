"""The order in which operations on small arrays are done, and which of them share a nest.

Elementwise operations of one shape that follow each other share a nest, so that most of their
results are never stored. What takes their elements one by one joins them: a sum over all or over
the last axis, and a change or a scattering into a region of that shape.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.compiler.kernels.loop_ir import Op, View, strides_of
from autodiff.compiler.passes.simplify import has_nan
from autodiff.functions import COMPARISONS

if TYPE_CHECKING:
    from autodiff.compiler.kernels.memory_planner import Layout

_ENDS = ("sum", "max", "min", "product")
"""What joins a nest and leaves no array of its shape."""
_LARGE, _MOST_AGAIN = 1 << 15, 6
_CHEAP: frozenset[Any] = COMPARISONS | {
    np.add, np.subtract, np.multiply, np.negative, np.square, np.absolute, np.maximum, np.minimum,
    np.where,
}  # fmt: skip


class Item:
    """Operations that are done together.

    Attributes
    ----------
    kind : str
        "nest" for some of one shape, "number", "guard", and "form" for one that has its own nest.
    positions : list of int
        Which.
    shape : tuple of int
        That of a nest.
    again : set of int
        Operations of other nests that this one rather does again than reads their results.
    """

    __slots__ = ("again", "kind", "positions", "shape")

    def __init__(self, kind: str, positions: list[int], shape: tuple = ()) -> None:
        self.kind = kind
        self.positions = positions
        self.shape = shape
        self.again: set[int] = set()


def scheduled(layout: Layout) -> list[Item]:
    """Return what is done, in order."""
    schedule = _Schedule(layout)
    for p in range(len(layout.ops)):
        schedule.place(p)
    return schedule.in_order()


class _Schedule:
    """Puts operations into items, and these in order.

    An operation joins a nest that it reads element by element, or the last one of its shape, unless
    something else that it needs has to wait for that nest.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.items: list[Item] = []
        self.needed: list[int] = []  # for each item the bits of those that it reads or follows
        self.before: list[int] = []  # … and of all that come before it
        self.item_of: dict[int, int] = {}
        self.touching: dict[int, int] = {}  # home → bits of the items that read or change it
        self.open: dict[tuple, int] = {}  # shape → nest that elementwise operations join
        self.guards = 0

    def place(self, p: int) -> None:
        """Put an operation into an item."""
        layout, op = self.layout, self.layout.ops[p]
        inside: dict[int, set[int]] = {}  # what it reads, by item
        for a in op.args:
            at = self.item_of.get(a.base) if a.kind == "v" else None
            if at is not None:
                inside.setdefault(at, set()).add(a.base)
        needed = sum(1 << at for at in inside)
        home = layout.home[p]
        if home != p:
            needed |= self.touching.get(home, 0)
        is_array = op.kind == "map" and op.shape != ()
        if not is_array and op.kind not in _ENDS and op.f is not has_nan:
            needed |= self.guards  # an error is not looked for where another branch is taken
        above = 0
        for at in _bits(needed):
            above |= self.before[at]
        near = {at: read for at, read in inside.items() if not above >> at & 1}
        joined = self._nest_for(p, near)
        if joined is None and is_array:
            latest = self.open.get(op.shape)
            if latest is not None and latest not in inside and not above >> latest & 1:
                joined = latest
        if joined is None:
            joined = self._new(p, op, is_array)
        else:
            self.items[joined].positions.append(p)
        self.item_of[p] = joined
        self._follow(joined, needed, above)
        for a in op.args:
            if a.kind == "v":
                root = layout.home[a.base]
                self.touching[root] = self.touching.get(root, 0) | 1 << joined
        self.touching[home] = self.touching.get(home, 0) | 1 << joined
        if self.items[joined].kind in ("nest", "form"):
            for at in inside.keys() - {joined}:
                if self.open.get(self.items[at].shape) == at:
                    del self.open[self.items[at].shape]

    def _nest_for(self, p: int, near: dict[int, set[int]]) -> int | None:
        """Return the last of some nests that an operation can join, given what it reads of each."""
        op = self.layout.ops[p]
        for at in sorted(near, reverse=True):
            item = self.items[at]
            is_open = op.kind in _ENDS or op.kind == "guard" or self.open.get(item.shape) == at
            if item.kind == "nest" and is_open and _joins(self.layout, p, near[at], item):
                return at
        return None

    def _new(self, p: int, op: Op, is_array: bool) -> int:
        kinds = {"map": "number", "guard": "guard"}
        kind = "nest" if is_array else kinds.get(op.kind, "form")
        self.items.append(Item(kind, [p], op.shape if is_array else ()))
        self.needed.append(0)
        self.before.append(0)
        at = len(self.items) - 1
        if is_array:
            self.open[op.shape] = at
        elif op.kind == "guard" and op.f is not has_nan:
            self.guards = 1 << at  # it waits for those before it
        return at

    def _follow(self, at: int, needed: int, above: int) -> None:
        """Note that an item comes after others."""
        own = ~(1 << at)
        self.needed[at] |= needed & own
        before = self.before[at] | (needed | above) & own
        if before != self.before[at]:
            self.before[at] = before
            for k, others in enumerate(self.before):
                if others >> at & 1:
                    self.before[k] |= before

    def in_order(self) -> list[Item]:
        """Return the items: each when what it needs is done, those that end first before others."""
        after: list[list[int]] = [[] for _ in self.items]
        missing = []
        for at, needed in enumerate(self.needed):
            first = _bits(needed)
            missing.append(len(first))
            for k in first:
                after[k].append(at)
        ready = [(item.positions[-1], at) for at, item in enumerate(self.items) if not missing[at]]
        heapq.heapify(ready)
        done = []
        while ready:
            _, at = heapq.heappop(ready)
            done.append(self.items[at])
            for k in after[at]:
                missing[k] -= 1
                if not missing[k]:
                    heapq.heappush(ready, (self.items[k].positions[-1], k))
        return done


def _bits(n: int) -> list[int]:
    """Return which bits of a number are set."""
    found = []
    while n:
        found.append(n.bit_length() - 1)
        n ^= 1 << found[-1]
    return found


def _joins(layout: Layout, p: int, inside: set[int], item: Item) -> bool:
    """Whether an operation can be done element by element in the nest whose results it reads."""
    op = layout.ops[p]
    if not _reads_in_order(layout, op, inside, item.shape):
        return False
    if op.kind == "map":
        return op.shape == item.shape
    if op.kind in ("sum", "max", "min"):
        return op.shape == () or is_of_rows(op)
    if op.kind == "guard":
        return op.f is has_nan
    if op.kind == "product":
        return op.shape == () and all(a.shape == item.shape for a in op.args)
    if op.kind == "scatter":
        return op.extra[0] == item.shape and not op.args[0].is_bool
    if op.kind == "change":
        return (
            op.extra[1] == item.shape
            and layout.home[p] != p
            and not op.args[1].is_bool
            and not _touches(layout, p, item)
        )
    return False


def is_of_rows(op: Op) -> bool:
    """Whether an operation adds up along the last axis, which the innermost loop goes along."""
    if op.kind != "sum" or op.shape == ():
        return False
    shape = op.args[0].shape
    return op.extra[0] == (len(shape) - 1,) and shape[-1] > 1


def _touches(layout: Layout, p: int, item: Item) -> bool:
    """Whether an operation changes memory in place that a nest reads or changes."""
    home = layout.home[p]
    if home == p:
        return False
    return any(
        layout.home[q] == home
        or any(a.kind == "v" and layout.home[a.base] == home for a in layout.ops[q].args)
        for q in item.positions
    )


def _reads_in_order(layout: Layout, op: Op, positions: set[int], shape: tuple) -> bool:
    """Whether an operation reads others element by element."""
    return all(
        a.is_whole()
        and a.shape == shape == layout.ops[a.base].shape
        and _is_in_order(layout.ops[a.base])
        for a in op.args
        if a.kind == "v" and a.base in positions
    )


def _is_in_order(op: Op) -> bool:
    """Whether what is computed for an element is that element: a region may be turned round."""
    if op.kind not in ("change", "scatter"):
        return True
    return op.offset == 0 and tuple(op.extra[-1]) == tuple(strides_of(op.shape))


def do_again(layout: Layout) -> None:
    """Note for each nest what it makes again of one array: to write and read it takes longer.

    That holds for arrays that do not fit into the cache.
    """
    sources: dict[int, tuple[set[int], int]] = {}  # the arrays given, and how many operations
    for p, op in enumerate(layout.ops):
        if op.kind != "map" or op.f not in _CHEAP or op.size < _LARGE:
            continue
        given, n = set(), 1
        for a in op.args:
            if a.base in sources and _is_element(layout, op.shape, a):
                given |= sources[a.base][0]
                n += sources[a.base][1]
            elif a.kind not in "nc":
                given.add(a.base if a.kind == "x" else -1)
        if -1 not in given and len(given) <= 1 and n <= _MOST_AGAIN:
            sources[p] = given, n
    nests = [item for item in layout.items if item.shape]
    for item in nests if sources else ():
        waiting = list(item.positions)
        while waiting:
            op = layout.ops[waiting.pop()]
            args = op.args[1:] if op.kind == "change" else op.args  # that is in the memory
            found = {a.base for a in args if _is_element(layout, item.shape, a)}
            found = (found & sources.keys()) - {*item.positions, *item.again}
            item.again |= found
            waiting += found


def _is_element(layout: Layout, shape: tuple, a: View) -> bool:
    """Whether an operand is the result of an operation of a shape, element by element."""
    return a.kind == "v" and a.is_whole() and a.shape == shape == layout.ops[a.base].shape


class Memory:
    """Places in one memory, given out and taken back."""

    def __init__(self) -> None:
        self.size = 0
        self._free: list[tuple[int, int]] = []  # first and last + 1 of stretches, in order

    def room(self, n: int) -> int:
        """Return the place of `n` elements: of the smallest stretch that holds them."""
        fitting = [(b - a, a, b) for a, b in self._free if b - a >= n]
        if fitting:
            _, a, b = min(fitting)
            self._free.remove((a, b))
            if b - a > n:
                self.give_back(a + n, b - a - n)
            return a
        if self._free and self._free[-1][1] == self.size:
            a, _ = self._free.pop()
            self.size = a + n
            return a
        self.size += n
        return self.size - n

    def give_back(self, place: int, n: int) -> None:
        """Take back what nobody reads any more."""
        free = sorted([*self._free, (place, place + n)])
        self._free = free[:1]
        for a, b in free[1:]:
            if a == self._free[-1][1]:
                self._free[-1] = (self._free[-1][0], b)
            else:
                self._free.append((a, b))
