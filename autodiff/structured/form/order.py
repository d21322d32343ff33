"""The execution order of operations, by their source positions and enclosing loops."""

from __future__ import annotations

from autodiff.structured.form.ir import Block, For, If, Op, Slot, While


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
        self._nodes(body, ())

    def _nodes(self, nodes: list, loops: tuple[For | While, ...]) -> None:
        for node in nodes:
            if isinstance(node, Block):
                for op in node.ops:
                    self.places[op] = len(self.places), loops
            elif isinstance(node, For):
                self._nodes(node.body, (*loops, node))
            elif isinstance(node, While):
                inside = (*loops, node)
                self._nodes(node.before, inside)
                self._nodes(node.body, inside)
            elif isinstance(node, If):
                self._nodes(node.then, loops)
                self._nodes(node.otherwise, loops)

    def may_precede(self, first: Op, second: Op) -> bool:
        """Whether an operation may run before another, perhaps in an earlier loop iteration."""
        place, loops = self.places[first]
        other, others = self.places[second]
        return place <= other or bool(loops and others and loops[0] is others[0])


def binds(body: list, slot: Slot) -> bool:
    """Whether statements bind a variable, also as the target of a loop."""
    for node in body:
        if isinstance(node, Block) and slot in node.writes:
            return True
        if isinstance(node, For) and (node.slot is slot or binds(node.body, slot)):
            return True
        if isinstance(node, While) and (binds(node.before, slot) or binds(node.body, slot)):
            return True
        if isinstance(node, If) and (binds(node.then, slot) or binds(node.otherwise, slot)):
            return True
    return False
