"""Interpolation in several variables."""

import numpy as np
import pytest
import scipy
from scipy import interpolate
from scipy.sparse.linalg import spsolve

import autodiff
from chainrules.refused import RefusedError

SCIPY = tuple(map(int, scipy.__version__.split(".")[:2]))

GX, GY = np.linspace(0, 2, 6) + 0.03 * np.sin(np.arange(6)), np.linspace(0, 3, 7)
Z = np.sin(GX[:, None] * 1.1 + 0.3) * np.cos(GY * 0.9) + 0.1 * GX[:, None]
PX, PY = np.array([0.21, 0.9, 1.4, 1.77]), np.array([0.33, 1.21, 2.2, 2.7])
PLACES = np.stack([PX, PY], 1)
RNG = np.random.default_rng(3)
SITES = RNG.uniform(0, 1, (12, 2))
VALUES = np.sin(3 * SITES[:, 0]) + SITES[:, 1] ** 2
INSIDE = (SITES[:5] + SITES[3:8] * 0.5 + 0.24) / 2
KNOTS = np.array([0, 0, 0, 0, 1, 2, 2, 2, 2.0])
BREAKS = np.array([0, 1, 2.0]), np.array([0, 1, 2, 3.0])
SX, SY = np.meshgrid(GX, GY, indexing="ij")
FX, FY = SX.ravel(), SY.ravel()


@pytest.mark.parametrize("method", ["linear", "nearest", "slinear", "cubic", "pchip"])
def test_grids(method, check_traced):
    options = {"solver": spsolve} if method in ("slinear", "cubic") else {}

    def f(x, z, places):
        grid = interpolate.RegularGridInterpolator((x, GY), z, method=method, **options)
        return grid(places)

    check_traced(f, GX, Z, PLACES, step=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "f",
    [
        lambda z, x: interpolate.RectBivariateSpline(GX, GY, z)(x, PY),
        lambda z, x: interpolate.RectBivariateSpline(GX, GY, z, kx=2, ky=1)(x, PY),
        lambda z, x: interpolate.RectBivariateSpline(GX, GY, z)(x, PY, dx=1),
        lambda z, x: interpolate.RectBivariateSpline(GX, GY, z)(x[0], 1.3),
        lambda z, x: interpolate.RectBivariateSpline(GX, GY, z)(0.4, PY, dy=1) * x[0],
        lambda z, x: interpolate.RectBivariateSpline(GX, GY, z).ev(x, PY),
        lambda z, x: interpolate.RectBivariateSpline(GX, GY, z).ev(x, PY, dy=1),
        lambda z, x: interpolate.RectBivariateSpline(GX, GY, z).partial_derivative(1, 1)(x, PY),
        lambda z, x: interpolate.RectBivariateSpline(GX, GY, z).integral(x[0], x[2], 0.3, 2.0),
        lambda z, x: interpolate.interpn((GX, GY), z, np.stack([x, PY], 1)),
        lambda z, x: interpolate.NdBSpline((KNOTS, KNOTS), z[:5, :5], 3)(np.stack([x, PX], 1)),
        lambda z, x: interpolate.NdPPoly(np.reshape(z, (1, 7, 2, 3)), BREAKS)(np.stack([x, PY], 1)),
        lambda z, x: interpolate.LSQBivariateSpline(
            SX.ravel(), SY.ravel(), np.ravel(z), [1.0], [1.5])(x, PY),
        pytest.param(
            lambda z, x: interpolate.bisplev(x, PY, interpolate.bisplrep(
                SX.ravel(), SY.ravel(), np.ravel(z), task=-1,
                tx=np.r_[[0.0] * 4, 1.0, [2.0] * 4], ty=np.r_[[0.0] * 4, 1.5, [3.0] * 4])),
            marks=pytest.mark.skipif(
                SCIPY >= (1, 18), reason="bisplrep does not take task=-1 in SciPy 1.18")),
    ],
)  # fmt: skip
def test_splines(f, check_traced):
    check_traced(f, Z, PX, rtol=1e-5)


@pytest.mark.parametrize("method", ["slinear", "cubic"])
def test_the_value_of_a_grid(method):
    """SciPy solves for the coefficients by iteration."""

    def f(z):
        return np.sum(interpolate.interpn((GX, GY), z, PLACES, method))

    np.testing.assert_allclose(autodiff.value_and_gradient(f, Z)[0], f(Z), rtol=1e-13)


@pytest.mark.parametrize("method", ["linear", "nearest", "cubic"])
def test_griddata(method, check_traced):
    check_traced(lambda v: interpolate.griddata(SITES, v, INSIDE, method, 0.0), VALUES, step=0.3)


def test_triangulations(check_traced):
    f = interpolate.LinearNDInterpolator
    check_traced(lambda s, v, q: f(s, v, 0.0)(q), SITES, VALUES, INSIDE, step=1e-5)
    plain = f(SITES, VALUES, 0.0, rescale=True)
    check_traced(lambda q: plain(q), INSIDE, step=1e-5)
    check_traced(lambda v: f(SITES, v, 0.0, rescale=True)(INSIDE), VALUES)
    check_traced(lambda v: interpolate.NearestNDInterpolator(SITES, v)(INSIDE), VALUES)
    check_traced(lambda s, q: interpolate.RBFInterpolator(s, VALUES)(q), SITES, INSIDE, step=1e-4)


@pytest.mark.parametrize("rescale", [False, True])
def test_cubic_on_triangles(rescale, check_traced):
    sites, inside = SITES * np.array([1.0, 30.0]), INSIDE * np.array([1.0, 30.0])

    def read(v, q):
        made = interpolate.CloughTocher2DInterpolator(sites, v, -1.0, 1e-12, 4000, rescale=rescale)
        return made(q)

    check_traced(lambda v: read(v, inside), VALUES, rtol=1e-5)
    check_traced(lambda q: read(VALUES, q), inside, step=1e-4)
    outside = inside + 100.0
    assert np.all(autodiff.gradient(lambda q: np.sum(read(VALUES, q)), outside) == 0)
    complex_values = VALUES + 1j * VALUES[::-1]
    check_traced(lambda q: read(complex_values, q), inside, step=1e-4)
    check_traced(lambda q: read(np.stack([VALUES, VALUES**2], 1), q), inside, step=1e-4)
    both = lambda q: read(VALUES * np.sum(q), q)  # noqa: E731
    check_traced(both, inside, step=1e-4, rtol=1e-5)


def test_cubic_griddata_by_places(check_traced):
    def read(x, y):
        return interpolate.griddata(SITES, VALUES, (x, y), method="cubic")

    check_traced(read, INSIDE[:, 0], INSIDE[:, 1], step=1e-4)
    check_traced(
        lambda q: interpolate.griddata(SITES, VALUES, q, method="cubic"), INSIDE, step=1e-4
    )


def test_cubic_on_triangles_twice():
    made = interpolate.CloughTocher2DInterpolator(SITES, VALUES)
    slope = lambda q: autodiff.gradient(lambda q: made(q)[0], q)  # noqa: E731
    found = autodiff.hessian(lambda q: made(q)[0], INSIDE[0])
    steps = 1e-6 * np.eye(2)
    expected = [(slope(INSIDE[0] + h) - slope(INSIDE[0] - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "f",
    [
        lambda q: interpolate.CloughTocher2DInterpolator(SITES + np.sum(q), VALUES)(INSIDE),
        lambda q: interpolate.SmoothBivariateSpline(FX, FY, np.sum(q) * Z.ravel(), s=1e-9).fp,
        lambda q: interpolate.RectSphereBivariateSpline(
            GX + 0.1, GY, Z * np.sum(q), s=0.1)(1.0, 1.0),
        lambda q: interpolate.RectBivariateSpline(GX, GY, Z * np.sum(q), s=0.1)(PX, PY),
        lambda q: interpolate.bisplrep(FX, FY, Z.ravel() * np.sum(q), task=1)[2],
    ],
)  # fmt: skip
def test_refused(f):
    with pytest.raises(RefusedError, match="is not differentiated"):
        autodiff.gradient(lambda q: np.sum(f(q)), INSIDE)


@pytest.mark.parametrize("function", ["multiquadric", "inverse", "gaussian", "cubic", "quintic"])
@pytest.mark.parametrize("mode", ["1-D", "N-D"])
def test_radial_functions_at_their_centres(function, mode, check_engine):
    def values(x, z, at):
        z = np.stack([z, z**2], 1) if mode == "N-D" else z
        return interpolate.Rbf(x, z, function=function, mode=mode)(at)

    x = np.array([0.0, 1.0, 2.5, 3.0, 4.5])
    away = 0.1 if function == "cubic" else 0.0  # whose third derivative jumps
    check_engine(values, x, np.cos(x), x[1:4] + away)
    with pytest.raises(ValueError, match="must be equal"):
        autodiff.gradient(lambda z: interpolate.Rbf(x, x, z)(x, x[:2])[0], np.cos(x))
