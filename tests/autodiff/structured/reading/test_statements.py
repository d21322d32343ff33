"""Dicts that change, ``try`` and ``with np.errstate`` are read, or traced if need be."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured import calls
from autodiff.structured.reading import parameters
from tests.helpers import check_gradient

X = np.array([0.9, 0.4, 0.6, 0.7])


# -- dicts -----------------------------------------------------------------------------------------


def items_that_change(x: Any) -> Any:
    state = {"s": x[0], "i": 0.3, "v": np.array([x[1], x[2]]), 3: 1.0}
    total = 0.0
    for _ in range(6):
        new = x[1] * state["s"] * state["i"]
        state["s"] -= new * 0.1
        state["i"] += new
        state["v"] += x[2]  # in place
        state["v"] = state["v"] * state["s"]
        state[3] *= x[3]
        if state["i"] > 0.4:
            state["i"] = state["i"] * 0.5
        for key in state:
            total += np.sum(state[key])
    return state["s"] * state["i"] + state["v"].sum() + total


def a_dict_of_each_turn(x: Any) -> Any:
    total = 0.0
    for i in range(3):
        state = {"a": x[i], "b": 1.0}
        state["b"] += state["a"] * i
        total += state["b"]
    return total


def copies_of_dicts(x: Any) -> Any:
    first = {"a": x[0], "b": 1.0}
    state, other = dict(first), dict(first, c=x[1])
    for v in x:
        new = {name: 0.1 * v * state[name] for name in state}
        for name in ("a", "b"):
            new[name] += v * state[name]
        state = {name: state[name] + 0.1 * new[name] for name in state}
        other["a"] += v * other["c"]
    last = first.copy()
    return state["a"] * state["b"] + other["a"] * last["a"] + first["a"]


def copies_of_dicts_in_lists(x: Any) -> Any:
    state, total = {"a": x[0], "v": x * 1.0}, 0.0
    past = [state]
    for v in x:
        new = dict(past[-1])
        new["a"] = new["a"] * v + new["v"][0]
        state["a"] += new["a"]
        new["v"] *= 0.9  # it is the array of all copies
        past.append(new)
        both = {"c": v, **new, "a": new["a"] * 0.5}
        for i, name in enumerate(both):
            total = total * 0.9 + i * np.sum(both[name])
    return total + past[0]["a"] * past[-1]["a"] + state["v"].sum()


def other_ways_to_make_dicts(x: Any) -> Any:
    total = dict.fromkeys(("a", "b"), 0.0)
    state = {"a": x[0], "b": 0.0}
    for v in x:
        total["a"] += v
        total["b"] += v * total["a"]
        state.update(a=state["b"] * v, b=state["a"])
        new = dict.fromkeys(["a", "b"], v)
        for name in new:
            total[name] += new[name] * 0.1
    past = [{"a": x[1]}]
    for v in x:
        last = past[-1].copy()
        last["a"] *= v
        past.append(last)
    return total["a"] * total["b"] + state["a"] + state["b"] + past[-1]["a"] * past[0]["a"]


def dicts_with_other_orders(x: Any) -> Any:
    state, total = {"a": x[0], "b": 2.0}, 0.0
    past = []
    for k, v in enumerate(x):
        past.append(state)
        state = {"b": v, "a": state["a"]} if k % 2 else {"a": state["b"] * v, "b": v}
        for i, name in enumerate(dict(state)):
            total = total * 1.1 + state[name] * (i + 1)
    return total + past[-1]["a"]


def sequences_in_arrays(x: Any) -> Any:
    a, total = np.zeros((6, 4)), 0.0
    for i in range(3):
        row = [x[0] * i, x[1], 2]
        a[i, :3] = row
        a[i, 2:] = x[0] * x[1], a[i, 0]
        a[3 + i, :3] = [v * v for v in x[:3]]
        a[4:, :2] = [[x[2], i], [-x[2], x[3]]]
        total += a[i] @ a[5 - i]
    return total + np.sum(a**2)


def places_in_lists(x: Any) -> Any:
    free, total = [0.0] * 3, 0.0
    for v in x:
        k = free.index(min(free))
        free[k] += v * v
        total += free[k] * k
    return total


def windows(x: Any) -> Any:
    total = 0.0
    for k in range(1, 4):
        w = x[:k] * np.hamming(k) + np.hanning(k) * np.blackman(k)
        total += w @ (w - np.blackman(k) * np.bartlett(k))
    return total


def of_another_name(x: Any) -> Any:
    state = {"a": x[0]}
    same = state
    for _ in range(3):
        same["a"] = same["a"] * x[1]
    return state["a"]


def changed_by_a_function_inside(x: Any) -> Any:
    state = {"a": x[0]}

    def step() -> None:
        state["a"] = state["a"] * x[1]

    for _ in range(3):
        step()
    return state["a"]


def given_to_a_function(x: Any) -> Any:
    state = {"a": x[0]}

    def doubled(d: dict) -> None:
        d["a"] = d["a"] * 2.0

    for _ in range(3):
        state["a"] = state["a"] * x[1]
        doubled(state)
    return state["a"]


def with_a_new_key(x: Any) -> Any:
    state = {"a": x[0]}
    for _ in range(3):
        state["b"] = state["a"] * x[1]
    return state["b"] * len(state)


def first_the_callers(state: dict, x: Any) -> Any:
    for _ in range(3):
        state["a"] = state["a"] * x[1]
    state = {"a": x[0]}
    state["a"] += x[2]
    return state["a"]


# -- exceptions ------------------------------------------------------------------------------------


def logarithms(x: Any) -> Any:
    total = 0.0
    for v in x:
        try:
            total += math.log(v)
        except ValueError:
            total += v * v
        else:
            total *= x[1]
        finally:
            total += 1.0
    return total


def result_in_a_guarded_loop(x: Any) -> Any:
    for i in range(4):
        try:
            y = math.sqrt(x[i])
            if y > 0.8 and i > 0:
                return y * x[0]
        except ValueError:
            continue
    return x[1]


def warnings_that_are_errors(x: Any) -> Any:
    y = x[0]
    for v in x:
        try:
            y = y * 1e300 * v * 1e200
        except RuntimeWarning:
            y = v
        y = min(y, 3.0 * v)
    return y


def returned_before_finally(x: Any) -> Any:
    for i in range(4):
        try:
            return x[i] * x[0]
        finally:
            x = x * 2.0
    return x[0]


# -- np.errstate -----------------------------------------------------------------------------------


def quiet_logarithms(x: Any) -> Any:
    total = 0.0
    with np.errstate(divide="ignore", over="ignore"):
        for i in range(4):
            with np.errstate(invalid="ignore"):
                y = np.where(x > 0.5, np.log(x - 0.45), 1.0)
            total += np.sum(y) * x[i]
            for j in range(i):
                if j == 2:
                    break
            else:
                total += x[0]
    return total + 1.0 / x[0]


def returned_in_with(x: Any) -> Any:
    for i in range(4):
        with np.errstate(all="ignore"):
            if x[i] > 0.5:
                return x[i] * 2.0
    return x[0]


def errors_asked_for(x: Any) -> Any:
    with np.errstate(all="raise"):
        for v in x:
            y = v * 2.0
    return y


# -- functions in loops, lists of elements, out= ---------------------------------------------------


def functions_defined_in_turns(x: Any) -> Any:
    total = 0.0
    for i in range(4):
        w = x[i] * 0.5

        def shifted(v: Any, by: Any = x[i] + 1.0) -> Any:
            return v * w + by  # noqa: B023 - it is called in its turn

        if i > 1:

            def twice(v: Any) -> Any:
                return shifted(v) * 2.0

            total += twice(total)
        total += shifted(x[0])
        w = 3.0 * w
        total += shifted(w)
    return total


def a_function_of_a_turn_that_never_ran(x: Any) -> Any:
    for i in range(4):
        if i > 3:

            def known(v: Any) -> Any:
                return v

    try:
        return known(x[0])
    except NameError:
        return x[1] * 2.0


def lists_of_elements(x: Any) -> Any:
    y, rows = list(x), list(np.outer(x, x))
    for i in range(3):
        y[i + 1] += y[i] * rows[i][2]
        rows[i] *= y[i]
    return sum(y) + np.sum(rows[1] * rows[0])


def filled_by_ufuncs(x: Any) -> Any:
    work, rows = np.zeros(4), np.ones((3, 4))
    for i in range(3):
        np.multiply(x, work, out=work)
        np.add(work, x, work)
        np.sin(work, out=rows[i])
        total = np.exp(x, out=None) + np.sqrt(np.multiply(rows, rows, out=rows) + 1.0)
    return np.sum(total) + np.sum(rows * work)


def axes_of_one_element(x: Any) -> Any:
    y = np.outer(x, x)
    for _ in range(2):
        low = np.mean(y, axis=1, keepdims=True)
        y = y - low * np.squeeze(low, axis=1)
    return np.sum(y * y)


READ = [
    items_that_change, a_dict_of_each_turn, logarithms, result_in_a_guarded_loop, quiet_logarithms,
    functions_defined_in_turns, lists_of_elements, filled_by_ufuncs, axes_of_one_element,
    copies_of_dicts, copies_of_dicts_in_lists, other_ways_to_make_dicts, sequences_in_arrays,
    places_in_lists, windows,
    with_a_new_key, of_another_name, changed_by_a_function_inside, given_to_a_function,
]  # fmt: skip
TRACED = [
    dicts_with_other_orders,
    returned_before_finally, returned_in_with, errors_asked_for,
    a_function_of_a_turn_that_never_ran,
]  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("f", READ, ids=lambda f: f.__name__)
def test_read(f: Callable, runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(calls.ProgramRun, "traced")
    check_gradient(f, X)
    assert f.__name__ in runs


@pytest.mark.parametrize("f", TRACED, ids=lambda f: f.__name__)
def test_traced(f: Callable, runs: list[str]) -> None:
    check_gradient(f, X)
    assert f.__name__ not in runs


def test_a_dict_of_the_caller_changes() -> None:
    def f(x: Any) -> Any:
        state = {"a": x[0]}
        y = first_the_callers(state, x)
        return y + state["a"]

    check_gradient(f, X)


@pytest.mark.parametrize("f", [logarithms, result_in_a_guarded_loop], ids=lambda f: f.__name__)
def test_an_exception_is_handled_as_ever(f: Callable, traced: Callable) -> None:
    for x in (X, X - 0.5, X - 0.65, X, X - 0.5, X - 1.0, X):
        np.testing.assert_allclose(gradient(f, x), traced(f, x), rtol=1e-14)


def test_a_warning_that_is_an_error_is_handled(traced: Callable) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (X, X * 1e-300, X):
            np.testing.assert_array_equal(
                gradient(warnings_that_are_errors, x), traced(warnings_that_are_errors, x)
            )


def test_an_exception_of_a_program_is_not_the_context_of_the_functions_own() -> None:
    def f(x: Any) -> Any:
        for v in x:
            y = math.log(v)
        return y

    with pytest.raises(ValueError, match="math domain error") as caught:
        gradient(f, X - 1.0)
    assert caught.value.__context__ is None


def test_an_exception_leaves_errstates(runs: list[str]) -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for v in x:
            with np.errstate(all="ignore"):
                total += math.log(v)
        return total

    before = np.geterr()
    for x in (X, X - 0.5):
        try:
            np.testing.assert_allclose(gradient(f, x), 1 / x)
        except ValueError:
            assert x[1] < 0
        assert np.geterr() == before
    assert "f" in runs


def scaled(x: Any, k: float) -> Any:
    return k * x if x > 0.5 else x * x


def helper_called_often(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total += scaled(scaled(x[i], 2.0), 3.0) + scaled(x[i] * total, 0.5)
    return total


def test_the_source_of_a_helper_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    found = parameters.definition_of
    monkeypatch.setattr(parameters, "definition_of", lambda f: asked.append(f) or found(f))
    check_gradient(helper_called_often, np.linspace(0.3, 1.2, 5))
    assert asked.count(scaled) == 1
