"""Masked arrays: what is hidden has no derivative, whatever numpy.ma computes."""

import numpy as np
import pytest

import autodiff
from chainrules_core import ChainRulesError
from tests.helpers import differences

ma = np.ma
X = np.array([0.3, 1.2, -0.5, 0.9, 2.0])
W = np.array([1.0, -2.0, 0.5, 3.0, 0.7])
HIDDEN = [0, 1, 0, 0, 1]
DATA = ma.array([1.0, 2.0, 3.0, 4.0, 5.0], mask=[0, 1, 0, 0, 0])


def of(x):
    return ma.array(x, mask=HIDDEN)


def weighted(y):
    return (ma.filled(y, 0.0) * W).sum()


def assigned(x):
    m = ma.array(x**2)
    m.mask = HIDDEN
    m[1] = x[0]
    m[3] = ma.masked
    m[0] = 3.0
    return weighted(m)


def augmented(x):
    m = of(x**2)
    m += x
    m *= 2
    return weighted(m)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: of(x).mean() + of(x).sum() / of(x).count(),
        lambda x: of(x).std(ddof=1) + ma.var(of(x)) + np.mean(of(x)),
        lambda x: ma.median(of(x)) + ma.average(of(x), weights=W),
        lambda x: (ma.masked_where(X > 1.5, x) ** 2).sum(),
        lambda x: (ma.masked_invalid(x).filled(0.0) ** 2).sum(),
        lambda x: (ma.fix_invalid(x) ** 2).sum() + ma.masked_less(x, 0).mean(),
        lambda x: ((DATA - x[0]) ** 2).sum(),
        lambda x: np.sum(DATA * x) + np.multiply(x, DATA).sum(),
        lambda x: weighted(ma.exp(of(x))) + weighted(np.exp(of(x))),
        lambda x: weighted(np.sqrt(of(x))),
        lambda x: weighted(of(x) / DATA + 1 / of(x)),
        lambda x: weighted(of(x) / (W > 0)) + weighted(of(x) ** 0.5),
        lambda x: weighted(-abs(of(x))),
        lambda x: ma.cov(of(x), of(x**2))[0, 1] + ma.corrcoef(of(x), of(x**3))[1, 0],
        lambda x: (ma.array(of(x), ndmin=2) * W).sum() + ma.polyfit(W, of(x), 1)[0],
        lambda x: weighted(ma.where(X > 0, of(x), x * 2)),
        lambda x: weighted(ma.maximum(of(x), 0.5)) + weighted(of(x).clip(0, 1)),
        lambda x: (ma.concatenate([of(x), x]) ** 2).sum() + (ma.vstack([of(x), x]) ** 2).sum(),
        lambda x: ma.dot(of(x), x) + ma.outer(of(x), W).sum(),
        lambda x: (of(x).compressed() ** 2 * W[:3]).sum() + of(x)[0] * of(x)[2:].sum(),
        lambda x: of(x).min() * of(x).max() + of(x).prod() + of(x).ptp(),
        lambda x: weighted(of(x).cumsum()) + weighted(of(x).anom()),
        lambda x: (of(x).reshape(1, 5).T ** 2).mean(axis=0)[0],
        lambda x: (ma.array(np.outer(x, W), mask=np.outer(W > 0, X > 0)).std(axis=0) ** 2).sum(),
        lambda x: (of(x).data ** 2).sum(),
        lambda x: sum(v**2 for v in of(x) if v is not ma.masked),
        lambda x: (ma.diff(of(x)) ** 2).sum() + weighted(ma.sort(of(x))),
        assigned,
        augmented,
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_gradients_are_those_of_the_differences(f):
    expected = differences(lambda x: float(f(x)), X, 1e-6)
    np.testing.assert_allclose(autodiff.gradient(f, X), expected, rtol=1e-6, atol=1e-7)
    _, push = autodiff.pushforward(f, X)
    np.testing.assert_allclose(push(W), expected @ W, rtol=1e-6, atol=1e-7)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: ma.log(x).sum(),
        lambda x: np.log(ma.array(x, mask=[1, 0, 0, 1])).sum(),
        lambda x: ma.masked_invalid(np.log(x)).sum(),
    ],
)
def test_a_hidden_singularity_leaves_no_trace(f):
    x = np.array([0.0, 1.0, 2.0, -1.0])
    np.testing.assert_allclose(autodiff.gradient(f, x), [0.0, 1.0, 0.5, 0.0])


def test_single_precision_remains():
    found = autodiff.gradient(lambda x: (of(x) ** 2).sum(), X.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.where(HIDDEN, 0, 2 * X), rtol=1e-6)


def test_an_output_with_hidden_elements_has_no_value():
    with pytest.raises(autodiff.OutputError, match="masked elements"):
        autodiff.jacobian(of, X)
    np.testing.assert_array_equal(autodiff.jacobian(lambda x: of(x).filled(0.0), X).sum(), 3.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.dot(x, DATA),
        lambda x: np.interp(x, DATA, DATA).sum(),
        lambda x: np.concatenate([x, DATA]).sum(),
    ],
)
def test_functions_that_pass_over_the_mask_are_refused(f):
    with pytest.raises(ChainRulesError):
        autodiff.gradient(f, X)
    with pytest.raises(ChainRulesError):
        autodiff.pushforward(f, X)[1](X)


@pytest.mark.parametrize("x", [DATA, {"m": DATA}])
def test_a_masked_array_is_no_argument(x):
    with pytest.raises(autodiff.ArgumentError):
        autodiff.gradient(lambda x: 1.0, x)


def test_masked_constants_may_be_computed_with():
    f = lambda x: float(DATA.sum()) * x[0] + np.sum(x * DATA.filled(0.0))  # noqa: E731
    np.testing.assert_array_equal(autodiff.gradient(f, X), [14.0, 0.0, 3.0, 4.0, 5.0])


@pytest.mark.parametrize(
    "question", [ma.isMA, ma.isMaskedArray, ma.isarray, ma.is_mask, ma.is_masked]
)
def test_whether_an_array_is_masked_may_be_asked(question):
    def f(x):
        return np.sum(x * 2.0) if not question(x) else 0.0

    np.testing.assert_array_equal(autodiff.gradient(f, X), np.full(5, 2.0))
