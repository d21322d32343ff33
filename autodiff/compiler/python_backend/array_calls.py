"""Source of steps on arrays: the cheapest NumPy call for each, writing into existing memory."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.compiler.passes.scalar_replacement import pack
from autodiff.compiler.python_backend import scalar_exprs
from autodiff.compiler.recording.ir import (
    FLOAT64,
    Ref,
    Step,
    add_item,
    is_outer,
    meta_of,
    part,
    set_flat,
    set_item,
    sub_item,
)
from autodiff.functions import SIGNS, is_elementwise, takes_floats
from chainrules_core.operations.contraction import path_of
from chainrules_core.operations.scattering import may_repeat, scatter

_SMALL = 128
"""For arrays with fewer elements, allocating is cheaper than passing `out`."""


class Buffers:
    """Memory for values that a program does not return, reused from call to call."""

    def __init__(self, emitter: Any) -> None:
        self.emitter = emitter
        self.count = 0
        self.kinds: list[tuple[tuple, np.dtype]] = []
        self._free: dict[tuple, list[int]] = {}
        self._held: dict[int, int] = {}  # value → buffer
        self._until: dict[int, list[int]] = {}  # step → the values that are dead after it

    def take(self, out: int, shape: tuple, dtype: np.dtype) -> str:
        """Return the name of a buffer that holds a value while it is live."""
        free = self._free.setdefault((shape, dtype), [])
        if free:
            n = free.pop()
        else:
            n = self.count
            self.count += 1
            self.kinds.append((shape, dtype))
        self.hold(out, n)
        return f"b{n}"

    def hold(self, out: int, n: int) -> None:
        """Note that a buffer holds a value."""
        self._held[out] = n
        self._until.setdefault(self.emitter.memory.until[out], []).append(out)

    def of(self, i: int) -> int | None:
        """Return the buffer that holds a value; None if there is none."""
        return self._held.get(i)

    def release(self, i: int) -> None:
        """Note that another value takes over the buffer of a value."""
        self._held.pop(i, None)

    def free(self, at: int) -> None:
        """Free the buffers of the values that are dead after step `at`."""
        for i in self._until.pop(at, ()):
            n = self._held.pop(i, None)
            if n is not None:
                self._free[self.kinds[n]].append(n)

    def prologue_and_epilogue(self, late: list[str], result: str) -> tuple[list[str], list[str]]:
        """Return the lines that take the buffers, and those that put them back at the end."""
        names = self.emitter.names
        pool: list = []
        kinds = list(self.kinds)

        def make() -> tuple:
            return tuple([np.empty(shape, dtype) for shape, dtype in kinds])

        names.scope["buffers"], names.scope["new_buffers"] = pool, make
        taken = ", ".join(f"b{n}" for n in range(self.count))
        return [
            "try: held = buffers.pop()",
            "except IndexError: held = new_buffers()",  # another thread may use them
            f"{taken}{',' if self.count == 1 else ''} = held",
        ], [*late, f"result = {result}", "buffers.append(held)", "return result"]


def emit(e: Any, step: Step) -> bool:
    """Write a step in a special form, if there is one; return whether there is."""
    f = step.f
    if is_elementwise(f) and not step.kwargs:
        return _elementwise(e, step)
    write = _FORMS.get(f)
    return write is not None and write(e, step)


def _is_array(e: Any, x: Any) -> bool:
    return type(x) is Ref and e.metas[x.i].type is np.ndarray


def _operand(e: Any, f: Any, x: Any, meta: Any, is_double: bool) -> str:
    """Return an operand of a ufunc; a Python float stays one if this keeps the dtype."""
    if type(x) is Ref:
        return e.variable(x.i) if is_double else e.boxed(x.i)
    is_float = type(x) is float or (type(x) is int and takes_floats(f))
    if is_float and meta.dtype == FLOAT64 and meta.shape:
        box = np.array(float(x))
        key = box.tobytes()
        known = _boxes.get(key)
        return e.names.of(caches.put(_boxes, key, box, 4096) if known is None else known, "k")
    return e.argument(x)


_boxes: dict[bytes, np.ndarray] = caches.register("constants of programs", {})


def _elementwise(e: Any, step: Step) -> bool:
    f, out = step.f, step.out
    meta = e.metas[out]
    if meta.type is not np.ndarray:
        if f in SIGNS and len(step.args) == 2:
            a, b = map(e.argument, step.args)
            e.assign(out, f"{a} {SIGNS[f]} {b}")
            return True
        return False
    operands = map(e.meta, step.args)
    is_double = meta.dtype == FLOAT64 and any(m.shape and m.dtype == FLOAT64 for m in operands)
    args = [_operand(e, f, a, meta, is_double) for a in step.args]
    name = e.names.of(f, f.__name__)
    target = _target(e, step, meta)
    e.assign(out, f"{name}({', '.join([*args, *target])})")
    return True


def _target(e: Any, step: Step, meta: Any) -> list[str]:
    """Return the argument `out` of a ufunc, if there is memory to reuse.

    It is given by name: NumPy warns of a third argument of `maximum` without one.
    """
    out = step.out
    if meta.size < _SMALL:
        return []
    is_private = e.memory.is_private(out)
    for a in step.args:
        if type(a) is not Ref or not e.memory.is_free(a, e.at):
            continue
        mine = e.metas[a.i]
        n = e.buffers.of(a.i)
        if (
            mine.shape != meta.shape
            or mine.dtype != meta.dtype
            or (n is not None and not is_private)
        ):
            continue
        if n is not None:
            e.buffers.release(a.i)
            e.buffers.hold(out, n)
        return [f"out={e.variable(a.i)}"]
    return [f"out={e.buffers.take(out, meta.shape, meta.dtype)}"] if is_private else []


# -- functions with special forms ------------------------------------------------------------------


def _getitem(e: Any, step: Step) -> bool:
    x, index = step.args
    e.assign(step.out, f"{e.argument(x)}[{e.index(index)}]")
    return True


def _reduction(ufunc: np.ufunc, name: str, kinds: str = "") -> Any:
    """Return what writes a reduction; `kinds` are those of the arrays it is written for, or all."""

    def write(e: Any, step: Step) -> bool:
        options = dict(step.kwargs or {})
        axis, keepdims = options.pop("axis", None), options.pop("keepdims", False)
        if options.pop("where", True) is not True or any(v is not None for v in options.values()):
            return False
        if len(step.args) != 1 or not _is_array(e, step.args[0]):
            return False
        meta = e.metas[step.args[0].i]
        if kinds and meta.dtype.kind not in kinds:
            return False
        args = [e.argument(step.args[0])]
        args += [] if axis is None and len(meta.shape) == 1 and not keepdims else [repr(axis)]
        args += ["keepdims=True"] if keepdims else []
        e.assign(step.out, f"{e.names.of(ufunc.reduce, name)}({', '.join(args)})")
        return True

    return write


def _matmul(e: Any, step: Step) -> bool:
    if step.kwargs or len(step.args) != 2:
        return False
    metas = [e.meta(a) for a in step.args]
    if any(m.type is not np.ndarray or m.dtype != FLOAT64 or len(m.shape) > 2 for m in metas):
        return False
    if not metas[0].shape or not metas[1].shape:
        return False
    a, b = map(e.argument, step.args)
    meta = e.metas[step.out]
    target = ""
    if meta.type is np.ndarray and meta.size >= _SMALL and e.memory.is_private(step.out):
        target = f", {e.buffers.take(step.out, meta.shape, meta.dtype)}"
    e.assign(step.out, f"{a}.dot({b}{target})")
    return True


def _einsum(e: Any, step: Step) -> bool:
    """Write an outer product as column times row, which is faster; others with their path."""
    subscripts, *operands = step.args
    if not step.kwargs and is_outer(step):
        a, b = map(e.argument, operands)
        e.assign(step.out, f"{a}[:, None].dot({b}[None])")
        return True
    if type(subscripts) is not str or (step.kwargs or {}).keys() - {"optimize"}:
        return False
    shapes = [(e.metas[x.i] if type(x) is Ref else meta_of(x)).shape or () for x in operands]
    path = path_of(subscripts, tuple(shapes))
    if not path:
        return False
    args = ", ".join(map(e.argument, step.args))
    f = e.names.of(np.einsum, "einsum")
    as_number = "" if e.metas[step.out].shape is not None else "[()]"  # by a path it is an array
    e.assign(step.out, f"{f}({args}, optimize={path!r}){as_number}")
    return True


def _transpose(e: Any, step: Step) -> bool:
    axes = step.args[1] if len(step.args) > 1 else (step.kwargs or {}).get("axes")
    if not _is_array(e, step.args[0]):
        return False
    shown = e.argument(step.args[0])
    e.assign(step.out, f"{shown}.T" if axes is None else f"{shown}.transpose({e.argument(axes)})")
    return True


def _reshape(e: Any, step: Step) -> bool:
    """Write a reshape that only adds or drops axes."""
    meta = e.metas[step.out]
    order = (step.kwargs or {}).get("order", "C")
    if (
        not _is_array(e, step.args[0])
        or meta.type is not np.ndarray
        or order != "C"
        or (step.f is np.reshape and len(step.args) > 2)
        or (step.f is np.ravel and len(step.args) > 1)
    ):
        return False
    how = "ravel()" if step.f is np.ravel else f"reshape({meta.shape!r})"  # it may be a copy
    e.assign(step.out, f"{e.argument(step.args[0])}.{how}")
    return True


def _copy(e: Any, step: Step) -> bool:
    if not _is_array(e, step.args[0]):
        return False
    e.assign(step.out, f"{e.argument(step.args[0])}.copy()")
    return True


def _update(e: Any, step: Step) -> bool:
    """Write ``before[index] = value``, in place if `before` is dead afterwards."""
    before, index, value = step.args
    meta = e.metas[step.out]
    name = f"v{step.out}"
    if e.memory.is_free(before, e.at) and not e.is_float[before.i]:
        name = e.variable(before.i)
        n = e.buffers.of(before.i)
        if n is not None and not e.memory.is_private(step.out):
            e.lines.append(f"v{step.out} = {name}.copy()")
            name = f"v{step.out}"
        else:
            e.variables[step.out] = name
            if n is not None:
                e.buffers.release(before.i)
                e.buffers.hold(step.out, n)
    else:
        shown = f"{e.argument(before)}.copy()"
        if e.meta(before).type is not np.ndarray:
            shown = f"{e.names.of(np.array, 'array')}({e.argument(before)})"
        e.lines.append(f"{name} = {shown}")
    is_float64 = type(value) is Ref and meta.dtype == FLOAT64
    shown = e.variable(value.i) if is_float64 else e.argument(value)
    where = f"{name}[{e.index(index)}]"
    if step.f is set_flat:
        if type(index) is Ref and len(meta.shape) > 1:  # `put` works for any memory layout
            put = e.names.of(np.put, "put")
            e.lines.append(f"{put}({name}, {e.argument(index)}, {shown})")
            return True
        where = _flat_target(e, name, index, meta.shape)
    e.lines.append(f"{where} {_ASSIGN.get(step.f, '=')} {shown}")
    return True


def _flat_target(e: Any, name: str, places: Any, shape: tuple) -> str:
    """Return elements at flat indices as the target of an assignment, for any memory layout."""
    if len(shape) > 1 and type(places) is np.ndarray and places.size:
        # NumPy 2.4 is wrong for more than 8192 indices whose last axis has length 1: one axis here.
        found = [x.reshape(places.shape) for x in np.unravel_index(places.ravel(), shape)]
        return f"{name}[{', '.join(map(e.argument, found))}]"
    return f"{name}.reshape(-1)[{e.index(places)}]"


_ASSIGN = {add_item: "+=", sub_item: "-="}


def _scatter(e: Any, step: Step) -> bool:
    y_bar, index, shape, _dtype = step.args
    meta = e.metas[step.out]
    parts = index if type(index) is tuple else (index,)
    if may_repeat(index) or any(type(p) is Ref for p in parts):
        return False
    zeros = e.names.of(np.zeros, "zeros")
    if meta.dtype == FLOAT64:
        e.lines.append(f"v{step.out} = {zeros}({shape!r})")
    else:
        e.lines.append(f"v{step.out} = {zeros}({shape!r}, {e.constant(meta.dtype)})")
    e.lines.append(f"v{step.out}[{e.index(index)}] = {e.argument(y_bar)}")
    return True


def _pack(e: Any, step: Step) -> bool:
    shape, places, *values = step.args
    out = step.out
    size = e.metas[out].size
    shown = [scalar_exprs.operand(e, v) for v in values]
    if len(places) * 4 >= size:
        by_place = dict(zip(places, shown, strict=True))
        inner = ", ".join(by_place.get(i, "0.0") for i in range(size))
        array = f"{e.names.of(np.array, 'array')}([{inner}])"
        e.lines.append(f"v{out} = {array}" + (f".reshape({shape!r})" if len(shape) != 1 else ""))
        return True
    e.lines.append(f"v{out} = {e.names.of(np.zeros, 'zeros')}({shape!r})")
    target = f"v{out}" if len(shape) == 1 else f"flat{out}"
    if len(shape) != 1:
        e.lines.append(f"{target} = v{out}.reshape(-1)")
    for place, text in zip(places, shown, strict=True):
        e.lines.append(f"{target}[{place}] = {text}")
    return True


def _part(e: Any, step: Step) -> bool:
    whole, key = step.args
    meta = e.meta(whole)
    if issubclass(meta.type, (tuple, list, dict)):
        e.assign(step.out, f"{e.variable(whole.i)}[{e.constant(key)}]")
    else:
        e.assign(step.out, f"{e.variable(whole.i)}.{key}")
    return True


_FORMS: dict[Any, Any] = {
    operator.getitem: _getitem,
    np.sum: _reduction(np.add, "sum", kinds="fc"),
    np.max: _reduction(np.maximum, "max"),
    np.min: _reduction(np.minimum, "min"),
    np.any: _reduction(np.logical_or, "any"),
    np.all: _reduction(np.logical_and, "all"),
    np.einsum: _einsum,
    np.matmul: _matmul,
    operator.matmul: _matmul,
    np.dot: _matmul,
    np.transpose: _transpose,
    np.reshape: _reshape,
    np.ravel: _reshape,
    np.expand_dims: _reshape,
    np.squeeze: _reshape,
    np.copy: _copy,
    set_item: _update,
    set_flat: _update,
    add_item: _update,
    sub_item: _update,
    scatter: _scatter,
    pack: _pack,
    part: _part,
}
