"""What rules of higher-order functions see in containers, and on several levels."""

from collections.abc import Callable

import numpy as np
import pytest

from autodiff import gradient
from chainrules_core import (
    Closure,
    HasReverseMode,
    NoTangent,
    decompose,
    non_differentiable,
    rrule,
    rrule_via_ad,
)


def count(f, functions):
    return sum(type(g) is Closure for g in functions)


def total(params):
    return sum(f(x) for f, (x,) in params)


def rounded(x, *, of=()):
    return float(np.round(x + of[0]))


@pytest.fixture(autouse=True)
def rules():
    @decompose(count, Callable)
    def count_body(f, functions):
        return sum(type(g) is Closure for g in functions)

    @rrule.register(total, requires={HasReverseMode})
    def total_rrule(config, params):
        def run(params):
            return sum(f(x) for f, (x,) in params)

        y, pull = rrule_via_ad(config, run, params)
        return y, lambda y_bar: (NoTangent(), pull(y_bar)[1])

    non_differentiable(rounded)


def test_functions_in_lists_are_closures():
    seen = []

    def f(a):
        seen.append(count(lambda t: a * t, [lambda t: a + t, abs]))
        return a

    gradient(f, 2.0)
    assert seen == [1]


def test_an_object_in_two_places_counts_each_place_once():
    def f(x):
        shared = (x,)
        return total(((np.sin, shared), (np.cos, shared)))

    assert gradient(f, 0.3) == pytest.approx(np.cos(0.3) - np.sin(0.3))


def test_options_of_a_constant_on_two_levels():
    def f(x):
        return gradient(lambda z: rounded(1.0, of=(x,)) * z * x, x) * x

    assert gradient(f, 2.0) == pytest.approx(2 * 2.0 * 3.0)
