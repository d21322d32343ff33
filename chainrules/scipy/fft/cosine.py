"""Discrete cosine and sine transforms of all four types.

With ``orthogonalize`` (which ``norm="ortho"`` implies) the matrix of each type is a multiple of an
orthogonal one, and its transpose is that of the inverse type: 1 and 4 are their own, 2 and 3 each
other's. Without it the transforms count some elements half as often as the others:

* C₂ᵀ = C₃ D and C₃ᵀ = D⁻¹ C₂, where D doubles the first element (the last one of sine transforms);
* C₁ᵀ = E⁻¹ C₁ E, where E doubles the first and the last one; S₁, C₄ and S₄ are symmetric.

(The formulas follow from the definitions in SciPy's documentation.) An inverse transform is the one
of the inverse type with the other factor.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import fft

from chainrules.shapes.joining import slab
from chainrules.transforms.fourier import steps_of
from chainrules.transforms.linear import fitted, linear_map

INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def ends_times(x: Any, axis: int, ends: tuple[int, ...], factor: float) -> Any:
    """Return `x` with what is first (0) or last (-1) along an axis multiplied."""
    axis %= np.ndim(x)
    n = np.shape(x)[axis]
    cuts = [0, *[1 for e in ends if e == 0], *[n - 1 for e in ends if e == -1], n]
    parts = [slab(x, axis, *limits) for limits in itertools.pairwise(cuts)]
    if 0 in ends:
        parts[0] = parts[0] * factor
    if -1 in ends:
        parts[-1] = parts[-1] * factor
    return np.concatenate(parts, axis=axis)


def transposed(f: Callable, y_bar: Any, type: int, axis: int, norm: Any, ortho: Any) -> Any:
    """The transpose of ``dct`` or ``dst`` of a type along one axis."""
    kind = INVERSE[type]
    if norm == "ortho" if ortho is None else ortho:
        return f(y_bar, kind, axis=axis, norm=norm, orthogonalize=True)
    ends = ((0, -1) if type == 1 else (0,)) if f is fft.dct else (-1,)
    if type == 2 or (type == 1 and f is fft.dct):
        y_bar = ends_times(y_bar, axis, ends, 2)
    x_bar = f(y_bar, kind, axis=axis, norm=norm, orthogonalize=False)
    if type == 3 or (type == 1 and f is fft.dct):
        x_bar = ends_times(x_bar, axis, ends, 0.5)
    return x_bar


def orthogonalized(x: Any, orthogonalize: Any) -> Any:
    """What SciPy makes of ``orthogonalize``, which it does not look at for complex arrays."""
    return None if x.dtype.kind == "c" else orthogonalize


def as_forward(inverse: bool, type: int, norm: Any) -> tuple[int, Any]:
    """The type and ``norm`` by which an inverse transform is a forward one."""
    return (INVERSE[type], OPPOSITE[norm]) if inverse else (type, norm)


def along_axis(f: Callable, inverse: bool) -> Callable:
    """The adjoint of `f` or of its inverse along one axis."""

    def transform_adjoint(
        y_bar, x, *, type=2, n=None, axis=-1, norm=None, workers=None, orthogonalize=None
    ):
        kind, norm = as_forward(inverse, type, norm)
        x_bar = transposed(f, y_bar, kind, axis, norm, orthogonalized(x, orthogonalize))
        return fitted(x_bar, x.shape[axis], axis)

    return transform_adjoint


def over_axes(f: Callable, inverse: bool) -> Callable:
    """The adjoint of `f` or of its inverse over several axes."""

    def transform_adjoint(
        y_bar, x, *, type=2, s=None, axes=None, norm=None, workers=None, orthogonalize=None
    ):
        kind, norm = as_forward(inverse, type, norm)
        ortho = orthogonalized(x, orthogonalize)
        for axis, length, _ in steps_of(x.shape, s, axes, doubled=False):
            y_bar = fitted(transposed(f, y_bar, kind, axis, norm, ortho), length, axis)
        return y_bar

    return transform_adjoint


linear_map(fft.dct, along_axis(fft.dct, inverse=False))
linear_map(fft.idct, along_axis(fft.dct, inverse=True))
linear_map(fft.dst, along_axis(fft.dst, inverse=False))
linear_map(fft.idst, along_axis(fft.dst, inverse=True))
linear_map(fft.dctn, over_axes(fft.dct, inverse=False))
linear_map(fft.idctn, over_axes(fft.dct, inverse=True))
linear_map(fft.dstn, over_axes(fft.dst, inverse=False))
linear_map(fft.idstn, over_axes(fft.dst, inverse=True))
