"""Slopes of elementwise operations: those of quotients and powers, and what is known of others."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.partial_source import partial_source
from autodiff.structured.form.ir import Op, Value, known
from autodiff.structured.form.known_functions import is_own_rule
from autodiff.structured.writing.rules.bound_rules import Bound
from autodiff.structured.writing.sweep.signs import negative, without_sign

_FUNCTION = re.compile(r"\b(\w+_)\(")
_MATH: dict[Any, Callable] = {
    np.cos: math.cos, np.sin: math.sin, np.exp: math.exp, np.log: math.log, np.sqrt: math.sqrt,
    np.cosh: math.cosh, np.sinh: math.sinh, np.tan: math.tan, np.hypot: math.hypot,
}  # fmt: skip
"""Ufunc → the function of Python's that computes the same of a float, in a tenth of the time."""

_NAME = re.compile(r"[^\W\d]\w*")
_CALL = re.compile(r"\b(\w+_)\((\w+)\)")


def by_math(s: Any, d: str, read: list) -> str:
    """Return a slope of floats in which Python's functions stand for NumPy's."""
    e = s.e
    if e.for_machine or not e.has_math or s.is_complex:
        return d
    kinds = [a.kind for a in read if isinstance(a, Value)]
    if any(kind.is_array or not kind.classes <= {float, np.float64} for kind in kinds):
        return d

    def named(found: re.Match[str]) -> str:
        f = _MATH.get(e.constants.scope.get(found[1]))
        e.needs_math |= f is not None
        return found[0] if f is None else f"{e.constants.name(f)}("

    return _FUNCTION.sub(named, d)


def computed_before(s: Any, d: str, read: list) -> str:
    """Return a slope in which calls that the block has made are their results.

    So the cosine that is the slope of a sine is computed once, if the function needs it, too.
    """
    e = s.e
    if e.for_machine or not _CALL.search(d):
        return d
    values = {e.need(a): a for a in read if isinstance(a, Value)}

    def result(found: re.Match[str]) -> str:
        f, a = e.constants.scope.get(found[1]), values.get(found[2])
        for op in s.block.ops if f is not None and a is not None else ():
            is_same = op.code == "call" and _MATH.get(op.f, op.f) is _MATH.get(f, f)
            is_one = is_same and op.args == [a] and not op.options
            if is_one and not any(_is_written(v) for v in (a, op.out)):
                return e.need(op.out)
        return found[0]

    return _CALL.sub(result, d)


def _is_written(v: Any) -> bool:
    return v.memory is not None and v.memory.root().is_written


def is_quotient(s: Any, op: Op, bound: Bound) -> bool:
    """Whether an operation divides two numbers, or two arrays, and its rule is that of a quotient.

    Machine code has a form for each partial derivative.
    """
    e, rule = s.e, bound.rule
    if e.for_machine or e.is_strong(op):
        return False
    ndim = op.out.kind.ndim  # type: ignore[union-attr] # a call makes a value
    if any(v.kind.is_array != bool(ndim) for v in bound.args):
        return False
    texts = [partial_source(p, lambda i: "yab"[i], 3, e.constants) for p in rule.partials[0]]
    return texts == ["(1 / b)", "((-y) / b)"]


def terms_of_quotient(s: Any, op: Op, bound: Bound, g: str) -> list:
    """Return what both arguments of a quotient y = a / b get: q = ȳ / b, and -q y."""
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


def slope_of_power(op: Op, bound: Bound, j: int, text: Callable[[int], str]) -> str | None:
    """Write p x^(p - 1), where the exponent is known; None for other slopes."""
    if op.f not in (operator.pow, np.power) or j or not is_own_rule(bound.rule):
        return None
    x: Any = bound.args[0]
    p: Any = known(bound.args[1]) if len(bound.args) == 2 else None
    if type(p) not in (int, float) or p in (0, 2) or (p == 0.5 and x.kind.is_array):
        return None
    return f"({p!r} * {text(1)} ** ({p - 1.0!r}))"


def is_real(out: Value, read: list, texts: list[str], d: str) -> bool:
    """Whether a partial derivative is real, or a gradient: what has real values has one.

    It is real if it is computed by operators of nothing but real values.
    """
    if not out.is_complex:
        return True
    if any(a.is_complex if isinstance(a, Value) else np.iscomplexobj(a) for a in read):
        return False
    return set(_NAME.findall(d)) <= {name for text in texts for name in _NAME.findall(text)}
