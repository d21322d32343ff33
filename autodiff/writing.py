"""NumPy's functions that write into their first argument, for traced arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.errors import MutationError
from autodiff.mutation import assign, assign_item
from autodiff.tracer import Tracer, is_tracer
from chainrules_core import ProjectTo, rrule
from chainrules_core.define import LinearRule


def _target(x: Any) -> Tracer:
    if not is_tracer(x):
        raise MutationError(
            "a traced value is written into an array that is not traced, and its derivative would "
            "be lost. Make the array inside the function being differentiated."
        )
    return x


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """As ``np.copyto``."""
    if where is True:
        assign_item(_target(dst), ..., src)
        return
    mask = np.broadcast_to(where, np.shape(dst))
    assign_item(_target(dst), mask, np.broadcast_to(src, np.shape(dst))[mask])


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """As ``np.fill_diagonal``, for matrices that do not wrap."""
    if np.ndim(a) != 2 or wrap:
        raise MutationError("np.fill_diagonal is followed for matrices and without wrap=True only.")
    n = min(np.shape(a))
    places = np.arange(n)
    values = val if np.ndim(val) == 0 else np.reshape(val, (-1,))[places % np.size(val)]
    assign_item(_target(a), (places, places), values)


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """As ``np.put``."""
    places = np.ravel(np.asarray(ind))
    if mode == "wrap":
        places = places % np.size(a)
    elif mode == "clip":
        places = np.clip(places, 0, np.size(a) - 1)
    index = np.unravel_index(np.where(places < 0, places + np.size(a), places), np.shape(a))
    values = v if np.ndim(v) == 0 else np.reshape(v, (-1,))[np.arange(places.size) % np.size(v)]
    assign_item(_target(a), index, values)


def putmask(a: Any, mask: Any, values: Any) -> None:
    """As ``np.putmask``."""
    mask = np.asarray(mask, bool)
    places = np.flatnonzero(mask) % np.size(values)
    taken = values if np.ndim(values) == 0 else np.reshape(values, (-1,))[places]
    assign_item(_target(a), mask, taken)


def place(arr: Any, mask: Any, vals: Any) -> None:
    """As ``np.place``."""
    mask = np.asarray(mask, bool)
    places = np.arange(np.count_nonzero(mask)) % np.size(vals)
    assign_item(_target(arr), mask, np.reshape(vals, (-1,))[places])


WRITERS: dict[Callable, Callable] = {
    np.copyto: copyto,
    np.fill_diagonal: fill_diagonal,
    np.put: put,
    np.putmask: putmask,
    np.place: place,
}


def add_at(ufunc: np.ufunc, a: Any, index: Any, b: Any) -> None:
    """As ``np.add.at`` and ``np.subtract.at``: indices that repeat add up."""
    if ufunc not in (np.add, np.subtract):
        raise MutationError(
            f"np.{ufunc.__name__}.at is not followed; np.add.at and np.subtract.at are."
        )
    entry = rrule.entry(operator.getitem)
    rule = None if entry is None else entry.find((np.ndarray, object))
    if not isinstance(rule, LinearRule):
        raise MutationError("np.add.at needs the rule for reading elements, which is missing.")
    target: Any = _target(a)
    values = np.broadcast_to(b, np.shape(target[index]))
    scattered = rule.adjoints[0](values, ProjectTo(target), index)
    assign(target, target + scattered if ufunc is np.add else target - scattered)
