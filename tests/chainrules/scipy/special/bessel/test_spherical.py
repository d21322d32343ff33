import numpy as np
import pytest
from scipy import special

from chainrules_core.testing import check_rule

KINDS = [special.spherical_jn, special.spherical_yn, special.spherical_in, special.spherical_kn]


@pytest.mark.parametrize("f", KINDS)
@pytest.mark.parametrize("derivative", [False, True])
@pytest.mark.parametrize("n", [0, 2])
def test_rule(f, n, derivative, check_elementwise, check_curvature):
    check_elementwise(f, n, 0.7, fkwargs={"derivative": derivative})
    check_elementwise(f, n, 0.7 + 0.2j, derivative)
    check_curvature(f, n, 0.7, derivative=derivative)


@pytest.mark.parametrize("f", [special.spherical_jn, special.spherical_in])
def test_at_zero_and_beyond(f):
    for n in range(3):
        check_rule(f, n, 0.0)
        check_rule(f, n, 0.0, True)
        check_rule(f, n, np.array([-1.5, 2.0]))


@pytest.mark.parametrize("f", KINDS)
def test_several_orders(f):
    check_rule(f, np.arange(3)[:, None], np.array([0.5, 2.0]))
    check_rule(f, fkwargs={"z": np.array([0.5, 2.0]), "n": 1})


@pytest.mark.parametrize("f", [special.riccati_jn, special.riccati_yn])
def test_riccati(f, check_curvature):
    check_rule(f, 3, 0.7)
    check_rule(f, 0, 2.7)
    check_curvature(f, 3, 0.7)
