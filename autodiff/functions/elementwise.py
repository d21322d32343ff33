"""Elementwise functions, and those of Python that compute the same of numbers."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from autodiff.functions.facts import ALL, ELEMENTWISE, entries, known, named, note


def _add(f: Any, of_math: Any = None, same: tuple = (), domain: str = "", **facts: Any) -> None:
    """Note a function, with the one of ``math`` and others that compute the same.

    What is not said of machine code follows from what is written in Python.
    """
    if of_math is not None:
        operands = "{0}, {1}" if f.nin == 2 else "{0}"
        facts.setdefault("loops", f"math.{of_math.__name__}({operands})")
        takes_the_same = of_math not in (math.log, math.hypot)
        ufunc = f if takes_the_same else None
        note([of_math], data=ALL, ufunc=ufunc, domain=domain)
    note(same, data=ALL, ufunc=f)
    if "sign" in facts:
        facts["python"] = f"{{0}} {facts['sign']} {{1}}"
    if facts.get("simd") == "always":
        facts["loops"] = f"{f.__name__}({{0}})"
    facts.setdefault("loops", facts.get("python", ""))
    note([f], **{"kind": ELEMENTWISE, "data": ALL, "math": of_math, **facts})


_ONE = "-1.0 <= {0} <= 1.0"
_ANGLE = "abs({0}) != 1e999"
_EXPONENT = "(not 709.782712893384 < {0} < 1e999)"
_HYPERBOLIC = "(not 710.4758600739439 < abs({0}) < 1e999)"
_IS_NAN, _IS_LARGE, _IS_ANY_LARGE = "{y} != {y}", "not {y} < 1e308", "not abs({y}) < 1e308"

for _f, _sign, _same in (
    (np.add, "+", operator.add), (np.subtract, "-", operator.sub),
    (np.multiply, "*", operator.mul), (np.true_divide, "/", operator.truediv),
    (np.less, "<", operator.lt), (np.less_equal, "<=", operator.le),
    (np.greater, ">", operator.gt), (np.greater_equal, ">=", operator.ge),
    (np.equal, "==", operator.eq), (np.not_equal, "!=", operator.ne),
):  # fmt: skip
    _add(_f, same=(_same,), sign=_sign, is_rounded=True)

_add(np.negative, same=(operator.neg,), python="-{0}", is_rounded=True)
_add(np.absolute, same=(abs, math.fabs), python="abs({0})", is_rounded=True)
_add(np.fabs, python="abs({0})")
_add(np.positive, loops="{0}")
_add(np.square, python="{0} * {0}")
_add(np.reciprocal, python="1.0 / {0}")
_add(np.sign, python="(1.0 if {0} > 0.0 else -1.0 if {0} < 0.0 else {0})")
_add(np.maximum, python="({0} if {0} >= {1} or {0} != {0} else {1})")
_add(np.minimum, python="({0} if {0} <= {1} or {0} != {0} else {1})")
_add(np.isnan, python="({0} != {0})")
_add(np.isfinite, loops="({0} - {0} == 0.0)")
_add(np.deg2rad, python="({0} * 0.017453292519943295)")
_add(np.floor, loops="np.floor({0})")
_add(np.ceil, loops="np.ceil({0})")
_add(np.trunc, loops="np.trunc({0})")
_add(np.copysign, loops="math.copysign({0}, {1})")
_add(np.logaddexp, loops="np.logaddexp({0}, {1})")
_add(np.exp2, loops="2.0 ** {0}")
_add(np.conj)

_add(np.sin, math.sin, domain=_ANGLE, undefined=_IS_NAN, simd="long")
_add(np.cos, math.cos, domain=_ANGLE, undefined=_IS_NAN, simd="long")
_add(np.tan, math.tan, domain=_ANGLE, undefined=_IS_NAN)
_add(np.arcsin, math.asin, domain=_ONE, undefined=_IS_NAN)
_add(np.arccos, math.acos, domain=_ONE, undefined=_IS_NAN)
_add(np.arctan, math.atan)
_add(np.arctan2, math.atan2)
_add(np.hypot, math.hypot)
_add(np.sinh, math.sinh, domain=_HYPERBOLIC, undefined=_IS_ANY_LARGE)
_add(np.cosh, math.cosh, domain=_HYPERBOLIC, undefined=_IS_LARGE)
_add(np.tanh, math.tanh, simd="always")
_add(np.arcsinh, math.asinh)
_add(np.arccosh, math.acosh, domain="{0} >= 1.0", undefined=_IS_NAN)
_add(np.arctanh, math.atanh, domain="-1.0 < {0} < 1.0", undefined=_IS_ANY_LARGE)
_add(np.exp, math.exp, domain=_EXPONENT, undefined=_IS_LARGE, simd="always")
_add(np.expm1, math.expm1, domain=_EXPONENT, undefined=_IS_LARGE, simd="long")
_add(np.log, math.log, domain="{0} > 0.0", undefined="not {0} > 0.0", simd="long")
_add(np.log1p, math.log1p, domain="{0} > -1.0", undefined="not {0} > -1.0", simd="long")
_add(np.log2, math.log2, domain="{0} > 0.0", undefined="not {0} > 0.0", loops="np.log2({0})")
_add(np.log10, math.log10, domain="{0} > 0.0", undefined="not {0} > 0.0")
_add(np.sqrt, math.sqrt, domain="{0} >= 0.0", undefined="not {0} >= 0.0", is_rounded=True)
_add(np.cbrt, math.cbrt, loops="np.cbrt({0})")
_add(np.power, math.pow, (operator.pow,), undefined=_IS_ANY_LARGE, loops="{0} ** {1}")
note([pow], has_fixed_form=False, ufunc=np.power)

_TRUTHS: tuple[tuple[tuple[Any, ...], str], ...] = (
    ((operator.and_, np.bitwise_and), "({0} & {1})"),
    ((operator.or_, np.bitwise_or), "({0} | {1})"),
    ((operator.xor,), "({0} ^ {1})"),
    ((operator.invert, np.invert, np.logical_not), "(not {0})"),
    ((np.logical_and,), "({0} and {1})"),
    ((np.logical_or,), "({0} or {1})"),
)
for _functions, _text in _TRUTHS:
    for _function in _functions:
        _add(_function, python=_text, is_logical=True)

# The upper bound last: it is what is left where the lower one is above it.
_RAISED = "({0} if {0} > {1} or {0} != {0} else {1})"
_CLIPPED = "({lower} if {lower} < {{2}} or {lower} != {lower} else {{2}})"
_add(np.clip, loops=_CLIPPED.format(lower=_RAISED), is_new=True)
_add(np.where, python="({1} if {0} else {2})", is_new=True)
_add(np.copy, loops="{0}", data=1, is_new=True, is_own=True, is_container=True)

_GAMMA = (
    "(not (({0} <= 0.0 and ({0} % 1.0 == 0.0 or {0} < -1e300))"
    " or 171.6 < {0} < 1e999 or abs({0}) < 5.6e-309))"
)
note([math.gamma], data=ALL, domain=_GAMMA)
_LOG_GAMMA = "(not (({0} <= 0.0 and {0} % 1.0 == 0.0) or 2.5e305 < {0} < 1e999))"
note([math.lgamma], data=ALL, domain=_LOG_GAMMA)
_others = {f for f in vars(math).values() if callable(f)}
note(_others - entries().keys(), data=ALL)
note(
    named(operator, "abs floordiv mod pos")
    | {max, min, sum, float, complex, round, bool, np.float64, np.ndarray.item},
    data=ALL,
)

UFUNC_OF: dict[Any, np.ufunc] = known("ufunc")
"""The ufunc that computes the same: one name for each function in a program."""
SIGNS: dict[Any, str] = known("sign")
COMPARISONS = frozenset(f for f, sign in SIGNS.items() if sign not in "+-*/")


def is_elementwise(f: Any) -> bool:
    """Whether a function is a ufunc of one output that works element by element."""
    return isinstance(f, np.ufunc) and f.signature is None and f.nout == 1


@functools.cache
def takes_floats(f: np.ufunc) -> bool:
    """Whether integers given to a ufunc may as well be floats: the exponents of `ldexp` may not."""
    operands = [t.partition("->")[0] for t in f.types if t.endswith("->d")]
    return not any("d" in kinds and set(kinds) & _INTEGERS for kinds in operands)


_INTEGERS = frozenset("bBhHiIlLqQ")
