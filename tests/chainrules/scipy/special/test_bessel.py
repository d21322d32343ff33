import numpy as np
import pytest
from scipy import special

from chainrules_core.testing import NONZERO, POSITIVE, REAL, check_rule

UNARY = [
    (special.j0, REAL),
    (special.j1, REAL),
    (special.y0, POSITIVE),
    (special.y1, POSITIVE),
    (special.i0, REAL),
    (special.i1, REAL),
    (special.k0, POSITIVE),
    (special.k1, POSITIVE),
    (special.i0e, NONZERO),
    (special.i1e, NONZERO),
    (special.k0e, POSITIVE),
    (special.k1e, POSITIVE),
]
OF_ORDER = [special.jv, special.yv, special.iv, special.kv]


@pytest.mark.parametrize("f, domain", UNARY)
def test_unary(f, domain):
    for shape in [(), (3,), (2, 2), (0,)]:
        check_rule(f, domain.draw(shape))
    check_rule(f, domain.draw(3, np.float32))


@pytest.mark.parametrize("f", [special.j0, special.j1, special.i0, special.i1])
def test_at_zero(f):
    check_rule(f, 0.0)
    check_rule(f, np.array([0.0, 1.5]))


@pytest.mark.parametrize("f", OF_ORDER)
@pytest.mark.parametrize("v", [0, 1.5, 2, np.array([0.5, 1.0, 3.0])], ids=str)
def test_of_some_order(f, v):
    check_rule(f, v, POSITIVE.draw(3))
    check_rule(f, v, POSITIVE.draw(3) + 0.5j)


@pytest.mark.parametrize("f, domain", UNARY)
def test_engine(f, domain, check_engine):
    check_engine(f, domain.draw(3))


@pytest.mark.parametrize("f", OF_ORDER)
def test_engine_of_some_order(f, check_engine):
    check_engine(lambda x: f(2, x), POSITIVE.draw(3))
