import numpy as np
import pytest
from scipy import ndimage

import autodiff
from chainrules.scipy.ndimage.sampling import GRID_CONSTANT, MIRROR, WRAP, spline, spread
from chainrules.scipy.ndimage.splines import coefficients
from chainrules_core.testing import REAL, check_rule

MODES = [
    "reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-wrap", "grid-constant",
]  # fmt: skip
X = np.random.default_rng(9).normal(size=(4, 3))
PLACES = np.array([[0.3, 1.4, 2.2, -1.3, 3.6, 0.7], [1.2, 0.4, 1.7, 0.8, -2.4, 4.3]])
MATRIX, OFFSET = np.array([[0.9, 0.2], [-0.3, 1.1]]), np.array([0.313, 0.237])


@pytest.mark.parametrize("mode", ["mirror", "reflect", "grid-wrap"])
@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_rule(order, mode):
    for shape, axis in (((5,), 0), ((3, 2), 0), ((1, 4), 0), ((2, 34), 1), ((2,), 0)):
        check_rule(coefficients, REAL.draw(shape), order, axis, mode)
    check_rule(coefficients, REAL.draw(5, np.float32), order, 0, mode)


@pytest.fixture
def check_case():
    """Check both rules of a call, and the gradient of the gradient."""

    def check(f, args, options):
        check_rule(f, *args, fkwargs=options, second_order=True, gradient=autodiff.gradient)

    return check


SAMPLES = [  # coefficients, places
    (X, PLACES % 2 + 0.13),
    (X * (1 + 2j), PLACES[:, :4].reshape(2, 2, 2)),
    (X[0], PLACES[:1]),
    (X.reshape(4, 3, 1) * [1, 2j], PLACES[:1, :4]),
    (X[:, :, None] + X[0], np.array([[0.3], [1.2], [2.7]])),
]


@pytest.mark.parametrize("c, t", SAMPLES)
@pytest.mark.parametrize(
    "order, mode, steep", [(3, MIRROR, 0), (2, GRID_CONSTANT, 1), (1, WRAP, 2)]
)
def test_reading(c, t, order, mode, steep, check_case):
    slopes = (steep, *(0,) * (len(t) - 1))
    options = {"order": order, "mode": mode, "slopes": slopes}
    check_case(spline, (c, t), options)
    y = spline(c, t, **options)
    check_case(spread, (y, t), {"shape": c.shape, **options})
    np.testing.assert_allclose(np.vdot(c, spread(y, t, c.shape, **options)), np.vdot(y, y))


def test_no_place():
    def f(x):
        return np.sum(ndimage.map_coordinates(x, PLACES * np.nan, cval=0.3))

    assert autodiff.value_and_gradient(f, X)[0] == f(X)


@pytest.mark.parametrize("mode", MODES)
class TestModes:
    @pytest.mark.parametrize("order", range(6))
    def test_map_coordinates(self, mode, order, check_traced):
        def f(x, places):
            return ndimage.map_coordinates(x, places, order=order, mode=mode, cval=0.4)

        check_traced(f, X, PLACES)

    @pytest.mark.parametrize("order", [1, 3])
    @pytest.mark.filterwarnings("ignore:The behavior of affine_transform:UserWarning")
    def test_others(self, mode, order, check_traced):
        options = {"order": order, "mode": mode}
        check_traced(lambda x, s: ndimage.shift(x, s, **options), X, np.array([0.4, -1.3]))
        f = ndimage.affine_transform
        check_traced(lambda x, a, b: f(x, a, b, **options), X, MATRIX, OFFSET)
        check_traced(lambda x, a: f(x, a, 0.23, **options), X, OFFSET + 0.7)
        check_traced(lambda x: ndimage.zoom(x, 1.7, **options), X)
        check_traced(lambda x, a: ndimage.rotate(x, a, reshape=False, **options), X, 23.0)

    def test_splines(self, mode, check_traced):
        check_traced(lambda x: ndimage.spline_filter1d(x, 3, 0, mode=mode), X)
        check_traced(lambda x: ndimage.spline_filter(x, 4, mode=mode), X)


@pytest.mark.filterwarnings("ignore:It is recommended")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: ndimage.zoom(x, (1.7, 2), grid_mode=True),
        lambda x: ndimage.zoom(x, 1),
        lambda x: ndimage.rotate(x, 30.0),
        lambda x: ndimage.map_coordinates(x, PLACES, prefilter=False),
        lambda x: ndimage.map_coordinates(x * (1 + 2j), PLACES),
        lambda x: ndimage.map_coordinates(x[0], [[0.3, 1.2]]),
        lambda x: ndimage.spline_filter1d(x * (1 + 2j), 3, output=complex),
        lambda x: ndimage.affine_transform(x, MATRIX, output_shape=(2, 5)),
        lambda x: ndimage.affine_transform(x, np.column_stack([MATRIX, OFFSET])),
        lambda x: ndimage.shift(x, 0.3 * x[0, 0], cval=x[0, 1]),
        lambda x: ndimage.geometric_transform(x, lambda t: (t[0] * 0.9 + x[0, 0] / 9, t[1] - 0.13)),
        lambda x: ndimage.geometric_transform(
            x, lambda t, a: (t[0] * a, t[1]), extra_arguments=(0.83,), order=1
        ),
    ],
)
def test_traced(f, check_traced):
    check_traced(f, X, step=1e-4)


def test_engine(check_engine):
    check_engine(lambda x, t: ndimage.map_coordinates(x, t), X, PLACES[:, :2])
