"""Margins: an array continued beyond its ends, as filters read it there, and the adjoint.

The modes are those of ``np.pad``. All but "constant" read elements again; padding the positions
tells which, and the adjoint adds what was read to where it came from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.indexing.taking import scatter_along
from chainrules.shapes.joining import slab

Widths = list[tuple[int, int]]


def extended(x: Any, widths: Widths, mode: str) -> Any:
    """Return `x` with margins; constant ones are 0."""
    return np.pad(x, widths, mode) if any(map(any, widths)) else x


def folded(bar: Any, widths: Widths, mode: str) -> Any:
    """The adjoint of :func:`extended`."""
    for axis, (before, after) in enumerate(widths):
        n = np.shape(bar)[axis] - before - after
        if mode == "constant":
            bar = slab(bar, axis, before, before + n)
        elif before or after:
            read = np.pad(np.arange(n), (before, after), mode)
            shape = (*np.shape(bar)[:axis], n, *np.shape(bar)[axis + 1 :])
            bar = scatter_along(bar, read, axis, shape, bar.dtype)
    return bar
