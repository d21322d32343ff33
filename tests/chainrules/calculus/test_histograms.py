import numpy as np
import pytest

import autodiff
from chainrules_core import NoTangent, rrule
from chainrules_core.testing.checks.check import check_rule

X = np.array([0.7, -1.3, 2.1, 0.45])
Y = np.array([0.6, 1.7, 2.2, 0.9])
W = np.array([0.3, 1.5, -0.8, 0.6])
EDGES = np.array([-2.0, 0.0, 1.0, 3.0])
PLACES = [0, 1, 1, 3]


def case(*args, **kwargs):
    return pytest.param(args, kwargs)


@pytest.mark.parametrize(
    "args, kwargs",
    [
        case(PLACES, W),
        case(np.array(PLACES), W, 6),
        case(PLACES, weights=W, minlength=6),
        case(np.array(PLACES)[::-1], W[::-1]),
        case(PLACES, W.astype(np.float32)),
        case(PLACES, list(W)),
    ],
)
def test_bincount(args, kwargs):
    check_rule(np.bincount, *args, fkwargs=kwargs)


def test_a_count_is_constant():
    assert rrule(np.bincount, np.array(PLACES))[1](np.ones(4)) == (NoTangent(),) * 2


# fmt: off
TRACED = [
    (lambda w: np.bincount(PLACES, w, 5), (W,)),
    (lambda w: np.bincount([0, 1], weights=[w[0], 2.0]), (W,)),
    (lambda w: np.histogram(X, 3, weights=w)[0], (W,)),
    (lambda w: np.histogram(X, bins=3, weights=w, density=True)[0], (W,)),
    (lambda w: np.histogram(X, bins=3, weights=w)[0], (W + 1j,)),
    (lambda w: np.histogram(list(X), bins=3, weights=[w[0], w[1], 1.0, 2.0])[0], (W,)),
    (lambda x: np.histogram(x, 3), (X,)),
    (lambda x: np.histogram(x, bins=3, density=True), (X,)),
    (lambda x: np.histogram(x, bins="fd")[1], (X,)),
    (lambda b: np.histogram(X, b), (EDGES,)),
    (lambda b, w: np.histogram(X, bins=b, density=True, weights=w), (EDGES, W)),
    (lambda r: np.histogram(X, bins=3, range=(r[0], r[1])), (EDGES[[0, 3]],)),
    (lambda x: np.histogram_bin_edges(x, 4), (X,)),
    (lambda r: np.histogram_bin_edges(X, 4, range=(r[0], r[1])), (EDGES[[0, 3]],)),
    (lambda b: np.histogram_bin_edges(X, b), (EDGES,)),
    (lambda w: np.histogram2d(X, Y, bins=2, weights=w), (W,)),
    (lambda x, y: np.histogram2d(x, y, bins=[2, 3])[1:], (X, Y)),
    (lambda w: np.histogramdd(np.stack([X, Y], 1), bins=(2, 2), weights=w), (W,)),
    (lambda x: np.histogramdd(x, bins=(2, 2))[1], (np.stack([X, Y], 1),)),
    (lambda b: np.histogramdd(np.stack([X, Y], 1), bins=[b, 2]), (EDGES,)),
    (lambda b: np.histogramdd([X, Y], bins=[b, 2]), (EDGES,)),
]
# fmt: on


@pytest.mark.parametrize("f, xs", TRACED)
def test_engine(f, xs, check_modes):
    check_modes(f, *xs)


def test_what_falls_where_is_constant():
    found = autodiff.gradient(lambda x: np.sum(np.digitize(x, [0.0, 1.0]) * x), X)
    np.testing.assert_array_equal(found, np.digitize(X, [0.0, 1.0]))
