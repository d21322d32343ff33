"""Source of scalar steps: arithmetic of Python floats, several times as fast as NumPy scalars."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff.compiler.recording.ir import FLOAT64, Meta, Ref, Step
from autodiff.functions import COMPARISONS, SIGNS, facts_of, known

_PYTHON = known("python")
_MATH = known("math")
_LOGICAL = known("is_logical")


def is_number(meta: Meta) -> bool:
    """Whether a value is a single float64: a number or an array without axes."""
    return meta.is_scalar or (
        meta.type is np.ndarray and meta.shape == () and meta.dtype == FLOAT64
    )


def is_bool(meta: Meta) -> bool:
    """Whether a value is a single bool."""
    return meta.type is bool or meta.type is np.bool_


def _is_scalar(x: Any, metas: list[Meta]) -> bool:
    if type(x) is Ref:
        return is_number(metas[x.i]) or is_bool(metas[x.i])
    return type(x) in (float, int, np.float64, bool) or (
        type(x) is np.ndarray and x.shape == () and x.dtype == FLOAT64
    )


def is_scalar_step(step: Step, metas: list[Meta]) -> bool:
    """Whether a step can be written as arithmetic of Python floats."""
    f = step.f
    if step.kwargs or step.out < 0 or not all(_is_scalar(a, metas) for a in step.args):
        return False
    meta = metas[step.out]
    if f in COMPARISONS or f is np.isnan:
        return is_bool(meta)
    if f in _LOGICAL:
        return is_bool(meta) and all(
            type(a) is bool or (type(a) is Ref and is_bool(metas[a.i])) for a in step.args
        )
    if not is_number(meta):
        return False
    if f is np.where and not (
        len(step.args) == 3 and type(step.args[0]) is Ref and is_bool(metas[step.args[0].i])
    ):
        return False
    if f in _CHOICES:
        choices = step.args[1:] if f is np.where else step.args
        return not any(type(a) is Ref and is_bool(metas[a.i]) for a in choices)
    if f in (np.negative, np.absolute, np.square) and not _is_float(step.args[0], metas):
        return False
    return f in _PYTHON or f in _MATH


_CHOICES = frozenset({np.where, np.maximum, np.minimum})
"""Functions that return one of their operands, so that these have to be floats."""


def _is_float(x: Any, metas: list[Meta]) -> bool:
    return is_number(metas[x.i]) if type(x) is Ref else isinstance(x, float)


def expression(emitter: Any, step: Step) -> tuple[int, str, bool]:
    """Return the number of the result, its expression, and whether that is a float."""
    f, out = step.f, step.out
    values = step.args
    if f in _CHOICES:
        values = tuple([float(a) if isinstance(a, int) else a for a in values])
    args = [operand(emitter, a) for a in values]
    if f in SIGNS and f not in COMPARISONS:  # a product with np.bool_ is a NumPy scalar
        for k, a in enumerate(values):
            if type(a) is Ref and emitter.metas[a.i].type is np.bool_:
                args[k] = f"bool({args[k]})"
    facts = facts_of(f)
    if facts.python:
        text = facts.python.format(*args)
    elif f is np.power and step.args[1] == 0.5:
        text = f"{emitter.names.of(math.sqrt, 'sqrt')}({args[0]})"
    elif f is np.power and step.args[1] == -1:
        text = f"1.0 / {args[0]}"
    else:
        function: Any = facts.math
        text = f"{emitter.names.of(function, function.__name__)}({', '.join(args)})"
    return out, text, is_number(emitter.metas[out])


def operand(emitter: Any, x: Any) -> str:
    """Return an operand as an expression."""
    if type(x) is Ref:
        return emitter.variable(x.i)
    if isinstance(x, (np.float64, np.ndarray)):
        x = float(x)
    return emitter.constant(x)
