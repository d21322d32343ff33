import numpy as np
import pytest
from scipy import signal
from scipy.signal import _spline_filters

from autodiff import pullback
from chainrules.scipy.signal.splines import started
from chainrules_core.testing import check_rule, const

X = np.random.default_rng(3).normal(size=70)


@pytest.mark.parametrize("f", [_spline_filters._cubic, _spline_filters._quadratic])
def test_basis_functions(f):
    check_rule(f, np.array([-1.7, -1.2, -0.3, 0.2, 0.7, 1.4, 1.8, 2.6]))


@pytest.mark.parametrize(
    "start, from_end, parameters",
    [
        (_spline_filters.symiirorder1_ic, False, (0.3, -1.0)),
        (_spline_filters.symiirorder2_ic_fwd, False, (0.3, 0.4, -1.0)),
        (_spline_filters.symiirorder2_ic_bwd, True, (0.3, 0.4, -1.0)),
    ],
)
def test_starts_of_recursions(start, from_end, parameters):
    for lines in (X[None], X.reshape(2, 35), np.tile(X, 20)[None]):
        check_rule(started, lines, const(start), const(from_end), const(parameters))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: signal.cspline1d(x),
        lambda x: signal.cspline1d(x, 0.3),
        lambda x: signal.qspline1d(x),
        lambda x: signal.cspline1d_eval(x, np.array([0.37, 2.4, -1.2])),
        lambda x: signal.qspline1d_eval(x, np.array([0.37, 2.4, 6.1]), 1.3, 0.1),
        lambda x: signal.cspline1d_eval(X[:8], x * x[0]),
        lambda x: signal.gauss_spline(x, 3),
        lambda x: signal.sepfir2d(np.outer(x, x), x[:3], x[1:6]),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, X[:6])


Z, H, V = X[:20].reshape(5, 4) * (1 + 0.3j), X[:3] + 1j * X[3:6], X[6:9]


@pytest.mark.parametrize(
    "f, x",
    [
        (lambda z: signal.sepfir2d(z, H, V), Z),
        (lambda h: signal.sepfir2d(Z, h, V), H),
        (lambda v: signal.sepfir2d(Z, H, v), V),
        (lambda v: signal.sepfir2d(Z, v, H), V),
    ],
)
def test_separable_filters_do_not_take_conjugates_of_weights(f, x, check_engine):
    np.testing.assert_allclose(pullback(f, x)[0], f(x))
    check_engine(lambda x: np.abs(f(x)) ** 2, x)


@pytest.mark.parametrize(
    "f, shape",
    [
        (lambda x: signal.symiirorder1(x, 1.3, 0.3), (70,)),
        (lambda x: signal.symiirorder1(x, 1.3, 0.3, 1e-4), (2, 35)),
        (lambda x: signal.symiirorder2(x, 0.3, 0.4), (2, 35)),
        (lambda x: signal.cspline2d(x, 0.0, 1e-2), (8, 8)),
        (lambda x: signal.qspline2d(x, 0.0, 1e-2), (8, 8)),
    ],
)
def test_recursive_filters(f, shape, check_traced):
    check_traced(f, X[: np.prod(shape)].reshape(shape))


def test_parameters_of_recursions_are_not_lost(check_traced):
    check_traced(lambda c: signal.symiirorder1(X, c, 0.3), 1.3)
    check_traced(lambda z: signal.symiirorder1(X, 1.3, z), 0.3)
