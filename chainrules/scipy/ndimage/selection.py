"""Filters that select an element of each window: minimum, maximum, rank, median, percentile.

The windows are laid beside each other and the selection is NumPy's: elements that tie share a
minimum or maximum equally, and a rank is that of a sort, which keeps their order. A ``structure`` is
added to the window (taken off for a minimum).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.ndimage import _filters

from chainrules.scipy.ndimage.kernels import PADDING, along, inexact, kernel, widths_of
from chainrules_core import non_differentiable


def windows(x: Any, footprint: Any, mode: int, cval: Any, origins: Any) -> Any:
    """Return what the window sees at each place: one array for each element of the footprint."""
    x, padding = inexact(x), PADDING[mode]
    widths = widths_of(np.shape(footprint), origins)
    if padding == "constant":
        seen = np.pad(x - cval, widths) + cval
    else:
        seen = np.pad(x, widths, padding)
    shape = np.shape(x)
    return np.stack(
        [
            seen[tuple([slice(k, k + n) for k, n in zip(place, shape, strict=True)])]
            for place in np.argwhere(footprint).tolist()
        ]
    )


@kernel("min_or_max_filter1d")
def min_or_max_filter1d_body(input, size, axis, output, mode, cval, origin, minimum):
    ndim = np.ndim(input)
    seen = windows(
        input, np.ones(along(size, axis, ndim, 1)), mode, cval, along(origin, axis, ndim, 0)
    )
    output[...] = np.min(seen, axis=0) if minimum else np.max(seen, axis=0)


@kernel("min_or_max_filter")
def min_or_max_filter_body(input, footprint, structure, output, mode, cval, origins, minimum):
    seen = windows(input, footprint, mode, cval, origins)
    if structure is not None:
        heights = np.reshape(structure[footprint], (-1,) + (1,) * np.ndim(input))
        seen = seen - heights if minimum else seen + heights
    output[...] = np.min(seen, axis=0) if minimum else np.max(seen, axis=0)


@kernel("rank_filter")
def rank_filter_body(input, rank, footprint, output, mode, cval, origins):
    seen = windows(input, footprint, mode, cval, origins)
    output[...] = np.sort(seen, axis=0)[int(rank)]


@kernel("rank_filter", getattr(_filters, "_rank_filter_1d", None))
def rank_filter_1d_body(input, rank, size, output, mode, cval, origin):
    rank_filter_body(input, rank, np.ones(size, bool), output, mode, cval, [origin])
