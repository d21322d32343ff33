"""Writes into traced arrays, with NumPy's semantics: views and aliases see them.

A write makes a new value on the tape: the old array with some elements replaced. From then on the
tracer stands for the new value, so every name for it sees the write. Tracers that are views of the
same memory form a family: a tree that knows how each was made from its parent. A write into one of
them becomes a write into the root, where the path from the root leads; then all living views are
made anew from the root.

The memory is written in place if only the family holds it, which reference counts tell. Otherwise a
pullback may still need the old values, or the array belongs to the user: then a copy is written.
Filling an array of n elements therefore costs O(n) in all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch import call as calls
from autodiff.dispatch.arguments import PLAIN, innermost, is_fixed, of_level
from autodiff.dispatch.call import as_array
from autodiff.dispatch.plan_types import LinearNode
from autodiff.errors import MutationError, untraced_array
from autodiff.mutation.escape_check import HELD_ONCE
from autodiff.mutation.memory_layout import (
    axes_in_memory,
    copy_of,
    overlaps,
    reads_mask_it_writes,
    reads_what_it_writes,
)
from autodiff.mutation.write_nodes import Path, Write, recorder_of
from autodiff.trace.tape import CONSTANT
from autodiff.trace.trace_stack import is_recording
from autodiff.trace.tracer import FloatTracer, Tracer, bare, is_tracer, untraced, wrap
from chainrules_core import NotImplementedTangent, ProjectTo, zero_tangent

_WRITEABLE = 0x0400  # NPY_ARRAY_WRITEABLE


def root_and_path(target: Tracer) -> tuple[Tracer, Path]:
    """Return the array that `target` is a view of, and the steps from that array to `target`."""
    if target._origin is None:
        return target, ()
    path: list[Callable] = []
    while target._origin is not None:
        path.append(target._origin.make)
        target = target._origin.parent
    return target, tuple(reversed(path))


def family(root: Tracer) -> list[Tracer]:
    """Return the living members of a family, parents first."""
    members = [root]
    for member in members:
        if member._views is not None:
            living = [(r, view) for r in member._views if (view := r()) is not None]
            member._views = [r for r, _ in living] or None
            members.extend(view for _, view in living)
    return members


def assign_item(target: Tracer, index: Any, value: Any) -> None:
    """Do ``target[index] = value``."""
    _check_thread(target, value)
    if _write_plainly(target, index, value):
        return
    if not isinstance(target, np.ndarray):
        untraced(target)[index] = value  # raises the value's own error
        return
    if not is_writeable(bare(target)):
        raise ValueError("assignment destination is read-only")
    if type(value) not in PLAIN and not is_tracer(value):
        value = calls.converted(value)
        if type(value) in (list, tuple) and innermost((value,), {}) is not None:
            value = as_array(value)
    indices = map(bare, index if type(index) is tuple else (index,))
    reads_mask = reads_mask_it_writes(bare(target), indices)
    index = frozen(index)
    if reads_mask or reads_what_it_writes(bare(target), untraced(index), bare(value)):
        raise overwritten_value()
    root, path = root_and_path(target)
    tape = innermost((root, value, index), {})
    if tape is None:
        _write_constant(root, path, index, untraced(value))
    else:
        _write(root, path, index, value, tape)


def overwritten_value() -> MutationError:
    """Build the error for a write whose value or mask changes while it is written."""
    return MutationError(
        "this write reads elements that it has already overwritten: the value, or the mask, shares "
        "memory with the elements that are written, in another order. Write a copy, or at a copy: "
        "x[index] = y.copy(), x[mask.copy()] = y."
    )


def _check_thread(target: Tracer, value: Any) -> None:
    """Raise if a write into a traced array is made by another thread than its tape's."""
    tape = target._tape if target._tape is not CONSTANT else getattr(value, "_tape", CONSTANT)
    if tape is not CONSTANT and not tape.forward and not is_recording(tape):
        tape.check_open()
        raise MutationError(
            "a thread that the function being differentiated has begun writes into a traced array. "
            "What other threads make of that array meanwhile would be lost: return the values from "
            "the thread, and write them where it was begun."
        )


def is_writeable(x: np.ndarray) -> bool:
    """Whether an array may be written into; this does not warn, as ``x.flags.writeable`` may."""
    return bool(x.flags.num & _WRITEABLE)


_NUMBERS = frozenset({float, np.float64, int})


def _write_plainly(target: Tracer, index: Any, value: Any) -> bool:
    """Write plain numbers into a plain array of one tape, or a view of it; return whether it did.

    If somebody else holds the array, a pullback say, a copy takes its place first.
    """
    if type(target._value) is not np.ndarray or value is target:
        return False
    path: Path = ()
    root, views = target, []
    if target._origin is None and target._views is None:
        is_held = sys.getrefcount(target._value) != HELD_ONCE or target._value.base is not None
    else:
        root, path = root_and_path(target)
        if type(root._value) is not np.ndarray:
            return False
        views = family(root)[1:]
        is_held = not _is_exclusive(root, views)
    array, tape, kind = root._value, root._tape, type(value)
    x, place = value, None
    if kind is FloatTracer or kind is Tracer:
        x = value._value
        if value._tape is not CONSTANT:
            if tape is not CONSTANT and tape is not value._tape:
                return False
            tape, place = value._tape, value._index
    is_array = type(x) is np.ndarray and x.dtype.kind == "f"
    if (
        (not tape.records and tape is not CONSTANT)
        or array.dtype.kind != "f"
        or not array.flags.writeable
        or not (is_array or type(x) in _NUMBERS)
        or (is_array and (is_held or views) and np.may_share_memory(x, array))
        or (views and not all(is_writeable(view._value) for view in views))
    ):
        return False
    is_basic = is_fixed(index)
    if not is_basic:
        index = frozen(index)
        if recorder_of(index) is not None:
            return False
    if is_held:
        array = copy_of(array)
    if path:
        _put(array, path, index, x)
    else:
        array[index] = x
    root._value, before = array, root._index
    if tape is not CONSTANT:
        is_left = root._tape is tape and not _is_whole(root, path, index)
        space = tape.nodes[before].space if root._tape is tape else ProjectTo(array)
        node = Write(
            before if is_left else None, place, path, index, getattr(x, "shape", ()), space,
            axes_in_memory(array) if path else None, None, is_basic,
        )  # fmt: skip
        root._tape, root._index = tape, tape.add(node)
    if views:
        _follow(views, {id(root): before}, is_held)
    return True


def _follow(views: list[Tracer], places: dict[int, Any], are_copied: bool) -> None:
    """Have views show what has been written into their parents, perhaps in a copy of the memory.

    Each keeps its array, and is recorded again as the same view of what the parent is now. `places`
    has the places on the tape that the members of the family had before.
    """
    for view in views:
        parent, node = view._origin.parent, None
        tape = parent._tape
        if tape is not CONSTANT:
            node = tape.nodes[view._index] if view._tape is tape else None
            if not isinstance(node, LinearNode) or node.parents != (places.get(id(parent)),):
                _renew(view)
                continue
        if are_copied:
            view._value = view._origin.make(parent._value)
        if node is not None:
            places[id(view)] = view._index
            view._index = tape.add(node.again(parent._index))


def _is_no_view(target: Tracer) -> bool:
    """Whether an array is no view, and there are no views of it."""
    views = target._views
    if views is not None:
        if any(view() is not None for view in views):
            return False
        target._views = None
    return target._origin is None


def adopt(target: Tracer, made: Any) -> bool:
    """Replace all of an array by a result that nobody else has; return whether that was possible.

    No elements are copied, and the tape needs no node.
    """
    if type(made) is not Tracer or made._tape.program or made._tape is CONSTANT:
        return False
    x, y = target._value, made._value
    if (
        type(x) is not np.ndarray
        or type(y) is not np.ndarray
        or x.dtype is not y.dtype
        or x.shape != y.shape
        or x.strides != y.strides
        or y.base is not None
        or not is_writeable(x)
        or not _is_no_view(target)
    ):
        return False
    _check_thread(target, made)
    target._value, target._tape, target._index = y, made._tape, made._index
    return True


def frozen(index: Any) -> Any:
    """Return an untraced copy of an index, which nobody else can change."""
    index = untraced(index)
    if is_tracer(index):  # recorded; the index itself may be written into later
        return Tracer(index._value, index._tape, index._index)
    if type(index) is np.ndarray:
        return index.copy()
    if type(index) is slice:
        return (
            index if is_fixed(index) else slice(*map(frozen, (index.start, index.stop, index.step)))
        )
    if type(index) is list:
        return untraced(as_array([untraced(i) for i in index])) if index else index.copy()
    return tuple([frozen(i) for i in index]) if type(index) is tuple else index


def assign(target: Tracer, value: Any) -> None:
    """Do ``target[...] = value`` for an array, without broadcasting."""
    plain, new = bare(target), bare(value)
    check_cast(plain, new, np.shape(new) == plain.shape)
    assign_item(target, ..., value)


def check_cast(plain: np.ndarray, new: Any, fits: bool = True) -> None:
    """Raise if an array cannot take a value by NumPy's rule for what works in place."""
    dtype = getattr(new, "dtype", np.dtype(type(new)))
    if not fits or not np.can_cast(dtype, plain.dtype, "same_kind"):
        raise MutationError(
            f"an array of shape {plain.shape} and dtype {plain.dtype} cannot take a value of shape "
            f"{np.shape(new)} and dtype {dtype} in place. Make a new array (y = y + z in the place "
            "of y += z), or make this one of that shape and dtype."
        )


def _write_constant(root: Tracer, path: Path, index: Any, value: Any) -> None:
    """Write an untraced value into an array that is not traced (yet)."""
    views = family(root)[1:]
    if _can_change(root, views):
        _put(root._value, path, index, value)
        return
    _replace(root, views, _replaced(root._value, path, index, value), root._tape, root._index)


def _is_exclusive(root: Tracer, views: list[Tracer]) -> bool:
    """Whether only a root and its views hold its memory."""
    # Each member of the family holds its own array, and the array of each view holds the root's.
    if sys.getrefcount(root._value) != len(views) + HELD_ONCE or root._value.base is not None:
        return False
    return not views or all(sys.getrefcount(view._value) == HELD_ONCE for view in views)


def _can_change(root: Tracer, views: list[Tracer]) -> bool:
    """Whether a write may change the memory of a root, which nobody else holds."""
    return is_writeable(root._value) and _is_exclusive(root, views)


def _replaced(before: np.ndarray, path: Path, index: Any, value: Any) -> np.ndarray:
    """Return a copy of an array in which the elements at `index` of a view are replaced."""
    # Of a number too: the tangent of an array without axes.
    after = copy_of(before) if type(before) is np.ndarray else np.array(before)
    _put(after, path, index, value)
    return after


def _put(array: np.ndarray, path: Path, index: Any, value: Any) -> None:
    """Write into the view of an array that a path leads to."""
    region = array
    for step in path:
        region = step(region)
    if not region.flags.writeable:
        raise ValueError("assignment destination is read-only")
    if region.size and not region.flags.forc and overlaps(region):
        raise MutationError(
            "an array is written into whose elements stand for one another (it was broadcast, or "
            "consists of windows). Write into a copy: x = x.copy()."
        )
    if path and region.base is not array and region.size and not np.may_share_memory(region, array):
        raise MutationError(
            "a view of a traced array is written into that a copy of the array has no view for. "
            "Write into the array itself."
        )
    region[index] = value


def _write(root: Tracer, path: Path, index: Any, value: Any, tape: Any) -> None:
    """Write on the innermost trace level, that of `tape`."""
    new = of_level(value, tape)
    tape.check_open()
    views = family(root)[1:]
    if tape.program:
        can_change = root._tape is tape and _can_change(root, views)
        written, at = tape.write(root, path, index, value, can_change)
        _replace(root, views, written, tape, at)
        return
    if bare(root).dtype.kind not in "fc":  # only a recording may write its values into it
        raise untraced_array(bare(root), "")
    parents = [t._index if is_tracer(t) and t._tape is tape else None for t in (root, value)]
    if _is_whole(root, path, index):
        path, index, parents[0] = (), Ellipsis, None  # nothing of the old value is left
    after: Any
    recorder = recorder_of(index)
    is_here = (root._tape is tape or root._tape is CONSTANT) and recorder is None
    if is_tracer(new) or not is_here or is_tracer(root._value):
        after = _written_outside(of_level(root, tape), path, index, new)
    elif _can_change(root, views):
        _put(root._value, path, index, new)
        after = root._value
    else:
        after = _replaced(root._value, path, index, new)
    place: Any
    if tape.forward:
        place = _written_tangent(after, parents[0], parents[1], path, index)
    else:
        space, axes = ProjectTo(bare(after)), axes_in_memory(bare(after)) if path else None
        node = Write(parents[0], parents[1], path, index, np.shape(new), space, axes, recorder)
        place = tape.add(node)
    _replace(root, views, after, tape, place)


def _is_whole(root: Tracer, path: tuple, index: Any) -> bool:
    """Whether a write replaces every element of the root, in order."""
    if index is not Ellipsis and not (type(index) is slice and index == slice(None)):
        return False
    if not path:
        return np.ndim(root._value) > 0 or index is Ellipsis
    array = region = root._value
    if type(array) is not np.ndarray:
        return False
    for step in path:
        region = step(region)
    return (
        type(region) is np.ndarray
        and region.dtype == array.dtype
        and region.shape == array.shape
        and region.strides == array.strides
        and region.ctypes.data == array.ctypes.data
    )


def _replace(root: Tracer, views: list[Tracer], value: Any, tape: Any, place: Any) -> None:
    """Put another array into a tracer and its views; read-only ones stay read-only."""
    read_only = [member for member in (root, *views) if not is_writeable(bare(member))]
    root._value, root._tape, root._index = value, tape, place
    for view in views:
        _renew(view)
    for member in read_only:  # last, since a new view of a read-only array would be read-only too
        bare(member).flags.writeable = False


def _written_tangent(after: Any, dot: Any, value_dot: Any, path: Path, index: Any) -> Any:
    """Write the tangent of the value into the tangent of the array."""
    for part in (dot, value_dot):
        if isinstance(part, NotImplementedTangent):
            return part
    value_dot = 0.0 if value_dot is None else value_dot
    if dot is None:
        dot = zero_tangent(after)
    plain = bare(dot)
    if type(plain) is np.ndarray and not plain.flags.writeable:  # it was broadcast, not the array
        dot = dot.copy("K")
    if is_tracer(dot) or is_tracer(value_dot) or recorder_of(index) is not None:
        return _written_outside(dot, path, index, value_dot)
    return _replaced(dot, path, index, value_dot)


def _written_outside(before: Any, path: Path, index: Any, new: Any) -> Tracer:
    """Make the write on the next outer trace level; return the array there."""
    outer = innermost((before, new, index), {})
    if outer is None:
        return Tracer(_replaced(bare(before), path, index, untraced(new)), CONSTANT, -1)
    if is_tracer(before):
        copy = wrap(before._value, before._tape, before._index)
    else:
        copy = Tracer(copy_of(before), CONSTANT, -1)  # views lie as they did
    _write(copy, path, index, new, outer)
    return copy


def _renew(view: Tracer) -> None:
    """Make a living view anew after its parent has changed."""
    made = view._origin.make(view._origin.parent)
    if is_tracer(made):
        view._value, view._tape, view._index = made._value, made._tape, made._index
        disown(made)
    else:
        view._value = made


def disown(made: Tracer) -> None:
    """Remove a temporary view from its family: another tracer stands for it."""
    if made._origin is not None:
        views = made._origin.parent._views
        made._origin.parent._views = [r for r in views if r() is not made] or None
        made._origin = None
