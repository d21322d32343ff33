"""Lowering of steps on arrays to operations on strided views.

All shapes are known, so `x[3:]`, ``x.T`` or a reshaped array is a view of another one: an offset
and a stride for each axis. Every operation reads and writes elements at known offsets, and can be
written as a loop nest (`loop_codegen`).

Values of float32 are held as float64. An operation on them computes in float64 and is rounded: this
gives the bits of NumPy for arithmetic and roots, and sums are more exact.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compiler.kernels.linalg.linalg_ops import LinalgLowering
from autodiff.compiler.kernels.loop_ir import (
    FOLDS,
    LoopOp,
    NotLowerableError,
    StridedView,
    strides_of,
    updated,
)
from autodiff.compiler.kernels.lowering_table import (
    CONVERSIONS,
    computes_in_float32,
    is_real,
    is_view,
    lowering_of,
)
from autodiff.compiler.passes.simplify import LARGEST_COMPARED
from autodiff.compiler.python_backend.scalar_exprs import is_bool
from autodiff.compiler.recording.ir import (
    FLOAT32,
    FLOAT64,
    FLOATS,
    Meta,
    Ref,
    Step,
    add_item,
    guard,
    meta_of,
    sub_item,
)
from autodiff.functions import UFUNC_OF

_ROUNDS_ITSELF = frozenset({"map", "change", "parts", "places"})
"""Operations that move elements, or round each; others are followed by one that rounds."""
_GIVES_NUMBERS = FOLDS | {"map", "call"}


class Lowerer:
    """Lowering of a section of a program: its operations and parameters.

    Attributes
    ----------
    ops : list of LoopOp
        The operations.
    given : list
        The arguments of the kernel: `Ref`s to values from outside of the section, and constant
        arrays.
    """

    def __init__(self, metas: list[Meta], origin: dict[int, Step]) -> None:
        self.metas = metas
        self.origin = origin
        self.ops: list[LoopOp] = []
        self.given: list[Any] = []
        self.views: dict[int, StridedView] = {}
        self.systems: LinalgLowering = LinalgLowering(self)
        self._constants: dict[Any, int] = {}
        self._memory: dict[int, np.ndarray] = {}
        self._is_rounded: Callable = _is_never_rounded  # what this step rounds to float32 first
        self._rounded: dict[int, StridedView] = {}

    # -- operands --------------------------------------------------------------------------------

    def view(self, x: Any) -> StridedView:
        """Return an argument as a view without padding."""
        return self._unpadded(x, self.operand(x))

    def operand(self, x: Any) -> StridedView:
        """Return an argument as a view, which may be padded: elementwise functions read these.

        If the step computes in single precision, the argument is rounded.
        """
        found = self._operand(x)
        if not self._is_rounded(self.metas[x.i] if type(x) is Ref else meta_of(x)):
            return found
        if found.kind == "c":
            return StridedView("c", float(np.float32(found.base)))
        if type(x) is not Ref:
            return self._as_float32(found)
        if x.i not in self._rounded:
            self._rounded[x.i] = self._as_float32(found)
        return self._rounded[x.i]

    def _as_float32(self, x: StridedView) -> StridedView:
        op = LoopOp("map", np.copy, [x], x.shape)
        op.is_float32 = True
        return self.added(op)

    def _unpadded(self, x: Any, found: StridedView) -> StridedView:
        if found.bounds is not None:
            found = self.views[x.i] = self._copy_of(found)
        return found

    def _operand(self, x: Any) -> StridedView:
        if type(x) is Ref:
            known = self.views.get(x.i)
            if known is None:
                known = self.views[x.i] = self._from_outside(x.i)
            return known
        if type(x) is not np.ndarray:
            return StridedView("c", bool(x) if type(x) in (bool, np.bool_) else float(x))
        if x.shape == ():
            return StridedView("c", bool(x) if x.dtype == np.bool_ else float(x))
        repeated = [s == 0 and n > 1 for s, n in zip(x.strides, x.shape, strict=True)]
        if any(repeated):  # store repeated elements once
            once = x[tuple([slice(1 if r else None) for r in repeated])]
            return self._operand(np.ascontiguousarray(once)).broadcast(x.shape)
        if x.dtype == np.bool_:
            return StridedView("x", self._parameter(x), 0, x.shape, strides_of(x.shape), True)
        whole = _whole_of(x)
        n = x.itemsize
        offset, strides = _address_of(x) - _address_of(whole), [s // n for s in x.strides]
        return StridedView("x", self._parameter(whole), offset // n, x.shape, tuple(strides))

    def table(self, offsets: np.ndarray) -> StridedView:
        """Return constant integers as a parameter of the kernel."""
        number = self._parameter(offsets, is_flat=True)
        return StridedView("x", number, 0, offsets.shape, strides_of(offsets.shape))

    def booleans(self, mask: np.ndarray) -> StridedView:
        """Return constant booleans as a parameter of the kernel."""
        number = self._parameter(1.0 * mask, is_flat=True)
        return StridedView("x", number, 0, mask.shape, strides_of(mask.shape), True)

    def _parameter(self, x: np.ndarray, is_flat: bool = False) -> int:
        """Return the index of the parameter for a constant array; equal ones share a parameter."""
        key = _content_key(x)
        number = self._constants.get(key)
        if number is None:
            self.given.append(x.ravel() if is_flat else x)
            number = self._constants[key] = len(self.given) - 1
        return number

    def _from_outside(self, i: int) -> StridedView:
        step = self.origin.get(i)
        if step is not None and is_view(step, self.metas):
            return self.viewed(step)
        meta = self.metas[i]
        self.given.append(Ref(i))
        if meta.shape:
            strides = strides_of(meta.shape)
            return StridedView(
                "x", len(self.given) - 1, 0, meta.shape, strides, meta.dtype == np.bool_
            )
        return StridedView("n", len(self.given) - 1, is_bool=not is_real(meta))

    def viewed(self, step: Step) -> StridedView:
        """Return the result of a step that is a view."""
        x = step.args[0]
        return self.taken(
            self._unpadded(x, self._operand(x)),
            lambda array: _call(step.f, array, step.args[1:], step.kwargs),
        )

    def taken(self, x: StridedView, how: Callable) -> StridedView:
        """Apply `how`, a function that takes a view of an array, to a view.

        NumPy does so on an array with the same strides; if that makes a copy, the view is copied.
        """
        if x.kind in "nc":
            raise NotLowerableError
        high = x.offset + sum(max(0, s * (n - 1)) for n, s in zip(x.shape, x.strides, strict=True))
        memory = self._memory.get(high)
        if memory is None:
            memory = self._memory[high] = np.empty(high + 1)
        strides = tuple([8 * s for s in x.strides])
        model: Any = np.ndarray(x.shape, FLOAT64, memory, 8 * x.offset, strides)
        y = how(model)
        if type(y) is not np.ndarray:
            raise NotLowerableError
        if not y.size:
            return StridedView(x.kind, x.base, x.offset, y.shape, strides_of(y.shape), x.is_bool)
        if not np.may_share_memory(y, memory):
            return self.taken(self._copy_of(x), how)
        start = _address_of(y) - _address_of(memory)
        strides = tuple([s // 8 for s in y.strides])
        return StridedView(x.kind, x.base, start // 8, y.shape, strides, x.is_bool)

    def _copy_of(self, x: StridedView) -> StridedView:
        op = LoopOp("map", np.copy, [x], x.shape)
        op.is_bool = x.is_bool
        return self.added(op)

    def added(self, op: LoopOp) -> StridedView:
        """Add an operation; return its result."""
        self.ops.append(op)
        return StridedView("v", len(self.ops) - 1, 0, op.shape, strides_of(op.shape), op.is_bool)

    # -- steps -----------------------------------------------------------------------------------

    def read(self, step: Step) -> None:
        """Lower a step."""
        if step.out >= 0 and computes_in_float32(step, self.metas):
            self._is_rounded = _is_weak if step.f in (add_item, sub_item) else _is_not_float32
        self._read(step)
        self._is_rounded = _is_never_rounded

    def _read(self, step: Step) -> None:
        if is_view(step, self.metas):
            self.views[step.out] = self.viewed(step)
            return
        f = UFUNC_OF.get(step.f, step.f)
        if f is guard:
            value, how, expected = step.args
            self.ops.append(LoopOp("guard", how, [self.view(value)], (), (expected,)))
            return
        if f is np.linalg.slogdet:
            self.systems.pair(step)
            return
        if f in CONVERSIONS:
            self.views[step.out] = self.view(step.args[0])
            return
        meta = self.metas[step.out]
        how = lowering_of(f, step, self.metas)
        if how is None:
            raise NotLowerableError
        op = how.read(self, step, meta.shape or ())
        if isinstance(op, StridedView):
            self.views[step.out] = op
            return
        op.is_bool = is_bool(meta) or meta.dtype == np.bool_
        op.is_float32 = meta.dtype == FLOAT32
        op.is_number = meta.shape is None
        if op.kind != "map" and any(a.is_bool for a in op.args):
            raise NotLowerableError
        if not op.shape and op.kind not in _GIVES_NUMBERS:
            raise NotLowerableError  # readers expect numbers in variables
        made = self.added(op)
        is_exact = not op.is_float32 or op.kind in _ROUNDS_ITSELF
        self.views[step.out] = made if is_exact else self._as_float32(made)

    def single(self, x: Any) -> StridedView:
        """Return an argument with one element as a number."""
        view = self.view(x)
        if view.is_bool or view.base is True or view.base is False:
            raise NotLowerableError
        return self.taken(view, lambda a: a.reshape(())) if view.shape else view

    def padded(self, x: StridedView, place: StridedView, shape: tuple) -> StridedView | None:
        """Return a view padded with zeros to a shape, with the elements at `place`.

        The result is None if that is impossible, or if most elements would be zeros. A multiple of
        an array becomes a multiple of the padded array, so that the array need not be stored.
        """
        if x.kind not in "vx" or x.bounds is not None or x.is_bool or not x.shape:
            return None
        is_variable = x.kind == "v" and not self.ops[x.base].shape
        if is_variable or 2 * math.prod(place.shape) < math.prod(shape):
            return None
        whole = strides_of(shape)
        inside = {s: d for d, s in enumerate(place.strides) if place.shape[d] > 1}
        if not inside.keys() <= {s for s, m in zip(whole, shape, strict=True) if m > 1}:
            return None
        bounds, strides, offset = [], [], x.offset
        for m, step in zip(shape, whole, strict=True):
            axis = inside.get(step) if m > 1 else None
            first = place.offset // step % m
            bounds.append((first, first + (1 if axis is None else place.shape[axis])))
            strides.append(0 if axis is None else x.strides[axis])
            offset -= first * strides[-1]
        around = (
            None if all(b == (0, m) for b, m in zip(bounds, shape, strict=True)) else tuple(bounds)
        )
        op = self.ops[x.base] if x.kind == "v" and x.is_whole() else None
        if op is not None and op.shape == x.shape and _is_multiple(op):
            args = [
                StridedView("c", a.base).broadcast(shape)
                if a.kind == "c"
                else self.padded(a, place, shape)
                for a in op.args
            ]
            known = [a for a in args if a is not None]
            if len(known) == len(args):
                multiple = LoopOp("map", op.f, known, shape)
                multiple.is_float32 = op.is_float32
                return self.added(multiple)
        return StridedView(x.kind, x.base, offset, shape, tuple(strides), False, around)

    def in_zeros(self, x: StridedView, place: StridedView, shape: tuple) -> LoopOp | StridedView:
        """Return an array of zeros with elements at a place: padded, if most are not zero."""
        padded = self.padded(x, place, shape)
        return updated(x, place, shape) if padded is None else padded

    def region(self, shape: tuple, index: Any) -> StridedView:
        """Return the view that an index takes of an array of a shape."""
        return self.taken(StridedView("v", -1, 0, shape, strides_of(shape)), _at(index))


def _is_never_rounded(meta: Meta) -> bool:
    return False


def _is_weak(meta: Meta) -> bool:
    """Whether a value is a number of Python, which takes the precision of the arrays around it."""
    return meta.type is float or meta.type is int


def _is_not_float32(meta: Meta) -> bool:
    return _is_weak(meta) or meta.dtype == FLOAT64


def _address_of(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


def _whole_of(x: np.ndarray) -> np.ndarray:
    """Return the array that a constant is a view of: all rows of a table share a parameter."""
    whole = x
    while type(whole.base) is np.ndarray:
        whole = whole.base
    is_plain = type(whole) is np.ndarray and whole.dtype == x.dtype in FLOATS
    if is_plain and whole.flags.c_contiguous and whole.shape:
        return whole
    if not x.flags.c_contiguous:
        raise NotLowerableError
    return x


def _content_key(x: np.ndarray) -> Any:
    """Return a key by which equal constants are shared: loop iterations make copies of theirs."""
    if x.nbytes > LARGEST_COMPARED:
        return id(x)
    return (x.dtype.char, x.shape, x.tobytes())


def _is_multiple(op: LoopOp) -> bool:
    """Whether an operation multiplies an array by a finite constant."""
    numbers = [a.base for a in op.args if a.kind == "c"]
    if op.f is np.multiply:
        return len(numbers) == 1 and bool(np.isfinite(numbers[0]))
    return op.f is np.negative and not numbers


def _at(index: Any) -> Callable:
    parts = index if type(index) is tuple else (index,)
    whole = parts if any(p is Ellipsis for p in parts) else (*parts, Ellipsis)
    return lambda x: x[whole]


def _call(f: Any, x: Any, args: tuple, kwargs: dict | None) -> Any:
    return _at(args[0])(x) if f is operator.getitem else f(x, *args, **(kwargs or {}))
