"""numpy.polynomial: functions and classes of six families, differentiated as they are written."""

import numpy as np
import pytest
from numpy.polynomial import (
    Chebyshev,
    Hermite,
    HermiteE,
    Laguerre,
    Legendre,
    Polynomial,
    chebyshev,
    hermite,
    hermite_e,
    laguerre,
    legendre,
    polynomial,
)

import autodiff

FAMILIES = {
    "poly": (polynomial, Polynomial),
    "cheb": (chebyshev, Chebyshev),
    "leg": (legendre, Legendre),
    "herm": (hermite, Hermite),
    "herme": (hermite_e, HermiteE),
    "lag": (laguerre, Laguerre),
}
TWICE = ("leg",)  # the code of the others is alike, and second derivatives take time
V = np.array([0.7, -0.3, 0.8, 0.4])
P = np.array([0.6, 0.7, 0.2, 0.9])
W = np.array([0.3, 0.5, -0.8])
S = np.array(0.8)
M = np.array([[0.7, -0.3, 0.1], [0.4, 0.6, -0.9]])
C = np.arange(12.0).reshape(2, 2, 3) / 10 - 0.7
Z = np.array([0.7 + 0.2j, -1.3 + 0.5j, 2.1 - 0.3j])
X5, Y5 = np.append(V, -0.9), np.append(P, 0.3)

# The name of the function without that of its family; what is computed with it; at what.
# fmt: off
FUNCTIONS = [
    ("add", lambda f: f, V, W),
    ("sub", lambda f: f, Z, W),
    ("mul", lambda f: f, V, W),
    ("mul", lambda f: lambda a: f([1.0, a[0]], a), V),
    ("mulx", lambda f: f, V),
    ("div", lambda f: f, V, W[:2] + 2),
    ("div", lambda f: f, W, V),
    ("pow", lambda f: lambda c: f(c, 3), W),
    ("line", lambda f: f, S, S + 1),
    ("trim", lambda f: lambda c: f(np.append(c, 0.0)), V),
    ("der", lambda f: f, V),
    ("der", lambda f: lambda c, s: f(c, 2, s), V, S),
    ("der", lambda f: lambda c: f(c, axis=1), M),
    ("int", lambda f: lambda c, k: f(c, 2, [k, 1.0], 0.3, 2.0), V, S),
    ("int", lambda f: lambda c, s, low: f(c, scl=s, lbnd=low), V, S, S),
    ("int", lambda f: lambda c: f(c, axis=1), M),
    ("val", lambda f: f, V, W),
    ("val", lambda f: f, M, W),
    ("val", lambda f: f, V, M),
    ("val", lambda f: lambda x, c: f(x, c, tensor=False), W, M),
    ("val", lambda f: lambda x: f([x[0], x[1]], [1.0, x[2], 0.5]), V),
    ("val", lambda f: f, Z, Z),
    ("val", lambda f: f, S, V),
    ("val2d", lambda f: f, V, P, M),
    ("val3d", lambda f: lambda x, y, c: f(x, y, x * y, c), V, P, C),
    ("grid2d", lambda f: f, V, W, M),
    ("grid3d", lambda f: lambda x, y, c: f(x, y, W, c), W[:2], W, C),
    ("vander", lambda f: lambda x: f(x, 3), V),
    ("vander2d", lambda f: lambda x, y: f(x, y, [1, 2]), V, P),
    ("vander3d", lambda f: lambda x, y: f(x, y, x * y, [1, 2, 1]), V, P),
    ("fit", lambda f: lambda x, y: f(x, y, 2), X5, Y5),
    ("fit", lambda f: lambda x, y, w: f(x, y, [0, 1], w=w), V, P, P),
    ("fit", lambda f: lambda x, y: f(x, y, 1, full=True)[1][0], V, P),
    ("fit", lambda f: lambda y: f([0.0, 1.0, 2.0, 3.0], [y[0], y[1], 1.0, y[2]], 1), V),
    ("fromroots", lambda f: f, V),
    ("fromroots", lambda f: f, Z),
    ("roots", lambda f: lambda c: np.sort_complex(f(c)), Z),
    ("roots", lambda f: f, W[:2]),
    ("companion", lambda f: f, V),
]
CLASSES = [
    ("call", lambda k: lambda c, x: k(c)(x), W, V),
    ("domain", lambda k: lambda c, d: k(c, domain=d, window=[-1.0, 1.0])(0.7), W, W[1:]),
    ("window", lambda k: lambda c, w: k(c, [0.0, 1.0], w)(0.7), W, W[1:]),
    ("operators", lambda k: lambda a, b: (k(a) * k(b) + 3 * k(a) - k(b) / 2 + 1).coef, W, V),
    ("with numbers", lambda k: lambda s: (s * k([1.0, 2.0]) - s + [0.5, 1.0]).coef, S),
    ("with arrays", lambda k: lambda a: (k([1.0, 2.0]) * a).coef, W),
    ("quotient", lambda k: lambda a, b: [(k(a) // k(b)).coef, (k(a) % k(b)).coef], V, W),
    ("divmod", lambda k: lambda a, b: [q.coef for q in divmod(k(a), k(b))], V, W),
    ("power", lambda k: lambda a: (-k(a) ** 2).coef, W),
    ("composed", lambda k: lambda a: k(a)(k([1.0, 2.0])).coef, W),
    ("deriv", lambda k: lambda a: k(a, domain=[0, 3.0]).deriv(2)(0.7), V),
    ("integ", lambda k: lambda a, c: k(a).integ(2, k=[c, 1.0], lbnd=0.2)(0.7), V, S),
    ("roots", lambda k: lambda a: np.sort_complex(k(a).roots()), Z),
    ("fit", lambda k: lambda x, y: k.fit(x, y, 2)(0.3), X5, Y5),
    ("fit domain", lambda k: lambda x, y: k.fit(x, y, 1, domain=[-1, 2], w=P).coef, V, P),
    ("fit full", lambda k: lambda y: k.fit(V, y, 1, full=True)[0].convert().coef, P),
    ("convert", lambda k: lambda a: k(a, [0, 2]).convert(domain=[-2, 3], kind=Chebyshev).coef, W),
    ("cast", lambda k: lambda a: k.cast(Polynomial(a)).coef, W),
    ("fromroots", lambda k: lambda r: k.fromroots(r, domain=[0, 2]).coef, V),
    ("basis", lambda k: lambda x: k.basis(3)(x) + k.identity([0.0, 2.0])(x), V),
    ("linspace", lambda k: lambda a: k(a).linspace(5), W),
    ("mapparms", lambda k: lambda d: k([1.0, 2.0], domain=d).mapparms(), W[1:]),
    ("shortened", lambda k: lambda a: [k(a).truncate(2).coef, k(a).cutdeg(1).coef], V),
    ("trimmed", lambda k: lambda a: k(np.append(a, 0.0)).trim().copy().coef, V),
    ("converted fit", lambda k: lambda a, b: k.fit(a, b, 2).convert().coef, V, P),
    ("kind of fit", lambda k: lambda a: k.fit(a, P, 2).convert(kind=Polynomial).coef, V),
    ("of polynomials", lambda k: lambda a, d: k(a, domain=d)(Polynomial(a[:2])).coef, W, W[1:]),
    ("elements", lambda k: lambda a: sum(k(a)) * len(k(a)) * k(a).degree(), W),
    ("a constant one", lambda k: lambda x: k([1.0, 2.0, 0.5])(x), V),
]
# fmt: on


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name, use, xs", [(r[0], r[1], r[2:]) for r in FUNCTIONS])
def test_function(family, name, use, xs, check_modes):
    f = getattr(FAMILIES[family][0], family + name)
    check_modes(use(f), *xs, twice=family in TWICE)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("use, xs", [(r[1], r[2:]) for r in CLASSES], ids=[r[0] for r in CLASSES])
def test_class(family, use, xs, check_modes):
    check_modes(use(FAMILIES[family][1]), *xs, twice=family in TWICE)


@pytest.mark.parametrize("family", [f for f in FAMILIES if f != "poly"])
def test_conversion_and_weight(family, check_modes):
    module = FAMILIES[family][0]
    check_modes(getattr(module, f"{family}2poly"), V)
    check_modes(getattr(module, f"poly2{family}"), V)
    check_modes(getattr(module, f"{family}weight"), P)


def test_a_polynomial_may_be_the_argument():
    found = autodiff.gradient(lambda p: p(2.0) ** 2, Polynomial([1.0, 2.0, 0.5]))
    np.testing.assert_allclose(found.coef, 14.0 * np.array([1.0, 2.0, 4.0]))
    found = autodiff.gradient(lambda p: p(2.0) ** 2, np.poly1d([0.5, 2.0, 1.0]))
    np.testing.assert_allclose(found.coeffs, 14.0 * np.array([4.0, 2.0, 1.0]))
