"""The table of lowerings: which calls of each function become operations of a kernel, and how."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff.compiler.kernels.contraction_lowering import (
    factors_of,
    is_contraction,
    lower_contraction,
)
from autodiff.compiler.kernels.data_movement import (
    arrays_of,
    is_move,
    joined,
    lower_move,
)
from autodiff.compiler.kernels.gather_scatter import is_table, lower_gather, lower_scatter_add
from autodiff.compiler.kernels.linalg.linalg_ops import is_part_of_pair, is_system
from autodiff.compiler.kernels.loop_ir import (
    LoopOp,
    NotLowerableError,
    StridedView,
    updated,
)
from autodiff.compiler.kernels.reductions import (
    BOOLEAN_REDUCTIONS,
    REDUCED,
    is_reduction,
    lower_reduction,
)
from autodiff.compiler.passes.scalar_replacement import pack
from autodiff.compiler.passes.simplify import has_nan
from autodiff.compiler.python_backend.scalar_exprs import is_bool, is_number
from autodiff.compiler.recording.domain_guards import SOURCES
from autodiff.compiler.recording.ir import (
    FLOAT32,
    FLOATS,
    Meta,
    Ref,
    Step,
    add_item,
    guard,
    is_outer,
    part,
    refs_of,
    set_flat,
    set_item,
    sub_item,
)
from autodiff.functions import PRODUCT, UFUNC_OF, VIEW, known, of_kind
from chainrules_core.operations.scattering import may_repeat, scatter

if TYPE_CHECKING:
    from autodiff.compiler.kernels.step_lowering import Lowerer

LARGEST = 1 << 24
"""Arrays with up to this number of elements are read and written by kernels."""
NUMBERS = (int, float, bool, np.float64, np.float32, np.bool_)
"""Classes of numbers that can be constants in a kernel."""
_MOST_OPERANDS = 4096

VIEWS = of_kind(VIEW)
_CHANGES = {set_item: "=", set_flat: "=", add_item: "+", sub_item: "-"}
_PLAIN_INDEX = (int, np.int64, np.intp, slice, type(None), type(Ellipsis))
_LOOPS = known("loops")
CONVERSIONS = (float, np.float64, np.float32)


def is_real(meta: Meta) -> bool:
    """Whether a value is a single float64 or float32: a number or an array without axes."""
    return is_number(meta) or (meta.dtype == FLOAT32 and not meta.shape)


def computes_in_float32(step: Step, metas: list[Meta]) -> bool:
    """Whether a step computes in single precision, to which NumPy rounds numbers of Python."""
    meta = metas[step.out]
    if not is_bool(meta) and meta.dtype != np.bool_:
        return meta.dtype == FLOAT32
    dtypes = [metas[a.i].dtype if type(a) is Ref else getattr(a, "dtype", None) for a in step.args]
    # A number of Python has no dtype; NumPy takes None for float64 when it compares dtypes.
    return {x for x in dtypes if x is not None and x in FLOATS} == {FLOAT32}


def is_view(step: Step, metas: list[Meta]) -> bool:
    """Whether a step takes a view of an array of floats, of any size."""
    if step.f not in VIEWS or step.out < 0 or not _is_of_floats(step.args[0], metas):
        return False
    if any(refs_of(Step(step.f, step.args[1:], step.kwargs, 0))):
        return False
    meta = metas[step.out]
    if not (is_real(meta) or _has_dtype(meta)):
        return False
    if step.f is np.diag and len(_shape(step.args[0], metas)) != 2:
        return False
    return step.f is not operator.getitem or is_plain(step.args[1])


def handles(step: Step, metas: list[Meta]) -> bool:
    """Whether a step that is not a view can be lowered to a loop nest."""
    f = UFUNC_OF.get(step.f, step.f)
    if f is guard:
        return _is_known_guard(step.args, metas)
    if f is np.linalg.slogdet:
        return is_system(step, metas)
    if step.out < 0 or not (_is_small(metas[step.out]) or _is_single(metas[step.out])):
        return False
    meta = metas[step.out]
    if meta.dtype == np.bool_ and f not in _LOOPS and f not in BOOLEAN_REDUCTIONS:
        return False
    if f in CONVERSIONS:
        return len(step.args) == 1 and is_real(meta) and _is_operand(step.args[0], metas)
    return lowering_of(f, step, metas) is not None


def _is_known_guard(args: tuple, metas: list[Meta]) -> bool:
    value, how, _ = args
    meta = metas[value.i]
    if how is bool:
        return is_bool(meta) or is_real(meta)
    return (how is has_nan or how in SOURCES) and is_real(meta)


def _is_small(meta: Meta) -> bool:
    return _has_dtype(meta) and 0 < meta.size <= LARGEST


def _is_single(meta: Meta) -> bool:
    return is_real(meta) or is_bool(meta)


def _has_dtype(meta: Meta) -> bool:
    return meta.type is np.ndarray and (meta.dtype in FLOATS or meta.dtype == np.bool_)


def _is_of_floats(x: Any, metas: list[Meta]) -> bool:
    if type(x) is Ref:
        return metas[x.i].type is np.ndarray and metas[x.i].dtype in FLOATS
    return type(x) is np.ndarray and x.dtype in FLOATS


def _is_array(x: Any, metas: list[Meta]) -> bool:
    if not _is_of_floats(x, metas):
        return False
    return 0 < (metas[x.i].size if type(x) is Ref else x.size) <= LARGEST


def _is_truths(x: Any, metas: list[Meta]) -> bool:
    return type(x) is Ref and _is_small(metas[x.i]) and metas[x.i].dtype == np.bool_


def _is_operand(x: Any, metas: list[Meta]) -> bool:
    if type(x) is Ref:
        return _is_small(metas[x.i]) or _is_single(metas[x.i])
    if type(x) is np.ndarray and x.dtype == np.bool_:
        return x.size <= LARGEST
    return type(x) in NUMBERS or _is_array(x, metas)


def _shape(x: Any, metas: list[Meta]) -> tuple:
    return (metas[x.i].shape or ()) if type(x) is Ref else x.shape


def is_plain(index: Any) -> bool:
    """Whether an index is basic: it consists of integers, slices, None and Ellipsis."""
    parts = index if type(index) is tuple else (index,)
    return all(type(p) in _PLAIN_INDEX for p in parts)


def _lattice(places: np.ndarray) -> StridedView:
    """Return flat indices as a view with an offset and strides; raise if they are irregular."""
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
        raise NotLowerableError
    return StridedView("v", -1, int(first), places.shape, tuple(strides))


def _exact_power(f: Any, args: list[StridedView]) -> tuple[Any, list[StridedView]]:
    """Replace powers of 0.5 and -1 by `np.sqrt` and `np.reciprocal`, as NumPy does."""
    if f is np.power and args[1].kind == "c":
        if args[1].base == 0.5:
            return np.sqrt, args[:1]
        if args[1].base == -1.0:
            return np.reciprocal, args[:1]
    return f, args


class Lowering(NamedTuple):
    """One way to lower calls of a function.

    Attributes
    ----------
    takes : callable
        Takes the step and the metas of all values; returns whether the step can be lowered.
    read : callable
        Takes the reader, the step and the shape of the result; returns an operation or a view.
    """

    takes: Callable[[Step, list[Meta]], bool]
    read: Callable[[Lowerer, Step, tuple], LoopOp | StridedView]


def lowering_of(f: Any, step: Step, metas: list[Meta]) -> Lowering | None:
    """Return the first lowering that takes a call; None if there is none."""
    for how in _LOWERINGS.get(f, _SYSTEM):
        if how.takes(step, metas):
            return how
    return None


def _takes_elementwise(step: Step, metas: list[Meta]) -> bool:
    meta = metas[step.out]
    is_known = _is_single(meta) or _has_dtype(meta)
    return is_known and not step.kwargs and all(_is_operand(a, metas) for a in step.args)


def _elementwise(reader: Lowerer, step: Step, shape: tuple) -> LoopOp:
    args = [reader.operand(a).broadcast(shape) for a in step.args]
    f = UFUNC_OF.get(step.f, step.f)
    if f is np.add and all(a.is_bool or type(a.base) is bool for a in args):
        f = np.logical_or  # the sum of two booleans is a boolean
    return LoopOp("map", *_exact_power(f, args), shape)


def _takes_reduction(step: Step, metas: list[Meta]) -> bool:
    if not is_reduction(step):
        return False
    x = step.args[0]
    return _is_array(x, metas) or (step.f in BOOLEAN_REDUCTIONS and _is_truths(x, metas))


def _takes_number(step: Step, metas: list[Meta]) -> bool:
    x, *options = step.args
    is_single = type(x) is Ref and is_real(metas[x.i])
    return is_single and not any(refs_of(Step(step.f, tuple(options), step.kwargs, 0)))


def _filled(reader: Lowerer, step: Step, shape: tuple) -> LoopOp:
    return LoopOp("map", np.copy, [reader.view(step.args[0]).broadcast(shape)], shape)


def _takes_cast(step: Step, metas: list[Meta]) -> bool:
    x, *options = step.args
    is_plain_call = len(options) == 1 and (step.kwargs or {}).keys() <= {"copy"}
    is_known = type(x) is Ref and (is_real(metas[x.i]) or _is_array(x, metas))
    return is_plain_call and is_known and metas[step.out].dtype in FLOATS


def _takes_contraction(step: Step, metas: list[Meta]) -> bool:
    return is_contraction(step, metas) and all(_is_array(a, metas) for a in factors_of(step))


def _takes_outer(step: Step, metas: list[Meta]) -> bool:
    if not is_outer(step):
        return False
    if step.kwargs and not is_contraction(step, metas):
        return False
    return all(_is_array(a, metas) and len(_shape(a, metas)) == 1 for a in step.args[-2:])


def _outer(reader: Lowerer, step: Step, shape: tuple) -> LoopOp:
    a, b = (reader.view(x) for x in step.args[-2:])
    column = reader.taken(a, lambda x: x[:, None])
    return LoopOp("map", np.multiply, [v.broadcast(shape) for v in (column, b)], shape)


def _takes_change(step: Step, metas: list[Meta]) -> bool:
    before, index, value = step.args
    is_known = is_plain(index)
    if step.f is set_flat:
        is_known = type(index) is np.ndarray and index.size > 0
    return is_known and _is_array(before, metas) and _is_operand(value, metas)


def _changed(reader: Lowerer, step: Step, shape: tuple) -> LoopOp:
    """Lower an update of a region.

    Addition to a large region becomes addition of a padded view to the whole array.
    """
    before, index, value = step.args
    sign = _CHANGES[step.f]
    if not shape:  # an array of one element
        given = reader.single(value)
        if sign == "=":
            return LoopOp("map", np.copy, [given], ())
        return LoopOp(
            "map", np.add if sign == "+" else np.subtract, [reader.view(before), given], ()
        )
    place = _lattice(index) if step.f is set_flat else reader.region(shape, index)
    given = reader.view(value).broadcast(place.shape)
    padded = reader.padded(given, place, shape) if sign != "=" else None
    if padded is not None:
        return LoopOp(
            "map", np.add if sign == "+" else np.subtract, [reader.operand(before), padded], shape
        )
    return updated(given, place, shape, reader.view(before), sign)


def _takes_scatter(step: Step, metas: list[Meta]) -> bool:
    y_bar, index = step.args[:2]
    is_known = is_table(index) or (is_plain(index) and not may_repeat(index))
    return is_known and _is_operand(y_bar, metas)


def _scattered(reader: Lowerer, step: Step, shape: tuple) -> LoopOp | StridedView:
    y_bar, index = step.args[:2]
    if is_table(index):
        return lower_scatter_add(reader, reader.view(y_bar), index, shape)
    if not shape:
        return LoopOp("map", np.copy, [reader.single(y_bar)], ())
    place = reader.region(shape, index)
    given = reader.view(y_bar).broadcast(place.shape)
    return reader.in_zeros(given, place, shape)


def _takes_places(step: Step, metas: list[Meta]) -> bool:
    return is_table(step.args[1]) and _is_array(step.args[0], metas)


def _read_places(reader: Lowerer, step: Step, shape: tuple) -> LoopOp:
    return lower_gather(reader, reader.view(step.args[0]), step.args[1], shape)


def _takes_move(step: Step, metas: list[Meta]) -> bool:
    return is_move(step, metas) and all(_is_array(a, metas) for a in arrays_of(step))


def _takes_stack(step: Step, metas: list[Meta]) -> bool:
    options = step.kwargs or {}
    if len(step.args) != 1 or options.keys() - ({"axis"} if step.f is np.stack else set()):
        return False
    if type(options.get("axis", 0)) is not int:
        return False
    items = step.args[0]
    is_list = type(items) in (list, tuple) and 0 < len(items) <= _MOST_OPERANDS
    return is_list and all(_is_operand(a, metas) for a in items)


def _stacked(reader: Lowerer, step: Step, shape: tuple) -> LoopOp:
    items = [reader.view(a) for a in step.args[0]]
    if any(v.shape != items[0].shape for v in items[1:]) and step.f is not np.concatenate:
        raise NotLowerableError
    return joined(reader, items, shape, (step.kwargs or {}).get("axis", 0) % len(shape))


def _takes_pack(step: Step, metas: list[Meta]) -> bool:
    is_short = len(step.args) <= _MOST_OPERANDS
    return is_short and all(_is_operand(a, metas) for a in step.args[2:])


def _packed(reader: Lowerer, step: Step, shape: tuple) -> LoopOp:
    _, places, *values = step.args
    if not shape:
        value = reader.single(values[0]) if values else StridedView("c", 0.0)
        return LoopOp("map", np.copy, [value], ())
    regions = [(place, ()) for place in places]
    return LoopOp("parts", None, [reader.view(v) for v in values], shape, (False, regions))


_CONTRACTION = Lowering(_takes_contraction, lower_contraction)
_OUTER = Lowering(_takes_outer, _outer)
_MOVE = Lowering(_takes_move, lower_move)
_STACK = Lowering(_takes_stack, _stacked)
_SYSTEM = (Lowering(is_system, lambda reader, step, shape: reader.systems.read(step, shape)),)
_LOWERINGS: dict[Any, tuple[Lowering, ...]] = {
    **dict.fromkeys(_LOOPS, (Lowering(_takes_elementwise, _elementwise),)),
    **dict.fromkeys(REDUCED, (Lowering(_takes_reduction, lower_reduction),)),
    **dict.fromkeys(known("takes_numbers"), (Lowering(_takes_number, _filled),)),
    **dict.fromkeys(known("parameters"), (_MOVE,)),
    **dict.fromkeys(of_kind(PRODUCT), (_CONTRACTION,)),
    **dict.fromkeys(_CHANGES, (Lowering(_takes_change, _changed),)),
    np.tensordot: (_CONTRACTION,),
    np.einsum: (_OUTER, _CONTRACTION),
    np.outer: (_OUTER,),
    np.stack: (_STACK,),
    np.array: (_STACK,),
    np.concatenate: (_MOVE, _STACK),
    np.ndarray.astype: (Lowering(_takes_cast, _filled),),
    operator.getitem: (Lowering(_takes_places, _read_places),),
    scatter: (Lowering(_takes_scatter, _scattered),),
    pack: (Lowering(_takes_pack, _packed),),
    part: (
        Lowering(is_part_of_pair, lambda reader, step, shape: reader.systems.half(step, shape)),
    ),
}
"""Function → its lowerings, in the order in which they are tried; others may be systems."""
