"""Calls of programs one after the other, at once, and inside each other: none disturbs another."""

from __future__ import annotations

import concurrent.futures
import functools
import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from autodiff import DifferentiationError, automatic_compile, compile, gradient
from autodiff.compiler import compiled_function
from autodiff.structured.settings import Settings, has_llvm
from tools.fuzz import generators, judge

N = 400
RNG = np.random.default_rng(0)


def decayed(x: Any, w: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total = 0.9 * total + w * x[i] * x[i]
    return total


def slopes(x: np.ndarray, w: Any) -> tuple:
    factors = 0.9 ** np.arange(len(x))[::-1]
    return 2.0 * w * factors * x, np.sum(factors * x * x)


def looked_up(x: Any, places: Any) -> Any:
    total = 0.0
    for k in range(N):
        total = 0.5 * total + x[places[k]] * x[0]
    return total


def of_list(xs: Any, w: Any) -> Any:
    total = 0.0
    for k in range(N):
        total = 0.9 * total + w * xs[k % 70] * xs[k % 70]
    return total


TIERS = ["as called", "traced", "compiled", "without llvmlite"]


def tier_of(name: str, f: Callable, **options: Any) -> Callable:
    """Return the gradient of a function in a tier, which has run some times."""
    if name in ("as called", "traced"):
        return lambda *args: gradient(f, *args, **options)
    backend = "auto" if name == "compiled" else "python"
    return compile(lambda *args: gradient(f, *args, **options), backend=backend)


SCALES = np.ones(3)
FACTOR = 1.0
TWICE = np.array([[0, 1], [1, 0]])
"""Only NumPy knows which of two values for one place it writes last, so the sweep traces."""


def scaled(x: Any) -> Any:
    y = x * 1.0
    for k in range(3):
        y[TWICE] = x[k] * SCALES[k] * FACTOR
    return np.sum(y)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make programs, and machine code, at the first call."""
    monkeypatch.setattr(Settings, "worth", 0.0)
    monkeypatch.setattr(Settings, "least", 0.0)
    monkeypatch.setattr(Settings, "native", 0.0)


@pytest.fixture(params=TIERS)
def tier(request: pytest.FixtureRequest) -> Iterator[str]:
    before = automatic_compile(request.param != "traced")
    yield request.param
    automatic_compile(before)


def check(found: tuple, x: np.ndarray, w: Any, rtol: float = 1e-12) -> None:
    for bar, expected in zip(found, slopes(x, w), strict=True):
        np.testing.assert_allclose(bar, expected, rtol=rtol)


def test_results_keep_their_values(tier: str) -> None:
    slope = tier_of(tier, decayed)
    given = [(RNG.standard_normal(N), float(k + 1)) for k in range(30)]
    found = [slope(*args) for args in given]
    for bars, args in zip(found, given, strict=True):
        check(bars, *args)
    arrays = [*(bars[0] for bars in found), *(x for x, _ in given)]
    assert not any(np.shares_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k])


def test_arguments_of_another_form(tier: str) -> None:
    slope = tier_of(tier, decayed)
    x = RNG.standard_normal(2 * N)
    given = [x[:N], x, x[::2], x[::-1], x[:N].astype(np.float32), x[:1], np.abs(x)]
    for _ in range(3):
        for a in given:
            found = slope(a, 1.5)
            assert type(found[1]) is float
            assert (found[0].dtype, found[0].shape) == (a.dtype, a.shape)
            check(found, a, 1.5, rtol=1e-12 if a.dtype == float else 1e-3)
        found = slope(x[:N], np.float64(1.5))
        assert type(found[1]) is np.float64
        check(found, x[:N], 1.5)


def test_an_error_ends_one_call_only(tier: str) -> None:
    slope = tier_of(tier, looked_up, argnums=0)
    x, places = RNG.standard_normal(5), RNG.integers(0, 5, N)
    expected = slope(x, places)
    for _ in range(6):
        wrong = places.copy()
        wrong[N // 2] = 5
        with pytest.raises(IndexError):
            slope(x, wrong)
        np.testing.assert_allclose(slope(x, places), expected, rtol=1e-12)
        assert gc.isenabled()


@pytest.mark.usefixtures("switching")
@pytest.mark.parametrize("changed", ["nothing", "an array", "a number"])
def test_what_is_read_outside_has_changed_when_a_sweep_traces(
    changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep would run the function with what is there now."""
    monkeypatch.setitem(globals(), "SCALES", np.ones(3))
    monkeypatch.setitem(globals(), "FACTOR", 1.0)

    def loss(x: Any) -> Any:
        s = scaled(x)
        if changed == "an array":
            SCALES[2] = 7.0
        if changed == "a number":
            globals()["FACTOR"] = 7.0
        return s

    if changed == "nothing":
        assert np.array_equal(gradient(loss, np.ones(4)), [0.0, 0.0, 3.0, 1.0])
        return
    with pytest.raises(DifferentiationError, match="traces it again"):
        gradient(loss, np.ones(4))


def test_threads(tier: str) -> None:
    slope = tier_of(tier, decayed)
    given = [(RNG.standard_normal(N), float(k + 1)) for k in range(8)]
    slope(*given[0])
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda args: slope(*args), given * 5))
    for k, bars in enumerate(found):
        check(bars, *given[k % 8])
    assert gc.isenabled()


def test_a_finaliser_that_makes_the_same_call(tier: str) -> None:
    slope = tier_of(tier, decayed)
    x, y = RNG.standard_normal((2, N))
    slope(x, 2.0)
    seen: list = []

    class Cycle:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            seen.append(slope(y, 3.0))

    before = gc.get_threshold()
    gc.set_threshold(5)
    try:
        for _ in range(30):
            Cycle()
            check(slope(x, 2.0), x, 2.0)
    finally:
        gc.set_threshold(*before)
        gc.collect()
    assert len(seen) == 30
    for bars in seen:
        check(bars, y, 3.0)


@pytest.mark.parametrize("mode", ["warn", "raise", "ignore"])
def test_underflow_is_what_numpy_makes_of_it(tier: str, mode: Any) -> None:
    slope = tier_of(tier, decayed)
    x = RNG.standard_normal(N)
    slope(x, 2.0)
    with np.errstate(under=mode):
        check(slope(x, 2.0), x, 2.0)
    check(slope(x, 2.0), x, 2.0)


def test_lists(tier: str) -> None:
    slope = tier_of(tier, of_list)
    turns = np.arange(N)[::-1]
    for k in range(5):
        xs = [float(x) for x in RNG.standard_normal(70)]
        bars, w_bar = slope(xs, 1.0 + k)
        factors = np.bincount(np.arange(N) % 70, 0.9**turns)
        assert {type(bar) for bar in bars} == {float}
        np.testing.assert_allclose(bars, 2.0 * (1.0 + k) * factors * xs, rtol=1e-11)
        assert w_bar == pytest.approx(np.sum(factors * np.square(xs)), rel=1e-11)


@pytest.mark.parametrize("x", [np.nan, np.inf])
def test_what_is_not_finite_is_left_to_the_rules(tier: str, x: float) -> None:
    slope = tier_of(tier, decayed)
    given = RNG.standard_normal(N)
    slope(given, 2.0)
    given[N - 1] = x
    with np.errstate(all="ignore"):
        found, _ = slope(given, 2.0)
    np.testing.assert_array_equal(found[-1], 4.0 * x)
    np.testing.assert_allclose(found[:-1], slopes(given, 2.0)[0][:-1], rtol=1e-12)


SEEDS = [(name, 20_001 + k) for name in ("loops", "given_functions", "whole_lists") for k in (0, 1)]


@pytest.mark.skipif(not has_llvm(), reason="llvmlite is not there")
@pytest.mark.parametrize("generator, seed", SEEDS)
def test_generated_programs_as_steps(
    generator: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = functools.partial(compiled_function.recorded, keep_loops=True)
    monkeypatch.setattr(compiled_function, "recorded", recorded)
    f, arguments = judge.load(generators.write(generator, seed))
    slope = compile(lambda *args: gradient(f, *args))

    def scaled(factor: float) -> tuple:
        return judge.mapped(lambda x: x if type(x) in (int, bool) else x * factor, arguments)

    given = [scaled(1.0 + 0.01 * k) for k in range(4)]
    with np.errstate(all="ignore"):
        found = [judge.outcome(lambda _, *args: slope(*args), f, args) for args in given]
        monkeypatch.setattr(Settings, "enabled", False)
        expected = [judge.outcome(gradient, f, args) for args in given]
    for bars, others in zip(found, expected, strict=True):
        if isinstance(others, type):
            assert bars is others
            continue
        for x, y in zip(judge.leaves(bars), judge.leaves(others), strict=True):
            assert type(x) is type(y)
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)
