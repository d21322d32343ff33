import numpy as np
import pytest
from scipy import ndimage

import autodiff
from chainrules.scipy.ndimage.chosen import averaged, shared
from chainrules_core.testing import check_rule

MODES = ["reflect", "constant", "nearest", "mirror", "wrap"]
X = np.random.default_rng(5).normal(size=(5, 4))
S = np.random.default_rng(6).normal(size=(3, 3)) / 3
FOOTPRINT = [[0, 1, 1], [1, 1, 0]]


@pytest.mark.parametrize("mode", MODES)
class TestModes:
    @pytest.mark.parametrize("name", ["minimum", "maximum", "median"])
    def test_filters(self, name, mode, check_traced):
        f = getattr(ndimage, f"{name}_filter")
        check_traced(lambda x: f(x, 3, mode=mode, cval=0.3), X)
        check_traced(lambda x: f(x, 3, mode=mode, cval=0.3), X[:, 0])
        check_traced(lambda x: f(x, footprint=FOOTPRINT, mode=mode, cval=0.3), X)

    def test_ranks(self, mode, check_traced):
        check_traced(lambda x: ndimage.rank_filter(x, 2, size=3, mode=mode), X)
        check_traced(lambda x: ndimage.rank_filter(x, -2, 4, mode=mode), X[:, 0])
        check_traced(lambda x: ndimage.percentile_filter(x, 30, (2, 3), mode=mode), X)
        check_traced(lambda x: ndimage.minimum_filter1d(x, 4, 0, mode=mode, origin=1), X)
        check_traced(lambda x: ndimage.maximum_filter1d(x, 3, mode=mode), X)

    @pytest.mark.parametrize(
        "f",
        [
            ndimage.grey_dilation,
            ndimage.grey_erosion,
            ndimage.grey_opening,
            ndimage.grey_closing,
            ndimage.white_tophat,
            ndimage.black_tophat,
            ndimage.morphological_gradient,
            ndimage.morphological_laplace,
        ],
    )
    def test_morphology(self, f, mode, check_traced):
        check_traced(lambda x: f(x, size=3, mode=mode), X, step=1e-5)
        check_traced(lambda x, s: f(x, structure=s, mode=mode), X, S, step=1e-5)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: ndimage.maximum_filter(x, 3, mode="constant", cval=x[0, 0]),
        lambda x: ndimage.minimum_filter(x, footprint=FOOTPRINT),
        lambda x: ndimage.rank_filter(x, 2, size=3, mode="wrap"),
        lambda x: ndimage.rank_filter(x[:, 0], 1, size=3, mode="constant", cval=x[0, 0]),
    ],
)
def test_twice(f, check_engine):
    check_engine(lambda x: f(x) ** 3, X)


# As SciPy has them with margins: windows of three see these in turn, with ties and a NaN.
TIED = np.array([1.0, 1, 2, 2, 0, 0, 0, 3, np.nan, np.nan, np.nan])
THREE = np.ones(3, bool)
FEW_TIES = np.random.default_rng(7).normal(size=150)
FEW_TIES[70:72] = FEW_TIES[120:124:2] = 4.0


@pytest.mark.parametrize("rank", [None, 1])
@pytest.mark.parametrize("x", [TIED, X[:, 0], TIED[:8], FEW_TIES])
def test_places(x, rank):
    windows = np.lib.stride_tricks.sliding_window_view(x, 3)
    y = np.max(windows, 1) if rank is None else np.sort(windows, 1)[:, rank]
    bar, dot = np.cos(np.arange(len(y))), np.sin(np.arange(len(x)))
    options = {"x": x, "y": y, "footprint": THREE, "rank": rank}
    check_rule(shared, bar, fkwargs=options)
    check_rule(averaged, dot, fkwargs=options)


def test_few_ties_share():
    bar = np.cos(np.arange(148))
    windows = np.lib.stride_tricks.sliding_window_view(FEW_TIES, 3)
    expected = np.zeros(150)
    for i, window in enumerate(windows):
        hit = window == window.max()
        expected[i : i + 3][hit] += bar[i] / np.sum(hit)
    found = shared(bar, FEW_TIES, windows.max(1), THREE, None)
    np.testing.assert_allclose(found, expected, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ties_share_and_ranks_do_not(dtype):
    x = np.array([2, 2, 2, 1, 5, 5], dtype)
    largest = autodiff.gradient(lambda x: np.sum(ndimage.maximum_filter1d(x, 3, mode="nearest")), x)
    np.testing.assert_allclose(largest, np.array([6, 7, 5, 0, 11, 7]) / 6)
    middle = autodiff.gradient(lambda x: np.sum(ndimage.rank_filter(x, 1, 3, mode="nearest")), x)
    np.testing.assert_array_equal(middle, [1, 2, 1, 0, 1, 1])
    assert largest.dtype == middle.dtype == dtype


def test_many_places_share():
    x = np.ones(700)
    found = autodiff.gradient(lambda x: ndimage.maximum_filter1d(x, 301)[350], x)
    np.testing.assert_allclose(found, np.repeat([0, 1 / 301, 0], [200, 301, 199]))


def test_nans_are_no_maximum_for_scipy():
    x = np.array([1.0, np.nan, 3.0, 2.0])

    def f(x):
        return ndimage.maximum_filter1d(x, 3, mode="nearest")

    y, back = autodiff.pullback(f, x)
    np.testing.assert_array_equal(y, f(x))
    chosen = np.flatnonzero(~np.isnan(y))
    assert np.sum(back(~np.isnan(y) * 1.0)) == len(chosen)


def lines(line, out, scale=1.0):
    out[...] = line[:-2] * line[1:-1] * scale + line[2:]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: ndimage.median_filter(x, 3, axes=0),
        lambda x: ndimage.maximum_filter(x, 3, axes=(1,)),
        lambda x: ndimage.grey_dilation(x, footprint=np.eye(3)),
        lambda x: ndimage.generic_filter(x, lambda v: np.sum(v**2) * v[0], size=2),
        lambda x: ndimage.generic_filter(
            x, np.prod, footprint=[[1, 0], [1, 1]], mode="constant", cval=0.5
        ),
        lambda x: ndimage.generic_filter(
            x, lambda v, a: np.sum(v) * a, size=2, extra_arguments=(x[0, 0],)
        ),
        lambda x: ndimage.generic_filter1d(x, lines, 3, 0),
        lambda x: ndimage.generic_filter1d(x, lines, 3, 1, extra_keywords={"scale": x[0, 0]}),
    ],
)
def test_traced(f, check_traced):
    check_traced(f, X)


@pytest.mark.skipif(not hasattr(ndimage, "vectorized_filter"), reason="new in SciPy 1.16")
def test_vectorized_filter(check_traced):
    check_traced(lambda x: ndimage.vectorized_filter(x, np.mean, size=3), X)
    check_traced(lambda x: ndimage.vectorized_filter(x, np.max, size=(2, 3), mode="wrap"), X)
