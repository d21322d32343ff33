"""The page "Which functions need rules?"."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff.trace.tracer import is_tracer
from chainrules_core import NoTangent, Tangent, frule, rrule, scalar_rule
from chainrules_core.testing import check_rrule

# ------------------------------------------------------------------- functions that need a rule


def test_a_function_whose_body_cannot_be_seen_needs_a_rule() -> None:
    """Python's counterpart of a ccall: a pointer to machine code."""
    pointer = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x**3)
    cube = np.frompyfunc(pointer, 1, 1)
    with pytest.raises(autodiff.MissingRuleError, match="no rule"):
        autodiff.gradient(lambda x: cube(x) * 2.0, 3.0)
    scalar_rule(cube, lambda y, x: 3 * x**2)
    assert autodiff.gradient(lambda x: cube(x) * 2.0, 3.0) == 54.0
    rrule.unregister(cube)
    with pytest.raises(autodiff.MissingRuleError, match="no rule"):
        autodiff.gradient(lambda x: cube(x) * 2.0, 3.0)


def integral(f: Callable, a: float, b: float) -> Any:
    """Integrate by the midpoint rule."""
    n = 1000
    h = (b - a) / n
    total = 0.0
    for i in range(n):
        total = total + f(a + (i + 0.5) * h)
    return total * h


def test_an_insight_may_replace_the_derivative_of_an_algorithm() -> None:
    """The derivative of an integral with respect to its limits is the integrand."""
    evaluated: list[Any] = []

    def integrand(x: float) -> float:
        evaluated.append(x)
        return x * x * x - x

    plain = autodiff.gradient(integral, integrand, 0.5, 2.0)
    assert plain[0] is None

    @rrule.register(integral)
    def integral_rrule(f: Callable, a: float, b: float) -> tuple[float, Callable]:
        y = integral(f, a, b)

        def integral_pullback(y_bar: float) -> tuple:
            return NoTangent(), NoTangent(), -f(a) * y_bar, f(b) * y_bar

        return y, integral_pullback

    evaluated.clear()
    ruled = autodiff.gradient(integral, integrand, 0.5, 2.0)
    assert len(evaluated) == 1000 + 2
    assert not any(map(is_tracer, evaluated))
    assert ruled[0] is None
    np.testing.assert_allclose(ruled[1:], plain[1:], rtol=1e-5)


# ---------------------------------------------------------------- functions which mutate arrays


def addone(a: np.ndarray) -> Any:
    b = np.empty_like(a)
    b[:] = a + 1
    return b.sum()


def addone_by_zeros(a: np.ndarray) -> Any:
    b = np.zeros(len(a))
    b[:] = a + 1
    return b.sum()


def addone_in_place(array: np.ndarray) -> Any:
    array += 1
    return np.sum(array)


def register_addone(f: Callable) -> None:
    @rrule.register(f)
    def addone_rrule(a: np.ndarray) -> tuple[float, Callable]:
        y = f(a)

        def addone_pullback(y_bar: float) -> tuple:
            return NoTangent(), np.ones(len(a)) * y_bar

        return y, addone_pullback


@pytest.mark.parametrize("with_rule", [False, True], ids=["traced", "ruled"])
@pytest.mark.parametrize("f", [addone, addone_in_place])
def test_writes_are_followed_with_and_without_a_rule(f: Callable, with_rule: bool) -> None:
    if with_rule:
        register_addone(f)
    a = np.array([1.0, -2.0, 3.0])
    y, g = autodiff.value_and_gradient(f, a.copy())
    assert y == 5.0
    np.testing.assert_array_equal(g, [1.0, 1.0, 1.0])


def test_writes_into_a_buffer_of_zeros_are_followed() -> None:
    np.testing.assert_array_equal(autodiff.gradient(addone_by_zeros, np.ones(3)), np.ones(3))


def test_a_rule_spares_the_buffer_of_zeros() -> None:
    register_addone(addone_by_zeros)
    np.testing.assert_array_equal(autodiff.gradient(addone_by_zeros, np.ones(3)), np.ones(3))


def test_a_write_into_the_argument_leaves_the_users_array_alone_while_traced() -> None:
    a = np.array([1.0, 2.0])
    assert autodiff.value_and_gradient(addone_in_place, a)[0] == 5.0
    np.testing.assert_array_equal(a, [1.0, 2.0])


def test_a_write_into_the_argument_that_matters() -> None:
    """Gradient of the function as called: what is read is what has been written."""

    def f(x: np.ndarray) -> Any:
        before = x[0] * 10.0
        x[0] = x[1] * x[1]
        x[1] = 5.0
        return before + x[0] + x[1] * x[2]

    np.testing.assert_array_equal(autodiff.gradient(f, np.array([1.0, 2.0, 3.0])), [10.0, 4.0, 5.0])


# ------------------------------------------------------------------- a rule defined after gradient


def test_a_rule_defined_after_the_first_gradient_takes_effect_at_once() -> None:
    calls: list[str] = []

    def f(x: float) -> float:
        return x * x

    assert autodiff.gradient(f, 3.0) == 6.0

    @rrule.register(f)
    def f_rrule(x: float) -> tuple[float, Callable]:
        def f_pullback(y_bar: float) -> tuple:
            calls.append("first")
            return NoTangent(), 2 * x * y_bar

        return f(x), f_pullback

    assert autodiff.gradient(f, 3.0) == 6.0
    assert calls == ["first"]

    @rrule.register(f)
    def f_rrule_again(x: float) -> tuple[float, Callable]:
        def f_pullback(y_bar: float) -> tuple:
            calls.append("second")
            return NoTangent(), 2 * x * y_bar

        return f(x), f_pullback

    assert autodiff.gradient(f, 3.0) == 6.0
    assert calls == ["first", "second"]
    rrule.unregister(f)
    assert autodiff.gradient(f, 3.0) == 6.0
    assert calls == ["first", "second"]


def test_so_do_rules_of_functions_called_inside() -> None:
    """Through NumPy's door; that of a user's own function needs call interception."""
    square = np.frompyfunc(lambda x: x * x, 1, 1)

    def f(x: float) -> Any:
        return square(x) + x

    for factor in (2.0, 20.0, 2.0):
        scalar_rule(square, lambda y, x, factor=factor: factor * x)
        assert autodiff.gradient(f, 3.0) == factor * 3.0 + 1.0


def test_both_versions_side_by_side() -> None:
    """The page's way to compare: a twin of the function, and a rule for the twin."""
    used: list[float] = []

    def f(x: float) -> float:
        return x * x * x

    def f_cr(x: float) -> float:
        return f(x)

    @rrule.register(f_cr)
    def f_cr_rrule(x: float) -> tuple[float, Callable]:
        used.append(x)

        def f_cr_pullback(y_bar: float) -> tuple:
            return NoTangent(), 3 * x * x * y_bar

        return f_cr(x), f_cr_pullback

    assert autodiff.gradient(f, 2.0) == autodiff.gradient(f_cr, 2.0) == 12.0
    assert used == [2.0]


def test_a_rule_of_a_function_called_inside_takes_effect_at_once() -> None:
    used: list[float] = []

    def inner(x: float) -> float:
        return x * x

    def f(x: float) -> float:
        return inner(x) + x

    assert autodiff.gradient(f, 3.0) == 7.0

    @rrule.register(inner)
    def inner_rrule(x: float) -> tuple[float, Callable]:
        used.append(x)

        def inner_pullback(y_bar: float) -> tuple:
            return NoTangent(), 2 * x * y_bar

        return inner(x), inner_pullback

    assert autodiff.gradient(f, 3.0) == 7.0
    assert used == [3.0]


# ------------------------------------------------------------------------------ exception handling


def exception(x: float) -> Any:
    try:
        return x**2
    except ArithmeticError:
        print("could not square input")
        return None


def fallback(x: float) -> Any:
    try:
        if x < 0:
            raise ValueError("negative")
        return x**2
    except ValueError:
        return 7.0 * x
    finally:
        x = 0.0


@pytest.mark.parametrize("with_rule", [False, True], ids=["traced", "ruled"])
def test_try_and_except_where_nothing_is_raised(with_rule: bool) -> None:
    if with_rule:

        @rrule.register(exception)
        def exception_rrule(x: float) -> tuple[Any, Callable]:
            y = exception(x)

            def exception_pullback(y_bar: float) -> tuple:
                return NoTangent(), 2 * x * y_bar

            return y, exception_pullback

    assert autodiff.gradient(exception, 3.0) == 6.0


def test_try_and_except_where_something_is_raised(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(autodiff.OutputError, match="exception returned None"):
        autodiff.gradient(exception, 1e200)
    assert capsys.readouterr().out == "could not square input\n"


@pytest.mark.parametrize("x, expected", [(3.0, 6.0), (-3.0, 7.0)])
@pytest.mark.parametrize("with_rule", [False, True], ids=["traced", "ruled"])
def test_the_branch_that_was_run_is_the_one_differentiated(
    x: float, expected: float, with_rule: bool
) -> None:
    if with_rule:

        @rrule.register(fallback)
        def fallback_rrule(x: float) -> tuple[Any, Callable]:
            def fallback_pullback(y_bar: float) -> tuple:
                return NoTangent(), (7.0 if x < 0 else 2 * x) * y_bar

            return fallback(x), fallback_pullback

    assert autodiff.gradient(fallback, x) == expected


def test_an_exception_of_the_users_passes_through() -> None:
    def f(x: float) -> float:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        autodiff.gradient(f, 1.0)


# ------------------------------------------------------------------------------------------- loops


def mse(y: np.ndarray, y_hat: np.ndarray) -> Any:
    n = len(y)
    s = 0.0
    for i in range(n):
        s += (y[i] - y_hat[i]) ** 2.0
    return s / n


@pytest.mark.parametrize("with_rule", [False, True], ids=["traced", "ruled"])
def test_the_mean_squared_error_by_a_loop(with_rule: bool) -> None:
    if with_rule:

        @rrule.register(mse)
        def mse_rrule(x: np.ndarray, x_hat: np.ndarray) -> tuple[Any, Callable]:
            output = mse(x, x_hat)

            def mse_pullback(y_bar: float) -> tuple:
                g = (2 / len(x)) * (x - x_hat) * y_bar
                return NoTangent(), g, -g

            return output, mse_pullback

    rng = np.random.default_rng(0)
    y, y_hat = rng.random(30), rng.random(30)
    value, (y_bar, y_hat_bar) = autodiff.value_and_gradient(mse, y, y_hat)
    assert value == pytest.approx(np.mean((y - y_hat) ** 2))
    np.testing.assert_allclose(y_bar, 2 * (y - y_hat) / 30)
    np.testing.assert_allclose(y_hat_bar, -2 * (y - y_hat) / 30)
    if with_rule:
        check_rrule(mse, y[:4], y_hat[:4])


# --------------------------------------------------------------------------- in-place accumulation


def sum3(array: np.ndarray) -> Any:
    x = array[0]
    y = array[1]
    z = array[2]
    return x + y + z


@pytest.mark.parametrize("with_rule", [False, True], ids=["traced", "ruled"])
def test_the_sum_of_three_elements(with_rule: bool) -> None:
    if with_rule:

        @rrule.register(sum3)
        def sum3_rrule(a: np.ndarray) -> tuple[Any, Callable]:
            y = sum3(a)

            def sum3_pullback(y_bar: float) -> tuple:
                grad = np.zeros(len(a))
                grad[0:3] += y_bar
                return NoTangent(), grad

            return y, sum3_pullback

    g = autodiff.gradient(sum3, np.random.default_rng(0).random(30))
    np.testing.assert_array_equal(g, np.r_[np.ones(3), np.zeros(27)])


# ------------------------------------------------------------- rules that change the primal's way


def sort_of(x: np.ndarray) -> np.ndarray:
    return np.sort(x)


def test_a_rule_for_sort_sorts_once() -> None:
    sorted_with: list[int] = []

    @rrule.register(sort_of)
    def sort_rrule(x: np.ndarray) -> tuple[np.ndarray, Callable]:
        order = np.argsort(x)
        sorted_with.append(1)

        def sort_pullback(y_bar: np.ndarray) -> tuple:
            x_bar = np.empty_like(x)
            x_bar[order] = y_bar
            return NoTangent(), x_bar

        return x[order], sort_pullback

    x = np.array([3.0, 1.0, 2.0])
    y, back = autodiff.pullback(sort_of, x)
    np.testing.assert_array_equal(y, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(back(np.array([1.0, 10.0, 100.0])), [100.0, 1.0, 10.0])
    np.testing.assert_array_equal(back(np.array([1.0, 0.0, 0.0])), [0.0, 1.0, 0.0])
    assert sorted_with == [1]
    check_rrule(sort_of, x)


def sincos(x: float) -> tuple[float, float]:
    return np.sin(x), np.cos(x)


def test_a_rule_for_sine_and_cosine_uses_its_own_outputs() -> None:
    evaluations: list[float] = []

    @rrule.register(sincos)
    def sincos_rrule(x: float) -> tuple[tuple, Callable]:
        evaluations.append(x)
        s, c = sincos(x)

        def sincos_pullback(y_bar: Tangent) -> tuple:
            return NoTangent(), y_bar[0] * c - y_bar[1] * s

        return (s, c), sincos_pullback

    @frule.register(sincos)
    def sincos_frule(dots: tuple, x: float) -> tuple:
        s, c = sincos(x)
        return (s, c), Tangent[tuple](c * dots[0], -s * dots[0])

    y, back = autodiff.pullback(sincos, 0.4)
    assert y == sincos(0.4)
    assert back((1.0, 0.0)) == pytest.approx(np.cos(0.4))
    assert back((0.0, 1.0)) == pytest.approx(-np.sin(0.4))
    assert back((2.0, 3.0)) == pytest.approx(2 * np.cos(0.4) - 3 * np.sin(0.4))
    assert evaluations == [0.4]
    check_rrule(sincos, 0.4)
    assert frule((NoTangent(), 1.0), sincos, 0.4)[1] == Tangent[tuple](np.cos(0.4), -np.sin(0.4))
