"""Which results the forward function guards, because their kind may differ at run time."""

from __future__ import annotations

import operator

import numpy as np

from autodiff.python_operators import PREFIXES, SIGNS
from autodiff.structured.form.function_ir import Op
from autodiff.structured.form.known_functions import CALLED
from autodiff.structured.writing.rules.known_adjoints import (
    is_display,
    matrix_function,
    reduced,
    summed_axes,
)

_BY_ARGUMENTS = frozenset({
    np.dot, np.ndarray.dot, np.outer, np.inner, np.vdot, np.zeros_like, np.ones_like, np.copy,
    np.ndarray.copy,
})  # fmt: skip
"""Functions of arrays whose results have a rank and dtype that follow from those of the arrays."""


def needs_guard(op: Op) -> bool:
    """Whether the kind of a result could depend on values or shapes."""
    if op.code in ("join", "draw") or op.data is CALLED:
        return True
    if op.code == "part":  # of the tuple that a call returns, or of a shape
        return op.args[0].op.code == "call" and needs_guard(op.args[0].op)
    if op.code != "call" or isinstance(op.f, np.ufunc):
        return False
    if op.f is operator.pow:
        return all(not a.kind.is_array for a in op.args) and not _is_whole_power(op)
    if op.f in (abs, min, max) and not any(a.kind.is_array for a in op.args):
        return False
    if getattr(op.f, "__module__", None) == "math" or is_display(op):
        return False  # only the classes of the arguments decide that of the result
    if op.args and (summed_axes(op) or reduced(op) or matrix_function(op)):
        return False
    if op.f in _BY_ARGUMENTS and not op.options:
        return not all(a.kind.is_array for a in op.args)
    return op.f not in SIGNS and op.f not in PREFIXES


def _is_whole_power(op: Op) -> bool:
    """Whether a float is raised to an integer power, which gives a float."""
    x, exponent = op.args
    return not (x.kind.is_integral or x.kind.is_complex) and exponent.kind.is_integral
