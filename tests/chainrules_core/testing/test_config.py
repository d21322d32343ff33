"""TestConfig differentiates by rules where there are any, else by finite differences."""

import numpy as np
import pytest

from chainrules_core import (
    HasForwardMode,
    HasReverseMode,
    NoTangent,
    Tangent,
    frule_via_ad,
    rrule_via_ad,
)
from chainrules_core.testing import TestConfig, forward_fdm


class Scale:
    def __init__(self, a):
        self.a = a

    def __call__(self, x):
        return self.a * x


def test_capabilities():
    assert TestConfig().has(HasReverseMode, HasForwardMode)
    assert TestConfig.__test__ is False


def test_rules_first(registered):
    def f(x):
        return 2 * x

    registered(
        f,
        rrule_=lambda x: (f(x), lambda v: (NoTangent(), 77.0)),
        frule_=lambda dots, x: (f(x), 78.0),
    )
    assert rrule_via_ad(TestConfig(), f, 1.0)[1](1.0)[1] == 77.0
    assert frule_via_ad(TestConfig(), (NoTangent(), 1.0), f, 1.0)[1] == 78.0


def test_finite_differences():
    config = TestConfig()
    y, pullback = config.rrule_via_ad(lambda x, n: x**n, np.array([1.0, 2.0]), 3)
    f_bar, x_bar, n_bar = pullback(np.ones(2))
    assert y.tolist() == [1.0, 8.0]
    assert x_bar == pytest.approx(np.array([3.0, 12.0]))
    assert isinstance(f_bar, NoTangent)
    assert isinstance(n_bar, NoTangent)
    y, y_dot = config.frule_via_ad((NoTangent(), 2.0), lambda x: x * x, 3.0)
    assert (y, y_dot) == (9.0, pytest.approx(12.0))


def test_callable_objects():
    y, pullback = TestConfig().rrule_via_ad(Scale(2.0), 3.0)
    f_bar, x_bar = pullback(1.0)
    assert y == 6.0
    assert f_bar.a == pytest.approx(3.0)
    assert x_bar == pytest.approx(2.0)
    _, y_dot = TestConfig().frule_via_ad((Tangent[Scale](a=1.0), 0.0), Scale(2.0), 3.0)
    assert y_dot == pytest.approx(3.0)


def test_method_and_keywords():
    config = TestConfig(forward_fdm())
    _, pullback = config.rrule_via_ad(lambda x, *, sign: sign * abs(x), 0.0, sign=-1)
    assert pullback(1.0)[1] == pytest.approx(-1.0)
