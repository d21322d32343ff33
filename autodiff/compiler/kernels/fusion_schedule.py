"""The order in which operations on small arrays are done, and which of them share a nest.

Elementwise operations of one shape that follow each other share a nest, so that most of their
results are never stored. What takes their elements one by one joins them: a sum over all or over
the last axis, and a change or a scattering into a region of that shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autodiff.compiler.kernels.loop_ir import Op, strides_of
from autodiff.compiler.passes.simplify import has_nan

if TYPE_CHECKING:
    from autodiff.compiler.kernels.memory_planner import Block, Layout


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
    """

    __slots__ = ("kind", "positions", "shape")

    def __init__(self, kind: str, positions: list[int], shape: tuple = ()) -> None:
        self.kind = kind
        self.positions = positions
        self.shape = shape


def scheduled(layout: Layout, block: Block) -> list[Item]:
    """Return what is done in a block, in order."""
    done: list[Item] = []
    pending: dict[tuple, Item] = {}
    for p in range(block.start, block.start + block.n):
        op = layout.ops[p]
        read = {
            a.base
            for k, a in enumerate(op.args)
            if a.kind == "v" and layout.form(block, p, k) in ("here", "same")
        }
        joined = None
        for shape, item in list(pending.items()):
            inside = read.intersection(item.positions)
            if inside and _joins(layout, p, inside, item):
                joined = item
            elif inside or _touches(layout, p, item):
                done.append(pending.pop(shape))
        if joined is not None:
            joined.positions.append(p)
        elif op.kind == "map" and op.shape != ():
            pending.setdefault(op.shape, Item("nest", [], op.shape)).positions.append(p)
        else:
            kinds = {"map": "number", "guard": "guard"}
            done.append(Item(kinds.get(op.kind, "form"), [p]))
    done.extend(pending.values())
    return done


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
