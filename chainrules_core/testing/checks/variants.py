"""The forms in which a cotangent may reach a pullback."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from chainrules_core.operations.accumulation import add_inplace
from chainrules_core.tangents import (
    AbstractThunk,
    AbstractZero,
    InplaceableThunk,
    Tangent,
    ZeroTangent,
    thunk,
    unthunk,
)
from chainrules_core.testing.numeric.vectors import fresh, items_of


class CountingThunk(AbstractThunk):
    """A thunk that computes its value at every use, and counts them.

    Examples
    --------
    >>> seed = CountingThunk(2.0)
    >>> seed + seed, seed.forced
    (4.0, 2)
    """

    __slots__ = ("_value", "forced")

    def __init__(self, value: Any) -> None:
        self._value = value
        self.forced = 0

    def _value_now(self) -> Any:
        self.forced += 1
        return self._value

    def __reduce__(self) -> tuple:
        return CountingThunk, (self._value,)


def seed_variants(y: Any, y_bar: Any) -> Iterator[tuple[str, Any]]:
    """Yield the other forms of a cotangent, with names for messages: equal to it, but not alike.

    Parameters
    ----------
    y : value
        The output that it is for.
    y_bar : tangent
        The cotangent.
    """
    y_bar = unthunk(y_bar)
    if isinstance(y_bar, AbstractZero):
        return
    yield "a thunk", CountingThunk(fresh(y_bar))
    yield (
        "an InplaceableThunk",
        InplaceableThunk(lambda buffer: add_inplace(buffer, y_bar), lambda: fresh(y_bar)),
    )
    if isinstance(y_bar, Tangent):
        yield "a Tangent of thunks", Tangent.map(y_bar, _delayed)
        if any(isinstance(unthunk(part), np.ndarray) for _, part in items_of(y_bar)):
            yield "a Tangent of read-only arrays", Tangent.map(y_bar, _read_only)
    elif isinstance(y_bar, np.ndarray) and y_bar.dtype.kind in "fc" and type(y_bar) is np.ndarray:
        yield from _array_variants(y, y_bar)
    elif isinstance(y_bar, (float, complex, np.floating, np.complexfloating)):
        yield "a 0-d array", np.array(y_bar)
        if not isinstance(y_bar, np.generic):
            yield "a NumPy scalar", np.array(y_bar)[()]
        elif y_bar.dtype in (float, complex):
            yield "a Python number", y_bar.item()


def _array_variants(y: Any, y_bar: np.ndarray) -> Iterator[tuple[str, Any]]:
    yield "a read-only array", _read_only(y_bar)
    if y_bar.ndim:
        twice = np.empty((*y_bar.shape[:-1], 2 * y_bar.shape[-1]), y_bar.dtype)
        twice[..., ::2] = twice[..., 1::2] = y_bar
        yield "an array that is not contiguous", twice[..., ::2]
    elif isinstance(y, np.ndarray):
        yield "a NumPy scalar", y_bar[()]
    if y_bar.ndim > 1:
        yield "an array in Fortran order", np.asfortranarray(y_bar)


def _read_only(part: Any) -> Any:
    part = unthunk(part)
    if not isinstance(part, np.ndarray):
        return part
    part = part.copy()
    part.flags.writeable = False
    return part


def _delayed(part: Any) -> Any:
    return part if isinstance(part, AbstractZero) else thunk(lambda: fresh(unthunk(part)))


def parts_alone(y_bar: Any) -> list[tuple[Any, Any]]:
    """Return, for each part of a structural cotangent, the cotangent with this part alone.

    Examples
    --------
    >>> parts_alone(Tangent[tuple](1.0, 2.0))[1]
    (1, Tangent[tuple](ZeroTangent(), 2.0))
    """
    y_bar = unthunk(y_bar)
    if not isinstance(y_bar, Tangent):
        return []
    alone = []
    for key, part in items_of(y_bar):
        if not isinstance(unthunk(part), AbstractZero):
            keys = iter([k for k, _ in items_of(y_bar)])
            alone.append((key, Tangent.map(y_bar, partial(_if_key, keys, key))))
    return alone


def _if_key(keys: Iterator, key: Any, part: Any) -> Any:
    return part if next(keys) == key or isinstance(part, AbstractZero) else ZeroTangent()
