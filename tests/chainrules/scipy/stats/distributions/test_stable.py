"""Distributions that SciPy computes by quadrature in compiled code."""

import numpy as np
import pytest
from scipy import stats

from autodiff import gradient, pushforward
from chainrules_core import NotImplementedTangentError
from tests.helpers import differences

X = np.array([1.1, 0.4, 0.8])
STABLE, RANGE = stats.levy_stable, stats.studentized_range
PLACES = np.array([0.5, 1.2, -0.7])

CASES = {
    "pdf": lambda x: np.sum(STABLE.pdf(PLACES * x[0], 1.5, 0.3, loc=x[1], scale=x[2])),
    "cdf": lambda x: np.sum(STABLE.cdf(PLACES * x[0], 1.5, 0.3, loc=x[1], scale=x[2])),
    "ppf": lambda x: STABLE.ppf(x[1], 1.5, 0.3, loc=x[0], scale=x[2]),
    "logpdf by the shapes": lambda x: STABLE.logpdf(x[0], 1.4 + x[1] / 4, x[2] / 2),
    "cdf by the shapes": lambda x: STABLE.cdf(x[0], 1.2 + x[2] / 3, x[1]),
    "pdf at alpha 1": lambda x: STABLE.pdf(x[0], 1.0, 0.3, loc=x[1], scale=x[2]),
    "cdf at alpha 1": lambda x: np.sum(STABLE.cdf(PLACES + x[0], 1.0, 0.3, scale=x[2])),
    "range pdf": lambda x: RANGE.pdf(x[0] * 2, 3, 10, loc=x[1], scale=x[2]),
    "range sf": lambda x: RANGE.sf(x[0] * 2, 3 + x[1], 10 * x[2]),
    "range cdf of arrays": lambda x: np.sum(RANGE.cdf(x[:2] * 2, 3, np.array([10.0, 5.0]))),
    "range ppf": lambda x: RANGE.ppf(x[1], 3, 10, scale=x[2]),
}


@pytest.mark.parametrize("f", [pytest.param(f, id=name) for name, f in CASES.items()])
def test_both_modes(f):
    expected = differences(f, X, 1e-3, order=4)
    np.testing.assert_allclose(gradient(f, X), expected, rtol=1e-6, atol=1e-9)
    direction = np.array([0.3, -1.0, 0.5])
    np.testing.assert_allclose(pushforward(f, X)[1](direction), expected @ direction, rtol=1e-6)


def test_the_other_parametrisation(monkeypatch):
    monkeypatch.setattr(STABLE, "parameterization", "S0")

    def f(x):
        return STABLE.pdf(x[0], 1.0, 0.3, loc=x[1], scale=x[2]) + STABLE.cdf(x[0], 1.6, 0.3)

    np.testing.assert_allclose(gradient(f, X), differences(f, X, 1e-3, order=4), rtol=1e-6)


def test_there_is_no_derivative_by_alpha_at_1():
    with pytest.raises(NotImplementedTangentError, match="argument 2"):
        gradient(lambda alpha: STABLE.pdf(0.5, alpha, 0.3), 1.0)
