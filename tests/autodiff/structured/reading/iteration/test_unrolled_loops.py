"""Loops over items that are known one by one are unrolled, but not to programs of any length."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured import calls

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
