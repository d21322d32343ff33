"""Where Python's functions of floats raise: a program does not go on there either."""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compiler.recording.function_effects import FIXED_FORM, named
from autodiff.compiler.recording.ir import Meta, Ref, Step, has_refs, refs_in, set_flat, set_item


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


def has_exponential(x: float) -> bool:
    """Whether exp(x) is no too large a float: that of Inf is Inf."""
    return not 709.782712893384 < x < math.inf


def has_hyperbolic(x: float) -> bool:
    """Whether cosh(x) and sinh(x) are no too large floats."""
    return not 710.4758600739439 < abs(x) < math.inf


def has_gamma(x: float) -> bool:
    """Whether the gamma function is defined, and no too large a float."""
    is_pole = x <= 0.0 and (x % 1.0 == 0.0 or x < -1e300)
    return not (is_pole or 171.6 < x < math.inf or abs(x) < 5.6e-309)


def has_log_gamma(x: float) -> bool:
    """Whether the logarithm of the gamma function is defined, and no too large a float."""
    return not ((x <= 0.0 and x % 1.0 == 0.0) or 2.5e305 < x < math.inf)


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
    math.exp: has_exponential,
    math.expm1: has_exponential,
    math.cosh: has_hyperbolic,
    math.sinh: has_hyperbolic,
    math.gamma: has_gamma,
    math.lgamma: has_log_gamma,
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
    has_exponential: "(not 709.782712893384 < {} < 1e999)",
    has_hyperbolic: "(not 710.4758600739439 < abs({}) < 1e999)",
    has_gamma: "(not (({0} <= 0.0 and ({0} % 1.0 == 0.0 or {0} < -1e300))"
    " or 171.6 < {0} < 1e999 or abs({0}) < 5.6e-309))",
    has_log_gamma: "(not (({0} <= 0.0 and {0} % 1.0 == 0.0) or 2.5e305 < {0} < 1e999))",
}
"""How to write these questions."""

_DIVISIONS = frozenset({operator.truediv, operator.floordiv, operator.mod})
POWERS: frozenset[Any] = frozenset({operator.pow, pow, math.pow})
_MOST_POWERS = 256


_BY_VALUE = frozenset({np.choose, np.take, np.percentile, np.quantile, np.average, np.geomspace})
_OF_PLACES = frozenset({operator.getitem, set_item, set_flat})


_SAFE_OF_LINALG = named(
    np.linalg,
    "det slogdet norm trace diagonal outer cross vecdot matmul matrix_norm vector_norm "
    "matrix_transpose multi_dot",
)
_OF_REGULAR_MATRICES = frozenset({np.linalg.inv, np.linalg.solve})


def regular_matrix(step: Step) -> tuple | None:
    """Return the matrix that has to be regular, or a step raises; None for other steps."""
    return tuple(refs_in(step.args[0])) if step.f in _OF_REGULAR_MATRICES else None


def may_raise(step: Step, metas: list[Meta]) -> bool:
    """Whether a step may raise for some values of these types and shapes, for all that is known.

    Asked of steps whose results nobody reads, and which `domain_of` knows nothing of.
    """
    f = step.f
    if f in POWERS or f is np.power:
        return metas[step.out].type in (float, int, complex) and has_refs(step.args[1])
    if isinstance(f, np.ufunc):
        return (getattr(f, "__module__", None) or "numpy") not in ("numpy", "scipy.special")
    if f in _OF_PLACES:
        return has_refs(step.args[1])
    if f in _SAFE_OF_LINALG:
        return False
    module = getattr(f, "__module__", None) or ""
    if module.partition(".")[0] not in ("numpy", "scipy") or f in _BY_VALUE:
        return f in _BY_VALUE
    return f not in FIXED_FORM or module.startswith("numpy.linalg")


def domains_unread(step: Step, metas: list[Meta]) -> list[tuple]:
    """Return the arguments of such guards for a step whose result nobody reads."""
    found = domain_of(step, metas)
    domains = [] if found is None else [found]
    if step.f in POWERS and metas[step.out].type is float and len(step.args) == 2:
        x, c = step.args
        if type(x) is Ref and type(c) is float and not c.is_integer():
            domains.append((x, is_not_negative, True))  # else the type is another one
    return domains


def domain_of(step: Step, metas: list[Meta]) -> tuple | None:
    """Return the arguments of a guard that fails where a step would raise; None if it cannot."""
    if step.f in POWERS:
        return _domain_of_power(step, metas)
    x = step.args[-1] if step.args else None
    if type(x) is not Ref:
        return None
    if step.f in (math.fmod, math.remainder):
        return x, is_not_zero, True
    if step.f in _DIVISIONS:
        # NumPy's numbers give Inf; a float of Python's raises.
        others = [metas[a.i].type if type(a) is Ref else type(a) for a in step.args]
        return (x, is_not_zero, True) if all(t in (float, int) for t in others) else None
    domain = DOMAINS.get(step.f)
    return None if domain is None or len(step.args) != 1 else (x, domain, True)


def _domain_of_power(step: Step, metas: list[Meta]) -> tuple | None:
    """Return the arguments of a guard that fails where a power of a float raises."""
    if step.kwargs or len(step.args) != 2 or metas[step.out].type is not float:
        return None
    x, c = step.args
    if type(x) is not Ref or type(c) not in (int, float) or not 1e-3 < abs(c) < 1e6:
        return None
    if metas[x.i].type is not float and step.f is not math.pow:
        return None
    if 0 < c <= 1:
        return None
    if float(c) not in _powers and len(_powers) >= _MOST_POWERS:
        return None
    return x, power_of(float(c)), True


def power_of(c: float) -> Callable:
    """Return what asks whether a float has a power with this exponent that is a float."""
    known = _powers.get(c)
    if known is None:
        limit = _last_base(c)
        ask = _is_in_reach if c > 0 else _is_no_further
        known = _powers[c] = functools.partial(ask, limit)
        SOURCES[known] = (_IN_REACH if c > 0 else _NO_FURTHER).format(limit)
    return known


# Of a number that is not finite x - x is NaN. A call of abs would take as long as the power.
_IN_REACH = "(-{0!r} <= {{0}} <= {0!r} or {{0}} - {{0}} != 0.0)"
_NO_FURTHER = "({{0}} >= {0!r} or {{0}} <= -{0!r} or {{0}} != {{0}})"
_powers: dict[float, Callable] = {}


def _is_in_reach(limit: float, x: float) -> bool:
    return not limit < abs(x) < math.inf


def _is_no_further(limit: float, x: float) -> bool:
    return not abs(x) < limit


def _last_base(c: float) -> float:
    """Return the last float that has a power which is no too large a float."""
    x = sys.float_info.max ** (1 / c)
    beyond = math.inf if c > 0 else 0.0
    while not _has_power(x, c):
        x = math.nextafter(x, 0.0 if c > 0 else math.inf)
    while _has_power(math.nextafter(x, beyond), c):
        x = math.nextafter(x, beyond)
    return x


def _has_power(x: float, c: float) -> bool:
    try:
        return math.isfinite(x**c)
    except ArithmeticError:
        return False
