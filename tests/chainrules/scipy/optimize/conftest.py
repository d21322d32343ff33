"""What the tests of scipy.optimize share."""

import numpy as np
import pytest

import autodiff


def differences(f, x, step):
    return np.array([(f(x + h) - f(x - h)) / (2 * step) for h in step * np.eye(len(x))])


@pytest.fixture
def check_implicit():
    """Check a function of a vector in both modes, and its Hessian, against differences."""

    def check(f, x, rtol=1e-6, step=1e-4, second=True):
        x = np.asarray(x, dtype=float)
        gradient = autodiff.gradient(f, x)
        np.testing.assert_allclose(gradient, differences(f, x, step), rtol=rtol, atol=rtol)
        dot = np.cos(1.0 + np.arange(len(x)))
        y, y_dot = autodiff.pushforward(f, x)[0], autodiff.pushforward(f, x)[1](dot)
        np.testing.assert_allclose(y_dot, gradient @ dot, rtol=1e-7, atol=1e-9)
        assert y == f(x)  # the value is the primal's, to the last digit
        if second:
            hessian = autodiff.hessian(f, x)
            expected = differences(lambda x: autodiff.gradient(f, x), x, step)
            np.testing.assert_allclose(hessian, expected, rtol=1e-4, atol=1e-5)
            twice = autodiff.gradient(lambda x: np.sum(autodiff.gradient(f, x) * dot), x)
            np.testing.assert_allclose(twice, hessian @ dot, rtol=1e-6, atol=1e-8)

    return check
