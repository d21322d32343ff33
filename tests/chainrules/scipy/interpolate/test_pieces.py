"""Rules of helpers: pieces of polynomials, B-splines and the coefficients of cubic pieces."""

import numpy as np
import pytest
from scipy import interpolate

import autodiff
from chainrules.scipy.interpolate.bsplines import basis, intervals, spline
from chainrules.scipy.interpolate.cubic import CURVATURE, NOT_A_KNOT, SLOPE, cubic, hermite
from chainrules.scipy.interpolate.gridded import multilinear
from chainrules.scipy.interpolate.monotone import slopes
from chainrules.scipy.interpolate.piecewise import in_pieces
from chainrules_core.testing import check_rule

BREAKS = np.array([0.0, 0.7, 1.9, 2.4])
KNOTS = np.array([0.0, 0.0, 0.0, 0.0, 0.4, 1.1, 1.1, 1.7, 2.0, 2.0, 2.0, 2.0])
PLACES = np.array([0.1, 0.5, 1.6, 1.2, 1.95, -0.2, 2.3])
I = np.array([0, 2, 2, 1, 0])  # noqa: E741
S = np.array([0.3, 0.2, 0.0, -0.4, 0.9])


def numbers(*shape, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if dtype is complex else x


def scipys(t, c, k, x, nu):
    """A derivative of a spline; SciPy 1.15 reads beyond its arrays for those that are all zero."""
    if nu > k:
        return np.zeros(np.shape(x) + np.shape(c)[1:])
    return interpolate.BSpline(t, c, k)(x, nu)


@pytest.mark.parametrize("columns", [(), (2,), (2, 1)])
@pytest.mark.parametrize("dtype", [float, complex])
def test_hermite(columns, dtype):
    y, s = (numbers(4, *columns, seed=i, dtype=dtype) for i in (1, 2))
    check_rule(hermite, BREAKS, y, s)
    spline = interpolate.CubicHermiteSpline(BREAKS, y, s)
    np.testing.assert_allclose(hermite(BREAKS, y, s), spline.c, rtol=1e-14)


@pytest.mark.parametrize("nu", range(6))
@pytest.mark.parametrize("dtype", [float, complex])
def test_in_pieces(nu, dtype):
    c = numbers(4, 3, 2, dtype=dtype)
    check_rule(in_pieces, c, S, I, nu)
    expected = interpolate.PPoly(c, BREAKS)(BREAKS[I] + S * (S > 0), nu)
    inside = (S >= 0) & (np.diff(BREAKS)[I] > S)
    np.testing.assert_allclose(in_pieces(c, S, I, nu)[inside], expected[inside], atol=1e-12)


@pytest.mark.parametrize("nu", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_basis(k, nu):
    t = KNOTS[3 - k : len(KNOTS) - 3 + k]
    left = intervals(t, k, PLACES)
    check_rule(basis, t, k, PLACES, left, nu)
    check_rule(basis, t, k, PLACES[0], left[0], nu)
    columns = left[:, None] + np.arange(-k, 1)
    for j, (place, row) in enumerate(zip(PLACES, columns, strict=True)):
        found = [scipys(t, np.eye(len(t) - k - 1)[i], k, place, nu) for i in row]
        np.testing.assert_allclose(basis(t, k, PLACES, left, nu)[j], found, atol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        interpolate.CubicSpline,
        interpolate.PchipInterpolator,
        interpolate.Akima1DInterpolator,
        lambda x, y: interpolate.CubicHermiteSpline(x, y, np.sin(y), axis=-1),
        lambda x, y: interpolate.CubicHermiteSpline(list(x), list(y), list(y)),
        interpolate.make_interp_spline,
        lambda x, y: interpolate.make_interp_spline(x, y, k=4),
    ],
)
def test_second_derivatives(make, check_modes):
    x = np.array([0.0, 0.8, 1.7, 2.9, 3.3, 4.2])
    y = np.array([0.3, 1.2, 0.9, 2.2, 2.0, 3.1])
    check_modes(lambda x, y, at: make(x, y)(at), x, y, np.array([0.31, 2.05, 3.9]))


@pytest.mark.parametrize(
    "make", [interpolate.CubicSpline, interpolate.PchipInterpolator, interpolate.make_interp_spline]
)
def test_places_without_a_value(make):
    """They are NaN, and have no part in any gradient."""
    at = np.array([0.5, np.nan, 2.0, 9.0])
    nodes = np.arange(5.0)

    def loss(x, y, at, extrapolate):
        spline = make(x, y)
        spline.extrapolate = extrapolate
        return np.nansum(spline(at) * np.array([1.0, 2.0, 3.0, 4.0]))

    y = np.array([1.0, 3.0, 2.0, 5.0, 4.0])
    *bars, at_bar = autodiff.gradient(lambda x, y, at: loss(x, y, at, False), nodes, y, at)

    def inside(x, y):
        return make(x, y)(at[::2]) @ [1.0, 3.0]

    for found, expected in zip(bars, autodiff.gradient(inside, nodes, y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(at_bar[1::2], 0.0)
    assert np.all(np.isfinite(at_bar))


@pytest.mark.parametrize("f", [interpolate.CubicSpline, interpolate.CubicHermiteSpline])
def test_wrong_data_is_scipys_error(f):
    data = [np.array([1.0, 2.0, 3.0])] * (2 if f is interpolate.CubicHermiteSpline else 1)

    def loss(x):
        return f(x, *data)(0.5)

    with pytest.raises(ValueError, match="strictly increasing"):
        autodiff.gradient(loss, np.array([0.0, 2.0, 1.0]))


@pytest.mark.parametrize("trailing", [(), (2,), (2, 2)])
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("dtype", [float, complex])
def test_multilinear(axes, trailing, dtype):
    values = numbers(*(4, 3, 5)[:axes], *trailing, dtype=dtype)
    indices = np.array([[0, 2, 1, 1, 2], [1, 0, 1, 1, 0], [3, 2, 0, 0, 1]])[:axes]
    distances = np.random.default_rng(1).uniform(-0.2, 1.2, (axes, 5))
    check_rule(multilinear, values, distances, indices)
    grid = [np.arange(float(n)) for n in values.shape[:axes]]
    at = (indices + distances).T
    read = interpolate.RegularGridInterpolator(grid, values, bounds_error=False, fill_value=None)
    expected = interpolate.interpn(grid, values, np.clip(at, 0, [n[-1] for n in grid]))
    inside = np.all((distances >= 0) & (distances < 1), axis=0)
    np.testing.assert_allclose(multilinear(values, distances, indices)[inside], expected[inside])
    np.testing.assert_allclose(read(at)[inside], expected[inside])


def test_places_off_a_grid(check_modes):
    """One axis of a single node, places outside and NaN, and second derivatives."""
    nodes = np.array([0.0, 1.5, 2.0])
    values = numbers(3, 1, 2)
    at = np.array([[0.3, 0.0], [1.9, 0.0], [2.5, 0.0], [np.nan, 0.0]])

    def read(nodes, values, first):
        places = np.concatenate([first, at[2:]])
        grid = (nodes, np.array([0.0]))
        f = interpolate.RegularGridInterpolator(grid, values, bounds_error=False)
        return np.nan_to_num(f(places)) ** 2

    check_modes(read, nodes, values, at[:2], each=True)


def test_second_derivatives_on_a_grid(check_modes):
    def read(x, values, at):
        y = interpolate.RegularGridInterpolator((x, np.arange(3.0)), values)(at)
        return y * interpolate.interpn((x, np.arange(3.0)), values[..., None], at)[:, 0]

    nodes = np.array([0.0, 0.6, 1.7, 2.0])
    check_modes(read, nodes, numbers(4, 3), np.array([[0.3, 1.2], [1.8, 0.4]]))


ENDS = [NOT_A_KNOT, SLOPE, CURVATURE]


@pytest.mark.parametrize("kinds", [(a, b) for a in ENDS for b in ENDS])
@pytest.mark.parametrize("n", [3, 4, 7])
def test_cubic(kinds, n):
    if n == 3 and kinds == (NOT_A_KNOT, NOT_A_KNOT):
        return  # SciPy's own constructor
    x = np.cumsum(0.3 + np.random.default_rng(n).uniform(size=n))
    for columns, dtype in (((), float), ((2,), complex), ((2, 1), float)):
        y, *_ = (numbers(n, *columns, seed=i, dtype=dtype) for i in range(2))
        first, last = (numbers(*columns, seed=i, dtype=dtype) for i in (2, 3))
        check_rule(cubic, x, y, np.asarray(first), np.asarray(last), kinds)


BOUNDARIES = {
    "natural": lambda y: "natural",
    "clamped": lambda y: "clamped",
    "numbers": lambda y: ((2, 0.7), (1, -0.4)),
    "traced": lambda y: ((1, y[0] * y[1]), (2, np.sin(y[2]))),
    "mixed": lambda y: ("not-a-knot", (1, y[1])),
    "complex": lambda y: ((1, y[0] * 1j), "natural"),
}


@pytest.mark.parametrize("name", BOUNDARIES)
@pytest.mark.parametrize("n", [2, 3, 6])
def test_boundaries(name, n, check_modes):
    x = np.array([0.0, 0.8, 1.7, 2.9, 3.3, 4.2])[:n]
    y = np.array([0.3, 1.2, 0.9, 2.2, 2.0, 3.1])

    def read(x, y, at):
        spline = interpolate.CubicSpline(x, y[:n] * y[0], bc_type=BOUNDARIES[name](y))
        return np.stack([spline(at), spline(at, 1), spline.derivative(2)(at)])

    check_modes(read, x, y, np.array([0.31, 0.65]))


def test_constructors_of_a_subclass():
    class Scaled(interpolate.CubicSpline):
        def __init__(self, x, y):
            super().__init__(x, y * 2, bc_type="natural")
            self.scale = 3

    def loss(y):
        spline = Scaled(np.arange(4.0), y)
        return spline(1.5) * spline.scale

    y = np.array([1.0, 3.0, 2.0, 5.0])
    plain = interpolate.CubicSpline(np.arange(4.0), np.eye(4), bc_type="natural")(1.5)
    np.testing.assert_allclose(autodiff.gradient(loss, y), 6 * plain)


@pytest.mark.parametrize(
    "bc_type, message",
    [
        ("knot", "not allowed"),
        (("natural",) * 3, "2 elements"),
        (((0, 1.0), "natural"), "must be 1 or 2"),
        (((1, [1.0, 2.0]), "natural"), "shape"),
    ],
)
def test_wrong_boundaries_are_scipys_error(bc_type, message):
    def loss(y):
        return interpolate.CubicSpline(np.arange(4.0), y, bc_type=bc_type)(0.5)

    with pytest.raises(ValueError, match=message):
        autodiff.gradient(loss, np.ones(4))


HILLS = np.array([0.3, 1.2, 1.3, 0.4, 0.1, 0.9, 2.5, 2.6, 2.4])


@pytest.mark.parametrize(
    "y",
    [
        HILLS[:2],
        HILLS[3:6],
        HILLS,
        -HILLS[::-1],
        np.array([0.0, 1.0, -3.0, 2.0]),  # the slope at the start is limited
        np.array([0.0, 0.1, 3.0, 3.1, -2.0]),  # and here it is 0
        np.stack([HILLS, 2 - HILLS**2, np.sin(HILLS)], axis=1),
    ],
)
def test_monotone_slopes(y, check_modes):
    x = np.cumsum(0.3 + np.random.default_rng(5).uniform(size=len(y)))
    check_rule(slopes, x, y)
    check_modes(lambda x, y: interpolate.PchipInterpolator(x, y)(x[:-1] + 0.1), x, y)


def test_monotone_slopes_at_a_plateau():
    """Where neighbours are equal the slope is 0, however steep the other side."""
    y = np.array([0.0, 1.0, 1.0, 3.0])
    spline = interpolate.PchipInterpolator(np.arange(4.0), y)
    np.testing.assert_array_equal(spline(np.array([1.0, 2.0]), 1), 0.0)
    found = autodiff.gradient(
        lambda y: np.sum(interpolate.PchipInterpolator(np.arange(4.0), y)(np.array([1.0, 2.0]), 1)),
        y,
    )
    np.testing.assert_array_equal(found, 0.0)


@pytest.mark.parametrize("nu", [0, 1, 3, 4])
@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("columns, dtype", [(1, float), (3, float), (2, complex), (1, complex)])
def test_spline(k, nu, columns, dtype):
    t = KNOTS[3 - k : len(KNOTS) - 3 + k]
    c = numbers(len(t) - k - 1, columns, dtype=dtype)
    left = intervals(t, k, PLACES)
    check_rule(spline, t, c, k, PLACES, left, nu)
    expected = scipys(t, c, k, PLACES, nu)
    np.testing.assert_allclose(spline(t, c, k, PLACES, left, nu), expected, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {"k": 0},
        {"k": 1},
        {"k": 2},
        {"k": 5, "axis": 1},
        {"axis": -1, "bc_type": "not-a-knot"},
        {"t": np.array([-0.5] * 4 + [1.9, 2.6] + [4.7] * 4)},
        {"bc_type": "natural"},
        {"bc_type": ([(1, 0.3)], [(2, 0.1)])},
    ],
)
def test_interpolating_splines(options, check_modes):
    x = np.array([0.0, 0.8, 1.7, 2.9, 3.3, 4.2])
    y = np.array([0.3, 1.2, 0.9, 2.2, 2.0, 3.1])
    at = np.array([0.31, 2.05, 3.9])

    def read(x, y):
        values = np.stack([y, y * y]) if options.get("axis") else y * (1 + 0.5j)
        spline = interpolate.make_interp_spline(x, values, **options)
        return np.abs(spline(at)) ** 2 + np.sum(np.abs(spline.c))

    check_modes(read, x, y)


def test_wrong_data_of_interpolating_splines_are_scipys_error():
    def loss(x):
        return interpolate.make_interp_spline(x, x)(0.5)

    for x, message in (
        ([0.0, 1.0, 1.0, 2.0], "duplicates"),
        ([0.0, 2.0, 1.0, 3.0], "strictly increasing"),
        ([0.0, 1.0], "derivatives at boundaries"),
    ):
        with pytest.raises(ValueError, match=message):
            autodiff.gradient(loss, np.array(x))
