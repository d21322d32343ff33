"""The tape node of a fused expression: several elementwise operations on arrays of one shape."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from autodiff.fastpath.elementwise_nodes import Elementwise
from autodiff.trace.nodes import Leaf
from autodiff.trace.tape import FLOAT, Cotangents, sweep
from chainrules_core.define import ScalarRule


class FusedStep(NamedTuple):
    """One operation with at least one traced argument.

    Attributes
    ----------
    rule : ScalarRule
        Its rule.
    wanted : tuple of (int, int)
        For each traced argument, its position, and its index in the list of the node's parents
        followed by the steps.
    seen : tuple of int
        The indices of ``(y, *args)`` among the values of the node; -1 if a value is not kept.
    space : ProjectTo, optional
        The space of the result, if it is a number.
    """

    rule: ScalarRule
    wanted: tuple[tuple[int, int], ...]
    seen: tuple[int, ...]
    space: Any


class FusedNode:
    """The node of a value that several elementwise operations have computed.

    Each expression has a generated `hand_on` for the most frequent case. All others go to
    `hand_on_stepwise`, which makes a node for each operation.

    Attributes
    ----------
    parents : tuple of int
        The places of the traced arguments on the tape.
    values : tuple
        The values that the partial derivatives read.
    space : ProjectTo
        The space of the value, and of all operations that give arrays.
    """

    __slots__ = ("parents", "space", "values")
    steps: ClassVar[tuple[FusedStep, ...]]

    parents: tuple[int, ...]
    values: tuple
    space: Any

    def in_steps(self, nodes: list) -> list:
        """Return a list of leaves for the parents, followed by a node for each operation."""
        parents = [nodes[j] for j in self.parents]
        made: list[Any] = [Leaf(FLOAT if type(p) is tuple else p.space) for p in parents]
        kept = (*self.values, None)  # None has the index -1
        for rule, wanted, seen, number_space in self.steps:
            values = tuple([kept[i] for i in seen])
            space = self.space if number_space is None else number_space
            partials = tuple([rule.partials[0][position] for position, _ in wanted])
            sources = tuple([parent for _, parent in wanted])
            made.append(Elementwise(sources, partials, values, space, rule))
        return made

    def hand_on_stepwise(self, y_bar: Any, bars: Cotangents, strong: bool) -> None:
        """Propagate the cotangent through one operation after the other."""
        nodes = self.in_steps(bars.nodes)
        seeds = {len(nodes) - 1: y_bar}
        found = sweep(nodes, len(self.parents), seeds, nested=bars.nested, strong=strong)
        for j, x_bar in zip(self.parents, found, strict=True):
            if x_bar is not None:
                bars.put(j, x_bar, False)

    hand_on = hand_on_stepwise
