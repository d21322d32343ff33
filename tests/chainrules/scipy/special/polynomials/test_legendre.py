import numpy as np
import pytest
from scipy import special

from chainrules_core.testing import check_rule

Z = np.array([0.4, -0.2, 0.7])
W = np.array([0.4 + 0.3j, -0.2 + 1.1j])
CASES = [
    (special.legendre_p, 3, Z),
    (special.legendre_p, np.array([[1], [4]]), Z),
    (special.legendre_p_all, 3, Z),
    (special.assoc_legendre_p, 3, 1, Z),
    (special.assoc_legendre_p, 3, 2, W),
    (special.assoc_legendre_p, np.array([[1], [4]]), -1, Z),
    (special.assoc_legendre_p_all, 3, 2, Z),
    (special.sph_legendre_p, 3, -1, Z),
    (special.sph_legendre_p_all, 3, 2, Z),
    (special.sph_harm_y, 3, 1, Z, 0.4),
    (special.sph_harm_y, 3, -2, Z, np.array([[0.2], [1.4]])),
    (special.sph_harm_y_all, 2, 1, Z, 0.4),
]


def name(value):
    """Functions of several outputs have no name in older versions of SciPy."""
    return next((n for n, f in vars(special).items() if f is value), None)


@pytest.mark.parametrize("diff_n", [0, 1, 2])
@pytest.mark.parametrize("case", CASES, ids=lambda case: name(case[0]))
def test_rule(case, diff_n):
    check_rule(*case, fkwargs={"diff_n": diff_n})


@pytest.mark.parametrize("f", [special.assoc_legendre_p, special.assoc_legendre_p_all])
def test_options(f):
    check_rule(f, 3, 1, Z, fkwargs={"norm": True, "diff_n": 1})
    check_rule(f, 3, 2, W + 1, fkwargs={"branch_cut": 3})


@pytest.mark.parametrize("case", CASES, ids=lambda case: name(case[0]))
def test_numbers_and_few_elements(case):
    f, *orders = case[: 2 if name(case[0]).startswith("legendre") else 3]
    if not all(np.ndim(n) == 0 for n in orders):
        return
    angles = 2 if name(f).startswith("sph_harm") else 1
    check_rule(f, *orders, *[0.3] * angles)
    check_rule(f, *orders, *[np.array(0.3)] * angles)
    check_rule(f, *orders, *[np.zeros((0, 2))] * angles)
    check_rule(f, *orders, *[Z.astype(np.float32)] * angles)
    check_rule(f, *orders, *[np.repeat(Z, 2)[::-2]] * angles)


@pytest.mark.parametrize("diff_n", [0, 1])
def test_engine(diff_n, check_curvature):
    check_curvature(special.legendre_p, 3, 0.4, diff_n=diff_n)
    check_curvature(special.legendre_p_all, 3, 0.4, diff_n=diff_n)
    check_curvature(special.assoc_legendre_p, 3, 1, 0.4, diff_n=diff_n)
    check_curvature(special.assoc_legendre_p_all, 3, 1, 0.4, diff_n=diff_n)
    check_curvature(special.sph_legendre_p, 3, 1, 0.4, diff_n=diff_n)
    check_curvature(special.sph_legendre_p_all, 3, 1, 0.4, diff_n=diff_n)
    check_curvature(special.sph_harm_y, 3, 1, 0.4, 0.8, diff_n=diff_n)
    check_curvature(special.sph_harm_y_all, 3, 1, 0.4, 0.8, diff_n=diff_n)


@pytest.mark.parametrize("z", [0.4, 1.4, 0.4 + 0.2j, Z, Z.reshape(3, 1) + 1.5], ids=str)
def test_second_kind(z):
    check_rule(special.lqn, 3, z)
    check_rule(special.lqn, 2, z)  # SciPy's Q_0 for n < 2 and z > 1 is 0
    if np.isrealobj(z) or np.abs(special.lqmn(2, 3, z)[1]).min() > 1e-9:  # wrong in SciPy 1.15
        check_rule(special.lqmn, 2, 3, z)


def test_second_kind_in_the_engine(check_curvature):
    check_curvature(special.lqn, 3, 0.4)
    check_curvature(special.lqmn, 2, 3, 0.4)
