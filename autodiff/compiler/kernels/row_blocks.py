"""Nests over the rows of large arrays, which run for a few rows at a time.

What one nest writes does not fit into the cache, so the next one would wait for memory. If both go
over the same first axis, and what the second one reads in a row was written in that row, the second
one runs while a block of rows is still in the cache. What only nests of such a band read needs
memory for one block. A softmax of rows reads and writes the memory of its arrays once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from autodiff.compiler.kernels.loop_ir import FOLDS, LoopOp, StridedView

if TYPE_CHECKING:
    from autodiff.compiler.kernels.fusion_schedule import FusionGroup
    from autodiff.compiler.kernels.memory_planner import MemoryPlan

LARGE = 1 << 15
"""The fewest elements of an array that is computed in blocks of rows."""
BLOCK = 1 << 12
"""About so many elements of each array are in a block."""


def is_large(items: Iterable[FusionGroup]) -> bool:
    """Whether one of some nests goes over a large array."""
    return any(math.prod(item.shape) >= LARGE for item in items if item.shape)


def rows_in_block(band: list[FusionGroup]) -> int:
    """Return how many rows are in a block."""
    longest = max(math.prod(item.shape[1:]) for item in band)
    return min(band[0].shape[0], max(1, BLOCK // longest))


def continues(layout: MemoryPlan, band: list[FusionGroup], item: FusionGroup) -> bool:
    """Whether a nest can run in each block of rows, after the nests of a band."""
    n = band[0].shape[:1]
    if not n or item.shape[:1] != n:
        return False
    nests = (*band, item) if len(band) == 1 else (item,)
    if not all(_has_rows(layout, nest) for nest in nests):
        return False
    made = {p for nest in band for p in nest.positions}
    args = [a for p in item.positions for a in layout.ops[p].args]
    return all(
        _is_in_row(a, layout.ops[a.base], n[0]) for a in args if a.kind == "v" and a.base in made
    )


def _has_rows(layout: MemoryPlan, item: FusionGroup) -> bool:
    """Whether a nest can run for a few rows at a time."""
    if item.kind != "nest" or math.prod(item.shape[1:]) > BLOCK:
        return False
    ops = [layout.ops[p] for p in item.positions]
    return all(op.kind == "map" or op.kind in FOLDS for op in ops) and not any(
        a.bounds for op in ops for a in op.args
    )


def _is_in_row(view: StridedView, op: LoopOp, n: int) -> bool:
    """Whether each of `n` rows of a view reads what an operation writes in that row."""
    row = op.size // n
    if not op.shape or row * n != op.size or view.strides[0] != row:
        return False
    if op.kind in FOLDS:
        shape, own = op.args[0].shape, op.extra[-1]
        if own[0] != row or sum((m - 1) * s for m, s in zip(shape, own, strict=True)) >= op.size:
            return False
    steps = [(m - 1) * s for m, s in zip(view.shape[1:], view.strides[1:], strict=True)]
    first = view.offset + sum(min(0, s) for s in steps)
    return first >= 0 and view.offset + sum(max(0, s) for s in steps) < row


def read_in_block(layout: MemoryPlan) -> dict[int, int]:
    """Return the results that only nests of their own band read → their elements in one block."""
    readers: dict[int, set[int]] = {}
    for k, band in enumerate(layout.bands):
        for item in band:
            for p in item.positions:
                for a in layout.ops[p].args:
                    if a.kind == "v":
                        readers.setdefault(a.base, set()).add(k)
    shared = {layout.buffer[p] for p in range(len(layout.ops)) if layout.buffer[p] != p}
    returned = {view.base for view in layout.results if view.kind == "v"}
    found = {}
    for k, band in enumerate(layout.bands):
        for item in band if len(band) > 1 else ():
            for p in item.positions:
                op = layout.ops[p]
                is_inside = p not in shared | returned and readers.get(p, set()) <= {k}
                if op.kind == "map" and is_inside:
                    found[p] = op.size // item.shape[0] * rows_in_block(band)
    return found
