import numpy as np
import pytest
from scipy import special

import autodiff
from chainrules_core.testing import check_rule

DECOMPOSED = [
    (special.pbdv_seq, 3.3, 0.7),
    (special.pbdv_seq, 0.3, -0.7),
    (special.pbvv_seq, 2.3, 0.7),
    (special.lmbda, 2.5, 0.7),
    (special.lmbda, 0.5, 3.7),
    (special.lmbda, 3, 0.7),
    (special.pro_cv_seq, 1, 3, 0.7),
    (special.obl_cv_seq, 0, 3, 2.7),
]
RULED = [
    (special.pbdn_seq, 3, 0.7),
    (special.pbdn_seq, -2, 0.7 + 0.2j),
    (special.pbdn_seq, 0, 0.7),
    (special.mathieu_even_coef, 2, 1.3),
    (special.mathieu_odd_coef, 3, 0.4),
    (special.ellip_harm_2, 5.0, 8.0, 2, 1, 10.0),
    (special.ellip_normal, 5.0, 8.0, 2, 3),
]


@pytest.mark.parametrize("case", DECOMPOSED, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_decomposed(case, check_curvature):
    f, *args = case
    y, _ = autodiff.pullback(lambda x: f(*args[:-1], x), args[-1])
    np.testing.assert_allclose(np.array(y), np.array(f(*args)), rtol=1e-7)
    check_curvature(*case)


@pytest.mark.parametrize("case", RULED, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_rule(case, check_curvature):
    check_rule(*case)
    check_curvature(*case)


@pytest.mark.parametrize("f", [special.pbdv_seq, special.pbvv_seq])
def test_negative_orders_are_refused(f):
    with pytest.raises(ValueError, match="negative order"):
        autodiff.gradient(lambda x: np.sum(f(-1.3, x)[0]), 0.7)
