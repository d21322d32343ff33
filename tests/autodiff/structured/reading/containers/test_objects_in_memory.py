"""Objects that change, and that lists or other objects hold: aliases are seen by all."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.runtime import Structured
from tests.helpers import check_gradient

X = np.random.default_rng(0).normal(size=(3, 3))


class Body:
    def __init__(self, p: Any, v: Any, m: float = 1.0) -> None:
        self.p, self.v, self.m = p, v, m

    def kinetic(self) -> Any:
        return 0.5 * self.m * np.sum(self.v**2)


@dataclass
class Point:
    p: Any
    v: Any
    m: float = 1.0


@dataclass(frozen=True)
class State:
    x: Any
    v: Any


class Row(NamedTuple):
    x: Any
    v: Any

    def energy(self) -> Any:
        return self.x * self.x + self.v * self.v


class Vec:
    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def __add__(self, other: Vec) -> Vec:
        return Vec(self.x + other.x, self.y + other.y)

    def __mul__(self, k: Any) -> Vec:
        return Vec(self.x * k, self.y * k)


class Particle:
    def __init__(self, position: Vec, speed: Vec) -> None:
        self.position, self.speed = position, speed

    def step(self, dt: float) -> None:
        self.speed = self.speed + self.position * (-dt)
        self.position = self.position + self.speed * dt


class Meter:
    def __init__(self, k: Any) -> None:
        self.k, self.t, self.on, self.name = k, 0, True, "meter"
        self.history: list = []
        self.pair = [k, 1.0]

    @property
    def mean(self) -> Any:
        return sum(self.history) / len(self.history)

    def add(self, v: Any) -> Meter:
        self.t = self.t + v * self.k
        self.history.append(self.t)
        self.pair[1] = self.pair[1] * 0.9 + v
        return self


class Weighted:
    def __init__(self, p: Any) -> None:
        self.p, self.w = p, np.array([1.0, 2.0, 3.0])
        self.ids, self.rows = [1, 2], [np.ones(3)]


@dataclass
class Log:
    k: Any
    rows: list = field(default_factory=list)
    z: Any = field(default_factory=lambda: np.zeros(3))


def changed_in_loops(x: Any) -> Any:
    bodies = [Body(x[i], 0.0 * x[i], 1.0 + i) for i in range(3)]
    for _ in range(5):
        for b in bodies:
            b.v = b.v - 0.1 * b.p
            b.p = b.p + 0.1 * b.v
    return sum(b.kinetic() for b in bodies)


def changed_in_place(x: Any) -> Any:
    bodies = [Point(x[i] * 1.0, 0.0 * x[i]) for i in range(3)]
    for _ in range(5):
        for b in bodies:
            b.v += -0.1 * b.p
            b.p += 0.1 * b.v
            b.p[1] *= 1.1
    total = 0.0
    for b in bodies:
        total += np.sum(b.v * b.p)
    return total


def by_their_index(x: Any) -> Any:
    bodies = []
    for i in range(3):
        bodies.append(Body(x[i], np.zeros(3), 1.0 + i))
    for _ in range(4):
        for i in range(len(bodies)):
            pull = np.zeros(3)
            for j in range(len(bodies)):
                if i != j:
                    d = bodies[j].p - bodies[i].p
                    pull = pull + bodies[j].m * d / (np.sum(d * d) + 0.1) ** 1.5
            bodies[i].v = bodies[i].v + 0.1 * pull
        for b in bodies:
            b.p = b.p + 0.1 * b.v
    return np.sum(bodies[0].v * bodies[1].p) + bodies[2].kinetic()


def one_is_another(x: Any) -> Any:
    bodies = [Point(x[0], np.zeros(3)), Point(x[1], np.zeros(3), 2.0)]
    for _ in range(4):
        for a in bodies:
            for b in bodies:
                if a is not b:
                    a.v = a.v + 0.1 * b.m * (b.p - a.p)
        for b in bodies:
            b.p = b.p + 0.1 * b.v
    return np.sum(bodies[0].p * bodies[1].v)


def one_is_another_in_a_long_list(x: Any) -> Any:
    points = [Point(x[i, 0], x[i, 1]) for i in range(len(x))]
    total = 0.0
    for a in points:
        for b in points:
            if a is b:
                continue
            if a is not None:
                total += a.p * b.v
    return total


def in_two_lists(x: Any) -> Any:
    everybody, some = [], []
    for i in range(3):
        q = Point(x[i] * 1.0, x[i] * 0.5)
        everybody.append(q)
        if i != 1:
            some.append(q)
    for _ in range(4):
        for q in some:
            q.v = q.v * 0.9 + np.sin(q.p)
        for q in everybody:
            q.p = q.p + 0.1 * q.v
        everybody[0].p *= 1.1
    return np.sum(everybody[0].p * some[1].v) + np.sum(everybody[1].p)


def with_a_name(x: Any) -> Any:
    first = Body(x[0] * 1.0, x[1] * 1.0, 2.0)
    bodies = [first]
    for i in range(4):
        bodies.append(Body(x[2] * i, x[1], 1.0))
    first.p = first.p * 3.0
    for q in bodies:
        q.v = q.v + q.p
    first.v[0] = 5.0
    first.v *= 2.0
    return np.sum(bodies[0].v * bodies[1].v) + np.sum(first.p * bodies[0].p)


def exchanged(x: Any) -> Any:
    bodies = [Body(x[i], x[i] * 0.1) for i in range(len(x))]
    a, b = bodies[0], bodies[1]
    for _ in range(5):
        a, b = b, a
        a.p = a.p * b.v + 0.1
        b.v = b.v + a.p
        bodies[0], bodies[2] = bodies[2], bodies[0]
        bodies[0].p = bodies[0].p * 1.1
    return sum(np.sum(q.p * q.v) for q in bodies)


def chosen(x: Any) -> Any:
    points = [Point(x[i, 0], x[i, 1]) for i in range(len(x))]
    best = None
    for _ in range(4):
        most = max(points, key=lambda q: q.p)
        most.p = most.p * 0.5 + 0.01 * most.v
        other = points[0] if points[0].p > points[1].p else points[1]
        other.v += most.p
    for q in points:
        if best is None or q.p > best.p:
            best = q
    best.v = best.v * 2.0
    return sum(q.p * q.v for q in points)


def with_lists_texts_and_flags(x: Any) -> Any:
    meters = [Meter(x[i, 0]) for i in range(len(x))]
    for i in range(5):
        for m in meters:
            if m.on:
                m.add(x[i % 3, 1]).add(0.1)
            if i > 2 and m.name == "meter":
                m.on = False
    return sum(m.mean * m.pair[1] for m in meters)


def objects_in_objects(x: Any) -> Any:
    shared = Vec(x[0, 0], x[0, 1])
    particles = []
    for i in range(len(x)):
        particles.append(Particle(shared, Vec(x[i, 2], 0.0)))
    for k in range(5):
        particles[0].position.x = particles[0].position.x * 1.1 + particles[1].speed.x
        particles[k % 3].speed.y += particles[2].position.x
        particles[1].step(0.1)
    return sum(q.position.x * q.speed.y + q.position.y for q in particles)


def by_factories(x: Any) -> Any:
    logs = [Log(x[i, 0]) for i in range(len(x))]
    for i in range(5):
        for q in logs:
            q.rows.append(q.k * i)
            q.z += x[1] * q.k
    return sum(q.rows[-1] * q.rows[2] + np.sum(q.z) for q in logs)


def some_leave(x: Any) -> Any:
    points = [Point(x[i, 0], x[i, 1]) for i in range(len(x))]
    for _ in range(5):
        points = [b for b in points if b.p > -1.0]
        for b in points:
            b.p -= 0.3 * b.v
    return sum(b.p for b in points) + len(points)


def what_never_changes(x: Any) -> Any:
    states = [State(x[0, 0], x[0, 1])]
    for _ in range(6):
        s = states[-1]
        s = State(s.x + 0.1 * s.v, s.v - 0.1 * s.x)
        states.append(dataclasses.replace(s, v=s.v * 0.9))
    states[2] = State(x[1, 1], 2.0)
    return states[-1].x + sum(s.v * s.x for s in states)


def named_tuples(x: Any) -> Any:
    rows = [Row(x[0, 0], x[0, 1])]
    for i in range(6):
        a, b = rows[-1]
        rows.append(Row(a + 0.1 * b, b - 0.1 * a)._replace(x=a * i))
    return rows[-1].x + rows[2][1] + sum(r.energy() for r in rows) + len(rows[0])


def named_tuples_of_arrays(x: Any) -> Any:
    rows = [Row(x[0] * 1.0, x[1] * 1.0)]
    for i in range(4):
        s = rows[-1]
        rows.append(s._replace(x=s.x + 0.1 * s.v))
        rows[i].x[0] = rows[i].x[0] * 1.5
    return np.sum(rows[-1].x * rows[1].x) + np.sum(rows[0].v)


def named_tuples_of_several_kinds(x: Any) -> Any:
    rows = [Row(x[0, 0], x[1] * 1.0)]
    for i in range(4):
        rows.append(Row(np.sin(rows[-1].x) * i, rows[0].v * rows[-1].x + x[2]))
        rows[0].v[1] *= 1.1
    return rows[-1].x * np.sum(rows[2].v)


def constants_beside_what_changes(x: Any) -> Any:
    meters, total = [], 0.0
    for i in range(3):
        meters.append(Weighted(x[0, i]))
    for i in range(4):
        for m in meters:
            m.p = m.p * 0.9 + x[1, 1] * m.w[i % 3] + m.ids[0]
            m.w = m.w * 0.5
            m.ids.append(3)
            m.ids[0] += 1
            total += m.p * np.sum(m.rows[0])
            m.rows.append(m.w * 1.0)
    return total


def integers_become_floats(x: Any) -> Any:
    points = [Point(0, 1) for _ in range(3)]
    for i in range(5):
        for b in points:
            b.p += x[0, i % 3] * b.v
            b.v = b.p * 0.5
            if isinstance(b, dict) or not isinstance(b, Point):
                b.p = 100.0 * b.p
    return sum(b.p for b in points)


def no_objects(x: Any) -> Any:
    points = [Point(x[i, 0], x[i, 1]) for i in range(len(x) - 3)]
    total = x[0, 0] * 2.0
    for b in points:
        total = total + b.p
    return total


KERNELS = [
    changed_in_loops, changed_in_place, by_their_index, one_is_another,
    one_is_another_in_a_long_list, in_two_lists, with_a_name, exchanged, chosen,
    with_lists_texts_and_flags, objects_in_objects, by_factories, some_leave, what_never_changes,
    named_tuples, named_tuples_of_arrays, named_tuples_of_several_kinds,
    constants_beside_what_changes, integers_become_floats, no_objects,
]  # fmt: skip


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
def test_objects(f: Callable, runs: list[str], traced: Callable) -> None:
    check_gradient(f, X)
    assert f.__name__ in runs
    np.testing.assert_allclose(gradient(f, X), traced(f, X), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
def test_values_and_other_arguments(f: Callable, runs: list[str], traced: Callable) -> None:
    gradient(f, X)
    for x in (X.astype(np.float32), -2.0 * X[::-1], np.vstack([X, X * 0.5])):
        found = gradient(f, x)
        assert found.dtype == x.dtype
        np.testing.assert_allclose(found, traced(f, x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
def test_few_states(f: Callable, check_few_states: Callable) -> None:
    check_few_states(f, X)


def test_frozen_objects_do_not_change() -> None:
    def change(x: Any) -> Any:
        states = [State(x[i, 0], x[i, 1]) for i in range(len(x))]
        for s in states:
            s.x = 3.0  # type: ignore[misc] # it is an error
        return states[0].x

    with pytest.raises(UnsupportedError):
        Structured(change, (None,), (X,), (0,))
    with pytest.raises(AttributeError, match="cannot assign to field 'x'"):
        gradient(change, X)


def test_methods_that_change(monkeypatch: pytest.MonkeyPatch, runs: list[str]) -> None:
    before = gradient(changed_in_loops, X)
    monkeypatch.setattr(Body, "kinetic", lambda self: np.sum(self.v) * self.m)
    check_gradient(changed_in_loops, X)
    assert not np.allclose(before, gradient(changed_in_loops, X))
    assert runs
