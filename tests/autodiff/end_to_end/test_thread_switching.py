"""Eight threads that are switched between as often as Python can: the results of one thread."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, hvp, pushforward, value_and_gradient
from autodiff.trace.checks import threads
from chainrules_core import frule, rrule, scalar_rule
from tests.helpers import module_from, one_in, run_python

THREADS = 8

SOURCE = """
import math
import numpy as np
from scipy import special

W = np.arange(1.0, 7.0).reshape(2, 3) / 7

class Layer:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return np.tanh(self.w @ x)

def elementwise(x):
    return np.sum(np.maximum(x, 0.1) * x / (1.0 + x * x) - np.exp(-x) ** 2)

def floats(x):
    s = 0.5
    for t in x:
        s = s * math.sin(t) + t / (2.0 + s)
    return s

def writes(x):
    y = np.zeros(3)
    for i in range(3):
        y[i] = x[i] * x[i - 1]
    y[1:] *= 2.0
    return np.sum(y * y)

def objects(x):
    layer = Layer(W * x[0])
    return np.sum(layer(x)) + sum(t * t for t in x)

def branches(x):
    total = 0.0
    for t in sorted(x, key=lambda v: -v):
        total = total + (t ** 3 if t > 0.4 else 2.0 * t)
    return total

def from_scipy(x):
    return np.sum(special.expit(x) * special.gammaln(x + 3.0))

def matrices(x):
    a = np.outer(x, x) + np.eye(3) * 2.0
    return np.linalg.slogdet(a)[1] + x @ np.linalg.solve(a, x)

def nested(x):
    def inner(k):
        return k * np.sum(x ** 2)
    return inner(x[0]) + inner(x[2])

FUNCTIONS = [elementwise, floats, writes, objects, branches, from_scipy, matrices, nested]
"""


def module(folder: Path, name: str) -> ModuleType:
    """Import a module of functions that nobody has differentiated yet."""
    path = folder / f"{name}.py"
    path.write_text(SOURCE)
    return module_from(path)


def all_ways(f: Callable, x: np.ndarray) -> list[Any]:
    direction = np.array([0.3, -0.2, 0.9])
    y, push = pushforward(f, x)
    return [*value_and_gradient(f, x), y, push(direction), hvp(f, x, direction)]


def points() -> list[np.ndarray]:
    return [np.array([0.3, 0.7, 0.5]) + 0.01 * k for k in range(12)]


def in_threads(run: Callable[[int], Any]) -> list[Any]:
    barrier = threading.Barrier(THREADS)

    def start(i: int) -> Any:
        barrier.wait()
        return run(i)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(start, range(THREADS)))


def check(found: list[Any], expected: list[Any]) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)


def test_first_calls_of_the_same_functions(tmp_path: Path, switching: None) -> None:
    alone = module(tmp_path, "switching_alone").FUNCTIONS
    few = points()[: 6 // one_in(6)]
    expected = [[all_ways(f, x) for x in few] for f in alone]
    for attempt in range(2 // one_in(2)):
        functions = module(tmp_path, f"switching_{attempt}").FUNCTIONS

        def run(i: int, functions: list = functions) -> list[Any]:
            order = [(i + k) % len(functions) for k in range(len(functions))]
            found = {k: [all_ways(functions[k], x) for x in few] for k in order}
            return [found[k] for k in range(len(functions))]

        for of_thread in in_threads(run):
            for a, b in zip(of_thread, expected, strict=True):
                for one, other in zip(a, b, strict=True):
                    check(one, other)


def test_functions_that_are_compiled_by_the_way(tmp_path: Path, switching: None) -> None:
    names = range(8)
    made = module(tmp_path, "switching_hot")
    expected = [[made.FUNCTIONS[k](x) for x in points()] for k in names]
    slopes = [[gradient(made.FUNCTIONS[k], x) for x in points()] for k in names]

    def run(i: int) -> None:
        for turn in range(80 // one_in(2)):
            k, p = (i + turn) % 8, turn % 12
            value, slope = value_and_gradient(made.FUNCTIONS[k], points()[p])
            np.testing.assert_allclose(value, expected[k][p], rtol=1e-12)
            np.testing.assert_allclose(slope, slopes[k][p], rtol=1e-11, atol=1e-14)

    in_threads(run)


def test_while_rules_are_registered(tmp_path: Path, switching: None) -> None:
    functions = module(tmp_path, "switching_rules").FUNCTIONS
    expected = [all_ways(f, points()[0]) for f in functions]

    def run(i: int) -> None:
        if i % 2:
            for turn in range(30 // one_in(2)):

                def own(x: Any, turn: int = turn) -> Any:
                    return x * float(turn)

                scalar_rule(own, float(turn))
                assert gradient(lambda x: own(x) * 2.0, 1.5) == 2.0 * turn
                rrule.unregister(own)
                frule.unregister(own)
            return
        for turn in range(15 // one_in(3)):
            k = (i + turn) % len(functions)
            check(all_ways(functions[k], points()[0]), expected[k])

    in_threads(run)


# ------------------------------------------------------------------------ Pythons without a lock


def test_a_python_without_a_lock_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: True, raising=False)
    threads.check_one_at_a_time()
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    with pytest.raises(ImportError, match="PYTHON_GIL=1"):
        threads.check_one_at_a_time()


def test_the_import_is_refused() -> None:
    script = "import sys; sys._is_gil_enabled = lambda: False; import autodiff"
    done = run_python("-c", script, check=False)
    assert done.returncode == 1
    assert "ImportError: autodiff relies on Python's global interpreter lock" in done.stderr
