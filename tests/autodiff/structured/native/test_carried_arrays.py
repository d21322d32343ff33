"""Arrays that loops bind anew: their cotangents, what is saved of them, and their buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff.structured.native.llvm.memory import KEPT, RunTape


def diffusion(u: Any, k: Any) -> Any:
    for _ in range(5):
        u = u + 0.1 * k * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return np.sum(u * u)


def sums_and_products(x: Any, r: Any) -> Any:
    for _ in range(4):
        y = r * x * (1 - x)
        x = 0.5 * (x + y)
    return np.sum(x * r)


def filled_in_each_iteration(u: Any, c: Any) -> Any:
    v = np.zeros_like(u)
    for _ in range(4):
        change = np.zeros_like(u)
        change[1:-1] = u[2:] - 2 * u[1:-1] + u[:-2]
        change[0] = change[1] * c[0]
        v = v + c * change
        u = u + 0.1 * v
    return np.sum(u * u)


def filled_and_carried(u: Any, c: Any) -> Any:
    for _ in range(3):
        new = u * 1.0
        new[1:] += c[1:] * u[:-1]
        new[:-1] *= new[1:]
        u = new
    return np.sum(u * u)


def swapped(u: Any, v: Any) -> Any:
    old = u
    for _ in range(3):
        old, u = u, np.tanh(v * u) - 0.5 * old[::-1]
        u, v = v, u
    return np.sum(u * v * old)


def bound_in_nested_loops(u: Any, v: Any) -> Any:
    for i in range(3):
        u = u * v
        for _ in range(i):
            u = np.sin(u) + v[::-1]
    return np.sum(u)


def never_read(u: Any, v: Any) -> Any:
    for i in range(3):
        u = u * 2.0
        if i == 1:
            u = v * v
    return np.sum(u * v)


def read_by_an_inner_loop(u: Any, v: Any) -> Any:
    s = 0.0
    for _ in range(3):
        for i in range(1, len(u)):
            s += u[i] * v[i - 1]
        u = np.cos(u) * s
    return s + np.sum(u)


def one_row_in_an_inner_loop(u: Any, v: Any) -> Any:
    m = np.outer(u, v)
    g = np.mean(m, axis=0, keepdims=True)
    t = 1.0
    for _ in range(4):
        t = t + 0.1 * np.sum(g)
        for _ in range(3):
            g = np.mean(m, axis=0, keepdims=True)
            m = 0.3 * m + g
    return np.sum(m) + t


def reversed_view(u: Any, v: Any) -> Any:
    for _ in range(2):
        v = u[::-1]
    return np.sum(v[1:] * u[1:])


def kept_over_an_inner_loop(u: Any, v: Any) -> Any:
    r = v * 0.0
    for _ in range(3):
        before = u
        for _ in range(3):
            u = 0.5 * u + 0.1 * v
        r = r + before
    return np.sum(np.cos(r))


def swapped_in_an_inner_loop(u: Any, v: Any) -> Any:
    r = v * 0.0
    for _ in range(3):
        before, b = u, v * 1.0
        for _ in range(3):
            u, b = b, 0.5 * u + 0.1 * v
        r = r + before - b
    return np.sum(np.cos(r))


def kept_in_a_list(u: Any, v: Any) -> Any:
    r = v * 0.0
    for _ in range(3):
        pair = [u, v]
        for x in v:
            u = 0.5 * u + x
        r = r + pair[0] + pair[1]
    return np.sum(np.cos(r))


KERNELS = [
    diffusion, sums_and_products, filled_in_each_iteration, filled_and_carried, swapped,
    bound_in_nested_loops, never_read, read_by_an_inner_loop,
    one_row_in_an_inner_loop, reversed_view,
    kept_over_an_inner_loop, swapped_in_an_inner_loop, kept_in_a_list,
]  # fmt: skip


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
def test_kernels(f: Callable, check_machine_code: Callable) -> None:
    for n in (5, 2, 70):
        x = np.linspace(0.1, 0.9, n)
        check_machine_code(f, lambda x=x: (x.copy(), np.cos(3.0 * x)), 1e-12)


@pytest.mark.parametrize("f", [diffusion, sums_and_products, filled_and_carried])
def test_float32_stays_float32(f: Callable, check_machine_code: Callable) -> None:
    x = np.linspace(0.1, 0.9, 6, dtype=np.float32)
    check_machine_code(f, lambda: (x.copy(), np.cos(x)), 1e-5)


def states_of_shrinking_length(u: Any, v: Any) -> Any:
    for _ in range(3):
        u = u[1:] * u[:-1] + 0.5
    return np.sum(u) * np.sum(v)


def test_a_shape_that_changes(check_machine_code: Callable) -> None:
    x = np.linspace(0.1, 0.9, 7)
    check_machine_code(states_of_shrinking_length, lambda: (x.copy(), x[::-1].copy()), 1e-12)


@pytest.mark.parametrize("f", [kept_over_an_inner_loop, swapped_in_an_inner_loop, kept_in_a_list])
def test_tangents_of_arrays_kept_over_an_inner_loop(f: Callable) -> None:
    """Without a reverse sweep no tape holds the kept array."""
    u, v = np.linspace(0.1, 0.9, 6), np.cos(np.arange(6.0))
    h = 1e-6 * u
    expected = (f(u + h, v) - f(u - h, v)) / 2e-6
    for _ in range(3):
        value, tangent = autodiff.jvp(lambda u: f(u, v), (u,), (u,))
        assert value == pytest.approx(f(u, v), rel=1e-12)
        assert tangent == pytest.approx(expected, rel=1e-7)


def logistic(x: Any, r: Any) -> Any:
    for _ in range(200):
        x = r * x * (1.0 - x)
    return np.sum(x)


def test_each_iteration_saves_one_array(
    check_machine_code: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One state for each iteration is kept, and two buffers for its cotangent."""
    kept: list[int] = []
    before = RunTape.__del__

    def note(tape: RunTape) -> None:
        kept.append(tape._state.words[KEPT + 3])
        before(tape)

    x, r = np.linspace(0.1, 0.9, 10_000), np.linspace(2.0, 3.0, 10_000)
    monkeypatch.setattr(RunTape, "__del__", note)
    check_machine_code(logistic, lambda: (x.copy(), r), 1e-10)
    assert kept
    assert 200 * x.nbytes < max(kept) < 2.5 * 200 * x.nbytes  # not all chunks are full
