"""Liveness analysis: where a later operation may still read a variable.

The sweep needs the cotangent of a variable only where the variable is live. Elsewhere it is zero,
and no statement adds to it or sets it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from autodiff.structured.form.function_ir import Block, If, Slot, bodies_of
from autodiff.structured.writing.source_writer import new_bindings


class LiveVariables:
    """The live variables before and after each node of a program.

    Parameters
    ----------
    body : list
        The nodes.
    slots : iterable of Slot
        The variables to look for.
    is_everywhere : bool
        Whether to take all of them for live everywhere.

    Attributes
    ----------
    before, after : dict
        For each node, the variables that are live before and after it; before a loop, also those
        before each of its iterations.
    inside : dict
        For each list of nodes in a loop or branch, by node and number: those live at its start.
    first, last : frozenset of Slot
        Those that are live at the start and at the end of the program.
    """

    def __init__(self, body: list, slots: Iterable[Slot], is_everywhere: bool) -> None:
        self._slots = frozenset(slots)
        self._least = self._slots if is_everywhere else frozenset()
        self.before: dict[Any, frozenset[Slot]] = {}
        self.after: dict[Any, frozenset[Slot]] = {}
        self.inside: dict[tuple[Any, int], frozenset[Slot]] = {}
        self.last = self._least
        self.first = self._of_nodes(body, self.last)

    def _of_nodes(self, nodes: list, live: frozenset[Slot]) -> frozenset[Slot]:
        """Return the variables that are live before nodes, after which `live` are."""
        for node in reversed(nodes):
            self.after[node] = live
            live = self.before[node] = self._of_node(node, live) | self._least
        return live

    def _of_node(self, node: Any, live: frozenset[Slot]) -> frozenset[Slot]:
        if isinstance(node, Block):
            read = {op.data for op in node.ops if op.code == "read"} & self._slots
            return (live - {slot for slot, _ in new_bindings(node)}) | read
        if isinstance(node, If):
            return self._of_bodies(node, live)
        while True:  # an iteration may follow another: to a fixed point
            found = live | self._of_bodies(node, live)
            if found == live:
                return live
            live = found

    def _of_bodies(self, node: Any, live: frozenset[Slot]) -> frozenset[Slot]:
        for k, body in enumerate(bodies_of(node)):
            self.inside[node, k] = self._of_nodes(body, live)
        return frozenset().union(*[self.inside[node, k] for k in range(len(bodies_of(node)))])
