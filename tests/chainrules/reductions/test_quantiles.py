import numpy as np
import pytest

import autodiff
from chainrules_core import rrule, unthunk
from chainrules_core.testing import POSITIVE, REAL, UNIT, check_rule
from tests.helpers import case

METHODS = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
    "hazen", "weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher",
    "midpoint", "nearest",
]  # fmt: skip
V = REAL.draw(7, rng=1)
X = REAL.draw((2, 3, 4), rng=2)
X32 = REAL.draw((3, 5), np.float32, rng=3)
Z = REAL.draw((3, 4), complex, rng=4)
STRIDED = REAL.draw((4, 6), rng=6)[::2, ::-2]
LONG = REAL.draw((2, 60), rng=7)
GAPS = REAL.draw((3, 5), rng=8)
GAPS[0, 1:3] = GAPS[2, 4] = np.nan
Q = np.array([0.37, 0.62, 0.13])  # no kink for the lengths here
QQ = np.array([[0.37, 0.62], [0.13, 0.87]])
MANY = np.linspace(0.0123, 0.9877, 40)


MEDIANS = [
    line
    for f in (np.median, np.nanmedian)
    for line in (
        case(f, V),
        case(f, V[1:]),
        case(f, X),
        case(f, X, 0),
        case(f, a=X, axis=-1),
        case(f, X, (0, 2)),
        case(f, X, axis=(2, 0), keepdims=True),
        case(f, X, axis=(1, 2, 0)),
        case(f, X, axis=(-1, 0, 1), keepdims=True),
        case(f, X32, 1),
        case(f, STRIDED, 1),
        case(f, np.array(1.5)),
        case(f, 2.5),
    )
] + [
    case(np.median, Z),
    case(np.median, Z, 1),
    case(np.nanmedian, GAPS),
    case(np.nanmedian, GAPS, 0),
    case(np.nanmedian, GAPS, 1, keepdims=True),
]
QUANTILES = [
    line
    for f, one in (
        (np.quantile, 1),
        (np.percentile, 100),
        (np.nanquantile, 1),
        (np.nanpercentile, 100),
    )
    for line in (
        case(f, V, 0.37 * one),
        case(f, V, Q * one),
        case(f, V, QQ * one),
        case(f, V, [0.13 * one, 0.26 * one]),
        case(f, X, 0.37 * one),
        case(f, X, 0.37 * one, 0),
        case(f, X, Q * one, axis=-1),
        case(f, a=X, q=QQ * one, axis=1),
        case(f, X, 0.37 * one, axis=(0, 2)),
        case(f, X, Q * one, axis=(2, 0), keepdims=True),
        case(f, X, 0.37 * one, 1, None, False, "hazen", True),
        case(f, X32, 0.37 * one, 1),
        case(f, X32, (Q * one).astype(np.float32), 0),
        case(f, STRIDED, 0.37 * one, 1),
        case(f, LONG, MANY * one, 1),
        case(f, [1.0, 5.0, 2.0], 0.37 * one),
    )
] + [
    case(np.nanquantile, GAPS, 0.37),
    case(np.nanquantile, GAPS, Q, 1),
    case(np.nanpercentile, GAPS, 37.0, 0, keepdims=True),
]
BY_METHOD = [
    case(f, a, q, axis, method=method)
    for method in METHODS
    for f, a, q, axis in (
        (np.quantile, X[0], 0.37, 1),
        (np.quantile, X[0], Q, None),
        (np.percentile, X[0], 100 * Q, 0),
        (np.quantile, V, np.array([0.02, 0.98]), None),
        (np.nanquantile, GAPS, 0.37, 1),
    )
]
WEIGHTED = [
    case(np.quantile, X, 0.37, method="inverted_cdf", weights=POSITIVE.draw(X.shape, rng=11)),
    case(np.quantile, X, Q, 1, method="inverted_cdf", weights=POSITIVE.draw(3, rng=12)),
    case(np.quantile, X, [0.13], 2, method="inverted_cdf", weights=[1.0, 0.0, 2.0, 1.0]),
    case(
        np.percentile, X, 37.0, (0, 1), method="inverted_cdf", keepdims=True,
        weights=POSITIVE.draw((2, 3), rng=13),
    ),
    case(np.nanquantile, V, Q, method="inverted_cdf", weights=POSITIVE.draw(7, rng=14)),
]  # fmt: skip


@pytest.mark.parametrize("f, args, kwargs", MEDIANS + QUANTILES + BY_METHOD + WEIGHTED)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs)


@pytest.mark.parametrize(
    "f, args, kwargs",
    [
        case(np.median, X, 1),
        case(np.nanmedian, GAPS, 1),
        case(np.quantile, X, Q, axis=-1),
        case(np.percentile, V, 37.0),
        case(np.nanquantile, GAPS, Q, 0),
        case(np.quantile, V, 0.37, method="hazen"),
        case(np.quantile, V, 0.37, method="midpoint"),
        WEIGHTED[0],
    ],
)
def test_second_order(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs, second_order=True, gradient=autodiff.gradient)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_every_q(method, n):
    """Also at the ends, and where the quantile is an element, as a function of a."""
    a = REAL.draw(n, rng=n)
    for q in (0, 0.25, 0.5, 1.0):
        _, pullback = rrule(np.quantile, a, q, method=method)
        expected = [
            (np.quantile(a + d, q, method=method) - np.quantile(a - d, q, method=method)) / 2e-4
            for d in 1e-4 * np.eye(n)
        ]
        assert pullback(1.0)[1] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("f", [np.median, lambda a, **kwargs: np.quantile(a, 0.37, **kwargs)])
def test_overwrite_input(f):
    """It is only a permission, and the argument is needed as it is."""
    a = V.copy()
    found = autodiff.gradient(lambda a: f(a, overwrite_input=True) ** 2, a)
    assert found.tolist() == autodiff.gradient(lambda a: f(a) ** 2, V).tolist()
    assert a.tolist() == V.tolist()


@pytest.mark.parametrize("method", ["linear", "hazen", "weibull"])
def test_slope_at_an_element(method):
    """The mean of the slopes on both sides, as central differences have it."""
    a = np.array([0.0, 1.0, 4.0, 5.0, 9.0])
    q = {"linear": 0.25, "hazen": 0.3, "weibull": 2 / 6}[method]  # the second element
    rate = {"linear": 4, "hazen": 5, "weibull": 6}[method]
    q_bar = unthunk(rrule(np.quantile, a, q, method=method)[1](1.0)[2])
    assert q_bar == pytest.approx(rate * (1 + 3) / 2)


def test_slope_at_the_ends():
    a = np.array([0.0, 1.0, 4.0])
    for q, method, expected in (
        (0.0, "linear", 2.0),
        (1.0, "linear", 6.0),
        (0.01, "hazen", 0.0),
        (0.99, "weibull", 0.0),
    ):
        q_bar = unthunk(rrule(np.quantile, a, q, method=method)[1](1.0)[2])
        assert q_bar == pytest.approx(expected)


def test_a_slice_of_nans_has_none():
    a = np.array([[np.nan, np.nan], [1.0, 2.0]])
    with pytest.warns(RuntimeWarning, match="All-NaN"):
        y, pullback = rrule(np.nanmedian, a, axis=1)
    assert np.isnan(y[0])
    assert pullback(np.ones(2))[1][1].tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.median(x, axis=0),
        lambda x: np.quantile(x, [0.37, 0.62], axis=1),
        lambda x: np.percentile(x, 37.0),
        lambda x: np.quantile(x, 0.37 + 0 * x[0, 0], axis=0),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, X[0])


def test_engine_differentiates_by_q(check_engine):
    check_engine(lambda x, q: np.quantile(x, q, axis=1), X[0], UNIT.draw(3))
