"""Sample calls of the public functions in many forms, against differences of what they compute.

The parameters of each call are arrays of this module; all of them vary.
"""

import inspect

import numpy as np
import pytest
from scipy import ndimage

from tests.helpers import normal_draws

_, real, cplx = normal_draws(14)


x = real(9)
X = real(5, 6)
X3 = real(3, 4, 5)
Z = cplx(5, 6)
z = cplx(9)
k = real(3)
k4 = real(4)
K = real(3, 3)
K2 = real(2, 3)
s = 1.1
c = 0.7
sg = np.array([0.9, 1.3])
pts = np.array([[0.4, 1.7, 3.2, 2.1], [1.1, 0.3, 4.4, 2.6]])
ptsout = np.array([[-0.7, 1.7, 4.6, 7.3], [1.1, -1.3, 4.4, 8.6]])
M = np.array([[0.9, 0.2], [-0.15, 1.1]])
off = np.array([0.23, -0.31])
sh = np.array([0.37, -0.61])
lab = np.array(
    [
        [1, 1, 0, 2, 2, 2],
        [1, 0, 0, 2, 2, 3],
        [0, 0, 3, 3, 3, 3],
        [1, 1, 0, 0, 0, 2],
        [0, 2, 2, 1, 1, 1],
    ]
)
S = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
Sf = 0.3 * real(3, 3)
Bm = np.array(
    [
        [1, 1, 1, 1, 0, 1],
        [1, 1, 0, 1, 1, 1],
        [1, 1, 1, 1, 1, 1],
        [0, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 1, 1],
    ]
)
samp = np.array([0.8, 1.3])


def fil(w):
    return np.max(w) * 0.5 + np.sum(w**2)


def fil_p(w, a):
    return np.sum(w * a)


def fil1(line, out):
    out[...] = line[1:-1] * 2 + line[:-2]


def mapping(p):
    return (p[0] * 0.9 + 0.2, p[1] * 0.8 + 0.3)


def fmean(v):
    return np.mean(v**2)


def dv(inp, axis, output, mode, cval):
    return ndimage.sobel(inp, axis, output, mode, cval)


def vecf(w, axis):
    return np.sum(w**2, axis=axis)


CALLS = [
    lambda X, K2: ndimage.correlate(X, K2),
    lambda Z, K: ndimage.correlate(Z, K),
    lambda X, K, K2: ndimage.correlate(X, K + 1j * K2[:1]),
    lambda x, k4: ndimage.correlate(x, k4),
    lambda X, K, c: ndimage.correlate(X, K, None, "constant", c),
    lambda X, K: ndimage.convolve(X, K),
    lambda X, K2: ndimage.convolve(X, K2),
    lambda Z, K: ndimage.convolve(Z, K),
    lambda X, K, K2: ndimage.convolve(X, K + 1j * K2[:1]),
    lambda x, k4: ndimage.convolve(x, k4),
    lambda X, k: ndimage.correlate1d(X, k),
    lambda X, k4: ndimage.correlate1d(X, k4, 0),
    lambda X, k, c: ndimage.correlate1d(X, k, axis=0, mode="constant", cval=c),
    lambda X, k: ndimage.correlate1d(X, k, -1, None, "nearest", 0.0, 1),
    lambda Z, k: ndimage.correlate1d(Z, k),
    lambda X, k: ndimage.convolve1d(X, k),
    lambda X, k4: ndimage.convolve1d(X, k4, 0),
    lambda X, k, c: ndimage.convolve1d(X, k, axis=0, mode="constant", cval=c),
    lambda X, k: ndimage.convolve1d(X, k, -1, None, "nearest", 0.0, 1),
    lambda Z, k: ndimage.convolve1d(Z, k),
    lambda X, s: ndimage.gaussian_filter(X, s),
    lambda X: ndimage.gaussian_filter(X, 1.2),
    lambda X, sg: ndimage.gaussian_filter(X, sg),
    lambda X: ndimage.gaussian_filter(X, [1.0, 0.7]),
    lambda X, c: ndimage.gaussian_filter(input=X, sigma=1.2, mode="constant", cval=c),
    lambda X, s: ndimage.gaussian_laplace(X, s),
    lambda X: ndimage.gaussian_laplace(X, 1.2),
    lambda X, sg: ndimage.gaussian_laplace(X, sg),
    lambda X: ndimage.gaussian_laplace(X, [1.0, 0.7]),
    lambda X, c: ndimage.gaussian_laplace(input=X, sigma=1.2, mode="constant", cval=c),
    lambda X, s: ndimage.gaussian_gradient_magnitude(X, s),
    lambda X: ndimage.gaussian_gradient_magnitude(X, 1.2),
    lambda X, sg: ndimage.gaussian_gradient_magnitude(X, sg),
    lambda X: ndimage.gaussian_gradient_magnitude(X, [1.0, 0.7]),
    lambda X, c: ndimage.gaussian_gradient_magnitude(input=X, sigma=1.2, mode="constant", cval=c),
    lambda x, s: ndimage.gaussian_filter1d(x, s),
    lambda X, s: ndimage.gaussian_filter1d(X, s, 0),
    lambda X: ndimage.gaussian_filter1d(X, 1.2, -1, 1),
    lambda X: ndimage.gaussian_filter1d(X, 1.2, order=3, mode="wrap", truncate=3.0),
    lambda X, s: ndimage.gaussian_filter1d(X, s, radius=2),
    lambda X: ndimage.uniform_filter(X),
    lambda X: ndimage.uniform_filter(X, 2),
    lambda X: ndimage.uniform_filter(X, (2, 3), mode="wrap"),
    lambda X, c: ndimage.uniform_filter(X, 3, None, "constant", c),
    lambda X: ndimage.uniform_filter(X, 3, origin=1),
    lambda x: ndimage.uniform_filter1d(x, 3),
    lambda X: ndimage.uniform_filter1d(X, 4, 0, mode="mirror", origin=-1),
    lambda X, c: ndimage.uniform_filter1d(X, size=3, axis=1, mode="constant", cval=c),
    lambda X: ndimage.sobel(X),
    lambda X: ndimage.sobel(X, 0),
    lambda X, c: ndimage.sobel(X, mode="constant", cval=c),
    lambda X: ndimage.prewitt(X),
    lambda X: ndimage.prewitt(X, axis=0, mode="wrap"),
    lambda X: ndimage.laplace(X),
    lambda X: ndimage.laplace(X, mode="mirror"),
    lambda X, c: ndimage.laplace(X, None, "constant", c),
    lambda X3: ndimage.laplace(X3, axes=(0, 1)),
    lambda Z: ndimage.sobel(Z),
    lambda X: ndimage.generic_gradient_magnitude(X, ndimage.sobel),
    lambda X: ndimage.generic_gradient_magnitude(X, dv, mode="wrap"),
    lambda X: ndimage.generic_filter(X, fil, 3),
    lambda X: ndimage.generic_filter(X, fil, footprint=S, mode="constant", cval=0.5),
    lambda X, c: ndimage.generic_filter(X, fil_p, 2, extra_arguments=(c,)),
    lambda x: ndimage.generic_filter(x, np.mean, size=3, mode="wrap"),
    lambda X, c: ndimage.generic_filter(X, lambda w: np.sum(w) * c, 2, origin=-1),
    lambda X: ndimage.generic_filter1d(X, fil1, 3),
    lambda X: ndimage.generic_filter1d(X, fil1, 3, axis=0, mode="constant", cval=0.3),
    lambda X: ndimage.vectorized_filter(X, np.sum, size=3),
    lambda X: ndimage.vectorized_filter(X, np.mean, size=(2, 3), mode="constant", cval=0.3),
    lambda X: ndimage.vectorized_filter(X, vecf, footprint=S),
    lambda X: ndimage.vectorized_filter(X, np.max, size=3, mode="valid"),
    lambda X, c: ndimage.vectorized_filter(X, np.sum, size=3, mode="constant", cval=c),
    lambda X: ndimage.maximum_filter(X, 3),
    lambda X: ndimage.maximum_filter(X, (2, 3)),
    lambda X: ndimage.maximum_filter(X, footprint=S),
    lambda X: ndimage.maximum_filter(X, size=2, origin=-1),
    lambda X3: ndimage.maximum_filter(X3, 2, axes=(0, 2)),
    lambda X: ndimage.minimum_filter(X, 3),
    lambda X: ndimage.minimum_filter(X, (2, 3)),
    lambda X: ndimage.minimum_filter(X, footprint=S),
    lambda X: ndimage.minimum_filter(X, size=2, origin=-1),
    lambda X3: ndimage.minimum_filter(X3, 2, axes=(0, 2)),
    lambda X: ndimage.median_filter(X, 3),
    lambda X: ndimage.median_filter(X, (2, 3)),
    lambda X: ndimage.median_filter(X, footprint=S),
    lambda X: ndimage.median_filter(X, size=2, origin=-1),
    lambda X3: ndimage.median_filter(X3, 2, axes=(0, 2)),
    lambda x: ndimage.maximum_filter1d(x, 3),
    lambda X: ndimage.maximum_filter1d(X, 2, 0, mode="constant", cval=0.3),
    lambda X: ndimage.maximum_filter1d(X, size=4, axis=1, origin=1),
    lambda x: ndimage.minimum_filter1d(x, 3),
    lambda X: ndimage.minimum_filter1d(X, 2, 0, mode="constant", cval=0.3),
    lambda X: ndimage.minimum_filter1d(X, size=4, axis=1, origin=1),
    lambda X: ndimage.percentile_filter(X, 30, 3),
    lambda X: ndimage.percentile_filter(X, -20, size=(3, 2), mode="wrap"),
    lambda X: ndimage.percentile_filter(X, percentile=60, footprint=S),
    lambda X: ndimage.rank_filter(X, 2, 3),
    lambda X: ndimage.rank_filter(X, rank=-1, footprint=S, mode="nearest"),
    lambda X: ndimage.rank_filter(X, 1, size=(2, 2), origin=-1),
    lambda X: ndimage.grey_erosion(X, 3),
    lambda X: ndimage.grey_erosion(X, size=(2, 3)),
    lambda X: ndimage.grey_erosion(X, footprint=S),
    lambda X, Sf: ndimage.grey_erosion(X, structure=Sf),
    lambda X, Sf: ndimage.grey_erosion(X, (3, 3), S, Sf),
    lambda X: ndimage.grey_dilation(X, 3),
    lambda X: ndimage.grey_dilation(X, size=(2, 3)),
    lambda X: ndimage.grey_dilation(X, footprint=S),
    lambda X, Sf: ndimage.grey_dilation(X, structure=Sf),
    lambda X, Sf: ndimage.grey_dilation(X, (3, 3), S, Sf),
    lambda X: ndimage.grey_opening(X, 3),
    lambda X: ndimage.grey_opening(X, size=(2, 3)),
    lambda X: ndimage.grey_opening(X, footprint=S),
    lambda X, Sf: ndimage.grey_opening(X, structure=Sf),
    lambda X, Sf: ndimage.grey_opening(X, (3, 3), S, Sf),
    lambda X: ndimage.grey_closing(X, 3),
    lambda X: ndimage.grey_closing(X, size=(2, 3)),
    lambda X: ndimage.grey_closing(X, footprint=S),
    lambda X, Sf: ndimage.grey_closing(X, structure=Sf),
    lambda X: ndimage.grey_closing(X, 3, mode="constant", cval=0.4),
    lambda X: ndimage.morphological_gradient(X, 3),
    lambda X: ndimage.morphological_gradient(X, size=(2, 3)),
    lambda X: ndimage.morphological_gradient(X, footprint=S),
    lambda X, Sf: ndimage.morphological_gradient(X, structure=Sf),
    lambda X, Sf: ndimage.morphological_gradient(X, (3, 3), S, Sf),
    lambda X: ndimage.morphological_laplace(X, 3),
    lambda X: ndimage.morphological_laplace(X, size=(2, 3)),
    lambda X: ndimage.morphological_laplace(X, footprint=S),
    lambda X, Sf: ndimage.morphological_laplace(X, structure=Sf),
    lambda X, Sf: ndimage.morphological_laplace(X, (3, 3), S, Sf),
    lambda X: ndimage.white_tophat(X, 3),
    lambda X: ndimage.white_tophat(X, size=(2, 3)),
    lambda X: ndimage.white_tophat(X, footprint=S),
    lambda X, Sf: ndimage.white_tophat(X, structure=Sf),
    lambda X, Sf: ndimage.white_tophat(X, (3, 3), S, Sf),
    lambda X: ndimage.black_tophat(X, 3),
    lambda X: ndimage.black_tophat(X, size=(2, 3)),
    lambda X: ndimage.black_tophat(X, footprint=S),
    lambda X, Sf: ndimage.black_tophat(X, structure=Sf),
    lambda X: ndimage.black_tophat(X, 3, mode="constant", cval=0.4),
    lambda X, pts: ndimage.map_coordinates(X, pts, order=0, mode="reflect"),
    lambda X, ptsout: ndimage.map_coordinates(X, ptsout, None, 0, "reflect", 0.3),
    lambda X, pts: ndimage.map_coordinates(X, pts, order=0, mode="nearest"),
    lambda X, ptsout: ndimage.map_coordinates(X, ptsout, None, 0, "nearest", 0.3),
    lambda X, pts: ndimage.map_coordinates(X, pts, order=0, mode="wrap"),
    lambda X, sh: ndimage.shift(X, sh, mode="reflect"),
    lambda X, sh: ndimage.shift(X, sh, order=1, mode="reflect", cval=0.5),
    lambda X, M, off: ndimage.affine_transform(X, M, off, mode="reflect"),
    lambda X: ndimage.rotate(X, 13.0, mode="reflect", reshape=False),
    lambda X: ndimage.zoom(X, 1.37, mode="reflect"),
    lambda X, sh: ndimage.shift(X, sh, mode="constant"),
    lambda X, sh: ndimage.shift(X, sh, order=1, mode="constant", cval=0.5),
    lambda X, M, off: ndimage.affine_transform(X, M, off, mode="constant"),
    lambda X: ndimage.rotate(X, 13.0, mode="constant", reshape=False),
    lambda X: ndimage.zoom(X, 1.37, mode="constant"),
    lambda X, sh: ndimage.shift(X, sh, mode="nearest"),
    lambda X, M, off: ndimage.affine_transform(X, M, off, mode="nearest"),
    lambda X: ndimage.rotate(X, 13.0, mode="nearest", reshape=False),
    lambda X: ndimage.zoom(X, 1.37, mode="nearest"),
    lambda X, M, off: ndimage.affine_transform(X, M, off, mode="mirror"),
    lambda X: ndimage.rotate(X, 13.0, mode="mirror", reshape=False),
    lambda X: ndimage.zoom(X, 1.37, mode="mirror"),
    lambda X, M, off: ndimage.affine_transform(X, M, off, mode="wrap"),
    lambda X: ndimage.rotate(X, 13.0, mode="wrap", reshape=False),
    lambda X: ndimage.zoom(X, 1.37, mode="wrap"),
    lambda X: ndimage.geometric_transform(X, mapping),
    lambda X: ndimage.geometric_transform(X, mapping, (3, 4), order=1),
    lambda X, c: ndimage.geometric_transform(X, mapping, mode="constant", cval=c),
    lambda X: ndimage.spline_filter(X),
    lambda X: ndimage.spline_filter(X, 2),
    lambda X: ndimage.spline_filter(X, order=5, mode="wrap"),
    lambda Z: ndimage.spline_filter(Z),
    lambda x: ndimage.spline_filter1d(x),
    lambda X: ndimage.spline_filter1d(X, 4, 0),
    lambda X: ndimage.spline_filter1d(X, order=3, axis=-1, mode="reflect"),
    lambda X: ndimage.spline_filter1d(X, 3, mode="grid-wrap"),
    lambda Z, c: ndimage.fourier_gaussian(Z, c),
    lambda Z, sg: ndimage.fourier_gaussian(Z, sg),
    lambda X: ndimage.fourier_gaussian(X, 0.5),
    lambda X, c: ndimage.fourier_gaussian(np.fft.rfft2(X), c, n=6),
    lambda Z, c: ndimage.fourier_shift(Z, c),
    lambda Z, sh: ndimage.fourier_shift(Z, sh),
    lambda X: ndimage.fourier_shift(X, 0.5),
    lambda Z, c: ndimage.fourier_uniform(Z, c),
    lambda Z, sg: ndimage.fourier_uniform(Z, sg, axis=0),
    lambda Z: ndimage.fourier_ellipsoid(Z, 1.7),
    lambda Z, sg: ndimage.fourier_ellipsoid(Z, sg),
    lambda X, c: ndimage.fourier_ellipsoid(X, size=c),
    lambda Z, sh: ndimage.fourier_shift(input=Z, shift=sh, n=-1, axis=-1),
    lambda x: ndimage.fourier_gaussian(x + 0j, 1.1),
    lambda X: ndimage.sum(X),
    lambda X: ndimage.sum(X, lab),
    lambda X: ndimage.sum(X, lab, 2),
    lambda X: ndimage.sum(X, lab, [1, 3]),
    lambda X: ndimage.sum(input=X, labels=lab, index=np.array([1, 2, 3])),
    lambda X: ndimage.sum_labels(X),
    lambda X: ndimage.sum_labels(X, lab),
    lambda X: ndimage.sum_labels(X, lab, 2),
    lambda X: ndimage.sum_labels(X, lab, [1, 3]),
    lambda X: ndimage.sum_labels(input=X, labels=lab, index=np.array([1, 2, 3])),
    lambda X: ndimage.mean(X),
    lambda X: ndimage.mean(X, lab),
    lambda X: ndimage.mean(X, lab, 2),
    lambda X: ndimage.mean(X, lab, [1, 3]),
    lambda X: ndimage.mean(input=X, labels=lab, index=np.array([1, 2, 3])),
    lambda X: ndimage.variance(X),
    lambda X: ndimage.variance(X, lab),
    lambda X: ndimage.variance(X, lab, 2),
    lambda X: ndimage.variance(X, lab, [1, 3]),
    lambda X: ndimage.variance(input=X, labels=lab, index=np.array([1, 2, 3])),
    lambda X: ndimage.standard_deviation(X),
    lambda X: ndimage.standard_deviation(X, lab),
    lambda X: ndimage.standard_deviation(X, lab, 2),
    lambda X: ndimage.standard_deviation(X, lab, [1, 3]),
    lambda X: ndimage.standard_deviation(input=X, labels=lab, index=np.array([1, 2, 3])),
    lambda X: ndimage.maximum(X),
    lambda X: ndimage.maximum(X, lab),
    lambda X: ndimage.maximum(X, lab, 2),
    lambda X: ndimage.maximum(X, lab, [1, 3]),
    lambda X: ndimage.maximum(input=X, labels=lab, index=np.array([1, 2, 3])),
    lambda X: ndimage.minimum(X),
    lambda X: ndimage.minimum(X, lab),
    lambda X: ndimage.minimum(X, lab, 2),
    lambda X: ndimage.minimum(X, lab, [1, 3]),
    lambda X: ndimage.minimum(input=X, labels=lab, index=np.array([1, 2, 3])),
    lambda X: ndimage.median(X),
    lambda X: ndimage.median(X, lab),
    lambda X: ndimage.median(X, lab, 2),
    lambda X: ndimage.median(X, lab, [1, 3]),
    lambda X: ndimage.median(input=X, labels=lab, index=np.array([1, 2, 3])),
    lambda X: ndimage.extrema(X),
    lambda X: ndimage.extrema(X, lab),
    lambda X: ndimage.extrema(X, lab, 2),
    lambda X: ndimage.extrema(X, lab, [1, 3]),
    lambda X: ndimage.extrema(input=X, labels=lab, index=np.array([1, 2, 3])),
    lambda X: ndimage.center_of_mass(X),
    lambda X: ndimage.center_of_mass(X, lab),
    lambda X: ndimage.center_of_mass(X, lab, 2),
    lambda X: ndimage.center_of_mass(X, lab, [1, 3]),
    lambda X: ndimage.center_of_mass(input=X, labels=lab, index=np.array([1, 2, 3])),
    lambda X: ndimage.labeled_comprehension(X, lab, [1, 2], fmean, float, 0.0),
    lambda X: ndimage.labeled_comprehension(X, lab, None, fmean, float, 0),
    lambda X: ndimage.labeled_comprehension(X, lab, np.array([1, 2, 7]), np.sum, float, -1.0),
    lambda c: ndimage.distance_transform_edt(Bm) * c,
    lambda samp: ndimage.distance_transform_edt(Bm, sampling=samp),
    lambda c: ndimage.distance_transform_edt(Bm, [0.5, 1.0]) * c,
    lambda samp: ndimage.distance_transform_bf(Bm, sampling=samp),
    lambda samp: ndimage.distance_transform_bf(Bm, "euclidean", samp),
    lambda samp: ndimage.distance_transform_edt(Bm, sampling=samp, return_indices=True)[0],
    lambda c: ndimage.distance_transform_cdt(Bm) * c,
    lambda c: ndimage.distance_transform_edt(Bm, sampling=c),
    lambda X, c: ndimage.label(X > 0)[0] * c,
    lambda X, c: ndimage.binary_dilation(X > 0) * c,
    lambda X: ndimage.binary_erosion(X > 0) * X,
    lambda X, c: ndimage.maximum_position(X)[0] * c,
    lambda X: X[ndimage.maximum_position(X)],
    lambda X, c: ndimage.histogram(X, -3, 3, 5) * c,
    lambda c: ndimage.value_indices(lab)[1][0][0] * c,
    lambda c: ndimage.find_objects(lab)[0][0].stop * c,
    lambda X: X[ndimage.find_objects(lab)[0]],
    lambda c: ndimage.watershed_ift(np.abs(lab).astype(np.uint8), lab) * c,
    lambda c: ndimage.generate_binary_structure(2, 1) * c,
    lambda c: ndimage.iterate_structure(S, 2) * c,
]


@pytest.mark.parametrize("f", CALLS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_call(f, check_call):
    check_call(f, *[globals()[name] for name in inspect.signature(f).parameters])
