import numpy as np
import pytest
from scipy import special

from chainrules_core.testing import COMPLEX, POSITIVE, REAL, UNIT, check_rule

SHAPES = [(), (3,), (2, 2), (0,)]
BINARY_SHAPES = [((), ()), ((3,), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((0,), ())]
UNARY = [
    (special.expit, REAL),
    (special.logit, UNIT),
    (special.log_expit, REAL),
    (special.entr, POSITIVE),
]
BINARY = [special.xlogy, special.xlog1py, special.rel_entr, special.kl_div]


@pytest.mark.parametrize("f, domain", UNARY)
def test_unary(f, domain):
    for shape in SHAPES:
        check_rule(f, domain.draw(shape))
    check_rule(f, domain.draw(3, np.float32))
    check_rule(f, np.array(domain.draw()))


@pytest.mark.parametrize("f", BINARY)
@pytest.mark.parametrize("shapes", BINARY_SHAPES, ids=str)
def test_binary(f, shapes):
    check_rule(f, POSITIVE.draw(shapes[0]), POSITIVE.draw(shapes[1]))


@pytest.mark.parametrize("f", BINARY)
def test_binary_in_single_precision(f):
    check_rule(f, POSITIVE.draw(3, np.float32), POSITIVE.draw(3, np.float32))


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
