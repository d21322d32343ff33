"""The precision in which partial derivatives are computed: that of the output."""

from __future__ import annotations

from typing import Any

import numpy as np

_FLOAT64 = np.dtype(float)
_LOW = frozenset({np.float16, np.float32, np.complex64})


def precise(y: Any, args: tuple) -> tuple:
    """Return the arguments with the precision of the output, which partials are computed in."""
    if not any([is_less_precise(a, y) for a in args]):  # noqa: C419 - a third less
        return args
    dtype = _dtype_of(y)
    real = np.dtype(f"f{_size(dtype)}")
    return tuple(
        [a.astype(np.result_type(a.dtype, real)) if is_less_precise(a, y) else a for a in args]
    )


def is_less_precise(a: Any, y: Any) -> bool:
    """Whether an argument is an array or number of NumPy's of lower precision than the output."""
    if type(a) is not np.ndarray and type(a) not in _LOW:
        return False
    return a.dtype.kind in "fc" and _size(a.dtype) < _size(_dtype_of(y))


def _dtype_of(y: Any) -> np.dtype:
    dtype = getattr(y[0] if type(y) is tuple else y, "dtype", _FLOAT64)
    return dtype if dtype.kind in "fc" else _FLOAT64


def _size(dtype: np.dtype) -> int:
    """Return the size of a real number of this precision."""
    return dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
