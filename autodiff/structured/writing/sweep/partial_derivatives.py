"""Partial derivatives of elementwise operations: shorter forms of those of common operations."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.functions import is_builtin_rule
from autodiff.partial_source import partial_source
from autodiff.structured.form.function_ir import Op, Value, known
from autodiff.structured.form.kinds import UNKNOWN
from autodiff.structured.writing.rules.bound_rules import BoundRule
from autodiff.structured.writing.sweep.signs import negative, without_sign

_MATH: dict[Any, Callable] = {
    np.cos: math.cos, np.sin: math.sin, np.exp: math.exp, np.log: math.log, np.sqrt: math.sqrt,
    np.cosh: math.cosh, np.sinh: math.sinh, np.tan: math.tan, np.hypot: math.hypot,
}  # fmt: skip
"""Ufunc → the `math` function with the same result for a float, in a tenth of the time."""

_NAME = re.compile(r"[^\W\d]\w*")


def cheaper_calls(s: Any, read: list) -> Callable[[Any, list[str]], str | None]:
    """Return a function that writes calls in a partial derivative in a cheaper way, or None.

    A call that the block makes already is replaced by its result: the cosine in the derivative of a
    sine, say. For floats, functions of `math` replace those of NumPy.
    """
    e = s.e
    kinds = [a.kind for a in read if isinstance(a, Value)]
    has_math = e.has_math and not (e.for_native or s.is_complex)
    has_math &= all(not k.is_array and k.classes <= {float, np.float64} for k in kinds)

    def call(f: Any, args: list[str]) -> str | None:
        if not e.for_native and len(args) == 1 and args[0].isidentifier():
            values = {e.need(a): a for a in read if isinstance(a, Value)}
            found = _computed_before(s, f, values.get(args[0]))
            if found is not None:
                return found
        if not has_math or f not in _MATH:
            return None
        e.needs_math = True
        return f"{e.constants.name(_MATH[f])}({', '.join(args)})"

    return call


def _computed_before(s: Any, f: Any, a: Value | None) -> str | None:
    """Return the result of an equal call in the block; None if there is none, or it may change."""
    for op in s.block.ops if a is not None else ():
        is_same = op.code == "call" and _MATH.get(op.f, op.f) is _MATH.get(f, f)
        is_one = is_same and op.args == [a] and not op.options
        if is_one and not any(_is_written(v) for v in (a, op.out)):
            return s.e.need(op.out)
    return None


def _is_written(v: Any) -> bool:
    return v.memory is not None and v.root.is_written


def is_quotient(s: Any, op: Op, bound: BoundRule) -> bool:
    """Whether an operation divides two numbers or two arrays, and has the rule of a quotient.

    Machine code writes each partial derivative on its own.
    """
    e, rule = s.e, bound.rule
    if e.for_native or e.has_strong_zero(op):
        return False
    ndim = op.out.kind.ndim
    if any(v.kind.is_array != bool(ndim) for v in bound.args):
        return False
    texts = [partial_source(p, lambda i: "yab"[i], 3, e.constants) for p in rule.partials[0]]
    return texts == ["(1 / b)", "((-y) / b)"]


def terms_of_quotient(s: Any, op: Op, bound: BoundRule, g: str) -> list:
    """Return the cotangents of both arguments of a quotient y = a / b: q = ȳ / b, and -q y."""
    e = s.e
    out: Any = op.out
    a, b = bound.args
    ndim = out.kind.ndim
    is_negative, x = without_sign(g)
    q = e.fresh("q")
    y, by = [f"({e.need(v)}).conjugate()" if v.kind.is_complex else e.need(v) for v in (out, b)]
    s.out.add(f"{q} = {x} / {by}")
    both = q, negative(f"{q} * {y}")
    return [
        (v, negative(term) if is_negative else term, ndim, "")
        for v, term in zip((a, b), both, strict=True)
    ]


def slope_of_power(
    op: Op, bound: BoundRule, j: int, text: Callable[[int], str], is_at_origin: bool = True
) -> str | None:
    """Return p x^(p - 1) as source; None for other derivatives, or a shorter form.

    If the exponent is unknown, this may be 0 · Inf at the origin. Then it is returned only if
    `is_at_origin` is False.
    """
    if op.f not in (operator.pow, np.power) or j or not is_builtin_rule(bound.rule):
        return None
    x: Any = bound.args[0]
    p: Any = known(bound.args[1]) if len(bound.args) == 2 else None
    if p is UNKNOWN and not is_at_origin:
        return f"({text(2)} * {text(1)} ** ({text(2)} - 1.0))"
    if type(p) not in (int, float) or p in (0, 2) or (p == 0.5 and x.kind.is_array):
        return None
    return f"({p!r} * {text(1)} ** ({p - 1.0!r}))"


def slope_of_positive_power(
    s: Any, op: Op, bound: BoundRule, j: int, text: Callable[[int], str], d: str
) -> str:
    """Return a partial derivative `d` of a power; for floats, with a short form for x > 0."""
    e, floats = s.e, {float, np.float64}
    if op.f not in (operator.pow, np.power) or not is_builtin_rule(bound.rule):
        return d
    values = [op.out, *bound.args]
    if not e.has_math or e.for_native or len(bound.args) != 2 or d == "0":
        return d
    if not all(isinstance(v, Value) and v.kind.classes <= floats for v in values[:2]):
        return d
    if not (isinstance(values[2], Value) and values[2].kind.classes <= floats | {int}):
        return d
    if j == 0:
        short = f"{text(2)} * {text(1)} ** ({text(2)} - 1.0)"
    else:
        short = f"{text(0)} * {e.constants.name(math.log)}({text(1)})"
    e.needs_math = True
    return f"({short} if {text(1)} > 0.0 else {d})"


def is_real(out: Value, read: list, texts: list[str], d: str) -> bool:
    """Whether a partial derivative need not be conjugated: it is real, or that of a real result.

    It is real if it consists of real values and operators alone.
    """
    if not out.is_complex:
        return True
    if any(a.is_complex if isinstance(a, Value) else np.iscomplexobj(a) for a in read):
        return False
    return set(_NAME.findall(d)) <= {name for text in texts for name in _NAME.findall(text)}
