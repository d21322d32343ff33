import numpy as np
import pytest
from scipy import special

import autodiff

CASES = [
    (special.roots_jacobi, 1, 1.2, 0.3),
    (special.roots_jacobi, 4, 1.2, 0.3),
    (special.roots_jacobi, 3, 0.5, -0.5),
    (special.roots_gegenbauer, 3, 1.2),
    (special.roots_genlaguerre, 1, 1.2),
    (special.roots_genlaguerre, 4, 1.2),
    (special.roots_sh_jacobi, 3, 2.2, 1.3),
]
OBJECTS = [
    (special.jacobi, 3, 1.2, 0.3),
    (special.gegenbauer, 3, 1.2),
    (special.genlaguerre, 3, 1.2),
    (special.sh_jacobi, 3, 2.2, 1.3),
]


@pytest.mark.parametrize("mu", [False, True])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_nodes_and_weights(case, mu, check_curvature):
    f, n, *shapes = case
    y, _ = autodiff.pullback(lambda a: f(n, a, *shapes[1:], mu), shapes[0])
    for found, expected in zip(y, f(n, *shapes, mu), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    check_curvature(f, n, *shapes, mu=mu)


@pytest.mark.parametrize("case", OBJECTS, ids=lambda case: case[0].__name__)
def test_objects_are_refused(case):
    f, n, *shapes = case
    with pytest.raises(TypeError, match=f"eval_{f.__name__}"):
        autodiff.gradient(lambda a: f(n, a, *shapes[1:])(0.3), shapes[0])
    with pytest.raises(TypeError, match=f"eval_{f.__name__}"):
        autodiff.jvp(lambda a: f(n, a, *shapes[1:])(0.3), (shapes[0],), (1.0,))


def test_weights_integrate_polynomials():
    def integral(a):
        x, w = special.roots_genlaguerre(5, a)
        return np.sum(w * x**3)  # Γ(a + 4)

    expected = special.gamma(5.5) * special.digamma(5.5)
    assert autodiff.gradient(integral, 1.5) == pytest.approx(expected, rel=1e-12)
