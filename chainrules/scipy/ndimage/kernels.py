"""The functions in C beneath scipy.ndimage, and how they are differentiated.

A kernel gets the array into which it is to write. Its body here computes the same by functions that
have rules, and writes it there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.ndimage import _nd_image

from chainrules_core import decompose

# SciPy's modes in the order of their codes, as np.pad calls them.
PADDING = ("edge", "wrap", "symmetric", "reflect", "constant", "wrap", "constant")


def kernel(name: str, module: Any = _nd_image) -> Callable[[Callable], Callable]:
    """Declare the decorated body of a kernel, if SciPy has one of this name."""
    found = getattr(module, name, None)
    return decompose(found) if found is not None else lambda body: body


def widths_of(extents: Any, origins: Any) -> list[tuple[int, int]]:
    """How far a window of these extents reaches before and behind its place."""
    befores = [n // 2 + int(o) for n, o in zip(extents, origins, strict=True)]
    return [(b, n - 1 - b) for b, n in zip(befores, extents, strict=True)]


def along(value: Any, axis: int, ndim: int, rest: Any) -> list:
    """A sequence with a value for one axis."""
    return [value if i == axis else rest for i in range(ndim)]


def inexact(x: Any) -> Any:
    """Numbers that are not integers."""
    return x if np.dtype(x.dtype).kind in "fc" else x.astype(float)
