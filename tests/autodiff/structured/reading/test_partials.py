"""What `functools.partial` makes: in the function, and as an argument."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured import calls
from tests.helpers import check_gradient

X = np.array([0.3, -0.4, 0.7])


def turned(f: Callable, s: Any, n: int) -> Any:
    for i in range(n):
        s = f(s, i)
    return np.sum(s)


def step(s: Any, i: Any, k: Any = 0.5, m: Any = 2.0) -> Any:
    return s * np.cos(k * s) + m * i


class Steps:
    def __init__(self, k: Any) -> None:
        self.k = k

    def step(self, s: Any, i: Any, m: Any = 1.0) -> Any:
        return s * np.cos(self.k * s) + m * i


GIVEN = {
    "by name": lambda x: partial(step, k=x[0]),
    "by name, with a number": lambda x: partial(step, k=x[0], m=0.1),
    "of a partial": lambda x: partial(partial(step, m=1.0), m=x[1], k=x[2]),
    "of a method": lambda x: partial(Steps(x[0]).step, m=x[1]),
    "of a lambda": lambda x: partial(lambda a, s, i: a * s + x[1] * i, x[0]),
    "of a ufunc": lambda x: functools.partial(np.multiply),
}


@pytest.mark.parametrize("name", GIVEN)
def test_as_an_argument(name: str, runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(calls.ProgramRun, "traced")
    for n in (4, 5):
        check_gradient(lambda x, n=n: turned(GIVEN[name](x), x * 1.5, n), X)
    check_gradient(lambda x: turned(GIVEN[name](x[::-1]), x, 3), X)
    assert runs == ["turned"] * 3


def several(x: Any) -> Any:
    total = 0.0
    for i in range(5):
        f = partial(step, x[i % 3], m=x[1])
        total += f(i) * i + f(i, k=x[2]) + f(i, m=x[0])
        g = partial(np.sum, axis=0)
        total += np.sum(g(np.outer(x, x)))
        h = partial(max, 0.1)
        total += h(x[0])
        total += sum(map(partial(operator.mul, x[1]), [x[0], 2.0]))
        total += partial(lambda a, *, b: a * b, b=x[2])(a=x[0])
    return total


def what_it_holds_changes(x: Any) -> Any:
    y, k, total = x * 1.0, x[0], 0.0
    f, g = partial(step, y, 1), partial(step, i=2, k=k)
    for _ in range(4):
        y[0] = y[0] * 0.5
        k = k * 2.0
        total += np.sum(f()) + np.sum(g(x)) * k
    return total


@pytest.mark.parametrize("f", [several, what_it_holds_changes], ids=lambda f: f.__name__)
def test_in_the_function(f: Callable, runs: list[str], traced: Callable) -> None:
    check_gradient(f, X)
    assert f.__name__ in runs
    np.testing.assert_allclose(gradient(f, X), traced(f, X), rtol=1e-12)


def bound_anew(x: Any) -> Any:
    f, total = partial(step, k=x[0]), 0.0
    for i in range(4):
        total += f(x[1], i)
        f = partial(step, k=x[i % 3])
    return total


def test_one_that_is_bound_anew_is_traced(runs: list[str]) -> None:
    check_gradient(bound_anew, X)
    assert "bound_anew" not in runs


def test_errors() -> None:
    for _ in range(3):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            gradient(lambda x: turned(partial(step, q=x[0]), x, 3), X)
