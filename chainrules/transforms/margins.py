"""Margins: an array continued beyond its ends, as filters read it there, and the adjoint.

The modes are those of ``np.pad``. All but "constant" read elements again; padding the positions
tells which, and the adjoint adds what was read to where it came from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.shapes.joining import slab
from chainrules.shapes.padding import folded as without_margins

Widths = list[tuple[int, int]]


def extended(x: Any, widths: Widths, mode: str) -> Any:
    """Return `x` with margins; constant ones are 0."""
    return np.pad(x, widths, mode) if any(map(any, widths)) else x


def folded(bar: Any, widths: Widths, mode: str) -> Any:
    """The adjoint of :func:`extended`."""
    sizes = [n - sum(pair) for n, pair in zip(np.shape(bar), widths, strict=True)]
    if mode == "constant":
        for axis, (before, _) in enumerate(widths):
            bar = slab(bar, axis, before, before + sizes[axis])
        return bar
    folds = [
        (np.pad(np.arange(n), pair, mode), axis, pair[0], n)
        for axis, (n, pair) in enumerate(zip(sizes, widths, strict=True))
        if any(pair)
    ]
    return without_margins(bar, folds) if folds else bar
