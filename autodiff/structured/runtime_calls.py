"""What the source of structured programs calls, beside functions of NumPy and rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_core import AbstractZero, unbroadcast, unthunk

add_at = np.add.at


class SteppedAsideError(Exception):
    """Machine code does not know what NumPy does here: its source is run."""


class ChangedError(Exception):
    """A value is of another kind than the program was made for."""


class BroadcastError(Exception):
    """Arrays were broadcast against each other, which the code was not written for."""


def total(x: Any) -> Any:
    """Return the sum of all elements; a float of Python's, with which it computes faster."""
    found = x.sum() if type(x) is np.ndarray else x
    return float(found) if type(found) is np.float64 else found


def inner(d: Any, g: Any) -> Any:
    """Return the sum of the products of elements."""
    if type(d) is np.ndarray and type(g) is np.ndarray and d.shape == g.shape:
        return total(np.vdot(d, g))
    return total(d * g)


def spread(g: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an array that is filled with a cotangent."""
    x = np.empty(shape, dtype)
    x[...] = g
    return x


def fitted(x: Any, shape: tuple[int, ...]) -> Any:
    """Sum a cotangent back to the shape that was broadcast."""
    return x if x.shape == shape else unbroadcast(x, shape)


def gather(shadow: np.ndarray, x: Any) -> None:
    """Add what a rule has returned to a shadow."""
    x = unthunk(x)
    if not isinstance(x, AbstractZero):
        if np.shape(x) != shadow.shape:
            x = unbroadcast(x, shadow.shape)
        shadow += x


def settled(x: Any, shape: tuple[int, ...]) -> Any:
    """Return what a rule has returned as an array of this shape."""
    x = unthunk(x)
    if isinstance(x, AbstractZero):
        return np.zeros(shape)
    return x if np.shape(x) == shape else unbroadcast(x, shape)


def whole(x: Any, primal: np.ndarray) -> np.ndarray:
    """Return the cotangent of an argument, which is 0.0 if nothing has come."""
    if type(x) is not np.ndarray:
        return np.full_like(primal, x)
    if x.shape != primal.shape:
        raise ValueError("a cotangent of another shape")
    return x.astype(primal.dtype, copy=False)


def number(x: Any) -> Any:
    """Return what a rule has returned for a number."""
    x = unthunk(x)
    if isinstance(x, AbstractZero):
        return 0.0
    return total(x)


def part(x: Any, i: int) -> Any:
    """Return what a rule has returned for one part of an argument that is a list."""
    x = unthunk(x)
    return x if isinstance(x, AbstractZero) else x[i]


SCOPE = {
    "part": part,
    "total": total,
    "inner": inner,
    "fitted": fitted,
    "gather": gather,
    "settled": settled,
    "spread": spread,
    "whole": whole,
    "number": number,
    "add_at": add_at,
    "s_": np.s_,
    "zeros_like": np.zeros_like,
    "may_share": np.may_share_memory,
    "array": np.array,
    "Changed": ChangedError,
    "Broadcast": BroadcastError,
    "__name__": "autodiff.structured.generated",
}
"""What generated code finds by name."""
