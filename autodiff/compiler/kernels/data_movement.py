"""Lowering of functions that move elements: pad, roll, diff, concatenate, tril, triu, diag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.compiler.kernels.loop_ir import (
    LoopOp,
    NotLowerableError,
    StridedView,
    strides_of,
    updated,
)
from autodiff.compiler.recording.ir import Meta, Ref, Step, refs_of
from autodiff.functions import facts_of

if TYPE_CHECKING:
    from autodiff.compiler.kernels.step_lowering import Lowerer

_SYNONYMS = {"array": "a", "pad_width": "widths", "arrays": "a", "m": "a", "v": "a"}
_DEFAULTS: dict[str, Any] = {"axis": None, "n": 1, "mode": "constant", "k": 0}
_MATRICES = frozenset({np.tril, np.triu, np.diag})


def _bound_arguments(step: Step) -> dict[str, Any] | None:
    """Return the arguments of a call by name; None if they are not supported."""
    names = facts_of(step.f).parameters
    if not names or len(step.args) > len(names):
        return None
    given = dict(zip(names, step.args, strict=False))
    for key, value in (step.kwargs or {}).items():
        given[_SYNONYMS.get(key, key)] = value
    if not given.keys() <= set(names):
        return None
    found = {**{k: v for k, v in _DEFAULTS.items() if k in names}, **given}
    options = [v for k, v in found.items() if k != "a"]
    return None if refs_of(Step(step.f, tuple(options), None, 0)) else found


def is_move(step: Step, metas: list[Meta]) -> bool:
    """Whether `lower_move` can lower a call, as far as its options are concerned."""
    given = _bound_arguments(step)
    if given is None:
        return False
    if step.f is np.concatenate:
        return type(given["a"]) in (list, tuple) and type(given["axis"]) is int
    a = given["a"]
    if not isinstance(a, (Ref, np.ndarray)):
        return False
    shape: Any = metas[a.i].shape if isinstance(a, Ref) else a.shape
    if step.f in _MATRICES:  # `diag` of a matrix is a view
        return type(given["k"]) is int and shape is not None
    if step.f is np.roll:
        is_flat = given["axis"] is None and len(shape) == 1
        return isinstance(given["shift"], (int, np.integer)) and (
            is_flat or type(given["axis"]) is int
        )
    if step.f is np.diff:
        return type(given["n"]) is int and given["n"] == 1
    return given["mode"] == "constant" and _are_integers(given["widths"])


def _are_integers(widths: Any) -> bool:
    try:
        return np.asarray(widths).dtype.kind == "i"
    except ValueError:
        return False


def arrays_of(step: Step) -> list:
    """Return the arrays that a call moves."""
    given: Any = _bound_arguments(step)
    return list(given["a"]) if step.f is np.concatenate else [given["a"]]


def lower_move(reader: Lowerer, step: Step, shape: tuple) -> LoopOp | StridedView:
    """Lower a call to an operation or a view; operations that it needs are added before."""
    given: Any = _bound_arguments(step)
    views = [reader.view(a) for a in arrays_of(step)]
    if any(v.is_bool for v in views):
        raise NotLowerableError
    if step.f is np.concatenate:
        return joined(reader, views, shape, given["axis"] % len(shape))
    (x,) = views
    if step.f in _MATRICES:
        return _masked(reader, step.f, x, given["k"], shape)
    if step.f is np.pad:
        widths = np.broadcast_to(np.asarray(given["widths"]), (len(shape), 2)).tolist()
        index = tuple([slice(a, n - b) for n, (a, b) in zip(shape, widths, strict=True)])
        place = reader.region(shape, index)
        return reader.in_zeros(x, place, shape)
    axis = -1 if given["axis"] is None else given["axis"]
    axis %= len(shape)

    def part(first: int, end: int) -> StridedView:
        return reader.taken(x, lambda array: array[_along(axis, first, end)])

    n = x.shape[axis]
    if step.f is np.diff:
        return LoopOp("map", np.subtract, [part(1, n), part(0, n - 1)], shape)
    s = int(given["shift"]) % n
    return joined(reader, [part(n - s, n), part(0, n - s)] if s else [x], shape, axis)


def _masked(reader: Lowerer, f: Any, x: StridedView, k: int, shape: tuple) -> LoopOp:
    """Lower `tril` and `triu`, and `diag` of a vector."""
    if f is np.diag:
        if len(x.shape) != 1:
            raise NotLowerableError
        whole = StridedView("v", -1, 0, shape, strides_of(shape))
        return updated(x, reader.taken(whole, lambda a: a.diagonal(k)), shape)
    rows, columns = shape[-2:]
    mask = np.tri(rows, columns, k if f is np.tril else k - 1, dtype=bool)
    chosen = reader.booleans(mask if f is np.tril else ~mask)
    choices = [chosen, x, StridedView("c", 0.0)]
    return LoopOp("map", np.where, [v.broadcast(shape) for v in choices], shape)


def _along(axis: int, first: int, end: int) -> tuple:
    return (*[slice(None)] * axis, slice(first, end))


def joined(reader: Lowerer, views: list[StridedView], shape: tuple, axis: int) -> LoopOp:
    """Return arrays joined along an axis, which is a new one if they have an axis less."""
    strides, begin, regions = strides_of(shape), 0, []
    for view in views:
        is_new = len(view.shape) < len(shape)
        regions.append((begin, strides[:axis] + strides[axis + is_new :]))
        begin += strides[axis] * (1 if is_new else view.shape[axis])
    if axis == 0 or len(views[0].shape) < len(shape):
        return LoopOp("parts", None, views, shape, (True, regions))
    op: Any = None  # updates are fused with what computes the parts
    for view, (offset, own) in zip(views, regions, strict=True):
        place = StridedView("v", -1, offset, view.shape, own)
        op = updated(view, place, shape, None if op is None else reader.added(op))
    return op
