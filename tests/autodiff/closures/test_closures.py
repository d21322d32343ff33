"""Rules of higher-order functions, and what the functions given to them have captured."""

import functools
import math
from collections.abc import Callable

import numpy as np
import pytest

from autodiff import (
    DifferentiationError,
    MutationError,
    checkpoint,
    cotangent_hook,
    custom_gradient,
    gradient,
    hessian,
    hvp,
    pushforward,
)
from chainrules_core import (
    AbstractZero,
    Closure,
    HasForwardMode,
    HasReverseMode,
    NoTangent,
    Real,
    ZeroTangent,
    add,
    frule,
    frule_via_ad,
    rrule,
    rrule_via_ad,
)
from tests.helpers import differences

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
X = np.array([1.3, 0.7, 2.0])


def integral(f, a, b):
    # math.fsum would lose a traced value: only the rules see this function.
    return math.fsum(
        w * (b - a) / 2 * f((a + b) / 2 + (b - a) / 2 * t)
        for t, w in zip(NODES, WEIGHTS, strict=True)
    )


@pytest.fixture(autouse=True)
def rules():
    @rrule.register(integral, Callable, Real, Real, requires={HasReverseMode})
    def integral_rrule(config, f, a, b):
        def integral_pullback(y_bar):
            total = NoTangent()
            for t, w in zip(NODES, WEIGHTS, strict=True):
                _, pull = rrule_via_ad(config, f, (a + b) / 2 + (b - a) / 2 * t)
                total = add(total, pull(w * (b - a) / 2 * y_bar)[0])
            return NoTangent(), total, -f(a) * y_bar, f(b) * y_bar

        return integral(f, a, b), integral_pullback

    @frule.register(integral, Callable, Real, Real, requires={HasForwardMode})
    def integral_frule(config, dots, f, a, b):
        f_dot, a_dot, b_dot = dots

        def slope(t):
            return frule_via_ad(config, (f_dot, ZeroTangent()), f, t)[1]

        inside = 0.0 if isinstance(f_dot, AbstractZero) else integral(slope, a, b)
        return integral(f, a, b), inside + f(b) * b_dot - f(a) * a_dot


def of_a_lambda(x):
    return integral(lambda t: math.sin(x[0] * t) * x[1], 0.0, x[2]) ** 2


def of_a_nested_function(x):
    gain = x[1]

    def inner(t):
        def deeper(u):
            return math.exp(-gain * u)

        return deeper(t) * x[0]

    return integral(inner, x[2] * 0.1, 1.0)


def of_a_partial(x):
    def wave(k, phase, t):
        return math.cos(k * t + phase)

    return integral(functools.partial(wave, x[0], x[1]), 0.0, x[2])


def of_a_default(x):
    def f(t, a=x[0], *, b=x[1]):
        return a * t**2 + math.tanh(b * t)

    return integral(f, 0.0, x[2])


class Line:
    def __init__(self, slope, offset):
        self.slope, self.offset = slope, offset

    def at(self, t):
        return math.sin(self.slope * t) + self.offset

    def __call__(self, t):
        return self.at(t) ** 2


def of_a_bound_method(x):
    return integral(Line(x[0], x[1]).at, 0.0, x[2])


def of_a_callable_object(x):
    return integral(Line(x[0], x[1]), 0.0, x[2])


def of_an_array_and_a_constant(x):
    weights = np.array([1.0, 2.0, 3.0])
    return integral(lambda t: float(np.sum(weights * np.sin(x * t))), 0.0, 1.0)


def of_a_double_integral(x):
    return integral(lambda t: integral(lambda u: math.exp(x[0] * t * u) * x[1], 0.0, t), 0.0, x[2])


def of_a_function_that_counts(x):
    calls = 0
    seen = []

    def f(t):
        nonlocal calls
        calls += 1
        seen.append(t)
        return x[0] * t

    y = integral(f, 0.0, x[1])
    assert calls >= 12
    assert len(seen) == calls
    return y


def of_a_function_that_calls_itself(x):
    def power(t, n=3):
        return x[0] if n == 0 else math.sin(t) * power(t, n - 1)

    return integral(power, 0.0, x[1])


def of_a_plain_function(x):
    return integral(math.exp, x[0], x[2]) * integral(lambda t: t * t, 0.0, x[1])


PROGRAMS = [
    of_a_lambda, of_a_nested_function, of_a_partial, of_a_default, of_a_bound_method,
    of_a_callable_object, of_an_array_and_a_constant, of_a_double_integral, of_a_plain_function,
    of_a_function_that_counts, of_a_function_that_calls_itself,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_reverse(f):
    np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-7)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_forward(f):
    direction = np.array([0.3, -1.0, 0.5])
    expected = differences(f, X) @ direction
    np.testing.assert_allclose(pushforward(f, X)[1](direction), expected, rtol=1e-7)


@pytest.mark.parametrize("f", [of_a_lambda, of_a_bound_method, of_a_callable_object])
def test_second_order(f):
    expected = differences(lambda x: gradient(f, x), X)
    np.testing.assert_allclose(hessian(f, X), expected, rtol=1e-6, atol=1e-8)


def test_a_closure_is_a_struct():
    line = Closure(lambda values: lambda x: values[0] * x + values[1], (2.0, 1.0))
    assert line(3.0) == 7.0
    assert gradient(lambda c: c(3.0) ** 2, line).values == (42.0, 14.0)


def higher(f, x):
    return f(x)


def test_a_rule_that_forgets_the_captured_values_is_wrong_only_by_its_own_word():
    @rrule.register(higher, Callable, Real)
    def higher_rrule(f, x):
        return f(x), lambda y_bar: (NoTangent(), NoTangent(), y_bar)

    # NoTangent says that the function cannot be perturbed, which is the rule's to say.
    assert gradient(lambda a: higher(lambda t: a * t, 2.0), 3.0) == 0.0


def test_a_captured_value_in_an_option_is_an_error():
    def scaled(x, *, by):
        return by(x)

    @rrule.register(scaled, Real)
    def scaled_rrule(x, *, by):
        return by(x), lambda y_bar: y_bar

    with pytest.raises(DifferentiationError, match="by"):
        gradient(lambda a: scaled(a, by=lambda t: a * t), 3.0)


def test_assignments_outside_would_lose_a_derivative():
    def f(x):
        total = 0.0

        def inner(t):
            nonlocal total
            total = total + x * t
            return x * t

        return integral(inner, 0.0, 1.0) + total

    with pytest.raises(MutationError, match="assigns to 'total'"):
        gradient(f, 2.0)


# ------------------------------------------------------ variables that are bound to other values


def in_a_loop(x):
    total = 0.0
    for n in range(1, 4):
        total += integral(lambda t: n * math.sin(t * x[0]), 0.0, 1.0) * n  # noqa: B023
    return total


def bound_later(x):
    k = 2.0
    total = integral(lambda t: k * t * x[0] ** 2, 0.0, x[1])
    k = 100.0
    return total + k


def of_constants_bound_later(x):
    k = 2.0
    total = integral(lambda t: k * math.sin(t), 0.0, x[1] * 2)
    k = 100.0
    return total + k


def through_another_function(x):
    k = 2.0

    def scaled(t):
        return k * t

    total = integral(lambda t: scaled(t) ** 2 * x[0] ** 2, 0.0, x[1])
    k = 100.0
    return total + k


def with_a_counter(x):
    calls, values = 0, []

    def f(t):
        nonlocal calls
        calls += 1
        values.append(t)
        return math.sin(t * x[0]) * x[1]

    total = integral(f, 0.0, 1.0) + integral(f, 1.0, 2.0)
    return total * (1.0 if calls == len(values) >= 24 else 0.0)


def checkpoints_in_a_loop(x):
    for n in range(1, 4):
        x = checkpoint(lambda v: np.sin(v) * n)(x)  # noqa: B023
    return np.sum(x)


@pytest.mark.parametrize(
    "f",
    [
        in_a_loop, bound_later, of_constants_bound_later, through_another_function, with_a_counter,
        checkpoints_in_a_loop,
    ],
)  # fmt: skip
def test_a_function_keeps_the_variables_that_it_had(f, differences):
    found, v = gradient(f, X), np.array([0.3, -1.0, 0.5])
    np.testing.assert_allclose(found, differences(f, X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(pushforward(f, X)[1](v), found @ v, rtol=1e-10)
    second = (gradient(f, X + 1e-5 * v) - gradient(f, X - 1e-5 * v)) / 2e-5
    np.testing.assert_allclose(hvp(f, X, v), second, rtol=1e-5, atol=1e-7)


def test_so_do_hooks_and_custom_pullbacks():
    def custom(x):
        total = 0.0
        for n in range(1, 4):
            times = custom_gradient(lambda v: (v * n, lambda v_bar: v_bar * n))  # noqa: B023
            total += times(x)
        return total

    def hooked(x):
        total = 0.0
        for n in range(1, 4):
            total += cotangent_hook(x, lambda x_bar: n * x_bar)  # noqa: B023
        return total

    assert gradient(custom, 2.0) == gradient(hooked, 2.0) == 6.0


SCALE = 2.0


class Scale:
    value = 2.0

    def __call__(self, x, t):
        return self.value * math.sin(t * x[0])


@pytest.mark.parametrize("kind", ["list", "dict", "object", "callable object", "module", "partial"])
def test_what_changes_inside_of_what_it_reads_is_an_error(kind):
    def f(x):
        global SCALE
        values, named, made, SCALE = [2.0], {"k": 2.0}, Scale(), 2.0
        made.value = 2.0
        functions = {
            "list": lambda t: values[0] * math.sin(t * x[0]),
            "dict": lambda t: named["k"] * math.sin(t * x[0]),
            "object": lambda t: made.value * math.sin(t * x[0]),
            "callable object": functools.partial(made, x),
            "module": lambda t: SCALE * math.sin(t * x[0]),
            "partial": functools.partial(lambda c, t: c[0] * math.sin(t * x[0]), values),
        }
        total = integral(functions[kind], 0.0, 1.0)
        values[0] = named["k"] = made.value = SCALE = 50.0
        return total

    with pytest.raises(MutationError, match="has another value"):
        gradient(f, X)
