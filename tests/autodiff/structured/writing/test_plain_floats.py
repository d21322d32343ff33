"""Numbers that programs compute with Python's own floats: nobody can tell."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, value_and_gradient
from autodiff.errors import MutationError
from autodiff.structured import calls
from autodiff.structured.runtime import Structured

X = np.array([0.3, -1.2, 0.7, 2.5, -0.4])


def no_turn(x: Any) -> Any:
    """The result is a number of Python: the loop makes no turn."""
    s = 1.5
    for i in range(len(x) - 5):
        s = s + x[i]
    return s * np.sum(x)


def sums(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i - 1]
    return s


def integer_first(x: Any) -> Any:
    s = 0
    for i in range(len(x)):
        s += x[i] * 0.5
    return s


def exact_variable(x: Any) -> Any:
    s = x[0]
    for i in range(1, len(x)):
        s = s * 0.5 + x[i]
    return s


def sum_of_truths(x: Any) -> Any:
    """NumPy's truths add up to a truth, Python's to an integer."""
    s = 0.0
    for i in range(len(x)):
        s += ((x[i] > 0) + (x[i] < 3)) * x[i]
    return s


def inverted_truth(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        k = ~(x[i] > 0)
        s += x[i] if k else 2 * x[i]
    return s


def truth_in_a_variable(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        good = x[i] > 0 and x[i] < 1
        if good:
            s += x[i]
        elif not good or s > 1:
            s -= 2 * x[i]
    return s


def broken_power(x: Any) -> Any:
    """NumPy gives NaN for a negative base, Python a complex number."""
    s = 0.0
    for i in range(len(x)):
        y = (x[i] * x[i] + 0.1) ** 1.5
        s += y * x[i] ** 3 + (1 + x[i] * x[i]) ** x[i]
    return s


def methods_of_numbers(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        y = x[i] * 2.0
        s += y.sum() * y.conjugate() + y.clip(-1.0, 1.0)
    return s


def largest(x: Any) -> Any:
    m = x[0]
    for i in range(1, len(x)):
        m = max(m, x[i])
    return m


def beside_large_integers(x: Any) -> Any:
    """NumPy compares a float with the nearest float to an integer, Python with the integer."""
    s = 0.0
    y = np.zeros(2)
    y[0] = 2.0**53
    k = 2**53 + len(x) - 4
    for i in range(len(x)):
        if y[0] >= k:
            s += x[i]
        s += x[i] if max(y[0], k) == y[0] else 3 * x[i]
        if x[i] > i - 2 and x[i] < 3:
            s -= x[i] * x[i]
    return s


def largest_or_constant(x: Any) -> Any:
    m = 0.25
    for i in range(2):
        m = max(m, x[i])
    return m


def single_precision(x: Any) -> Any:
    """A float of Python takes the precision of an array, a `numpy.float64` gives its own."""
    w = np.array([0.1, 0.2, 0.3], dtype=np.float32)
    s = 0.0
    for i in range(len(x)):
        s += np.sum(w * x[i]) + w[1] * x[i]
        w[0] += x[i] * x[i]
    return s


def in_a_list(x: Any) -> Any:
    ys = []
    for i in range(len(x)):
        ys.append(x[i] * x[i])
    s = ys[0]
    for i in range(1, len(x)):
        s = s + ys[i]
    return s


def functions_of_numbers(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        s += math.sin(x[i]) + np.exp(x[i]) + abs(x[i]) + float(x[i]) + np.arctan2(x[i], x[i - 1])
    return s


def writes(x: Any) -> Any:
    y = np.zeros((len(x), 2))
    for i in range(len(x)):
        y[i, 0] = x[i] * x[i]
        y[i, 1] += x[i]
        y[i, -1] -= 3 * y[i, 0]
    return np.sum(y * y)


def overwritten(x: Any) -> Any:
    y = x.copy()
    for i in range(1, len(y)):
        y[i] = y[i] * y[i - 1]
        y[i - 1] += y[i] * y[i]
    return y[0] + y[-1]


def exchanged(x: Any) -> Any:
    u, v = x.copy(), np.zeros(len(x))
    for _ in range(3):
        for i in range(1, len(u)):
            v[i] = u[i] * u[i - 1] + 0.5 * v[i - 1]
        u, v = v, u
        u[0] += x[1]
    return np.sum(u * u) + v[2]


def made_in_a_loop(x: Any) -> Any:
    """Forward and backward substitution, anew at each step."""
    u = x
    for k in range(3):
        c = np.zeros(len(x))
        d = u * (1.0 + k)
        c[0] = 0.2
        for i in range(1, len(c)):
            m = 3.0 - 0.5 * c[i - 1]
            c[i] = 0.5 / m
            d[i] = (d[i] - 0.5 * d[i - 1]) / m
        for i in range(len(c) - 2, -1, -1):
            d[i] -= c[i] * d[i + 1]
        u = d
    return u[0] * u[-1]


def rows(x: Any) -> Any:
    a = np.outer(x, x)
    s = 0.0
    for i in range(len(x)):
        row = a[i]
        for j in range(i):
            row[j] = row[j] * x[i] + row[j + 1]
            s += row[j] * row[j]
    return s + np.sum(a)


def bound_in_a_branch(x: Any) -> Any:
    y = x
    s = 0.0
    for i in range(3):
        if i == 1:
            y = x * 2.0
        for j in range(len(x)):
            s += y[j] * x[i]
    return s


def strided(x: Any) -> Any:
    y = np.asfortranarray(np.outer(x, x))[::-1, ::2]
    s = 0.0
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            s += y[i, j] * y[i - 1, j]
    return s


def other_precision(x: Any) -> Any:
    y = x.astype(np.float32)
    s = 0.0
    for i in range(len(x)):
        s += y[i] * 0.1 * x[i]
    return s


def while_it_is_large(x: Any) -> Any:
    y = x.copy()
    n = 0
    while abs(y[0]) > 1e-3 and n < 20:
        y[0] = y[0] * y[2] / 2
        n += 1
    return y[0] + n * x[1]


PROGRAMS = [
    no_turn, sums, integer_first, exact_variable, sum_of_truths, inverted_truth,
    truth_in_a_variable, broken_power, methods_of_numbers, largest, beside_large_integers,
    largest_or_constant, single_precision, in_a_list, functions_of_numbers, writes, overwritten,
    strided, exchanged, made_in_a_loop, rows, bound_in_a_branch, other_precision,
    while_it_is_large,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_value_and_class_are_those_of_the_function(f: Callable, traced: Callable) -> None:
    expected = f(X.copy())
    slope = traced(f, X.copy())
    tolerance = 1e-6 if "precision" in f.__name__ else 1e-12  # where cotangents are rounded
    for _ in range(2):
        value, found = value_and_gradient(f, X.copy())
        assert type(value) is type(expected)
        assert value == expected
        np.testing.assert_allclose(found, slope, rtol=tolerance, atol=tolerance)


def divided(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        s += 1.0 / (1.0 + 1.0 / (x[i] * x[i]))
    return s


def too_large(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        y = x[i] * 1e308 * x[i]
        s += 1.0 + y
    return s


def root_at_zero(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        s += np.sqrt(x[i]) * 0.0 + x[i]
    return s


@pytest.mark.parametrize("f", [divided, too_large, root_at_zero])
def test_numbers_that_python_refuses_or_does_not_warn_of(f: Callable, traced: Callable) -> None:
    for x in (np.array([0.5, 2.0]), np.array([0.0, 30.0]), np.array([1.0, 0.0])):
        with warnings.catch_warnings(record=True) as expected_warnings:
            warnings.simplefilter("always")
            expected = f(x.copy())
        with warnings.catch_warnings(record=True) as found_warnings:
            warnings.simplefilter("always")
            value, slope = value_and_gradient(f, x.copy())
        assert value == expected
        texts = {str(w.message) for w in found_warnings}
        assert {str(w.message) for w in expected_warnings} <= texts
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_array_equal(slope, traced(f, x.copy()))


def vanishing(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        s += 1.0 / (x[i] * 1e200 * x[i])
    return s


def test_errors_that_the_user_has_asked_for() -> None:
    x = np.array([1e100, 2.0])
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        vanishing(x)
    with np.errstate(over="ignore"):
        value_and_gradient(vanishing, x)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        value_and_gradient(vanishing, x)


def test_a_number_out_of_bounds_is_the_functions_own_error(runs: list[str]) -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for i in range(4):
            s += x[i + 3]
        return s

    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
        value_and_gradient(f, X)


def test_an_array_that_must_not_be_written_into() -> None:
    def f(x: Any) -> Any:
        y = np.broadcast_to(1.0, (5,))
        for i in range(5):
            y[i] = x[i]
        return np.sum(y * x)

    with pytest.raises(MutationError):
        value_and_gradient(f, X)


def test_elements_are_read_as_floats() -> None:
    value_and_gradient(sums, X)
    programs = calls._programs_of(sums).known.values()
    assert ["memoryview" in p.source for p in programs if p is not None] == [True]


# -- elements of arrays that are made in the loop, and what is repeated ----------------------------


def predator_and_prey(x: Any) -> Any:
    y = np.array([2.0, 1.0])
    for _ in range(5):
        k = np.array([x[0] * y[0] - x[1] * y[0] * y[1], x[2] * y[0] * y[1] - x[3] * y[1]])
        z = y + 0.05 * k
        y = y + 0.1 * np.array([x[0] * z[0] - x[1] * z[0] * z[1], x[2] * z[0] * z[1] - x[3] * z[1]])
    return y[0] * y[1]


def written_between(x: Any) -> Any:
    y = x * 1.0
    total = 0.0
    for i in range(1, 4):
        a = y[i] * y[i - 1]
        y[i] = a
        z = y[1:]
        total += y[i] * y[i - 1] + z[0] + np.sum(y[1:]) + np.sum(z)
        z[0] = total
        total += z[0] * y[1] + np.sum(y[1:]) + len(y) * len(z)
    return total


def items_of_lists(x: Any) -> Any:
    xs = [x[0], x[1]]
    total = 0.0
    for i in range(3):
        total += xs[0] * xs[i] * xs[0]
        xs.append(total)
        xs[0] = xs[i] * x[3]
        total += xs[0] * xs[i]
    return total


def classes_of_elements(x: Any) -> Any:
    total = 0.0
    for _ in range(3):
        y = x * 2.0
        total += y[1].sum() + float(y[0]) + (y[2] if type(y[2]) is np.float64 else 100.0)
    return total


@pytest.mark.parametrize(
    "f", [predator_and_prey, written_between, items_of_lists, classes_of_elements],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_elements_of_new_arrays(f: Callable, traced: Callable, runs: list[str]) -> None:
    x = np.array([0.6, -0.3, 0.8, 1.1])
    value, x_bar = value_and_gradient(f, x)
    assert value == f(x)
    assert type(value) is type(f(x))
    np.testing.assert_allclose(x_bar, traced(f, x), rtol=1e-14)
    assert f.__name__ in runs or f is classes_of_elements


def test_what_is_repeated_is_read_once() -> None:
    x = np.array([0.6, -0.3, 0.8, 1.1])
    source = Structured(predator_and_prey, (None,), (x,), (0,)).source
    assert source.count("x_1_m[1]") == 1
    assert source.count(".item(0)") == source.count(".item(1)") == 2
    source = Structured(written_between, (None,), (x,), (0,)).source
    forward = source[: source.index("def backward")]
    assert forward.count("[1:]") == 1  # a view is the same, whatever is written
    assert forward.count("reduce_") == 2  # a sum is not


def turns(x: Any) -> Any:
    a, s = x[0], 0.0
    for i in range(4):
        c, d = math.cos(a * x[i]), math.sin(a * x[i])
        s += c * d**3 + math.exp(-c * x[i]) * math.sqrt(x[i] ** 1.5) + abs(d) * x[i] * x[i]
        a = a + 0.1 * d
    return s


def far(x: Any) -> Any:
    """The slopes are beyond the numbers, or not finite: NumPy's are computed."""
    s = 0.0
    for i in range(3):
        s += 1e-300 * math.cosh(710.0 * x[i] / x[i]) + math.sqrt(x[i] - x[i]) * 0.0 * x[i]
    return s


@pytest.mark.parametrize("f", [turns, far])
def test_slopes_by_math(f: Callable, traced: Callable, runs: list[str]) -> None:
    x = np.linspace(0.5, 1.5, 5)
    with np.errstate(all="ignore"):
        expected = traced(f, x)
        for _ in range(2):
            np.testing.assert_allclose(gradient(f, x), expected, rtol=1e-12)
    assert f.__name__ in runs


def test_a_cosine_is_computed_once() -> None:
    program = Structured(turns, (None,), (np.ones(5),), (0,))
    backward = program.source[program.source.index("def backward") :]
    assert "cos" not in backward
    assert "sin" not in backward
    assert "exp" not in backward


def powers(x: Any) -> Any:
    s, p = 1.0, [float(v) for v in (0.5, 2.5, 0.0, -1.0)]
    for i in range(4):
        base = 0.5 + float(i)
        s += (base * x[i]) ** x[3] + s ** x[i] + x[i] ** p[i]
    return s


def test_slopes_of_powers(traced: Callable, runs: list[str]) -> None:
    x = np.array([0.4, 1.3, 0.7, 0.9])
    for given in (x, x * [0.0, 1.0, 1.0, 1.0], x):  # the second is at the origin
        expected = traced(powers, given)
        np.testing.assert_allclose(gradient(powers, given), expected, rtol=1e-12)
    numeric = [(powers(x + d) - powers(x - d)) / 2e-6 for d in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(gradient(powers, x), numeric, rtol=1e-6)
    assert "powers" in runs
