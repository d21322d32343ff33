"""Integrals of samples at equal distances."""

import numpy as np
import pytest
from scipy import integrate

import autodiff
from chainrules.scipy.integrate.sampled import romb_weights, simpson_weights, trapezoid_weights
from chainrules_core import rrule
from chainrules_core.testing import check_rule

Y = np.cos(np.arange(9.0)) + 0.3
RULES = [integrate.trapezoid, integrate.simpson, integrate.romb]


@pytest.mark.parametrize(
    "f, weights, sizes",
    [
        (integrate.trapezoid, trapezoid_weights, (2, 3, 4, 9)),
        (integrate.simpson, simpson_weights, (2, 3, 4, 5, 6, 7, 8)),
        (integrate.romb, romb_weights, (2, 3, 5, 9, 17)),
    ],
)
def test_weights_are_those_of_scipy(f, weights, sizes):
    for n in sizes:
        np.testing.assert_allclose(weights(n), [f(e) for e in np.eye(n)], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("f", RULES)
def test_rule(f):
    assert rrule(f, Y) is not None
    check_rule(f, Y)
    check_rule(f, Y, fkwargs={"axis": 0})


@pytest.mark.parametrize("f", RULES)
def test_distance(f, check_traced):
    check_traced(lambda y, h: f(y, dx=h), Y, 0.3)
    check_traced(lambda y, h: f(y * h, dx=h[0] * h[1]), Y, Y + 1)


@pytest.mark.parametrize(
    "f",
    [
        lambda y: integrate.simpson(y, x=np.arange(9.0) ** 2),
        lambda y: integrate.simpson(y, x=np.cumsum(y * y)),
        lambda y: integrate.trapezoid(y, np.cumsum(y * y)),
        lambda y: integrate.trapezoid(y.reshape(3, 3), dx=y[0]),
        lambda y: integrate.simpson(y.reshape(3, 3), axis=0),
        lambda y: integrate.romb(y.reshape(3, 3), 0.5),
        lambda y: integrate.romb(list(y)),
        lambda y: np.abs(integrate.simpson(y * (1 + 2j))),
    ],
)
def test_other_calls(f, check_traced):
    check_traced(f, Y, step=1e-5, rtol=1e-5)


def test_single_precision():
    assert autodiff.gradient(integrate.simpson, np.float32(Y)).dtype == np.float32


def test_second_derivatives(check_engine):
    check_engine(lambda y: integrate.simpson(y**3), Y)
    check_engine(lambda y: integrate.romb(y**3, y[0] ** 2), Y)
