"""The execution order of operations, and which loops are in no other one."""

from __future__ import annotations

from collections.abc import Iterator

from autodiff.structured.form.function_ir import (
    Block,
    For,
    If,
    Op,
    Slot,
    Value,
    While,
    bodies_of,
    nodes_of,
)


class Order:
    """The order in which the operations of a program run.

    Parameters
    ----------
    body : list
        Blocks, loops and branches.
    """

    def __init__(self, body: list) -> None:
        # The source position of each operation, and the loops around it, outer ones first.
        self.places: dict[Op, tuple[int, tuple[For | While, ...]]] = {}
        # The loops and branches around each operation, and the values of each variable.
        self.paths: dict[Op, tuple[tuple[object, int], ...]] = {}
        self.bound: dict[Slot, list[Value]] = {}
        self._rebound: set[int] = set()  # the loops whose body binds their own variable
        self._nodes(body, (), ())

    def _nodes(self, nodes: list, loops: tuple, path: tuple) -> None:
        for node in nodes:
            if isinstance(node, Block):
                for op in node.ops:
                    self.places[op], self.paths[op] = (len(self.places), loops), path
                for slot, v in node.writes.items():
                    self.bound.setdefault(slot, []).append(v)
                    self._note_bound(slot, loops)
            elif isinstance(node, For):
                self._note_bound(node.slot, loops)
            inside = (*loops, node) if isinstance(node, (For, While)) else loops
            for k, inner in enumerate(bodies_of(node)):
                self._nodes(inner, inside, (*path, (node, k)))

    def _note_bound(self, slot: Slot, loops: tuple) -> None:
        self._rebound.update([id(x) for x in loops if isinstance(x, For) and x.slot is slot])

    def rebinds_its_variable(self, loop: For) -> bool:
        """Whether the body of a loop binds the loop's own variable."""
        return id(loop) in self._rebound

    def always_follows(self, later: Op, first: Op) -> bool:
        """Whether an operation runs after another one in the same iteration of its loops."""
        path = self.paths[first]
        is_inside = self.paths[later][: len(path)] == path
        return is_inside and self.places[first][0] < self.places[later][0]

    def may_precede(self, first: Op, second: Op) -> bool:
        """Whether an operation may run before another, perhaps in an earlier loop iteration."""
        place, loops = self.places[first]
        other, others = self.places[second]
        return place <= other or bool(loops and others and loops[0] is others[0])


def bound_in(body: list) -> set[Slot]:
    """Return the variables that statements bind, also as targets of loops."""
    found: set[Slot] = set()
    for node in nodes_of(body):
        if isinstance(node, Block):
            found.update(node.writes)
        elif isinstance(node, For):
            found.add(node.slot)
    return found


def outermost_loops(nodes: list) -> Iterator[For | While]:
    """Yield the loops that are in no other one, in source order."""
    for node in nodes:
        if isinstance(node, If):
            yield from outermost_loops([*node.then, *node.otherwise])
        elif isinstance(node, (For, While)):
            yield node
