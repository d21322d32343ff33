"""Polynomials: the rule of ``roots``; all else is NumPy's own code, differentiated as it is."""

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Polynomial, chebyshev, polynomial, polyutils

from chainrules_core.testing.checks.check import check_rule

V = np.array([0.7, -0.3, 0.8, 0.4])
P = np.array([0.6, 0.7, 0.2, 0.9])
W = np.array([0.3, 0.5, -0.8])
S = np.array(0.8)
M = np.array([[0.7, -0.3, 0.1], [0.4, 0.6, -0.9]])
Z = np.array([0.7 + 0.2j, -1.3 + 0.5j, 2.1 - 0.3j])
REAL_ROOTS = np.array([1.0, -6.1, 11.2, -6.3])
SQUARE = np.array([[2.0, 0.3], [0.4, 1.5]])


@pytest.mark.parametrize(
    "p",
    [
        REAL_ROOTS,
        Z,
        np.array([1.0, 0.1, 1.2]),
        np.array([2.0, 3.0]),
        np.array([1.0, -3.5, 0.0]),
        np.array([2.0]),
        REAL_ROOTS.astype(np.float32),
        [1.0, -6.1, 11.2],
    ],
)
def test_roots(p):
    check_rule(np.roots, p)


def ordered(roots):
    return np.sort(np.real(roots))


# fmt: off
FUNCTIONS = [
    (lambda p: ordered(np.roots(p)), REAL_ROOTS),
    (lambda p: np.roots([1.0, p[0], p[1]]), V),
    (np.polyval, W, V),
    (np.polyval, W, S),
    (np.polyval, Z, Z),
    (lambda x: np.polyval([1.0, x[0], x[1]], x), V),
    (lambda p: np.polyval(np.poly1d(p), V), W),
    (np.polyadd, W, V),
    (np.polysub, W, V),
    (np.polymul, W, V),
    (np.polymul, S, V),
    (np.polymul, Z, V),
    (lambda a: np.polymul([a[0], 2.0], [1.0, a[1], 3.0]), V),
    (np.polydiv, V, W),
    (np.polydiv, W, V),
    (np.polyder, V),
    (lambda p: np.polyder(p, 2), V),
    (lambda p: np.polyder(np.poly1d(p)).coeffs, V),
    (np.polyint, V),
    (lambda p, k: np.polyint(p, 2, k), V, W[:2]),
    (lambda p, k: np.polyint(p, m=2, k=[k, 1.0]), V, S),
    (lambda x, y: np.polyfit(x, y, 2), V, P),
    (lambda x, y, w: np.polyfit(x, y, 1, w=w), V, P, P),
    (lambda x, y: np.polyfit(x, y, 1, full=True)[:2], V, P),
    (lambda x, y: np.polyfit(x, y, 1, cov=True), V, P),
    (lambda y: np.polyfit([0.0, 1.0, 2.0], y, 1), Z),
    (np.poly, V),
    (np.poly, Z),
    (np.poly, SQUARE),
    (lambda r: np.poly([r[0], 1.0]), V),
    # poly1d: an object that holds coefficients
    (lambda p, x: np.poly1d(p)(x), W, V),
    (lambda p, q: (np.poly1d(p) * np.poly1d(q) + 3 * np.poly1d(p) - np.poly1d(q) / 2).c, W, V),
    (lambda p: (np.poly1d(p) ** 3).c, W),
    (lambda p: (-np.poly1d(p)).coef, W),
    (lambda p: [part.c for part in np.poly1d(V) / np.poly1d(p)], W),
    (lambda p: np.poly1d(p).deriv()(1.2) + np.poly1d(p).integ(2, k=1.0)(0.3), W),
    (lambda p: np.poly1d(p, True).coeffs, V),
    (lambda p: ordered(np.poly1d(p).r), REAL_ROOTS),
    (lambda p: np.poly1d(p)[1] * np.poly1d(p)[0], W),
    (lambda s: (2.0 * np.poly1d(W) * s + s).c, S),
    # numpy.polynomial: what its families do not share
    (polynomial.polyvalfromroots, V, W),
    (lambda x, r: polynomial.polyvalfromroots(x, r, tensor=False), W, M),
    (lambda p: chebyshev.chebinterpolate(lambda t: np.tanh(t * p[0]) + p[1], 5), W),
    (lambda p: chebyshev.chebinterpolate(lambda t, a: np.tanh(t * a), 4, (p[0],)), W),
    (lambda p: Chebyshev.interpolate(lambda t: np.exp(t * p[0]), 4, domain=[0, 2])(0.4), W),
    (lambda p: Chebyshev.interpolate(lambda t, a: np.exp(t * a), 4, args=(p[0],)).coef, W),
    (lambda x, old: polyutils.mapdomain(x, old, [0.0, 1.0]), V, W[1:]),
    (polyutils.mapparms, W[1:], np.array([0.0, 3.0])),
    (lambda x: Polynomial([1.0, 2.0, 0.5])(x[0]), V),
]
# fmt: on


@pytest.mark.parametrize("f, xs", [(row[0], row[1:]) for row in FUNCTIONS])
def test_engine(f, xs, check_modes):
    check_modes(f, *xs)
