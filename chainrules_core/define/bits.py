"""Products with 0, 1 and -1 by the bits of floating-point numbers.

To multiply by a truth value is to keep all bits or none, to multiply by a sign is to flip one bit.
NumPy does that at the speed of a copy, where it converts truth values to numbers piece by piece and
takes signs one by one; and 0 times Inf is 0 then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# The integers that are as long as floating-point numbers.
_INTEGERS: dict[Any, Any] = {
    np.dtype(np.float64): np.dtype(np.int64),
    np.dtype(np.float32): np.dtype(np.int32),
}
_SMALL = 512  # elements, for which it is calls that take the time
_PLAIN = frozenset({np.ndarray, np.float64, np.float32})


def where_true(mask: Any, t: Any) -> Any:
    """Return `t` where `mask` is true and 0 elsewhere, even if `t` is Inf or NaN there.

    ``np.where`` is slow if true and false alternate; this is not.

    Examples
    --------
    >>> where_true(np.array([True, False, False]), np.array([1.5, -2.0, np.inf]))
    array([1.5, 0. , 0. ])
    """
    if type(mask) is np.ndarray and mask.ndim and mask.dtype.kind == "b":
        if type(t) is float:
            t = np.float64(t)
        integer = _INTEGERS.get(t.dtype) if type(t) in _PLAIN else None
        if integer is not None and mask.size > _SMALL:
            # NumPy makes bytes of 0 and -1 longer piece by piece, in the processor's cache.
            bits = np.negative(mask.view(np.int8))
            return np.bitwise_and(bits, t.view(integer)).view(t.dtype)
    return np.where(mask, t, 0)


def remainder(t: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Return ``t - part`` where each element of `part` is 0 or that of `t`; with Inf - Inf = 0.

    Examples
    --------
    >>> remainder(np.array([1.5, np.inf]), np.array([0.0, np.inf]))
    array([1.5, 0. ])
    """
    integer = _INTEGERS[t.dtype]
    return np.bitwise_xor(t.view(integer), part.view(integer)).view(t.dtype)


def turned_by_sign(t: Any, x: Any) -> np.ndarray | None:
    """Return `t` times the sign of `x`, which has no zeros; None if these are no plain arrays.

    Examples
    --------
    >>> turned_by_sign(np.array([1.0, 2.0]), np.array([0.5, -0.5]))
    array([ 1., -2.])
    """
    if type(t) is not np.ndarray or type(x) is not np.ndarray or t.dtype != x.dtype:
        return None
    integer = _INTEGERS.get(t.dtype)
    if integer is None or t.shape != x.shape:
        return None
    sign = np.bitwise_and(x.view(integer), np.iinfo(integer).min)
    return np.bitwise_xor(sign, t.view(integer), out=sign).view(t.dtype)
