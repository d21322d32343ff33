"""Writes into traced arrays.

A write makes a new value: the array before the write with some elements replaced. The tracer that
was written into then stands for the new value, so every name for it sees the write. The memory of
the old value is left alone, since pullbacks may hold it. Other tracers that are views of the same
memory would not see the write; where there are any, the write is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.call import call, innermost
from autodiff.errors import MutationError
from autodiff.tape import Node
from autodiff.tracer import Tracer, is_tracer, untraced, wrap
from chainrules_core import ProjectTo, unbroadcast


def assign_item(target: Tracer, index: Any, value: Any) -> None:
    """Do ``target[index] = value``."""
    if not isinstance(target, np.ndarray):
        untraced(target)[index] = value  # the error is the value's own
        return
    _check(target)
    tape = innermost((target, value), {})
    rebind(target, replaced(target, index, value, tape))


def assign(target: Tracer, value: Any) -> None:
    """Make `target`, an array, hold `value`, as ``target[...] = value`` does."""
    _check(target)
    plain, new = untraced(target), untraced(value)
    if np.shape(new) != plain.shape or not np.can_cast(
        getattr(new, "dtype", type(new)), plain.dtype, "same_kind"
    ):
        raise MutationError(
            f"an array of shape {plain.shape} and dtype {plain.dtype} cannot take a value of shape "
            f"{np.shape(new)} and dtype {getattr(new, 'dtype', type(new).__name__)} in place."
        )
    if getattr(new, "dtype", None) != plain.dtype:
        value = value.astype(plain.dtype)
    rebind(target, value)


def rebind(target: Tracer, value: Any) -> None:
    """Let a tracer stand for another traced value."""
    target._value, target._tape, target._index = value._value, value._tape, value._index


def _check(target: Tracer) -> None:
    if target._shares:
        raise MutationError(
            "a traced array is written into that shares its memory with another one (one is a view "
            "of the other: a slice, a transpose, a reshape). Write into a copy: x = x.copy()."
        )


def replaced(target: Tracer, index: Any, value: Any, tape: Any) -> Tracer:
    """Return `target` with the elements at `index` replaced by `value`, recorded on `tape`."""
    before = target._value if target._tape is tape else target
    new = value._value if is_tracer(value) and value._tape is tape else value
    if type(value) in (list, tuple) and innermost((value,), {}) is not None:
        value = call(np.stack, (list(value),))
        return replaced(target, index, value, tape)
    if is_tracer(before) or is_tracer(new):  # an outer level: the same there, one level down
        outer = innermost((before, new), {})
        start = before if is_tracer(before) else wrap_constant(before, outer)
        after: Any = replaced(start, index, new, outer)
    else:
        after = before.copy()
        after[index] = new
    kept = np.ones(before.shape, bool)
    kept[index] = False
    shape, dtype = np.shape(new), before.dtype
    winner = last_writes(before.shape, index)

    def replace_pullback(y_bar: Any) -> tuple:
        bars = []
        if target_traced:
            bars.append(np.where(kept, y_bar, np.zeros((), dtype)))
        if value_traced:
            bar = y_bar[index]
            if winner is not None:
                bar = np.where(winner, bar, np.zeros((), dtype))
            bars.append(unbroadcast(bar, shape))
        return tuple(bars)

    target_traced = target._tape is tape
    value_traced = is_tracer(value) and value._tape is tape
    parents = ((target._index,) if target_traced else ()) + (
        (value._index,) if value_traced else ()
    )
    node = Node(parents, replace_pullback, ProjectTo(after), None, (0, 1))
    return wrap(after, tape, tape.add(node))


def last_writes(shape: tuple, index: Any) -> np.ndarray | None:
    """Return which of the elements written at `index` stay, if some may be written twice."""
    parts = index if type(index) is tuple else (index,)
    if not any(isinstance(p, (list, np.ndarray)) for p in parts):
        return None
    written = np.zeros(shape, np.intp)
    ticket = np.arange(written[index].size).reshape(written[index].shape)
    written[index] = ticket
    return written[index] == ticket


def wrap_constant(x: Any, tape: Any) -> Tracer:
    """Return a constant as traced value."""
    return wrap(x, tape, tape.add(Node((), lambda y_bar: (), ProjectTo(x), None, ())))

