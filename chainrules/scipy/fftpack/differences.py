"""Differentiation, shifts, Hilbert and Tilbert transforms of periodic sequences.

Each multiplies the Fourier coefficients of a real sequence by the values of a kernel at the
frequencies k: it is a circulant matrix, symmetric for a real kernel (an even function of k) and
antisymmetric for an imaginary one. The transpose of a shift is the opposite shift; but with the
highest frequency of an even number of elements SciPy does cos + sin in place of the real part.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import fftpack

from chainrules.transforms.linear import linear_map


def diff_adjoint(y_bar, x, *, order=1, period=None):
    x_bar = fftpack.diff(y_bar, order, period)
    return -x_bar if order % 2 else x_bar


def shift_adjoint(y_bar, x, *, a, period=None):
    n = x.shape[0]
    x_bar = fftpack.shift(y_bar, -a, period)
    if n % 2:
        return x_bar
    signs = (-1.0) ** np.arange(n)
    angle = a * n / 2 if period is None else a * np.pi * n / period
    return x_bar + 2 * np.sin(angle) * np.mean(signs * y_bar) * signs


linear_map(fftpack.diff, diff_adjoint)
linear_map(fftpack.shift, shift_adjoint)
linear_map(fftpack.hilbert, lambda y_bar, x: -fftpack.hilbert(y_bar))
linear_map(fftpack.ihilbert, lambda y_bar, x: -fftpack.ihilbert(y_bar))


def tilbert_adjoint(f: Callable) -> Callable:
    def transform_adjoint(y_bar, x, *, h, period=None):
        return -f(y_bar, h, period)

    return transform_adjoint


def difference_adjoint(f: Callable, sign: int) -> Callable:
    def transform_adjoint(y_bar, x, *, a, b, period=None):
        return sign * f(y_bar, a, b, period)

    return transform_adjoint


linear_map(fftpack.tilbert, tilbert_adjoint(fftpack.tilbert))
linear_map(fftpack.itilbert, tilbert_adjoint(fftpack.itilbert))
linear_map(fftpack.cs_diff, difference_adjoint(fftpack.cs_diff, -1))
linear_map(fftpack.sc_diff, difference_adjoint(fftpack.sc_diff, -1))
linear_map(fftpack.ss_diff, difference_adjoint(fftpack.ss_diff, 1))
linear_map(fftpack.cc_diff, difference_adjoint(fftpack.cc_diff, 1))
