import numpy as np
import pytest

from chainrules_core.testing import COMPLEX, NONZERO, POSITIVE, REAL, check_rule, check_scalar

UNARY = [
    (np.exp, REAL),
    (np.exp2, REAL),
    (np.expm1, REAL),
    (np.log, POSITIVE),
    (np.log2, POSITIVE),
    (np.log10, POSITIVE),
    (np.log1p, POSITIVE),
    (np.sqrt, POSITIVE),
    (np.cbrt, NONZERO),
]
HOLOMORPHIC = [np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sqrt]
BINARY = [np.logaddexp, np.logaddexp2]


@pytest.mark.parametrize("f, domain", UNARY)
def test_unary(f, domain, check_unary):
    check_unary(f, domain)


@pytest.mark.parametrize("f", HOLOMORPHIC)
def test_complex_numbers(f):
    check_scalar(f, COMPLEX.draw())
    check_rule(f, COMPLEX.draw((2, 2)))
    check_rule(f, COMPLEX.draw(3, np.complex64))


@pytest.mark.parametrize("f", BINARY)
def test_binary(f, check_binary):
    check_binary(f, REAL)


@pytest.mark.parametrize("f, domain", UNARY)
def test_engine(f, domain, check_engine):
    check_engine(f, domain.draw(3))
    check_engine(lambda x: f(x[0]) * x, domain.draw(2))


@pytest.mark.parametrize("f", HOLOMORPHIC)
def test_engine_with_complex_numbers(f, check_engine):
    check_engine(lambda x: f(x * (0.3 + 0.4j) + x[0]), POSITIVE.draw(3))


@pytest.mark.parametrize("f", BINARY)
def test_engine_with_two_arguments(f, check_engine):
    check_engine(lambda x: f(x, x[::-1] * 2), REAL.draw(3))
    check_engine(lambda x: f(x[:, None], 1.5), REAL.draw(2))
    check_engine(lambda x: f(np.where(x > 0, -np.inf, x), x), np.array([-0.5, 0.4, 1.2]))
