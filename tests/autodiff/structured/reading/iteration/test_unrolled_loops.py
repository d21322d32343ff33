"""Loops over items that are known one by one are unrolled, but not to programs of any length."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured import calls
from tests.helpers import check_gradient

LOGITS = np.random.default_rng(0).normal(size=(4, 4))
WALKS = [[(i * s + i // 3) % 4 for i in range(30)] for s in range(1, 16)]
WEIGHTS = (((0.5, "sin"), (0.25, "cos")),) * 40


def of_walks(logits: Any) -> Any:
    total = 0.0
    for walk in WALKS:
        for a, b in itertools.pairwise(walk):
            total += logits[a, b] - np.log(np.sum(np.exp(logits[a])))
    return total


def of_pairs_of_walks(logits: Any) -> Any:
    total = 0.0
    for walk in WALKS:
        total += sum([logits[a, b] ** 2 for a, b in itertools.pairwise(walk)])
    return total


def of_names(logits: Any) -> Any:
    total = 0.0
    for _ in (1, 2, 3, 4):
        for row in WEIGHTS:
            for weight, name in row:
                total += weight * (np.sin(logits[0, 1]) if name == "sin" else np.cos(logits[1, 2]))
    return total


@pytest.mark.parametrize("f", [of_walks, of_pairs_of_walks, of_names])
def test_nested_loops_count_together(f: Callable, traced: Callable) -> None:
    expected = traced(f, LOGITS)
    np.testing.assert_allclose(gradient(f, LOGITS), expected, rtol=1e-10)


def test_loops_over_numbers_stay_loops(traced: Callable, runs: list[str]) -> None:
    gradient(of_walks, LOGITS)
    assert runs == ["of_walks"]
    (program,) = calls._programs_of(of_walks).known.values()
    assert program is not None
    assert program.lines < 1_000


BONDS = [(i, (i + 3) % 12) for i in range(12)]


def of_bonds(logits: Any) -> Any:
    x, total = np.sin(np.outer(np.arange(1.0, 13.0), logits[0, :3])), 0.0
    for i, j in BONDS:
        d = x[j] - x[i]
        r = np.sqrt(np.sum(d * d) + 0.1)
        cosine = np.dot(x[i], x[j]) / (np.linalg.norm(x[i]) * np.linalg.norm(x[j]) + 1.0)
        total += 0.5 * (r - 1.2) ** 2 + np.exp(-r) * cosine + (0.1 * r if i % 2 else r**2)
    return total


def test_long_bodies_stay_loops(runs: list[str]) -> None:
    for _ in range(2):
        check_gradient(of_bonds, LOGITS)
    assert runs == ["of_bonds"] * 2
    (program,) = calls._programs_of(of_bonds).known.values()
    assert program is not None
    assert program.lines < 150


class Bar:
    def __init__(self, i: int, j: int, group: str, axis: Any) -> None:
        self.i, self.j, self.group, self.axis = i, j, group, axis

    def stretch(self, x: Any) -> Any:
        d = x[self.j] - x[self.i]
        return np.sqrt(np.sum(d * d) + 0.1) - 0.2 * np.dot(d, self.axis)


class Cable(Bar):
    def stretch(self, x: Any) -> Any:
        return 2.0 * np.sum(x[self.j] * x[self.i]) + len(self.group)


class Joint(NamedTuple):
    bar: Bar
    weight: float
    name: str


GROUPS = ("chord", "post", "web")
BARS = [Bar(i, (i + 5) % 12, GROUPS[i % 3], np.array([0.1 * i, 0.2, 0.3])) for i in range(12)]
JOINTS = [Joint(bar, 0.1 * i + 0.5, f"joint {i % 2}") for i, bar in enumerate(BARS)]
CABLES = [(Cable if i % 2 else Bar)(i, 11 - i, "a" * i, BARS[i].axis) for i in range(12)]


def points(logits: Any) -> Any:
    return np.sin(np.outer(np.arange(1.0, 13.0), logits[0, :3]))


def of_objects(logits: Any) -> Any:
    x, total = points(logits), 0.0
    area = {"chord": logits[1, 0], "post": logits[1, 1], "web": logits[1, 2]}
    for k, bar in enumerate(BARS):
        s = bar.stretch(x)
        total += area[bar.group] * (s - 1.2) ** 2 + np.exp(-s) * x[bar.i, 0] + 0.01 * k * s
        total += s**3 if bar.group == "web" else np.sin(s) * x[bar.j, 1]
    return total


def of_named_tuples(logits: Any) -> Any:
    x, total = points(logits), 0.0
    for joint, b in zip(reversed(JOINTS), np.tile(logits[2], 3), strict=True):
        s = joint.bar.stretch(x) * joint.weight
        total += b * (s - 1.2) ** 2 + np.exp(-s) * x[joint.bar.i, 0]
        total += s if joint.name == "joint 0" else joint.weight * np.sin(s)
    return total


def of_comprehended_objects(logits: Any) -> Any:
    x = points(logits)
    stretches = np.array([bar.stretch(x) * logits[3, bar.i % 4] for bar in BARS])
    return np.sum(stretches**2) + sum(np.exp(-bar.stretch(x)) for bar in BARS)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("f", [of_objects, of_named_tuples, of_comprehended_objects])
def test_loops_over_objects_stay_loops(
    f: Callable, native: bool, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls.Settings, "native", 0.0 if native else 9.0)
    for _ in range(3):
        check_gradient(f, LOGITS)
    assert runs == [f.__name__] * 3
    (program,) = calls._programs_of(f).known.values()
    assert program is not None
    assert program.lines < 250


def of_objects_of_two_classes(logits: Any) -> Any:
    x, total = points(logits), 0.0
    for bar in CABLES:
        total += (bar.stretch(x) - 1.2) ** 2 + np.exp(-bar.stretch(x)) * x[bar.i, 0]
    return total


def of_objects_that_name_functions(logits: Any) -> Any:
    x, total = points(logits), 0.0
    for bar in BARS:
        s = bar.stretch(x) + np.sum(x[: bar.i + 1, 0])
        for part in [s, s * s, *range(bar.i)][:3]:
            total += part * (s - 1.2) ** 2 + np.exp(-s) * getattr(bar, "i")  # noqa: B009
        total = total + getattr(np, "sin" if bar.i % 2 else "cos")(s)
    return total


@pytest.mark.parametrize("f", [of_objects_of_two_classes, of_objects_that_name_functions])
def test_other_loops_over_objects_are_unrolled(f: Callable, runs: list[str]) -> None:
    for _ in range(2):
        check_gradient(f, LOGITS)
    assert runs == [f.__name__] * 2


def test_objects_that_change_between_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    check_gradient(of_objects, LOGITS)
    monkeypatch.setattr(BARS[3], "i", 7)
    check_gradient(of_objects, LOGITS)
    monkeypatch.setattr(BARS[4], "group", "web")
    check_gradient(of_objects, LOGITS)
    monkeypatch.setattr(sys.modules[__name__], "BARS", [*BARS[:9], Bar(1, 2, "post", BARS[5].axis)])
    check_gradient(of_objects, LOGITS)


RAYS = [(np.arange(s, s + 2), np.full(2, 0.1 * s)) for s in range(15)]
MIXED = [0, 1, math.sin, 2] * 10
GRAPH = {s: [(3 * s + k) % 40 for k in range(s % 3)] for s in range(40)}


def of_arrays_outside(logits: Any) -> Any:
    x = logits.ravel() * 1.0
    for r, (places, weights) in enumerate(RAYS):
        rest = 0.1 * r - weights @ x[places]
        x[places] += 0.5 * rest * weights
    return np.sum(x**2)


def of_local_arrays(logits: Any) -> Any:
    a, b, c, d = logits[0] * 2.0, logits[1] * 3.0, logits[:, 1] * 2.0, logits[2] * 3.0
    for row in (a, b, c, d, a, b, c, d, a):
        row *= 1.0 + a[0]
    return np.sum(a**2) + np.sum(b * c) + np.sum(d**2)


def of_a_graph(logits: Any) -> Any:
    x = np.concatenate([logits.ravel(), logits.ravel(), logits.ravel()])
    total = 0.0
    for place, others in GRAPH.items():
        for other in others:
            total += x[place] * x[other] ** 2
    return total


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("f", [of_arrays_outside, of_local_arrays, of_a_graph])
def test_loops_over_arrays_stay_loops(
    f: Callable, native: bool, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls.Settings, "native", 0.0 if native else 9.0)
    for _ in range(3):
        check_gradient(f, LOGITS)
    assert runs == [f.__name__] * 3
    (program,) = calls._programs_of(f).known.values()
    assert program is not None
    assert program.lines < 150


def of_mixed_items(logits: Any) -> Any:
    total = 0.0
    for item in MIXED:
        parts = [[logits[i, j] * np.exp(logits[j, i]) for i in range(4)] for j in range(4)]
        parts = [[math.sin(x) + x**2 + 0.5 * x for x in row if x > -9.0] for row in parts]
        factor = item(logits[0, 0]) if callable(item) else logits[item, 0]
        total += sum([sum(row) for row in parts]) * factor
    return total


def test_bodies_have_a_length(runs: list[str], traced: Callable) -> None:
    expected = traced(of_mixed_items, LOGITS)
    np.testing.assert_allclose(gradient(of_mixed_items, LOGITS), expected, rtol=1e-10)
    assert "of_mixed_items" not in runs
    assert "very long" in str(calls._programs_of(of_mixed_items).why)
