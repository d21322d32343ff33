import numpy as np
import pytest
from scipy import ndimage

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
