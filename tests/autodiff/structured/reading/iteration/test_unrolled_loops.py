"""Loops over items that are known one by one are unrolled, but not to programs of any length."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

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
