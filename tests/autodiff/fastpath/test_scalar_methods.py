"""Functions of two floats: after some calls they are generated code, with the same derivatives."""

import math

import pytest

import autodiff
from autodiff import gradient
from autodiff.dispatch import dispatch_cache, plan_cache
from autodiff.trace.tracer import FloatTracer
from chainrules_core import rrule

FUNCTIONS = {
    math.pow: [(1.7, 2.3), (0.3, -1.5), (-1.5, 3.0), (0.0, 2.0), (0.0, 0.5), (2.0, 0.0)],
    math.fmod: [(7.3, 2.1), (-7.3, 2.1)],
    math.remainder: [(7.3, 2.1)],
    math.log: [(1.7, 2.3), (0.4, 10.0)],
}
CALLS = [(f, args) for f, points in FUNCTIONS.items() for args in points]


@pytest.fixture(autouse=True)
def traced_without_code():
    """Drop what was generated, and trace: a program would run in place of the calls."""
    before = autodiff.automatic_compile(False)
    plan_cache._plans.clear()
    for f in FUNCTIONS:
        dispatch_cache.ways_of(f).clear()
    yield
    autodiff.automatic_compile(before)


def power(x, y):
    return math.pow(x, y)


def of_both(f):
    def g(x, y):
        return f(x, y) * 3.0

    return g


def of_first(f, y):
    return lambda x: f(x, y) * 3.0


def of_second(f, x):
    return lambda y: f(x, y) * 3.0


@pytest.mark.parametrize("f, args", CALLS)
def test_generated_code_has_the_bits_of_the_first_calls(f, args):
    x, y = args
    cases = [(of_both(f), args), (of_first(f, y), (x,)), (of_second(f, x), (y,))]
    first = [repr(gradient(g, *given)) for g, given in cases]
    for _ in range(dispatch_cache.OFTEN + 2):
        for g, given in cases:
            gradient(g, *given)
    known = dispatch_cache.ways_of(f)
    assert {(FloatTracer, FloatTracer), (FloatTracer, float), (float, FloatTracer)} <= set(known)
    assert [repr(gradient(g, *given)) for g, given in cases] == first


def test_other_levels_are_left_to_the_rule():
    for _ in range(dispatch_cache.OFTEN + 2):
        gradient(power, 1.7, 2.3)
    assert math.pow in dispatch_cache._ways
    hessian = autodiff.hessian(power, 1.7, 2.3)
    assert hessian[0][0] == pytest.approx(2.3 * 1.3 * 1.7**0.3)
    assert hessian[0][1] == pytest.approx(1.7**1.3 * (1 + 2.3 * math.log(1.7)))
    assert autodiff.derivative(power, 1.7, 2.3) == pytest.approx(2.3 * 1.7**1.3)


def test_an_error_of_the_function_is_raised():
    for _ in range(dispatch_cache.OFTEN + 2):
        gradient(power, 1.7, 2.3)
    with pytest.raises(ValueError, match="math domain"):
        gradient(power, -1.7, 2.3)


def test_a_new_rule_takes_effect():
    rule = rrule.entry(math.pow).find((float, float))
    for _ in range(dispatch_cache.OFTEN + 2):
        gradient(power, 1.7, 2.3)
    before = gradient(power, 1.7, 2.3)

    @rrule.register(math.pow, float, float)
    def wrong_rrule(x, y):
        return math.pow(x, y), lambda y_bar: (5.0 * y_bar, 7.0 * y_bar)

    try:
        assert gradient(power, 1.7, 2.3) == (5.0, 7.0)
    finally:
        rrule.unregister(math.pow, float, float)
    assert rrule.entry(math.pow).find((float, float)) is rule
    assert gradient(power, 1.7, 2.3) == before
