import pytest
from scipy import special

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
