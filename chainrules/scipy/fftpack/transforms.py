"""The transforms of ``scipy.fftpack``: those of ``scipy.fft`` with fewer options.

Its ``rfft`` packs the half spectrum into a real array: Re y₀, Re y₁, Im y₁, ..., with Re y_{n/2} at
the end if n is even. Of what it returns all but the first and that last number stand for two; with
w = ½ for those and 1 else, rfftᵀ = n irfft w and irfftᵀ = w⁻¹ rfft / n. Its inverse cosine and sine
transforms are those of the inverse type, with the same factor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import fft, fftpack

from chainrules.scipy.fft.cosine import INVERSE, along_axis, over_axes
from chainrules.transforms.fourier import ALONG_AXIS, OVER_AXES
from chainrules.transforms.linear import fitted, linear_map
from chainrules_core import NoTangent, non_differentiable, scalar_rule

linear_map(fftpack.fft, ALONG_AXIS["fft"])
linear_map(fftpack.ifft, ALONG_AXIS["ifft"])


def with_shape(adjoint: Callable, default: Any = None) -> Callable:
    """An adjoint whose ``s`` is called ``shape``."""

    def transform_adjoint(y_bar, x, *, shape=None, axes=default, **options):
        return adjoint(y_bar, x, s=shape, axes=axes, **options)

    return transform_adjoint


linear_map(fftpack.fftn, with_shape(OVER_AXES["fftn"]))
linear_map(fftpack.ifftn, with_shape(OVER_AXES["ifftn"]))
linear_map(fftpack.fft2, with_shape(OVER_AXES["fft2"], (-2, -1)))
linear_map(fftpack.ifft2, with_shape(OVER_AXES["ifft2"], (-2, -1)))

# ------------------------------------------------------------------------------ packed real spectra


def halved(x: Any, axis: int) -> Any:
    """Halve the numbers of a packed spectrum that stand for two."""
    n = np.shape(x)[axis]
    k = np.arange(n)
    inner = (k > 0) & ((k < n - 1) | (n % 2 == 1))
    return np.where(
        np.reshape(inner, (-1,) + (1,) * (np.ndim(x) - 1 - axis % np.ndim(x))), x / 2, x
    )


def rfft_adjoint(y_bar, x, *, n=None, axis=-1):
    length = np.shape(y_bar)[axis]
    return fitted(fftpack.irfft(halved(y_bar, axis), axis=axis) * length, x.shape[axis], axis)


def irfft_adjoint(y_bar, x, *, n=None, axis=-1):
    packed = fftpack.rfft(y_bar, axis=axis) / np.shape(y_bar)[axis]
    return fitted(3 * packed - 2 * halved(packed, axis), x.shape[axis], axis)


linear_map(fftpack.rfft, rfft_adjoint)
linear_map(fftpack.irfft, irfft_adjoint)

# ------------------------------------------------------------------- cosine and sine transforms


def typed(adjoint: Callable, inverse: bool) -> Callable:
    """The adjoint of a transform along one axis, or that of the inverse type."""

    def transform_adjoint(y_bar, x, *, type=2, n=None, axis=-1, norm=None):
        return adjoint(y_bar, x, type=INVERSE[type] if inverse else type, n=n, axis=axis, norm=norm)

    return transform_adjoint


def typed_n(adjoint: Callable, inverse: bool) -> Callable:
    """The adjoint of a transform over several axes, or that of the inverse type."""

    def transform_adjoint(y_bar, x, *, type=2, shape=None, axes=None, norm=None):
        kind = INVERSE[type] if inverse else type
        return adjoint(y_bar, x, type=kind, s=shape, axes=axes, norm=norm)

    return transform_adjoint


for _name, _f in (("dct", fft.dct), ("dst", fft.dst)):
    for _prefix in ("", "i"):
        _inverse = _prefix == "i"
        linear_map(getattr(fftpack, _prefix + _name), typed(along_axis(_f, False), _inverse))
        linear_map(getattr(fftpack, _prefix + _name + "n"), typed_n(over_axes(_f, False), _inverse))

# fftfreq, fftshift and ifftshift are NumPy's.
scalar_rule(fftpack.rfftfreq, NoTangent(), lambda y, n, d: -y / d)
non_differentiable(fftpack.next_fast_len)
