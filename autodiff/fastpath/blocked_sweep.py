"""Runs of elementwise operations on large arrays, swept block by block.

Where a large array has gone through one elementwise function after the other, each of their
cotangents is read once and thrown away. So they are propagated from the end of the run to its start
for one block of elements after the other: they stay in the processor's cache, and only what was
kept, and what leaves the run, is in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from autodiff.fastpath.blocked_products import LARGE, NUMBERS, InBlocks, flat
from autodiff.fastpath.elementwise_nodes import Elementwise, strong_product_of
from autodiff.trace.tape import Cotangents
from chainrules_core import AbstractZero
from chainrules_core.define.partial import Partial
from chainrules_core.define.scalar import has_nan, plain_product

BLOCK = 1 << 15
"""Elements of a block; of several arrays they have to be in the cache at once."""

_ndarray = np.ndarray


def sweep_run(place: int, bar: Any, bars: Cotangents, leaves: int) -> bool:
    """Sweep the run that ends at a place, and drop its nodes; False where there is none."""
    node = bars.nodes[place]
    if not isinstance(node, Elementwise):
        return False
    if node.space.size < LARGE or node.space.dtype.kind != "f":
        return False
    run = _Run(node.space, bars)
    run.find(place, bar, leaves)
    if len(run.members) < 2:
        return False
    run.sweep()
    return True


class _Step(InBlocks):
    """How a member of a run propagates its cotangent to one of its parents."""

    __slots__ = ("dtype", "is_number", "node", "parent", "times")

    def __init__(self, node: Any, partial: Partial, parent: int, times: int) -> None:
        super().__init__(partial, node.values)
        self.node = node
        self.dtype = node.space.dtype
        self.parent = parent
        self.times = times  # 2 for a product of a value with itself
        self.is_number = False

    def is_possible(self, shape: tuple[int, ...], dtype: np.dtype) -> bool:
        """Whether all that is read lies in one row, and the product has the right precision."""
        if self.partial.function is None:
            return type(self.partial.constant) in (int, float)
        if not self.find_rows(shape):
            return False
        d = self.at(slice(0, 2))
        if type(d) is _ndarray and d.ndim and d.shape != (2,):
            return False
        if type(d) is not _ndarray and type(d) not in NUMBERS:
            return False
        p = plain_product(d, np.ones(2, dtype))
        return type(p) is _ndarray and p.dtype is dtype and p.shape == (2,)

    def product(self, part: slice, bar: Any, strong: bool) -> Any:
        """Return what is propagated of a block."""
        d = self.at(part)
        if strong:
            p = strong_product_of(self.partial, self.node)(d, bar, False)
        elif type(bar) is not _ndarray and bar == 1 and getattr(d, "dtype", None) is self.dtype:
            p = d
        else:
            fresh = type(d) is _ndarray and d.base is None and type(bar) is _ndarray
            p = plain_product(d, bar, fresh and d.dtype is bar.dtype)
        return p + p if self.times == 2 else p


class _Run:
    """Elementwise operations on arrays of one shape, from the last to the first.

    Attributes
    ----------
    members : list of (int, list of _Step)
        Their places, with how they propagate their cotangents.
    given : dict
        Place → the cotangent that came from outside, in a row; a number if all elements are one.
    """

    def __init__(self, space: Any, bars: Cotangents) -> None:
        self.space = space
        self.bars = bars
        self.members: list[tuple[int, list[_Step]]] = []
        self.given: dict[int, Any] = {}

    def find(self, place: int, bar: Any, leaves: int) -> None:
        """Find the members, from the end on; what is not one ends the run."""
        bars = self.bars
        reached = {place}
        for k in range(place, leaves - 1, -1):
            given = bar if k == place else bars.values[k]
            if k not in reached and given is None:
                continue
            steps = self._steps(bars.nodes[k])
            if steps is None or (given is not None and not self._take(k, given)):
                return
            self.members.append((k, steps))
            reached.update([step.parent for step in steps])

    def _take(self, k: int, given: Any) -> bool:
        """Note a cotangent from outside; False if it does not lie in one row."""
        space = self.space
        if (
            type(given) is not _ndarray
            or given.dtype is not space.dtype
            or given.shape != space.shape
        ):
            return False
        row = flat(given) if any(given.strides) else given[(0,) * given.ndim]
        if row is None:
            return False
        self.given[k] = row
        return True

    def _steps(self, node: Any) -> list[_Step] | None:
        """Return how a node propagates its cotangent; None where it is no member."""
        space = self.space
        if not isinstance(node, Elementwise):
            return None
        pairs = [(p, j, 1) for p, j in zip(node.partials, node.parents, strict=True)]
        if len(pairs) == 2:
            if node.rule.together is not None:
                return None
            if node.is_square():
                pairs = [(*pairs[0][:2], 2)]
        if node.space is not space and (
            node.space.shape != space.shape or node.space.dtype is not space.dtype
        ):
            return None
        steps = []
        for partial, parent, times in pairs:
            if isinstance(partial.constant, AbstractZero):
                continue
            step = _Step(node, partial, parent, times)
            target = self.bars.nodes[parent]
            if self.bars.is_number(parent):
                step.is_number = True
                if type(target) is not tuple and target.space.dtype.kind != "f":
                    return None
            elif target.space.shape != space.shape or target.space.dtype is not space.dtype:
                return None
            if not step.is_possible(space.shape, space.dtype):
                return None
            steps.append(step)
        return steps

    def sweep(self) -> None:
        """Propagate the cotangents, and drop the nodes."""
        bars, space = self.bars, self.space
        inside = {k for k, _ in self.members}
        outside = {s.parent for _, steps in self.members for s in steps} - inside
        arrays = {j: _Target(j, bars, space) for j in outside if not bars.is_number(j)}
        totals: dict[int, Any] = dict.fromkeys(outside - arrays.keys(), 0.0)
        for k in inside:
            bars.values[k] = None
        for part in self._parts():
            found, sums = self._block(part, False)
            if any(map(has_nan, found.values())) or any(map(has_nan, sums.values())):
                found, sums = self._block(part, True)
            for j, p in found.items():
                arrays[j].write(part, p)
            for j, total in sums.items():
                totals[j] += total
        for j, target in arrays.items():
            if target.is_new:
                bars.put(j, target.whole, True)
        for j, total in totals.items():
            bars.put(j, total, True)
        for k in inside:
            bars.nodes[k] = None

    def _parts(self) -> Iterator[slice]:
        size = self.space.size
        for start in range(0, size, BLOCK):
            yield slice(start, min(start + BLOCK, size))

    def _block(self, part: slice, strong: bool) -> tuple[dict[int, Any], dict[int, Any]]:
        """Return what leaves the run, of a block: of arrays, and the sums for numbers."""
        known: dict[int, Any] = {
            k: row[part] if type(row) is _ndarray else row for k, row in self.given.items()
        }
        own: set[int] = set()
        sums: dict[int, Any] = {}
        for k, steps in self.members:
            bar = known.pop(k)
            for step in steps:
                j = step.parent
                if step.is_number:
                    total = _total(step, part, bar, strong)
                    sums[j] = sums[j] + total if j in sums else total
                    continue
                p = step.product(part, bar, strong)
                if j not in known:
                    known[j] = p
                    if type(p) is _ndarray and p.base is None and p is not bar:
                        own.add(j)
                elif j in own:
                    known[j] += p
                else:
                    known[j] = known[j] + p
                    own.add(j)
        return known, sums


def _total(step: _Step, part: slice, bar: Any, strong: bool) -> Any:
    """Return the sum of what is propagated of a block."""
    if not strong and type(bar) is _ndarray:
        d = step.at(part)
        if type(d) is _ndarray and d.shape == bar.shape and d.dtype is bar.dtype:
            return step.times * np.vdot(d, bar)
    p = step.product(part, bar, strong)
    return np.sum(p) if type(p) is _ndarray and p.ndim else p * (part.stop - part.start)


class _Target:
    """The cotangent of an array outside of the run, to be written block by block."""

    __slots__ = ("is_new", "row", "whole")

    def __init__(self, j: int, bars: Cotangents, space: Any) -> None:
        whole = np.empty(space.shape, space.dtype)
        before = bars.owned_array(j, whole)
        self.is_new = before is None
        self.whole = whole if before is None else before
        self.row = self.whole.reshape(-1)

    def write(self, part: slice, p: Any) -> None:
        """Write a block, or add it to what is there."""
        if self.is_new:
            self.row[part] = p
        else:
            self.row[part] += p
