"""What is one object in a result, or is an argument, is so in the result of a program."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff.autocompile import call_records


def _one_array_twice(x: Any, xs: Any) -> Any:
    a = b = np.zeros(2)
    a[0] = x[0]
    b[1] += x[1]
    return a, {"b": b}, a[1:]


def _one_list_twice(x: Any, xs: Any) -> Any:
    made = [x * 2.0]
    return made, (made, [made])


def _arguments(x: Any, xs: Any) -> Any:
    total = 0.0
    for v in xs[1]:
        total = total + v * x
    return xs, total, xs[1], x, xs[0]


def _a_changed_argument(x: Any, xs: Any) -> Any:
    xs[0].append(x[0])
    return xs[0], xs[1], xs[0]


def _changed_and_restored(x: Any, xs: Any) -> Any:
    xs[1].append(x[0])
    xs[1].pop()
    return xs[1], x


def _a_changed_array(x: Any, xs: Any) -> Any:
    xs[2]["a"][0] = 3.0 * x[0]
    return xs[2], xs[2]["a"], xs[1]


def _plain(x: Any, xs: Any) -> Any:
    return xs[3], xs[4], x.sum()


def _parts(y: Any) -> list:
    inner = list(y.values()) if isinstance(y, dict) else y if isinstance(y, (list, tuple)) else []
    return [y, *itertools.chain(*map(_parts, inner))]


def _same(nest: Any) -> set[tuple[int, int]]:
    """Return the pairs of parts, numbers aside, that are one object."""
    parts = _parts(nest)
    chosen = [i for i, x in enumerate(parts) if isinstance(x, (list, dict, tuple, np.ndarray))]
    return {(i, j) for i, j in itertools.combinations(chosen, 2) if parts[i] is parts[j]}


def _given(scale: float) -> tuple[np.ndarray, tuple]:
    x = scale * np.array([1.0, 2.0])
    return x, ([scale], [scale, 2.0], {"a": scale * np.ones(2)}, ("a", 1), [3, "b"])


@pytest.mark.parametrize(
    "f",
    [_one_array_twice, _one_list_twice, _arguments, _a_changed_argument, _changed_and_restored,
     _a_changed_array, _plain],
)  # fmt: skip
def test_identity_of_results(f: Callable) -> None:
    compiled = autodiff.compile(f, backend="python")
    is_changed = f in (_a_changed_argument, _a_changed_array)
    for scale in (1.0, 1.0, 3.0, -1.0):
        mine, others = _given(scale), _given(scale)
        expected, found = f(*mine), compiled(*others)
        assert repr(found) == repr(expected)
        # A program leaves its arguments as they are, so what has changed is another object.
        given, theirs = ((), ()) if is_changed else (mine, others)
        assert _same((found, theirs)) == _same((expected, given))
    assert compiled.variants
    assert compiled.eager_because is None


class _Counter:
    def __init__(self) -> None:
        self.calls = 0


_TABLE, _LISTS, _COUNTER = np.ones(3), {"a": [1.0], "b": ([2.0],)}, _Counter()


def _outer(x: Any) -> Any:
    return np.sum(x * _TABLE), [_TABLE, _LISTS, _LISTS["a"], _LISTS["b"][0], _COUNTER, [1.0]]


def test_what_is_outside_is_returned_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in [("enabled", True), ("calls", 2), ("seconds", 0.0), ("loading", 0.0)]:
        monkeypatch.setattr(call_records.Settings, name, value)
    monkeypatch.setattr(call_records, "RECORDING_RATIO", 0.0)
    compiled = autodiff.compile(_outer, backend="python")
    for k in range(10):
        x = np.arange(3.0) + k
        (_, found), _ = autodiff.value_and_gradient(_outer, x, has_aux=True)
        for y in (compiled(x)[1], found):
            assert all(a is b for a, b in zip(y, _outer(x)[1][:-1], strict=False))
            assert y[-1] == [1.0]
            y[-1].append(2.0)  # no other call sees this
        if k == 7:
            _LISTS["a"] = [1.0]  # an equal list is another one
    assert compiled.eager_because is None
    assert sum(record.hits for record in call_records.records.values())


_ROWS = np.arange(6.0).reshape(2, 3)
_ROW = _ROWS[1]


def test_a_view_of_what_is_outside_shares_its_memory() -> None:
    compiled = autodiff.compile(lambda x: (_ROWS[:, 0], _ROWS.T, _ROW[::-1], x @ _ROW))
    for k in range(4):
        column, transposed, backwards, product = compiled(np.ones(3))
        assert product == _ROW.sum()
        assert all(np.shares_memory(y, _ROWS) for y in (column, transposed, backwards))
        column[1] = k
        assert _ROW[0] == k


def _append(x: Any, log: list) -> Any:
    log.append("a call")
    return np.sum(x * x)


def _count(x: Any, log: dict) -> Any:
    log["calls"] += 1
    return np.sum(x * x) * log["calls"]


def _add(x: Any, log: set) -> Any:
    log.add(len(x))
    return np.sum(x * x)


def _note(x: Any, log: _Counter) -> Any:
    log.calls += 1
    return np.sum(x * x) * log.calls


@pytest.mark.parametrize(
    "f, make", [(_append, list), (_count, lambda: {"calls": 0}), (_add, set), (_note, _Counter)]
)
def test_an_argument_without_numbers_is_changed_in_each_call(f: Callable, make: Callable) -> None:
    compiled = autodiff.compile(f, backend="python")
    mine, others = make(), make()
    for n in range(1, 5):
        x = np.arange(float(n))
        assert compiled(x, others) == f(x, mine)
        assert getattr(others, "calls", others) == getattr(mine, "calls", mine)
    assert "changes an argument" in str(compiled.eager_because)
