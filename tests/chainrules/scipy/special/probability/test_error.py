import numpy as np
import pytest
from scipy import special

from chainrules_core.testing import NEGATIVE, REAL, SYMMETRIC_UNIT, UNIT, check_rule, check_scalar

UNARY = [
    (special.erf, REAL),
    (special.erfc, REAL),
    (special.erfcx, REAL),
    (special.erfi, REAL),
    (special.erfinv, SYMMETRIC_UNIT),
    (special.erfcinv, UNIT),
    (special.dawsn, REAL),
    (special.fresnel, REAL),
    (special.ndtr, REAL),
    (special.log_ndtr, REAL),
    (special.ndtri, UNIT),
    (special.ndtri_exp, NEGATIVE),
]
HOLOMORPHIC = [
    special.erf, special.erfc, special.erfcx, special.erfi, special.dawsn, special.wofz,
    special.ndtr, special.log_ndtr,
]  # fmt: skip


@pytest.mark.parametrize("f, domain", UNARY)
def test_unary(f, domain, check_unary):
    check_unary(f, domain)


@pytest.mark.parametrize("f", HOLOMORPHIC)
@pytest.mark.parametrize("z", [0.3 + 0.4j, -0.7 + 0.2j, 1.1 - 0.9j], ids=str)
def test_complex_numbers(f, z):
    check_scalar(f, z)


def test_fresnel_of_complex_numbers():
    check_rule(special.fresnel, 0.3 + 0.4j)


@pytest.mark.parametrize("x", [-40.0, -10.0, 0.0, 8.0])
def test_log_ndtr_in_the_tails(x):
    check_rule(special.log_ndtr, x)


@pytest.mark.parametrize("f, domain", [u for u in UNARY if u[0] is not special.fresnel])
def test_engine(f, domain, check_engine):
    check_engine(f, domain.draw(3))
    check_engine(lambda x: f(x[0]) * x, domain.draw(2))


def test_engine_with_several_outputs(check_engine):
    check_engine(special.fresnel, REAL.draw(3))


@pytest.mark.parametrize("x", [0.37, np.float64(-0.6), np.array(0.37), np.array([0.3, 1.2])])
def test_complex_values_of_real_numbers(x, check_modes):
    check_modes(special.wofz, x)
