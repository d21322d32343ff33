"""Add to an accumulated tangent, in place where that is known to be safe."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from chainrules_core.errors import BadInplaceError
from chainrules_core.operations.arithmetic import add
from chainrules_core.tangents.thunk import AbstractThunk, InplaceableThunk, unthunk_deep


def add_inplace(acc: Any, dx: Any) -> Any:
    """Return the sum of an accumulator and a tangent; this may change `acc`.

    Always use the returned value, which may or may not be `acc`. The caller must own `acc`: nobody
    else may rely on its old contents.

    Parameters
    ----------
    acc : tangent
        The sum so far. It changes if it is an inplaceable destination.
    dx : tangent
        The tangent to add, which never changes. If its precision or kind does not fit into `acc` (a
        complex `dx`, a real `acc`), the sum is a new array.

    Returns
    -------
    tangent
        The sum.

    Raises
    ------
    BadInplaceError
        In debug mode, if the function of an `InplaceableThunk` returns another buffer than its
        argument.

    Examples
    --------
    >>> acc = np.ones(2)
    >>> add_inplace(acc, np.array([1.0, 2.0])) is acc
    True
    >>> acc
    array([2., 3.])
    >>> add_inplace(acc, np.array([1j, 0.0]))
    array([2.+1.j, 3.+0.j])
    """
    if type(dx) is np.ndarray and type(acc) is np.ndarray and dx.shape == acc.shape:
        if (
            acc.dtype == dx.dtype or np.can_cast(dx.dtype, acc.dtype, "same_kind")
        ) and is_inplaceable_destination(acc):
            acc += dx
            return acc
        return acc + dx
    if isinstance(dx, AbstractThunk):
        if isinstance(dx, InplaceableThunk) and is_inplaceable_destination(acc):
            return _add_thunk_into(acc, dx)
        return add_inplace(acc, unthunk_deep(dx))
    return add(acc, dx)


def _add_thunk_into(acc: Any, dx: InplaceableThunk) -> Any:
    from chainrules_core.calling.debug import is_debug

    result = dx.add_into(acc)
    if is_debug() and result is not acc:
        raise BadInplaceError(dx.add_into, result)
    return result


def is_inplaceable_destination(x: Any) -> bool:
    """Return whether it is safe to add to `x` in place.

    True for a plain, writeable array of floats or complex numbers in which no element appears twice
    (as in a view from ``np.broadcast_to``). When unsure, the answer is False. Register a function
    for your own class with ``@is_inplaceable_destination.register(MyArray)``.

    Examples
    --------
    >>> is_inplaceable_destination(np.ones(3)), is_inplaceable_destination(np.arange(3))
    (True, False)
    >>> is_inplaceable_destination(np.broadcast_to(1.0, 3)), is_inplaceable_destination(1.0)
    (False, False)
    """
    if type(x) is np.ndarray:
        if x.dtype.kind not in "fc" or not x.flags.writeable:
            return False
        if x.base is None or x.flags.forc:
            return True
        return _no_element_twice(x)
    return _registered(x)


def _no_element_twice(x: np.ndarray) -> bool:
    # Sufficient, not necessary: from the smallest stride up, each steps over all that is below.
    extent = x.itemsize
    for stride, n in sorted((abs(s), n) for s, n in zip(x.strides, x.shape, strict=True) if n > 1):
        if stride < extent:
            return False
        extent += stride * (n - 1)
    return True


@functools.singledispatch
def _registered(x: Any) -> bool:
    return False


is_inplaceable_destination.register = _registered.register  # type: ignore[attr-defined]
