"""Maximum likelihood through logpdf by Newton's method, against SciPy's own fit."""

import numpy as np
from scipy import stats

import autodiff


def newton(loss, x, steps=60):
    """Return the minimum; the step is halved until it descends."""
    for _ in range(steps):
        slope, curvature = autodiff.gradient(loss, x), autodiff.hessian(loss, x)
        step = np.linalg.solve(curvature, slope)
        if slope @ step <= 0:
            step = slope / np.linalg.norm(slope)
        size = 1.0
        while not loss(x - size * step) <= loss(x) and size > 1e-6:
            size /= 2
        x = x - size * step
        if np.linalg.norm(slope) < 1e-8:
            break
    return x


def test_gamma():
    data = stats.gamma.rvs(2.5, scale=1.7, size=80, random_state=1)

    def loss(theta):
        return -np.mean(stats.gamma.logpdf(data, np.exp(theta[0]), 0.0, np.exp(theta[1])))

    shape, scale = np.exp(newton(loss, np.zeros(2)))
    expected, _, expected_scale = stats.gamma.fit(data, floc=0)
    np.testing.assert_allclose([shape, scale], [expected, expected_scale], rtol=1e-4)


def test_student():
    data = stats.t.rvs(4.0, loc=0.5, scale=1.3, size=80, random_state=2)

    def loss(theta):
        return -np.mean(stats.t.logpdf(data, np.exp(theta[0]), theta[1], np.exp(theta[2])))

    found = newton(loss, np.array([1.5, np.median(data), 0.0]))
    expected = stats.t.fit(data)
    np.testing.assert_allclose([np.exp(found[0]), found[1], np.exp(found[2])], expected, rtol=2e-3)
