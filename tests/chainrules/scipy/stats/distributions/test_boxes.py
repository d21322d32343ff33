"""Probabilities of boxes under normal and t distributions.

Up to two dimensions SciPy is exact, and differences tell; above there are closed forms: of the
orthant of three dimensions, 1/8 + Σ asin ρ / 4π, and of four with all correlations equal.
"""

import numpy as np
import pytest
from scipy import integrate, special, stats

import autodiff
from chainrules.scipy.stats.distributions.boxes import box

A, B = np.array([-0.7, -0.9]), np.array([0.4, 0.8])
COV = np.array([[2.0, 0.3], [0.3, 1.5]])
POINTS = np.array([[0.3, -0.2], [1.0, 0.4]])
INF = np.full(2, -np.inf)


def both(c):
    return (c + np.transpose(c)) / 2


@pytest.mark.parametrize(
    "f, args",
    [
        (lambda a, b, c: box(a, b, both(c)), (A, B, COV)),
        (lambda a, b, c: box(b, a, both(c)), (A, B, COV)),
        (lambda b, c: box(INF, b, both(c)), (B, COV)),
        (lambda a, c: box(a, -INF, both(c)), (A, COV)),
        (lambda a, b, c: box(a, b, c), (A[:1], B[:1], COV[:1, :1])),
        (lambda x, m, c: stats.multivariate_normal.cdf(x, m, both(c)), (B, A, COV)),
        (lambda x, c: stats.multivariate_normal.logcdf(x, cov=both(c)), (POINTS, COV)),
        (lambda x, m, c: stats.multivariate_normal(m, both(c)).cdf(x), (B, A, COV)),
        (lambda x: stats.multivariate_normal(A, COV).logcdf(x), (B,)),
        (lambda x, m, c: stats.multivariate_normal.cdf(x, m, c), (0.3, 0.1, 1.3)),
        (lambda x, a: stats.multivariate_normal.cdf(x, None, COV, lower_limit=a), (B, A)),
    ],
)
def test_normal(f, args, check_traced):
    check_traced(f, *args)


def test_twice():
    def slope(c):
        return np.sum(autodiff.gradient(lambda c: box(A, B, both(c)), c) * np.cos(COV))

    h = 1e-5
    step = np.array([[1.0, 0.5], [0.5, -0.3]])
    expected = (slope(COV + h * step) - slope(COV - h * step)) / (2 * h)
    np.testing.assert_allclose(np.sum(autodiff.gradient(slope, COV) * step), expected, rtol=1e-7)


def test_orthant_of_three():
    def orthant(r):
        one = np.ones(())
        rows = [[one, r[0], r[1]], [r[0], one, r[2]], [r[1], r[2], one]]
        cov = np.stack([np.stack(row) for row in rows])
        return stats.multivariate_normal.cdf(np.zeros(3), np.zeros(3), cov)

    r = np.array([0.3, 0.1, -0.2])
    np.testing.assert_allclose(
        autodiff.gradient(orthant, r), 1 / (4 * np.pi * np.sqrt(1 - r * r)), rtol=1e-9
    )


def test_orthant_of_four():
    """With equal correlations ρ it is ∫ Φ(√(ρ/(1-ρ)) t)⁴ φ(t) dt; faces are sampled."""

    def orthant(r):
        cov = np.eye(4) + r * (1 - np.eye(4))
        return stats.multivariate_normal.cdf(np.zeros(4), np.zeros(4), cov)

    def slope(t):  # d/dρ √(ρ/(1-ρ)) = 2 at 1/2
        return 4 * special.ndtr(t) ** 3 * stats.norm.pdf(t) ** 2 * 2 * t

    expected = integrate.quad(slope, -10, 10)[0]
    assert autodiff.gradient(orthant, 0.5) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("df", [1.0, 4.3, 60.0])
def test_student(df):
    """In one dimension it is Student's distribution."""

    def plane(x, s, df):
        cov = np.array([[1.0, 0.0], [0.0, 1.0]]) * s**2
        limits = np.stack([x, np.inf * np.ones(())])
        return stats.multivariate_t.cdf(limits, None, cov, df, maxpts=20, random_state=1)

    x, s = 0.4, 1.3
    found = autodiff.gradient(plane, x, s, df)
    expected = autodiff.gradient(lambda x, s, df: stats.t.cdf(x / s, df), x, s, df)
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    pushed = autodiff.jvp(plane, (x, s, df), (1.0, 0.5, -0.3))[1]
    np.testing.assert_allclose(pushed, expected @ np.array([1.0, 0.5, -0.3]), rtol=1e-8)
