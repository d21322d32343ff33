"""The arguments as partial derivatives are computed from them: in the precision of the output.

NumPy computes float64 results of integers, truth values and numbers of lower precision. A partial
derivative made of these as they are would wrap around (``uint8 - 1``), or be less precise
(``np.log`` of a uint8 is a float16).
"""

from __future__ import annotations

from typing import Any

import numpy as np

FLOAT64 = np.dtype(float)
_INT64 = np.dtype(np.int64)
_SMALL_INTEGERS = (
    np.bool_, np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.uint64, np.ulonglong,
)  # fmt: skip
_LOW = frozenset({np.float16, np.float32, np.complex64, *_SMALL_INTEGERS})
_LISTS = (list, tuple)


def precise(y: Any, args: tuple) -> tuple:
    """Return the arguments with the precision of the output, which partials are computed in.

    Lists become arrays. Of integers, those of 64 bits stay what they are: they may be orders.

    Examples
    --------
    >>> precise(0.5, (np.uint8(3), 2.0))
    (np.int64(3), 2.0)
    """
    if not any([is_less_precise(a, y) for a in args]):  # noqa: C419 - a third less
        return args
    return tuple([_widened(a, y) if is_less_precise(a, y) else a for a in args])


def is_less_precise(a: Any, y: Any) -> bool:
    """Whether an argument is a list, or an array or number of NumPy's that `precise` converts."""
    if type(a) is not np.ndarray and type(a) not in _LOW:
        return type(a) in _LISTS
    dtype = a.dtype
    if dtype.kind in "fc":
        return _size(dtype) < _size(_dtype_of(y))
    return dtype.type in _SMALL_INTEGERS


def _widened(a: Any, y: Any) -> Any:
    if type(a) in _LISTS:
        a = np.asarray(a)
        if not is_less_precise(a, y):
            return a
    if a.dtype.kind in "fc":
        return a.astype(np.result_type(a.dtype, f"f{_size(_dtype_of(y))}"))
    return a.astype(_INT64 if np.can_cast(a.dtype, _INT64) else FLOAT64)


def _dtype_of(y: Any) -> np.dtype:
    dtype = getattr(y[0] if type(y) is tuple else y, "dtype", FLOAT64)
    return dtype if dtype.kind in "fc" else FLOAT64


def _size(dtype: np.dtype) -> int:
    """Return the size of a real number of this precision."""
    return dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
