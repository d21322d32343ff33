"""Numerical kernels with loops: programs made from their source give what tracing gives."""

from __future__ import annotations

import importlib.util
import math
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured import calls
from autodiff.structured.program_runs import ProgramRun
from autodiff.structured.runtime import Structured
from tests.autodiff.structured.kernels import (
    arguments,
    diagonal_after_writes,
    recurrence,
    reductions,
    small_matrices,
    stencil,
)
from tests.helpers import check_direction

C = np.cos(np.arange(6.0))
FACTOR = 0.3
N = 6


def factorization(a, b, m):
    s = m @ m.T + 6.0 * np.eye(len(a))
    s[0, 0] = np.sqrt(s[0, 0])
    for i in range(1, s.shape[0]):
        for j in range(i):
            s[i, j] -= np.dot(s[i, :j], s[j, :j])
            s[i, j] /= s[j, j]
        s[i, i] -= np.dot(s[i, :i], s[i, :i])
        s[i, i] = np.sqrt(s[i, i])
    return np.sum(np.tril(s) * m)


def search(a, b, m):
    s = 0.0
    for i in range(len(a)):
        if a[i] > 0.9:
            break
        if i % 2 == 1:
            continue
        s += a[i] * b[i]
    else_ = s * 2.0
    n = 0
    while n < 3:
        n += 1
        s = math.sin(s + b[n])
    return s + else_


def swapped(a, b, m):
    old = a * 1.0
    new = np.zeros_like(a)
    for i in range(5):
        new[1:] = np.sin(old[:-1] + b[i])
        new[0] = old[-1]
        old, new = new, old
    return np.sum(old * C)


def views(a, b, m):
    for i in range(m.shape[0]):
        row = m[i]
        column = m.T[i]
        row[1:] += a[i] * row[:-1]
        column *= 0.5
    m[m > 0.5] *= 0.25
    return np.sum(m * m)


def _relaxed(r, k, weight=0.5):
    for i in range(1, len(r) - 1):
        r[i] = weight * r[i] + k * (r[i - 1] - r[i + 1])
    return r[0], r[-1] * k


def helpers(a, b, m):
    first, last = _relaxed(a, FACTOR)
    for i in range(3):
        s, t = _relaxed(m[i], 0.1, weight=0.4)
        first = first + s * t
    return first * last + np.sum(a) + np.sum(m)


def early(a, b, m):
    total = 0.0
    for i in range(3):
        total = total + _chosen(a[i], b[i])
    return total


def _chosen(x, y):
    if x > y:
        return x * y
    if x > 0.0:
        return x - y
    return np.sin(x)


def whole(a, b, m):
    w = a.copy()
    for _ in range(4):
        w = np.tanh(m @ w + b)
        w *= np.mean(w) + 1.0
        m += 0.01 * np.outer(w, a)
    return w.sum() + np.max(m)


def sparse(a, b, m):
    places = np.array([0, 2, 3, 5])
    y = 0.0
    for i in range(len(places) - 1):
        chosen = b[places[: i + 2]]
        y += a[places[i] : places[i + 1]].sum() * chosen @ chosen
    return y


KERNELS = (stencil, recurrence, factorization, search, swapped, views, helpers, early, whole,
           reductions, small_matrices, diagonal_after_writes)  # fmt: skip


def _loss(kernel: Callable) -> Callable:
    def loss(a, b, m):
        a, b, m = a * 1.0, b * 1.0, m * 1.0
        y = kernel(a, b, m)
        return y + np.sum(a * C) + np.sum(b) + np.sum(m * m)

    return loss


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_program_gives_what_tracing_gives(
    kernel: Callable, runs: list[str], traced: Callable
) -> None:
    loss = _loss(kernel)
    found = gradient(loss, *arguments(N))
    assert kernel.__name__ in runs
    for x, y in zip(found, traced(loss, *arguments(N)), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS)
def test_differences(kernel: Callable) -> None:
    check_direction(_loss(kernel), *arguments(N))


@pytest.mark.parametrize("kernel", KERNELS)
def test_single_precision_stays(kernel: Callable, runs: list[str], traced: Callable) -> None:
    given = [x.astype(np.float32) for x in arguments(N)]
    found = gradient(_loss(kernel), *given)
    for x, y in zip(found, traced(_loss(kernel), *given), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5)


def _smoothed(a, b, m):
    for _ in range(3):
        new = a.copy()
        new[1:-1] = a[1:-1] + b[0] * (a[2:] - a[:-2])
        a = new
    return np.sum(a * a)


def _squared(a, b, m):
    for i in range(3):
        a[1:] = a[1:] * a[:-1] + b[i]
    return np.sum(a * a)


@pytest.mark.parametrize("kernel, keeps", [(_smoothed, False), (_squared, True)])
def test_what_is_overwritten_is_kept_if_the_sweep_reads_it(kernel: Callable, keeps: bool) -> None:
    program = Structured(kernel, (None,) * 3, tuple(arguments(N)), (0, 1))
    assert (" = old" in program.source) is keeps


def _by_keyword(a, b, m):
    s = 0.0
    for i in range(3):
        s = s + np.sum(a=a * b[i]) * np.mean(a=m[i])
    return s


def test_sums_whose_argument_has_a_name(traced: Callable) -> None:
    found = gradient(_by_keyword, *arguments(N))
    for x, y in zip(found, traced(_by_keyword, *arguments(N)), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


def _row_and_matrix(a, b, m):
    s = 0.0
    for i in range(3):
        y = a[i] * np.ones((1, 6))
        s = s + np.sum(np.sin(y) + m) + np.sum(y * 2.0)
    return s


def _carried_rows(a, b, m):
    g = np.mean(m, axis=0, keepdims=True)
    e = np.tanh(m)
    s = 0.0
    for i in range(3):
        g = np.sin(b[i] * g)
        e = np.tanh(e * g + a[i])
        s = s + np.sum(g * 2.0) + np.sum(g - e)
    return s * np.sum(e)


def _column_written(a, b, m):
    u = np.zeros((6, 6))
    s = 0.0
    for i in range(3):
        h = b[i] * np.ones((6, 1))
        u[:] = h
        s = s + np.sum(h * 0.5) + np.sum(u * m)
    return s


@pytest.mark.parametrize("kernel", [_row_and_matrix, _carried_rows, _column_written])
def test_cotangents_have_the_shape_of_what_is_broadcast(kernel: Callable, runs: list[str]) -> None:
    given = arguments(N)
    found = gradient(kernel, *given)
    assert runs
    for k, x in enumerate(given):
        h = 1e-6
        for at in np.ndindex(x.shape):
            values = []
            for step in (h, -h):
                moved = [y.copy() for y in given]
                moved[k][at] += step
                values.append(kernel(*moved))
            slope = (values[0] - values[1]) / (2 * h)
            np.testing.assert_allclose(found[k][at], slope, rtol=1e-5, atol=1e-8)


def _noticed_by_the_forward_function(a, b, m):
    y = np.sin(m)
    for i in range(3):
        row = np.cos(m[i : i + 1])
        y = y * row + y * m
    return np.sum(y)


def _noticed_by_the_sweep(a, b, m):
    y = np.zeros((6, 6))
    for i in range(3):
        y[:] = m[i : i + 1] * b[i]
        y += m[:, i : i + 1] * m
        y *= m
    return np.sum(y * y)


def _views_that_are_chosen(a, b, m):
    s = 0.0
    for i in range(3):
        s = s + a[i] * b[i]
    chosen = np.where(m > 0.0, m, a[:, None])
    return s + np.sum(chosen * chosen)


@pytest.mark.parametrize(
    "kernel",
    [_noticed_by_the_forward_function, _noticed_by_the_sweep, _views_that_are_chosen],
)
def test_only_what_was_broadcast_is_summed(kernel: Callable, traced: Callable) -> None:
    given = arguments(N)
    for found, expected in zip(gradient(kernel, *given), traced(kernel, *given), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    program = Structured(kernel, (None,) * 3, tuple(given), (0, 1, 2))
    ProgramRun(program, kernel, kernel, (None,) * 3, tuple(given)).swept([1.0])
    sweep = program.source[program.source.index("def backward") :]
    assert 0 < sweep.count("fitted(") <= 3
    ProgramRun(program, kernel, kernel, (None,) * 3, tuple(given)).swept([1.0])
    assert program.source.endswith(sweep)


def _steps(a, b, n):
    for _ in range(n):
        a, b = a + 0.1 * b, b - 0.1 * np.sin(a)
    return a, b


@pytest.mark.parametrize("n", [3, 0])
def test_arrays_that_are_bound_anew_may_be_results(n: int, traced: Callable) -> None:
    def f(a, b):
        p, q = _steps(a, b, n)
        p *= 2.0  # without a turn these are the arguments
        q[0] = p[1] * a[0]
        return np.sum(p * q)

    a, b, _ = arguments(N)
    for x, y in zip(gradient(f, a.copy(), b), traced(f, a.copy(), b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_a_loop_keeps_its_values_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls.Settings, "native", float("inf"))
    x = np.linspace(0.1, 1.0, 100_000)

    def f(x):
        for _ in range(12):
            x = np.tanh(x)
        return np.sum(x)

    gradient(f, x)
    tracemalloc.start()
    try:
        gradient(f, x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Twelve values, one cotangent, and what one product takes.
    assert peak < 16 * x.nbytes


def test_long_blocks_are_read_in_time_that_grows_with_their_length(tmp_path) -> None:
    lines = "        x = 0.5 * x * np.tanh(x)\n" * 300
    head = "import numpy as np\n\n\ndef f(x):\n    for i in range(2):\n"
    file = tmp_path / "long_block.py"
    file.write_text(f"{head}{lines}    return np.sum(x)\n")
    spec = importlib.util.spec_from_file_location("long_block", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    program = Structured(module.f, (None,), (np.ones(3),), (0,))
    assert program.source.count("tanh") >= 300
