"""Nests over the rows of large arrays, which run for a few rows at a time.

What one nest writes does not fit into the cache, so the next one would wait for memory. If both go
over the same first axes, and what the second one reads in a row was written in that row, the second
one runs while a block of rows is still in the cache. What only nests of such a band read needs
memory for one block. A softmax of rows reads and writes the memory of its arrays once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from autodiff.compiler.kernels.loop_ir import FOLDS, LoopOp, StridedView, strides_of

if TYPE_CHECKING:
    from autodiff.compiler.kernels.fusion_schedule import FusionGroup
    from autodiff.compiler.kernels.memory_planner import MemoryPlan

LARGE = 1 << 15
"""The fewest elements of an array that is computed in blocks of rows."""
BLOCK = 1 << 12
"""About so many elements of each array are in a block."""
_LONGEST = 4
"""A row has at most so many times as many."""


def is_large(items: Iterable[FusionGroup]) -> bool:
    """Whether one of some nests goes over a large array."""
    return any(math.prod(item.shape) >= LARGE for item in items if item.shape)


def axes_of_rows(band: list[FusionGroup]) -> int:
    """Return how many first axes the rows of a band have."""
    shape = band[0].shape
    n = next(k for k in range(1, len(shape) + 1) if math.prod(shape[k:]) <= BLOCK)
    return n - (1 < n == len(shape) and shape[-1] <= _LONGEST * BLOCK)


def rows_in_block(band: list[FusionGroup]) -> int:
    """Return how many rows, along the last of their axes, are in a block."""
    n = axes_of_rows(band)
    longest = max(math.prod(item.shape[n:]) for item in band)
    return min(band[0].shape[n - 1], max(1, BLOCK // longest))


def continues(layout: MemoryPlan, band: list[FusionGroup], item: FusionGroup) -> bool:
    """Whether a nest can run in each block of rows, after the nests of a band."""
    if not band[0].shape:
        return False
    n = axes_of_rows(band)
    rows = band[0].shape[:n]
    nests = (*band, item) if len(band) == 1 else (item,)
    if item.shape[:n] != rows or not all(_has_rows(layout, nest, n) for nest in nests):
        return False
    made = {p for nest in band for p in nest.positions}
    args = [a for p in item.positions for a in layout.ops[p].args]
    return all(
        _is_in_row(a, layout.ops[a.base], rows) for a in args if a.kind == "v" and a.base in made
    )


def _has_rows(layout: MemoryPlan, item: FusionGroup, n: int) -> bool:
    """Whether a nest can run for a few rows at a time."""
    if item.kind != "nest" or math.prod(item.shape[n:]) > _LONGEST * BLOCK:
        return False
    ops = [layout.ops[p] for p in item.positions]
    return all(op.kind == "map" or op.kind in FOLDS for op in ops)


def _is_in_row(view: StridedView, op: LoopOp, rows: tuple) -> bool:
    """Whether each row of a view reads what an operation writes in that row."""
    n = len(rows)
    row = op.size // math.prod(rows)
    own = strides_of((*rows, row))[:n]
    if not op.shape or row * math.prod(rows) != op.size or not _are_steps(rows, view.strides, own):
        return False
    if op.kind in FOLDS:
        shape, written = op.args[0].shape, op.extra[-1]
        inside = sum((m - 1) * s for m, s in zip(shape[n:], written[n:], strict=True))
        if not _are_steps(rows, written, own) or inside >= row:
            return False
    steps = [(m - 1) * s for m, s in zip(view.shape[n:], view.strides[n:], strict=True)]
    first = view.offset + sum(min(0, s) for s in steps)
    return first >= 0 and view.offset + sum(max(0, s) for s in steps) < row


def _are_steps(rows: tuple, strides: tuple, expected: tuple) -> bool:
    """Whether the first strides of a view are those of rows that follow each other in memory."""
    steps = zip(rows, strides, expected, strict=False)
    return all(m == 1 or s == t for m, s, t in steps)


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
                    rows = math.prod(item.shape[: axes_of_rows(band)])
                    found[p] = op.size // rows * rows_in_block(band)
    return found
