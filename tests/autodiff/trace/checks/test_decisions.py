"""Results that depend on an argument only through comparisons: a warning that names the line."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import NoPathWarning, gradient
from autodiff.autocompile import call_records
from tools.fuzz.generators import decisions
from tools.fuzz.judge import load


def bisected(y: Any) -> Any:
    a, b = 0.0, 4.0
    for _ in range(60):
        m = (a + b) / 2
        if m * m > y:
            b = m
        else:
            a = m
    return a


LINE = bisected.__code__.co_firstlineno + 4


def golden(x: Any) -> Any:
    a, b = 0.0, 4.0
    ratio = (math.sqrt(5) - 1) / 2
    while b - a > 1e-9:
        c, d = b - ratio * (b - a), a + ratio * (b - a)
        if (c - x) ** 2 < (d - x) ** 2:
            b = d
        else:
            a = c
    return (a + b) / 2


def of_masks(x: Any) -> Any:
    a, b = 0.0, 4.0
    for _ in range(50):
        m = (a + b) / 2
        if np.all(m > x):
            b = m
        else:
            a = m
    return a


def stepped(t: Any) -> Any:
    """The state at a time: what a user asks for with ``gradient(f, horizon)``."""
    y, now = 1.0, 0.0
    while now < t:
        y, now = y * 0.99, now + 0.01
    return y


X = np.array([1.5, 1.5])
SEARCHES: dict[str, tuple[Callable, Any]] = {
    "bisection": (bisected, 2.0),
    "golden section": (golden, 1.3),
    "masks": (of_masks, X),
    "steps": (stepped, 0.7),
    "grid": (lambda x: min(np.linspace(0, 4, 50), key=lambda t: (t - x) ** 2), 1.3),
    "of an element": (lambda x: bisected(x[0]), X),
    "of a nest": (lambda p: bisected(p["a"]) * 2.0, {"a": 2.0, "b": X}),
    "goes on": (lambda x: np.sin(bisected(x)) + 1.0, 2.0),
    "of a closure": (lambda x: (lambda: bisected(x))(), 2.0),
    "by sign": (lambda x: bisected_by(lambda m: np.sign(m - x) > 0), 2.0),
    "by isclose": (lambda x: bisected_by(lambda m: not math.isclose(m, x) and m > x), 2.0),
}


def bisected_by(is_above: Callable) -> float:
    a, b = 0.0, 4.0
    for _ in range(60):
        m = (a + b) / 2
        a, b = (a, m) if is_above(m) else (m, b)
    return a


def tangent(f: Callable, x: Any) -> Any:
    seed = {key: np.ones_like(v) for key, v in x.items()} if isinstance(x, dict) else x
    return autodiff.pushforward(f, x)[1](seed)


WAYS: dict[str, Callable] = {
    "gradient": gradient,
    "value_and_gradient": autodiff.value_and_gradient,
    "pullback": autodiff.pullback,
    "pushforward": tangent,
    "compiled": lambda f, x: autodiff.compile(lambda x: gradient(f, x))(x),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("search", SEARCHES)
def test_a_search_is_warned_of(search: str, way: str) -> None:
    with pytest.warns(NoPathWarning, match=f"only through comparisons.* at {re.escape(__file__)}"):
        WAYS[way](*SEARCHES[search])


def test_the_warning_names_function_argument_and_line_and_is_the_users() -> None:
    with pytest.warns(NoPathWarning) as caught:
        gradient(lambda x, y: bisected(x) + y, 2.0, 1.0)
    message = str(caught[0].message)
    for part in ("argument 0", f"in bisected at {__file__}, line {LINE}", "root_scalar"):
        assert part in message
    assert caught[0].filename == __file__
    assert len(caught) == 1


def test_each_argument_has_its_own_line() -> None:
    with pytest.warns(NoPathWarning) as caught:
        assert gradient(lambda x, y, z: bisected(x) + golden(y) + z, 2.0, 1.0, 3.0) == (0, 0, 1)
    assert ["in bisected" in str(w.message) for w in caught] == [True, False]
    assert ["argument 1" in str(w.message) for w in caught] == [False, True]


def test_derivative_and_jacobian() -> None:
    with pytest.warns(NoPathWarning):
        assert autodiff.derivative(bisected, 2.0) == 0.0
    with pytest.warns(NoPathWarning):
        autodiff.jacobian(lambda x: np.array([bisected(x[0]), 1.0]), X)


QUIET: dict[str, tuple[Callable, Any]] = {
    "a constant": (lambda x: 3.0, 2.0),
    "round": (lambda x: float(round(x)), 2.3),
    "floor": (lambda x: np.floor(x) * 2.0, 2.3),
    "argmax": (lambda x: float(np.argmax(x)), X),
    "sign": (lambda x: np.sum(np.sign(x)), X),
    "a truth": (lambda x: x[0] > 0, X),
    "a count": (lambda x: np.sum(x > 0), X),
    "a count in a loop": (lambda x: sum(1 for v in x if v > 1), np.arange(6.0)),
    "a mean of truths": (lambda x: np.mean(x > 0), X),
    "a clamp": (lambda x: max(x, 0.0), -1.0),
    "clamps": (lambda x: sum(max(v, 0.0) for v in x), -np.ones(9)),
    "a branch": (lambda x: x * 2 if x > 1 else 5.0, 0.5),
    "a hinge": (lambda x: 0.0 if x > 1 else 1 - x, 2.0),
    "hinges": (lambda x: sum(0.0 if v > 1 else 1 - v for v in x), np.arange(2.0, 12.0)),
    "a path as well": (lambda x: bisected(x) * x, 2.0),
    "not used": (lambda x: stepped(0.3), 0.7),
    "a check": (lambda x: 2.0 if np.all(np.isfinite(x)) else 0.0, X),
    "where": (lambda x: np.sum(np.where(x > 0, x, 0.0)), X),
    "a loop": (lambda x: np.sum([v * v if v > 2 else v for v in x]), np.arange(6.0)),
    "ignored": (lambda x: bisected(autodiff.ignore_derivatives(x)), 2.0),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f, x", QUIET.values(), ids=QUIET)
def test_nothing_else_is(f: Callable, x: Any, way: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WAYS[way](f, x)


def test_second_derivatives_of_pieces_are_zero() -> None:
    def f(x: Any) -> Any:
        return sum(2 * v if v > 2 else 3 * v for v in x)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not autodiff.hessian(f, np.arange(6.0)).any()
        assert not autodiff.hvp(f, np.arange(6.0), np.ones(6)).any()
        autodiff.hessian(lambda x: np.hypot(x[0], x[1]) + np.linalg.norm(x), X)


@pytest.fixture
def _soon(monkeypatch: Any) -> Iterator[None]:
    monkeypatch.setattr(call_records.Settings, "calls", 2)
    monkeypatch.setattr(call_records.Settings, "seconds", 0.0)
    monkeypatch.setattr(call_records.Settings, "loading", 0.0)
    before = autodiff.automatic_compile(True)
    yield
    autodiff.automatic_compile(before)


@pytest.mark.usefixtures("_soon")
def test_it_is_said_at_every_call_also_of_a_function_that_is_called_often() -> None:
    for i in range(60):
        with pytest.warns(NoPathWarning):
            gradient(bisected, 2.0 + i / 50)


def test_a_program_says_it_at_every_call_too() -> None:
    compiled = autodiff.compile(lambda x: gradient(lambda x: bisected(x) * 1.0, x))
    for _ in range(3):
        with pytest.warns(NoPathWarning) as caught:
            assert compiled(2.0) == 0.0
        assert [w.filename for w in caught] == [__file__]
    assert compiled.variants == 1
    assert compiled.eager_because is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NoPathWarning):
            compiled(2.0)


def test_a_filter_makes_it_an_error_or_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NoPathWarning)
        assert gradient(bisected, 2.0) == 0.0
        warnings.simplefilter("error", NoPathWarning)
        with pytest.raises(NoPathWarning):
            gradient(bisected, 2.0)


@pytest.mark.parametrize("seed", range(100))
def test_written_programs(seed: int) -> None:
    program, arguments = load(decisions.write(seed))
    with pytest.warns(NoPathWarning):
        gradient(program, *arguments)
