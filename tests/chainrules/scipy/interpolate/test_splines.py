"""Splines in one variable: by values, abscissae, places, and what is made of the spline."""

import numpy as np
import pytest
from scipy import interpolate

import autodiff

# SciPy 1.18 has deprecated lagrange, pade and approximate_taylor_polynomial.
pytestmark = pytest.mark.filterwarnings("ignore:.* is deprecated and will be removed in SciPy")

X = np.linspace(0.0, 3.0, 7) + 0.05 * np.sin(np.arange(7.0))
Y = np.sin(1.3 * X) + 0.2 * X + 0.1
Q = np.array([0.11, 0.77, 1.3, 2.2, 2.71])
KNOTS = np.array([0.0, 0.0, 0.0, 0.0, 1.5, 3.2, 3.2, 3.2, 3.2])


taylor = interpolate.approximate_taylor_polynomial


def wrapped(y):
    return np.concatenate([y[:-1], y[:1]])


def rbf(**options):
    def make(x, y):
        f = interpolate.RBFInterpolator(x[:, None], y, **options)
        return lambda q: f(np.reshape(q, (-1, 1)))

    return make


MAKERS = {
    "CubicSpline": lambda x, y: interpolate.CubicSpline(x, y),
    "natural": lambda x, y: interpolate.CubicSpline(x, y, bc_type="natural"),
    "clamped": lambda x, y: interpolate.CubicSpline(x, y, bc_type="clamped"),
    "periodic": lambda x, y: interpolate.CubicSpline(x, wrapped(y), bc_type="periodic"),
    "slopes": lambda x, y: interpolate.CubicSpline(x, y, bc_type=((1, y[0]), (2, 0.3))),
    "axis": lambda x, y: interpolate.CubicSpline(x, np.stack([y, y * y]), axis=1),
    "pchip": lambda x, y: interpolate.PchipInterpolator(x, y),
    "akima": lambda x, y: interpolate.Akima1DInterpolator(x, y),
    "makima": lambda x, y: interpolate.Akima1DInterpolator(x, y, method="makima"),
    "hermite": lambda x, y: interpolate.CubicHermiteSpline(x, y, np.cos(y)),
    "make_interp_spline": lambda x, y: interpolate.make_interp_spline(x, y),
    "degree 5": lambda x, y: interpolate.make_interp_spline(x, y, k=5),
    "degree 2": lambda x, y: interpolate.make_interp_spline(x, y, k=2),
    "degree 1": lambda x, y: interpolate.make_interp_spline(x, y, k=1),
    "spline natural": lambda x, y: interpolate.make_interp_spline(x, y, bc_type="natural"),
    "make_splrep": lambda x, y: interpolate.make_splrep(x, y, s=0),
    "interp1d": lambda x, y: interpolate.interp1d(x, y),
    "interp1d cubic": lambda x, y: interpolate.interp1d(x, y, kind="cubic"),
    "krogh": lambda x, y: interpolate.KroghInterpolator(x, y),
    "barycentric": lambda x, y: interpolate.BarycentricInterpolator(x, y),
    "interpolated": lambda x, y: interpolate.InterpolatedUnivariateSpline(x, y),
    "least squares": lambda x, y: interpolate.LSQUnivariateSpline(x, y, [1.5]),
    "univariate": lambda x, y: interpolate.UnivariateSpline(x, y, s=0, k=4),
    "splrep": lambda x, y: lambda q: interpolate.splev(q, interpolate.splrep(x, y)),
    "rbf": rbf(),
    "rbf gaussian": rbf(kernel="gaussian", epsilon=1.3, smoothing=0.1),
    "rbf neighbors": rbf(neighbors=4),
    "Rbf": lambda x, y: interpolate.Rbf(x, y),
    "lagrange": lambda x, y: interpolate.lagrange(x[:5], y[:5]),
}


@pytest.mark.parametrize("name", MAKERS)
def test_values_abscissae_and_places(name, check_traced):
    make = MAKERS[name]
    check_traced(lambda x, y, q: make(x, y)(q), X, Y, Q, rtol=1e-5)


AT_NODES = {
    "barycentric": MAKERS["barycentric"],
    "barycentric slope": lambda x, y: interpolate.BarycentricInterpolator(x, y).derivative,
    "barycentric columns": lambda x, y: interpolate.BarycentricInterpolator(x, np.outer(y, y)),
    "krogh": MAKERS["krogh"],
    "CubicSpline": MAKERS["CubicSpline"],
    "rational": lambda x, y: interpolate.FloaterHormannInterpolator(x, y, d=2),
    "rational columns": lambda x, y: interpolate.FloaterHormannInterpolator(x, np.outer(y, y)),
    "AAA": lambda x, y: interpolate.AAA(X, np.exp(y), max_terms=6, clean_up=False),
    "rbf": MAKERS["rbf"],
}


@pytest.mark.filterwarnings("ignore:AAA failed")
@pytest.mark.parametrize("name", AT_NODES)
def test_at_nodes(name, check_traced):
    """There SciPy takes the value from the data, past the formula."""
    make = AT_NODES[name]
    check_traced(lambda x, y, q: make(x, y)(q), X, Y, X[1:4].copy(), step=1e-4, rtol=1e-5)
    if name not in ("CubicSpline", "rbf"):  # whose second derivatives have kinks there
        check_traced(lambda q: autodiff.gradient(lambda q: np.sum(make(X, Y)(q) ** 2), q), X[1:4])


@pytest.mark.parametrize("name", ["CubicSpline", "pchip", "make_interp_spline", "interpolated"])
def test_what_is_made_of_a_spline(name, check_traced):
    make = MAKERS[name]
    check_traced(lambda x, y: make(x, y).derivative()(Q), X, Y)
    check_traced(lambda x, y: make(x, y).antiderivative()(Q), X, Y)
    if name == "interpolated":
        check_traced(lambda y, a: make(X, y).integral(a, 2.7), Y, 0.3)
    else:
        check_traced(lambda y, a: make(X, y).integrate(a, 2.7), Y, 0.3)
    if name != "make_interp_spline":
        inside = {} if name == "interpolated" else {"extrapolate": False}
        check_traced(lambda y: make(X, y - 0.5).roots(**inside), Y)


@pytest.mark.parametrize(
    "f",
    [
        lambda y: interpolate.make_lsq_spline(X, y, KNOTS)(Q),
        lambda y: interpolate.make_lsq_spline(X, y, KNOTS, method="norm-eq")(Q),
        lambda y: interpolate.make_smoothing_spline(X, y, lam=0.1)(Q),
        lambda y: interpolate.make_interp_spline(X, wrapped(y), bc_type="periodic")(Q),
        lambda y: interpolate.make_interp_spline(X[:3], wrapped(y[:3]), bc_type="periodic")(Q),
        lambda y: interpolate.splev(Q, interpolate.splrep(X, wrapped(y), per=1)),
        lambda y: interpolate.splev(Q, interpolate.splrep(X, y, t=[1.5])),
        lambda y: interpolate.splev(Q + 1, interpolate.splrep(X, y), ext=3),
        lambda y: interpolate.splev(Q + 1, interpolate.splrep(X, y), ext=1),
        lambda y: interpolate.splint(0.2, y[0], interpolate.splrep(X, y)),
        lambda y: interpolate.sproot(interpolate.splrep(X, y - 0.5)),
        lambda y: interpolate.spalde(y[1], interpolate.splrep(X, y)),
        lambda y: interpolate.splev(Q, interpolate.insert(0.7, interpolate.splrep(X, y))),
        lambda y: np.stack(interpolate.splev(Q / 4, interpolate.splprep([X, y], s=0)[0])),
        lambda y: interpolate.BSpline(KNOTS, y[:5] * (1 + 2j), 3)(Q),
        lambda y: interpolate.BSpline(KNOTS, y[:5], 3).insert_knot(0.6)(Q),
        lambda y: interpolate.BSpline(KNOTS, y[:5], 3, extrapolate="periodic").integrate(-1, 5.0),
        lambda y: interpolate.BPoly(np.reshape(y[:6], (3, 2)), [0.0, 1.0, 2.5])(Q, nu=1),
        lambda y: interpolate.BPoly(np.reshape(y[:6], (3, 2)), [0.0, 1.0, 2.5]).integrate(0.2, 2),
        lambda y: interpolate.PPoly(np.reshape(y[:6], (3, 2)), [0.0, 1.0, 2.5])(Q[:4]),
        lambda y: interpolate.pade(y, 2)[0](0.3),
        lambda y: taylor(lambda t: np.sin(y[0] * t), 0.3, 3, 1.0)(0.2),
        lambda y: interpolate.UnivariateSpline(X, y, s=100.0)(Q),
    ],
)  # fmt: skip
def test_by_values(f, check_traced):
    check_traced(f, Y, rtol=1e-5)


def test_twice(check_engine):
    check_engine(lambda y, q: interpolate.CubicSpline(X, y)(q), Y, Q)
    check_engine(lambda y, q: interpolate.make_interp_spline(X, y)(q), Y, Q)
    check_engine(lambda y: interpolate.CubicSpline(X, y - 0.5).roots(extrapolate=False), Y)


def test_roots_that_meet():
    with pytest.raises(ValueError, match="two roots meet"):
        autodiff.gradient(lambda c: interpolate.PPoly(c[:, None], [-1.0, 1.0]).roots()[0],
                          np.array([1.0, 0.0, 0.0]))  # fmt: skip


def test_a_coefficient_that_is_zero():
    y = np.array([0.0, 2.0])
    f = autodiff.gradient(lambda y: interpolate.lagrange([0.0, 1.0], y)(0.25), y)
    np.testing.assert_allclose(f, [0.75, 0.25])
