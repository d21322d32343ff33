"""Lowering of reductions: sums, extrema, counts, cumulative sums."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.compiler.kernels import row_blocks
from autodiff.compiler.kernels.loop_ir import (
    LoopOp,
    NotLowerableError,
    StridedView,
    in_terms,
    strides_of,
)
from autodiff.compiler.passes.counts_as_floats import counted
from autodiff.compiler.recording.ir import Step, has_refs
from autodiff.functions import REDUCTION, of_kind

if TYPE_CHECKING:
    from autodiff.compiler.kernels.step_lowering import Lowerer

_FOLDS: dict[Any, tuple[str, float]] = {
    np.sum: ("sum", 0.0), np.max: ("max", -math.inf), np.min: ("min", math.inf),
}  # fmt: skip
"""Function → kind of its fold, and where that starts."""
REDUCED = of_kind(REDUCTION) | {counted}
BOOLEAN_REDUCTIONS = frozenset({counted, np.any, np.all})
"""Reductions that also take booleans."""
_FEW = 16
"""Up to so many elements are folded without a loop."""
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
        or (key == "initial" and step.f in (np.max, np.min) and _is_bound(value))
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
    if x.is_bool:
        raise NotLowerableError
    if step.f is np.mean:
        total = reader.added(_fold("sum", x, axes, shape))
        divisor = StridedView("c", float(count)).broadcast(shape)
        return LoopOp("map", np.true_divide, [total, divisor], shape)
    kind, start = _FOLDS[step.f]
    initial = options.get("initial")
    return _fold(kind, x, axes, shape, start if initial is None else initial)


def _fold(kind: str, x: StridedView, axes: tuple, shape: tuple, start: float = 0.0) -> LoopOp:
    """Return a fold of an array along axes.

    Its loops are in the order of the strides, but those that reduce a few elements are innermost.
    """
    are_few = math.prod([x.shape[d] for d in axes]) <= _FEW
    order = sorted(
        range(len(x.shape)),
        key=lambda d: (are_few and d in axes, x.strides[d] != 0, -abs(x.strides[d])),
    )
    kept = [d for d in range(len(x.shape)) if d not in axes]
    out = dict(zip(kept, strides_of(tuple([x.shape[d] for d in kept])), strict=True))
    extents, strides = (tuple([n[d] for d in order]) for n in (x.shape, x.strides))
    ordered = StridedView(x.kind, x.base, x.offset, extents, strides, x.is_bool)
    views, along = [ordered], [k for k, d in enumerate(order) if d in axes]
    is_across = order and along and along[-1] != len(order) - 1
    is_large = math.prod(extents) >= row_blocks.LARGE  # it runs in blocks with others
    if kind == "sum" and is_across and not is_large:
        views = in_terms(views, along[-1])
    return LoopOp(kind, None, views, shape, (start, tuple([out.get(d, 0) for d in order])))


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
    nonzeros = _fold("sum", ones, axes, shape)
    if f is counted:
        return nonzeros
    total = reader.added(nonzeros)
    bound = StridedView("c", 0.0 if f is np.any else float(count)).broadcast(shape)
    return LoopOp("map", np.greater if f is np.any else np.equal, [total, bound], shape)


def _cumulative_sum(reader: Lowerer, x: StridedView, axis: int | None, shape: tuple) -> LoopOp:
    if x.is_bool or not x.shape:
        raise NotLowerableError
    if axis is None:
        x, axis = reader.taken(x, np.ravel), 0
    return LoopOp("running", None, [x], shape, (axis % len(shape),))
