"""Lowering of reductions: sums, extrema, counts, variances, cumulative sums."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.compiler.kernels.loop_ir import NotSmallError, Op, View
from autodiff.compiler.passes.integers_as_floats import counted
from autodiff.compiler.recording.ir import Step, has_refs
from autodiff.functions import REDUCTION, of_kind

if TYPE_CHECKING:
    from autodiff.compiler.kernels.lowering import Reader

_EXTREMA: dict[Any, str] = {np.max: "max", np.min: "min"}
REDUCED = of_kind(REDUCTION) | {counted}
OF_TRUTHS = frozenset({counted, np.any, np.all})
"""Reductions that also take booleans."""
_PLAIN: dict[str, Any] = {"dtype": (None,), "ddof": (0, 0.0), "correction": (0, 0.0)}


def is_reduction(step: Step) -> bool:
    """Whether `reduced` can lower a call, as far as its options are concerned."""
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


def reduced(reader: Reader, step: Step, shape: tuple) -> Op:
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
    if step.f in OF_TRUTHS:
        return _count(reader, step.f, x, axes, count, shape)
    if step.f in (np.var, np.std):
        return _spread(reader, step.f, x, axes, count, shape)
    if x.is_bool:
        raise NotSmallError
    kind = _EXTREMA.get(step.f, "sum")
    if kind != "sum":
        return Op(kind, None, [x], shape, (axes, options.get("initial")))
    return Op(kind, None, [x], shape, (axes, count if step.f is np.mean else 0))


def _count(reader: Reader, f: Any, x: View, axes: tuple, count: int, shape: tuple) -> Op:
    """Lower the number of nonzero elements, and `any` and `all`, which compare it."""
    one, zero = View("c", 1.0), View("c", 0.0)
    truth = x
    if not x.is_bool:
        is_nonzero = Op("map", np.not_equal, [x, zero.broadcast(x.shape)], x.shape)
        is_nonzero.is_bool = True
        truth = reader.added(is_nonzero)
    choices = [truth, one.broadcast(x.shape), zero.broadcast(x.shape)]
    ones = reader.added(Op("map", np.where, choices, x.shape))
    nonzeros = Op("sum", None, [ones], shape, (axes, 0))
    if f is counted:
        return nonzeros
    total = reader.added(nonzeros)
    bound = View("c", 0.0 if f is np.any else float(count)).broadcast(shape)
    return Op("map", np.greater if f is np.any else np.equal, [total, bound], shape)


def _spread(reader: Reader, f: Any, x: View, axes: tuple, count: int, shape: tuple) -> Op:
    """Lower a variance or standard deviation: the mean square of deviations from the mean."""
    if x.is_bool:
        raise NotSmallError
    kept = tuple([1 if d in axes else n for d, n in enumerate(x.shape)])
    mean = reader.added(Op("sum", None, [x], kept, (axes, count)))
    deviation = reader.added(Op("map", np.subtract, [x, mean.broadcast(x.shape)], x.shape))
    square = reader.added(Op("map", np.square, [deviation], x.shape))
    variance = Op("sum", None, [square], shape, (axes, count))
    if f is np.var:
        return variance
    return Op("map", np.sqrt, [reader.added(variance)], shape)


def _cumulative_sum(reader: Reader, x: View, axis: int | None, shape: tuple) -> Op:
    if x.is_bool or not x.shape:
        raise NotSmallError
    if axis is None:
        x, axis = reader.taken(x, np.ravel), 0
    return Op("running", None, [x], shape, (axis % len(shape),))
