"""Objects in lists with attributes that are None at first, or that they get later."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from autodiff import compile, gradient
from tests.helpers import check_gradient

X = np.array([0.7, 0.45, 0.9, 0.31, 0.62, 0.55])


class Particle:
    def __init__(self, x: Any, v: Any, before: Any = None) -> None:
        self.x, self.v = x, v
        self.force = None
        self.before = before

    def push(self, dt: float) -> None:
        if self.before is None:
            self.v = self.v + self.force * dt
        else:
            self.v = self.v + 0.5 * (self.force + self.before) * dt
        self.before = self.force
        self.x = self.x + self.v * dt


class Simulation:
    dt = 0.1

    def __init__(self, x: Any) -> None:
        self.x = x

    def setup(self) -> None:
        self.v = np.zeros_like(self.x)
        self.history: list = []

    def run(self, n: int) -> None:
        self.setup()
        for _ in range(n):
            self.v = self.v - self.dt * self.x
            self.x = self.x + self.dt * self.v
            self.history.append(np.sum(self.x) * self.v[0])


@dataclass
class Agent:
    place: Any
    best: Any = None
    value: float | None = None
    name: str | None = None


class Mode(enum.Enum):
    UP = 1
    DOWN = 2


class Machine:
    def __init__(self, v: Any) -> None:
        self.mode, self.v, self.last = Mode.UP, v, None

    def feed(self, u: Any) -> None:
        if self.mode is Mode.UP:
            self.v = self.v + u
            if self.v > 2.0:
                self.mode = Mode.DOWN
        else:
            self.v = self.v * 0.7
            if self.v < 1.0:
                self.mode = Mode.UP
        self.last = u


class Defaulted:
    factor: Any = None

    def __init__(self, x: Any) -> None:
        self.x = x


def particles(x: Any) -> Any:
    those = []
    for i in range(5):
        those.append(Particle(x[i], x[i + 1] * 0.1))
    for _ in range(6):
        for p in those:
            p.force = 0.0  # type: ignore[assignment]
        for i in range(5):
            for j in range(i):
                d = those[i].x - those[j].x
                g = d / (d * d + 0.1)
                those[i].force += g
                those[j].force -= g
        for p in those:
            p.push(0.05)
    return sum(p.x * p.x for p in those)


def some_have_one(x: Any) -> Any:
    those, total = [], 0.0
    for i in range(4):
        if i == 2:
            those.append(Particle(x[i], 0.1, x[i + 1]))
        else:
            those.append(Particle(x[i], 0.1))
    for t in range(5):
        for i, p in enumerate(those):
            if p.before is not None:
                total += p.before * p.x
                if (t + i) % 3 == 0:
                    p.before = None
            else:
                p.before = p.x * t
            p.x = p.x * 1.1
    return total


def got_later(x: Any) -> Any:
    those = [Simulation(x * k) for k in range(1, 4)]
    for s in those:
        s.run(4)
    for s in those:
        s.v += 0.1 * s.x
    return sum(s.history[-1] * s.history[1] + s.v[1] for s in those)


def agents(x: Any) -> Any:
    those = [Agent(np.array([x[i], x[i + 1]])) for i in range(4)]
    for _ in range(8):
        for a in those:
            v = np.sum((a.place - 0.3) ** 2) + 0.1 * np.sum(np.cos(3 * a.place))
            if a.value is None or v < a.value:
                a.value, a.best = v, a.place.copy()
        for a in those:
            a.place = a.place + 0.3 * (a.best - a.place) + 0.1 * np.sin(a.place)
            a.best *= 1.01
    return sum(a.value for a in those) + sum(a.best[0] for a in those if a.name is None)


def objects_in_objects(x: Any) -> Any:
    those = [Agent(x[i]) for i in range(4)]
    for k in range(5):
        for i, a in enumerate(those):
            if a.best is None or k % 2 == 0:
                a.best = Simulation(x[i : i + 2] * k)
            a.best.x = a.best.x * a.place
    return sum(np.sum(a.best.x) for a in those)


def machines(x: Any) -> Any:
    those = [Machine(x[i]) for i in range(4)]
    for t in range(10):
        for i, m in enumerate(those):
            m.feed(x[(i + t) % 6])
    total = sum(m.v * m.last for m in those)
    return total + sum(m.v for m in those if m.mode is Mode.DOWN)


def read_before_they_are_bound(x: Any) -> Any:
    those = [Agent(i) for i in range(4)]
    total = 0.0
    for t in range(5):
        for i, a in enumerate(those):
            if a.value is not None:
                total += a.value * x[t]
                if a.best is Mode.DOWN:
                    total = total * x[5]
            elif i <= t:
                a.best = Mode.UP if i % 2 else Mode.DOWN
                a.value = x[i] * t
    return total


KERNELS = [
    particles, some_have_one, got_later, agents, objects_in_objects, machines,
    read_before_they_are_bound,
]  # fmt: skip


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
def test_gradients(f: Callable, check_sweep: Callable, check_with_machine_code: Callable) -> None:
    check_sweep(f, X)
    check_with_machine_code(f, X)
    for backend in ("python", "native"):
        compiled = compile(lambda x: gradient(f, x), backend=backend)
        for x in (X, X * 1.1, X):
            np.testing.assert_allclose(compiled(x), gradient(f, x), rtol=1e-11)


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
def test_few_states(f: Callable, check_few_states: Callable) -> None:
    check_few_states(f, X)


def by_a_name(x: Any) -> Any:
    those = [Particle(x[i], 0.1) for i in range(4)]
    total = 0.0
    for t in range(3):
        for p in those:
            before = p.before
            total += 1.0 if before is None else before * p.x
            if t % 2 == 0:
                p.before = p.x
    return total


def of_the_class(x: Any) -> Any:
    those = [Defaulted(x[i]) for i in range(4)]
    total = 0.0
    for t in range(3):
        for i, d in enumerate(those):
            if d.factor is not None:
                total += d.factor * d.x
            if (i + t) % 2:
                d.factor = d.x * t
    return total


@pytest.mark.parametrize("f", [by_a_name, of_the_class], ids=lambda f: f.__name__)
def test_others_are_right(f: Callable) -> None:
    check_gradient(f, X)


def not_there(x: Any) -> Any:
    those = [Simulation(x * k) for k in range(1, 4)]
    total = 0.0
    for i, s in enumerate(those):
        if i < 2:
            s.setup()
        total += np.sum(s.v)
    return total


def changed_from_none(x: Any) -> Any:
    those = [Particle(x[i], 0.1) for i in range(4)]
    for i, p in enumerate(those):
        if i < 2:
            p.before = p.x
        p.before += p.x
    return sum(p.before for p in those)


@pytest.mark.parametrize(
    "f, error", [(not_there, AttributeError), (changed_from_none, TypeError)]
)  # fmt: skip
def test_errors(f: Callable, error: type) -> None:
    for _ in range(2):
        with pytest.raises(error):
            gradient(f, X)
