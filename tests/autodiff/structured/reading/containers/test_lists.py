"""Lists that loops fill: as programs, traced, and beside machine code, against differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff.structured import calls
from tests.helpers import check_gradient
from tools.fuzz import generators, judge


def trajectory(x: Any, n: int) -> Any:
    xs = [x]
    for _ in range(n):
        x = x + 0.01 * np.sin(x)
        xs.append(x)
    return np.sum(np.array(xs) ** 2)


def reads_earlier_items(x: Any, n: int) -> Any:
    xs = [x]
    for _ in range(n):
        xs.append(xs[-1] + 0.1 * np.sin(xs[-1]) * xs[len(xs) // 2])
    return np.sum(np.stack(xs, axis=1) ** 2)


def recursion_of_numbers(x: Any, n: int) -> Any:
    a = [x[0], x[1]]
    for _ in range(n):
        a.append(0.9 * a[-1] - 0.3 * a[-2] + 0.1)
    return sum(a) + a[3] * a[-1]


def generator_with_condition(x: Any, n: int) -> Any:
    return sum(x[i] * x[i + 1] * np.sin(x[i]) for i in range(len(x) - 1) if i % 3)


def nested_comprehension(x: Any, n: int) -> Any:
    return np.sum(np.array([[x[i] * x[j] for i in range(len(x))] for j in range(3)]) ** 3)


def dynamic_programming(x: Any, n: int) -> Any:
    best = [0.0] * len(x)
    for i in range(len(x)):
        best[i] = x[i]
        for j in range(i):
            if x[j] < x[i] and best[j] + x[i] > best[i]:
                best[i] = best[j] + x[i]
        best[i] *= 1.5
    return np.sum(best) + np.max(best)


def table_of_lists(x: Any, n: int) -> Any:
    t = [[0.0] * len(x) for _ in range(n)]
    for i in range(1, n):
        for j in range(len(x)):
            t[i][j] = t[i - 1][j] * 0.5 + x[j] * x[j - 1]
    return t[-1][2] * t[3][1] + np.sum(np.array(t))


def pieces_of_several_lengths(x: Any, n: int) -> Any:
    parts = []
    for i in range(n):
        parts.append(x[: i % 4 + 1] * i)
    return np.sum(np.concatenate(parts) ** 2)


def grows_after_it_was_read(x: Any, n: int) -> Any:
    parts = []
    for i in range(n):
        parts.append(x * i)
    a = np.vstack(parts)
    parts.append(x)
    return np.sum(a**2) + len(parts) * np.sum(parts[-1]) + np.sum(sum(parts) ** 2)


def goes_over_lists(x: Any, n: int) -> Any:
    parts = []
    for i in range(n):
        parts.append(x[i % len(x)] * i)
    s = 0.0
    for k, (p, q) in enumerate(zip(parts, reversed(parts), strict=True)):
        s += p * q * k
    for p in parts:
        s += p**2
    return s


def writes_into_items(x: Any, n: int) -> Any:
    parts = [x]
    for i in range(n):
        y = parts[-1].copy()
        y[i % len(y)] *= 1.1
        parts.append(y)
    for i in range(1, len(parts)):
        parts[i][0] += parts[i - 1][1]
        parts[i] *= 0.9
    return np.sum(parts[-1] * parts[3])


def replaces_items(x: Any, n: int) -> Any:
    layers = [x * k for k in range(n)]
    for k in range(1, n):
        before = layers[k]
        layers[k] = np.tanh(before + layers[k - 1])
        layers[k] = layers[k] * before
    return np.sum(np.array(layers))


def has_two_names(x: Any, n: int) -> Any:
    out: list = []
    again = out

    def add(v: Any) -> None:
        again.append(v)

    for i in range(n):
        add(x[0] * i)
        out.append(x[1])
    return np.mean(out) * np.sum(again)


def new_list_in_each_turn(x: Any, n: int) -> Any:
    s = 0.0
    for i in range(n):
        row = []
        for j in range(3):
            row.append(x[j] * i)
        s += sum(row) * row[-1]
    return s


def in_a_branch(x: Any, n: int) -> Any:
    seen = [x[0]]
    for i in range(n):
        if i % 3 == 0:
            seen.append(x[i % 4] * seen[-1])
        elif len(seen) > 2:
            seen[-1] = seen[-1] + x[2]
    return seen[-1] * seen[1] + len(seen)


def added_to(x: Any, n: int) -> Any:
    xs = [x[0]] * 3
    for i in range(n):
        xs += [x[1] * i, x[2]]
    return sum(xs) * xs[1]


def added_to_from_iterators(x: Any, n: int) -> Any:
    xs, d = [x[0]], {}
    for i in range(n):
        d[i % 3] = x[i % 4] * i
        xs += (v * i for v in x[:2])
        xs += d.values()
        xs += range(i)
    return sum(xs) * xs[-n] * xs[2 - n] * len(set(d))


def removes_items(x: Any, n: int) -> Any:
    out = [x[0]]
    for i in range(n):
        out.append(x[1] * i)
        if i % 2:
            out.pop(0)
    return sum(out)


def array_of_constants(x: Any, n: int) -> Any:
    table = np.array([np.eye(2) * 0.5 for _ in range(3)])
    for i in range(n):
        table[i % 3] = table[i % 3 - 1] * x[i % 4] + 0.1
    return np.sum(table * table)


BY_PROGRAMS = (
    array_of_constants,
    removes_items,
    trajectory, reads_earlier_items, recursion_of_numbers, generator_with_condition,
    nested_comprehension, dynamic_programming, table_of_lists, pieces_of_several_lengths,
    grows_after_it_was_read, goes_over_lists, writes_into_items, replaces_items, has_two_names,
    new_list_in_each_turn, in_a_branch, added_to, added_to_from_iterators,
)  # fmt: skip


def grows_while_it_is_gone_over(x: Any, n: int) -> Any:
    out = [x[0]]
    for v in out:
        if len(out) < n:
            out.append(v * x[1])
    return sum(out)


def of_several_kinds(x: Any, n: int) -> Any:
    out = [x[0], x]
    for i in range(n):
        out.append(x[1] * i)
    return sum(out[2:]) + np.sum(out[1]) * out[0]


def sum_with_an_array(x: Any, n: int) -> Any:
    xs = [x[0]]
    for _ in range(n):
        xs += x  # the array decides: it is added to each
    return xs[1]


def is_returned(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        out.append(x[i % 4] * i)
    return out


TRACED = (grows_while_it_is_gone_over, of_several_kinds, sum_with_an_array)
X = np.array([0.2, 0.45, 0.9, 1.3, 0.7])


def _loss(f: Callable) -> Callable:
    def loss(x: Any) -> Any:
        y = f(x * 1.0, 7)
        return sum(y) if isinstance(y, list) else y * 1.0

    return loss


def _differences(f: Callable) -> np.ndarray:
    h = 1e-6
    return np.array([(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(len(X))])


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("f", BY_PROGRAMS, ids=lambda f: f.__name__)
def test_by_a_program(f: Callable, native: bool, runs: list[str], monkeypatch: Any) -> None:
    monkeypatch.setattr(calls.Settings, "native", 0.0 if native else 9.0)
    loss = _loss(f)
    for _ in range(3):
        value, found = autodiff.value_and_gradient(loss, X)
        np.testing.assert_allclose(value, loss(X), rtol=1e-14 if native else 0.0)
        np.testing.assert_allclose(found, _differences(loss), rtol=1e-7, atol=1e-8)
    assert runs.count(f.__name__) == 3


@pytest.mark.parametrize("f", TRACED, ids=lambda f: f.__name__)
def test_traced(f: Callable, runs: list[str]) -> None:
    loss = _loss(f)
    for _ in range(3):
        found = autodiff.gradient(loss, X)
        np.testing.assert_allclose(found, _differences(loss), rtol=1e-7, atol=1e-8)
    assert f.__name__ not in runs


def test_float32_is_kept(runs: list[str]) -> None:
    x = X.astype(np.float32)
    for f in (trajectory, table_of_lists, replaces_items):
        value, found = autodiff.value_and_gradient(_loss(f), x)
        assert value.dtype == _loss(f)(x).dtype
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, _differences(_loss(f)), rtol=1e-4)
        assert f.__name__ in runs


def test_empty_lists(traced: Callable) -> None:
    def kernel(x: Any, n: int) -> Any:
        out = [x[0]]
        other = [v * x[1] for v in x[n:]]
        for i in range(n):
            out.append(x[i])
        return sum(out) + sum(other)

    for n in (0, 3, 5):
        assert autodiff.gradient(kernel, X, n, argnums=0).tolist() == (
            traced(lambda x: kernel(x, n), X).tolist()  # noqa: B023 - called at once
        )


def changed_by_another_name(x: Any, n: int) -> Any:
    a = [x[0], x[1]]
    b = a
    for i in range(n):
        b.append(x[i])
        b[0] = b[0] * x[2]
    return sum(a)


def extended_by_another_name(x: Any, n: int) -> Any:
    a = [x[0], x[1]]
    b = c = a
    b += [x[2]]
    for i in range(n):
        c[i % 3] = c[i % 3] * x[i]
    return sum(a) * len(a)


def named_in_an_expression(x: Any, n: int) -> Any:
    b = (a := [x[0], x[1]])
    for i in range(n):
        b.append(x[i])
    return sum(a)


def inner_list_with_a_name(x: Any, n: int) -> Any:
    a = [[x[0], x[2]], [x[1], x[2]]]
    total = 0.0
    for i in range(n):
        b = a[i % 2]
        b[0] = b[0] * x[i]
        total += b[0] * b[1]
    return total + sum(a[0])


def twice_in_a_list(x: Any, n: int) -> Any:
    a = [x[0], x[1]]
    b = [a, a]
    for i in range(n):
        b[i % 2].append(x[i])
    return sum(b[0]) * sum(b[1]) + sum(a)


def appended_with_a_name(x: Any, n: int) -> Any:
    rows = []
    r = [x[0], x[1]]
    for i in range(n):
        rows.append(r)
        rows[0][0] = x[i] * 2
    return rows[-1][0] + r[0]


def in_a_dict(x: Any, n: int) -> Any:
    d = {"p": [x[0], x[1]]}
    b = d["p"]
    for i in range(n):
        b[i % 2] = b[i % 2] * x[i]
    return sum(d["p"])


def given_to_a_function(x: Any, n: int) -> Any:
    def scaled(items: Any) -> Any:
        b = items
        for i in range(n):
            b[i % 2] = b[i % 2] * x[i]
        return b[0]

    a = [x[0], x[1]]
    return scaled(a) + sum(a)


def returned_by_a_function(x: Any, n: int) -> Any:
    a = [x[0], x[1]]

    def same() -> Any:
        return a

    b = same()
    for i in range(n):
        b.append(x[i])
    return sum(b) * sum(a)


def twice_in_a_comprehension(x: Any, n: int) -> Any:
    rows = [[v, v] for v in ([x[0]], [x[1]])]
    for i in range(n):
        rows[0][0].append(x[i])
    return sum(rows[0][1]) + sum(rows[1][0])


SHARED = [
    changed_by_another_name, extended_by_another_name, named_in_an_expression,
    inner_list_with_a_name, twice_in_a_list, appended_with_a_name, in_a_dict,
    given_to_a_function, returned_by_a_function, twice_in_a_comprehension,
]  # fmt: skip


@pytest.mark.parametrize("f", SHARED)
def test_lists_with_several_names(f: Callable, traced: Callable) -> None:
    for n in (3, 2):
        value, found = autodiff.value_and_gradient(lambda x, n=n: f(x, n), X)
        assert value == f(X, n)
        np.testing.assert_allclose(found, traced(lambda x, n=n: f(x, n), X), rtol=1e-12)


def list_made_by_a_function(x: Any, n: int) -> Any:
    def begin(u: Any) -> Any:
        return [u, 0.5 * u]

    a = begin(x[0])
    for i in range(n):
        a.append(a[i] * x[i])
    return sum(a)


def copies(x: Any, n: int) -> Any:
    a = [x[0], x[1]]
    b = list(a)
    c = a[:]
    d = a + [x[2]]  # noqa: RUF005 - it is what is tested
    e = [v for v in a]  # noqa: C416
    b = b + [x[3]]  # noqa: RUF005
    for i in range(n):
        c[i % 2] = x[i]
        d.append(x[i])
        e[0] = e[0] + 1.0
    return sum(a) * sum(b) + sum(c) * sum(d) * sum(e)


def read_by_a_variable_index(x: Any, n: int) -> Any:
    a = [[x[0], x[2]], [x[1], x[2]]]
    total = 0.0
    for i in range(n):
        row = a[i % 2]
        total += row[0] * a[1][i % 2]
    return total


def comprehensions_with_one_variable(x: Any, n: int) -> Any:
    pair = [x[0], x[1]]
    total = 0.0
    for _ in range(n):
        total += sum([sum([v * v for v in pair]) * v for v in x[:3]])
        total += sum([sum([v * x[2] for v in (x[1], total)]) * v for v in pair])
    return total


def variable_of_a_function_called_in_it(x: Any, n: int) -> Any:
    v = x[0] * 2.0

    def scaled(w: Any) -> Any:
        return w * v

    total = 0.0
    for _ in range(n):
        total += sum([scaled(v) for v in (x[1], x[2])]) * v
    return total


READ = [
    list_made_by_a_function, copies, read_by_a_variable_index, comprehensions_with_one_variable,
    variable_of_a_function_called_in_it,
]  # fmt: skip


@pytest.mark.parametrize("f", READ)
def test_lists_with_one_name_are_read(f: Callable, traced: Callable, runs: list[str]) -> None:
    value, found = autodiff.value_and_gradient(lambda x: f(x, 3), X)
    assert value == f(X, 3)
    np.testing.assert_allclose(found, traced(lambda x: f(x, 3), X), rtol=1e-12)
    assert f.__name__ in runs


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("start", range(0, 90, 30))
def test_generated(
    start: int, native: bool, traced: Callable, runs: list[str], monkeypatch: Any
) -> None:
    for seed in _quietly(range(start, start + (10 if native else 30))):
        f, arguments = judge.load(generators.write("lists", seed))
        monkeypatch.setattr(calls.Settings, "native", 0.0 if native else 9.0)
        try:
            expected = traced(f, *judge.fresh(arguments))
        except (IndexError, ValueError) as error:
            with pytest.raises(type(error)):
                autodiff.gradient(f, *judge.fresh(arguments))
            continue
        for _ in range(2 if native else 1):
            found = autodiff.gradient(f, *judge.fresh(arguments))
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11, err_msg=f"seed {seed}")
    assert "kernel" in runs


def _quietly(seeds: range) -> Iterator[int]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # A program knows of ways from the source, the tape of those that were taken.
        warnings.simplefilter("ignore", autodiff.NoPathWarning)
        for seed in seeds:
            calls.Settings.worth = calls.Settings.least = -1.0
            yield seed


def several_lists_at_once(x: Any) -> Any:
    ts, (ys, zs) = [0.0], ([x[0]], [])
    for i in range(3):
        ts.append(ts[-1] + x[1])
        ys.append(ys[-1] * x[2])
        zs.append(ys[i] * ts[-1])
    return sum(ts) * sum(ys) + sum(zs)


def test_lists_that_are_bound_at_once_may_grow(runs: list[str]) -> None:
    check_gradient(several_lists_at_once, np.array([0.3, 0.7, -1.2]))
    assert "several_lists_at_once" in runs
