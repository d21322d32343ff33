import numpy as np
import pytest
from scipy import ndimage

import autodiff
from chainrules.scipy.ndimage.correlation import correlated
from chainrules_core.testing import check_rule
from tests.helpers import real

MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-wrap", "grid-constant"]
PADDING = ["edge", "wrap", "symmetric", "reflect", "constant"]


@pytest.mark.parametrize("mode", PADDING)
def test_rule(mode):
    check_rule(correlated, real(5), real(3), mode, (0,))
    check_rule(correlated, real(3), real(8), mode, (-4,))
    check_rule(correlated, real(4, 3), real(1, 2), mode, (0, -1))
    check_rule(correlated, real(4, 3), real(3, 2), mode, (1, 0))
    check_rule(correlated, real(4, dtype=np.float32), real(3), mode, (0,))
    # Long lines: the margins are dealt with by themselves.
    check_rule(correlated, real(12), real(5), mode, (1,))
    check_rule(correlated, real(2, 9), real(1, 4), mode, (0, -2))
    check_rule(correlated, real(9, 2, 2), real(3, 1, 1), mode, (-1, 0, 0))
    check_rule(correlated, real(9, dtype=np.float32), real(2), mode, (0,))


@pytest.mark.parametrize("mode", MODES)
class TestModes:
    def test_one_axis(self, mode, check_engine):
        def f(x, w):
            return ndimage.correlate1d(x, w, mode=mode, cval=0.7)

        check_engine(f, real(5), real(3))

        def g(x, w):
            return ndimage.convolve1d(x, w, 0, None, mode, 0.4, 1)

        check_engine(g, real(3, 2), real(4))

    def test_several_axes(self, mode, check_traced):
        def f(x, w):
            return ndimage.correlate(x, w, mode=mode, cval=0.3, origin=(0, -1))

        check_traced(f, real(4, 3), real(3, 2))

        def g(x, w):
            return ndimage.convolve(x, w, mode=mode, cval=0.3)

        check_traced(g, real(3, 3), real(2, 3))

    def test_smoothing(self, mode, check_traced):
        check_traced(lambda x: ndimage.uniform_filter(x, (3, 2), mode=mode, cval=0.3), real(4, 3))
        check_traced(lambda x: ndimage.gaussian_filter(x, 0.8, mode=mode, cval=0.3), real(4, 3))
        check_traced(lambda x: ndimage.uniform_filter1d(x, 4, 0, mode=mode, origin=1), real(5, 2))

    def test_slopes(self, mode, check_traced):
        for f in (ndimage.sobel, ndimage.prewitt, ndimage.laplace):
            check_traced(lambda x, f=f: f(x, mode=mode), real(4, 3))
        for f in (ndimage.gaussian_laplace, ndimage.gaussian_gradient_magnitude):
            check_traced(lambda x, f=f: f(x, 0.7, mode=mode, cval=0.1), real(4, 3))


@pytest.mark.parametrize(
    "f",
    [
        lambda x, s: ndimage.gaussian_filter(x, s, truncate=3.9),
        lambda x, s: ndimage.gaussian_filter(x, [s, 0.6], order=(1, 2), truncate=3.9),
        lambda x, s: ndimage.gaussian_filter1d(x, s, radius=2, output=np.float64),
        lambda x, s: ndimage.gaussian_filter(x, s, axes=1, mode="wrap", truncate=3.9),
        lambda x, s: ndimage.correlate1d(x, [s, 2.0, 3.0], mode="constant", cval=s),
        lambda x, s: ndimage.convolve(x, [[1.0, s]], mode="constant", cval=s**2),
        lambda x, s: ndimage.correlate1d(x * 1j + s, np.array([1.0, 2j, s])),
        lambda x, s: ndimage.convolve(x + 1j * s, np.array([[1.0, 2j], [s, 0.5]])),
        lambda x, s: ndimage.uniform_filter(x * (1j + s), 2),
        lambda x, s: ndimage.generic_gradient_magnitude(x * s, ndimage.sobel),
        lambda x, s: ndimage.generic_laplace(x * s, ndimage.sobel),
        lambda x, s: ndimage.gaussian_gradient_magnitude(x * (1j + s), 0.7),
    ],
)
def test_traced(f, check_traced):
    check_traced(f, real(4, 3), 0.8)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_what_no_window_sees_does_not_count(bad):
    x = np.ones((3, 12))
    x[0, -1] = bad

    # The first of two weights sees what is before each place, so never the last element of a row.
    found = autodiff.gradient(lambda w: np.sum(ndimage.correlate1d(x, w)), np.array([0.5, 1.0]))
    assert found[0] == 36
    assert not np.isfinite(found[1])


def test_output_array(check_traced):
    def f(x):
        out = np.zeros(x.shape)
        ndimage.gaussian_filter(x, 0.7, output=out)
        return out

    check_traced(f, real(4, 3))


def test_single_precision_stays():
    x = real(4, 3, dtype=np.float32)
    bar = autodiff.gradient(lambda x: np.sum(ndimage.gaussian_filter(x, 0.7) ** 2), x)
    assert bar.dtype == np.float32


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_empty(shape):
    x = np.zeros(shape)
    for f in (ndimage.gaussian_filter, ndimage.uniform_filter, ndimage.maximum_filter):
        bar = autodiff.gradient(lambda x, f=f: np.sum(f(x, 2)), x)
        assert bar.shape == shape


def test_complex_magnitudes_at_a_corner_where_all_slopes_are_zero(check_modes):
    x = np.cos(np.arange(20.0)).reshape(4, 5) + 1j * np.sin(np.arange(20.0) ** 2).reshape(4, 5)
    check_modes(
        lambda x: ndimage.gaussian_gradient_magnitude(x, 0.8, mode="mirror"), x, twice=False
    )
