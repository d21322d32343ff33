"""NumPy's functions that write into their first argument, for traced arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch import call as calls
from autodiff.dispatch.arguments import innermost
from autodiff.dispatch.call import as_array, call, require_rule
from autodiff.errors import untraced_array
from autodiff.mutation.assignment import assign, assign_item, check_cast
from autodiff.mutation.views import settled
from autodiff.trace.tape import CONSTANT
from autodiff.trace.trace_stack import check_free
from autodiff.trace.tracer import Tracer, bare, is_tracer, untraced
from chainrules_core import linear_rule
from chainrules_core.define import primitive


def target_of(x: Any) -> Tracer:
    """Return an array that can take traced values; raise if it cannot."""
    if not is_tracer(x):
        raise untraced_array(
            np.asarray(x),
            "that is not traced, and its derivative would be lost. Make the array inside the "
            "function being differentiated.",
        )
    return x


def with_axis(x: Any) -> Any:
    """Return a 0-d array as a view with one axis, other arrays as they are."""
    return np.reshape(x, (1,)) if np.ndim(x) == 0 else x


def repeated(values: Any, places: Any) -> Any:
    """Return the values at `places`, repeated cyclically; a number as it is."""
    values = as_array(values)
    if np.ndim(values) == 0:
        return values
    return element_of(np.reshape(values, (-1,)), places % np.size(values))


def element_of(x: Any, index: Any) -> Any:
    """Return ``x[index]``; the array may be plain and the index recorded."""
    return call(operator.getitem, (x, index), {}) if is_tracer(index) else x[index]


def _array_of(x: Any) -> Any:
    """Return an array of places or truth values, which derivatives take as a constant."""
    x = untraced(x)
    return x if is_tracer(x) else np.asarray(x)


def _mask_of(x: Any) -> Any:
    mask = _array_of(x)
    return mask if mask.dtype.kind == "b" else np.not_equal(mask, 0)


def check(write: Callable, a: Any, places: Any, values: Any, *options: Any) -> None:
    """Raise the error that NumPy raises for a write, if any: by writing zeros into zeros."""
    write(np.zeros(np.shape(a)), bare(untraced(places)), np.zeros(np.shape(values)), *options)


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """As ``np.copyto``."""
    if not is_tracer(dst) and innermost((src, where), {}) is None:
        check_free(dst)
        np.copyto(dst, untraced(src), casting, untraced(where))
        return
    src = as_array(src)
    plain = bare(src)
    probe = plain if np.ndim(plain) == 0 else np.empty(0, plain.dtype)
    np.copyto(np.empty(0, bare(dst).dtype), probe, casting)  # raises NumPy's error, if any
    constant = untraced(src)
    into_mask = bare(dst).dtype.kind == "b" and (plain.dtype.kind == "b" or where is not True)
    if into_mask and not is_tracer(dst) and not is_tracer(constant):
        check_free(dst)
        np.copyto(dst, constant, casting, untraced(where))  # truth values have no derivative
        return
    if where is True:
        assign_item(target_of(dst), ..., src)
        return
    mask = np.broadcast_to(untraced(where), np.shape(dst))
    assign_item(target_of(dst), mask, element_of(np.broadcast_to(src, np.shape(dst)), mask))


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """As ``np.fill_diagonal``."""
    shape = np.shape(a)
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) != 1):
        np.fill_diagonal(np.zeros(shape), 0.0)  # raises NumPy's own error
    if len(shape) == 2:
        end = shape[0] * shape[1] if wrap else min(shape) * shape[1]
        flat = np.arange(0, end, shape[1] + 1)
    else:
        flat = np.arange(shape[0]) * sum(shape[0] ** k for k in range(len(shape)))
    _put_at(target_of(a), flat, val)


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """As ``np.put``."""
    a, v = with_axis(target_of(a)), as_array(v)
    check(np.put, a, ind, v, mode)
    if np.size(v) == 0:
        return
    places = np.ravel(_array_of(ind)).astype(np.intp)
    if mode == "wrap":
        places = places % np.size(a)
    elif mode == "clip":
        places = np.clip(places, 0, np.size(a) - 1)
    _put_at(a, np.where(places < 0, places + np.size(a), places), v)


def _put_at(a: Tracer, places: Any, values: Any) -> None:
    """Write values, repeated cyclically, at flat indices."""
    assign_item(a, np.unravel_index(places, np.shape(a)), repeated(values, np.arange(places.size)))


def putmask(a: Any, mask: Any, values: Any) -> None:
    """As ``np.putmask``."""
    values = as_array(values)
    check(np.putmask, target_of(a), mask, values)
    if np.size(values) == 0:
        return
    mask = np.reshape(_mask_of(mask), np.shape(a))
    assign_item(a, mask, repeated(values, np.flatnonzero(mask)))


def place(arr: Any, mask: Any, vals: Any) -> None:
    """As ``np.place``."""
    vals = as_array(vals)
    check(np.place, target_of(arr), mask, vals)
    mask = np.reshape(_mask_of(mask), np.shape(arr))
    assign_item(arr, mask, repeated(vals, np.arange(np.flatnonzero(mask).size)))


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None = -1) -> None:
    """As ``np.put_along_axis``."""
    if axis is None:
        indices = _array_of(indices)
        flat = np.where(indices < 0, indices + np.size(arr), indices)
        index = np.unravel_index(flat, np.shape(arr))
        assign_item(target_of(arr), index, np.broadcast_to(as_array(values), np.shape(flat)))
    else:
        body: Any = np.put_along_axis
        calls.body_of(body._implementation)(target_of(arr), indices, values, axis)


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """As ``np.nan_to_num``; with ``copy=False`` it writes into the array."""
    x = as_array(x)
    y = require_rule(np.nan_to_num, (x, True, nan, posinf, neginf), {})
    if copy or not isinstance(x, np.ndarray):
        return y
    assign(target_of(x), y)
    return x if x.ndim else y  # a number, and so no view


WRITERS: dict[Callable, Callable] = {
    np.copyto: copyto,
    np.fill_diagonal: fill_diagonal,
    np.nan_to_num: nan_to_num,
    np.put: put,
    np.putmask: putmask,
    np.place: place,
    np.put_along_axis: put_along_axis,
}


# ---------------------------------------------------------------------- out= and where= of ufuncs


def into(out: Any, result: Any) -> Any:
    """Write a result into the array given as ``out=``."""
    if is_tracer(out):
        if not isinstance(bare(out), np.ndarray):
            raise TypeError("return arrays must be of ArrayType")  # NumPy's own words
        assign(out, result)
        return out
    if innermost((result,), {}) is not None:
        raise untraced_array(
            np.asarray(out),
            "that is not traced, and its derivative would be lost. Make the array from a traced "
            "one (np.zeros_like(x)), or do without out=.",
        )
    check_free(out)
    np.copyto(out, untraced(result), casting="same_kind")
    return out


def all_arrays(results: Any) -> Any:
    """Return the results of a ufunc that was called with ``out=...``: arrays, no numbers."""
    if type(results) is tuple:
        return tuple(map(all_arrays, results))
    return results if isinstance(bare(results), np.ndarray) else call(np.asarray, (results,))


def into_each(outs: tuple, results: Any, elementwise: bool) -> Any:
    """Write the results of a ufunc into the arrays of its ``out=``, None for a new one.

    Those of an elementwise function are broadcast to the arrays.
    """
    parts = (results,) if len(outs) == 1 else results
    written = []
    for out, part in zip(outs, parts, strict=True):
        if elementwise and out is not None and np.shape(out) != np.shape(part):
            part = np.broadcast_to(part, np.shape(out))
        written.append(part if out is None else into(out, part))
    return written[0] if len(outs) == 1 else tuple(written)


def write(target: Any, index: Any, value: Any) -> None:
    """Write the result of a ufunc; raise if the array cannot take its dtype."""
    check_cast(bare(target), bare(value))
    if is_tracer(target) or innermost((value,), {}) is not None:
        assign_item(target_of(target), index, value)
    else:
        check_free(target)
        target[index] = untraced(value)


def where_true(f: Callable, inputs: tuple, where: Any, outs: tuple | None, options: dict) -> Any:
    """Call a ufunc for the elements at which ``where=`` is true.

    The others keep what is in ``out=``. NumPy leaves them undefined in a new array; here they are
    0.
    """
    where = untraced(where)  # it may still be recorded
    given = () if outs is None else tuple([out for out in outs if out is not None])
    shape = np.broadcast_shapes(*map(np.shape, (where, *inputs, *given)))
    where = np.broadcast_to(where, shape)
    chosen = [
        x if np.ndim(x) == 0 else element_of(np.broadcast_to(x, shape), where) for x in inputs
    ]
    if all(np.ndim(x) == 0 for x in chosen):
        chosen[0] = np.broadcast_to(chosen[0], (int(np.count_nonzero(where)),))
    # It may be that only ``out=`` is traced.
    traced = innermost(tuple(chosen), options) is not None
    results = require_rule(f, tuple(chosen), options) if traced else f(*chosen, **options)
    parts = results if isinstance(results, tuple) else (results,)
    written = []
    for out, part in zip(outs or (None,) * len(parts), parts, strict=True):
        if out is None:
            out = np.zeros(shape, bare(part).dtype)
            out = Tracer(out, CONSTANT, -1) if out.dtype.kind in "fc" else out
        write(out, where, part)
        written.append(out)
    return tuple(written) if isinstance(results, tuple) else written[0]


# -------------------------------------------------------------------------------------- ufunc.at


def at(f: np.ufunc, a: Any, index: Any, *operands: Any) -> None:
    """As ``f.at``: ``a[index] = f(a[index], b)`` for one index after the other."""
    target: Any = target_of(a)
    tape = innermost(operands, {})
    if bare(target).dtype.kind not in "fc" and tape is not None and not tape.program:
        raise untraced_array(bare(target), "")
    index = untraced(index)
    if type(index) is tuple:
        index = tuple([untraced(i) for i in index])
    operands = tuple([as_array(b) for b in operands])
    if f in (np.add, np.subtract):
        b = operands[0] if f is np.add else np.negative(operands[0])
        assign(target, call(added_at, (target, b), {"index": index}))
        return
    shape = np.shape(target)
    # The computation depends on how often a place occurs.
    index = tuple(map(_settled, index)) if type(index) is tuple else _settled(index)
    places = np.asarray(np.arange(np.size(target)).reshape(shape)[index])
    values = [np.reshape(np.broadcast_to(b, places.shape), (-1,)) for b in operands]
    target, places = with_axis(target), np.ravel(places)
    turns = turns_of(places)
    for turn in range(int(turns.max(initial=-1)) + 1):
        chosen = np.flatnonzero(turns == turn)
        now = np.unravel_index(places[chosen], shape or (1,))
        write(target, now, call(f, (target[now], *[v[chosen] for v in values])))


def _settled(index: Any) -> Any:
    """Return a part of an index as a constant; a recording notes its value."""
    if is_tracer(index) and index.dtype.kind == "b":
        return settled(np.add(index, 0)).astype(bool)
    return settled(index)


def turns_of(places: np.ndarray) -> np.ndarray:
    """Return, for each element of a vector, how many equal elements precede it.

    >>> turns_of(np.array([7, 3, 7, 7]))
    array([0, 0, 1, 2])
    """
    order = np.argsort(places, kind="stable")
    in_order = places[order]
    starts = np.flatnonzero(np.concatenate([[True], in_order[1:] != in_order[:-1]]))
    lengths = np.diff(np.append(starts, places.size))
    turns = np.empty(places.size, np.intp)
    turns[order] = np.arange(places.size) - np.repeat(starts, lengths) if places.size else 0
    return turns


@primitive
def added_at(a: Any, b: Any, *, index: Any) -> Any:
    """Return a copy of `a` with `b` added at `index`, in order, as ``np.add.at`` does."""
    y = np.array(a)
    np.add.at(y, index, b)
    return y


linear_rule(
    added_at,
    lambda y_bar, a, b, *, index: y_bar,
    lambda y_bar, a, b, *, index: y_bar[index],
    argnums=(0, 1),
    joint=True,
    broadcasts=True,
)
