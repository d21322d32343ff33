import numpy as np
import pytest
from scipy import special

import autodiff
from chainrules_core.testing import check_rule

CASES = [
    (special.gammainc, 1.2, 0.7),
    (special.gammainc, 30.0, 25.0),
    (special.gammainc, 2, 5.5),
    (special.gammaincc, 1.2, 0.7),
    (special.gammaincc, 0.1, 1.4),
    (special.gammaincinv, 1.2, 0.7),
    (special.gammaincinv, 0.6, 0.2),
    (special.gammainccinv, 1.2, 0.7),
    (special.betainc, 1.2, 0.7, 0.3),
    (special.betainc, 20.0, 30.0, 0.45),
    (special.betainc, 2, 3, 0.8),
    (special.betaincc, 1.2, 0.7, 0.3),
    (special.betaincinv, 1.2, 0.7, 0.3),
    (special.betainccinv, 1.2, 0.7, 0.3),
    (special.btdtria, 0.4, 1.3, 0.6),
    (special.btdtrib, 1.3, 0.4, 0.6),
]
INEXACT = (special.btdtria, special.btdtrib)  # found by a search


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_rule(case, check_elementwise):
    check_elementwise(*case, rtol=1e-6 if case[0] in INEXACT else None)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_engine(case, check_curvature):
    check_curvature(*case)


def test_thousands_of_elements_in_both_tails():
    """None of them is an error, though some are far out."""
    rng = np.random.default_rng(1)
    x = rng.gamma(2.0, size=3000) * np.logspace(-2, 2, 3000)
    for a in (0.3, 1.3, 7.5):
        found = autodiff.gradient(lambda a: np.sum(special.gammainc(a, x)), a)
        expected = (
            np.sum(special.gammainc(a + 1e-5, x)) - np.sum(special.gammainc(a - 1e-5, x))
        ) / 2e-5
        assert found == pytest.approx(expected, rel=1e-6)
        found = autodiff.gradient(lambda a: np.sum(special.betainc(a, 2.0, x / (1 + x))), a)
        expected = (
            np.sum(
                special.betainc(a + 1e-5, 2.0, x / (1 + x))
                - special.betainc(a - 1e-5, 2.0, x / (1 + x))
            )
            / 2e-5
        )
        assert found == pytest.approx(expected, rel=1e-6)


def test_both_tails_in_one_array():
    a, x = np.array([0.3, 2.5, 40.0]), np.array([0.01, 9.0, 60.0])
    check_rule(special.gammainc, a, x)
    check_rule(special.gammaincc, a, x)
    check_rule(special.betainc, a, a[::-1] / 4, np.array([0.01, 0.5, 0.99]))
