"""A blurred signal and a blurred picture made sharp again by gradient descent through fftconvolve.

The blur is linear, so that the minimum of the regularised misfit solves normal equations, whose
matrix is made of the plain blurs of unit signals; in the blind case the kernel is found as well.
"""

import numpy as np
from scipy import signal

import autodiff

KERNEL = np.array([0.15, 0.6, 0.25])
PLANE = np.array([[0.05, 0.1, 0.0], [0.1, 0.5, 0.15], [0.0, 0.05, 0.05]])
RIDGE = 0.02
TRUTH = np.where(np.abs(np.arange(24) - 11) < 4, 1.0, 0.1) + 0.2 * np.sin(np.arange(24.0))
PICTURE = np.outer(TRUTH[2:9], TRUTH[8:16])


def misfit(x, kernel, measured):
    return np.sum((signal.fftconvolve(x, kernel, mode="same") - measured) ** 2)


def descend(loss, x, rate, steps):
    """Gradient descent with momentum."""
    speed = np.zeros_like(x)
    for _ in range(steps):
        speed = 0.6 * speed - rate * autodiff.gradient(loss, x)
        x = x + speed
    return x


def by_normal_equations(kernel, measured):
    n = measured.size
    units = np.eye(n).reshape(n, *measured.shape)
    blur = np.stack([signal.fftconvolve(e, kernel, mode="same").ravel() for e in units], axis=1)
    normal = blur.T @ blur + RIDGE * np.eye(n)
    return np.linalg.solve(normal, blur.T @ measured.ravel()).reshape(measured.shape)


def test_signal():
    measured = signal.fftconvolve(TRUTH, KERNEL, mode="same") + 0.01 * np.cos(np.arange(24.0))

    def loss(x):
        return misfit(x, KERNEL, measured) + RIDGE * np.sum(x**2)

    found = descend(loss, np.zeros(24), 0.4, 400)
    np.testing.assert_allclose(found, by_normal_equations(KERNEL, measured), rtol=1e-6, atol=1e-8)


def test_picture():
    measured = signal.fftconvolve(PICTURE, PLANE, mode="same")

    def loss(x):
        return misfit(x, PLANE, measured) + RIDGE * np.sum(x**2)

    found = descend(loss, np.zeros(PICTURE.shape), 0.4, 400)
    np.testing.assert_allclose(found, by_normal_equations(PLANE, measured), rtol=1e-6, atol=1e-8)


def test_the_kernel():
    """The kernel from a signal and its blur: linear least squares with the shifted signals."""
    measured = signal.fftconvolve(TRUTH, KERNEL, mode="same") + 0.01 * np.cos(np.arange(24.0))
    shifted = np.stack([np.convolve(TRUTH, e, "same") for e in np.eye(3)], axis=1)
    expected = np.linalg.lstsq(shifted, measured)[0]
    rate = 0.9 / np.linalg.norm(shifted, 2) ** 2
    found = descend(lambda k: misfit(TRUTH, k, measured), np.ones(3) / 3, rate, 400)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
