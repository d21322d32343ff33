"""What can be asked of the checks besides the usual, and what they report."""

import pickle
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

from chainrules_core import (
    HasForwardMode,
    HasReverseMode,
    NoTangent,
    Tangent,
    ZeroTangent,
    frule,
    not_implemented,
    rrule,
    scalar_rule,
    thunk,
    unthunk,
)
from chainrules_core.testing import (
    MissingDerivativeWarning,
    RuleCheckError,
    TestConfig,
    check_frule,
    check_rrule,
    check_rule,
    check_scalar,
    with_tangent,
)

X = np.array([0.5, -1.5, 2.0])
Z = np.array([[1.0 + 2.0j, -0.5 + 0.25j]])
Pair = namedtuple("Pair", "a b")


@dataclass
class Foo:
    a: np.ndarray
    c: float
    name: str = "foo"


def foo_mul(foo, b):
    return foo.a @ b


def foo_mul_rrule(foo, b):
    def foo_mul_pullback(y_bar):
        foo_bar = Tangent[Foo](a=np.outer(y_bar, b), c=ZeroTangent())
        return NoTangent(), foo_bar, thunk(lambda: foo.a.T @ y_bar)

    return foo_mul(foo, b), foo_mul_pullback


def test_given_tangents(registered):
    registered(foo_mul, rrule_=foo_mul_rrule)
    foo = Foo(np.arange(6.0).reshape(2, 3), 3.0)
    check_rrule(
        foo_mul,
        with_tangent(foo, Tangent[Foo](a=np.ones((2, 3)), c=1.0)),
        with_tangent(X, np.ones(3)),
        output_tangent=np.array([1.0, -1.0]),
    )


def test_perturbed_integer(defined):
    def square(x):
        return x * x

    defined(square)
    scalar_rule(square, lambda y, x: 2 * x)
    check_rrule(square, with_tangent(3, 1.0))


def test_random_numbers_are_the_same_each_time(registered):
    def noisy(x, rng):
        return x * rng.standard_normal(3)

    def noisy_rrule(x, rng):
        noise = rng.standard_normal(3)

        def noisy_pullback(y_bar):
            return noise * y_bar, NoTangent()

        return x * noise, noisy_pullback

    registered(noisy, rrule_=noisy_rrule)
    check_rrule(noisy, X, np.random.default_rng(0))


def test_missing_derivatives(registered):
    def multiply(a, b):
        return a * b

    def multiply_rrule(a, b):
        def multiply_pullback(y_bar):
            return y_bar * b, not_implemented("by b")

        return a * b, multiply_pullback

    registered(multiply, rrule_=multiply_rrule)
    with pytest.warns(MissingDerivativeWarning, match=r"argument 2 \(b\): by b"):
        result = check_rrule(multiply, 2.0, 3.0)
    ((label, marker),) = result.missing
    assert (label, marker.reason) == ("argument 2 (b)", "by b")
    assert check_rrule(multiply, 2.0, 3.0, on_missing="allow").missing
    with pytest.raises(RuleCheckError, match="not implemented, and so not checked"):
        check_rrule(multiply, 2.0, 3.0, on_missing="fail")
    with pytest.raises(ValueError, match="on_missing"):
        check_rrule(multiply, 2.0, 3.0, on_missing="ignore")


def test_missing_part_of_a_structure(registered):
    def product(p):
        return p.a * p.b

    def product_rrule(p):
        def product_pullback(y_bar):
            return Tangent[Pair](a=y_bar * p.b, b=not_implemented("by b"))

        return p.a * p.b, product_pullback

    def wrong_rrule(p):
        def product_pullback(y_bar):
            return Tangent[Pair](a=-y_bar * p.b, b=not_implemented("by b"))

        return p.a * p.b, product_pullback

    registered(product, rrule_=product_rrule)
    assert len(check_rrule(product, Pair(2.0, 3.0), on_missing="allow").missing) == 1
    registered(product, Pair, rrule_=wrong_rrule)
    with pytest.raises(RuleCheckError, match=r"at \.a: .*is a sign missing"):
        check_rrule(product, Pair(2.0, 3.0), on_missing="allow")


def test_rules_that_call_back_into_the_engine():
    def apply_twice(f, x):
        return f(f(x))

    @rrule.register(apply_twice, requires=HasReverseMode)
    def apply_twice_rrule(config, f, x):
        inner, inner_pullback = config.rrule_via_ad(f, x)
        outer, outer_pullback = config.rrule_via_ad(f, inner)

        def apply_twice_pullback(y_bar):
            return NoTangent(), NoTangent(), inner_pullback(outer_pullback(y_bar)[1])[1]

        return outer, apply_twice_pullback

    @frule.register(apply_twice, requires=HasForwardMode)
    def apply_twice_frule(config, dots, f, x):
        inner, inner_dot = config.frule_via_ad((NoTangent(), dots[1]), f, x)
        return config.frule_via_ad((NoTangent(), inner_dot), f, inner)

    try:
        check_rule(apply_twice, np.tanh, X, config=TestConfig())
        check_rule(apply_twice, lambda x: x * x, 1.5, config=TestConfig())
        with pytest.raises(RuleCheckError, match="TestConfig"):
            check_rule(apply_twice, np.tanh, X)
    finally:
        rrule.unregister(apply_twice)
        frule.unregister(apply_twice)


@pytest.mark.parametrize("z", [2.0, np.float32(2.0), 1.0 - 2.0j, np.complex64(1 - 2j), 3])
def test_check_scalar(defined, z):
    def inverse(z):
        return 1 / z

    defined(inverse)
    scalar_rule(inverse, lambda y, z: -y * y)
    assert check_scalar(inverse, z).y == 1 / z


def test_check_scalar_finds_what_a_real_direction_does_not(registered):
    def double_real(z):
        return 2 * z.real

    def wrong_frule(dots, z):
        return 2 * z.real, 2 * abs(dots[0])

    def double_real_rrule(z):
        def double_real_pullback(y_bar):
            return 2 * y_bar + 0j

        return 2 * z.real, double_real_pullback

    registered(double_real, rrule_=double_real_rrule, frule_=wrong_frule)
    check_frule(double_real, with_tangent(1.0 + 2.0j, 1.0 + 0j))
    with pytest.raises(RuleCheckError, match="tangent differs"):
        check_scalar(double_real, 1.0 + 2.0j)


def test_engine_in_place_of_rrule():
    config = TestConfig()
    check_rrule(foo_mul, Foo(np.ones((2, 3)), 3.0), X, rrule_f=config.rrule_via_ad)
    check_frule(foo_mul, Foo(np.ones((2, 3)), 3.0), X, frule_f=config.frule_via_ad)


def test_strict(defined, monkeypatch):
    def rounded(x):
        return x.round(3)

    def square(x):
        return x * x

    monkeypatch.setenv("CHAINRULES_TEST_STRICT", "1")
    defined(square)
    scalar_rule(square, lambda y, x: 2 * x)
    check_rule(square, np.arange(1.0, 100.0))
    check_rule(square, np.arange(1.0, 1000.0))
    with pytest.raises(RuleCheckError, match="it is a float, where the function returns a float64"):
        check_rrule(
            np.sqrt, 2.0, rrule_f=lambda f, x: (x**0.5, lambda v: (NoTangent(), v / x**0.5 / 2))
        )


def test_failures_are_short_and_keep_their_cause():
    def rule(f, x):
        return x, lambda y_bar: 1 / 0

    with pytest.raises(RuleCheckError, match="ZeroDivisionError") as caught:
        check_rrule(np.positive, X, rrule_f=rule)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert len(caught.traceback) <= 3
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.subject) == (str(caught.value), caught.value.subject)


def test_inf_and_nan_make_no_noise():
    inverse = lambda f, x: (1 / x, lambda v: (NoTangent(), -unthunk(v) / x**2))  # noqa: E731
    check_rrule(lambda x: 1 / x, np.array([1.0, np.inf, 4.0]), rrule_f=inverse, equal_nan=True)
