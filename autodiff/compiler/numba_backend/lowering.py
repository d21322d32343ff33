"""Steps on small arrays as operations whose operands are places in memory.

Where all shapes are known, `x[3:]`, ``x.T`` or a reshaped array are the elements of another one in
another order: an offset and a stride for each axis. So every operation reads and writes elements at
known places, and can be written as a nest of loops (``nest_source``).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compiler.numba_backend.contractions import (
    LARGEST as LARGEST_PRODUCT,
    contracted,
    factors_of,
    is_contraction,
)
from autodiff.compiler.numba_backend.data_movement import arrays_of, is_move, moved
from autodiff.compiler.numba_backend.gather_scatter import added_places, is_table, read_places
from autodiff.compiler.numba_backend.linalg.linalg_ops import Systems, is_part_of_pair, is_system
from autodiff.compiler.numba_backend.loop_ir import NotSmallError, Op, View, strides_of
from autodiff.compiler.numba_backend.reductions import OF_TRUTHS, REDUCED, is_reduction, reduced
from autodiff.compiler.passes.scalar_replacement import pack
from autodiff.compiler.passes.simplify import LARGEST_LOOKED_AT, has_nan
from autodiff.compiler.python_backend.scalar_exprs import is_number, is_truth
from autodiff.compiler.recording.domain_guards import SOURCES
from autodiff.compiler.recording.ir import (
    FLOAT64,
    Meta,
    Ref,
    Step,
    add_item,
    guard,
    part,
    refs_of,
    set_flat,
    set_item,
    sub_item,
)
from autodiff.functions import PRODUCT, UFUNC_OF, VIEW, known, of_kind
from chainrules_core.scattering import may_repeat, scatter

LARGEST = 1 << 18
"""Up to how many elements an array is small: several of them fit into the cache of a core."""
_MOST_OPERANDS = 4096
_NUMBERS = (int, float, bool, np.float64, np.bool_)

VIEWS = of_kind(VIEW)
_OF_NUMBERS = known("takes_numbers")
_PRODUCTS = of_kind(PRODUCT)
_CHANGES = {set_item: "=", add_item: "+", sub_item: "-"}
_PLAIN_INDEX = (int, np.int64, np.intp, slice, type(None), type(Ellipsis))

_LOOPS = known("loops")
_GIVES_NUMBERS = frozenset({"map", "product", "sum", "max", "min", "determinant", "contraction"})


def is_view(step: Step, metas: list[Meta]) -> bool:
    """Whether a step takes elements of a small array by a form that is known."""
    if step.f not in VIEWS or step.out < 0 or not _is_array(step.args[0], metas):
        return False
    if any(refs_of(Step(step.f, step.args[1:], step.kwargs, 0))):
        return False
    meta = metas[step.out]
    if not (is_number(meta) or _has_dtype(meta)):
        return False
    if step.f is np.diag and len(_shape(step.args[0], metas)) != 2:
        return False
    return step.f is not operator.getitem or is_plain(step.args[1])


def handles(step: Step, metas: list[Meta]) -> bool:
    """Whether a step, which is no view, can be written as a nest of loops."""
    f, args = UFUNC_OF.get(step.f, step.f), step.args
    if f is guard:
        value, how, _ = args
        meta = metas[value.i]
        if how is bool:
            return is_truth(meta) or is_number(meta)
        return (how is has_nan and (is_number(meta) or _is_small(meta))) or (
            how in SOURCES and is_number(meta)
        )
    if f is np.linalg.slogdet:
        return is_system(step, metas)
    if step.out < 0 or not (_is_small(metas[step.out]) or _is_single(metas[step.out])):
        return False
    meta = metas[step.out]
    if f in _LOOPS:
        if meta.shape is None and not (is_number(meta) or is_truth(meta)):
            return False
        return not step.kwargs and all(_is_operand(a, metas) for a in args)
    if f in OF_TRUTHS:
        return is_reduction(step) and (_is_array(args[0], metas) or _is_truths(args[0], metas))
    if meta.dtype == np.bool_:
        return False
    if f in _OF_NUMBERS and type(args[0]) is Ref and is_number(metas[args[0].i]):
        return not any(refs_of(Step(f, args[1:], step.kwargs, 0)))
    if f in (float, np.float64):
        return len(args) == 1 and is_number(meta) and _is_operand(args[0], metas)
    if is_contraction(step, metas) and all(_is_array(a, metas) for a in factors_of(step)):
        return True
    if f in _PRODUCTS:
        return not step.kwargs and _is_small_product(f, args, metas, meta)
    if f is np.outer or _is_outer(step):
        pair = args[-2:]
        return not step.kwargs and all(
            _is_array(a, metas) and len(_shape(a, metas)) == 1 for a in pair
        )
    if f in REDUCED:
        return is_reduction(step) and _is_array(args[0], metas)
    if f in _CHANGES:
        return _is_array(args[0], metas) and is_plain(args[1]) and _is_operand(args[2], metas)
    if f is set_flat:
        is_constant = type(args[1]) is np.ndarray and args[1].size > 0
        return is_constant and _is_array(args[0], metas) and _is_operand(args[2], metas)
    if f is scatter:
        is_known = is_table(args[1]) or (is_plain(args[1]) and not may_repeat(args[1]))
        return _is_operand(args[0], metas) and is_known
    if f is operator.getitem:
        return is_table(args[1]) and _is_array(args[0], metas)
    if is_part_of_pair(step, metas) or is_system(step, metas):
        return True
    if is_move(step, metas):
        return all(_is_array(a, metas) for a in arrays_of(step))
    if f in (np.stack, np.array, np.concatenate):
        items = args[0]
        return (
            len(args) == 1
            and not step.kwargs
            and type(items) in (list, tuple)
            and 0 < len(items) <= _MOST_OPERANDS
            and all(_is_operand(a, metas) for a in items)
        )
    if f is pack:
        return len(args) <= _MOST_OPERANDS and all(_is_operand(a, metas) for a in args[2:])
    return False


def _is_small(meta: Meta) -> bool:
    return _has_dtype(meta) and 0 < meta.size <= LARGEST


def _is_single(meta: Meta) -> bool:
    return is_number(meta) or is_truth(meta)


def _has_dtype(meta: Meta) -> bool:
    return meta.type is np.ndarray and meta.dtype in (FLOAT64, np.bool_)


def _is_array(x: Any, metas: list[Meta]) -> bool:
    if type(x) is Ref:
        return _is_small(metas[x.i]) and metas[x.i].dtype == FLOAT64
    return type(x) is np.ndarray and x.dtype == FLOAT64 and 0 < x.size <= LARGEST


def _is_truths(x: Any, metas: list[Meta]) -> bool:
    return type(x) is Ref and _is_small(metas[x.i]) and metas[x.i].dtype == np.bool_


def _is_operand(x: Any, metas: list[Meta]) -> bool:
    if type(x) is Ref:
        return _is_small(metas[x.i]) or _is_single(metas[x.i])
    if type(x) is np.ndarray and x.dtype == np.bool_:
        return x.size <= LARGEST
    return type(x) in _NUMBERS or _is_array(x, metas)


def _shape(x: Any, metas: list[Meta]) -> tuple:
    return (metas[x.i].shape or ()) if type(x) is Ref else x.shape


def is_plain(index: Any) -> bool:
    """Whether an index is made of integers, slices and the like."""
    parts = index if type(index) is tuple else (index,)
    return all(type(p) in _PLAIN_INDEX for p in parts)


def _is_small_product(f: Any, args: tuple, metas: list[Meta], meta: Meta) -> bool:
    if len(args) != 2 or not all(_is_array(a, metas) for a in args):
        return False
    a, b = (_shape(x, metas) for x in args)
    if f is np.vdot:
        return a == b
    if not 1 <= len(a) <= 2 or not 1 <= len(b) <= 2 or (f is np.inner and len(a) + len(b) > 2):
        return False
    return (meta.size if meta.shape else 1) * a[-1] <= LARGEST_PRODUCT


def _is_outer(step: Step) -> bool:
    return step.f is np.einsum and step.args[0] == "i,j->ij"


class Reader:
    """Reads steps as operations.

    Attributes
    ----------
    ops : list of Op
        The operations.
    given : list
        What is read from outside: `Ref`s and constant arrays.
    """

    def __init__(self, metas: list[Meta], origin: dict[int, Step]) -> None:
        self.metas = metas
        self.origin = origin
        self.ops: list[Op] = []
        self.given: list[Any] = []
        self.views: dict[int, View] = {}
        self.systems = Systems(self)
        self._constants: dict[Any, int] = {}
        self._memory: dict[int, np.ndarray] = {}

    # -- operands --------------------------------------------------------------------------------

    def view(self, x: Any) -> View:
        """Return an argument as elements of an array."""
        if type(x) is Ref:
            known = self.views.get(x.i)
            if known is None:
                known = self.views[x.i] = self._from_outside(x.i)
            return known
        if type(x) is not np.ndarray:
            return View("c", bool(x) if type(x) in (bool, np.bool_) else float(x))
        if x.shape == ():
            return View("c", bool(x) if x.dtype == np.bool_ else float(x))
        whole = x if x.dtype == np.bool_ else _whole_of(x)
        key = content_of(whole)
        number = self._constants.get(key)
        if number is None:
            self.given.append(whole)
            number = self._constants[key] = len(self.given) - 1
        if x.dtype == np.bool_:
            return View("x", number, 0, x.shape, strides_of(x.shape), True)
        offset, strides = _address_of(x) - _address_of(whole), [s // 8 for s in x.strides]
        return View("x", number, offset // 8, x.shape, tuple(strides))

    def table(self, places: np.ndarray) -> View:
        """Return constant integers as an argument of what is compiled."""
        return View("x", self._number(places), 0, places.shape, strides_of(places.shape))

    def truths(self, mask: np.ndarray) -> View:
        """Return constant truths as an argument of what is compiled."""
        number = self._number(1.0 * mask)
        return View("x", number, 0, mask.shape, strides_of(mask.shape), True)

    def _number(self, x: np.ndarray) -> int:
        """Return the number of an array that nobody changes."""
        key = content_of(x)
        number = self._constants.get(key)
        if number is None:
            self.given.append(x.ravel())
            number = self._constants[key] = len(self.given) - 1
        return number

    def _from_outside(self, i: int) -> View:
        step = self.origin.get(i)
        if step is not None and is_view(step, self.metas):
            return self.viewed(step)
        meta = self.metas[i]
        self.given.append(Ref(i))
        if meta.shape:
            strides = strides_of(meta.shape)
            return View("x", len(self.given) - 1, 0, meta.shape, strides, meta.dtype != FLOAT64)
        return View("n", len(self.given) - 1, is_bool=not is_number(meta))

    def viewed(self, step: Step) -> View:
        """Return the result of a step that is a view."""
        return self.taken(
            self.view(step.args[0]), lambda x: _call(step.f, x, step.args[1:], step.kwargs)
        )

    def taken(self, x: View, how: Callable) -> View:
        """Return what `how` takes of some elements, as NumPy does it itself."""
        if x.kind in "nc":
            raise NotSmallError
        high = x.offset + sum(max(0, s * (n - 1)) for n, s in zip(x.shape, x.strides, strict=True))
        memory = self._memory.get(high)
        if memory is None:
            memory = self._memory[high] = np.empty(high + 1)
        strides = tuple([8 * s for s in x.strides])
        model: Any = np.ndarray(x.shape, FLOAT64, memory, 8 * x.offset, strides)
        y = how(model)
        if type(y) is not np.ndarray:
            raise NotSmallError
        if not y.size:
            return View(x.kind, x.base, x.offset, y.shape, strides_of(y.shape), x.is_bool)
        if not np.may_share_memory(y, memory):
            return self.taken(self._copied(x), how)
        start = _address_of(y) - _address_of(memory)
        strides = tuple([s // 8 for s in y.strides])
        return View(x.kind, x.base, start // 8, y.shape, strides, x.is_bool)

    def _copied(self, x: View) -> View:
        op = Op("map", np.copy, [x], x.shape)
        op.is_bool = x.is_bool
        return self.added(op)

    def added(self, op: Op) -> View:
        """Add an operation; return its result."""
        self.ops.append(op)
        return View("v", len(self.ops) - 1, 0, op.shape, strides_of(op.shape), op.is_bool)

    # -- steps -----------------------------------------------------------------------------------

    def read(self, step: Step) -> None:
        """Add a step to the operations."""
        if is_view(step, self.metas):
            self.views[step.out] = self.viewed(step)
            return
        f = UFUNC_OF.get(step.f, step.f)
        if f is guard:
            value, how, expected = step.args
            self.ops.append(Op("guard", how, [self.view(value)], (), (expected,)))
            return
        if f in (float, np.float64):
            self.views[step.out] = self.view(step.args[0])
            return
        if f is np.linalg.slogdet:
            self.systems.pair(step)
            return
        meta = self.metas[step.out]
        op = self._op(f, step, meta.shape or ())
        op.is_bool = is_truth(meta) or meta.dtype == np.bool_
        op.is_number = meta.shape is None
        if op.kind != "map" and any(a.is_bool for a in op.args):
            raise NotSmallError
        if not op.shape and op.kind not in _GIVES_NUMBERS:
            raise NotSmallError  # who reads its result looks for a variable
        self.views[step.out] = self.added(op)

    def _op(self, f: Any, step: Step, shape: tuple) -> Op:
        args = step.args
        if f in _LOOPS:
            return Op("map", *_exact_power(f, [self.view(a).broadcast(shape) for a in args]), shape)
        if is_contraction(step, self.metas) and not _is_outer(step):
            return contracted(self, step, shape)
        if f in _OF_NUMBERS:
            return Op("map", np.copy, [self.view(args[0]).broadcast(shape)], shape)
        if f in _PRODUCTS:
            a, b = self.view(args[0]), self.view(args[1])
            if f is np.vdot and len(a.shape) != 1:
                products = self.added(Op("map", np.multiply, [a, b], a.shape))
                return Op("sum", None, [products], (), (tuple(range(len(a.shape))), 0))
            return Op("product", None, [a, b], shape)
        if f is np.outer or f is np.einsum:
            a, b = (self.view(x) for x in args[-2:])
            column = self.taken(a, lambda x: x[:, None])
            return Op("map", np.multiply, [v.broadcast(shape) for v in (column, b)], shape)
        if f in REDUCED:
            return reduced(self, step, shape)
        if f in _CHANGES or f is set_flat:
            before, index, value = args
            if not shape:  # all there is
                given = self._single(value)
                if f is set_item or f is set_flat:
                    return Op("map", np.copy, [given], ())
                sign = np.add if f is add_item else np.subtract
                return Op("map", sign, [self.view(before), given], ())
            place = _lattice(index) if f is set_flat else self.region(shape, index)
            given = self.view(value).broadcast(place.shape)
            extra = (_CHANGES.get(f, "="), place.shape, place.strides)
            return Op("change", None, [self.view(before), given], shape, extra, place.offset)
        if f is operator.getitem:
            return read_places(self, self.view(args[0]), args[1], shape)
        if f is scatter and is_table(args[1]):
            return added_places(self, self.view(args[0]), args[1], shape)
        if f is part:
            return self.systems.half(step, shape)
        if is_system(step, self.metas):
            return self.systems.read(step, shape)
        if f is scatter and not shape:
            return Op("map", np.copy, [self._single(args[0])], ())
        if f is pack and not shape:
            return Op("map", np.copy, [self._single(args[2]) if args[2:] else View("c", 0.0)], ())
        if f is scatter:
            y_bar, index = args[:2]
            place = self.region(shape, index)
            given = self.view(y_bar).broadcast(place.shape)
            return Op("scatter", None, [given], shape, (place.shape, place.strides), place.offset)
        if f is pack:
            return Op("pack", None, [self.view(v) for v in args[2:]], shape, (args[1],))
        if is_move(step, self.metas):
            return moved(self, step, shape)
        items = [self.view(a) for a in args[0]]
        if any(v.shape != items[0].shape for v in items[1:]) and f is not np.concatenate:
            raise NotSmallError
        return Op("stack", None, items, shape)

    def _single(self, x: Any) -> View:
        """Return an argument of one element as a number."""
        view = self.view(x)
        if view.is_bool or view.base is True or view.base is False:
            raise NotSmallError
        return self.taken(view, lambda a: a.reshape(())) if view.shape else view

    def region(self, shape: tuple, index: Any) -> View:
        """Return the elements of an array of this shape that an index means."""
        return self.taken(View("v", -1, 0, shape, strides_of(shape)), _at(index))


def _lattice(places: np.ndarray) -> View:
    """Return flat places as an offset and strides."""
    first = places[(0,) * places.ndim]
    strides = []
    model = first
    for d, n in enumerate(places.shape):
        at: list[Any] = [0] * places.ndim
        at[d] = min(1, n - 1)
        strides.append(int(places[tuple(at)] - first))
        steps = np.arange(n).reshape([n if k == d else 1 for k in range(places.ndim)])
        model = model + strides[-1] * steps
    if not (model == places).all():
        raise NotSmallError
    return View("v", -1, int(first), places.shape, tuple(strides))


def _address_of(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


def _whole_of(x: np.ndarray) -> np.ndarray:
    """Return the array that a constant is a part of, with all rows of a table among its parts."""
    whole = x
    while type(whole.base) is np.ndarray:
        whole = whole.base
    is_plain = type(whole) is np.ndarray and whole.dtype == FLOAT64 and whole.flags.c_contiguous
    if is_plain and whole.shape:
        return whole
    if not x.flags.c_contiguous:
        raise NotSmallError
    return x


def content_of(x: np.ndarray) -> Any:
    """Return what says that two constants are the same: turns of loops make theirs anew."""
    if x.nbytes > LARGEST_LOOKED_AT:
        return id(x)
    return (x.dtype.char, x.shape, x.tobytes())


def _at(index: Any) -> Callable:
    parts = index if type(index) is tuple else (index,)
    whole = parts if any(p is Ellipsis for p in parts) else (*parts, Ellipsis)
    return lambda x: x[whole]


def _call(f: Any, x: Any, args: tuple, kwargs: dict | None) -> Any:
    return _at(args[0])(x) if f is operator.getitem else f(x, *args, **(kwargs or {}))


def _exact_power(f: Any, args: list[View]) -> tuple[Any, list[View]]:
    """Powers that have functions of their own."""
    if f is np.power and args[1].kind == "c":
        if args[1].base == 0.5:
            return np.sqrt, args[:1]
        if args[1].base == -1.0:
            return np.reciprocal, args[:1]
    return f, args
