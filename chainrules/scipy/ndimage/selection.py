"""Filters that select an element of each window: minimum, maximum, rank, median, percentile.

The value is SciPy's, and `chosen` says how it is differentiated. With a ``structure``, which is
added to the window (taken off for a minimum), the windows are laid beside each other and the
selection is NumPy's. Either way elements that tie share a minimum or maximum equally.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.scipy.ndimage.chosen import chosen
from chainrules.scipy.ndimage.kernels import PADDING, along, kernel, typed, widths_of
from chainrules.scipy.private import Private
from chainrules_core import ignore_derivatives, non_differentiable, primitive

_filters = Private("ndimage._filters")
_nd_image = Private("ndimage._nd_image")

RANKS = _filters.get("_rank_filter_1d")  # since SciPy 1.15


def continued(x: Any, widths: list, padding: str, cval: Any) -> Any:
    """Return `x` with margins; a constant in them may be differentiated."""
    if padding == "constant":
        return np.pad(x, widths, constant_values=cval)
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


def selected(
    x: Any, y: Any, footprint: Any, mode: int, cval: Any, origins: Any, rank: int | None = None
) -> Any:
    """Return `y`, what SciPy has selected of the windows of `x`."""
    if np.size(x) == 0:
        return x
    widths = widths_of(np.shape(footprint), origins)
    return chosen(continued(x, widths, PADDING[mode], cval), y, footprint, rank)


@primitive
def computed(kernel: Any, output: Any, before: tuple, after: tuple) -> Any:
    """What a kernel of SciPy's writes into an array like `output`, given plain values."""
    y = np.zeros(np.shape(output), output.dtype)
    kernel(*before, y, *after)
    return y


non_differentiable(computed)


@kernel("min_or_max_filter1d")
def min_or_max_filter1d_body(input, size, axis, output, mode, cval, origin, minimum):
    x, ndim = typed(input, output), np.ndim(input)
    footprint, origins = np.ones(along(size, axis, ndim, 1), bool), along(origin, axis, ndim, 0)
    plain, constant = ignore_derivatives(x), ignore_derivatives(cval)
    before, after = (plain, size, axis), (mode, constant, origin, minimum)
    y = computed(_nd_image.min_or_max_filter1d, output, before, after)
    output[...] = selected(x, y, footprint, mode, cval, origins)


@kernel("min_or_max_filter")
def min_or_max_filter_body(input, footprint, structure, output, mode, cval, origins, minimum):
    x = typed(input, output)
    if structure is None:
        plain, constant = ignore_derivatives(x), ignore_derivatives(cval)
        before, after = (plain, footprint, None), (mode, constant, origins, minimum)
        y = computed(_nd_image.min_or_max_filter, output, before, after)
        output[...] = selected(x, y, footprint, mode, cval, origins)
        return
    seen = windows(x, footprint, mode, cval, origins)
    heights = np.reshape(structure[footprint], (-1,) + (1,) * np.ndim(input))
    seen = seen - heights if minimum else seen + heights
    output[...] = np.min(seen, axis=0) if minimum else np.max(seen, axis=0)


@kernel("rank_filter")
def rank_filter_body(input, rank, footprint, output, mode, cval, origins):
    x, footprint = typed(input, output), np.asarray(footprint, bool)
    plain, constant = ignore_derivatives(x), ignore_derivatives(cval)
    y = computed(_nd_image.rank_filter, output, (plain, rank, footprint), (mode, constant, origins))
    output[...] = selected(x, y, footprint, mode, cval, origins, int(rank))


@kernel("rank_filter", RANKS)
def rank_filter_1d_body(input, rank, size, output, mode, cval, origin):
    x, footprint = typed(input, output), np.ones(size, bool)
    plain, constant = ignore_derivatives(x), ignore_derivatives(cval)
    y = computed(RANKS.rank_filter, output, (plain, rank, size), (mode, constant, origin))
    output[...] = selected(x, y, footprint, mode, cval, [origin], int(rank))
