"""Loop fusion: which operations share a loop nest, and the order of the nests.

Elementwise operations of one shape share a nest, so that most of their results are never stored.
Operations that consume these element by element join them: a reduction over all axes or a sum over
the last one, and an update of a region of that shape.
"""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.compiler.kernels import row_blocks
from autodiff.compiler.kernels.loop_ir import FOLDS, LoopOp, StridedView, strides_of
from autodiff.compiler.passes.simplify import has_nan
from autodiff.functions import COMPARISONS

if TYPE_CHECKING:
    from autodiff.compiler.kernels.memory_planner import MemoryPlan

_MOST_RECOMPUTED = 6  # operations for one element
_CHEAP: frozenset[Any] = COMPARISONS | {
    np.add, np.subtract, np.multiply, np.negative, np.square, np.absolute, np.maximum, np.minimum,
    np.where,
}  # fmt: skip


class FusionGroup:
    """A fusion group: operations that run together.

    Attributes
    ----------
    kind : str
        "nest" for a loop nest over one shape; "number", "guard", and "form" for a single operation,
        the last with code of its own.
    positions : list of int
        The operations.
    shape : tuple of int
        The shape that a nest iterates over.
    recomputed : set of int
        Operations of other nests that this one recomputes instead of reading their results.
    """

    __slots__ = ("kind", "positions", "recomputed", "shape")

    def __init__(self, kind: str, positions: list[int], shape: tuple = ()) -> None:
        self.kind = kind
        self.positions = positions
        self.shape = shape
        self.recomputed: set[int] = set()


def scheduled(layout: MemoryPlan) -> list[list[FusionGroup]]:
    """Return the fusion groups in bands, in the order in which they run.

    A band is one group, or several nests that run for a few rows at a time: see `row_blocks`.
    """
    schedule = _Schedule(layout)
    for p in range(len(layout.ops)):
        schedule.place(p)
    return schedule.in_order()


class _Schedule:
    """Assignment of operations to items, and the order of these.

    An operation joins a nest whose results it reads element by element, or the last nest of its
    shape, unless another operand depends on that nest.
    """

    def __init__(self, layout: MemoryPlan) -> None:
        self.layout = layout
        self.items: list[FusionGroup] = []
        self.needed: list[int] = []  # item → bit set of its direct predecessors
        self.before: list[int] = []  # item → bit set of all its predecessors
        self.item_of: dict[int, int] = {}  # operation → item
        self.touching: dict[int, int] = {}  # buffer → bit set of the items that read or write it
        self.open: dict[tuple, int] = {}  # shape → nest that elementwise operations can join
        self.guards = 0  # bit set of the last guard

    def place(self, p: int) -> None:
        """Put an operation into an item."""
        layout, op = self.layout, self.layout.ops[p]
        inside: dict[int, set[int]] = {}  # item → operations of it that this one reads
        for a in op.args:
            at = self.item_of.get(a.base) if a.kind == "v" else None
            if at is not None:
                inside.setdefault(at, set()).add(a.base)
        needed = sum(1 << at for at in inside)
        buffer = layout.buffer[p]
        if buffer != p:
            needed |= self.touching.get(buffer, 0)
        is_array = op.kind == "map" and op.shape != ()
        if not is_array and op.kind not in FOLDS:
            needed |= self.guards  # it may exit, so that the guards have to hold
        above = 0  # bit set of the items that it cannot join: a predecessor depends on them
        for at in _bits(needed):
            above |= self.before[at]
        near = {at: read for at, read in inside.items() if not above >> at & 1}
        chosen = self._nest_for(p, near)
        if chosen is None and is_array:
            latest = self.open.get(op.shape)
            if latest is not None and latest not in inside and not above >> latest & 1:
                chosen = latest
        if chosen is None:
            chosen = self._new(p, op, is_array)
        else:
            self.items[chosen].positions.append(p)
        self.item_of[p] = chosen
        self._follow(chosen, needed, above)
        for at in (buffer, *[layout.buffer[a.base] for a in op.args if a.kind == "v"]):
            self.touching[at] = self.touching.get(at, 0) | 1 << chosen
        if self.items[chosen].kind in ("nest", "form"):
            for at in inside.keys() - {chosen}:
                if self.open.get(self.items[at].shape) == at:
                    del self.open[self.items[at].shape]

    def _nest_for(self, p: int, near: dict[int, set[int]]) -> int | None:
        """Return the last nest that an operation can join, given what it reads from each."""
        joins_closed = self.layout.ops[p].kind in FOLDS
        for at in sorted(near, reverse=True):
            item = self.items[at]
            is_open = joins_closed or self.open.get(item.shape) == at
            if item.kind == "nest" and is_open and _joins(self.layout, p, near[at], item):
                return at
        return None

    def _new(self, p: int, op: LoopOp, is_array: bool) -> int:
        kinds = {"map": "number", "guard": "guard"}
        is_nest = is_array or op.kind in FOLDS
        kind = "nest" if is_nest else kinds.get(op.kind, "form")
        shape = op.shape if is_array else op.args[0].shape if is_nest else ()
        self.items.append(FusionGroup(kind, [p], shape))
        self.needed.append(0)
        self.before.append(0)
        at = len(self.items) - 1
        if is_array:
            self.open[op.shape] = at
        elif op.kind == "guard" and op.f is not has_nan:
            self.guards = 1 << at  # it depends on the guards before it
        return at

    def _follow(self, at: int, needed: int, above: int) -> None:
        """Add predecessors of an item."""
        own = ~(1 << at)
        self.needed[at] |= needed & own
        before = self.before[at] | (needed | above) & own
        if before != self.before[at]:
            self.before[at] = before
            for k, others in enumerate(self.before):
                if others >> at & 1:
                    self.before[k] |= before

    def in_order(self) -> list[list[FusionGroup]]:
        """Return the bands in topological order.

        Of the items that are ready, the first is one that continues the band, else the earliest.
        """
        after: list[list[int]] = [[] for _ in self.items]
        missing = []
        for at, needed in enumerate(self.needed):
            first = _bits(needed)
            missing.append(len(first))
            for k in first:
                after[k].append(at)
        ready = [(item.positions[-1], at) for at, item in enumerate(self.items) if not missing[at]]
        heapq.heapify(ready)
        bands: list[list[FusionGroup]] = []
        has_large = row_blocks.is_large(self.items)
        while ready:
            more = [
                (p, at)
                for p, at in (ready if has_large and bands else ())
                if row_blocks.continues(self.layout, bands[-1], self.items[at])
            ]
            if more:
                _, at = min(more)
                ready.remove(min(more))
                heapq.heapify(ready)
                bands[-1].append(self.items[at])
            else:
                _, at = heapq.heappop(ready)
                bands.append([self.items[at]])
            for k in after[at]:
                missing[k] -= 1
                if not missing[k]:
                    heapq.heappush(ready, (self.items[k].positions[-1], k))
        parts = [
            [band] if row_blocks.is_large(band) else [[item] for item in band] for band in bands
        ]
        return [part for band in parts for part in band]


def _bits(n: int) -> list[int]:
    """Return the members of a bit set, largest first."""
    found = []
    while n:
        found.append(n.bit_length() - 1)
        n ^= 1 << found[-1]
    return found


def _joins(layout: MemoryPlan, p: int, inside: set[int], item: FusionGroup) -> bool:
    """Whether an operation can be fused into a nest that computes operands of it."""
    op = layout.ops[p]
    if not _reads_in_order(layout, op, inside, item.shape):
        return False
    if op.kind == "map":
        return op.shape == item.shape
    if op.kind in FOLDS:
        return op.shape == () or is_row_sum(op)
    if op.kind == "change" and op.extra[1] == item.shape and not op.args[1].is_bool:
        buffer = layout.buffer[p]
        return op.args[0].kind == "c" or (buffer != p and not _accesses(layout, buffer, item))
    return False


def is_row_sum(op: LoopOp) -> bool:
    """Whether an operation is a sum along the last axis, that of the innermost loop."""
    if op.kind != "sum" or op.shape == ():
        return False
    shape, (_, strides) = op.args[0].shape, op.extra
    is_kept = [s != 0 for n, s in zip(shape, strides, strict=True) if n > 1]
    return shape[-1] > 1 and not is_kept[-1] and all(is_kept[:-1])


def _accesses(layout: MemoryPlan, buffer: int, item: FusionGroup) -> bool:
    """Whether a nest reads or writes a buffer."""
    return any(
        layout.buffer[q] == buffer
        or any(a.kind == "v" and layout.buffer[a.base] == buffer for a in layout.ops[q].args)
        for q in item.positions
    )


def _reads_in_order(layout: MemoryPlan, op: LoopOp, positions: set[int], shape: tuple) -> bool:
    """Whether an operation reads the results of others element by element."""
    return all(
        a.is_whole()
        and a.shape == shape == layout.ops[a.base].shape
        and _is_in_order(layout.ops[a.base])
        for a in op.args
        if a.kind == "v" and a.base in positions
    )


def _is_in_order(op: LoopOp) -> bool:
    """Whether a nest computes the elements of a result in order: a region may be reversed."""
    if op.kind != "change":
        return op.kind not in FOLDS
    return op.offset == 0 and tuple(op.extra[-1]) == tuple(strides_of(op.shape))


def choose_recomputed(layout: MemoryPlan) -> None:
    """Choose for each nest the operations of others that it recomputes.

    These are a few cheap operations that read no more than the elements of their result, which does
    not fit into the cache: storing and loading it takes longer. A nest that also reads the result
    in another order has to load it.
    """
    sources: dict[int, tuple[dict[int, int], int]] = {}  # operation → what it reads, operations
    for p, op in enumerate(layout.ops):
        if op.kind != "map" or op.f not in _CHEAP or op.size < row_blocks.LARGE:
            continue
        given, n = dict[int, int](), 1
        for a in op.args:
            if a.base in sources and _is_element(layout, op.shape, a):
                given |= sources[a.base][0]
                n += sources[a.base][1]
            elif a.kind not in "nc":
                size = math.prod([m for m, s in zip(a.shape, a.strides, strict=True) if s])
                given[a.base if a.kind == "x" else -1] = size
        if -1 not in given and sum(given.values()) <= op.size and n <= _MOST_RECOMPUTED:
            sources[p] = given, n
    nests = [item for item in layout.items if item.shape]
    for item in nests if sources else ():
        reads = [a for p in item.positions for a in layout.ops[p].args if a.kind == "v"]
        loaded = {a.base for a in reads if not _is_element(layout, item.shape, a)}
        waiting = list(item.positions)
        while waiting:
            op = layout.ops[waiting.pop()]
            args = op.args[1:] if op.kind == "change" else op.args  # it updates the first in place
            found = {a.base for a in args if _is_element(layout, item.shape, a)}
            found = (found & sources.keys()) - {*item.positions, *item.recomputed, *loaded}
            item.recomputed |= found
            waiting += found


def _is_element(layout: MemoryPlan, shape: tuple, a: StridedView) -> bool:
    """Whether an operand is all of the result of an operation of a shape, in order."""
    return a.kind == "v" and a.is_whole() and a.shape == shape == layout.ops[a.base].shape
