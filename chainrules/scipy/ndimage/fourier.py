"""Filters of Fourier coefficients: each multiplies with a function of the frequency.

With k/N the frequency along an axis (of a real transform along ``axis``, N is given by ``n``) they
are, for size s: Gaussian exp(-½ (2π s k/N)²); uniform sin(z)/z with z = π s k/N; a shift
exp(-2πi s k/N). The ellipsoid's is a function of r, the length of the vector of all z: sin(r)/r in
one dimension, 2 J₁(r)/r in two, 3 (sin r - r cos r)/r³ in three.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from chainrules.scipy.ndimage.kernels import kernel


def frequencies(shape: tuple[int, ...], n: int, axis: int) -> list[np.ndarray]:
    """Return k/N along each axis, shaped to broadcast."""
    found = []
    for i, m in enumerate(shape):
        k = np.arange(m) / n if i == axis and n >= 0 else np.fft.fftfreq(m)
        found.append(np.reshape(k, [-1 if j == i else 1 for j in range(len(shape))]))
    return found


def ellipsoid(lengths: list) -> Any:
    """Return the factor of a filter that is uniform within an ellipsoid."""
    square = sum(z * z for z in lengths)
    middle = square == 0
    r = np.sqrt(np.where(middle, 1.0, square))
    if len(lengths) == 1:
        factor = np.sin(r) / r
    elif len(lengths) == 2:
        factor = 2 * special.j1(r) / r
    else:
        factor = 3 * (np.sin(r) - r * np.cos(r)) / r**3
    return np.where(middle, 1.0, factor)


@kernel("fourier_filter")
def fourier_filter_body(input, sizes, n, axis, output, filter_type):
    ks = frequencies(np.shape(input), n, axis)
    y = input
    if filter_type == 2:
        y = y * ellipsoid([np.pi * sizes[i] * k for i, k in enumerate(ks)])
    else:
        for i, k in enumerate(ks):
            if filter_type == 0:
                y = y * np.exp(-0.5 * (2 * np.pi * sizes[i] * k) ** 2)
            else:
                y = y * np.sinc(sizes[i] * k)
    output[...] = y


@kernel("fourier_shift")
def fourier_shift_body(input, shifts, n, axis, output):
    y = input
    for i, k in enumerate(frequencies(np.shape(input), n, axis)):
        y = y * np.exp(-2j * np.pi * shifts[i] * k)
    output[...] = y
