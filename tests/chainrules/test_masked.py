"""Masked arrays: every way into them is a clear error, and no gradient passes over a mask."""

import numpy as np
import pytest

import autodiff
from chainrules.refused import RefusedError
from chainrules_core import ChainRulesError, rrule

X = np.array([0.3, 1.2, -0.5, 0.9])
MASKED = np.ma.array([1.0, 2.0, 3.0, 4.0], mask=[0, 1, 0, 0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.ma.array(x, mask=[0, 1, 0, 0]).sum(),
        lambda x: np.ma.array(data=x).sum(),
        lambda x: np.ma.masked_array(x, mask=[0, 1, 0, 0]).mean(),
        lambda x: np.ma.MaskedArray(x).sum(),
        lambda x: np.ma.masked_where(x < 0, x).sum(),
        lambda x: np.ma.masked_invalid(x).sum(),
        lambda x: np.ma.masked_less(x, 0).mean(),
        lambda x: np.ma.mean(x),
        lambda x: np.ma.sum(x),
        lambda x: np.ma.std(x),
        lambda x: np.ma.median(x),
        lambda x: np.ma.average(x),
        lambda x: np.ma.exp(x).sum(),
        lambda x: np.ma.log(x).sum(),
        lambda x: np.ma.add(x, x).sum(),
        lambda x: np.ma.dot(x, x),
        lambda x: np.ma.where(x > 0, x, 0).sum(),
        lambda x: np.ma.concatenate([x, x]).sum(),
        lambda x: np.ma.cov(x),
        lambda x: np.ma.filled(x, 0).sum(),
    ],
)
def test_functions_of_masked_arrays_are_refused(f):
    with pytest.raises(RefusedError, match="hides elements that NumPy's functions see"):
        autodiff.gradient(f, X)
    with pytest.raises(RefusedError, match="hides elements that NumPy's functions see"):
        autodiff.pushforward(f, X)[1](X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(MASKED * x),
        lambda x: np.sum(x * MASKED),
        lambda x: (x + MASKED).mean(),
        lambda x: np.multiply(x, MASKED).sum(),
        lambda x: np.dot(x, MASKED),
        lambda x: MASKED.dot(x),
        lambda x: np.sum(np.where(MASKED > 2, x, 0)),
        lambda x: np.interp(x, MASKED, MASKED).sum(),
        lambda x: np.concatenate([x, MASKED]).sum(),
    ],
)
def test_a_masked_array_that_meets_a_traced_one(f):
    with pytest.raises(ChainRulesError):
        autodiff.gradient(f, X)
    with pytest.raises(ChainRulesError):
        autodiff.pushforward(f, X)[1](X)


@pytest.mark.parametrize("x", [MASKED, {"m": MASKED}])
def test_a_masked_array_is_no_argument(x):
    with pytest.raises(autodiff.ArgumentError, match="a masked array"):
        autodiff.gradient(lambda x: 1.0, x)


def test_masked_constants_may_be_computed_with():
    f = lambda x: float(MASKED.sum()) * x[0] + np.sum(x * MASKED.filled(0.0))  # noqa: E731
    np.testing.assert_array_equal(autodiff.gradient(f, X), [9.0, 0.0, 3.0, 4.0])


def test_questions_about_a_plain_array_are_constants():
    def loss(x):
        ma = np.ma
        assert not any([ma.isMaskedArray(x), ma.isMA(x), ma.isarray(x), ma.is_masked(x)])
        return np.sum(x) * (ma.getmask(x) is ma.nomask) + np.sum(ma.getmaskarray(x) * x)

    np.testing.assert_array_equal(autodiff.gradient(loss, X), np.ones(4))


def test_numpys_own_functions_keep_their_rules():
    assert all(rule.kind != "refused" for rule in rrule.methods(np.sum) + rrule.methods(np.add))


@pytest.mark.parametrize(
    "question", [np.ma.isMA, np.ma.isMaskedArray, np.ma.isarray, np.ma.is_mask, np.ma.is_masked]
)
def test_whether_an_array_is_masked_may_be_asked(question):
    def f(x):
        return np.sum(x * 2.0) if not question(x) else 0.0

    np.testing.assert_array_equal(autodiff.gradient(f, X), np.full(4, 2.0))
