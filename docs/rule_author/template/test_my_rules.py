"""Each rule of my_rules against finite differences of its function."""

import numpy as np
import pytest
from my_rules import centred, count, quadratic, softsign

from autodiff import gradient
from chainrules_core import NoTangent, rrule
from chainrules_core.testing import check_rule, check_scalar

rng = np.random.default_rng(0)
VECTOR, MATRIX = rng.normal(size=3), rng.normal(size=(3, 3))


@pytest.mark.parametrize("x", [-1.5, 0.5, np.float32(0.5)])
def test_softsign_of_a_number(x):
    check_scalar(softsign, x)  # give it the function itself: a lambda around it has no rule


def test_softsign_of_an_array():
    check_rule(softsign, VECTOR, second_order=True, gradient=gradient)


@pytest.mark.parametrize("axis", [0, 1])
def test_centred(axis):
    check_rule(centred, MATRIX, fkwargs={"axis": axis})


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("scale", [1.0, -2.5])
def test_quadratic(dtype, scale):
    a, x = MATRIX.astype(dtype), VECTOR.astype(dtype)
    if dtype is np.complex128:
        a, x = a + 1j * a.T, x - 2j * x[::-1]
    check_rule(quadratic, a, x, fkwargs={"scale": scale})


def test_quadratic_twice():
    check_rule(quadratic, MATRIX, VECTOR, second_order=True, gradient=gradient)


def test_count_is_constant():
    _, pullback = rrule(count, VECTOR)
    assert pullback(1.0) == (NoTangent(), NoTangent())
