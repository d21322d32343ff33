"""Transforms and filters at edges of their domains: expected gradients as numbers."""

import numpy as np
import pytest
from scipy import fft, ndimage, signal

import autodiff

VALUES = [
    # function, x, gradient of its sum, real part (or of the whole, where it is real)
    (lambda x: np.fft.fft(x).real, [1.0, 2.0, 3.0], [3.0, 0.0, 0.0]),
    (lambda x: np.fft.fft(x).imag, [1.0, 2.0, 3.0], [0.0, 0.0, 0.0]),
    (lambda x: np.fft.fft(x, 1).real, [1.0, 2.0, 3.0], [1.0, 0.0, 0.0]),
    (lambda x: np.fft.fft(x, 2).real, [5.0], [2.0]),
    (lambda x: np.fft.rfft(x).real, [1.0, 2.0], [2.0, 0.0]),
    (lambda x: np.fft.rfft(x).real, [1.0, 2.0, 3.0], [2.0, 0.5, 0.5]),
    (lambda x: np.fft.irfft(x, 2), [1.0, 2.0], [1.0, 0.0]),
    (lambda x: np.fft.irfft(x, 1), [1.0, 2.0], [1.0, 0.0]),
    (lambda x: np.fft.irfft(x * 1j, 2), [1.0, 2.0], [0.0, 0.0]),
    (lambda x: np.abs(np.fft.fft(x)), [0.0, 0.0], [0.0, 0.0]),
    (lambda x: np.abs(np.fft.fft(x)), [1.0, 1.0], [1.0, 1.0]),
    (lambda x: np.fft.fftshift(x)[:1], [1.0, 2.0, 3.0], [0.0, 0.0, 1.0]),
    (lambda x: np.fft.fftfreq(2, x[0]), [0.5], [2.0]),
    (lambda x: np.convolve(x, [1.0]), [4.0, 5.0], [1.0, 1.0]),
    (lambda x: np.convolve(x, [1.0, 2.0, 4.0], "same"), [0.0, 0.0], [7.0, 3.0]),
    (lambda x: np.convolve(x, [1.0, 2.0, 4.0], "valid"), [0.0], [7.0]),
    (lambda x: np.correlate(x, [1.0, 2.0, 4.0], "same"), [0.0, 0.0], [3.0, 7.0]),
    (lambda x: np.correlate(x, [1.0, 2.0]), [3.0, 4.0, 5.0], [1.0, 3.0, 2.0]),
    (lambda x: fft.dct(x), [1.0], [2.0]),
    (lambda x: fft.dct(x, 1), [1.0, 2.0], [2.0, 0.0]),
    (lambda x: fft.dst(x, 1), [1.0], [2.0]),
    (lambda x: signal.lfilter([1.0], [1.0, -0.5], x), [0.0, 0.0, 0.0], [1.75, 1.5, 1.0]),
    (lambda x: signal.lfilter([1.0, 1.0], [2.0], x), [0.0, 0.0], [1.0, 0.5]),
    (lambda x: signal.medfilt(x, 3), [2.0, 1.0, 3.0], [1.0, 2.0, 0.0]),
    (lambda x: signal.resample_poly(x, 1, 1), [2.0, 1.0], [1.0, 1.0]),
    (lambda x: ndimage.maximum_filter(x, 3), [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]),
    (lambda x: ndimage.maximum_filter(x, 3), [1.0, 2.0, 0.0], [0.0, 3.0, 0.0]),
    (lambda x: ndimage.minimum_filter(x, 2), [1.0, 1.0], [1.5, 0.5]),
    (lambda x: ndimage.uniform_filter(x, 2), [1.0, 5.0], [1.5, 0.5]),
    (lambda x: ndimage.gaussian_gradient_magnitude(x, 1.0), [3.0, 3.0, 3.0], [0.0, 0.0, 0.0]),
    (lambda x: ndimage.shift(x, 1, order=0), [1.0, 2.0, 3.0], [1.0, 1.0, 0.0]),
    (lambda x: ndimage.map_coordinates(x, [[0.25]], order=1), [1.0, 2.0], [0.75, 0.25]),
    (lambda x: ndimage.map_coordinates(x, [[9.0]], order=1), [1.0, 2.0], [0.0, 0.0]),
    (lambda x: ndimage.variance(x), [2.0, 2.0], [0.0, 0.0]),
]


@pytest.mark.parametrize("f, x, expected", VALUES)
def test_gradient(f, x, expected):
    x = np.array(x)
    bar = autodiff.gradient(lambda x: np.sum(f(x)), x)
    np.testing.assert_allclose(bar, expected, atol=1e-15)
