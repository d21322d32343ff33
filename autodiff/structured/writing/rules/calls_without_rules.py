"""Calls whose adjoints need no rule: copies, sums, means, joined arrays, and those of numbers.

So are norms and extrema, inverses, determinants and linear systems, whose rules would keep what the
sweep has anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.form.ir import Op, Value, known
from autodiff.structured.form.kinds import SCALARS
from autodiff.structured.form.known_functions import function_of
from autodiff.structured.runtime_calls import extremum_back, norm_back
from autodiff.structured.writing.rules.bound_rules import is_of_library

_DISPLAYS = (np.array, np.asarray)
_COPIES = (np.copy, np.ndarray.copy, np.array)
JOINS = (np.concatenate, np.hstack, np.vstack, np.stack)
"""Functions that join arrays."""
_DISPLAYED = (np.float64, np.complex128)
_REDUCED: dict[Any, Callable] = {
    np.max: extremum_back, np.amax: extremum_back, np.min: extremum_back, np.amin: extremum_back,
    np.linalg.norm: norm_back,
}  # fmt: skip
_OF_MATRICES: dict[Any, list[list[int]]] = {
    np.linalg.cholesky: [[2]], np.linalg.inv: [[2]], np.linalg.det: [[2]],
    np.linalg.solve: [[2, 1], [2, 2]],
}  # fmt: skip
_SUMMED = (np.float64, np.float32, np.complex128, np.complex64)


def is_display(op: Op) -> bool:
    """Whether an operation makes an array of numbers that are written one by one."""
    out: Any = op.out
    if op.f not in _DISPLAYS or op.options or len(op.args) != 1 or out.kind.dtype not in _DISPLAYED:
        return False
    return _are_numbers(op.args[0])


def _are_numbers(v: Value) -> bool:
    if v.kind.is_known and type(known(v)) is tuple:
        return _are_known_numbers(known(v))
    return v.op.code == "tuple" and all(p.kind.is_scalar or _are_numbers(p) for p in v.op.args)


def _are_known_numbers(x: tuple) -> bool:
    return all(type(p) in SCALARS or (type(p) is tuple and _are_known_numbers(p)) for p in x)


def is_copy(op: Op) -> bool:
    """Whether an operation copies an array."""
    return op.f in _COPIES and op.args[0].kind == op.out.kind  # type: ignore[union-attr] # a call


def is_made_of_parts(op: Op) -> bool:
    """Whether an operation puts numbers or arrays together, each of which gets a part."""
    return is_display(op) or joined_axis(op) is not None


def joined_axis(op: Op) -> tuple[int, bool] | None:
    """Return along which axis arrays are joined, and whether it is a new one; None if none are."""
    f = function_of(op.f)
    if f not in JOINS or not op.args or op.args[0].op.code != "tuple":
        return None
    parts = op.args[0].op.args
    kinds = {(v.kind.dtype, v.kind.ndim) for v in parts}
    given = [*op.args[1:], *op.options.values()]
    if len(kinds) != 1 or len(given) > 1 or not op.options.keys() <= {"axis"}:
        return None
    ((dtype, ndim),) = kinds
    if dtype not in _SUMMED or not ndim or not all(v.kind.is_known for v in given):
        return None
    axes = [known(v) for v in given]
    return place_of_join(f, ndim, *axes) if all(type(k) is int for k in axes) else None


def place_of_join(f: Any, ndim: int, axis: int | None = None) -> tuple[int, bool] | None:
    """Return along which axis a function joins arrays, and whether it is a new one."""
    is_new = f is np.stack or (f is np.vstack and ndim == 1)
    if axis is None:
        axis = int(f is np.hstack and ndim > 1)
    is_there = -ndim - is_new <= axis < ndim + is_new
    return (axis % (ndim + is_new), is_new) if is_there else None


def summed_axes(op: Op) -> tuple[tuple[int, ...], bool] | None:
    """Return the axes that are summed, and whether they are kept; None if it is no plain sum."""
    if function_of(op.f) not in (np.sum, np.mean) or not op.args:
        return None
    return _axes_of(op) if op.args[0].kind.dtype in _SUMMED else None


def _axes_of(op: Op) -> tuple[tuple[int, ...], bool] | None:
    """Return the axes that a call reduces, and whether they are kept; None if that is not known."""
    a: Value = op.args[0]
    given = dict(zip(("axis",), op.args[1:], strict=False)) | op.options
    if len(op.args) > 2 or not given.keys() <= {"axis", "keepdims"}:
        return None
    if not (a.kind.is_array and a.kind.ndim and all(v.kind.is_known for v in given.values())):
        return None
    axis = known(given["axis"]) if "axis" in given else None
    keepdims = known(given["keepdims"]) if "keepdims" in given else False
    if axis is None:
        return tuple(range(a.kind.ndim)), bool(keepdims)
    axes = axis if type(axis) is tuple else (axis,)
    return tuple([k % a.kind.ndim for k in axes]), bool(keepdims)


def reduced(op: Op) -> tuple[Callable, tuple[int, ...], bool] | None:
    """Return the adjoint of a norm or extremum, the axes reduced, and whether they are kept.

    It is given cotangent, value and array, and the axes. None for other calls, or if the rule is
    the user's.
    """
    back = _REDUCED.get(function_of(op.f)) if op.code == "call" and op.args else None
    if back is None or not _is_plain(op):
        return None
    axes = _axes_of(op)
    if axes is None or (back is norm_back and not _is_of_vectors(op, *axes)):
        return None
    return back, *axes


def _is_of_vectors(op: Op, axes: tuple[int, ...], keepdims: bool) -> bool:
    """Whether a norm is that of vectors: of all elements, or along one axis."""
    return len(op.args) == 1 and (not op.options or ("axis" in op.options and len(axes) == 1))


def is_cumulative(op: Op) -> bool:
    """Whether it makes the running sums of a vector."""
    is_one = function_of(op.f) is np.cumsum and len(op.args) == 1 and not op.options
    return op.code == "call" and is_one and op.args[0].kind.ndim == 1 and _is_plain(op)


def is_conjugate(op: Op) -> bool:
    """Whether it conjugates a complex number or array."""
    is_one = function_of(op.f) is np.conjugate and len(op.args) == 1 and not op.options
    return is_one and op.args[0].is_complex and is_of_library(getattr(op.rule, "rule", None))


def of_matrices(op: Op) -> Any:
    """Return which function of linear algebra it is, of matrices or a matrix and a vector."""
    if op.code != "call" or op.f not in _OF_MATRICES or op.options or not _is_plain(op):
        return None
    ranks = [a.kind.ndim for a in op.args]
    return op.f if ranks in _OF_MATRICES[op.f] else None


def _is_plain(op: Op) -> bool:
    """Whether a call has arrays of floats alone, and the rule is the library's."""
    arrays = [a for a in op.args if not a.kind.is_known]
    if op.rule is None or any(a.kind.dtype != np.float64 for a in arrays):
        return False
    return is_of_library(getattr(op.rule, "rule", None))
