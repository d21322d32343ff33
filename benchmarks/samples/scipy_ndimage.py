"""scipy.ndimage."""

import numpy as np
from scipy import ndimage

from benchmarks.samples import integers, reals, sample

IMAGE, KERNEL, LINE = reals(600, 600), reals(5, 5), reals(7)
PART = reals(300, 300)
TURN = np.array([[0.9, 0.1], [-0.1, 0.9]])
PLACES = np.stack(np.meshgrid(np.arange(200.0) + 0.3, np.arange(200.0) + 0.6, indexing="ij"))
LABELS = integers(20, 600, 600)

SAMPLES = [
    sample(ndimage.convolve, IMAGE, KERNEL),
    sample(ndimage.correlate, IMAGE, KERNEL),
    sample(ndimage.convolve1d, IMAGE, LINE),
    sample(ndimage.correlate1d, IMAGE, LINE),
    sample(ndimage.gaussian_filter, IMAGE, 2.0),
    sample(ndimage.gaussian_filter1d, IMAGE, 2.0),
    sample(ndimage.gaussian_laplace, IMAGE, 2.0),
    sample(ndimage.gaussian_gradient_magnitude, IMAGE, 2.0),
    sample(ndimage.uniform_filter, IMAGE, 5),
    *[sample(f, IMAGE) for f in (ndimage.sobel, ndimage.prewitt, ndimage.laplace)],
    sample(ndimage.maximum_filter, IMAGE, 5),
    sample(ndimage.minimum_filter, IMAGE, 5),
    sample(ndimage.median_filter, PART, 3),
    sample(ndimage.percentile_filter, PART, 30, 3),
    sample(ndimage.grey_erosion, IMAGE, 3),
    sample(ndimage.grey_dilation, IMAGE, 3),
    sample(ndimage.spline_filter, IMAGE),
    sample(ndimage.shift, PART, 1.3),
    sample(ndimage.zoom, PART, 1.3),
    sample(ndimage.rotate, PART, 20.0),
    sample(ndimage.affine_transform, PART, TURN),
    sample(ndimage.map_coordinates, IMAGE, PLACES),
    sample(ndimage.map_coordinates, IMAGE, PLACES, order=1, note="order=1"),
    sample(ndimage.fourier_gaussian, IMAGE, 2.0),
    sample(ndimage.fourier_shift, PART, 2.0),
    sample(ndimage.sum_labels, IMAGE, LABELS, np.arange(20)),
    sample(ndimage.mean, IMAGE, LABELS, np.arange(20)),
    sample(ndimage.variance, IMAGE, LABELS, np.arange(20)),
    sample(ndimage.center_of_mass, np.abs(IMAGE)),
]
