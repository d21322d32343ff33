"""Functions of our own that take part in NumPy's protocols, as NumPy's functions do.

A pullback that calls one of them on a traced cotangent must not look into it: the call has to
reach the engine, which asks for the function's rule. NumPy's functions hand such a call to
``__array_function__`` of the argument; so do functions decorated with `array_function`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np


def array_function(f: Callable) -> Callable:
    """Have a function offer its call to its first argument, by NumPy's protocol.

    Examples
    --------
    >>> @array_function
    ... def twice(x): return 2 * x
    >>> twice(3.0)
    6.0
    """

    @functools.wraps(f)
    def dispatched(first: Any, *args: Any, **kwargs: Any) -> Any:
        kind = type(first)
        if kind is not np.ndarray and hasattr(kind, "__array_function__"):
            result = first.__array_function__(dispatched, (kind,), (first, *args), kwargs)
            if result is not NotImplemented:
                return result
        return f(first, *args, **kwargs)

    return dispatched
