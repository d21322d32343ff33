"""Tape nodes of elementwise functions, and products of cotangents with partial derivatives."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from autodiff.fastpath.blocked_products import (
    BLOCK,
    LARGE,
    BlockProducts,
    parts,
    row_of,
    strong_product_of,
)
from autodiff.trace.tape import FLOAT64, Cotangents
from autodiff.trace.tracer import FloatTracer, Tracer
from chainrules_core import AbstractZero, NotImplementedTangent
from chainrules_core.define import ScalarRule
from chainrules_core.define.partial import ARITHMETIC, Partial
from chainrules_core.define.scalar import (
    has_nan,
    plain_product,
)
from chainrules_core.interpreter.references import if_counted

_ndarray = np.ndarray
ORDINARY = frozenset({np.ndarray, float, int, np.float64, Tracer, FloatTracer})
"""Types of partial derivatives that are plain factors."""
SPECIAL = (AbstractZero, NotImplementedTangent)
"""Classes of partial derivatives that are not."""
SMALL = 2048
"""Products with more elements reuse the memory of the partial derivative."""

_IMPOSSIBLE: Any = object()


class Elementwise:
    """The node of a value that an elementwise function has computed.

    Attributes
    ----------
    parents : tuple of int
        The places of the traced arguments on the tape: one or two.
    partials : tuple of Partial
        The partial derivative with respect to each of them.
    values : tuple
        Those of ``(y, *args)`` that the partial derivatives read, and None for the others.
    space : ProjectTo
        The space of the value.
    rule : ScalarRule
        The rule of the function.
    """

    __slots__ = ("parents", "partials", "rule", "space", "values")

    def __init__(
        self, parents: tuple, partials: tuple, values: tuple, space: Any, rule: ScalarRule
    ) -> None:
        self.parents = parents
        self.partials = partials
        self.values = values
        self.space = space
        self.rule = rule

    def hand_on(self, y_bar: Any, bars: Cotangents, strong: bool) -> None:
        """Propagate conj(∂y/∂x) ȳ to each argument."""
        parents = self.parents
        if len(parents) == 1:
            owned = bool(bars.owns_current)
            propagate_product(self.partials[0], self, y_bar, bars, parents[0], strong, owned)
            return
        left, right = parents
        rule = self.rule
        if rule.together is not None and type(y_bar) is _ndarray:
            made = rule.products_together(y_bar, self.values, strong=strong)
            if made is not None:
                bars.put(left, made[0], True)
                bars.put(right, made[1], True)
                return
        by_left, by_right = self.partials
        if left == right and self.is_square():
            x_bar = pulled(by_left, self, y_bar, bars, left, strong, False)
            if x_bar is not None:
                large = type(x_bar) is _ndarray and x_bar.size > SMALL
                alone = large and sys.getrefcount(x_bar) == ALONE and x_bar is not y_bar
                bars.put(left, np.add(x_bar, x_bar, out=x_bar) if alone else x_bar + x_bar, True)
                return
        else:
            propagate_product(by_left, self, y_bar, bars, left, strong, False)
        # The left argument may have taken over the cotangent, or a view of its real part.
        taken = bars.values[left]
        owned = (
            bool(bars.owns_current)
            and taken is not y_bar
            and (type(taken) is not _ndarray or taken.base is None)
        )
        propagate_product(by_right, self, y_bar, bars, right, strong, owned)

    def is_square(self) -> bool:
        """Whether the node is the product of a traced value with itself."""
        if len(self.parents) == 1 or self.parents[0] != self.parents[1]:
            return False
        i, k = [partial.returns for partial in self.partials]
        return i is not None and k is not None and self.values[i] is self.values[k]


def _references_alone() -> int:
    """Return the reference count of an array that only a local variable holds."""
    d = np.empty(1)
    return sys.getrefcount(d)


ALONE = if_counted(_references_alone())
"""The reference count of an array that only a local variable holds."""


def propagate_product(
    partial: Partial, node: Any, y_bar: Any, bars: Cotangents, j: int, strong: bool, owned: bool
) -> None:
    """Propagate conj(∂y/∂x) ȳ to the value at place `j`; `owned` as for `pulled`."""
    x_bar = pulled(partial, node, y_bar, bars, j, strong, owned)
    # Counted here, because a pending call would hold a reference to its arguments.
    fresh: Any = owned if x_bar is y_bar else sys.getrefcount(x_bar) == ALONE
    if x_bar is not None:
        bars.put(j, x_bar, fresh)


def pulled(
    partial: Partial, node: Any, y_bar: Any, bars: Cotangents, j: int, strong: bool, owned: bool
) -> Any:
    """Return conj(∂y/∂x) ȳ, or None if nothing has to be propagated.

    A large product reuses the memory of the partial derivative if nothing else refers to it, or
    that of ȳ if it is `owned` and thus dead. For a number that was broadcast, the products are
    summed at once. If the parent already has a large cotangent, they are added to it in place.
    """
    function = partial.function
    if function is None:
        d = partial.constant
        if type(d) is int:
            if d == 1:
                return y_bar
            if d == -1 and type(y_bar) is _ndarray:
                return np.negative(y_bar, out=y_bar if owned and y_bar.size > SMALL else None)
    else:
        made = _IMPOSSIBLE
        if type(y_bar) is _ndarray and y_bar.size >= LARGE:
            made = _pulled_in_blocks(partial, node, y_bar, bars, j, strong, owned)
        if made is not _IMPOSSIBLE:
            return made
        try:
            d = function(*node.values)
        except ARITHMETIC:
            d = partial.safely(*node.values)
    kind = type(d)
    if kind is _ndarray:
        if type(y_bar) is _ndarray and not strong:
            if d.size > 1 and bars.is_number(j) and d.shape == y_bar.shape:
                return np.vdot(d, y_bar)
            if d.dtype is FLOAT64:
                if d.size > SMALL and d.shape == y_bar.shape and y_bar.dtype is FLOAT64:
                    alone = d.base is None and sys.getrefcount(d) == ALONE
                    return np.multiply(d, y_bar, out=d if alone else y_bar if owned else None)
                return d * y_bar
    elif kind not in ORDINARY and isinstance(d, SPECIAL):
        return None if isinstance(d, AbstractZero) else d
    owns = False
    if node.space.dtype.kind == "c":
        d, owns = _conjugated(d)
    product = strong_product_of(partial, node) if strong else plain_product
    return product(d, y_bar, owns)


def _conjugated(d: Any) -> tuple[Any, bool]:
    """Return the conjugate of a partial derivative, and whether that is a new array."""
    if type(d) is not _ndarray:
        return np.conj(d), False
    return (np.conj(d), True) if d.dtype.kind == "c" else (d, False)


def _pulled_in_blocks(
    partial: Partial,
    node: Any,
    y_bar: np.ndarray,
    bars: Cotangents,
    j: int,
    strong: bool,
    owned: bool,
) -> Any:
    """Compute the result of `pulled` block by block, if possible."""
    products, row = BlockProducts(node, partial), row_of(y_bar)
    if y_bar.dtype.kind != "f" or row is None:
        return _IMPOSSIBLE
    if not products.are_possible(y_bar.shape, y_bar.dtype) or not products.rows:
        return _IMPOSSIBLE
    is_row = type(row) is _ndarray
    kept = None if partial.returns is None else node.values[partial.returns]
    if type(kept) is _ndarray and kept.shape == y_bar.shape and not is_row and row == 1:
        return kept

    def blocks() -> Iterator[tuple[slice, Any]]:
        for part in parts(y_bar.size, BLOCK):
            yield part, row[part] if is_row else row

    if bars.is_number(j):
        total: Any = 0.0
        for part, bar in blocks():
            total += products.sum(part, bar, False) if is_row else np.sum(products.at(part)) * bar
        return total if total == total or not strong else _IMPOSSIBLE
    before = bars.owned_array(j, y_bar)
    if before is None and kept is not None and not strong:
        return _IMPOSSIBLE  # a product of whole arrays is faster
    in_place = owned and is_row
    out = before
    if out is None:
        out = y_bar if in_place else np.empty(y_bar.shape, y_bar.dtype)
    made = out.reshape(-1)
    for part, bar in blocks():
        p = products.of(part, bar, False)
        if strong and has_nan(p):
            p = products.of(part, bar, True)
        if before is None:
            made[part] = p
        else:
            made[part] += p
    return None if before is not None else out
