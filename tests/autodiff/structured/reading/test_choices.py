"""`np.where` of one test, `while` with a walrus, members of enumerations, and `match`."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured import calls
from tests.helpers import check_gradient

X = np.array([0.3, -0.4, 0.7])


class Mode(enum.Enum):
    A = 1
    B = 2.5
    C = "c"


class Word(enum.StrEnum):
    X = "x"
    Y = "y"


class Own(enum.Enum):
    A = 1
    B = 2

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__


def where_of_arrays(x: Any) -> Any:
    s, total = x, 0.0
    for i in range(6):
        s = np.where(s[0] > 0.1, s * 0.9, s * 1.2 + 0.05)
        s = s * np.where(i > 2, x, 1.1)
        m = np.where(s[1] < 0.0, np.outer(x, s), s)
        m[0, 0] *= 2.0
        total += np.sum(m)
    return np.sum(s) + total


def where_of_numbers(x: Any) -> Any:
    s = x[0]
    for i in range(6):
        s = np.where(s > 0.1, s * 0.9, 1.2) + 0.05 * x[1]
        k = np.where(s > 0.3, x[2], s)
        s = s * k + np.where(i > 2, 0.5, 0.1) * float(k)
    return s


def classes_asked_for(x: Any) -> Any:
    s = x[0]
    for i in range(4):
        if type(i) is int and type(x) is not list:
            s = s * x[i % 3] + 1.0
        if type(x) is np.ndarray:
            s = s + x[1] ** 2
    return s


def conversions(x: Any) -> Any:
    s = x[0]
    for i in range(4):
        s = np.float64(float(s)) * 0.9 + np.float64(x[1] * i)
    return s


def with_a_walrus(x: Any) -> Any:
    s, i = x[0], 0
    while (r := s * s - x[1] * x[1]) > -1.0 and i < 9:
        s = s * 0.8 + 0.1 * r
        i += 1
        if i == 3:
            continue
        s = s + x[2] * 0.1
        if i == 7:
            break
    while (i := i + 1) < 12:
        s = s + x[1] * i
    return s * r * i


def members(x: Any) -> Any:
    mode, word, fixed, s = Mode.A, Word.X, Mode.B, x[0]
    for _ in range(7):
        if mode == Mode.A:
            s = s * 0.9 + x[1]
            mode = Mode.B
        elif mode is Mode.B:
            s = s * Mode.B.value
            mode = Mode.C if word == Word.X else Mode.A
        elif mode != Mode.A:
            s = s - x[2] * fixed.value
            mode = Mode.A
        word = Word.Y if word is Word.X else Word.X
        if fixed is not Mode.B or fixed.name != "B":
            s = s * 100.0
    return s


def machine(x: Any) -> Any:
    mode, s = Mode.A, x[0]
    for i in range(9):
        match mode:
            case Mode.A:
                s = s * 0.9 + x[1]
                mode = Mode.B
            case Mode.B if i % 3 == 0:
                mode = Mode.C
            case Mode.B:
                s = s * Mode.B.value
            case _:
                s = s - x[2]
                mode = Mode.A
    return s


def numbers_and_jumps(x: Any) -> Any:
    s = x[0]
    for i in range(7):
        match i:
            case 0 | 3:
                s = s * 2.0
                continue
            case 5:
                break
            case k if k > 1:
                s = s + x[1] * k
            case k:
                s = s + x[2] * (k + 1)
        s = s * 1.1
    return s


def tuples(x: Any) -> Any:
    s = x[0]
    for i in range(7):
        match (i % 2, i % 3):
            case (0, 0):
                s = s * 0.9
            case (0, b):
                s = s + x[1] * b
            case (a, b) if a < b:
                s = s + x[2] * b
            case (1, 1, 1):
                s = s * 100.0
            case other:
                s = s * 0.5 + other[0]
    return s


def texts_and_returns(x: Any) -> Any:
    def step(kind: Any, i: Any, v: Any) -> Any:
        match kind:
            case None:
                return v
            case "double":
                return v * 2.0 * i
            case _:
                return v * v

    total = 0.0
    for i in range(5):
        total += step("double", i, x[i % 3]) + step(None, i, x[0]) * step("", i, x[1])
    return total


KERNELS = [
    where_of_arrays, where_of_numbers, conversions, classes_asked_for, with_a_walrus, members,
    machine,
    numbers_and_jumps, tuples, texts_and_returns,
]  # fmt: skip


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
def test_choices(
    f: Callable, check_sweep: Callable, check_arrays: Callable, check_with_machine_code: Callable
) -> None:
    check_sweep(f, X)
    check_arrays(f, X)
    check_with_machine_code(f, X)


def test_a_member_as_an_argument(runs: list[str]) -> None:
    def chosen(x: Any, mode: Mode) -> Any:
        s = x[0]
        for _ in range(4):
            if mode == Mode.A:
                s = s * 0.9 + x[1]
            else:
                s = s * x[2] if mode is Mode.B else s + x[1] * x[2]
        return s

    for mode in Mode:
        check_gradient(lambda x, mode=mode: chosen(x, mode), X)
    assert runs


def kept_in_a_list(x: Any) -> Any:
    xs, s = [], x[0]
    for _ in range(3):
        xs.append(np.where(s > 0.1, s, x[1]))
        s = s * 0.5
    xs[0] += 1.0
    return np.sum(np.array(xs)) * x[2]


def changed_in_place(x: Any) -> Any:
    s = x[0]
    for _ in range(3):
        k = np.where(s > 0.1, s, x[1])
        j = k
        k += 1.0
        s = s * 0.5 + j
    return s


def with_an_equality_of_its_own(x: Any) -> Any:
    s = x[0]
    for _ in range(3):
        if Own.A == Own.B:
            s = s * 0.9
    return s


def of_many_guards(x: Any) -> Any:
    s = x[0] * 1.0
    for i in range(9):
        match i:
            case k if k > 7:
                s = s + x[0]
            case k if k > 6:
                s = s * x[1]
            case k if k > 5:
                s = s - x[2]
            case k if k > 4:
                s = s * 0.5
            case k if k > 3:
                s = s + x[1] * k
            case k:
                s = s * 1.1
    return s


NOT_READ = [
    kept_in_a_list, changed_in_place, with_an_equality_of_its_own, of_many_guards,
]  # fmt: skip


@pytest.mark.parametrize("f", NOT_READ, ids=lambda f: f.__name__)
def test_what_is_not_read_is_traced(f: Callable, runs: list[str]) -> None:
    check_gradient(f, X)
    assert f.__name__ not in runs


def test_the_value_of_a_member_may_change(traced: Callable) -> None:
    class Unit(enum.Enum):
        A = 2.0

    unit = Unit.A

    def f(x: Any) -> Any:
        for _ in range(2):
            x = x * (2.0 if type(unit.value) is int else unit.value)
        return x

    assert gradient(f, 1.5) == 4.0
    for value, slope in ((3.0, 9.0), (5, 4.0)):
        Unit.A._value_ = value
        assert gradient(f, 1.5) == traced(f, 1.5) == slope


def by_branch(x: Any, n: int) -> Any:
    t = x
    for _ in range(3):
        z = 0.0
        if n % 2:
            z = -0.0
        t = t * 0.5 + math.copysign(x, z)
    return t


def by_expression(x: Any, n: int) -> Any:
    t = x
    for _ in range(3):
        t = t * 0.5 + np.copysign(x, np.float64(-0.0 if n % 2 else 0.0))
    return t


def by_part(x: Any, n: int) -> Any:
    t = x
    for _ in range(3):
        pair = (1, -0.0) if n % 2 else (1, 0.0)
        t = t * 0.5 + math.copysign(x, pair[1]) * pair[0]
    return t


def by_parts_of_a_complex_number(x: Any, n: int) -> Any:
    t = x
    for _ in range(3):
        z = complex(0.0, -0.0) if n % 2 else complex(0.0, 0.0)
        t = t * 0.5 + math.copysign(x, z.imag)
    return t


@pytest.mark.parametrize("native", [float("inf"), -1.0], ids=["source", "native"])
@pytest.mark.parametrize(
    "f", [by_branch, by_expression, by_part, by_parts_of_a_complex_number], ids=lambda f: f.__name__
)
def test_zeros_of_either_sign(monkeypatch: Any, f: Callable, native: float) -> None:
    """They are equal, and a choice between them is a choice all the same."""
    monkeypatch.setattr(calls.Settings, "native", native)
    assert [gradient(lambda x, n=n: f(x, n), 1.1) for n in (1, 2, 1)] == [-1.625, 1.875, -1.625]
