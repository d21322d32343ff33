"""Lists and dicts that are displayed under a name, and put into others, changed or returned."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff.structured import calls

X = 0.7


def rows(x: Any) -> list:
    out = []
    for i in range(5):
        row = [x, math.sin(x * i), i]
        out.append(row)
    return out


def twice(x: Any) -> list:
    out = []
    for i in range(4):
        row = [x * i, x]
        out.append(row)
        out.append(row)
        row[0] = row[0] * x
    return out


def states(x: Any) -> list:
    state = [x, 2 * x]
    out = [state]
    for _ in range(5):
        a, b = state
        state = [a * 0.9 + math.sin(b), b * 0.8]
        out.append(state)
    return out


def the_best(x: Any) -> Any:
    best, out = None, []
    for i in range(5):
        c = [x * i, math.sin(3.0 * x * i)]
        out.append(c)
        if best is None or c[1] > best[1]:
            best = c
    return out, best


def of_two_lengths(x: Any) -> list:
    out = []
    for i in range(5):
        row = [x * i, x] if i % 2 else [x, math.cos(x), x]
        out.append(row)
    return out


def one_of_two(x: Any) -> list:
    a, b = [x, x * x], [x * 3, 1.0]
    out = []
    for i in range(4):
        row = a if math.sin(2.0 * i) > 0 else b
        out.append(row)
        row[1] = row[1] * x
    return out


def swapped(x: Any) -> list:
    a, b = [x, x * x], [x * 3, 1.0]
    for _ in range(3):
        a, b = b, a
        a[0] = a[0] * 1.1 * x
    return [a, b]


def two_names(x: Any) -> Any:
    row = [x, x * x]
    other = row
    for _ in range(3):
        other[0] = other[0] * x
    return row, other


def rows_of_matrices(x: Any) -> list:
    out = []
    for i in range(2):
        row = [x, x * i]
        matrix = [row, [1.0, x], row]
        out.append(matrix)
        row[1] += x
    return out


def comprehended(x: Any) -> list:
    out = []
    base = [x * k for k in range(3)]
    for i in range(4):
        row = [v * i for v in base]
        out.append(row)
    out.append(base)
    return out


def of_arrays(x: Any) -> list:
    out, v = [], np.array([x, 2 * x, 3 * x])
    for _ in range(4):
        v = v * 0.9 + np.sin(v)
        pair = [v, v * v]
        out.append(pair)
    return out


def row_of(x: Any, i: int) -> list:
    row = [x * i, math.sin(x)]
    scale(row, 2.0)
    return row


def scale(row: list, by: Any) -> None:
    row[0] = row[0] * by


def by_functions(x: Any) -> list:
    out = []
    for i in range(4):
        row = row_of(x, i)
        scale(row, x)
        out.append(row)
        row += [x]
    return out


def dicts_that_change(x: Any) -> Any:
    d, out, total = {"a": x, "b": x * x}, [], 0.0
    for i in range(4):
        record = {"a": x * i, "b": x}
        record["a"] = record["a"] * d["a"]
        out.append(record)
        d["a"] = d["a"] * x
        out.append(d)
    for r in out:
        total += r["a"] * r["b"]
    return [total]


def a_list_in_a_dict(x: Any) -> Any:
    state = {"at": [x, x * x], "speed": [1.0, x]}
    for _ in range(3):
        for k in range(2):
            state["at"][k] += 0.1 * state["speed"][k]
    return [state["at"][0] * state["at"][1]]


READ = [
    rows, twice, states, the_best, of_two_lengths, one_of_two, swapped, two_names,
    rows_of_matrices, comprehended, of_arrays, by_functions, dicts_that_change, a_list_in_a_dict,
]  # fmt: skip


def lists_in(x: Any) -> Iterator[list]:
    if isinstance(x, (list, tuple)):
        if isinstance(x, list):
            yield x
        for part in x:
            yield from lists_in(part)


def total(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return sum(total(part) * (1.0 + 0.1 * k) for k, part in enumerate(x))
    return np.sum(x * x)


def which_are_one(x: Any) -> list[list[int]]:
    found = list(lists_in(x))
    return [[k for k, other in enumerate(found) if other is xs] for xs in found]


def changed(f: Callable) -> Callable:
    """A loss that also writes into the lists that are returned; it says which are one list."""

    def loss(x: Any) -> Any:
        y = f(x)
        loss.ones = which_are_one(y)  # type: ignore[attr-defined]
        first = total(y)
        for xs in list(lists_in(y)):
            if not isinstance(xs[0], list):
                xs[0] = xs[0] * 1.7 + 0.1
        return first + total(y)

    return loss


@pytest.mark.parametrize("f", READ, ids=lambda f: f.__name__)
@pytest.mark.parametrize("native", [10.0, -1.0])
def test_read(f: Callable, native: float, runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls.Settings, "native", native)
    monkeypatch.delattr(calls.ProgramRun, "traced")
    loss = changed(f)
    for x in (X, 1.1):
        expected = (loss(x + 1e-6) - loss(x - 1e-6)) / 2e-6
        for _ in range(2):
            found = autodiff.gradient(loss, x)
            np.testing.assert_allclose(found, expected, rtol=1e-7)
            assert loss.ones == which_are_one(f(x))
    assert runs.count(f.__name__) == 4


def lists_of(x: Any) -> Any:
    if isinstance(x, list):
        yield x
        for part in x:
            yield from lists_of(part)


def lists_that_later_statements_fill(x: Any) -> Any:
    rates = np.array([0.3, 0.5, 0.7])
    filled: dict = {name: [] for name in ("a", "b", "c")}
    for day in range(6):
        total = sum([filled[name][-1] for name in filled]) if day > 0 else 0.0
        for name, rate in zip(filled, rates, strict=True):
            filled[name].append(rate * x + 0.1 * total)
    return sum([np.sum(np.array(filled[name]) ** 2) for name in filled])


def lists_that_are_reversed(x: Any) -> Any:
    numbers, arrays = [x], [np.full(2, x)]
    for k in range(4):
        numbers.append(numbers[-1] * x + k)
        arrays.append(arrays[-1] * (x + k))
    last = arrays[-1]
    numbers.reverse()
    arrays.reverse()
    arrays[0][1] = 3.0 * numbers[0]
    return sum([a * b[1] for a, b in zip(numbers, arrays, strict=True)]) + last[1]


@pytest.mark.parametrize("f", [lists_that_later_statements_fill, lists_that_are_reversed])
@pytest.mark.parametrize("native", [10.0, -1.0])
def test_items_in_other_orders(
    f: Callable, native: float, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls.Settings, "native", native)
    for x in (0.7, 1.1):
        expected = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
        for _ in range(2):
            np.testing.assert_allclose(autodiff.gradient(f, x), expected, rtol=1e-7)
    assert runs == [f.__name__] * 4


def test_a_generator_function_is_no_program() -> None:
    def f(x: Any) -> Any:
        found = list(lists_of([[x, x * x], [x]]))
        return found[1][1] * len(found)

    np.testing.assert_allclose(autodiff.gradient(f, X), 3 * 2 * X)
