"""Lowering of reductions: sums, extrema, counts, variances, cumulative sums."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.compiler.kernels.loop_ir import LoopOp, NotLowerableError, StridedView
from autodiff.compiler.passes.counts_as_floats import counted
from autodiff.compiler.recording.ir import Step, has_refs
from autodiff.functions import REDUCTION, of_kind

if TYPE_CHECKING:
    from autodiff.compiler.kernels.step_lowering import Lowerer

_EXTREMA: dict[Any, str] = {np.max: "max", np.min: "min"}
REDUCED = of_kind(REDUCTION) | {counted}
BOOLEAN_REDUCTIONS = frozenset({counted, np.any, np.all})
"""Reductions that also take booleans."""
_PLAIN: dict[str, Any] = {"dtype": (None,), "ddof": (0, 0.0), "correction": (0, 0.0)}


def is_reduction(step: Step) -> bool:
    """Whether `lower_reduction` can lower a call, as far as its options are concerned."""
    if step.f not in REDUCED or len(step.args) != 1:
        return False
    options = step.kwargs or {}
    axis = options.get("axis")
    if has_refs(axis) or not (axis is None or type(axis) in (int, tuple)):
        return False
    return all(
        key in ("axis", "keepdims")
        or (key == "initial" and step.f in _EXTREMA and _is_bound(value))
        or any(value is v for v in (None, *_PLAIN.get(key, ())))
        or (key in _PLAIN and type(value) in (int, float) and value == 0)
        for key, value in options.items()
    )


def _is_bound(x: Any) -> bool:
    return type(x) in (int, float) and x == x


def lower_reduction(reader: Lowerer, step: Step, shape: tuple) -> LoopOp:
    """Lower a reduction; operations that it needs are added before."""
    options = step.kwargs or {}
    x = reader.view(step.args[0])
    axis = options.get("axis")
    n = len(x.shape)
    if step.f is np.cumsum:
        return _cumulative_sum(reader, x, axis, shape)
    axes = tuple(range(n)) if axis is None else axis if type(axis) is tuple else (axis,)
    axes = tuple(sorted(a % n for a in axes))
    count = math.prod([x.shape[a] for a in axes])
    if step.f in BOOLEAN_REDUCTIONS:
        return _count(reader, step.f, x, axes, count, shape)
    if step.f in (np.var, np.std):
        return _spread(reader, step.f, x, axes, count, shape)
    if x.is_bool:
        raise NotLowerableError
    kind = _EXTREMA.get(step.f, "sum")
    if kind != "sum":
        return LoopOp(kind, None, [x], shape, (axes, options.get("initial")))
    return LoopOp(kind, None, [x], shape, (axes, count if step.f is np.mean else 0))


def _count(
    reader: Lowerer, f: Any, x: StridedView, axes: tuple, count: int, shape: tuple
) -> LoopOp:
    """Lower the number of nonzero elements, and `any` and `all`, which compare it."""
    one, zero = StridedView("c", 1.0), StridedView("c", 0.0)
    truth = x
    if not x.is_bool:
        is_nonzero = LoopOp("map", np.not_equal, [x, zero.broadcast(x.shape)], x.shape)
        is_nonzero.is_bool = True
        truth = reader.added(is_nonzero)
    choices = [truth, one.broadcast(x.shape), zero.broadcast(x.shape)]
    ones = reader.added(LoopOp("map", np.where, choices, x.shape))
    nonzeros = LoopOp("sum", None, [ones], shape, (axes, 0))
    if f is counted:
        return nonzeros
    total = reader.added(nonzeros)
    bound = StridedView("c", 0.0 if f is np.any else float(count)).broadcast(shape)
    return LoopOp("map", np.greater if f is np.any else np.equal, [total, bound], shape)


def _spread(
    reader: Lowerer, f: Any, x: StridedView, axes: tuple, count: int, shape: tuple
) -> LoopOp:
    """Lower a variance or standard deviation: the mean square of deviations from the mean."""
    if x.is_bool:
        raise NotLowerableError
    kept = tuple([1 if d in axes else n for d, n in enumerate(x.shape)])
    mean = reader.added(LoopOp("sum", None, [x], kept, (axes, count)))
    deviation = reader.added(LoopOp("map", np.subtract, [x, mean.broadcast(x.shape)], x.shape))
    square = reader.added(LoopOp("map", np.square, [deviation], x.shape))
    variance = LoopOp("sum", None, [square], shape, (axes, count))
    if f is np.var:
        return variance
    return LoopOp("map", np.sqrt, [reader.added(variance)], shape)


def _cumulative_sum(reader: Lowerer, x: StridedView, axis: int | None, shape: tuple) -> LoopOp:
    if x.is_bool or not x.shape:
        raise NotLowerableError
    if axis is None:
        x, axis = reader.taken(x, np.ravel), 0
    return LoopOp("running", None, [x], shape, (axis % len(shape),))
