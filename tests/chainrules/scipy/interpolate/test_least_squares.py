import numpy as np
import pytest
from scipy import interpolate

from chainrules.scipy.interpolate.bsplines import design
from chainrules.scipy.interpolate.least_squares import fitted, is_definite, rows_of

RNG = np.random.default_rng(5)
X = np.sort(RNG.uniform(0.0, 4.0, 30))
Y = np.sin(X) + 0.1 * RNG.standard_normal(30)
W = RNG.uniform(0.5, 2.0, 30)
INNER = np.array([0.9, 1.7, 2.6, 3.1])
Q = np.array([0.4, 1.2, 2.9])


def knots(k, inner=INNER, x=X):
    return np.concatenate([[x[0]] * (k + 1), inner, [x[-1]] * (k + 1)])


@pytest.mark.parametrize("k", [0, 1, 3, 5])
def test_rows(k):
    """They are those of the dense matrix."""
    A, dense = rows_of(knots(k), k, X, W), design(knots(k), k, X) * W[:, None]
    y, c = RNG.standard_normal((30, 2)), RNG.standard_normal((A.n, 2))
    np.testing.assert_allclose(A.times(c), dense @ c, atol=1e-14)
    np.testing.assert_allclose(A.adjoint_times(y), dense.T @ y, atol=1e-14)
    normal = dense.T @ dense
    for d, row in enumerate(A.normal()):
        np.testing.assert_allclose(row[: A.n - d], np.diagonal(normal, -d), atol=1e-14)
        np.testing.assert_array_equal(row[A.n - d :], 0)


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-7])
def test_nearly_singular_fits(scale):
    """Weights that leave little of some B-splines: as good as by orthogonal factors."""
    w = np.where((X > 0.9) & (X < 2.6), scale, 1.0)
    y = np.stack([Y, X**2], 1)
    t = knots(3)
    c, away = fitted(t, 3, X, y, w)
    dense = design(t, 3, X) * w[:, None]
    expected = np.linalg.lstsq(dense, y * w[:, None])[0]
    np.testing.assert_allclose(c, expected, rtol=1e-9 / scale, atol=1e-9)
    np.testing.assert_allclose(away, y * w[:, None] - dense @ expected, atol=1e-12)


def test_an_interval_without_places():
    t = knots(1, np.array([1.0, 1.01, 1.02, 1.03]))
    assert not is_definite(rows_of(t, 1, X, W).normal())
    dense = design(t, 1, X)
    c, _ = fitted(t, 1, X, Y[:, None], np.ones(30))
    np.testing.assert_allclose(c, np.linalg.lstsq(dense, Y[:, None])[0], atol=1e-10)


@pytest.mark.parametrize("method", ["qr", "norm-eq"])
def test_make_lsq_spline(method, check_traced):
    def fit(x, y, w, inner):
        t = np.concatenate([np.stack([x[0]] * 4), inner, np.stack([x[-1]] * 4)])
        return interpolate.make_lsq_spline(x, y, t, w=w, method=method)(Q)

    check_traced(fit, X, Y, W, INNER, step=1e-4)
    check_traced(lambda y: fit(X, y, W, INNER), np.stack([Y, X**2], 1))


def test_fitpack(check_traced):
    check_traced(lambda x, y, w: interpolate.LSQUnivariateSpline(x, y, INNER, w)(Q), X, Y, W,
                 step=1e-4)  # fmt: skip
    check_traced(lambda x, y: interpolate.splprep([x, y], task=-1, t=knots(3), u=X)[0][1][0], X, Y)


def test_second_derivatives(check_engine):
    check_engine(lambda y, w: interpolate.make_lsq_spline(X, y, knots(3), w=w)(Q), Y, W)
