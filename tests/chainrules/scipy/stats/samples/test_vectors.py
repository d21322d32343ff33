"""Statistics of one sample, by rules for vectors and traced otherwise."""

import numpy as np
import pytest
from scipy import stats

import autodiff
from chainrules_core import rrule
from chainrules_core.testing import check_rule

X = np.array([0.3, 1.2, -0.5, 2.0, 0.9, -1.4])
C = np.array([0.5, 1.0, 3.0, -0.2])
P = np.abs(X) + 0.2
STATISTICS = [
    (stats.skew, (X,), {}),
    (stats.kurtosis, (X,), {}),
    (stats.kurtosis, (X,), {"axis": None}),
    (stats.gmean, (P,), {}),
    (stats.hmean, (P,), {"axis": -1}),
    *[(stats.moment, (X,), {"order": k}) for k in (2, 3, 4)],
    (stats.zscore, (X,), {}),
    (stats.zscore, (X,), {"ddof": 1}),
    (stats.zmap, (X, C), {}),
    (stats.zmap, (X, C), {"ddof": 1}),
]


@pytest.mark.parametrize("f, args, options", STATISTICS)
def test_rule(f, args, options):
    assert rrule(f, *args, **options) is not None
    check_rule(f, *args, fkwargs=options, second_order=True, gradient=autodiff.gradient)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: stats.skew(x, bias=False),
        lambda x: stats.skew(x.reshape(2, 3), axis=1),
        lambda x: stats.skew(list(x)),
        lambda x: stats.kurtosis(x, fisher=False),
        lambda x: stats.kurtosis(x, keepdims=True),
        lambda x: stats.moment(x, 3, center=x[0]),
        lambda x: stats.moment(x, [2, 3]),
        lambda x: stats.moment(x, 2, 0, "omit"),
        lambda x: stats.gmean(x * x, weights=1.5 + x),
        lambda x: stats.gmean(x.reshape(2, 3) ** 2),
        lambda x: stats.hmean(x * x, weights=[1, 2, 3, 1, 2, 3]),
        lambda x: stats.zscore(x.reshape(2, 3), axis=None),
        lambda x: stats.zmap(x.reshape(2, 3), x.reshape(2, 3) ** 2),
        lambda x: stats.zmap(x, C),
        lambda x: stats.zmap(C, x),
        lambda x: stats.skew(np.array([1.0, -1.0, 2.0, -2.0]) * x[0]) * x[1],
    ],
)
def test_other_calls(f, check_traced):
    check_traced(f, X, step=1e-5, rtol=1e-5)


def test_single_precision_is_traced(check_traced):
    assert autodiff.gradient(stats.skew, np.float32(X)).dtype == np.float32


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_constant():
    assert np.isnan(stats.zscore(np.ones(4))).all()
    assert rrule(stats.zscore, np.ones(4)) is None
    assert rrule(stats.skew, np.ones(4)) is None
    assert rrule(stats.gmean, np.array([0.0, 1.0])) is None


ZERO = np.array([0.0, 1.0, 2.0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "f",
    [
        stats.hmean,
        lambda x: stats.hmean(x, weights=[1.0, 2.0, 1.0]),
        lambda x: stats.hmean(np.stack([x, x + 1.0]), axis=1)[0],
        lambda x: stats.pmean(x, -2.0),
        lambda x: stats.pmean(x, -1, weights=[0.5, 2.0, 1.0]),
        lambda x: stats.hmean(x * np.array([1.0, 0.0, 1.0])),
    ],
)
def test_means_of_zeros(f):
    """From above: numbers below 0 have no such mean."""
    h = 1e-7
    expected = [(f(ZERO + h * e) - f(ZERO)) / h for e in np.eye(3)]
    np.testing.assert_allclose(autodiff.gradient(f, ZERO), expected, rtol=1e-4, atol=1e-5)
    moved = [autodiff.pushforward(f, ZERO)[1](e) for e in np.eye(3)]
    np.testing.assert_allclose(moved, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_slope_that_is_infinite():
    for f in (stats.gmean, lambda x: stats.gmean(np.stack([x, x], 1))[0]):
        np.testing.assert_array_equal(autodiff.gradient(f, ZERO), [np.inf, 0.0, 0.0])
    np.testing.assert_array_equal(autodiff.gradient(stats.gmean, 0.0 * ZERO), np.zeros(3))
