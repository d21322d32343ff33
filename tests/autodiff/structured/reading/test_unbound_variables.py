"""Variables that only a branch or a loop binds, and conditional expressions of two kinds."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured import calls
from tests.helpers import check_gradient

X = np.array([0.3, -0.4, 0.7, 0.2, 1.1, -0.6])


def the_one_before(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        if i > 0:
            total += (x[i] - before) ** 2 * i  # noqa: F821
        before = x[i]  # noqa: F841
    return total


def the_row_before(x: Any) -> Any:
    total, k = 0.0, 0
    while k < 5:
        row = x[k] * x
        if k > 0:
            total += np.sum(np.sin(row) * before)  # noqa: F821
        before, k = row, k + 1  # noqa: F841
    return total


def made_every_third(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        if i % 3 == 0:
            base, near = x[i], []
            for j in range(len(x)):
                if abs(x[i] - x[j]) < 0.65:
                    near.append((i, j))
        for i0, j in near:
            total += base * (x[i0] - x[j]) ** 2
    return total


def read_after_the_loop(x: Any) -> Any:
    for i in range(len(x)):
        if x[i] > 0.5:
            last, place = x[i] * x[0], i
    return last**2 + place * x[1]


def bound_in_one_branch(x: Any, n: int = 4) -> Any:
    if n > 2 and x[0] > 0.0:
        scale = np.exp(x[1])
    total = 0.0
    for i in range(n):
        if x[0] > 0.0:
            total += scale * x[i]
    return total


def in_a_function(x: Any) -> Any:
    def smoothed(k: int) -> Any:
        for v in x:
            if k > 0:
                last = 0.5 * v
            k -= 1
        return last

    return smoothed(2) * smoothed(3)


def zero_or_a_vector(x: Any) -> Any:
    v, total = np.zeros(6), 0.0
    for i in range(5):
        w = x * x[i] - (0.3 * v if i > 0 else 0)
        w -= 0.2 * v if i > 2 else 0.0
        v = (w if i > 1 else 1.0) * x
        total += np.sum(v)
    return total


@pytest.mark.parametrize(
    "f",
    [
        the_one_before,
        the_row_before,
        made_every_third,
        read_after_the_loop,
        bound_in_one_branch,
        in_a_function,
        zero_or_a_vector,
    ],
)
def test_they_run_from_source(f: Callable, runs: list[str]) -> None:
    """Where they are read they are bound, so the program runs."""
    check_gradient(f, X)
    assert f.__name__ in runs


def never_bound(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        if x[i] > 5.0:
            found = x[i]
        total += x[i]
    return total * found


def compared_with_none(x: Any) -> Any:
    for v in x:
        if v > 5.0:
            found = v
    return np.sum(x) if found is None else 2 * found


@pytest.mark.parametrize("f", [never_bound, compared_with_none])
def test_one_that_is_not_bound_raises(f: Callable) -> None:
    """The program exits, and the traced call raises Python's error."""
    for _ in range(2):
        with pytest.raises(UnboundLocalError, match="found"):
            gradient(f, X)


def none_or_unbound(x: Any) -> Any:
    total = 0.0
    for v in x:
        if v > 0.5:
            found = None
        elif v > 0.0:
            found = v
        if v > 0.1:
            total += 1.0 if found is None else found * v
    return total + x[0]


def test_a_variable_that_is_none_is_not_unbound() -> None:
    """None that the function binds is a value."""
    check_gradient(none_or_unbound, X)


class Mode(enum.Enum):
    CHARGE = 1
    HOLD = 2


def known_arguments_that_change(
    x: Any, lock: bool, mode: str, kind: Mode, best: Any, f: Any
) -> Any:
    total = 0.0
    for k in range(12):
        total += np.sum(x) * (0.4 if lock else 1.1) + (x[0] ** 2 if mode == "fast" else 0.0)
        total = f(total) + (x[1] if kind is Mode.CHARGE else 0.0)
        if best is not None:
            total = total + best * x[2]
        if not lock and total > 1.0:
            lock, mode, kind = True, "slow", Mode.HOLD
        elif k % 3 == 2:
            lock, mode, best, f = False, "fast", 0.1 * k, np.cos
    return total


@pytest.mark.parametrize("native", [10.0, -1.0])
@pytest.mark.parametrize("given", [(False, "fast"), (True, "slow")])
def test_known_arguments_that_change(
    given: tuple, native: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls.Settings, "native", native)
    calls._programs_of(known_arguments_that_change).known.clear()
    for _ in range(2):
        check_gradient(
            lambda x: known_arguments_that_change(x, *given, Mode.CHARGE, None, np.sin), X
        )
    programs = calls._programs_of(known_arguments_that_change).known.values()
    assert not any(program is not None and program.failure for program in programs)


def flag_that_changes(x: Any, lock: bool) -> Any:
    total = 0.0
    for _ in range(12):
        total += np.sum(x) * (0.4 if lock else 1.1)
        lock = total > 3.0 if not lock else total < 9.0
    return total


@pytest.mark.parametrize("native", [10.0, -1.0])
@pytest.mark.parametrize("lock", [False, True])
def test_a_flag_that_changes(
    lock: bool, native: float, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls.Settings, "native", native)
    for _ in range(3):
        check_gradient(lambda x: flag_that_changes(x, lock), X)
    assert runs.count("flag_that_changes") == 3
