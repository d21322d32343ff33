"""Machine code: objects, dicts and deques, compared with tracing and with the NumPy source."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

from autodiff import gradient, value_and_gradient
from autodiff.structured.runtime import Structured

A, B = np.cos(np.arange(1.0, 13.0)), np.sin(np.arange(1.0, 13.0))


class Body:
    def __init__(self, x: Any, v: Any, name: str) -> None:
        self.x, self.v, self.w = x, v, np.array([x, v])
        self.turns, self.path, self.name = 0, [], name

    def step(self, dt: float) -> None:
        self.x = self.x + self.v * dt
        self.w = self.w * 0.9
        self.w[0] += self.x
        self.turns += 1
        self.path.append(self.x)


@dataclass
class Particle:
    p: Any
    v: Any
    m: float = 1.0
    forces: list = field(default_factory=list)


class Vec:
    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def __add__(self, other: Vec) -> Vec:
        return Vec(self.x + other.x, self.y + other.y)

    def __mul__(self, k: Any) -> Vec:
        return Vec(self.x * k, self.y * k)


class Row(NamedTuple):
    t: int
    x: Any
    state: Any


class Cell:
    def __init__(self, value: Any) -> None:
        self.value = value
        self.is_on = False
        self.inner = Vec(value, 1.0)


def bodies(a: Any, b: Any) -> Any:
    made = [Body(a[i], 0.1 * i, "body") for i in range(6)]
    for t in range(10):
        for body in made:
            body.step(0.1)
            other = made[t % 4]
            other.v = other.v * 0.9 - body.x * b[t] * 0.1
    return sum([m.x**2 + m.w[0] * m.w[1] + m.path[3] * m.turns for m in made])


def particles(a: Any, b: Any) -> Any:
    made = [
        Particle(a[2 * i : 2 * i + 2] * 1.0, b[2 * i : 2 * i + 2] * 1.0, 1.0 + i) for i in range(5)
    ]
    for _ in range(4):
        for i, p in enumerate(made):
            p.forces.append(p.p * (-0.5))
            for q in made[:i]:
                d = p.p - q.p
                p.v = p.v + 0.01 * d / (d @ d + 0.1)
                q.v -= 0.01 * d
        for p in made:
            p.v = p.v + 0.1 * p.forces[-1] / p.m
            p.p = p.p + 0.1 * p.v
    return sum(p.m * (p.v @ p.v) for p in made) + np.sum(np.stack(made[2].forces))


def objects_in_objects(a: Any, b: Any) -> Any:
    cells = [Cell(a[i]) for i in range(4)]
    shared = cells[1].inner
    for t in range(12):
        cell = cells[t % 4]
        cell.inner = cell.inner * 0.9 + shared * 0.1
        shared.x = shared.x + cell.value * b[t]
        if cell is cells[2]:
            cell.is_on = not cell.is_on
        if cell.is_on:
            cell.value = cell.value * cell.inner.y + cell.inner.x
        if t == 7:
            cells[0] = cells[3]
    return sum(c.value * c.inner.x + c.inner.y for c in cells)


def dicts(a: Any, b: Any) -> Any:
    made = [{"x": a[i], "v": 0.1 * i, "mass": 1.0 + b[i] ** 2, "n": 0} for i in range(8)]
    for _ in range(5):
        for i in range(len(made) - 1):
            p, q = made[i], made[i + 1]
            pull = 0.1 * (q["x"] - p["x"] - 0.2)
            p["v"] += pull / p["mass"]
            q["v"] -= pull / q["mass"]
            p["n"] += 1
        for part in made:
            part["x"] += 0.3 * part["v"] * part["n"]
    return sum(part["x"] ** 2 for part in made)


def lists_and_arrays_in_dicts(a: Any, b: Any) -> Any:
    layers = [{"w": a[:4] * (i + 1), "b": [b[0], b[i]], "used": 0} for i in range(3)]
    h = np.ones(4)
    for turn in range(6):
        layer = layers[turn % 3]
        layer["used"] += 1
        h = np.tanh(layer["w"] * h + layer["b"][0] * layer["b"][1])
        layer["b"][1] = layer["b"][1] * 0.5 + h[0]
        layer["w"] *= 0.9
        layer["w"] = layer["w"] + h * layer["used"]
        layer["b"] = [h[1], layer["b"][1]]
    return np.sum(h) + layers[1]["b"][1] + np.sum(layers[2]["w"])


def named_tuples(a: Any, b: Any) -> Any:
    rows, x = [], a[0]
    for t in range(9):
        x = x + 0.1 * math.sin(x) * b[t]
        rows.append(Row(t, x, a[:3] * x))
    total = 0.0
    for row in rows:
        total += row.x * row.t * np.sum(row.state)
    return total


def complex_numbers(a: Any, b: Any) -> Any:
    made = [Vec(a[i] + 1j * b[i], a[i]) for i in range(5)]
    for t in range(6):
        for k in range(5):
            u, v = made[k], made[(k + 1) % 5]
            u.x = u.x * v.x * 0.5 + b[t] * u.y
            v.y = v.y + abs(u.x) * 0.1
    return sum([abs(u.x) ** 2 + u.y for u in made])


def sliding_window(a: Any, b: Any) -> Any:
    window, total = deque([a[0]], maxlen=3), 0.0
    for t in range(40):
        window.append(a[t % 12] * b[t % 5] + sum(window) * 0.1)
        total = total * 0.9 + window[0] * window[-1] + len(window)
        if t % 7 == 0:
            window.appendleft(total * 0.01)
    return total


def breadth_first(a: Any, b: Any) -> Any:
    queue, places, total = deque([a[0]]), deque([0]), 0.0
    while queue:
        k, x = places.popleft(), queue.popleft()
        total += x * x
        for j in (2 * k + 1, 2 * k + 2):
            if j < 60:
                places.append(j)
                queue.append(x * b[j % 12] + 0.1)
    return total


def both_ends(a: Any, b: Any) -> Any:
    q, total = deque(), 0.0
    for t in range(60):
        q.append(a[t % 12])
        q.appendleft(b[t % 12] * (total + 1.0))
        if t % 3 == 2:
            total = total * 0.5 + q.pop() * q.popleft()
        q.rotate(1)
        if t % 5 == 0:
            q.rotate(-1)
            q[2 if t else 0] = q[0] * 0.5
    while len(q) > 2:
        total += q.popleft() * q[-1] * 0.1
    return total


def inserted_and_dropped(a: Any, b: Any) -> Any:
    xs, total = list(a), 0.0
    for t in range(12):
        xs.insert(t - 5, a[t] * total + b[t])
        xs.insert(100, b[t])
        xs.insert(-100, a[t])
        total = total * 0.3 + xs.pop(t % len(xs)) + xs.pop(-2) * 0.5
        if t % 2 == 0:
            del xs[-2]
            del xs[1]
    return total + sum(xs)


def queues_of_arrays(a: Any, b: Any) -> Any:
    history, x = deque(maxlen=4), a[:3]
    waiting = [a[:2] * 1.0]
    for t in range(15):
        x = np.tanh(x * b[t % 12] + 0.1)
        history.append(x)
        waiting.insert(0, x[:2] * a[t % 12])
        if len(history) == 4:
            x = x + history[0] * 0.5 - history[2]
            x[:2] += waiting.pop() + waiting.pop(1) if t % 2 == 0 else waiting[0]
    return np.sum(x) + np.sum(np.stack(waiting) ** 2)


def queues_of_objects(a: Any, b: Any) -> Any:
    queue, done = deque(), []
    for i in range(6):
        queue.append(Cell(a[i]))
    for t in range(20):
        cell = queue.popleft()
        cell.value = cell.value * b[t % 12] + cell.inner.x
        cell.inner.x = cell.inner.x * 0.7
        if t % 4 == 3:
            done.append(cell)
        else:
            queue.append(cell)
    return sum([c.value for c in done]) + queue[0].value * queue[-1].inner.x


def arrays_put_in_at_once(a: Any, b: Any) -> Any:
    """Arrays without a name live as long as their container."""
    xs, total = [], 0.0
    made = [Vec(np.zeros(2), 1.0) for _ in range(3)]
    pairs = [[np.zeros(2), np.ones(2)] for _ in range(2)]
    for t in range(8):
        xs.append(np.array([1.0 * t, t * 2.0]))
        xs.insert(0, np.array([2.0 * t, t * 3.0]))
        made[t % 3].x = np.array([1.0 * t, t * 0.5])
        made[0].y = made[0].y + 1.0
        pairs[t % 2][1] = np.array([0.5 * t, 1.0])
        others = np.array([a[0] * t, b[1]])
        a = a * 1.0 + others[0] * (np.ones(2) * t)[1] * 0.01
    for t in range(8):
        u = made[t % 3]
        total += a[0] * xs[t][1] * xs[-t][0] + u.x[1] * a[1] * u.y * pairs[t % 2][1][0]
    return total


def single_precision(a: Any, b: Any) -> Any:
    made = [Vec(a[i], b[i : i + 3] * 1) for i in range(4)]
    for t in range(5):
        u = made[t % 4]
        u.x = u.x * u.y[1] + made[0].x
        u.y = u.y * u.x
    return sum([float(u.x) + float(np.sum(u.y)) for u in made])


PROGRAMS = [
    bodies, particles, objects_in_objects, dicts, lists_and_arrays_in_dicts, named_tuples,
    complex_numbers, sliding_window, breadth_first, both_ends, inserted_and_dropped,
    queues_of_arrays, queues_of_objects, arrays_put_in_at_once, single_precision,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients(f: Callable, check_machine_code: Callable) -> None:
    def loss(a: Any, b: Any) -> Any:
        return f(a, b) * 1.0

    is_single = f is single_precision
    a, b = (x.astype(np.float32) if is_single else x for x in (A, B))
    rtol = 1e-5 if is_single else 1e-9
    program = check_machine_code(loss, lambda: (a, b), rtol=rtol, atol=rtol * 0.01, kernel=f)
    value, _ = value_and_gradient(f, a, b)
    assert type(value) is type(f(a, b))
    np.testing.assert_allclose(value, f(a, b), rtol=1e-6 if is_single else 1e-12)
    assert len(program.native.parts) == 1
    assert not program.bailouts


def taken_from_none(a: Any, b: Any) -> Any:
    queue, total = deque([a[0]]), 0.0
    for t in range(3):
        total += queue.popleft() * b[t]
    return total


def dropped_beyond(a: Any, b: Any) -> Any:
    xs, total = [a[0], b[0]], 0.0
    for t in range(3):
        total += xs[0]
        xs.append(total)
        del xs[t * 2]
    return total


def most_of_none(a: Any, b: Any) -> Any:
    queue, total = deque(maxlen=len(a) - 12), 0.0
    for t in range(3):
        queue.append(a[t])
        total += len(queue) + b[t]
    return total


def missing_keys(a: Any, b: Any) -> Any:
    made = [{"x": a[0], "y": b[0]}]
    made.append({"x": a[1]})
    total = 0.0
    for t in range(4):
        total += made[t % 2]["x"] + (made[t % 2]["y"] if t % 2 == 0 else 0.0)
    return total


@pytest.mark.parametrize("f", [taken_from_none, dropped_beyond, most_of_none, missing_keys])
def test_what_raises_and_what_is_left_to_python(f: Callable, traced: Callable) -> None:
    try:
        expected = traced(f, A, B)
    except (IndexError, ValueError) as error:
        for _ in range(3):
            with pytest.raises(type(error)):
                gradient(f, A, B)
        return
    for _ in range(3):
        for x, y in zip(gradient(f, A, B), expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)


def test_a_long_queue_takes_no_memory_for_what_has_left_it(
    made: list[Structured], traced: Callable
) -> None:
    def f(a: Any) -> Any:
        window, total = deque(maxlen=5), a[0]
        for t in range(3000):
            window.append(total * a[t % 12])
            total = total * 0.5 + window[0] * window[-1]
        return total

    for x, y in zip(gradient(f, A), traced(f, A), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9)
    assert made[0].native is not None, made[0].why
    assert not made[0].native.why
