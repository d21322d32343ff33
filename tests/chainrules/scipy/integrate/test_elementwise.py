import numpy as np
import pytest
from scipy import integrate

import autodiff

A, B = np.array([0.3, 0.7, 1.2]), np.array([1.5, 0.9, 2.2])
INF = np.inf


@pytest.mark.parametrize(
    "f, xs",
    [
        (lambda k, b: integrate.tanhsinh(lambda t: np.exp(-k * t), 0, b), (0.7, 1.3)),
        (lambda a, b: integrate.tanhsinh(np.sin, a, b), (A, B)),
        (lambda a, k: integrate.tanhsinh(lambda t, k: np.exp(-k * t), a, INF, args=(k,)), (A, B)),
        (lambda b, k: integrate.tanhsinh(lambda t, k: np.exp(k * t), -INF, b, args=(k,)), (A, B)),
        (lambda k: integrate.tanhsinh(lambda t, k: np.exp(-k * t * t), -INF, INF, args=(k,)), (B,)),
        (lambda k: integrate.tanhsinh(lambda t, k: t**k, 0, 1, args=(k,), rtol=1e-9), (A,)),
        (lambda k: integrate.tanhsinh(lambda t: np.cos(k * t), A[:, None], B), (0.7,)),
    ],
)
def test_tanhsinh(f, xs, check_modes):
    check_modes(lambda *xs: f(*xs).integral, *xs)
    value, _ = autodiff.pullback(lambda *xs: f(*xs).integral, *xs)
    np.testing.assert_allclose(value, f(*xs).integral, rtol=1e-12)


def test_other_fields_are_constants():
    def f(k):
        found = integrate.tanhsinh(lambda t: np.exp(-k * t), 0, 1)
        assert found.success
        return found.integral * found.status + found.nfev * k

    assert autodiff.gradient(f, 0.7) == f(1.0)


def test_limits_of_both_kinds_are_refused():
    with pytest.raises(TypeError, match="each kind"):
        autodiff.gradient(
            lambda k: np.sum(
                integrate.tanhsinh(lambda t: np.exp(-k * t), 0, np.array([1.0, INF])).integral
            ),
            0.7,
        )
