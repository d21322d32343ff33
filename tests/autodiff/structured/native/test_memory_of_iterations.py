"""The memory of an iteration: shadows and arrays that end with it, and the chunks of a run."""

from __future__ import annotations

import gc
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.memory import RunTape

X = np.cos(np.arange(30.0)).reshape(5, 6) * 0.7
W = np.sin(np.arange(30.0)).reshape(5, 6) + 1.5


def copies_of_a_state(x: Any, w: Any) -> Any:
    u = x.copy()
    for _ in range(4):
        un = u.copy()
        u[1:-1] = un[1:-1] * w[1:-1] + 0.1 * (un[2:] - un[:-2]) * un[1:-1]
        u[0] = un[1]
    return np.sum(u * u)


def copies_in_nested_loops(x: Any, w: Any) -> Any:
    u = x.copy()
    for i in range(3):
        before = u * w
        for _ in range(i):
            now = u.copy()
            part = now[1:]
            u[1:] = part * before[1:] + now[:-1]
        after = np.zeros_like(u)
        after[1:] = before[:-1] * u[1:]
        u = u + after * 0.1
    return np.sum(u * u)


def kept_for_the_next_iteration(x: Any, w: Any) -> Any:
    old = x * 1.0
    s = 0.0
    for _ in range(4):
        new = np.zeros_like(x)
        new[1:] = old[:-1] * w[1:]
        s = s + np.sum(new * old)
        old = new
    return s + np.sum(old)


def read_after_the_loop(x: Any, w: Any) -> Any:
    last = x
    for i in range(3):
        last = x.copy()
        last[i] = last[i] * w[i + 1]
        view = last[1:]
    return np.sum(last * last) + np.sum(view * w[1:])


def view_for_the_next_iteration(x: Any, w: Any) -> Any:
    row = x[0]
    s = 0.0
    for i in range(4):
        u = x.copy()
        u[i] = u[i] * row
        s = s + np.sum(u * w)
        row = u[i] * 1.0 if i == 1 else u[i]
    return s


def only_in_a_branch(x: Any, w: Any) -> Any:
    u = x.copy()
    for i in range(5):
        if i % 2:
            un = u.copy()
            u[1:] = un[:-1] * w[1:]
        else:
            un = u * 1.0
            un[0] = 2.0 * un[0]
        u = u + un[::1] * un
        if i == 3:
            break
    return np.sum(u * w)


def shapes_that_change(x: Any, w: Any) -> Any:
    s = 0.0
    for i in range(1, 5):
        for _ in range(2):
            u = x[:i].copy()
            u[0] = u[0] * u[-1]
            s = s + np.sum(u * w[:i] * u)
    return s


def made_from_what_is_swept_later(x: Any, w: Any) -> Any:
    u = x.copy()
    for _ in range(3):
        a = (u * w).copy()
        b = a.copy()
        b[1:] = b[:-1] * a[1:]
        u[...] = b + a
    return np.sum(u * u)


def while_it_changes(x: Any, w: Any) -> Any:
    u, change = x.copy(), 1.0
    while change > 1e-2:
        un = u.copy()
        u[1:-1] = 0.3 * un[2:] * w[1:-1] + 0.3 * un[:-2]
        change = np.sum((u - un) ** 2)
    return np.sum(u * u)


KERNELS = [
    copies_of_a_state, copies_in_nested_loops, kept_for_the_next_iteration, read_after_the_loop,
    view_for_the_next_iteration, only_in_a_branch, shapes_that_change,
    made_from_what_is_swept_later, while_it_changes,
]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays_that_end_with_an_iteration(
    kernel: Callable, dtype: type, check_machine_code: Callable
) -> None:
    rtol = 1e-10 if dtype is np.float64 else 1e-4
    check_machine_code(kernel, lambda: (X.astype(dtype), W.astype(dtype)), rtol)


@pytest.mark.parametrize(
    "kernel, is_shared",
    [(copies_of_a_state, True), (while_it_changes, False), (kept_for_the_next_iteration, False)],
)
def test_shadows_of_all_iterations_share_memory(
    kernel: Callable, is_shared: bool, check_machine_code: Callable
) -> None:
    anew = types.FunctionType(kernel.__code__.replace(), kernel.__globals__, kernel.__name__)
    program = check_machine_code(anew, lambda: (X.copy(), W.copy()), 1e-10)
    assert bool(program.native.names.shared_shadows) == is_shared


def many_arrays(x: Any, n: int) -> Any:
    s = 0.0
    for i in range(n):
        y = np.sin(x * i)
        s = s + np.sum(y * y)
    return s


def test_one_chunk_holds_what_a_run_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later run allocates nothing."""
    monkeypatch.setattr(RunTape, "_pool", [])
    x = np.linspace(0.0, 1.0, 50_000)
    expected = gradient(many_arrays, x, 30, argnums=0)
    for _ in range(2):
        np.testing.assert_allclose(gradient(many_arrays, x, 30, argnums=0), expected, rtol=1e-12)
        gc.collect()
        (state,) = RunTape._pool
        assert not state.grown
        assert state.size > 30 * x.nbytes
    before = list(state.words)
    gradient(many_arrays, x, 30, argnums=0)
    assert RunTape._pool[0].words[memory.KEPT] == before[memory.KEPT]


def test_pooled_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunTape, "_pool", [])
    monkeypatch.setattr(memory, "_MOST_BYTES_POOLED", 1 << 22)
    x = np.linspace(0.0, 1.0, 50_000)
    expected = gradient(many_arrays, x, 30, argnums=0)
    for _ in range(3):
        np.testing.assert_allclose(gradient(many_arrays, x, 30, argnums=0), expected, rtol=1e-12)
        gc.collect()
        assert sum(state.size for state in RunTape._pool) <= 1 << 22
