"""Objects from outside in functions with loops: captured ones, arguments, and `self`."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.form.kinds import UNKNOWN
from autodiff.structured.reading.scopes import OwnAttributeLookup, guarded_value
from tests.autodiff.structured.kernels import Spring
from tests.helpers import check_gradient

X = np.array([0.9, 0.4, 0.6, 0.7])


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


def test_what_a_class_is_may_change(runs: list[str], traced: Callable) -> None:
    class Base:
        g = 2.0

        def force(self, v: Any) -> Any:
            return self.g * v

    class Other:
        g = 3.0

        def force(self, v: Any) -> Any:
            return self.g * v * v

    class Derived(Base):
        def __init__(self, a: Any = 1.0) -> None:
            self.a = a

    @dataclass
    class Record:
        k: Any
        c: Any = 2.0

    outer = Derived()

    def f(x: Any) -> Any:
        inner, record, total = Derived(x[0]), Record(x[1]), 0.0
        for v in x:
            total += inner.force(v) * inner.a + outer.force(v) * record.c
        return total

    def times_ten(self: Any, name: str, value: Any) -> None:
        object.__setattr__(self, name, 10 * value)

    def five_for_g(self: Any, name: str) -> Any:
        return 5.0 if name == "g" else object.__getattribute__(self, name)

    def compared() -> None:
        for _ in range(3):
            np.testing.assert_allclose(gradient(f, X), traced(f, X), rtol=1e-13)

    compared()
    Derived.__bases__ = (Other,)
    compared()
    outer.__class__ = type("Third", (Base,), {"g": 4.0})
    compared()
    Record.__init__.__defaults__ = (50.0,)  # type: ignore[misc]
    compared()
    assert runs.count("f") >= 8
    Derived.__setattr__ = times_ten  # type: ignore[method-assign,assignment]
    compared()
    Other.__getattribute__ = five_for_g  # type: ignore[method-assign,assignment]
    compared()


def test_an_object_at_the_place_of_a_dead_one() -> None:
    """It may have the same id, so what was looked up of the dead one must not be found again."""
    simulation = Simulation()
    own = OwnAttributeLookup(simulation)
    assert guarded_value(own, "other", None) is UNKNOWN
    del simulation
    gc.collect()
    assert guarded_value(own, "other", None) is not UNKNOWN


def test_an_array_from_outside_that_is_returned(runs: list[str], traced: Callable) -> None:
    simulation = Simulation()

    def kernel(x: Any) -> Any:
        y = 0.0
        for i in range(4):
            y += x[i] * simulation.a[i, i]
        return y, simulation.a

    def f(x: Any) -> Any:
        y, a = kernel(x)
        return y * a[3, 3]

    for _ in range(3):
        np.testing.assert_allclose(gradient(f, X), traced(f, X), rtol=1e-13)


def test_each_object_has_its_own_attributes(runs: list[str], traced: Callable) -> None:
    class Mine(Simulation):
        """Of no other test: an object that has died may have had the same id."""

    simulations = [Mine() for _ in range(3)]
    for k, simulation in enumerate(simulations):
        simulation.dt = 0.1 * k
    for simulation in simulations * 2:
        np.testing.assert_allclose(gradient(simulation.run, X), traced(simulation.run, X))
    assert runs.count("run") >= 5  # a recording may have replaced the program by then


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
