"""When a call is made by a program, and when it is traced."""

from __future__ import annotations

import gc
import string
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import gradient, hessian, jacobian, jvp
from autodiff.structured import calls
from chainrules_core import ZeroTangent, frule, rrule, scalar_rule

X = np.array([0.3, -0.4, 1.2])


def scale(x):
    return 2.0 * x


def running(x, n):
    y = x * 1.0
    for _ in range(n):
        y = np.sin(y) * scale(y)
    return y


def filled(y, x):
    for i in range(len(x)):
        y[i] = x[i] ** 2
    return y


def test_source_is_read_when_tracing_took_long(runs: list[str]) -> None:
    calls.Settings.worth = 0.03
    gradient(lambda x: np.sum(running(x, 3)), X)
    assert not runs


def test_short_calls_are_traced(runs: list[str]) -> None:
    calls.Settings.least = 10.0
    gradient(lambda x: np.sum(running(x, 3)), X)
    assert not runs


def test_a_jacobian_runs_the_sweep_again_and_again(runs: list[str]) -> None:
    found = jacobian(lambda x: running(x, 2), X)
    assert runs
    rows = [gradient(lambda x, i=i: running(x, 2)[i], X) for i in range(3)]
    np.testing.assert_allclose(found, rows, rtol=1e-13)


def test_nested_levels_and_forward_mode_are_traced(runs: list[str]) -> None:
    h = hessian(lambda x: np.sum(running(x, 2)), X)
    np.testing.assert_allclose(h, h.T)
    _, dot = jvp(lambda x: running(x, 2), (X,), (np.ones(3),))
    np.testing.assert_allclose(dot, jacobian(lambda x: running(x, 2), X) @ np.ones(3), rtol=1e-12)


def test_a_function_that_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = lambda x: np.sum(running(x, 1))  # noqa: E731
    before = gradient(loss, X)
    monkeypatch.setitem(globals(), "scale", lambda x: 3.0 * x)
    np.testing.assert_allclose(gradient(loss, X), 1.5 * before, rtol=1e-13)


def test_a_function_whose_code_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = lambda x: np.sum(running(x, 1))  # noqa: E731
    before = gradient(loss, X)

    def other(x):
        return 4.0 * x

    monkeypatch.setattr(scale, "__code__", other.__code__)
    np.testing.assert_allclose(gradient(loss, X), 2.0 * before, rtol=1e-13)


def test_a_rule_that_comes_later() -> None:
    loss = lambda x: np.sum(running(x, 1))  # noqa: E731
    gradient(loss, X)
    scalar_rule(scale, ZeroTangent())
    try:
        np.testing.assert_allclose(gradient(loss, X), np.cos(X) * 2.0 * X, rtol=1e-13)
    finally:
        rrule.unregister(scale)
        frule.unregister(scale)


class Strange:
    """A class that has a rule of its own."""


def test_rules_of_functions_that_are_not_called_change_nothing() -> None:
    def programs() -> list:
        _, of_code = calls._programs[id(running.__code__)]
        return list(of_code[False].known.values())

    gradient(lambda x: np.sum(running(x, 1)), X)
    before = programs()
    assert before
    for f, is_called in ((string.capwords, False), (np.sin, True)):
        rrule.register(f, Strange)(lambda config, f, x: (x, lambda y_bar: (y_bar,)))
        try:
            assert programs() == ([] if is_called else before)
        finally:
            rrule.unregister(f, Strange)


def test_arrays_that_share_memory_are_traced(runs: list[str]) -> None:
    def loss(x):
        y = x * 1.0
        filled(y[1:], y[:-1])
        return np.sum(y * X)

    found = gradient(loss, X)
    assert not runs
    assert found[0] != 0.0


def test_a_plain_array_that_is_written_into_is_an_error() -> None:
    plain = np.zeros(3)
    with pytest.raises(autodiff.MutationError):
        gradient(lambda x: np.sum(filled(plain, x)), X)
    assert not plain.any()


def test_an_array_made_in_the_function_is_written_into(runs: list[str]) -> None:
    found = gradient(lambda x: np.sum(filled(np.zeros(3), x)), X)
    assert runs == ["filled"]
    np.testing.assert_allclose(found, 2 * X)


def test_the_array_that_is_returned_is_the_argument() -> None:
    def loss(x):
        y = np.zeros(3)
        z = filled(y, x)
        assert z is y
        z[0] = 5.0
        return np.sum(y)

    np.testing.assert_allclose(gradient(loss, X), [0.0, *(2 * X[1:])])


def checked(x, n):
    if n < 0:
        raise ValueError(f"n is {n}")
    s = 0.0
    for i in range(n):
        s += x[i] ** 2
    return s


def test_errors_are_the_functions_own(runs: list[str]) -> None:
    gradient(lambda x: checked(x, 2), X)
    assert runs
    with pytest.raises(ValueError, match="n is -1"):
        gradient(lambda x: checked(x, -1), X)
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        gradient(lambda x: checked(x, 4), X)


def rooted(x):
    s = 0.0
    for i in range(len(x)):
        s += np.sqrt(x[i]) * 0.0 + x[i]
    return s


def test_cotangents_that_are_not_finite_are_as_traced(traced: Callable) -> None:
    x = np.array([0.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(gradient(rooted, x), traced(rooted, x))


def gated(x):
    s = 0.0
    for i in range(len(x)):
        s += autodiff.ignore_derivatives(x[i]) * x[i]
    return s


def test_functions_of_the_engine_are_not_read() -> None:
    np.testing.assert_allclose(gradient(gated, X), X)


def kept_later(x, c):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * c[i]
    return s


def test_a_constant_that_is_written_into_afterwards() -> None:
    def loss(x):
        c = np.array([1.0, 2.0, 3.0])
        s = kept_later(x, c)
        c[:] = 7.0
        return s

    np.testing.assert_allclose(gradient(loss, X), [1.0, 2.0, 3.0])


OUTSIDE = np.array([1.0, 2.0, 3.0])


def from_outside(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * OUTSIDE[i]
    return s


def test_an_array_from_outside(runs: list[str]) -> None:
    np.testing.assert_allclose(gradient(from_outside, X), OUTSIDE)
    assert runs
    OUTSIDE[0] = 5.0
    try:
        np.testing.assert_allclose(gradient(from_outside, X), OUTSIDE)
    finally:
        OUTSIDE[0] = 1.0


def reused(x, n):
    s = 0.0
    for i in range(n):
        for i in range(2):
            s += x[i]
        s += x[i] * i
    return s + x[i] * s


def test_loops_of_one_name(traced: Callable) -> None:
    np.testing.assert_allclose(
        gradient(lambda x: reused(x, 3), X), traced(lambda x: reused(x, 3), X)
    )


def doubled(x, n):
    s = 0.0
    for i in range(n):
        s += x[i] ** 2
    return s, s, x


def test_one_value_returned_twice() -> None:
    def loss(x):
        a, b, same = doubled(x, 3)
        assert same is x
        return a + 2 * b

    np.testing.assert_allclose(gradient(loss, X), 6 * X)


def scaled_by(k):
    def scaled(x):
        s = 0.0
        for i in range(len(x)):
            s += k * x[i]
        return s

    return scaled


def test_functions_of_one_code_with_other_captured_values(runs: list[str]) -> None:
    for k in (2.0, 3.0, 2.0):
        np.testing.assert_allclose(gradient(scaled_by(k), X), [k] * 3)
    assert runs


def test_a_captured_value_that_is_traced() -> None:
    np.testing.assert_allclose(gradient(lambda k: scaled_by(k)(X), 2.0), np.sum(X))


def _stepped(y):
    y[0] = 0.5 * y[0]
    return y[0]


def until_small(y):
    n = 0
    while _stepped(y) > 0.1:
        y[1] = y[1] * y[0]
        n += 1
    return y[1] * n


def test_a_test_that_writes_is_traced(runs: list[str]) -> None:
    found = gradient(lambda x: until_small(x * 1.0), np.array([0.9, 2.0]))
    assert not runs
    h = 1e-6
    ends = [until_small(np.array([0.9 + k * h, 2.0])) for k in (1, -1)]
    np.testing.assert_allclose(found[0], (ends[0] - ends[1]) / (2 * h), rtol=1e-6)


def rolled(x, n, m):
    y = np.outer(x, x)
    s = 0.0
    for i in range(m):
        y = np.roll(y, n, axis=i) * 0.5
        s += np.sum(y[i] * x) + np.sum(x * x, initial=2.0)
    return s


def test_integers_that_are_not_told_apart_by_value(traced: Callable) -> None:
    found = gradient(lambda x: rolled(x, 1, 2), X)
    np.testing.assert_allclose(found, traced(lambda x: rolled(x, 1, 2), X), rtol=1e-12)


def started(x, k):
    s = 0.0
    for i in range(len(x)):
        s += np.sum(x[i:], initial=k)
    return s


def test_an_option_that_is_traced(traced: Callable) -> None:
    found = gradient(lambda x: started(x, x[0]), X)
    np.testing.assert_allclose(found, traced(lambda x: started(x, x[0]), X), rtol=1e-12)


def test_functions_are_not_kept_alive() -> None:
    made = []
    for k in (2.0, 3.0):
        f = scaled_by(k)
        gradient(f, X)
        made.append(weakref.ref(f))
    del f
    gc.collect()
    assert [f() for f in made] == [None, None]


def weighted(w):
    def total(x):
        s = 0.0
        for i in range(len(x)):
            s += w[i] * x[i]
        return s

    return total


def test_captured_arrays_are_looked_up_and_not_kept(runs: list[str]) -> None:
    gone = []
    for k in (2.0, 3.0, 4.0):
        w = np.full(3, k)
        np.testing.assert_allclose(gradient(weighted(w), X), w)
        gone.append(weakref.ref(w))
    del w
    gc.collect()
    assert len(runs) == 3
    assert [w() for w in gone] == [None] * 3


def one_array_twice(x):
    w = x * 1.0
    for i in range(len(x)):
        w[i] *= x[i]
    return w, w


def test_results_that_are_one_array(runs: list[str]) -> None:
    def loss(x):
        a, b = one_array_twice(x)
        assert a is b
        a[0] = 5.0
        return np.sum(b)

    np.testing.assert_allclose(gradient(loss, X), [0.0, *(2 * X[1:])])
    assert not runs


def _halved(y):
    y[0] *= 0.5
    return y[0]


def less_than_before(x):
    y = x * 1.0
    for i in range(2):
        y[0] -= _halved(y) * x[i]
        y[1] += x[i]
    return y[0] * y[1]


def test_an_element_is_read_before_what_is_added_to_it(runs: list[str]) -> None:
    found = gradient(less_than_before, X)
    assert runs
    h = 1e-6
    for i, unit in enumerate(np.eye(3)):
        ends = [less_than_before(X + k * h * unit) for k in (1, -1)]
        np.testing.assert_allclose(found[i], (ends[0] - ends[1]) / (2 * h), rtol=1e-7, atol=1e-9)


def crossed(m):
    for i in range(3):
        m[i, 1:-1] = m[2:, i]
        m[i, 1:] = m[i, :-1]


def test_a_column_written_into_a_row_is_traced(runs: list[str], traced: Callable) -> None:
    def loss(m):
        m = m * 1.0
        crossed(m)
        return np.sum(m * np.arange(25.0).reshape(5, 5))

    m = np.cos(0.7 * np.arange(25.0)).reshape(5, 5)
    np.testing.assert_allclose(gradient(loss, m), traced(loss, m))
    assert not runs


@pytest.mark.parametrize("x", [np.array(0.7), 0.7, np.float64(0.7), np.zeros((0,))])
def test_arguments_without_axes_or_elements(x: Any) -> None:
    def f(x: Any, n: int) -> Any:
        s = 0.0
        for _ in range(n):
            s = s + np.sum(np.sin(x)) * 0.5
        return s

    for n in (1, 4, 3001):
        expected = np.cos(x) * 0.5 * n
        np.testing.assert_allclose(gradient(f, x, n, argnums=0), expected, rtol=1e-12)


def test_long_loops_are_read_at_the_first_call(runs: list[str], monkeypatch: Any) -> None:
    monkeypatch.setattr(calls.Settings, "worth", 0.03)
    monkeypatch.setattr(calls.Settings, "least", 0.0005)

    def pairs(x: Any) -> Any:
        s = 0.0
        for i in range(len(x)):
            for j in range(i):
                s += x[i] * x[j]
        return s

    x = np.cos(np.arange(70.0))
    np.testing.assert_allclose(gradient(pairs, x), np.sum(x) - x, rtol=1e-12)
    assert len(runs) == 1
    gradient(lambda x: pairs(x[:5]), x)
    assert len(runs) == 2  # it has been read


RATE, TURNS = 0.5, 2


class Decay:
    def __init__(self) -> None:
        self.rate, self.turns = 0.5, 2

    def loss(self, x):
        for _ in range(self.turns):
            x = x - self.rate * x * x
        return np.sum(x)


def by_globals(x):
    for _ in range(TURNS):
        x = x - RATE * x * x
    return np.sum(x)


def test_numbers_outside_that_change_are_arguments(runs: list[str], monkeypatch) -> None:
    decay = Decay()
    for k in range(12):
        monkeypatch.setitem(globals(), "RATE", 0.1 * k)
        monkeypatch.setitem(globals(), "TURNS", k % 4)
        decay.rate, decay.turns = 0.1 * k, k % 4
        expected = X * 0.0 + 1.0
        y = X
        for _ in range(k % 4):
            expected, y = expected * (1.0 - 0.2 * k * y), y - 0.1 * k * y * y
        np.testing.assert_allclose(gradient(by_globals, X), expected, rtol=1e-12)
        np.testing.assert_allclose(gradient(decay.loss, X), expected, rtol=1e-12)
    assert runs.count("by_globals") > 8
    assert runs.count("loss") > 8
