"""Objects of the user's classes in functions with loops: made there, captured, or arguments."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured import calls
from tests.helpers import check_gradient

X = np.array([0.9, 0.4, 0.6, 0.7])


class Filter:
    gain = 0.5

    def __init__(self, q: Any, r: Any) -> None:
        self.x, self.p, self.q, self.r = 0.0, 1.0, q, r
        self.history: list = []

    @property
    def scale(self) -> Any:
        return self.gain + 0.4

    @staticmethod
    def squared(v: Any) -> Any:
        return v * v

    def step(self, z: Any) -> Any:
        self.p = self.p + self.q
        k = self.p / (self.p + self.r) * self.scale
        self.x = self.x + k * (z - self.x)
        self.p *= 1 - k
        self.history.append(self.x)
        return self.x

    def __call__(self, z: Any) -> Any:
        return self.step(z) * self.gain


@dataclass
class Spring:
    k: Any
    c: Any = 0.1
    v: Any = None

    def force(self, y: Any) -> Any:
        return -self.k * y - self.c


class Loaded(Spring):
    load = 0.2

    def force(self, y: Any) -> Any:
        return self.load - self.k * y


@dataclass(frozen=True)
class Fixed:
    k: Any
    twice: Any = field(init=False, default=2.0)


@dataclass
class Prepared:
    k: Any
    n: int = field(default=3, kw_only=True)

    def __post_init__(self) -> None:
        self.inner = Spring(self.k * self.n)


def recursive_filter(x: Any) -> Any:
    f = Filter(x[0], r=x[1])
    total = 0.0
    for z in x:
        e = z - f.step(z)
        total += f.squared(e) * f.gain + f(z)
    return total + f.p + sum(f.history)


def springs(x: Any) -> Any:
    p = Spring(x[0], v=np.array([x[1], x[2]]))
    loaded = Loaded(x[3], 0.3)
    y = x * 1.0
    for _ in range(5):
        y = y + 0.1 * p.force(y) + 0.1 * loaded.force(y)
        p.k *= 1.01
        p.v[0] += y[1]
        p.v = p.v * 1.1
    return np.sum(y) + p.v.sum() + p.k * loaded.c


def other_dataclasses(x: Any) -> Any:
    fixed, prepared = Fixed(x[0]), Prepared(x[1], n=2)
    total = 0.0
    for v in x:
        total += fixed.k * v * fixed.twice
        prepared.inner.k = prepared.inner.k * v
    return total * prepared.inner.k * prepared.n


def two_names(x: Any) -> Any:
    a = Spring(x[0])
    b = a
    pair = [a, Spring(x[3])]

    def doubled(s: Any) -> None:
        s.k = s.k * 2.0

    for _ in range(3):
        b.k = b.k * x[1]
        pair[0].k += x[2]
        doubled(a)
    return a.k * pair[1].k


def set_in_a_branch(x: Any) -> Any:
    a = Filter(x[0], x[1])
    for v in x:
        if v > 0.5:
            a.gain = v  # hides that of the class
        a.q = a.q * 1.1
    return a.q


def returned(x: Any) -> Any:
    def run() -> Spring:
        a = Spring(x[0])
        for v in x:
            a.k = a.k * v
        return a

    return run().k


READ = [recursive_filter, springs, other_dataclasses, two_names, set_in_a_branch, returned]


@pytest.mark.parametrize("f", READ, ids=lambda f: f.__name__)
def test_objects_that_a_function_makes(
    f: Callable, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls.Run, "cotangents", calls.Run.swept)
    check_gradient(f, X)
    assert f.__name__ in runs


# -- what is not read ------------------------------------------------------------------------------


class Counts:
    def __init__(self) -> None:
        self.n = 0

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, 2 * value)


class Slotted:
    __slots__ = ("k",)

    def __init__(self, k: Any) -> None:
        self.k = k


class Asks:
    def __getattr__(self, name: str) -> Any:
        return 3.0


class Checked:
    def __init__(self, k: Any) -> None:
        self.k = k

    @property
    def k(self) -> Any:
        return self._k

    @k.setter
    def k(self, value: Any) -> None:
        self._k = value * 2.0


class Child(Spring):
    def force(self, y: Any) -> Any:
        return super().force(y) * 2.0


@dataclass
class WithInit:
    k: Any
    scale: InitVar[float] = 2.0

    def __post_init__(self, scale: float) -> None:
        self.k = self.k * scale


@dataclass
class WithFactory:
    k: list = field(default_factory=list)


def own_setattr(x: Any) -> Any:
    a = Counts()
    for v in x:
        a.n = a.n + v
    return a.n


def slots(x: Any) -> Any:
    a = Slotted(x[0])
    for v in x:
        a.k = a.k * v
    return a.k


def own_getattr(x: Any) -> Any:
    a = Asks()
    total = 0.0
    for v in x:
        total += a.k * v
    return total


def setter(x: Any) -> Any:
    a = Checked(x[0])
    for v in x:
        a.k = a.k * v
    return a.k


def inherited(x: Any) -> Any:
    a = Child(x[0])
    total = 0.0
    for v in x:
        total += a.force(v)
    return total


def init_variable(x: Any) -> Any:
    a = WithInit(x[0])
    total = 0.0
    for v in x:
        total += a.k * v
    return total


def factory(x: Any) -> Any:
    a = WithFactory()
    for v in x:
        a.k.append(v * v)
    return sum(a.k)


def made_in_the_loop(x: Any) -> Any:
    total, last = 0.0, Spring(x[0])
    for v in x:
        new = Spring(v * last.k)
        total += new.k * last.k
        last = new
    return total


def made_in_a_branch(x: Any) -> Any:
    a = Spring(x[0])
    if x[1] > 0.2:
        a = Spring(x[2])
    total = 0.0
    for v in x:
        total += a.k * v
    return total


def by_its_dict(x: Any) -> Any:
    a = Spring(x[0])
    for v in x:
        vars(a)["k"] = a.k * v
    return a.k


NOT_READ = [
    own_setattr, slots, own_getattr, setter, inherited, init_variable, factory, made_in_the_loop,
    made_in_a_branch, by_its_dict,
]  # fmt: skip


@pytest.mark.parametrize("f", NOT_READ, ids=lambda f: f.__name__)
def test_other_objects_are_traced(f: Callable, runs: list[str]) -> None:
    check_gradient(f, X)
    assert f.__name__ not in runs


def test_an_attribute_that_may_not_be_set_is_an_error() -> None:
    def f(x: Any) -> Any:
        a = Spring(x[0])
        for v in x:
            if v > 5:
                a.other = v
        return a.other

    for _ in range(2):
        with pytest.raises(AttributeError, match="other"):
            gradient(f, X)

    def frozen(x: Any) -> Any:
        a = Fixed(x[0])
        for v in x:
            a.k = a.k * v
        return a.k

    for _ in range(2):
        with pytest.raises(AttributeError, match="cannot assign to field 'k'"):
            gradient(frozen, X)


# -- objects from outside --------------------------------------------------------------------------

SPRING = Spring(2.0, 0.3, np.array([1.0, 2.0]))


def of_a_global(x: Any) -> Any:
    total = 0.0
    for i in range(4):
        total += SPRING.force(x[i]) * SPRING.v[i % 2]
    return total


class Simulation:
    def __init__(self) -> None:
        self.a = np.arange(16.0).reshape(4, 4) / 10
        self.dt = 0.1
        self.spring = Spring(2.0)

    def rhs(self, x: Any) -> Any:
        return self.a @ x - x**3 + self.spring.force(x)

    def run(self, x: Any) -> Any:
        for _ in range(5):
            x = x + self.dt * self.rhs(x)
        return np.sum(x)

    def counted(self, x: Any) -> Any:
        self.n = 0.0
        for v in x:
            self.n += v
        return self.n * 2.0

    def written(self, x: Any) -> Any:
        for i in range(4):
            self.a[i, i] = 2.0
        return np.sum(self.a @ x)


def test_an_object_from_outside(
    runs: list[str], traced: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What changes between two calls is seen: an attribute, a method, an array, its class."""
    simulation = Simulation()

    def compared(f: Callable) -> None:
        for _ in range(2):
            np.testing.assert_allclose(gradient(f, X), traced(f, X), rtol=1e-13)

    compared(simulation.run)
    simulation.dt = 0.2
    compared(simulation.run)
    simulation.a = simulation.a * 2.0
    compared(simulation.run)
    simulation.spring.k = 1.0
    compared(simulation.run)
    assert runs.count("run") >= 6
    runs.clear()
    compared(of_a_global)
    monkeypatch.setattr(SPRING, "k", 3.0)
    compared(of_a_global)
    monkeypatch.setattr(Spring, "force", lambda self, y: self.k * y * y)
    compared(of_a_global)
    monkeypatch.setattr(SPRING, "force", lambda y: y, raising=False)
    compared(of_a_global)
    assert runs.count("of_a_global") >= 4


def test_each_object_has_its_own_attributes(runs: list[str], traced: Callable) -> None:
    simulations = [Simulation() for _ in range(3)]
    for k, simulation in enumerate(simulations):
        simulation.dt = 0.1 * k
    for simulation in simulations * 2:
        np.testing.assert_allclose(gradient(simulation.run, X), traced(simulation.run, X))
    assert runs.count("run") == 6


@pytest.mark.parametrize("name", ["counted", "written"])
def test_an_object_from_outside_that_is_written_into_is_traced(
    name: str, runs: list[str], traced: Callable
) -> None:
    simulation = Simulation()
    f = getattr(simulation, name)
    for _ in range(3):
        np.testing.assert_array_equal(gradient(f, X), traced(f, X))
    assert name not in runs


def test_traced_attributes(runs: list[str]) -> None:
    """An object that holds traced values is given to a function with a loop."""

    def total(spring: Spring, x: Any) -> Any:
        y = 0.0
        for v in x:
            y += spring.force(v)
        return y

    check_gradient(lambda x: total(Spring(x[0], x[1]), x), X)
    check_gradient(lambda x: total(Spring(x[0], 0.3), np.ones(3)), X)
    check_gradient(lambda x: total(Spring(2.0, 0.3), x), X)


def test_objects_are_not_kept_alive(runs: list[str]) -> None:
    simulation = Simulation()
    gradient(simulation.run, X)
    gradient(simulation.run, X)
    assert "run" in runs
    known = weakref.ref(simulation)
    del simulation
    gc.collect()
    assert known() is None
