"""Threads, tasks, processes: gradients are independent; pullbacks outlive their tracing."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import math
import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import (
    MutationError,
    checkpoint,
    debug_nans,
    gradient,
    hessian,
    numeric_fallback,
    pullback,
)
from tests.helpers import run_python

ROOT = Path(__file__).parents[3]
X = np.array([0.3, 1.2, -0.5])


def loss(x: Any, k: float) -> Any:
    out = np.zeros(3)
    for i in range(3):
        out[i] = math.sin(x[i]) * k
    out[0] *= x[1]
    return np.sum(np.tanh(out) ** 2) + checkpoint(np.sum)(x * k)


def slope(k: float) -> np.ndarray:
    return gradient(loss, X, k, argnums=0)


def together(f: Callable, inputs: list, threads: int = 4) -> list:
    """Run in several threads, started at the same moment."""
    barrier = threading.Barrier(threads)

    def run(part: list) -> list:
        barrier.wait()
        return [f(x) for x in part]

    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(run, [inputs[i::threads] for i in range(threads)]))
    return [parts[i % threads][i // threads] for i in range(len(inputs))]


FACTORS = [0.1 * k for k in range(40)]


def test_threads_are_independent() -> None:
    expected = [slope(k) for k in FACTORS]
    for found, right in zip(together(slope, FACTORS), expected, strict=True):
        np.testing.assert_array_equal(found, right)


def test_threads_that_meet_a_function_for_the_first_time() -> None:
    """Each thread rewrites the same new functions at the same time."""
    scope: list[Callable] = []
    for _ in range(20):

        def fresh(x: Any) -> Any:
            def inner(y: Any) -> Any:
                return math.sin(y) * math.exp(-y)

            return sum(inner(v) for v in x)

        scope.append(fresh)
    expected = np.cos(X) * np.exp(-X) - np.sin(X) * np.exp(-X)
    for found in together(lambda f: gradient(f, X), scope):
        np.testing.assert_allclose(found, expected)


def test_threads_at_different_levels() -> None:
    expected = [np.diag(6 * k * X) for k in FACTORS]
    found = together(lambda k: hessian(lambda x: np.sum(k * x**3), X), FACTORS)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_rules_may_be_added_while_others_differentiate() -> None:
    from chainrules_core import frule, rrule, scalar_rule

    stop = threading.Event()

    def register() -> None:
        while not stop.is_set():

            def f(x: Any) -> Any:
                return x

            scalar_rule(f, 1.0)
            rrule.unregister(f)
            frule.unregister(f)
            time.sleep(0.001)

    thread = threading.Thread(target=register)
    thread.start()
    try:
        expected = slope(0.5)
        for found in together(slope, [0.5] * 60):
            np.testing.assert_array_equal(found, expected)
    finally:
        stop.set()
        thread.join()


def test_a_pullback_from_another_thread() -> None:
    y, back = pullback(lambda x: np.sin(x) * x, X)
    found = together(lambda k: back(np.full(3, k)), FACTORS)
    for k, bar in zip(FACTORS, found, strict=True):
        np.testing.assert_allclose(bar, k * (np.cos(X) * X + np.sin(X)))
    np.testing.assert_array_equal(y, np.sin(X) * X)


def test_a_checkpointed_pullback_from_another_thread() -> None:
    _, back = pullback(lambda x: checkpoint(lambda y: np.sin(y) * x)(x), X)
    for bar in together(lambda k: back(np.ones(3)), FACTORS[:8]):
        np.testing.assert_allclose(bar, np.cos(X) * X + np.sin(X))


def test_work_for_threads_inside_a_function() -> None:
    """A traced function may have threads of its own; their values belong to its tape."""

    def f(x: Any) -> Any:
        with ThreadPoolExecutor(2) as pool:
            parts = list(pool.map(np.sin, [x, x * 2]))
        return np.sum(parts[0]) + np.sum(parts[1])

    np.testing.assert_allclose(gradient(f, X), np.cos(X) + 2 * np.cos(2 * X))


def stepped(a: Any) -> Any:
    for _ in range(100):
        a = a * 0.9 + 0.1 / a
    return a


def filled(x: Any, run: Callable) -> Any:
    out = np.zeros((4, 20))

    def work(i: int) -> None:
        for j in range(20):
            out[i, j] = x[i] * x[i] * j
            out[i, j : j + 1] += x[i : i + 1]

    list(run(work, range(4)))
    return np.sum(out * out)


def in_threads(f: Callable) -> Callable:
    def threaded(x: Any) -> Any:
        with ThreadPoolExecutor(4) as pool:
            return f(x, pool.map)

    return threaded


def test_threads_that_write_into_one_array_are_refused() -> None:
    with pytest.raises(MutationError, match="a thread that the function"):
        gradient(in_threads(filled), np.linspace(0.5, 1.0, 4))


@pytest.mark.usefixtures("switching")
def test_threads_that_record_on_one_tape() -> None:
    """Wherever one thread gives way to another, each value keeps its own place on the tape."""
    x = np.linspace(0.5, 1.0, 4)

    def f(x: Any, run: Callable) -> Any:
        return sum(run(stepped, x))

    expected = gradient(lambda x: f(x, map), x)
    threaded = in_threads(f)

    for _ in range(20):
        np.testing.assert_allclose(gradient(threaded, x), expected)


def test_modes_belong_to_a_thread() -> None:
    """debug_nans and the fallback of one thread are not those of another."""
    inside = threading.Event()
    done = threading.Event()

    def other() -> Any:
        inside.wait(10)
        try:
            return gradient(lambda x: np.sum(np.sqrt(x)), np.array([0.0, 1.0]))
        finally:
            done.set()

    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(other)
        with debug_nans(), numeric_fallback():
            inside.set()
            assert done.wait(10)
        np.testing.assert_array_equal(result.result(), [np.inf, 0.5])


# -- tasks ----------------------------------------------------------------------------------------


async def in_a_task(k: float) -> Any:
    await asyncio.sleep(0)
    found = slope(k)
    await asyncio.sleep(0)
    _, back = pullback(lambda x: x * k, X)
    await asyncio.sleep(0)
    return found, back(np.ones(3))


def test_tasks() -> None:
    async def main() -> list:
        return await asyncio.gather(*map(in_a_task, FACTORS))

    for k, (found, bar) in zip(FACTORS, asyncio.run(main()), strict=True):
        np.testing.assert_array_equal(found, slope(k))
        np.testing.assert_allclose(bar, np.full(3, k))


def test_a_mode_belongs_to_a_task() -> None:
    async def careful() -> str:
        with debug_nans():
            await asyncio.sleep(0.01)
            try:
                gradient(np.sqrt, 0.0)
            except autodiff.NonFiniteError:
                return "refused"
        return "let through"

    async def careless() -> Any:
        await asyncio.sleep(0.005)
        return gradient(np.sqrt, 0.0)

    async def main() -> list:
        return await asyncio.gather(careful(), careless())

    assert asyncio.run(main()) == ["refused", np.inf]


def test_a_copied_context() -> None:
    context = contextvars.copy_context()
    np.testing.assert_array_equal(context.run(slope, 0.5), slope(0.5))


def test_an_async_function_is_traced_by_its_coroutine() -> None:
    async def f(x: Any) -> Any:
        await asyncio.sleep(0)
        return x * math.sin(x)

    found = gradient(lambda x: asyncio.run(f(x)), 0.7)
    assert found == pytest.approx(math.sin(0.7) + 0.7 * math.cos(0.7))


# -- processes ------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forked_workers() -> None:
    slope(0.5)  # functions that the parent has rewritten are known to the children
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        found = list(pool.map(slope, FACTORS[:6]))
    np.testing.assert_array_equal(found, [slope(k) for k in FACTORS[:6]])


SPAWNED = """
import math, multiprocessing
import numpy as np
from autodiff import gradient

def loss(x, k):
    return np.sum(np.sin(x) * k) + math.exp(x[0])

def slope(k):
    return gradient(loss, np.array([0.3, 1.2]), k, argnums=0)

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(slope, [0.5, 1.5])
    for k, bar in zip([0.5, 1.5], found):
        expected = k * np.cos([0.3, 1.2]) + np.array([math.exp(0.3), 0.0])
        np.testing.assert_allclose(bar, expected)
    print("right")
"""


def test_spawned_workers(tmp_path: Path) -> None:
    script = tmp_path / "spawning.py"
    script.write_text(SPAWNED)
    assert run_python(script).stdout == "right\n"


def test_results_can_be_sent_and_traced_values_not() -> None:
    import pickle

    bars = gradient(lambda p: p["a"] * np.sum(p["b"]), {"a": 2.0, "b": X})
    assert pickle.loads(pickle.dumps(bars))["a"] == pytest.approx(np.sum(X))
    with pytest.raises(autodiff.LostValueError, match="pickle"):
        gradient(lambda x: pickle.loads(pickle.dumps(x)) * x, 2.0)


# -- leaks ----------------------------------------------------------------------------------------

LEAKED: list[Any] = []


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x * 2.0,
        lambda x: np.sum(x),
        lambda x: gradient(lambda y: np.sum(x * y), X),
        lambda x: gradient(lambda y: np.sum(checkpoint(lambda z: z * x)(y)), X),
    ],
    ids=["used", "in NumPy", "in another gradient", "captured by a checkpoint"],
)
@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another thread"])
def test_a_leaked_value_is_an_error(use: Callable, elsewhere: bool) -> None:
    LEAKED.clear()

    def f(x: Any) -> Any:
        LEAKED.append(x * 1.0)
        return np.sum(x)

    gradient(f, X)
    run = functools.partial(use, LEAKED[0])
    if elsewhere:
        run = ThreadPoolExecutor(1).submit(run).result
    with pytest.raises(autodiff.LeakedTracerError, match="after the gradient"):
        run()


def test_a_value_leaked_from_a_thread_that_still_runs() -> None:
    """A value of a differentiation that goes on in another thread is recorded there."""
    have, go_on = threading.Event(), threading.Event()
    LEAKED.clear()

    def slow(x: Any) -> Any:
        LEAKED.append(x)
        have.set()
        go_on.wait(10)
        return np.sum(x**2)

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(gradient, slow, X)
        have.wait(10)
        try:
            found = gradient(lambda y: np.sum(y * autodiff.ignore_derivatives(LEAKED[0])), X)
        finally:
            go_on.set()
        np.testing.assert_allclose(future.result(), 2 * X)
    np.testing.assert_allclose(found, X)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_writes_into_an_array_from_outside():
    outside = np.ones(30_000)

    def f(x: Any) -> Any:
        y = np.sum(x[0] * outside)

        def write() -> None:
            outside[0] = 7.0

        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        return y

    with pytest.raises(MutationError, match="outside the function"):
        gradient(f, np.ones(3))
    assert outside[0] == 1.0
