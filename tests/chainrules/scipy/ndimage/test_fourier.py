import numpy as np
import pytest
from scipy import ndimage

FILTERS = [
    ndimage.fourier_gaussian,
    ndimage.fourier_uniform,
    ndimage.fourier_ellipsoid,
    ndimage.fourier_shift,
]
RNG = np.random.default_rng(8)


@pytest.mark.parametrize("f", FILTERS)
class TestFilters:
    @pytest.mark.parametrize("shape", [(6,), (4, 5), (3, 4, 2)])
    def test_shapes(self, f, shape, check_traced):
        sizes = np.array([1.3, 0.7, 0.9])[: len(shape)]
        check_traced(lambda x, s: f(x * (1 + 2j), s), RNG.normal(size=shape), sizes)
        check_traced(lambda s: f(np.ones(shape), s), sizes)

    def test_real_transforms(self, f, check_traced):
        check_traced(lambda x, s: f(x * 1j, s, n=6, axis=-1), RNG.normal(size=(3, 4)), 1.3)
        check_traced(lambda x, s: f(x, s, 7, 0), RNG.normal(size=(4, 3)), 1.3)

    def test_engine(self, f, check_engine):
        check_engine(lambda x, s: f(x, [s, 0.6]), RNG.normal(size=(3, 2)), 1.3)
