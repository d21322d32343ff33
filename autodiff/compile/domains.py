"""Where Python's functions of floats raise: a program does not go on there either."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from autodiff.compile.program import Meta, Ref, Step


def is_positive(x: float) -> bool:
    """Whether a number has a logarithm."""
    return x > 0.0


def is_not_negative(x: float) -> bool:
    """Whether a number has a square root."""
    return x >= 0.0


def is_within_one(x: float) -> bool:
    """Whether a number is a sine."""
    return -1.0 <= x <= 1.0


def is_inside_one(x: float) -> bool:
    """Whether a number is a hyperbolic tangent."""
    return -1.0 < x < 1.0


def is_above_minus_one(x: float) -> bool:
    """Whether log1p is defined."""
    return x > -1.0


def is_from_one(x: float) -> bool:
    """Whether a number is a hyperbolic cosine."""
    return x >= 1.0


def is_not_zero(x: float) -> bool:
    """Whether one can divide by a number."""
    return x != 0.0


def is_no_infinity(x: float) -> bool:
    """Whether a number is an angle, or NaN."""
    return abs(x) != math.inf


DOMAINS: dict[Any, Callable] = {
    math.sin: is_no_infinity,
    math.cos: is_no_infinity,
    math.tan: is_no_infinity,
    math.log: is_positive,
    math.log2: is_positive,
    math.log10: is_positive,
    math.log1p: is_above_minus_one,
    math.sqrt: is_not_negative,
    math.asin: is_within_one,
    math.acos: is_within_one,
    math.acosh: is_from_one,
    math.atanh: is_inside_one,
}
SOURCES: dict[Callable, str] = {
    is_no_infinity: "abs({}) != 1e999",
    is_positive: "{} > 0.0",
    is_not_negative: "{} >= 0.0",
    is_within_one: "-1.0 <= {} <= 1.0",
    is_inside_one: "-1.0 < {} < 1.0",
    is_above_minus_one: "{} > -1.0",
    is_from_one: "{} >= 1.0",
    is_not_zero: "{} != 0.0",
}
"""How to write these questions."""


def domain_of(step: Step, metas: list[Meta]) -> tuple | None:
    """Return the arguments of a guard that fails where a step would raise; None if it cannot."""
    x = step.args[-1] if step.args else None
    if type(x) is not Ref:
        return None
    if step.f is operator.truediv:
        # NumPy's numbers give Inf; a float of Python's raises.
        others = [metas[a.i].type if type(a) is Ref else type(a) for a in step.args]
        return (x, is_not_zero, True) if all(t in (float, int) for t in others) else None
    domain = DOMAINS.get(step.f)
    return None if domain is None or len(step.args) != 1 else (x, domain, True)
