import numpy as np
import pytest

from chainrules_core.testing import (
    ABOVE_ONE,
    COMPLEX,
    REAL,
    SYMMETRIC_UNIT,
    UNIT,
    check_rule,
    check_scalar,
)

UNARY = [
    (np.sinh, REAL),
    (np.cosh, REAL),
    (np.tanh, REAL),
    (np.arcsinh, REAL),
    (np.arccosh, ABOVE_ONE),
    (np.arctanh, SYMMETRIC_UNIT),
]
FUNCTIONS = [f for f, _ in UNARY]
# On both sides of every branch cut, near it and far from it.
PLANE = [0.3 + 0.4j, -2 + 0.3j, -2 - 0.3j, 2 + 0.3j, 2 - 0.3j, -0.4 + 1.8j, 0.4 - 1.8j, 3.0 + 2j]


@pytest.mark.parametrize("f, domain", UNARY)
def test_unary(f, domain, check_unary):
    check_unary(f, domain)


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("z", PLANE, ids=str)
def test_complex_numbers(f, z):
    check_scalar(f, z)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_complex_arrays(f):
    check_rule(f, COMPLEX.draw((2, 2)))
    check_rule(f, COMPLEX.draw(3, np.complex64))


@pytest.mark.parametrize("f, domain", UNARY)
def test_engine(f, domain, check_engine):
    check_engine(f, domain.draw(3))
    check_engine(lambda x: f(x[0]) * x, domain.draw(2))


@pytest.mark.parametrize("f", FUNCTIONS)
def test_engine_with_complex_numbers(f, check_engine):
    check_engine(lambda x: f(x * (0.3 + 0.4j) + x[0] * 0.2), UNIT.draw(3))
