"""Correlation with weights, by which most filters compute.

y_i = Σ_k w_k x_{i+k-l}, where l is how far the window reaches before its place and x goes on beyond
its ends. With x continued to P(x), the adjoints are x̄ = Pᵀ(w * ȳ), a full convolution, and
w̄_k = Σ_i ȳ_i P(x)_{i+k}. A constant c beyond the ends is taken off before and put back after,
c Σ w, so that there is 0 beyond them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import ndimage, signal

from chainrules.linalg.matrices import conj
from chainrules.scipy.ndimage.kernels import PADDING, along, kernel, typed, widths_of
from chainrules.shapes.joining import slab
from chainrules.transforms.margins import extended, folded
from chainrules_core import linear_rule, primitive
from chainrules_core.authoring import is_foreign, scatter_along_into

MODES = {"edge": "nearest", "wrap": "wrap", "symmetric": "reflect", "reflect": "mirror"}


@primitive
def correlated(x: Any, w: Any, mode: str, origins: tuple[int, ...]) -> Any:
    """Correlate; `mode` is one of np.pad's, and there is 0 beyond the ends in "constant"."""
    mode = MODES.get(mode, mode)
    long = [i for i, n in enumerate(np.shape(w)) if n > 1]
    if len(long) > 1:
        return ndimage.correlate(x, w, None, mode, 0.0, list(origins))
    axis = long[0] if long else 0
    return ndimage.correlate1d(x, np.ravel(w), axis, None, mode, 0.0, origins[axis])


def x_adjoint(y_bar, x, w, mode, origins):
    extents = np.shape(w)
    widths = widths_of(extents, origins)
    spread = tuple([after - n // 2 for (_, after), n in zip(widths, extents, strict=True)])
    weights = np.flip(w)
    if mode == "constant":
        return correlated(y_bar, weights, mode, spread)
    long = [i for i, n in enumerate(extents) if n > 1]
    if len(long) == 1 and not is_foreign(y_bar) and not is_foreign(w):
        (axis,) = long
        if 2 * extents[axis] < np.shape(y_bar)[axis]:
            return along_axis_adjoint(y_bar, weights, mode, spread, axis, widths[axis])
    bar = correlated(extended(y_bar, widths, "constant"), weights, "constant", spread)
    return folded(bar, widths, mode)


@primitive
def along_axis_adjoint(
    y_bar: Any, weights: Any, mode: str, spread: tuple, axis: int, width: tuple[int, int]
) -> Any:
    """The adjoint along one axis: what is due to the margins comes from what is near the ends."""
    bar = correlated(y_bar, weights, "constant", spread)
    n, near, widths = np.shape(y_bar)[axis], np.shape(weights)[axis], [(0, 0)] * np.ndim(y_bar)
    widths[axis] = width
    places = np.pad(np.arange(n), width, mode)
    for margin, start, reached in ((width[0], 0, 0), (width[1], n - near, near + width[0])):
        if margin:
            end = extended(slab(y_bar, axis, start, start + near), widths, "constant")
            due = slab(
                correlated(end, weights, "constant", spread), axis, reached, reached + margin
            )
            first = 0 if not start else width[0] + n
            scatter_along_into(bar, due, places[first : first + margin], axis)
    return bar


FEW = 64
"""For so many weights, sums of products are quicker than Fourier transforms."""


PIECE = 2**15
"""So many elements are multiplied by all that they meet while the processor's cache holds them."""


@primitive
def sums_of_products(whole: Any, y_bar: Any, extents: tuple[int, ...]) -> Any:
    """Σ_i whole_{i+k} y_i for real numbers, as products of what lies in one piece.

    With zeros between the rows of `y_bar`, what is read beyond the end of a row does not count.
    """
    if whole.shape[1:] != y_bar.shape[1:]:
        padded = np.zeros((len(y_bar), *whole.shape[1:]), y_bar.dtype)
        padded[tuple([slice(n) for n in y_bar.shape])] = y_bar
        y_bar = padded
    first, second = np.reshape(whole, -1), np.reshape(y_bar, -1)
    places = np.ravel_multi_index(np.indices(extents).reshape(len(extents), -1), whole.shape)
    size, starts = min(second.size, first.size), places.tolist()
    sums = np.zeros(len(starts), np.result_type(first, second))
    for begin in range(0, size, PIECE):
        piece = second[begin : min(begin + PIECE, size)]
        parts = [first[k + begin : k + begin + piece.size] for k in starts]
        sums += [np.dot(part, piece[: part.size]) for part in parts]
    return np.reshape(sums, extents)


def w_adjoint(y_bar, x, w, mode, origins):
    whole = extended(x, widths_of(w.shape, origins), mode)
    if w.size > FEW:
        return signal.correlate(whole, y_bar, "valid")
    if not is_foreign(whole) and not is_foreign(y_bar) and not np.iscomplexobj(whole):
        sums = sums_of_products(whole, np.real(y_bar), w.shape)
        if np.all(np.isfinite(sums)):  # else one may come from 0 · Inf between the rows
            return sums
    n, axes = np.shape(y_bar), list(range(np.ndim(y_bar)))
    y_bar = conj(y_bar)
    windows = [
        whole[tuple([slice(start, start + length) for start, length in zip(place, n, strict=True)])]
        for place in np.ndindex(w.shape)
    ]
    # A sum of products without copies of what does not lie in one piece.
    sums = [np.einsum(y_bar, axes, window, axes, []) for window in windows]
    return np.reshape(np.stack(sums), w.shape)


linear_rule(correlated, x_adjoint, w_adjoint)


def correlation(x: Any, w: Any, mode: int, cval: Any, origins: Any) -> Any:
    """Correlate with any constant beyond the ends; the mode is SciPy's code."""
    if np.size(x) == 0:
        return x
    padding, origins = PADDING[mode], tuple([int(o) for o in origins])
    if padding != "constant" or np.all(cval == 0):
        return correlated(x, w, padding, origins)
    return correlated(x - cval, w, padding, origins) + cval * np.sum(w)


@kernel("correlate")
def correlate_body(input, weights, output, mode, cval, origins):
    output[...] = correlation(typed(input, output), weights, mode, cval, origins)


@kernel("correlate1d")
def correlate1d_body(input, weights, axis, output, mode, cval, origin):
    ndim = np.ndim(input)
    weights = np.reshape(weights, along(-1, axis, ndim, 1))
    origins = along(origin, axis, ndim, 0)
    output[...] = correlation(typed(input, output), weights, mode, cval, origins)


@kernel("uniform_filter1d")
def uniform_filter1d_body(input, size, axis, output, mode, cval, origin):
    correlate1d_body(input, np.full(size, 1 / size), axis, output, mode, cval, origin)
