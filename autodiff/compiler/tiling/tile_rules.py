"""Rules of tiling: which steps can run tile by tile, and along which axis.

A tile is a range of one axis, with the whole extent of the others. Elementwise steps, views, writes
and reductions along other axes keep the tiles independent. A reduction along the axis itself gives
a partial result for each tile; these are combined at the end.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from autodiff.compiler.kernels.lowering_table import NUMBERS, VIEWS, is_plain, is_real
from autodiff.compiler.passes.counts_as_floats import counted
from autodiff.compiler.recording.ir import (
    FLOAT64,
    FLOATS,
    Meta,
    Ref,
    Step,
    add_item,
    has_refs,
    is_outer,
    set_item,
    sub_item,
)
from autodiff.functions import (
    ELEMENTWISE,
    MATRIX_PRODUCTS,
    PRODUCT,
    UFUNC_OF,
    is_elementwise,
    known,
    of_kind,
    takes_floats,
)

_ELEMENTWISE = of_kind(ELEMENTWISE)
_CHANGES = frozenset({set_item, add_item, sub_item})
_DIAGONALS = frozenset({np.diag, np.diagonal, np.linalg.diagonal})
_SHAPED = frozenset({np.reshape, np.broadcast_to})
_COMBINED: dict[Any, np.ufunc] = {**known("combined_by"), counted: np.add}
_DOTS = of_kind(PRODUCT)
_FEW_TERMS, _WIDEST_ROW, _LARGEST_PART = 16, 256, 4096


class Member(NamedTuple):
    """A step that runs tile by tile.

    Attributes
    ----------
    step : Step
        The step.
    cuts : tuple
        For each argument, the axis along which it is cut; None for one that each tile reads whole.
    axis : int or None
        The axis along which the result is cut; None if each tile gives a partial result.
    combined : numpy.ufunc or None
        Combines the partial results.
    """

    step: Step
    cuts: tuple
    axis: int | None
    combined: np.ufunc | None = None


class TilingRules:
    """Finds out how a group of steps can run along one axis.

    Attributes
    ----------
    n : int
        The extent of the axis.
    axes : dict
        For each value that is computed tile by tile, the axis along which it is cut.
    """

    def __init__(self, metas: list[Meta], n: int) -> None:
        self.metas = metas
        self.n = n
        self.axes: dict[int, int] = {}

    def member(self, step: Step) -> Member | None:
        """Return a step that reads tiles as a member; None if it cannot run tile by tile."""
        f = UFUNC_OF.get(step.f, step.f)
        if step.out < 0 or not self._is_known(step.out):
            return None
        if is_elementwise(f) or f in _ELEMENTWISE:
            return self.elementwise(step)
        if f in _COMBINED:
            return self._reduction(step)
        if f in _DOTS and is_real(self.metas[step.out]):
            return self._dot(step)
        if f in MATRIX_PRODUCTS:
            return self._product(step)
        if is_outer(step):
            return self._outer(step)
        if f in _CHANGES:
            return self._change(step)
        if f in VIEWS and f not in _DIAGONALS:
            return self._view(step)
        return None

    def first(self, step: Step, axis: int) -> Member | None:
        """Return the first step of a group as a member, with its array cut along an axis."""
        if step.f in _COMBINED:
            return self._reduction(step, axis) if self._is_known(step.out) else None
        if step.f in MATRIX_PRODUCTS:
            return self._product(step, axis) if self._is_known(step.out) else None
        if is_outer(step):
            return self._outer(step, axis) if self._is_known(step.out) else None
        return self.elementwise(step, axis)

    def elementwise(self, step: Step, axis: int | None = None) -> Member | None:
        """Return an elementwise step as a member.

        The result is cut along the axis of the arguments that are cut, or else along `axis`.
        """
        f: Any = UFUNC_OF.get(step.f, step.f)
        if step.kwargs or (is_elementwise(f) and not takes_floats(f)):
            return None
        shape = self.metas[step.out].shape or ()
        backward = None if axis is None else len(shape) - axis
        for a in step.args:
            if type(a) is Ref and a.i in self.axes:
                mine = len(self.metas[a.i].shape or ()) - self.axes[a.i]
                if backward is not None and mine != backward:
                    return None
                backward = mine
        if backward is None:
            return None
        cuts = self._cuts(step.args, backward)
        if cuts is None or shape[len(shape) - backward] != self.n:
            return None
        return Member(step, cuts, len(shape) - backward)

    def _cuts(self, args: tuple, backward: int) -> tuple | None:
        """Return where broadcast arguments are cut; the axis is counted from the end."""
        cuts: list[int | None] = []
        for a in args:
            shape = self._shape(a)
            if shape is None:
                return None
            is_cut = len(shape) >= backward and shape[len(shape) - backward] == self.n
            if type(a) is Ref and a.i in self.axes:  # two axes may have the same extent
                is_cut = is_cut and self.axes[a.i] == len(shape) - backward
                if not is_cut:
                    return None
            cuts.append(len(shape) - backward if is_cut else None)
        return tuple(cuts)

    def _shape(self, x: Any) -> tuple | None:
        """Return the shape of an operand; None for an unsupported type."""
        if type(x) is Ref:
            meta = self.metas[x.i]
            if meta.type is np.ndarray and meta.dtype in (*FLOATS, np.bool_):
                return meta.shape
            return () if is_real(meta) or meta.type in (bool, np.bool_) else None
        if type(x) is np.ndarray:
            return x.shape if x.dtype in (*FLOATS, np.bool_) else None
        return () if type(x) in NUMBERS else None

    def _is_known(self, i: int) -> bool:
        meta = self.metas[i]
        return meta.type is float or meta.dtype in (*FLOATS, np.bool_)

    def _reduction(self, step: Step, along: int | None = None) -> Member | None:
        """Return a reduction as a member."""
        f: Any = step.f
        options = dict(step.kwargs or {})
        axis, keepdims = options.pop("axis", None), options.pop("keepdims", False)
        options = {k: v for k, v in options.items() if not (k == "dtype" and v is None)}
        if f in (np.max, np.min) and type(options.get("initial")) in (int, float):
            options.pop("initial")
        x = step.args[0]
        mine = self.axes.get(x.i, along) if type(x) is Ref else None
        if options or len(step.args) != 1 or mine is None:
            return None
        if not (axis is None or type(axis) in (int, tuple)) or has_refs(axis):
            return None
        meta = self.metas[x.i]
        if f in (np.sum, np.mean, np.max, np.min) and meta.dtype not in FLOATS:
            return None
        d = len(meta.shape or ())
        axes = range(d) if axis is None else axis if type(axis) is tuple else (axis,)
        reduced = {a % d for a in axes}
        if mine in reduced:
            return Member(step, (mine,), None, _COMBINED[f])
        gone = 0 if keepdims else sum(1 for a in reduced if a < mine)
        return Member(step, (mine,), mine - gone)

    def _dot(self, step: Step) -> Member | None:
        """Return an inner product of two arrays of the same shape as a member."""
        if step.kwargs:
            return None
        mine = next(self.axes[a.i] for a in step.args if type(a) is Ref and a.i in self.axes)
        shapes = [self._shape(a) for a in step.args]
        if shapes[0] != shapes[1] or shapes[0] is None or shapes[0][mine] != self.n:
            return None
        if any(type(a) is Ref and self.axes.get(a.i, mine) != mine for a in step.args):
            return None
        return Member(step, (mine, mine), None, np.add)

    def _product(self, step: Step, along: int | None = None) -> Member | None:
        """Return a matrix product as a member: by rows, by columns, or as a sum of products.

        BLAS first rearranges a matrix that is not cut, and does so for each tile, so the rows have
        to be short.
        """
        out = self.metas[step.out].shape
        if step.kwargs or not out or not all(map(self._is_matrix, step.args)):
            return None
        left, right = step.args
        a, b = self._shape(left) or (), self._shape(right) or ()
        rows = self.axes.get(left.i) if type(left) is Ref else None
        columns = self.axes.get(right.i) if type(right) is Ref else None
        if along is not None:
            rows = 0 if along == 0 and len(a) == 2 else None
            columns = 1 if rows is None else None
        if (rows is not None and rows == len(a) - 1) or columns == 0:
            is_both = rows in (None, len(a) - 1) and columns in (None, 0)
            is_small = math.prod(out) <= _LARGEST_PART
            cuts = (len(a) - 1, 0)
            return Member(step, cuts, None, np.add) if is_both and is_small else None
        if rows is not None and columns is not None:
            return None
        widest = max(math.prod(out) // self.n, a[-1])
        is_wide = a[-1] > _FEW_TERMS and widest > _WIDEST_ROW
        if is_wide and len(b if rows is not None else a) == 2:
            return None
        if rows is not None:
            return Member(step, (0, None), 0)
        return Member(step, (None, 1), len(out) - 1) if len(b) == 2 else None

    def _outer(self, step: Step, along: int | None = None) -> Member | None:
        """Return an outer product as a member: one of the vectors is cut."""
        *rest, left, right = step.args
        factors = left, right
        if step.kwargs or not all(
            self._is_matrix(x) and len(self._shape(x) or ()) == 1 for x in factors
        ):
            return None
        cut = {k for k, x in enumerate(factors) if type(x) is Ref and x.i in self.axes}
        if along is not None:
            cut.add(along)
        if len(cut) != 1:
            return None
        (axis,) = cut
        if self._shape(factors[axis]) != (self.n,):
            return None
        cuts = (0, None) if axis == 0 else (None, 0)
        return Member(step, (*[None] * len(rest), *cuts), axis)

    def _is_matrix(self, x: Any) -> bool:
        shape = self._shape(x)
        return bool(shape) and len(shape or ()) <= 2 and self._kind(x) in FLOATS

    def _viewed(self, step: Step, shape: tuple, axis: int, args: tuple) -> tuple[tuple, int] | None:
        """Return the shape of a view, and which of its axes is the given axis of the array.

        It takes the view of a model that has a nonzero stride only along the axis.
        """
        strides = [0] * len(shape)
        strides[axis] = 1
        buffer = np.empty(self.n, np.uint8)
        model: Any = np.ndarray(shape, np.uint8, buffer, strides=tuple(strides))
        try:
            view = step.f(model, *args, **(step.kwargs or {}))
        except Exception:  # the arguments do not fit the model
            return None
        if type(view) is not np.ndarray or not np.may_share_memory(view, buffer):
            return None
        found = [k for k, s in enumerate(view.strides) if s and view.shape[k] > 1]
        if len(found) != 1 or view.shape[found[0]] != self.n or view.strides[found[0]] != 1:
            return None
        return view.shape, found[0]

    def _view(self, step: Step) -> Member | None:
        """Return a view as a member."""
        x, *rest = step.args
        args = tuple(rest)
        if type(x) is not Ref or x.i not in self.axes or has_refs((args, step.kwargs or {})):
            return None
        if step.f is operator.getitem and not is_plain(args[0]):
            return None
        if step.f in _SHAPED and (step.kwargs or len(args) != 1):
            return None
        meta, out = self.metas[x.i], self.metas[step.out]
        if out.type is not np.ndarray or out.dtype != meta.dtype:
            return None
        view = self._viewed(step, meta.shape or (), self.axes[x.i], args)
        if view is None or view[0] != out.shape:
            return None
        return Member(step, (self.axes[x.i], *[None] * len(args)), view[1])

    def _change(self, step: Step) -> Member | None:
        """Return a write as a member: an update of the same region of each tile."""
        before, index, value = step.args
        shape, given = self._shape(before), self._shape(value)
        if shape is None or given is None or not is_plain(index):
            return None
        if len({self._kind(before), self._kind(value), self.metas[step.out].dtype}) != 1:
            return None
        tried = range(len(shape))
        if type(before) is Ref and before.i in self.axes:
            tried = range(self.axes[before.i], self.axes[before.i] + 1)
        for axis in tried:
            if shape[axis] != self.n:
                continue
            region = Step(operator.getitem, (before, index), None, -1)
            view = self._viewed(region, shape, axis, (index,))
            if view is None:
                continue
            cuts = self._cuts((value,), len(view[0]) - view[1])
            if cuts is not None:
                return Member(step, (axis, None, cuts[0]), axis)
        return None

    def _kind(self, x: Any) -> Any:
        if type(x) is Ref:
            return self.metas[x.i].dtype or FLOAT64
        return x.dtype if type(x) is np.ndarray else FLOAT64


def in_tile(member: Member, args: tuple, shape: tuple | None) -> tuple[Any, tuple]:
    """Return the function and arguments of a member for a tile with a result of a given shape."""
    if member.step.f in _SHAPED:
        return member.step.f, (args[0], shape)
    if member.step.f is np.einsum:
        return np.outer, args[1:]
    if member.step.f is np.mean and member.axis is None:
        return np.sum, args  # divided at the end
    return member.step.f, args
