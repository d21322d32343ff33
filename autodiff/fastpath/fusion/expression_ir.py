"""The representation of expressions of elementwise operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Operand(NamedTuple):
    """An operand: a leaf, the result of another step, a number or an item of a leaf.

    Attributes
    ----------
    kind : str
        ``"leaf"``, ``"step"``, ``"number"`` or ``"item"``.
    value : int, float or pair of int
        The position among the leaves or steps, the number, or the leaves that are the container
        and the index.
    """

    kind: str
    value: Any


class ExpressionStep(NamedTuple):
    """One operation of an expression.

    Attributes
    ----------
    f : callable
        The function.
    operands : tuple of Operand
        Its operands.
    leaf : int, optional
        The leaf that is `f`, or the module that contains it.
    attribute : str, optional
        The name of `f` in the module.
    """

    f: Callable
    operands: tuple[Operand, ...]
    leaf: int | None = None
    attribute: str | None = None


Steps = list[ExpressionStep] | tuple[ExpressionStep, ...]
"""The operations of an expression in order; the last one gives its value."""
