"""Expressions of elementwise operations as data: what generated code computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Operand(NamedTuple):
    """What an operation is applied to: a leaf, the result of another step, a number or an item.

    Attributes
    ----------
    kind : str
        ``"leaf"``, ``"step"``, ``"number"`` or ``"item"``.
    value : int, float or pair of int
        Its place among leaves or steps, the number, or the leaves that are an owner and an index.
    """

    kind: str
    value: Any


class Step(NamedTuple):
    """One operation.

    Attributes
    ----------
    f : callable
        The function.
    operands : tuple of Operand
        What it is applied to.
    leaf : int, optional
        The leaf that is `f`, or the module that has it.
    attribute : str, optional
        The name that it has in the module.
    """

    f: Callable
    operands: tuple[Operand, ...]
    leaf: int | None = None
    attribute: str | None = None


Steps = list[Step] | tuple[Step, ...]
"""The operations of an expression, from the leaves on; the last one is its value."""
