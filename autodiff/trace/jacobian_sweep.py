"""All rows of a Jacobian in one sweep: cotangents have an additional first axis for the rows.

Elementwise operations broadcast over the rows. Other pullbacks are called for each row, at one node
after the other. So there is one sweep, and only what is not elementwise costs time for each row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.dispatch.plan_types import HandNode, LinearNode
from autodiff.fastpath.elementwise_nodes import Elementwise, pulled
from autodiff.fastpath.gather_scalars import GatheredNode
from autodiff.trace.linearize import Linearised, has_nan
from autodiff.trace.nodes import Node, ProductNode
from autodiff.trace.pytree import map_variables
from autodiff.trace.tape import FLOAT, Tape, projected
from autodiff.trace.tracer import is_tracer
from autodiff.trace.unimplemented_cotangents import unknown
from chainrules_core import (
    AbstractZero,
    NotImplementedTangent,
    NotImplementedTangentError,
    unthunk,
)
from chainrules_core.interpreter.noticed import forgive
from chainrules_core.interpreter.quiet import quiet
from chainrules_core.operations.broadcasting import unbroadcast_rows
from chainrules_core.projection.project_to import ProjectToArray, ProjectToNumber

_SWEPT = (tuple, Elementwise, LinearNode, HandNode)
_SWEPT_TOO = frozenset({Node, ProductNode, GatheredNode})
_SPACES = frozenset({ProjectToArray, ProjectToNumber})
# The most elements of a cotangent with all its rows; above that the rows are swept in batches.
_MOST = 1 << 22


def jacobian_rows(traced: Linearised, y: Any) -> list | None:
    """Return the Jacobian of a leaf of the output by each argument, with one axis for the rows.

    None if the leaf is a constant, or if a node of the tape cannot be swept with many rows.
    """
    tape = traced.tape
    if not (is_tracer(y) and y._tape is tape) or tape.nested or type(tape) is not Tape:
        return None
    nodes, leaves = traced.nodes, traced.leaves
    if not _can_be_swept(nodes, leaves):
        return None
    with quiet():
        try:
            found = _rows(nodes, leaves, y._index, False)
        except NotImplementedTangentError as error:  # row by row it may be possible
            forgive(error)
            return None
        if any(map(has_nan, found)):
            found = _rows(nodes, leaves, y._index, True)
    remaining = iter(found)
    return traced.chosen([map_variables(a, lambda _: next(remaining)) for a in traced.arguments])


def _can_be_swept(nodes: list, leaves: int) -> bool:
    """Whether all nodes of a tape can be swept with many rows at once."""
    return all(
        (isinstance(node, _SWEPT) or type(node) in _SWEPT_TOO)
        and (type(node) is tuple or type(node.space) in _SPACES)
        for node in nodes[leaves:]
    ) and all(type(leaf.space) in _SPACES for leaf in nodes[:leaves])


def _rows(nodes: list, leaves: int, place: int, strong: bool) -> list:
    """Return the cotangents of the leaves for each element of the value at a place.

    Parameters
    ----------
    nodes : list
        The nodes of a tape without values of other levels.
    leaves : int
        How many of them are leaves.
    place : int
        The place of the output.
    strong : bool
        Whether a zero cotangent stays zero where a partial derivative is Inf or NaN.

    Returns
    -------
    list of ndarray
        For each leaf its rows: the shape of the leaf after one axis for the rows.
    """
    m = _space(nodes, place).size
    largest = max([_space(nodes, j).size for j in range(place + 1)])
    step = max(1, _MOST // max(1, largest))
    parts = [
        _some_rows(nodes, leaves, place, range(start, min(start + step, m)), strong)
        for start in range(0, max(m, 1), step)
    ]
    if len(parts) == 1:
        return parts[0]
    return [np.concatenate(of_leaf) for of_leaf in zip(*parts, strict=True)]


def _space(nodes: list, j: int) -> Any:
    node = nodes[j]
    return FLOAT if type(node) is tuple else node.space


def _some_rows(nodes: list, leaves: int, place: int, which: range, strong: bool) -> list:
    bars = _Rows(nodes, len(which))
    space = _space(nodes, place)
    seeds = np.zeros((len(which), space.size), space.dtype)
    seeds[np.arange(len(which)), which] = 1.0
    bars.values[place] = seeds.reshape(len(which), *space.shape)
    for i in range(place, leaves - 1, -1):
        y_bars = bars.values[i]
        if y_bars is None:
            continue
        bars.values[i] = None
        node = nodes[i]
        if type(node) is tuple:
            bars.hand_on_scalars(node, y_bars)
        elif isinstance(node, Elementwise):
            bars.hand_on_products(node, y_bars, strong)
        elif type(node) is GatheredNode:
            bars.hand_on_elements(node, y_bars)
        elif isinstance(node, LinearNode):
            bars.hand_on_linear(node, y_bars)
        else:
            bars.hand_on_one_by_one(node, y_bars)
    found = bars.values[:leaves]
    return [bars.zeros(j) if bar is None else bar for j, bar in enumerate(found)]


class _Rows:
    """Cotangents of `n` rows each, accumulated."""

    def __init__(self, nodes: list, n: int) -> None:
        self.nodes = nodes
        self.n = n
        self.values: list = [None] * len(nodes)

    def zeros(self, j: int) -> np.ndarray:
        """Return rows of zeros for place `j`."""
        space = _space(self.nodes, j)
        return np.zeros((self.n, *space.shape), space.dtype)

    def is_number(self, j: int) -> bool:
        """Whether products may be summed at once, which is wrong for many rows."""
        return False

    def add(self, j: int, x_bars: Any) -> None:
        """Add cotangents for place `j`, summed where the value was broadcast."""
        space = _space(self.nodes, j)
        x_bars = unbroadcast_rows(x_bars, space.shape)
        if x_bars.dtype is not space.dtype:
            x_bars = (np.real(x_bars) if space.dtype.kind == "f" else x_bars).astype(space.dtype)
        before = self.values[j]
        self.values[j] = x_bars if before is None else before + x_bars

    def hand_on_scalars(self, node: tuple, y_bars: np.ndarray) -> None:
        """Propagate through a node in the compact form for scalars."""
        if len(node) == 3:
            j, _, index = node
            x_bars = self.zeros(j)
            x_bars[(slice(None), *index) if type(index) is tuple else (slice(None), index)] = y_bars
            self.add(j, x_bars)
            return
        for j, p in zip(node[::2], node[1::2], strict=True):
            # A zero cotangent stays zero where a partial derivative is Inf or NaN.
            self.add(j, y_bars * p if np.isfinite(p) else np.where(y_bars == 0, 0.0, y_bars * p))

    def hand_on_products(self, node: Any, y_bars: np.ndarray, strong: bool) -> None:
        """Propagate products with partial derivatives, which broadcast over the rows."""
        bars: Any = self
        for j, partial in zip(node.parents, node.partials, strict=True):
            x_bars = pulled(partial, node, y_bars, bars, j, strong, False)
            if isinstance(x_bars, NotImplementedTangent):
                x_bars = unknown(x_bars, None)  # raises an error
            if x_bars is not None:
                self.add(j, x_bars)

    def hand_on_elements(self, node: GatheredNode, y_bars: np.ndarray) -> None:
        """Propagate to the elements that an array was made of."""
        flat = y_bars.reshape(len(y_bars), -1)
        for j, i in zip(node.parents, node.elements, strict=True):
            self.add(j, flat[:, i])

    def hand_on_linear(self, node: LinearNode, y_bars: np.ndarray) -> None:
        """Propagate by the adjoints of a linear function, if possible of all rows at once."""
        made = []
        for position, of_rows in enumerate(node.plan.rows):
            if of_rows is None:
                break
            made.append(of_rows(y_bars, *node.seen_by(position), **node.options))
        if len(made) < len(node.parents) or any(x_bars is None for x_bars in made):
            self.hand_on_one_by_one(node, y_bars)
            return
        for j, x_bars in zip(node.parents, made, strict=True):
            self.add(j, x_bars)

    def hand_on_one_by_one(self, node: Any, y_bars: np.ndarray) -> None:
        """Propagate each row by the pullback of a rule."""
        spaces = [_space(self.nodes, j) for j in node.parents]
        made = [self.zeros(j) for j in node.parents]
        pull, is_array = node.pull, type(node.space) is ProjectToArray
        for k in range(self.n):
            y_bar = y_bars[k] if is_array else node.space(y_bars[k])
            for position, x_bar in enumerate(pull(y_bar)):
                space = spaces[position]
                if (
                    type(x_bar) is not np.ndarray
                    or x_bar.shape != space.shape
                    or x_bar.dtype is not space.dtype
                ):
                    x_bar = unthunk(x_bar)
                    if isinstance(x_bar, AbstractZero):
                        continue
                    x_bar = projected(space, x_bar, node, position)
                made[position][k] = x_bar
        for j, x_bars in zip(node.parents, made, strict=True):
            self.add(j, x_bars)
