import numpy as np
import pytest
from scipy import special

import autodiff
from chainrules_core.testing import check_rule, const
from chainrules_core.testing.inputs.seeds import unpaired

DECOMPOSED = [
    (special.pbdv_seq, 3.3, 0.7),
    (special.pbdv_seq, 0.3, -0.7),
    (special.pbvv_seq, 2.3, 0.7),
    (special.lmbda, 2.5, 0.7),
    (special.lmbda, 0.5, 3.7),
    (special.lmbda, 3, 0.7),
    (special.pro_cv_seq, 1, 4, 0.7),  # for n - m even SciPy 1.15 writes past its memory
    (special.obl_cv_seq, 0, 3, 2.7),
]
RULED = [
    (special.pbdn_seq, 3, 0.7),
    (special.pbdn_seq, 4, -1.7),
    (special.pbdn_seq, 0, 0.7),
    (special.mathieu_even_coef, 2, 1.3),
    (special.mathieu_odd_coef, 3, 0.4),
    (special.ellip_harm_2, 5.0, 8.0, const(2), const(1), 10.0),
    (special.ellip_normal, 5.0, 8.0, const(2), const(3)),
]


@pytest.mark.parametrize("case", DECOMPOSED, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_decomposed(case, check_curvature):
    f, *args = case
    y, _ = autodiff.pullback(lambda x: f(*args[:-1], x), args[-1])
    np.testing.assert_allclose(np.array(y), np.array(f(*args)), rtol=1e-7)
    check_curvature(*case)


@pytest.mark.parametrize("case", RULED, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
def test_rule(case, check_curvature):
    f, *args = case
    check_rule(f, *args)
    check_curvature(f, *[unpaired(a).primal for a in args])


@pytest.mark.parametrize("f", [special.pbdv_seq, special.pbvv_seq])
def test_negative_orders_are_refused(f):
    with pytest.raises(ValueError, match="negative order"):
        autodiff.gradient(lambda x: np.sum(f(-1.3, x)[0]), 0.7)
    with pytest.raises(ValueError, match="pbdn_seq is not differentiated"):
        autodiff.gradient(lambda x: np.sum(np.real(special.pbdn_seq(-2, x)[0])), 0.7)
    with pytest.raises(ValueError, match="for real z alone"):
        autodiff.gradient(lambda x: np.sum(np.real(special.pbdn_seq(2, x)[0])), 0.7 + 0.2j)
