"""Sweep chains of elementwise operations on large arrays block by block.

In a chain of elementwise functions, each intermediate cotangent is read once and dropped. So the
sweep takes one block of elements through the whole chain, then the next block. Intermediate
cotangents stay in the cache; only the kept values and the cotangents that leave the chain take
memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from autodiff.fastpath.blocked_products import LARGE, BlockProducts, parts, row_of
from autodiff.fastpath.elementwise_nodes import Elementwise
from autodiff.trace.tape import Cotangents
from chainrules_core import AbstractZero
from chainrules_core.define.scalar import has_nan

BLOCK = 1 << 15
"""Elements of a block; the blocks of several arrays have to fit into the cache together."""

_ndarray = np.ndarray


def sweep_chain(place: int, bar: Any, bars: Cotangents, leaves: int) -> bool:
    """Sweep the chain that ends at a place, and drop its nodes; return False if there is none."""
    node = bars.nodes[place]
    if not isinstance(node, Elementwise):
        return False
    if node.space.size < LARGE or node.space.dtype.kind != "f":
        return False
    chain = _Chain(node.space, bars)
    chain.find(place, bar, leaves)
    if len(chain.members) < 2:
        return False
    chain.sweep()
    return True


class _Edge(NamedTuple):
    """The propagation of a cotangent from a node of a chain to one of its parents.

    Attributes
    ----------
    products : BlockProducts
        The products with the partial derivative.
    parent : int
        The place of the parent.
    times : int
        2 for the square of a value, otherwise 1.
    is_number : bool
        Whether the parent is a number, for which the products are summed.
    """

    products: BlockProducts
    parent: int
    times: int
    is_number: bool

    def propagated(self, part: slice, bar: Any, strong: bool) -> Any:
        """Return the contribution to the parent's cotangent for a block."""
        p = self.products.of(part, bar, strong)
        return p + p if self.times == 2 else p


class _Chain:
    """A chain of elementwise operations on arrays of one shape, from the last to the first.

    Attributes
    ----------
    members : list of (int, list of _Edge)
        The places of the nodes, with the edges to their parents.
    given : dict
        Place → a flat view of the cotangent from outside the chain; a number if it is broadcast.
    """

    def __init__(self, space: Any, bars: Cotangents) -> None:
        self.space = space
        self.bars = bars
        self.members: list[tuple[int, list[_Edge]]] = []
        self.given: dict[int, Any] = {}

    def find(self, place: int, bar: Any, leaves: int) -> None:
        """Collect the nodes of the chain from its end, up to a node that does not belong to it."""
        bars = self.bars
        reached = {place}
        for k in range(place, leaves - 1, -1):
            given = bar if k == place else bars.values[k]
            if k not in reached and given is None:
                continue
            edges = self._edges_of(bars.nodes[k])
            if edges is None or (given is not None and not self._take(k, given)):
                return
            self.members.append((k, edges))
            reached.update([edge.parent for edge in edges])

    def _take(self, k: int, given: Any) -> bool:
        """Add a cotangent from outside the chain; return False if it is not contiguous."""
        space = self.space
        if (
            type(given) is not _ndarray
            or given.dtype is not space.dtype
            or given.shape != space.shape
        ):
            return False
        row = row_of(given)
        if row is None:
            return False
        self.given[k] = row
        return True

    def _edges_of(self, node: Any) -> list[_Edge] | None:
        """Return the edges from a node to its parents; None if it does not belong to the chain."""
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
        edges = []
        for partial, parent, times in pairs:
            if isinstance(partial.constant, AbstractZero):
                continue
            products = BlockProducts(node, partial)
            target = self.bars.nodes[parent]
            is_number = self.bars.is_number(parent)
            if is_number:
                if type(target) is not tuple and target.space.dtype.kind != "f":
                    return None
            elif target.space.shape != space.shape or target.space.dtype is not space.dtype:
                return None
            if not products.are_possible(space.shape, space.dtype):
                return None
            edges.append(_Edge(products, parent, times, is_number))
        return edges

    def sweep(self) -> None:
        """Sweep the chain, and drop its nodes."""
        bars, space = self.bars, self.space
        inside = {k for k, _ in self.members}
        outside = {s.parent for _, edges in self.members for s in edges} - inside
        arrays = {j: _Target(j, bars, space) for j in outside if not bars.is_number(j)}
        totals: dict[int, Any] = dict.fromkeys(outside - arrays.keys(), 0.0)
        for k in inside:
            bars.values[k] = None
        for part in parts(space.size, BLOCK):
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

    def _block(self, part: slice, strong: bool) -> tuple[dict[int, Any], dict[int, Any]]:
        """Sweep one block: return the cotangents that leave the chain, and the sums for numbers."""
        known: dict[int, Any] = {
            k: row[part] if type(row) is _ndarray else row for k, row in self.given.items()
        }
        own: set[int] = set()
        sums: dict[int, Any] = {}
        for k, edges in self.members:
            bar = known.pop(k)
            for edge in edges:
                j = edge.parent
                if edge.is_number:
                    total = edge.times * edge.products.sum(part, bar, strong)
                    sums[j] = sums[j] + total if j in sums else total
                    continue
                p = edge.propagated(part, bar, strong)
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


class _Target:
    """The cotangent of an array outside the chain, filled block by block."""

    __slots__ = ("is_new", "row", "whole")

    def __init__(self, j: int, bars: Cotangents, space: Any) -> None:
        whole = np.empty(space.shape, space.dtype)
        before = bars.owned_array(j, whole)
        self.is_new = before is None
        self.whole = whole if before is None else before
        self.row = self.whole.reshape(-1)

    def write(self, part: slice, p: Any) -> None:
        """Store a block, or add it to what is there."""
        if self.is_new:
            self.row[part] = p
        else:
            self.row[part] += p
