import numpy as np
import pytest
from scipy import special

from chainrules_core.testing import check_rule, const

CASES = [
    (special.huber, 1.2, 0.7),
    (special.huber, 0.5, 0.7),
    (special.huber, 1.2, -3.7),
    (special.pseudo_huber, 1.2, 0.7),
    (special.pseudo_huber, 0.3, -7.0),
    (special.inv_boxcox, 0.7, 0.4),
    (special.inv_boxcox, 0.7, 0.0),
    (special.inv_boxcox1p, 0.7, 0.4),
    (special.inv_boxcox1p, 0.7, -0.4),
    (special.wrightomega, 0.7),
    (special.wrightomega, 0.7 + 0.2j),
    (special.tklmbda, 0.7, 0.4),
    (special.tklmbda, 0.7, -0.4),
    (special.tklmbda, 4.7, 0.9),
    (special.kolmogorov, 0.4),
    (special.kolmogorov, 0.7),
    (special.kolmogorov, 1.5),
    (special.kolmogi, 0.3),
    (special.smirnov, 5, 0.3),
    (special.smirnov, 60, 0.1),
    (special.smirnov, 1, 0.4),
    (special.smirnovi, 5, 0.3),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_rule(case, check_elementwise):
    check_elementwise(*case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_engine(case, check_curvature):
    check_curvature(*case)


@pytest.mark.parametrize("z", [0.7, 0.0, 0.7 + 0.2j], ids=str)
def test_lambertw(z, check_elementwise, check_curvature):
    check_elementwise(special.lambertw, z)
    check_curvature(special.lambertw, z)


def test_other_branches_of_lambertw(check_elementwise, check_curvature):
    check_elementwise(special.lambertw, -0.1, -1)
    check_elementwise(special.lambertw, 0.7 + 0.2j, fkwargs={"k": 2, "tol": 1e-10})
    check_rule(special.lambertw, np.array([0.3, 2.0]), np.array([[0], [1]]))
    check_curvature(special.lambertw, -0.1, k=-1)
    check_elementwise(special._ufuncs._lambertw, 0.7 + 0.2j, 1, const(1e-10))


def test_smirnov_of_several_sizes():
    check_rule(special.smirnov, np.array([[3], [8]]), np.array([0.1, 0.2, 0.45]))
