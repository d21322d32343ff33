"""Calls whose adjoints need no rule: copies, sums, means and arrays of single numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.structured.form.ir import Op, Value, known
from autodiff.structured.form.known_functions import function_of

_DISPLAYS = (np.array, np.asarray)
_COPIES = (np.copy, np.ndarray.copy, np.array)
_DISPLAYED = (np.float64, np.complex128)
_SUMMED = (np.float64, np.float32, np.complex128, np.complex64)


def is_display(op: Op) -> bool:
    """Whether an operation makes an array of numbers that are written one by one."""
    out: Any = op.out
    if op.f not in _DISPLAYS or op.options or len(op.args) != 1 or out.kind.dtype not in _DISPLAYED:
        return False
    return _are_numbers(op.args[0])


def _are_numbers(v: Value) -> bool:
    return v.op.code == "tuple" and all(p.kind.is_scalar or _are_numbers(p) for p in v.op.args)


def is_copy(op: Op) -> bool:
    """Whether an operation copies an array."""
    return op.f in _COPIES and op.args[0].kind == op.out.kind  # type: ignore[union-attr] # a call


def summed_axes(op: Op) -> tuple[tuple[int, ...], bool] | None:
    """Return the axes that are summed, and whether they are kept; None if it is no plain sum."""
    if function_of(op.f) not in (np.sum, np.mean) or not op.args:
        return None
    a: Value = op.args[0]
    given = dict(zip(("axis",), op.args[1:], strict=False)) | op.options
    if len(op.args) > 2 or not given.keys() <= {"axis", "keepdims"}:
        return None
    if not (a.kind.is_array and all(v.kind.is_known for v in given.values())):
        return None
    if a.kind.dtype not in _SUMMED or not a.kind.ndim:
        return None
    axis = known(given["axis"]) if "axis" in given else None
    keepdims = known(given["keepdims"]) if "keepdims" in given else False
    if axis is None:
        return tuple(range(a.kind.ndim)), bool(keepdims)
    axes = axis if type(axis) is tuple else (axis,)
    return tuple([k % a.kind.ndim for k in axes]), bool(keepdims)
