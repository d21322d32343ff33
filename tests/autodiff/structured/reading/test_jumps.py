"""Branches that leave a program: they raise, or return nothing where others return values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import value_and_gradient
from tests.helpers import check_gradient

X = np.array([0.3, 0.9, 0.7, 1.2])


def guarded(x: Any) -> Any:
    if len(x) < 2:
        raise ValueError(f"{x[0]:.3f} alone")
    total = 0.0
    for i in range(4):
        for v in x:
            if v < -5.0:
                words = f"{v} is too small: {x}"
                print(words)
                raise ArithmeticError(words)
            total += v * x[i]
    return total


def scale(a: Any, s: Any) -> None:
    if len(a) == 0:
        return
    for i in range(len(a)):
        if a[i] > 100.0:
            return
        a[i] *= s


def procedures_that_return_early(x: Any) -> Any:
    a, total = x.copy(), 0.0
    for k in range(4):
        scale(a, x[k])
        total += np.sum(a)
    return total


def root(c: Any, turns: int) -> Any:
    """Return a square root, or None, after having said so."""
    r = 1.0
    for _ in range(turns):
        if c < 0.0:
            print("negative", c)
            return None
        if abs(r * r - c) < 1e-13:
            return r
        r = 0.5 * (r + c / r)
    print("no root", r)
    return None


def roots(x: Any, turns: int = 40) -> Any:
    total = 0.0
    for i in range(4):
        r = root(x[i] - 0.25, turns)
        total += r if r is not None else x[i] * 3.0
    return total


def first_above(x: Any, least: float) -> Any:  # noqa: RET503 # what is tested
    for v in x:
        if v > least:
            return v * v


def falls_off_its_end(x: Any, least: float = 0.5) -> Any:
    total = 0.0
    for i in range(4):
        v = first_above(x * x[i], least * 0.1)
        total += 2.0 if v is None else v
    return total


def checked(x: Any) -> Any:
    if x.ndim != 1:
        return np.array([])
    if len(x) > 9:
        return "long"
    y = x * 0.0
    for i in range(1, 4):
        y[i] = y[i - 1] * x[i] + x[0]
    return y


KERNELS = [guarded, procedures_that_return_early, roots, falls_off_its_end,
           lambda x: np.sum(checked(x) ** 2)]  # fmt: skip


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
def test_branches_that_are_not_taken(f: Callable, runs: list[str]) -> None:
    check_gradient(f, X)
    assert (f.__name__ if f in KERNELS[:-1] else "checked") in runs


@pytest.mark.parametrize("f, option", [(roots, 1), (falls_off_its_end, 900.0)])
def test_a_branch_that_returns_nothing_is_traced(
    f: Callable, option: Any, traced: Callable, capsys: Any
) -> None:
    x = X.copy()
    x[2] = 0.1
    for given in ((X,), (x,), (X, option)):
        for _ in range(3):
            expected = f(*given)
            words = capsys.readouterr().out
            value, found = value_and_gradient(lambda x, given=given: f(x, *given[1:]), given[0])
            assert capsys.readouterr().out.count("no root") == words.count("no root")
            assert value == expected
            np.testing.assert_allclose(
                found, traced(lambda x, given=given: f(x, *given[1:]), given[0]), rtol=1e-12
            )
            capsys.readouterr()


def test_what_raises_raises_its_own_error() -> None:
    x = X.copy()
    x[3] = -6.0
    for _ in range(3):
        with pytest.raises(ArithmeticError, match=r"-6\.0 is too small"):
            value_and_gradient(guarded, x)
        with pytest.raises(ValueError, match=r"0\.300 alone"):
            value_and_gradient(guarded, x[:1])
