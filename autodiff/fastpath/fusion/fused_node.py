"""The node of an expression of several elementwise operations on arrays of one shape."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from autodiff.fastpath.elementwise_nodes import Elementwise
from autodiff.trace.nodes import Leaf
from autodiff.trace.tape import FLOAT, Cotangents, sweep
from chainrules_core.define import ScalarRule


class FusedStep(NamedTuple):
    """One operation on at least one traced value.

    Attributes
    ----------
    rule : ScalarRule
        Its rule.
    wanted : tuple of (int, int)
        For each traced argument its position and its place: among the parents of the node, or
        behind them among the steps.
    seen : tuple of int
        Where in the values of the node that of the step stands, and its arguments; -1 if it is not
        kept.
    space : ProjectTo, optional
        That of its result, if it is a number.
    """

    rule: ScalarRule
    wanted: tuple[tuple[int, int], ...]
    seen: tuple[int, ...]
    space: Any


class Fused:
    """A value computed by several elementwise operations.

    `hand_on` is written for each expression, for what is most frequent; it leaves all else to
    `hand_on_stepwise`, in which the operations have nodes of their own.

    Attributes
    ----------
    parents : tuple of int
        The places of the traced arguments.
    values : tuple
        What the partial derivatives read.
    space : ProjectTo
        The value's; all operations that give arrays have results of this shape and dtype.
    """

    __slots__ = ("parents", "space", "values")
    steps: ClassVar[tuple[FusedStep, ...]]

    parents: tuple[int, ...]
    values: tuple
    space: Any

    def in_steps(self, nodes: list) -> list:
        """Return leaves for the parents, and a node for each operation behind them."""
        parents = [nodes[j] for j in self.parents]
        made: list[Any] = [Leaf(FLOAT if type(p) is tuple else p.space) for p in parents]
        kept = (*self.values, None)  # -1
        for rule, wanted, seen, of_number in self.steps:
            values = tuple([kept[i] for i in seen])
            space = self.space if of_number is None else of_number
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
