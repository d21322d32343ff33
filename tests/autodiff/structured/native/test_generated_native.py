"""Random programs with loops: machine code, NumPy source and tracing agree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import autodiff
from autodiff.structured import calls
from autodiff.structured.runtime import Structured
from tests.autodiff.structured.test_generated import check_close
from tools.fuzz import generators, judge

GENERATORS = ["loops", "carried", "library_calls", "own_rules", "integer_arrays", "records"]
CASES = [(generator, first) for generator in GENERATORS for first in (500, 510)]
CASES += [("integer_arrays", 70)]  # 77 crashed: a variable that only a loop binds had no buffer yet


@pytest.mark.parametrize("generator, first", CASES)
def test_programs(
    generator: str, first: int, made: list[Structured], traced: Callable, by_numpy: Callable
) -> None:
    for seed in range(first, first + 10):
        f, arguments = judge.load(generators.write(generator, seed))
        calls.Settings.worth = calls.Settings.least = -1.0
        with np.errstate(all="ignore"):
            results = [judge.outcome(way, f, arguments)
                       for way in (traced, by_numpy, autodiff.gradient)]  # fmt: skip
        expected = results[0]
        for found in results[1:]:
            if isinstance(expected, type):
                assert found is expected, seed
                continue
            for x, y in zip(found, expected, strict=True):
                check_close(x, y, f"seed {seed}")
    assert sum(p.native.count for p in made if p.native is not None) >= 5
