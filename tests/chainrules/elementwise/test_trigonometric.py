import numpy as np
import pytest

from chainrules_core import rrule
from chainrules_core.testing import (
    COMPLEX,
    NONZERO,
    REAL,
    SYMMETRIC_UNIT,
    UNIT,
    check_rule,
    check_scalar,
)

UNARY = [
    (np.sin, REAL),
    (np.cos, REAL),
    (np.tan, UNIT),
    (np.arcsin, SYMMETRIC_UNIT),
    (np.arccos, SYMMETRIC_UNIT),
    (np.arctan, REAL),
    (np.degrees, REAL),
    (np.rad2deg, REAL),
    (np.radians, REAL),
    (np.deg2rad, REAL),
    (np.sinc, REAL),
    (np.sinc, UNIT),
]
HOLOMORPHIC = [np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.sinc]
BINARY = [np.arctan2, np.hypot]
# On both sides of every branch cut, near it and far from it.
PLANE = [0.3 + 0.4j, -2 + 0.3j, -2 - 0.3j, 2 + 0.3j, 2 - 0.3j, -0.4 + 1.8j, 0.4 - 1.8j, 3.0 + 2j]


@pytest.mark.parametrize("f, domain", UNARY)
def test_unary(f, domain, check_unary):
    check_unary(f, domain)


@pytest.mark.parametrize("f", HOLOMORPHIC)
@pytest.mark.parametrize("z", PLANE, ids=str)
def test_complex_numbers(f, z):
    check_scalar(f, z)


@pytest.mark.parametrize("f", HOLOMORPHIC)
def test_complex_arrays(f):
    check_rule(f, COMPLEX.draw((2, 2)))
    check_rule(f, COMPLEX.draw(3, np.complex64))


@pytest.mark.parametrize("f", BINARY)
def test_binary(f, check_binary):
    check_binary(f, NONZERO)


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_angles_of_many(scale):
    a, b = NONZERO.draw(300), NONZERO.draw(300)
    bars = rrule(np.arctan2, scale * a, scale * b)[1](np.full(300, scale))[1:]
    expected = rrule(np.arctan2, a[:1], b[:1])[1](np.ones(1))[1:]
    for bar, first in zip(bars, expected, strict=True):
        np.testing.assert_allclose(bar[:1], first, rtol=1e-14)
    check_rule(np.arctan2, a[:256], b[:256])


@pytest.mark.parametrize("shapes", [(40_000, 40_000), ((300, 1), 300), (300, (20, 300))])
def test_angles_of_very_many(shapes):
    a, b = [NONZERO.draw(shape) for shape in shapes]
    bar = np.cos(np.arange(np.size(a + b))).reshape(np.shape(a + b))
    a_bar, b_bar = rrule(np.arctan2, a, b)[1](bar)[1:]
    for x, x_bar, slope in (
        (a, a_bar, lambda h: np.arctan2(a + h, b)), (b, b_bar, lambda h: np.arctan2(a, b + h))
    ):  # fmt: skip
        moved = (slope(1e-6) - slope(-1e-6)) / 2e-6 * bar
        axes = tuple(i for i, n in enumerate(np.shape(x)[::-1], 1) if n == 1)
        expected = np.sum(moved, tuple(-i for i in axes), keepdims=True)
        expected = np.sum(expected, tuple(range(np.ndim(moved) - np.ndim(x))))
        np.testing.assert_allclose(x_bar, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("x", [1e-5, 0.01, 0.09, 0.1, -0.05, np.array([0.0, 1e-7, 0.2, 3])])
def test_sinc_near_zero(x):
    check_rule(np.sinc, x)


def test_unwrap():
    p = np.array([0.1, 3.0, 6.1, 9.3, 12.5, 12.8])
    check_rule(np.unwrap, p)
    check_rule(np.unwrap, np.stack([p, p[::-1] + 0.35]), None, 1)
    check_rule(np.unwrap, np.stack([p, p[::-1] + 0.35]), 3.5, 0)
    check_rule(np.unwrap, p, fkwargs={"period": 4.0, "discont": 3.5})
    check_rule(np.unwrap, p.astype(np.float32))


def test_period_of_unwrap(check_modes):
    p = np.array([0.1, 3.0, 6.1, 9.3, 12.5, 2.8])
    check_modes(lambda p, period: np.unwrap(p, period=period), p, 4.3)
    check_modes(lambda p, t: np.unwrap(np.stack([p, p[::-1]]), t, 0, period=2 * t), p, 2.1)


@pytest.mark.parametrize("f, domain", UNARY)
def test_engine(f, domain, check_engine):
    check_engine(f, domain.draw(3))
    check_engine(lambda x: f(x[0]) * x, domain.draw(2))


@pytest.mark.parametrize("f", HOLOMORPHIC)
def test_engine_with_complex_numbers(f, check_engine):
    check_engine(lambda x: f(x * (0.3 + 0.4j) + x[0] * 0.2), UNIT.draw(3))


@pytest.mark.parametrize("f", BINARY)
def test_engine_with_two_arguments(f, check_engine):
    check_engine(lambda x: f(x, x[::-1] * 2), NONZERO.draw(3))
    check_engine(lambda x: f(x[0], x[1]) * x, NONZERO.draw(2))
    check_engine(lambda x: f(1.5, x[:, None]), NONZERO.draw(2))


def test_engine_through_other_functions(check_engine):
    check_engine(lambda x: np.sinc(x), np.array([0.0, 0.02, 0.6]))
    check_engine(lambda x: np.unwrap(x) * x, np.array([0.1, 3.0, 6.1, 9.3]))
