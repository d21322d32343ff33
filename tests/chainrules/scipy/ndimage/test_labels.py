import numpy as np
import pytest
from scipy import ndimage

from chainrules.scipy.ndimage.labels import CONSTANTS
from chainrules_core import NoTangent, rrule

X = np.random.default_rng(4).normal(size=(2, 4)) + 3
LABELS = np.array([[1, 1, 0, 2], [2, 1, 3, 3]])
CALLS = [
    {},
    {"labels": LABELS},
    {"labels": LABELS, "index": 2},
    {"labels": LABELS, "index": [1, 2, 3]},
    {"labels": LABELS * 2.5, "index": [2.5, 5]},
]
MEASURES = [
    ndimage.sum_labels, ndimage.mean, ndimage.variance, ndimage.standard_deviation,
    ndimage.minimum, ndimage.maximum, ndimage.median, ndimage.center_of_mass, ndimage.extrema,
]  # fmt: skip


@pytest.mark.parametrize("kwargs", CALLS)
@pytest.mark.parametrize("f", MEASURES)
def test_measures(f, kwargs, check_traced):
    check_traced(lambda x: f(x, **kwargs), X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: ndimage.labeled_comprehension(x, LABELS, [1, 2, 3], np.sum, float, 0),
        lambda x: ndimage.labeled_comprehension(x, LABELS, 2, lambda v: np.sum(v**2), float, 0),
        lambda x: x[ndimage.maximum_position(x)],
        lambda x: ndimage.label(x > 3)[0] * x,
        lambda x: ndimage.distance_transform_edt(x > 3) * x,
        lambda x: x[ndimage.find_objects(LABELS)[1]],
    ],
)
def test_traced(f, check_traced):
    check_traced(f, X)


@pytest.mark.parametrize("sampling", [np.array([1.3, 0.7]), 1.3])
def test_distances(sampling, check_traced):
    image = np.array([[0, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 1]])
    edt, bf = ndimage.distance_transform_edt, ndimage.distance_transform_bf
    check_traced(lambda s: edt(image, sampling=s), sampling)
    check_traced(lambda s: edt(image, sampling=s, return_indices=True)[0], sampling)
    check_traced(lambda s: bf(image, sampling=s), sampling)
    check_traced(lambda s: bf(image, sampling=s, return_indices=True)[0], sampling)
    check_traced(lambda s: bf(image, "taxicab", sampling=s) * np.sum(s), sampling)


@pytest.mark.parametrize(
    "name, args",
    [
        ("binary_dilation", (X > 3,)),
        ("binary_erosion", (X > 3,)),
        ("label", (X > 3,)),
        ("histogram", (X, 0, 5, 3)),
        ("minimum_position", (X,)),
        ("maximum_position", (X,)),
    ],
)
def test_constants(name, args):
    assert name in CONSTANTS
    _, pullback = rrule(getattr(ndimage, name), *args)
    assert pullback(1.0) == (NoTangent(),) * (1 + len(args))
