"""The nodes of a tape: each propagates the cotangent of a traced value to its parents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chainrules_core.calling.signatures import Signature
from chainrules_core.define.scalar import plain_product, strong_product
from chainrules_core.rule import Rule

if TYPE_CHECKING:
    from autodiff.trace.tape import Cotangents


class Leaf:
    """A value to differentiate with respect to; its cotangent is a result of the sweep."""

    __slots__ = ("space",)

    def __init__(self, space: Any) -> None:
        self.space = space


class Node:
    """A value made by a rule."""

    __slots__ = ("parents", "positions", "pull", "rule", "space")

    def __init__(
        self, parents: tuple, pull: Callable, space: Any, rule: Any, positions: tuple
    ) -> None:
        self.parents = parents
        self.pull = pull
        self.space = space
        self.rule = rule
        self.positions = positions

    def hand_on(self, y_bar: Any, bars: Cotangents, strong: bool) -> None:
        """Add the cotangents that the pullback returns to those of the parents."""
        bars.add_each(self, self.pull(y_bar))


class ProductNode(Node):
    """A value made by a rule of partial derivatives; the sweep chooses how to multiply by them."""

    __slots__ = ()

    def hand_on(self, y_bar: Any, bars: Cotangents, strong: bool) -> None:
        """Add the cotangents that the pullback returns to those of the parents."""
        bars.add_each(self, self.pull(y_bar, strong_product if strong else plain_product))


class Part:
    """One part of an output that has several; its cotangent goes to the `Whole`."""

    __slots__ = ("place", "space", "whole")

    def __init__(self, whole: int, place: int, space: Any) -> None:
        self.whole = whole
        self.place = place
        self.space = space

    def hand_on(self, y_bar: Any, bars: Cotangents, strong: bool) -> None:
        """Store the cotangent for the whole, which is visited later."""
        parts = bars.values[self.whole]
        if parts is None:
            parts = bars.values[self.whole] = {}
        parts[self.place] = y_bar


class Whole(Node):
    """An output of several parts; `tangent` makes one cotangent of theirs."""

    __slots__ = ("tangent",)

    def __init__(
        self,
        parents: tuple,
        pull: Callable,
        rule: Any,
        positions: tuple,
        tangent: Callable[[dict], Any],
    ) -> None:
        super().__init__(parents, pull, None, rule, positions)
        self.tangent = tangent

    def hand_on(self, y_bar: dict, bars: Cotangents, strong: bool) -> None:
        """Add the cotangents that the pullback returns to those of the parents."""
        bars.add_each(self, self.pull(self.tangent(y_bar)))


class CallRule(Rule):
    """The rule of a node for a call that the engine differentiates in a way of its own.

    Parameters
    ----------
    f : callable
        The engine's function that made the node.
    kind : str
        How the call is differentiated, for `explain`.
    name : str
        How messages name the call.
    """

    def __init__(self, f: Callable, kind: str, name: str) -> None:
        self.f = f
        self.kind = kind
        self.name = name
        self.types = ()
        self.defined_at = f"{f.__module__.replace('.', '/')}.py"
        self._signature = Signature((), 0, varargs=True)
