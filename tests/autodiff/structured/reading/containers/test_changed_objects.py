"""Functions with loops that bind attributes of objects that they are given: simulations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import LeakedTracerError, compile, gradient

X, K = np.array([0.3, -0.4, 0.7]), np.array([0.5, 0.2, -0.1])


class Simulation:
    def __init__(self, x, k):
        self.x = x
        self.k = k
        self.t = 0.0
        self.n = 0
        self.last = None

    def step(self, dt):
        self.x = self.x + dt * self.k * np.sin(self.x + self.t)
        self.t += dt
        self.n += 1

    def run(self, n, dt=0.1):
        for _ in range(n):
            self.step(dt)
        return np.sum(self.x) * self.t

    def in_place(self, n):
        for i in range(n):
            self.x += self.k * 0.1
            self.x[i] *= 1.1
        return self.x[1]

    def until(self, most):
        while self.n < 20:
            self.step(0.2)
            if np.sum(self.x) > most:
                self.last = self.n
                return self.t
        return self.t * 2.0

    def fails(self, n):
        for i in range(n):
            self.t = self.t + 1.0
            self.x = self.x * 2.0
            if self.t > 2.5:
                raise ValueError(f"too late at {i}")
        return self.t

    def grows(self, n):
        self.extra = self.x * 0.5
        for i in range(n):
            self.extra = self.extra * self.x + i
            self.n = self.n + 0.5
        return self.t

    def keeps_a_list(self, n):
        for _ in range(n):
            self.last = [self.x[0], self.t]
            self.x = self.x * 1.1
        return self.x[0]

    def swaps(self, n):
        for _ in range(n):
            self.x, self.k = self.k, self.x * 1.1
        return self.x[0]


class Sum:
    def __init__(self):
        self.total = 0.0
        self.count = 0

    def add(self, v):
        self.total += v
        self.count += 1

    def mean(self, values, k):
        for v in values:
            self.add(v * k)
        return self.total / self.count


class Pair:
    def __init__(self, a, b):
        self.a = a
        self.b = b

    def run(self, n):
        for _ in range(n):
            self.a.t = self.a.t + 1.0
            self.b.x = self.b.x * self.a.t
        return np.sum(self.a.x) + self.b.t


def driven(f, s, n):
    total = 0.0
    for i in range(n):
        s.t = s.t + 0.5
        total = total + f(i) * s.t
    return total


def beside_a_global(s, n):
    total = 0.0
    for _ in range(n):
        s.t = s.t + 0.25
        total = total + GLOBAL.t * s.x[0]
    return total


def all_stepped(simulations, n):
    total = 0.0
    for _ in range(n):
        for s in simulations:
            s.step(0.1)
            total = total + s.x[0]
    return total


GLOBAL = Simulation(np.ones(3), 0.5)


def simulated(x, k):
    s = Simulation(x, k)
    return s.run(4) * s.run(3) + s.x[0] * s.n + s.t


def summed(x, k):
    a = Sum()
    return a.mean(x, k[0]) * a.mean(x * 2.0, k[1]) + a.total * a.count


def changed_in_place(x, k):
    s = Simulation(x * 1.0, k)
    held = s.x
    r = s.in_place(3)
    return r + np.sum(s.x**2) + held[0] * (1.0 if s.x is held else 100.0)


def ended(x, k):
    s, z = Simulation(x, k), Simulation(x * 0.1, k)
    return s.until(0.9) + z.until(50.0) + np.sum(s.x) * s.last + z.x[0] * z.n


def failed(x, k):
    s = Simulation(x, k)
    try:
        s.fails(5)
    except ValueError:
        return np.sum(s.x) * s.t
    return 0.0


def grown(x, k):
    s = Simulation(x, k)
    return s.grows(3) + np.sum(s.extra) * s.n


def with_a_list(x, k):
    s = Simulation(x, k)
    return s.keeps_a_list(3) + s.last[0] * s.last[1] + s.last[0]


def swapped(x, k):
    s = Simulation(x, k)
    return s.swaps(3) + np.sum(s.x * s.k) + (1.0 if s.x is x else 0.5) * s.k[0]


def two_names(x, k):
    s = Simulation(x, k)
    return Pair(s, s).run(3) + Pair(s, Simulation(x * 2.0, k)).run(2) + s.x[0] * s.t


def captured_too(x, k):
    s = Simulation(x, k)
    total = driven(lambda i: s.x[0] * s.t + i, s, 3) + driven(lambda i: x[1] * i, s, 2)
    return total + s.t * k[0] + driven(s.until, s, 2) + s.t


def global_too(x, k):
    GLOBAL.t, GLOBAL.x = 0.0, x
    total = beside_a_global(Simulation(x, k), 3) + 2.0 * beside_a_global(GLOBAL, 3)
    GLOBAL.x = np.ones(3)
    return total + GLOBAL.t + beside_a_global(Simulation(k, x), 2)


def in_a_list(x, k):
    s, z = Simulation(x, k), Simulation(x * 2.0, k)
    total = all_stepped([s, z], 3) + s.t * s.x[1] + z.x[2] * z.n
    return total + all_stepped([s, s], 2) + s.x[1]


FUNCTIONS: dict[Callable, str] = {
    simulated: "run", summed: "mean", changed_in_place: "in_place", ended: "", failed: "",
    grown: "grows", with_a_list: "", swapped: "", two_names: "run", captured_too: "driven",
    global_too: "beside_a_global", in_a_list: "all_stepped",
}  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS)
def test_gradients(f: Callable, traced: Callable, runs: list[str]) -> None:
    for x, k in ((X, K), (X, K), (X, K), (X + 1.0, K * 2.0), (K, X)):
        for a, b in zip(gradient(f, x, k), traced(f, x, k), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)
        value = f(x, k)
        d = (f(x + 1e-6 * K, k) - f(x - 1e-6 * K, k)) / 2e-6
        assert gradient(f, x, k)[0] @ K == pytest.approx(d, rel=1e-6, abs=1e-8)
        assert f(x, k) == value
    assert FUNCTIONS[f] in runs or not FUNCTIONS[f]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_compiled(f: Callable, traced: Callable) -> None:
    if f is global_too:
        pytest.skip("it changes a global, and is not recorded")
    compiled = compile(lambda x, k: gradient(f, x, k))
    for x, k in ((X, K), (X + 1.0, K * 2.0), (X, K)):
        for a, b in zip(compiled(x, k), traced(f, x, k), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_an_object_of_the_caller(traced: Callable, runs: list[str]) -> None:
    """What is bound is there after the derivative, as numbers and arrays."""

    def f(x: Any, k: Any) -> Any:
        s.x, s.k, s.t, s.n = x, k, 0.0, 0
        return s.run(4)

    s = Simulation(X, K)
    found = []
    for way in (traced, gradient, gradient):
        way(f, X, K)
        found.append((type(s.t), s.t, type(s.n), s.n))
    assert found[1:] == found[:1] * 2
    assert "run" in runs
    with pytest.raises(LeakedTracerError):  # as without a program: it is traced
        s.x + 1.0


def test_second_derivatives(traced: Callable) -> None:
    def f(x: Any, k: Any) -> Any:
        return np.sum(gradient(lambda x: simulated(x, k), x) ** 2)

    for a, b in zip(gradient(f, X, K), traced(f, X, K), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)
