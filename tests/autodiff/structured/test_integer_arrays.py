"""Arrays of integers and truth values that loops write into: plain arrays."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import compile, gradient, hessian, pushforward
from autodiff.errors import MutationError
from autodiff.structured import calls
from tests.helpers import check_gradient

RNG = np.random.default_rng(3)
X = RNG.normal(size=(6, 2))
V = np.array([0.3, -0.7, 0.5, 1.2, 0.1, -0.4])


def escape_times(c: Any, n: int) -> Any:
    """Count how long each element stays small."""
    z, times = np.zeros_like(c), np.zeros(c.shape, dtype=np.int64)
    for k in range(n):
        inside = np.abs(z) < 1.5
        times[inside] = k
        z[inside] = z[inside] ** 2 + c[inside]
    times[times == n - 1] = 0
    return z, times


def clusters(x: Any, centres: Any, labels: Any, n: int) -> Any:
    """Move centres to the means of their points; keep the labels in an array that is given."""
    for _ in range(n):
        for i in range(len(x)):
            best = 1e9
            for k in range(len(centres)):
                d = (x[i, 0] - centres[k, 0]) ** 2 + (x[i, 1] - centres[k, 1]) ** 2
                if d < best:
                    best = d
                    labels[i] = k
        sums, counts = np.zeros_like(centres), np.zeros(len(centres), dtype=int)
        for i in range(len(x)):
            sums[labels[i]] += x[i]
            counts[labels[i]] += 1
        for k in range(len(centres)):
            if counts[k] > 0:
                centres[k] = sums[k] / counts[k]
    return centres, labels


def cheapest_path(costs: Any) -> Any:
    """Find the cheapest path through a table, by pointers that are followed back."""
    rows, columns = costs.shape
    total = costs[0].copy()
    came_from = np.zeros((rows, columns), dtype=np.int32)
    for i in range(1, rows):
        new = np.zeros_like(total)
        for j in range(columns):
            best = j
            for k in range(max(j - 1, 0), min(j + 2, columns)):
                if total[k] < total[best]:
                    best = k
            came_from[i, j] = best
            new[j] = costs[i, j] + total[best]
        total = new
    path = np.zeros(rows, dtype=np.int64)
    path[-1] = np.argmin(total)
    for i in range(rows - 1, 0, -1):
        path[i - 1] = came_from[i, path[i]]
    s = 0.0
    for i in range(rows):
        s = s + costs[i, path[i]] ** 2
    return s, path


def visited(x: Any, last: Any, seen: Any, n: int) -> Any:
    """Walk over the elements; note when each was visited last."""
    at, s = 0, 0.0
    for k in range(n):
        s = s + x[at] * (k - last[at])
        last[at] = k
        seen[at] = True
        at = (2 * at + 1 + k) % len(x)
    return s


def sieve(x: Any) -> Any:
    n = len(x)
    is_prime = np.ones(n, dtype=bool)
    is_prime[:2] = False
    for i in range(2, n):
        if is_prime[i]:
            is_prime[2 * i :: i] = False
    return np.sum(x[is_prime] ** 2), is_prime


def ranked(x: Any, order: Any) -> Any:
    """Sort places by values; the array is the result, too."""
    for i in range(1, len(x)):
        for j in range(i, 0, -1):
            if x[order[j]] < x[order[j - 1]]:
                order[j], order[j - 1] = order[j - 1], order[j]
    s = 0.0
    for i in range(len(x)):
        s = s + i * x[order[i]] ** 2
    return s, order


def loss_of_escape(c: Any) -> Any:
    z, times = escape_times(c * 1.0, 6)
    return np.sum(z * np.sin(times))


def loss_of_clusters(x: Any) -> Any:
    labels = np.zeros(len(x), dtype=np.int64)
    centres, found = clusters(x, x[:2] * 1.0, labels, 3)
    assert found is labels
    return np.sum(centres[labels] * x)


def loss_of_path(x: Any) -> Any:
    s, path = cheapest_path(x @ x.T)
    return s * np.sum(path) + np.sum(x[path])


def loss_of_visits(x: Any) -> Any:
    last, seen = np.full(len(x), -1), np.zeros(len(x), dtype=bool)
    s = visited(x, last, seen, 9)
    return s * np.sum(last) + np.sum(x[seen])


def loss_of_sieve(x: Any) -> Any:
    s, is_prime = sieve(x)
    return s * np.sum(is_prime) + np.sum(x[~is_prime])


def loss_of_ranks(x: Any) -> Any:
    order = np.arange(len(x))
    s, found = ranked(x, order)
    assert found is order
    order[0] = 0
    return s + np.sum(x[order] * order)


LOSSES = [
    (loss_of_escape, V, escape_times),
    (loss_of_clusters, X, clusters),
    (loss_of_path, X, cheapest_path),
    (loss_of_visits, V, visited),
    (loss_of_sieve, V, sieve),
    (loss_of_ranks, V, ranked),
]


@pytest.mark.parametrize("loss, x, kernel", LOSSES)
def test_programs_write_into_them(
    loss: Callable, x: np.ndarray, kernel: Callable, runs: list[str], traced: Callable
) -> None:
    check_gradient(loss, x)
    assert kernel.__name__ in runs
    assert np.allclose(gradient(loss, x), traced(loss, x), rtol=1e-12)
    x = x.astype(np.float32)
    found = gradient(loss, x)
    assert found.dtype == np.float32
    assert np.allclose(found, traced(loss, x), rtol=1e-4)


@pytest.mark.parametrize("loss, x, kernel", LOSSES)
def test_machine_code_writes_into_them(
    loss: Callable, x: np.ndarray, kernel: Callable, traced: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(calls.Settings, "native", -1.0)
    for given in (x, 0.7 * x, x):
        assert np.allclose(gradient(loss, given), traced(loss, given), rtol=1e-10)


@pytest.mark.parametrize("backend", ["auto", "python"])
@pytest.mark.parametrize("loss, x, kernel", LOSSES)
def test_compiled(
    loss: Callable, x: np.ndarray, kernel: Callable, backend: str, traced: Callable
) -> None:
    compiled = compile(lambda x: gradient(loss, x), backend=backend)
    for given in (x, 0.7 * x, -x, x):
        assert np.allclose(compiled(given), traced(loss, given), rtol=1e-10)


@pytest.mark.parametrize("loss, x, kernel", LOSSES)
def test_forward_and_second_derivatives(loss: Callable, x: np.ndarray, kernel: Callable) -> None:
    dot = np.cos(np.arange(x.size)).reshape(x.shape)
    value, push = pushforward(loss, x)
    assert np.isclose(value, loss(x))
    assert np.isclose(push(dot), np.sum(gradient(loss, x) * dot))
    h = hessian(lambda s: loss(x + s * dot), 0.1)
    up, down = (gradient(lambda s: loss(x + s * dot), 0.1 + e) for e in (1e-5, -1e-5))
    assert np.isclose(h, (up - down) / 2e-5, rtol=1e-5, atol=1e-6)


def counted(x: Any, counts: Any, n: int) -> Any:
    s = 0.0
    for k in range(n):
        counts[k % len(counts)] += 1
        s = s + x[k] * counts[0]
        if s > 50.0:
            raise ValueError("too large")
    return s


def loss_of_counts(x: Any, counts: Any, n: int = 5) -> Any:
    return counted(x, counts, n) * np.sum(counts * np.arange(len(counts)))


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int16, np.int8, np.uint8])
def test_arrays_from_outside_hold_what_the_function_wrote(dtype: type, traced: Callable) -> None:
    for make in (
        lambda: np.zeros(3, dtype),
        lambda: np.zeros(9, dtype)[::3],
        lambda: np.ones((3, 2), dtype).T[1],
    ):
        expected, counts = make(), make()
        for _ in range(3):
            g = traced(functools.partial(loss_of_counts, counts=expected), V)
            found = gradient(functools.partial(loss_of_counts, counts=counts), V)
            assert np.array_equal(found, g)
            assert np.array_equal(counts, expected)


def shifted(x: Any, counts: Any, k: int, n: int) -> Any:
    s = 0.0
    for t in range(n):
        counts[t] = counts[t] + k
        s = s + x[t] * counts[t]
    return s


@pytest.mark.parametrize("native", [float("inf"), -1.0])
@pytest.mark.parametrize("dtype, start, k", [
    (np.int8, -100, 150), (np.uint8, 5, -3), (np.int16, -30_000, 40_000), (np.uint32, 5, -3),
])  # fmt: skip
def test_integers_that_do_not_fit(
    dtype: type, start: int, k: int, native: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NumPy raises where one of Python's does not, although the sum does."""
    monkeypatch.setattr(calls.Settings, "native", native)
    counts = np.full(6, start, dtype)
    assert np.all(gradient(lambda x: shifted(x, counts, 1, 6), V) == start + 1)
    for _ in range(2):
        with pytest.raises(OverflowError):
            gradient(lambda x: shifted(x, counts, k, 6), V)
    assert np.all(counts == start + 1)


def toggled(x: Any, flags: Any) -> Any:
    s = 0.0
    for t in range(4):
        flags[t] += t - 1
        flags[t + 1] -= t
        s = s + x[t] * flags[t] + x[0] * flags[t + 1]
    return s


@pytest.mark.parametrize("native", [float("inf"), -1.0])
def test_sums_in_arrays_of_truth_values(
    native: float, traced: Callable, monkeypatch: pytest.MonkeyPatch, runs: list[str]
) -> None:
    """They are sums of integers, and the truth value is whether that is zero."""
    monkeypatch.setattr(calls.Settings, "native", native)
    flags, expected = np.ones(6, bool), np.ones(6, bool)
    for _ in range(2):
        g = traced(lambda x: toggled(x, expected), V)
        assert np.array_equal(gradient(lambda x: toggled(x, flags), V), g)
        assert np.array_equal(flags, expected)
    assert "toggled" in runs


def equal_places(x: Any, counts: Any, floats: Any) -> Any:
    s = 0.0
    for t in range(3):
        s = s + x[t] * (3.0 if counts[t] == floats[t] else 2.0) + np.sum(x * (counts > floats))
    return s


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint32, np.int16, np.uint8])
def test_comparisons_with_floats_of_single_precision(
    dtype: type, traced: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NumPy compares them in double precision if single precision does not have the integers."""
    monkeypatch.setattr(calls.Settings, "native", -1.0)
    large = np.iinfo(dtype).max > 2**24
    counts = np.array([2**24 + 1 if large else 200, 3, 4]).astype(dtype)
    floats = np.array([2.0**24, 3.0, 5.0], np.float32)
    for _ in range(2):
        found = gradient(lambda x: equal_places(x, counts, floats), V[:3])
        assert np.array_equal(found, traced(lambda x: equal_places(x, counts, floats), V[:3]))


def test_an_error_leaves_what_was_written_before_it(runs: list[str]) -> None:
    expected, counts = np.zeros(3, int), np.zeros(3, int)
    with pytest.raises(ValueError, match="too large"):
        counted(100.0 * V, expected, 5)
    with pytest.raises(ValueError, match="too large"):
        gradient(lambda x: counted(x, counts, 5), 100.0 * V)
    assert np.array_equal(counts, expected)
    assert not runs


def test_what_cannot_be_written_stays_as_it_is() -> None:
    counts = np.zeros(3, int)
    counts.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        gradient(lambda x: counted(x, counts, 5), V)
    assert not counts.any()


def moved(x: Any, a: Any, b: Any, n: int) -> Any:
    s = 0.0
    for k in range(n):
        a[k] = b[k + 1]
        s = s + x[a[k]] * b[k]
    return s


def test_arguments_that_share_memory(traced: Callable) -> None:
    def loss(x: Any) -> Any:
        places = np.array([3, 1, 0, 2, 4, 5])
        s = moved(x, places, places, 4) + moved(x, places[1:], places, 4)
        repeated = np.lib.stride_tricks.as_strided(places, (6,), (0,))
        return s + moved(x, repeated, np.arange(6), 4) * np.sum(places)

    assert np.allclose(gradient(loss, V), traced(loss, V))


def test_an_array_that_a_pullback_holds() -> None:
    weights = np.arange(20_000.0)

    def loss(x: Any) -> Any:
        y = np.sum(x[0] * weights) + np.sum(x[:, None] @ weights[None, :6])
        return y * visited(x, weights, np.zeros(6, bool), 4)

    with pytest.raises(MutationError, match="written into after it was used"):
        gradient(loss, V)


def test_large_arrays_may_be_written_again_after_use(traced: Callable) -> None:
    def loss(x: Any) -> Any:
        labels, s = np.zeros(20_000, dtype=np.int64), 0.0
        for turn in range(3):
            with contextlib.nullcontext():  # each loop inside has a program of its own
                s = s * 0.9
            for i in range(40):
                labels[i] = (i * turn) % len(x)
            for i in range(40):
                s = s + x[labels[i]] * 0.1
            labels[0] = 1
        return s

    assert np.allclose(gradient(loss, V), traced(loss, V))


def test_results_are_the_callers_own(traced: Callable, runs: list[str]) -> None:
    """What the caller does to them does not change what the sweep reads."""

    def places(x: Any, n: int) -> Any:
        z = np.arange(n)[::-1].copy()
        y = x * 1.0
        for k in range(3):
            y = np.sin(y[z]) * x
            z[k], z[k + 1] = z[k + 1], z[k]
        last = z.copy()
        return np.sum(y[last]), z, last, y > 0.0

    def loss(x: Any) -> Any:
        s, z, last, positive = places(x, len(x))
        assert type(z) is type(last) is type(positive) is np.ndarray
        s = s * np.sum(z * positive)
        z[:], last[:], positive[:] = 0, 1, True
        return s + np.sum(x[z]) + np.sum(x[last])

    check_gradient(loss, V)
    assert "places" in runs
    assert np.allclose(gradient(loss, V), traced(loss, V))


def test_lists_of_them(traced: Callable, runs: list[str]) -> None:
    def history(x: Any, n: int) -> Any:
        z, kept = np.arange(len(x)), []
        y = x * 1.0
        for k in range(n):
            z = np.roll(z, k)
            kept.append(z)
            y = y * x[z]
        return np.sum(y), kept

    def loss(x: Any) -> Any:
        s, kept = history(x, 4)
        total = s * np.sum(kept[-1] * np.arange(len(x)))
        kept[2][:] = 0
        return total + np.sum(x[kept[2]])

    check_gradient(loss, V)
    assert np.allclose(gradient(loss, V), traced(loss, V))


def test_floats_are_cut_off_unless_they_have_a_derivative(traced: Callable) -> None:
    def stored(x: Any, steps: Any, counts: Any) -> Any:
        s = 0.0
        for k in range(3):
            counts[k] = 2.7 * steps[k]
            counts[3:] = steps[k : k + 2] * -1.6
            s = s + x[k] * counts[k] + x[3] * counts[4]
        return s

    counts, steps = np.zeros(5, dtype=np.int32), np.array([0.5, 1.5, -2.5, 3.5])
    expected = counts.copy()
    stored(V, steps, expected)
    found = gradient(lambda x: stored(x, steps, counts), V)
    assert np.array_equal(counts, expected)
    assert np.allclose(found, traced(lambda x: stored(x, steps, counts), V))
    with pytest.raises(MutationError, match="dtype int32"):
        gradient(lambda x: stored(x, x, counts), V)


def test_arrays_that_are_filled(traced: Callable, runs: list[str]) -> None:
    def filled(x: Any, counts: Any) -> Any:
        y, s = np.zeros_like(x), 0.0
        for k in range(4):
            counts.fill(k + 1)
            y.fill(x[k] ** 2)
            y[k] *= x[0]
            s = s + np.sum(np.sin(y) * counts)
        counts[1:].fill(2.9)
        return s

    counts = np.zeros(6, dtype=np.int8)
    check_gradient(lambda x: filled(x, counts), V)
    assert "filled" in runs
    assert counts.tolist() == [4, 2, 2, 2, 2, 2]
    found = gradient(lambda x: filled(x, counts), V)
    assert np.allclose(found, traced(lambda x: filled(x, counts), V))


def test_separate_loops(separate_runs: list[str], traced: Callable) -> None:
    """Loops of a function that is not read write into an array that later statements read."""

    def loss(x: Any) -> Any:
        counts = np.zeros(3, dtype=np.int32)
        seen = np.zeros(len(x), dtype=bool)
        s = 0.0
        for k in range(20):
            counts[k % 3] += k
            seen[k % 4] = x[k % 6] > 0.0
            s = s + np.sin(x[counts[0] % 6])
        with contextlib.nullcontext():
            s = np.sin(s)
        return s * np.sum(counts * np.array([1, 2, 3])) + np.sum(x[seen])

    check_gradient(loss, V)
    assert separate_runs
    assert np.allclose(gradient(loss, V), traced(loss, V))


def test_automatic_compilation() -> None:
    before = autodiff.automatic_compile(True)
    try:
        expected = gradient(loss_of_ranks, V)
        for _ in range(40):
            assert np.allclose(gradient(loss_of_ranks, V), expected)
    finally:
        autodiff.automatic_compile(before)
