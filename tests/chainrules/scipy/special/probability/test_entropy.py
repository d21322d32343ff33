import numpy as np
import pytest
from scipy import special

from chainrules_core.testing import COMPLEX, POSITIVE, REAL, UNIT, check_rule

UNARY = [
    (special.expit, REAL),
    (special.logit, UNIT),
    (special.log_expit, REAL),
    (special.entr, POSITIVE),
]
BINARY = [special.xlogy, special.xlog1py, special.rel_entr, special.kl_div]


@pytest.mark.parametrize("f, domain", UNARY)
def test_unary(f, domain, check_unary):
    check_unary(f, domain)


@pytest.mark.parametrize("f", BINARY)
def test_binary(f, check_binary):
    check_binary(f, POSITIVE)


@pytest.mark.parametrize("f", [special.xlogy, special.xlog1py])
def test_complex_numbers(f):
    check_rule(f, COMPLEX.draw(3), COMPLEX.draw(3))
    check_rule(f, COMPLEX.draw(3), np.array([0.4, -0.7, -1.8]))


@pytest.mark.parametrize("f, domain", UNARY)
def test_engine(f, domain, check_engine):
    check_engine(f, domain.draw(3))
    check_engine(lambda x: f(x[0]) * x, domain.draw(2))


@pytest.mark.parametrize("f", BINARY)
def test_engine_with_two_arguments(f, check_engine):
    check_engine(lambda x: f(x, x[::-1] * 2), POSITIVE.draw(3))
    check_engine(lambda x: f(x[0], x) * x, POSITIVE.draw(3))
