import numpy as np
import pytest
from scipy import special

import autodiff

CASES = [
    (special.eval_chebyt, 3, 0.7),
    (special.eval_chebyt, 3.2, 0.7),
    (special.eval_chebyt, 3.2, 1.7),
    (special.eval_chebyt, 3, 0.7 + 0.2j),
    (special.eval_chebyt, 3.2, 0.7 + 0.2j),
    (special.eval_chebyu, 3.2, 0.7),
    (special.eval_chebyu, 3.2, 1.7),
    (special.eval_chebyc, 3, 0.7),
    (special.eval_chebyc, 3.2, 0.7),
    (special.eval_chebys, 3.2, 0.7),
    (special.eval_chebys, 4, 0.7),
    (special.eval_sh_chebyt, 3.2, 0.7),
    (special.eval_sh_chebyu, 3.2, 0.7),
    (special.eval_legendre, 0, 0.7),
    (special.eval_legendre, 3, 1.0),
    (special.eval_legendre, 3.2, 0.7),
    (special.eval_legendre, 3, 0.7 + 0.1j),
    (special.eval_sh_legendre, 3.2, 0.7),
    (special.eval_jacobi, 3, 1.2, 0.3, 0.7),
    (special.eval_jacobi, 3.2, 1.2, 0.3, 0.7),
    (special.eval_jacobi, 2, 1.2, 0.3, 0.7 + 0.1j),
    (special.eval_sh_jacobi, 3, 2.2, 1.3, 0.7),
    (special.eval_sh_jacobi, 3.2, 2.2, 1.3, 0.7),
    (special.eval_gegenbauer, 3, 1.2, 0.7),
    (special.eval_gegenbauer, 3.2, 1.2, 0.7),
    (special.eval_genlaguerre, 3, 1.2, 0.7),
    (special.eval_genlaguerre, 3.2, 1.2, 0.7),
    (special.eval_laguerre, 3, 0.7),
    (special.eval_laguerre, 3.2, 0.7),
    (special.eval_hermite, 0, 0.7),
    (special.eval_hermite, 3, 0.7),
    (special.eval_hermitenorm, 4, -0.7),
    (special.lpmv, 1, 3, 0.4),
    (special.lpmv, 1, 2.3, 0.4),
    (special.lpmv, 0, 2.3, -0.4),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_rule(case, check_elementwise):
    check_elementwise(*case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_engine(case, check_curvature):
    check_curvature(*case)


def test_traced(check_curvature):
    check_curvature(special.assoc_laguerre, 0.5, 3, 1.2)
    check_curvature(special.assoc_laguerre, 0.5, 2.5, k=1.2)


@pytest.mark.parametrize("x", [1.0, 1.0 - 1e-9, 0.8, 2.0])
@pytest.mark.parametrize(
    "f, scale",
    [
        (special.eval_chebyt, lambda x: x),
        (special.eval_chebyc, lambda x: 2 * x),
        (special.eval_sh_chebyt, lambda x: (1 + x) / 2),
    ],
)
@pytest.mark.parametrize("n", [3.0, 2.4])
def test_mixed_derivatives_of_the_first_kind(f, scale, n, x, check_mixed):
    check_mixed(f, n, scale(x))


@pytest.mark.parametrize("f, x", [(special.eval_chebyu, 1.0), (special.eval_sh_chebyu, 1.0)])
def test_degrees_of_the_second_kind_at_their_limit(f, x):
    """∂²U_n/∂n∂x at x = 1, where ∂U_n/∂n has a limit: (n+1)² - 1/3."""
    by_degree = autodiff.hessian(lambda v: f(v[0], v[1]), np.array([3.0, x]))[:, 0]
    slope = 2 if f is special.eval_sh_chebyu else 1
    np.testing.assert_allclose(by_degree, [0, slope * (16 - 1 / 3)], rtol=1e-9, atol=1e-12)
