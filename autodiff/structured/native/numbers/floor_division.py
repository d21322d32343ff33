"""Floor division and remainder of floats, as in Python and NumPy: `inlining` reads the source."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np


def remainder(x: Any, y: Any) -> Any:
    """Return ``x % y``, with the sign of `y`."""
    r = math.fmod(x, y)
    crosses = (r < 0.0 and y > 0.0) or (r > 0.0 and y < 0.0)
    return math.copysign(0.0, y) if r == 0.0 else (r + y if crosses else r)


def quotient(x: Any, y: Any) -> Any:
    """Return ``x // y``."""
    r = math.fmod(x, y)
    crosses = (r < 0.0 and y > 0.0) or (r > 0.0 and y < 0.0)
    q = (x - r) / y
    q = q - 1.0 if crosses else q
    n = np.floor(q)
    return math.copysign(0.0, x / y) if q == 0.0 else (n + 1.0 if q - n > 0.5 else n)


DIVISIONS: dict[Any, Callable] = {
    operator.mod: remainder, np.remainder: remainder,
    operator.floordiv: quotient, np.floor_divide: quotient,
}  # fmt: skip
"""Function of floats → function whose source is inlined for it."""
