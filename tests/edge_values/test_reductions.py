"""Gradients of reductions where they are decided rather than computed: as numbers.

Ties share equally, products with zeros are exact, deviations of equal values have gradient 0, what
is left out or is NaN has none, and sorting keeps the order of equal elements.
"""

import numpy as np
import pytest

import autodiff

INF, NAN = np.inf, np.nan


def first(f, **kwargs):
    return lambda x: f(x, **kwargs)


def pick(f, *places, **kwargs):
    """The sum of some results, weighted by 1, 2, 3, …"""

    def picked(x):
        y = np.ravel(f(x, **kwargs))
        return sum((i + 1) * y[place] for i, place in enumerate(places))

    return picked


VALUES = [
    # largest and smallest: ties share
    (np.max, [1.0, 3.0, 2.0], [0, 1, 0]),
    (np.max, [3.0, 3.0, 2.0], [0.5, 0.5, 0]),
    (np.max, [3.0, 3.0, 3.0, 3.0], [0.25, 0.25, 0.25, 0.25]),
    (np.max, [-INF, -INF], [0.5, 0.5]),
    (np.max, [INF, 1.0], [1, 0]),
    (np.max, [0.0, -0.0], [0.5, 0.5]),
    (np.max, [NAN, 1.0], [1, 0]),
    (np.max, [2.0], [1]),
    (np.min, [1.0, 3.0, 1.0], [0.5, 0, 0.5]),
    (np.min, [1.0, 3.0, 2.0], [1, 0, 0]),
    (np.min, [INF, INF], [0.5, 0.5]),
    (first(np.max, initial=2.0), [1.0, 2.0, 2.0], [0, 1 / 3, 1 / 3]),
    (first(np.max, initial=9.0), [1.0, 2.0], [0, 0]),
    (first(np.min, initial=1.0), [1.0, 2.0], [0.5, 0]),
    (pick(np.max, 0, 1, axis=0), [[1.0, 2.0], [1.0, 0.0]], [[0.5, 2], [0.5, 0]]),
    (pick(np.max, 0, 1, axis=1), [[1.0, 2.0], [1.0, 1.0]], [[0, 1], [1, 1]]),
    (first(np.max, initial=-9.0, where=[True, False, True]), [1.0, 5.0, 1.0], [0.5, 0, 0.5]),
    (np.nanmax, [NAN, 3.0, 3.0], [0, 0.5, 0.5]),
    (np.nanmin, [NAN, 3.0, 1.0], [0, 0, 1]),
    (np.ptp, [1.0, 3.0, 3.0], [-1, 0.5, 0.5]),
    (np.ptp, [2.0, 2.0], [0, 0]),
    (np.ptp, [2.0], [0]),
    (np.maximum.reduce, [3.0, 3.0, 2.0], [0.5, 0.5, 0]),
    (np.fmax.reduce, [NAN, 3.0, 2.0], [0, 1, 0]),
    (np.fmin.reduce, [NAN, 2.0, 2.0], [0, 0.5, 0.5]),
    (pick(np.maximum.accumulate, 0, 1, 2), [2.0, 1.0, 2.0], [4.5, 0, 1.5]),
    (pick(np.minimum.accumulate, 0, 1, 2), [2.0, 1.0, 2.0], [1, 5, 0]),
    # products: exact at zeros
    (np.prod, [2.0, 3.0, 5.0], [15, 10, 6]),
    (np.prod, [2.0, 0.0, 5.0], [0, 10, 0]),
    (np.prod, [0.0, 0.0, 5.0], [0, 0, 0]),
    (np.prod, [0.0, 0.0], [0, 0]),
    (np.prod, [0.0], [1]),
    (np.prod, [7.0], [1]),
    (np.prod, [-0.0, 5.0], [5, 0]),
    (np.prod, [1e-200, 1e-200, 1.0], [1e-200, 1e-200, 0]),
    (np.prod, [INF, 2.0], [2, INF]),
    (first(np.prod, initial=0.0), [2.0, 3.0], [0, 0]),
    (first(np.prod, where=[True, False, True]), [0.0, 4.0, 5.0], [5, 0, 0]),
    (pick(np.prod, 0, 1, axis=1), [[0.0, 2.0], [3.0, 4.0]], [[2, 0], [8, 6]]),
    (np.nanprod, [NAN, 0.0, 5.0], [0, 5, 0]),
    (pick(np.cumprod, 0, 1, 2), [2.0, 3.0, 5.0], [1 + 6 + 45, 4 + 30, 18]),
    (pick(np.cumprod, 0, 1, 2), [0.0, 3.0, 5.0], [1 + 6 + 45, 0, 0]),
    (pick(np.cumprod, 0, 1, 2), [2.0, 0.0, 5.0], [1, 4 + 30, 0]),
    (pick(np.cumprod, 0, 1, 2), [2.0, 3.0, 0.0], [1 + 6, 4, 18]),
    (pick(np.cumprod, 0, 1, 2), [0.0, 0.0, 5.0], [1, 0, 0]),
    (pick(np.cumprod, 0, 1, 2), [0.0, 0.0, 0.0], [1, 0, 0]),
    (pick(np.nancumprod, 0, 1, 2), [0.0, NAN, 5.0], [1 + 2 + 15, 0, 0]),
    (pick(np.multiply.accumulate, 0, 1), [0.0, 4.0], [9, 0]),
    # sums and means
    (np.sum, [INF, 1.0], [1, 1]),
    (np.sum, [NAN, 1.0], [1, 1]),
    (np.nansum, [NAN, 1.0], [0, 1]),
    (np.nansum, [NAN, NAN], [0, 0]),
    (np.nanmean, [NAN, 1.0, 3.0], [0, 0.5, 0.5]),
    (np.mean, [4.0], [1]),
    (first(np.sum, where=[True, False]), [1.0, INF], [1, 0]),
    (first(np.mean, where=[True, False]), [1.0, NAN], [1, 0]),
    (first(np.average, weights=[1.0, 3.0]), [1.0, 2.0], [0.25, 0.75]),
    (first(np.average, weights=[0.0, 3.0]), [1.0, 2.0], [0, 1]),
    (lambda w: np.average([1.0, 3.0], weights=w), [1.0, 1.0], [-0.5, 0.5]),
    (pick(np.nancumsum, 0, 1, 2), [1.0, NAN, 3.0], [6, 0, 3]),
    # deviations: 0 at equal values
    (np.std, [2.0, 2.0, 2.0], [0, 0, 0]),
    (np.std, [2.0], [0]),
    (np.std, [1.0, 3.0], [-0.5, 0.5]),
    (np.var, [2.0, 2.0], [0, 0]),
    (np.var, [5.0], [0]),
    (np.nanstd, [2.0, NAN, 2.0], [0, 0, 0]),
    (np.nanvar, [1.0, NAN, 3.0], [-1, 0, 1]),
    (pick(np.std, 0, 1, axis=1), [[2.0, 2.0], [1.0, 3.0]], [[0, 0], [-1, 1]]),
    (first(np.std, where=[True, True, False]), [1.0, 3.0, NAN], [-0.5, 0.5, 0]),
    (lambda x: np.corrcoef(x, x)[0, 1], [1.0, 2.0, 4.0], [0, 0, 0]),
    (np.corrcoef, [1.0, 2.0, 4.0], [0, 0, 0]),
    # order: equal elements keep theirs
    (pick(np.sort, 0, 1, 2), [3.0, 1.0, 2.0], [3, 1, 2]),
    (pick(np.sort, 0, 1, 2), [2.0, 1.0, 2.0], [2, 1, 3]),
    (pick(np.sort, 0, 1, 2), [2.0, 2.0, 2.0], [1, 2, 3]),
    (pick(np.sort, 0, 1, 2), [NAN, 2.0, 1.0], [3, 2, 1]),
    (pick(np.unique, 0, 1), [5.0, 5.0, 7.0], [0.5, 0.5, 2]),
    (np.median, [3.0, 1.0, 2.0], [0, 0, 1]),
    (np.median, [4.0, 1.0, 2.0, 3.0], [0, 0, 0.5, 0.5]),
    (np.median, [2.0, 2.0], [0.5, 0.5]),
    (np.median, [5.0], [1]),
    (np.nanmedian, [NAN, 1.0, 2.0], [0, 0.5, 0.5]),
    (np.nanmedian, [NAN, 1.0], [0, 1]),
    (first(np.quantile, q=0.0), [3.0, 1.0, 2.0], [0, 1, 0]),
    (first(np.quantile, q=1.0), [3.0, 1.0, 2.0], [1, 0, 0]),
    (first(np.quantile, q=0.25), [3.0, 1.0, 2.0], [0, 0.5, 0.5]),
    (first(np.percentile, q=75), [3.0, 1.0, 2.0], [0.5, 0, 0.5]),
    (first(np.quantile, q=0.6, method="lower"), [3.0, 1.0, 2.0], [0, 0, 1]),
    (first(np.quantile, q=0.6, method="higher"), [3.0, 1.0, 2.0], [1, 0, 0]),
    (first(np.quantile, q=0.6, method="midpoint"), [3.0, 1.0, 2.0], [0.5, 0, 0.5]),
    (first(np.quantile, q=0.6, method="nearest"), [3.0, 1.0, 2.0], [0, 0, 1]),
    (lambda q: np.quantile(np.array([0.0, 1.0, 4.0]), q), 0.0, 2.0),
    (lambda q: np.quantile(np.array([0.0, 1.0, 4.0]), q), 0.5, 4.0),
    (lambda q: np.quantile(np.array([0.0, 1.0, 4.0]), q), 1.0, 6.0),
    (lambda q: np.quantile(np.array([0.0, 1.0, 4.0]), q, method="lower"), 0.3, 0.0),
    (lambda q: np.quantile(np.array([0.0, 1.0, 4.0]), q, method="hazen"), 0.01, 0.0),
    # differences and slopes
    (pick(np.diff, 0, 1), [1.0, 4.0, 9.0], [-1, -1, 2]),
    (pick(np.ediff1d, 0, 1), [1.0, 4.0, 9.0], [-1, -1, 2]),
    (np.trapezoid, [1.0, 4.0, 9.0], [0.5, 1, 0.5]),
    (np.trapezoid, [5.0], [0]),
    (lambda x: np.trapezoid([1.0, 3.0], x), [0.0, 2.0], [-2, 2]),
    (pick(np.gradient, 0, 1, 2), [1.0, 4.0, 9.0], [-2, -2, 4]),
    (pick(np.gradient, 0, 1), [1.0, 4.0], [-3, 3]),
    # reductions by other functions
    (np.hypot.reduce, [0.0, 0.0], [0, 0]),
    (np.hypot.reduce, [3.0, 4.0], [0.6, 0.8]),
    (np.logaddexp.reduce, [-INF, 1.0], [0, 1]),
    (np.logaddexp.reduce, [-INF, -INF], [0, 0]),
    (np.logaddexp.reduce, [800.0, 800.0], [0.5, 0.5]),
    (np.subtract.reduce, [1.0, 2.0, 3.0], [1, -1, -1]),
    (np.divide.reduce, [8.0, 2.0, 2.0], [0.25, -1, -1]),
    (pick(np.add.reduceat, 0, 1, indices=[0, 2]), [1.0, 1.0, 1.0], [1, 1, 2]),
    (pick(np.add.reduceat, 0, 1, indices=[2, 0]), [1.0, 1.0, 1.0], [2, 2, 3]),
    (pick(np.multiply.reduceat, 0, 1, indices=[0, 2]), [0.0, 5.0, 0.0], [5, 0, 2]),
]


@pytest.mark.parametrize("f, x, expected", VALUES)
def test_gradient(f, x, expected):
    x = np.array(x) if isinstance(x, list) else x
    found = np.asarray(autodiff.gradient(f, x))
    assert found.shape == np.shape(expected)
    assert found.ravel().tolist() == pytest.approx(np.ravel(expected).tolist(), rel=1e-12)


SECOND = [  # f, x, and the matrix of second derivatives
    (np.prod, [0.0, 0.0], [[0, 1], [1, 0]]),
    (np.prod, [0.0, 3.0], [[0, 1], [1, 0]]),
    (np.prod, [0.0, 0.0, 5.0], [[0, 5, 0], [5, 0, 0], [0, 0, 0]]),
    (np.prod, [0.0, 0.0, 0.0], [[0, 0, 0], [0, 0, 0], [0, 0, 0]]),
    (lambda x: np.cumprod(x)[-1], [0.0, 2.0, 0.0], [[0, 0, 2], [0, 0, 0], [2, 0, 0]]),
    (np.std, [2.0, 2.0], [[0, 0], [0, 0]]),
    (np.var, [2.0, 2.0], [[0.5, -0.5], [-0.5, 0.5]]),
    (lambda x: np.max(x) ** 2, [2.0, 2.0], [[0.5, 0.5], [0.5, 0.5]]),
    (lambda x: np.median(x) ** 2, [3.0, 1.0, 2.0], [[0, 0, 0], [0, 0, 0], [0, 0, 2]]),
]


@pytest.mark.parametrize("f, x, expected", SECOND)
def test_second_derivatives(f, x, expected):
    for row, direction in zip(expected, np.eye(len(x)), strict=True):

        def along(x, v=direction):
            return np.sum(autodiff.gradient(f, x) * v)

        assert autodiff.gradient(along, np.array(x)).tolist() == pytest.approx(row)
