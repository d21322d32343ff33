"""Coefficients that are 0 at the highest powers: NumPy drops them, and would drop a derivative."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial, polynomial

import autodiff
from chainrules.calculus.polynomials import kept
from chainrules_core.errors import ChainRulesError
from chainrules_core.testing import check_rule

C = np.array([0.0, 1.0, 2.0])
D = np.array([2.0, 1.0, 0.0])


@pytest.mark.parametrize(
    "f, x",
    [
        (lambda c: np.poly1d(c)(2.0), C),
        (lambda c: np.poly1d([c[0], 3.0, c[1]])(2.0), C),
        (lambda c: (np.poly1d(c) - np.poly1d([1.0, c[1], 0.0]))(2.0), 1.0 + C),
        (lambda c: np.poly1d(c).deriv()(2.0), C),
        (lambda c: np.polyval(np.polymul(c, [1.0, 2.0]), 2.0), C),
        (lambda c: np.poly1d(c)(2.0), np.zeros(3)),
    ],
)
def test_it_is_an_error(f, x):
    with pytest.raises(ChainRulesError, match="exactly 0"):
        autodiff.gradient(f, x)
    with pytest.raises(ChainRulesError, match="exactly 0"):
        autodiff.pushforward(f, x)[1](np.ones(3))


@pytest.mark.parametrize(
    "f, x",
    [
        (lambda c: np.poly1d(c)(2.0), D),
        (lambda c: (np.poly1d(c) * np.poly1d([1.0, 0.0]))(2.0), D),
        (lambda c: np.poly1d([0.0, 0.0, 1.0])(c).sum(), C),
        (lambda c: np.poly1d([0.0, 1.0, 2.0])(c).sum(), C),
        (lambda c: np.poly1d(np.poly1d(c), variable="z")(2.0), 1 + C),
        (lambda c: np.poly1d(c, True)(2.0), C),
        (lambda c: np.poly1d(c[0])(c[1]), C),
        (lambda c: np.poly1d(c).integ()(0.5) + np.poly1d(c).o, 1 + C),
        (lambda c: np.polyval(c, 2.0), C),
        (lambda c: Polynomial(c)(2.0), D),
        (lambda c: polynomial.polyval(2.0, polynomial.polymul(c, [1.0, 2.0, 0.0])), 1 + D),
        (lambda c: (Polynomial(c) ** 2 + Polynomial([1.0, 0.0]))(2.0), 1 + D),
    ],
)
def test_others_are_right(f, x, check_modes):
    check_modes(f, x)


def test_rule():
    check_rule(kept, D[:2])
