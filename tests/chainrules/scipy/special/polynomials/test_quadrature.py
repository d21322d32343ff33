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


@pytest.mark.parametrize("monic", [False, True])
@pytest.mark.parametrize("case", OBJECTS, ids=lambda case: case[0].__name__)
def test_polynomials_as_objects(case, monic, check_modes):
    f, n, *shapes = case
    check_modes(lambda x, *shapes: f(n, *shapes, monic)(x), 0.4, *shapes)
    check_modes(lambda *shapes: f(n, *shapes, monic).coeffs, *shapes, twice=False)
    check_modes(lambda *shapes: f(n, *shapes, monic).deriv()(0.3), *shapes, twice=False)
    check_modes(lambda *shapes: f(n, *shapes, monic).weights[:, :2], *shapes, twice=False)


def test_weights_integrate_polynomials():
    def integral(a):
        x, w = special.roots_genlaguerre(5, a)
        return np.sum(w * x**3)  # Γ(a + 4)

    expected = special.gamma(5.5) * special.digamma(5.5)
    assert autodiff.gradient(integral, 1.5) == pytest.approx(expected, rel=1e-12)
