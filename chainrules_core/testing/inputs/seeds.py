"""How a test says which tangent belongs to an argument."""

from __future__ import annotations

from typing import Any, NamedTuple

from chainrules_core.tangents import NoTangent


class _Auto:
    """The type of `AUTO`."""

    def __repr__(self) -> str:
        return "AUTO"


AUTO = _Auto()
"""Stands for a tangent to be drawn at random."""


class PrimalAndTangent(NamedTuple):
    """What `with_tangent` returns."""

    primal: Any
    tangent: Any


def with_tangent(x: Any, dx: Any = AUTO) -> PrimalAndTangent:
    """Pair an argument of a check with the tangent to use for it.

    `check_frule` pushes this tangent forward; `check_rrule` tests in its direction, and adds the
    cotangent to it. An integer with a tangent is perturbed, as a float.

    Beware of zeros: what they multiply is not tested.

    Examples
    --------
    >>> with_tangent(2.0, 1.0)
    PrimalAndTangent(primal=2.0, tangent=1.0)
    """
    return PrimalAndTangent(x, dx)


def const(x: Any) -> PrimalAndTangent:
    """Mark an argument as constant: not perturbed, and the rule's cotangent for it has to be zero.

    Examples
    --------
    >>> const(2.0)
    PrimalAndTangent(primal=2.0, tangent=NoTangent())
    """
    return PrimalAndTangent(x, NoTangent())


def unpaired(x: Any) -> PrimalAndTangent:
    """Return `x` as a pair, if it is not one already."""
    return x if isinstance(x, PrimalAndTangent) else PrimalAndTangent(x, AUTO)
