"""Loops in functions that are not read as a whole have programs of their own."""

from __future__ import annotations

import json
import types
from collections.abc import Callable

import numpy as np
import pytest

import autodiff
from autodiff import gradient
from autodiff.structured import calls
from tests.helpers import check_gradient

X = np.array([0.3, -0.4, 1.2, 0.7, -0.9])


class Clock:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def after_unread_code(x):
    json.dumps({})
    y = x * 1.0
    for i in range(6):
        y = np.sin(y) * x[i % 5]
    return np.sum(y)


def in_a_context(x):
    with Clock():
        s = 0.0
        for i in range(len(x)):
            s = s * 0.5 + x[i] ** 2
    return s


def in_a_loop(x):
    total = 0.0
    for k in range(3):
        json.dumps(k)
        for v in x:
            total = total * 0.9 + v * v * (k + 1)
    return total


def appends(x):
    json.dumps({})
    found = []
    last = x[0]
    for v in x:
        last = 0.5 * last + v
        found.append(last)
    return sum(f * f for f in found) + last


def returns_early(x):
    json.dumps({})
    y = 1.0
    for k in range(50):
        step = (y * y - 2.0 - x[0]) / (2.0 * y)
        y = y - step
        if abs(step) < 1e-12:
            return y * (1.0 + 0.0 * k)
    return 0.0 * y


def returns_from_inner_loop(x):
    json.dumps({})
    s = 0.0
    for i in range(5):
        for j in range(5):
            s = s + x[i] * x[j]
            if i * j > 3:
                return s * s
    return s


def reads_the_index_later(x):
    json.dumps({})
    s = 0.0
    for i, v in enumerate(x):  # noqa: B007
        s = s + v * v
        if s > 1.0:
            break
    json.dumps(i)
    return s * (i + 1)


def writes_in_place(x):
    json.dumps({})
    y = np.zeros(5)
    view = y[1:]
    for i in range(4):
        y[i + 1] = y[i] + x[i] ** 2
    return np.sum(view**2)


def calls_inner_functions(x):
    json.dumps({})
    c = x[1]

    def step(y):
        return y * c + 0.1

    y = x[0]
    for _ in range(6):
        y = step(y)
    return y * y


def has_an_unbound_variable(x):
    json.dumps({})
    for v in x:
        if v > 100.0:
            big = v
        else:
            small = v * v
    try:
        return small + big
    except UnboundLocalError:
        return small


def deletes_and_raises(x):
    json.dumps({})
    k, s = 0, 0.0
    try:
        for v in x:
            s = s + v * v
            k += 1
            if k == 3:
                raise ValueError
    except ValueError:
        s = s * k
    return s


def changes_in_an_outer_loop(x):
    a, b = x[0], x[1]
    for k in range(4):
        json.dumps(k)
        for v in x:
            a = a * 0.5 + v * b
        b = a - b
    return a * b


def continues_the_outer_loop(x):
    s = 0.0
    for k in range(4):
        json.dumps(k)
        for v in x:
            if v * k > 2.0:
                break
            s = s + v * v
        else:
            if k == 1:
                continue
            s = s * 0.5
        s = s + x[k]
    return s


def keyword_only(x, *, n=3, scale=2.0):
    json.dumps({})
    s = 0.0
    for _ in range(n):
        s = s * scale + np.sum(x**2)
    return s


@pytest.mark.parametrize(
    "f",
    [
        after_unread_code, in_a_context, in_a_loop, appends, returns_early, reads_the_index_later,
        returns_from_inner_loop, writes_in_place, calls_inner_functions, changes_in_an_outer_loop,
        keyword_only,
    ],
)  # fmt: skip
def test_loops_are_read_one_by_one(f: Callable, separate_runs: list[str]) -> None:
    for given in (X, X.astype(np.float32), 1.1 * X):
        expected = np.asarray(f(given))
        value, found = autodiff.value_and_gradient(f, given)
        np.testing.assert_allclose(value, expected, rtol=1e-6)
        assert found.dtype == given.dtype
    assert f.__name__ in separate_runs
    check_gradient(f, X)


@pytest.mark.parametrize(
    "f", [has_an_unbound_variable, deletes_and_raises, continues_the_outer_loop]
)
def test_what_has_no_program_runs_as_written(f: Callable) -> None:
    check_gradient(f, X)
    check_gradient(f, 1.1 * X)


@pytest.mark.parametrize("f", [after_unread_code, in_a_loop, appends, returns_early])
@pytest.mark.parametrize("backend", ["auto", "python"])
def test_compiled(f: Callable, backend: str, traced: Callable) -> None:
    compiled = autodiff.compile(lambda x: gradient(f, x), backend=backend)
    for given in (X, 1.1 * X, X):
        np.testing.assert_allclose(compiled(given), traced(f, given), rtol=1e-11)


def test_levels(traced: Callable) -> None:
    def f(x):
        return after_unread_code(x) * after_unread_code(x)

    v = np.ones_like(X)
    found = autodiff.hvp(f, X, v)
    calls.Settings.enabled = False
    try:
        expected = autodiff.hvp(f, X, v)
    finally:
        calls.Settings.enabled = True
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def late_functions(x):
    json.dumps({})
    made = []
    for i in range(3):
        y = x[i] * 2.0
        made.append(lambda v: v * y)  # noqa: B023
    y = x[4]
    return made[0](x[0]) + made[2](x[1])


def test_functions_see_what_is_bound_later(traced: Callable) -> None:
    np.testing.assert_array_equal(gradient(late_functions, X), traced(late_functions, X))
    check_gradient(late_functions, X)


def counts_outside(x):
    json.dumps({})
    k = 0

    def count():
        nonlocal k
        k += 1
        return k

    s = 0.0
    for v in x:
        s = s + v * v * count()
    return s * k


class Holder:
    def private_names(self, x):
        json.dumps({})
        __s = 0.0
        for v in x:
            __s = __s + v * v
        return __s * 2.0


def comes_from_an_iterator(x):
    json.dumps({})
    given = iter(x)
    s = next(given)
    for v in given:
        s = s * 0.5 + v * v
        if v > 1.0:
            break
    return s + sum(given)


def changes_a_list(x):
    json.dumps({})
    rows = [x * 1.0, x * 2.0]
    same = rows
    for k in range(2):
        rows[k] = rows[k] * x[k]
    rows = [np.sum(row) for row in rows]
    return np.sum(same[0] * same[1]) + rows[1]


def rebinds_and_aliases(x):
    json.dumps({})
    y = z = x * 1.0
    for k in range(3):
        z = y
        y = y * x[k]
        z[0] = y[1]
    return np.sum(y) + np.sum(z)


@pytest.mark.parametrize(
    "f",
    [
        counts_outside, Holder().private_names, comes_from_an_iterator, changes_a_list,
        rebinds_and_aliases,
    ],
)  # fmt: skip
def test_state_around_a_loop(f: Callable, traced: Callable) -> None:
    for given in (X, 1.1 * X):
        np.testing.assert_allclose(gradient(f, given), traced(f, given), rtol=1e-12)
    check_gradient(f, X)


def with_a_global(x):
    json.dumps({})
    s = 0.0
    for v in x:
        s = s * FACTOR + v * v
    return s


FACTOR = 0.5


def test_functions_with_one_code_and_other_globals(traced: Callable) -> None:
    other = types.FunctionType(with_a_global.__code__, {**globals(), "FACTOR": 2.0})
    for f in (with_a_global, other, with_a_global):
        np.testing.assert_allclose(gradient(f, X), traced(f, X), rtol=1e-12)
    check_gradient(other, X)


def finally_after_an_else_that_returns(x):
    json.dumps({})
    s = x[0]
    try:
        for v in x:
            s = s * 0.5 + v * v
    except ValueError:
        pass
    else:
        return s * 2.0
    finally:
        SEEN.append(f"{s:.9f}")


def handler_of_a_variable_class(x):
    json.dumps({})
    s, kind = x[0], ValueError
    try:
        for v in x:
            s = s * 0.5 + v * v
            kind = KeyError
        raise KeyError
    except kind:
        return s


def keeps_a_generator(x):
    json.dumps({})
    s, box = x[0], Box()
    box.set(s * v for v in x)
    for v in x:
        s = s * 0.5 + v
    return sum(box.items) + s


def has_a_sum_of_its_own(x):
    def sum(items):
        return items

    json.dumps({})
    s = x[0]
    items = sum(s * v for v in x)
    for v in x:
        s = s * 0.5 + v
    return next(items) + s


class Box:
    def set(self, items):
        self.items = items


SEEN: list[str] = []


@pytest.mark.parametrize(
    "f",
    [
        finally_after_an_else_that_returns, handler_of_a_variable_class, keeps_a_generator,
        has_a_sum_of_its_own,
    ],
)  # fmt: skip
def test_what_is_read_after_a_loop(f: Callable, traced: Callable) -> None:
    SEEN.clear()
    np.testing.assert_allclose(gradient(f, X), traced(f, X), rtol=1e-12)
    assert len(set(SEEN)) <= 1
    check_gradient(f, X)


def may_keep_what_it_was(x):
    json.dumps({})
    best, last = x[0] * x[1], 3
    for v in x:
        if v > LIMIT:
            best = v * v
    for last in range(int(LIMIT < 0.0)):  # noqa: B007
        best = best * 2.0
    return best * last * x[2]


LIMIT = 0.5


def test_variables_that_a_loop_may_leave_as_they_were(
    separate_runs: list[str], traced: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in (0.5, 100.0, -0.5):
        monkeypatch.setitem(globals(), "LIMIT", limit)
        for _ in range(2):
            found = gradient(may_keep_what_it_was, X)
            np.testing.assert_allclose(found, traced(may_keep_what_it_was, X), rtol=1e-12)
    assert len(separate_runs) > 6
