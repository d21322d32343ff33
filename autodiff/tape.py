"""The tape: what was computed, in order, and the reverse sweep over it.

A tape is a list. Each place in it stands for one traced value and says how its cotangent is handed
on to the values it was made from. Since a value is recorded after everything it depends on, the
reverse sweep is a loop from the end to the start.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

import numpy as np

from autodiff.errors import LeakedTracerError, wrong_cotangent
from chainrules_core import (
    AbstractZero,
    BadInplaceError,
    InplaceableThunk,
    NotImplementedTangent,
    ProjectionError,
    ProjectTo,
    TangentTypeError,
    add,
    unbroadcast,
    unthunk,
)
from chainrules_core.define.scalar import plain_product, strong_product

_serials = count(1)


class Leaf:
    """A value that is differentiated with respect to; its cotangent is the result."""

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

    def cotangents(self, y_bar: Any, product: Callable) -> Iterable[Any]:
        """Return a cotangent for each parent."""
        return self.pull(y_bar)


class ProductNode(Node):
    """A value made by a rule of partial derivatives, which lets the sweep choose the product."""

    __slots__ = ()

    def cotangents(self, y_bar: Any, product: Callable) -> Iterable[Any]:
        """Return a cotangent for each parent."""
        return self.pull(y_bar, product)


class Part:
    """One part of an output that has several: it hands its cotangent to the whole."""

    __slots__ = ("place", "space", "whole")

    def __init__(self, whole: int, place: int, space: Any) -> None:
        self.whole = whole
        self.place = place
        self.space = space


class Whole(Node):
    """An output of several parts; `tangent` puts their cotangents together."""

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

    def cotangents(self, y_bar: dict, product: Callable) -> Iterable[Any]:
        """Return a cotangent for each parent."""
        return self.pull(self.tangent(y_bar))


_RULED = (Node, ProductNode, Whole, Part)


def _reference(owner: Any) -> Callable[[], Any]:
    """Return what gives an object as long as it lives."""
    try:
        return weakref.ref(owner)
    except TypeError:  # memory that is not an array's
        return lambda: owner


class Tape:
    """What one differentiation records.

    Attributes
    ----------
    nodes : list
        For each traced value one of: `Leaf`, `Node`, `Part`, `Whole`, another node that
        hands its cotangent on by itself, or a tuple, the compact form
        for what is scalar: ``(j, p)`` and ``(j, p, k, q)`` say that ȳ p belongs to value `j` (and ȳ
        q to `k`), ``(j, rule, index)`` that it is added at an index of array `j`.
    leaves : int
        How many of them, at the start, are leaves.
    held : set of int
        The identities of arrays from outside that pullbacks may hold.
    serial : int
        Grows with every tape: of two that meet in a call, the larger is the inner one.
    nested : bool
        Whether values of an outer tape were seen; the cotangents may then be traced themselves,
        and nothing is added in place.
    """

    __slots__ = ("held", "leaves", "nested", "nodes", "serial")

    records = True
    forward = False
    observer: Any = None  # see autodiff.observe
    program = False  # whether calls are written down, to be compiled: see autodiff.compile
    call: Callable  # of such a tape: makes a call and writes it down ...
    read: Callable  # ... and reads a constant out of a value

    def __init__(self) -> None:
        self.nodes: list = []
        self.leaves = 0
        self.nested = False
        self.held: dict[int, Callable[[], Any]] = {}
        self.serial = next(_serials)

    def __repr__(self) -> str:
        return f"<Tape {self.serial}>"

    def add(self, node: Any) -> int:
        """Record a node; return its place."""
        nodes = self.nodes
        nodes.append(node)
        return len(nodes) - 1

    def hold(self, x: np.ndarray) -> None:
        """Note that a pullback may keep the memory of an array, as long as the array lives."""
        owner = x if x.base is None else x.base
        known = self.held.get(id(owner))
        if known is None or known() is not owner:  # another one has had this identity
            self.held[id(owner)] = _reference(owner)

    def holds(self, owner: Any) -> bool:
        """Whether an array that owns its memory was noted."""
        known = self.held.get(id(owner))
        return known is not None and known() is owner

    def check_open(self) -> None:
        """Raise if the differentiation has ended."""
        if self.nodes is _CLOSED:
            raise LeakedTracerError

    def close(self) -> list:
        """End the recording; return the nodes. What is recorded later is an error."""
        nodes = self.nodes
        self.nodes = _CLOSED
        return nodes


class _Closed:
    """In the place of the nodes of a closed tape."""

    def append(self, node: Any) -> None:
        raise LeakedTracerError

    def __len__(self) -> int:
        raise LeakedTracerError


_CLOSED: Any = _Closed()


class _Constant(Tape):
    __slots__ = ()

    records = False

    def __init__(self) -> None:
        super().__init__()
        self.serial = 0
        self.nodes = _CLOSED


CONSTANT = _Constant()
"""The tape of arrays made inside a traced function that hold nothing traced (yet)."""


class Forward(Tape):
    """A level of forward differentiation: nothing is recorded.

    A tracer's tangent stands where its place on a tape would be.
    """

    __slots__ = ()

    records = False
    forward = True


def sweep(
    nodes: list, leaves: int, seeds: dict[int, Any], *, nested: bool = False, strong: bool = False
) -> list:
    """Pull cotangents back from the end of the tape to its leaves.

    Parameters
    ----------
    nodes : list
        The nodes of a tape.
    leaves : int
        How many of them are leaves.
    seeds : dict
        Cotangents by place.
    nested : bool
        Whether cotangents may be traced themselves.
    strong : bool
        Whether a zero cotangent stays zero where a partial derivative is Inf or NaN.

    Returns
    -------
    list
        A cotangent, or None, for each leaf; not shared with anything else.
    """
    bars = Cotangents(nodes, seeds, nested)
    values, owned, add_at, buffer_at = bars.values, bars.owned, bars.add, bars.buffer
    product = strong_product if strong else plain_product
    for i in range(len(nodes) - 1, leaves - 1, -1):
        bar = values[i]
        if bar is None:
            continue
        node = nodes[i]
        kind = type(node)
        if kind is tuple:
            values[i] = None
            if strong and bar == 0:
                continue
            n = len(node)
            if n == 3:  # the adjoint of reading one element is adding to it
                j, rule, index = node
                if nested:
                    bars.add_element(j, rule, index, bar)
                else:
                    buffer = values[j] if owned[j] else buffer_at(j)
                    buffer[index] += bar
                continue
            j = node[0]
            before = values[j]
            values[j] = bar * node[1] if before is None else before + bar * node[1]
            if n == 4:
                j = node[2]
                before = values[j]
                values[j] = bar * node[3] if before is None else before + bar * node[3]
        elif kind not in _RULED:
            values[i] = None
            bars.owns_current = owned[i]
            node.hand_on(unthunk(bar), bars, strong)
        elif kind is Part:
            values[i] = None
            bars.add_part(node.whole, node.place, bar)
        else:
            values[i] = None
            for position, (j, x_bar) in enumerate(
                zip(node.parents, node.cotangents(unthunk(bar), product), strict=True)
            ):
                add_at(j, x_bar, node, position)
    return bars.finished(leaves)


class Cotangents:
    """The cotangents of a sweep, added up in place where the sweep owns the buffer.

    An array is owned if the sweep made it: then nobody else can see it change. The first of many
    cotangents is kept as it came, the second makes a sum that is owned, the others go into it.
    """

    __slots__ = ("nested", "nodes", "owned", "owns_current", "values")

    def __init__(self, nodes: list, seeds: dict[int, Any], nested: bool) -> None:
        self.nodes = nodes
        self.nested = nested
        self.values: list = [None] * len(nodes)
        self.owned = bytearray(len(nodes))
        self.owns_current = 0
        for place, bar in seeds.items():
            self.values[place] = bar

    def buffer(self, j: int) -> Any:
        """Return an owned array for place `j`, to be written into."""
        values = self.values
        bar = values[j]
        if self.owned[j]:
            return bar
        space = self.nodes[j].space
        buffer = np.zeros(space.shape, space.dtype)
        if bar is not None:
            buffer += unthunk(bar)
        values[j] = buffer
        self.owned[j] = 1
        return buffer

    def add_element(self, j: int, rule: Any, index: Any, bar: Any) -> None:
        """Add the cotangent of one element of the array at place `j`, not in place."""
        x_bar = rule.adjoints[0](bar, self.nodes[j].space, index)
        before = self.values[j]
        self.values[j] = x_bar if before is None else add(before, x_bar)

    def put(self, j: int, x_bar: Any, fresh: bool) -> None:
        """Add a cotangent of the right shape; a fresh one is nobody else's."""
        target = self.nodes[j]
        x_bar = FLOAT(x_bar) if type(target) is tuple else target.space(x_bar)
        before = self.values[j]
        if before is None:
            self.values[j] = x_bar
            self.owned[j] = fresh and type(x_bar) is np.ndarray and not self.nested
        elif self.owned[j] and type(x_bar) is np.ndarray:
            before += x_bar
        else:
            total = self.values[j] = add(before, x_bar)
            self.owned[j] = type(total) is np.ndarray

    def add(self, j: int, x_bar: Any, node: Node, position: int) -> None:
        """Add a cotangent that a rule's pullback returned for one of its parents."""
        target = self.nodes[j]
        if isinstance(x_bar, AbstractZero):
            return
        space = FLOAT if type(target) is tuple else target.space
        if type(x_bar) is InplaceableThunk:
            if self._addable(j, space):
                buffer = self.buffer(j)
                result = x_bar.add_into(buffer)
                if result is not buffer:
                    raise BadInplaceError(x_bar.add_into, result)
                return
            x_bar = unthunk(x_bar)
        x_bar = self._projected(space, unthunk(x_bar), node, position)
        before = self.values[j]
        if before is None:
            self.values[j] = x_bar
        elif self.owned[j] and type(x_bar) is np.ndarray:
            before += x_bar
        else:
            total = self.values[j] = add(before, x_bar)
            self.owned[j] = type(total) is np.ndarray

    def _addable(self, j: int, space: Any) -> bool:
        """Whether place `j` may become a buffer of plain numbers."""
        bar = self.values[j]
        return (
            not self.nested and hasattr(space, "shape") and (bar is None or type(bar) is np.ndarray)
        )

    def _projected(self, space: Any, x_bar: Any, node: Node, position: int) -> Any:
        try:
            if isinstance(x_bar, NotImplementedTangent):
                raise x_bar.error()  # it is wanted: no place is visited for nothing
            if getattr(node.rule, "broadcasts", False) and np.shape(x_bar) != space.shape:
                x_bar = unbroadcast(x_bar, space.shape)
            return space(x_bar)
        except (ProjectionError, TangentTypeError) as error:
            raise wrong_cotangent(node, position, x_bar, error) from error

    def add_part(self, whole: int, place: int, bar: Any) -> None:
        """Hand the cotangent of a part to the whole."""
        parts = self.values[whole]
        if parts is None:
            parts = self.values[whole] = {}
        parts[place] = bar

    def finished(self, leaves: int) -> list:
        """Return the cotangents of the leaves, copied where somebody else may hold them."""
        values = self.values[:leaves]
        for i, bar in enumerate(values):
            bar = values[i] = unthunk(bar)
            if type(bar) is np.ndarray:
                if not self.owned[i]:
                    values[i] = bar.copy()
            elif self.nested:
                values[i] = copy.copy(bar)
        return values


FLOAT = ProjectTo(0.0)
