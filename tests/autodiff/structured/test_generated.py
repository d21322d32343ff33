"""Random programs with loops: by programs made from their source, and traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff.structured import calls
from tools.fuzz import generators, judge

# A sum of arrays, and one of them, were each led back to the other one.
ONCE_WRONG = range(66_000_891, 66_000_892)
SEEDS = [("loops", range(n, n + 20)) for n in range(0, 120, 20)] + [("loops", ONCE_WRONG)]
SEEDS += [("given_functions", range(n, n + 20)) for n in range(0, 80, 20)]
SEEDS += [("carried", range(n, n + 20)) for n in range(0, 60, 20)]
SEEDS += [("grids", range(n, n + 10)) for n in range(0, 30, 10)]
SEEDS += [("whole_lists", range(n, n + 20)) for n in range(0, 80, 20)]
SEEDS += [("mappings", range(n, n + 10)) for n in range(0, 60, 10)]
SEEDS += [("iterators", range(n, n + 10)) for n in range(0, 60, 10)]
SEEDS += [("surroundings", range(n, n + 10)) for n in range(0, 60, 10)]
SEEDS += [("masks", range(n, n + 10)) for n in range(0, 60, 10)]
SEEDS += [("integer_arrays", range(n, n + 10)) for n in range(0, 60, 10)]
SEEDS += [("records", range(n, n + 10)) for n in range(0, 60, 10)]
SEEDS += [("without_axes", range(n, n + 20)) for n in range(0, 60, 20)]
SEEDS += [("descents", range(n, n + 10)) for n in range(0, 40, 10)]
SEEDS += [("helpers", range(n, n + 10)) for n in range(0, 60, 10)]
SEEDS += [(g, range(n, n + 10)) for g in ("library_calls", "own_rules") for n in range(0, 30, 10)]


@pytest.mark.parametrize("generator, seeds", SEEDS)
def test_programs(generator: str, seeds: range, traced: Callable, runs: list[str]) -> None:
    for seed in seeds:
        f, arguments = judge.load(generators.write(generator, seed))
        with np.errstate(all="ignore"):
            expected = judge.outcome(traced, f, arguments)
            calls.Settings.worth = calls.Settings.least = -1.0
            found = judge.outcome(autodiff.gradient, f, arguments)
        if isinstance(expected, type):
            assert found is expected, seed
            continue
        for x, y in zip(found, expected, strict=True):
            check_close(x, y, f"seed {seed}")
        with np.errstate(all="ignore"):
            drawn = judge.by_drawn_arguments(autodiff.gradient, f, arguments)
        for i, x in drawn:
            check_close(x, expected[i], f"seed {seed}")
    assert runs


def check_close(x: Any, y: Any, message: str) -> None:
    """Compare two gradients; those of float32 may be rounded in another order."""
    is_single = getattr(y, "dtype", None) == np.float32
    rtol, atol = (1e-4, 1e-6) if is_single else (1e-9, 1e-11)
    np.testing.assert_allclose(x, y, rtol=rtol, atol=atol, err_msg=message)
