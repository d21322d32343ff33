import numpy as np
import pytest
from scipy import special

from chainrules_core.testing import COMPLEX, POSITIVE, REAL, UNIT, check_rule

UNARY = [
    (special.exp2, REAL),
    (special.exp10, UNIT),
    (special.expm1, REAL),
    (special.log1p, POSITIVE),
    (special.cbrt, POSITIVE),
    (special.cosm1, REAL),
    (special.exprel, REAL),
    (special.exprel, UNIT),
    (special.sindg, POSITIVE),
    (special.cosdg, REAL),
    (special.tandg, REAL),
    (special.cotdg, POSITIVE),
]
BINARY = [special.powm1, special.boxcox, special.boxcox1p]


@pytest.mark.parametrize("f, domain", UNARY)
def test_unary(f, domain, check_unary):
    check_unary(f, domain)


@pytest.mark.parametrize("f", [special.expm1, special.log1p])
def test_complex_numbers(f):
    check_rule(f, COMPLEX.draw(3))


@pytest.mark.parametrize("f", BINARY)
@pytest.mark.parametrize("shapes", [((), ()), ((2, 3), (3,)), ((2, 1), (1, 3))], ids=str)
def test_binary(f, shapes):
    check_rule(f, POSITIVE.draw(shapes[0]), REAL.draw(shapes[1]))


@pytest.mark.parametrize("f", [special.boxcox, special.boxcox1p])
@pytest.mark.parametrize("lmbda", [0.0, -1e-3, 0.1])
def test_boxcox_near_the_logarithm(f, lmbda):
    check_rule(f, POSITIVE.draw(3), lmbda)


def test_radian():
    check_rule(special.radian, 3.0, REAL.draw(2), 1.0)


@pytest.mark.parametrize("n", [1, 2, 3, 7, np.array([2, 5, 4])], ids=str)
def test_kernel_of_dirichlet(n):
    check_rule(special.diric, REAL.draw(3), n)


@pytest.mark.parametrize("f, domain", UNARY)
def test_engine(f, domain, check_engine):
    check_engine(f, domain.draw(3))


@pytest.mark.parametrize("f", BINARY)
def test_engine_with_two_arguments(f, check_engine):
    check_engine(lambda x: f(x, x[::-1] - 1), POSITIVE.draw(3))
