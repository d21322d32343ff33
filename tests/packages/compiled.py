"""Compiled code: numba, bottleneck, numexpr, PyWavelets, scikit-image."""

import math

import numpy as np

from tests.packages.table import M, V, call, imported

numba = imported("numba")
bottleneck = imported("bottleneck")
numexpr = imported("numexpr")
pywt = imported("pywt")
skimage = imported("skimage")
if skimage is not None:
    import skimage.filters
    import skimage.metrics
    import skimage.transform

if numba is not None:

    @numba.njit
    def norm(x):
        total = 0.0
        for i in range(len(x)):
            total += x[i] ** 2
        return math.sqrt(total)

    @numba.njit(cache=False)
    def helper(a):
        return math.exp(-a)

    @numba.njit
    def with_helper(x):
        return helper(x) * helper(2 * x)

    @numba.vectorize
    def soft(a, b):
        return a / (1.0 + abs(b))

    @numba.guvectorize(["void(float64[:], float64[:])"], "(n)->()")
    def squares(x, out):
        out[0] = 0.0
        for i in range(x.shape[0]):
            out[0] += x[i] ** 2

    @numba.njit(parallel=True)
    def in_parallel(x):
        total = 0.0
        for i in numba.prange(len(x)):
            total += math.sin(x[i])
        return total

    @numba.stencil
    def neighbours(a):
        return 0.5 * (a[-1] + a[1])


@call(numba, V)
def njit_loop(x):
    return norm(x)


@call(numba, 0.7)
def njit_calls_njit(x):
    return with_helper(x)


@call(numba, V)
def vectorized(x):
    return soft(x, V).sum()


@call(numba, M)
def generalised(x):
    return squares(x).sum()


@call(numba, V)
def parallel_range(x):
    return in_parallel(x)


@call(numba, V, "has no rule")
def stencil(x):
    return (neighbours(x) * V).sum()


@call(bottleneck, V)
def nan_mean(x):
    return bottleneck.nanmean(x)


@call(bottleneck, V)
def moving_mean(x):
    return bottleneck.move_mean(x, window=2, min_count=1).sum()


@call(numexpr, V, "numexpr")
def expression(x):
    return numexpr.evaluate("x ** 2 + 1").sum()


@call(pywt, V, "pywt")
def wavelet(x):
    return (pywt.dwt(x, "db2")[0] ** 2).sum()


@call(skimage, M)
def psnr(x):
    return skimage.metrics.mean_squared_error(M**2, x)


@call(skimage, M)
def gaussian(x):
    return (skimage.filters.gaussian(x, 1.0) ** 2).sum()


@call(skimage, M, "warp")
def rotate(x):
    return (skimage.transform.rotate(x, 10.0) ** 2).sum()


@call(skimage, M)
def sobel(x):
    return skimage.filters.sobel(x).sum()


@call(skimage, np.add.outer(np.arange(8.0), np.sin(np.arange(8.0))))
def structural_similarity(x):
    other = np.add.outer(np.arange(8.0), np.cos(np.arange(8.0)))
    return skimage.metrics.structural_similarity(x, other, data_range=8.0)
