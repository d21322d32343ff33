"""Filters that select an element of each window: minimum, maximum, rank, median, percentile.

The windows are laid beside each other and the selection is NumPy's: elements that tie share a
minimum or maximum equally, and a rank is that of a sort, which keeps their order. A ``structure``
is added to the window (taken off for a minimum).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.ndimage import _filters

from chainrules.scipy.ndimage.kernels import PADDING, along, kernel, typed, widths_of


def continued(x: Any, widths: list, padding: str, cval: Any) -> Any:
    """Return `x` with margins; a constant in them may be differentiated."""
    if padding == "constant":
        return np.pad(x - cval, widths) + cval
    return np.pad(x, widths, padding)


def windows(x: Any, footprint: Any, mode: int, cval: Any, origins: Any) -> Any:
    """Return what the window sees at each place: one array for each element of the footprint."""
    if np.size(x) == 0:
        return np.stack([x])
    seen = continued(x, widths_of(np.shape(footprint), origins), PADDING[mode], cval)
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
    footprint, origins = np.ones(along(size, axis, ndim, 1)), along(origin, axis, ndim, 0)
    seen = windows(typed(input, output), footprint, mode, cval, origins)
    output[...] = np.min(seen, axis=0) if minimum else np.max(seen, axis=0)


@kernel("min_or_max_filter")
def min_or_max_filter_body(input, footprint, structure, output, mode, cval, origins, minimum):
    seen = windows(typed(input, output), footprint, mode, cval, origins)
    if structure is not None:
        heights = np.reshape(structure[footprint], (-1,) + (1,) * np.ndim(input))
        seen = seen - heights if minimum else seen + heights
    output[...] = np.min(seen, axis=0) if minimum else np.max(seen, axis=0)


@kernel("rank_filter")
def rank_filter_body(input, rank, footprint, output, mode, cval, origins):
    seen = windows(typed(input, output), footprint, mode, cval, origins)
    output[...] = np.sort(seen, axis=0)[int(rank)]


@kernel("rank_filter", getattr(_filters, "_rank_filter_1d", None))
def rank_filter_1d_body(input, rank, size, output, mode, cval, origin):
    rank_filter_body(input, rank, np.ones(size, bool), output, mode, cval, [origin])
