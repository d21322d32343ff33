"""Long loops are not written down turn by turn: they run from their source."""

from __future__ import annotations

import math
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import NoPathWarning, compile, gradient, hvp, jvp
from autodiff.compiler.compiled_function import Compiled
from autodiff.compiler.recording.recorder import Recording
from autodiff.structured import recorded_calls, runtime
from autodiff.structured.settings import Settings

X = np.linspace(0.2, 1.4, 40)


def recurrence(x: Any, turns: int) -> Any:
    y = x.copy()
    for t in range(turns):
        for i in range(1, len(y)):
            y[i] = 0.9 * y[i] + 0.1 * np.sin(y[i - 1]) * x[t % 3]
    return np.sum(y * y)


def in_place(x: Any, turns: int) -> Any:
    y = x * 1.0
    advance(y, turns)
    return y @ y


def advance(y: Any, turns: int) -> None:
    for _ in range(turns):
        for i in range(1, len(y) - 1):
            y[i] += 0.1 * (y[i - 1] - 2.0 * y[i] + y[i + 1])


def with_helpers(x: Any, turns: int) -> Any:
    total = 0.0
    for t in range(turns):
        total = total + short(x, t)
    return total


def short(x: Any, t: int) -> Any:
    y = x[0]
    for i in range(20):
        y = 0.5 * y + x[i] * x[(i + t) % 40]
    return y


def with_finally(x: Any, turns: int) -> Any:
    z = x[0]
    for t in range(turns):
        try:
            z = z * 0.9 + x[t % 40]
        finally:
            z = z * 0.5
    return z


def rebound(x: Any, turns: int) -> Any:
    u = x
    for _ in range(turns):
        new = u.copy()
        new[1:-1] += 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u = new
    return np.sum(u * u)


FUNCTIONS = [recurrence, in_place, with_helpers, rebound]


def checked(f: Callable, turns: int) -> Compiled:
    """Compile the gradient of a function, compare it with differences, and return it."""
    compiled = compile(lambda x: gradient(lambda x: f(x, turns), x))
    for x in (X, X[::-1].copy(), X + 0.3):
        direction = np.cos(X)
        slope = (f(x + 1e-6 * direction, turns) - f(x - 1e-6 * direction, turns)) / 2e-6
        assert compiled(x.copy()) @ direction == pytest.approx(slope, rel=1e-6)
    return compiled


def with_own_programs(f: Callable) -> Callable:
    """Return a copy of a function that calls copies of its helpers."""
    scope = dict(globals())
    for g in (advance, short, f):
        scope[g.__name__] = types.FunctionType(g.__code__.replace(), scope, g.__name__)
    return scope[f.__name__]


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("turns", [2, 300])
def test_what_is_long_runs_as_it_is_written(
    f: Callable, turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No function of Python's: a recording looks at all code that runs in it.
    monkeypatch.setattr(runtime.Structured, "is_machine_code", staticmethod(callable))
    monkeypatch.setattr(runtime, "has_llvm", dict)
    compiled = checked(with_own_programs(f), turns)
    is_long = turns > 2
    assert compiled.variants == (not is_long)
    assert (compiled.eager_because is not None) == is_long
    if is_long:
        assert "LoopsUnrolledError: its loops run from their source" in compiled.eager_because


def smoothed(x: Any, turns: int) -> Any:
    for _ in range(turns):
        for k in range(1, 4):
            x = x + 0.01 * k * np.sin(x[::-1])
    return np.sum(x * x)


@pytest.mark.parametrize("size, seconds", [(40, -1.0), (60, 1e9)])
def test_recordings_over_arrays_end_early_where_a_program_is_as_fast(
    size: int, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They do after a while, and if the arguments are large."""
    monkeypatch.setattr(runtime.Structured, "is_machine_code", staticmethod(callable))
    monkeypatch.setattr(runtime, "has_llvm", dict)
    x, direction = np.cos(np.arange(float(size))), np.ones(size)
    for is_early in (False, True):
        monkeypatch.setattr(recorded_calls, "SECONDS_AS_SOURCE", seconds if is_early else 1e9)
        own = types.FunctionType(smoothed.__code__.replace(), globals(), "smoothed")
        compiled = compile(lambda x: gradient(own, x, 50, argnums=0))  # noqa: B023 - called here
        slope = smoothed(x + 1e-6 * direction, 50) - smoothed(x - 1e-6 * direction, 50)
        assert compiled(x) @ direction == pytest.approx(slope / 2e-6, rel=1e-6)
        assert (compiled.variants == 0) == (is_early or size > 40)


@pytest.mark.skipif(not runtime.has_llvm(), reason="loops are no machine code without llvmlite")
@pytest.mark.parametrize("f", FUNCTIONS)
def test_machine_code_is_one_step_of_a_recording(f: Callable) -> None:
    compiled = checked(f, 300)
    assert compiled.variants == 1
    assert compiled.eager_because is None
    assert "_sweep(" in compiled.source
    assert len(compiled.source.splitlines()) < 40


@pytest.mark.skipif(not runtime.has_llvm(), reason="loops are no machine code without llvmlite")
@pytest.mark.parametrize("f", FUNCTIONS)
def test_values_without_derivatives_are_machine_code(f: Callable) -> None:
    compiled = compile(lambda x: f(x, 300))
    for x in (X, X[::-1].copy(), X + 0.3):
        assert compiled(x.copy()) == pytest.approx(f(x.copy(), 300), rel=1e-13)
    assert compiled.variants == 1
    assert compiled.eager_because is None
    assert len(compiled.source.splitlines()) < 40


@pytest.mark.skipif(not runtime.has_llvm(), reason="loops are no machine code without llvmlite")
def test_arrays_without_derivatives_are_machine_code() -> None:
    def states(x: Any, turns: int) -> Any:
        found = np.zeros((turns, 3))
        for t in range(turns):
            for k in range(3):
                found[t, k] = found[t - 1, k] * 0.5 + x[(t + k) % 40]
        return found, found[turns - 1, 2] * 2.0

    compiled = compile(lambda x: states(x, 400))
    for x in (X, X + 0.3):
        given, expected = compiled(x), states(x, 400)
        np.testing.assert_allclose(given[0], expected[0], rtol=1e-14)
        assert type(given[1]) is type(expected[1])
        assert given[1] == pytest.approx(expected[1], rel=1e-14)
    assert len(compiled.source.splitlines()) < 40


@pytest.mark.skipif(not runtime.has_llvm(), reason="loops are no machine code without llvmlite")
def test_what_a_step_reads_is_looked_up_at_each_call() -> None:
    compiled = compile(lambda x: gradient(lambda x: scaled(x, 300), x))
    for factor in (0.5, 0.7):
        FACTORS[0] = factor
        FACTORS[1:] = factor / 2.0
        expected = gradient(lambda x: scaled(x, 300), X)
        assert compiled(X.copy()) == pytest.approx(expected, rel=1e-10)


@pytest.mark.skipif(not runtime.has_llvm(), reason="loops are no machine code without llvmlite")
def test_a_step_whose_cotangents_are_not_finite_is_left_to_the_rules() -> None:
    compiled = compile(lambda x: gradient(lambda x: np.sqrt(in_place(0.0 * x, 60)), x))
    expected = gradient(lambda x: np.sqrt(in_place(0.0 * x, 60)), X)
    np.testing.assert_array_equal(compiled(X.copy()), expected)


FACTORS = np.array([0.5, 0.25, 0.125])


def scaled(x: Any, turns: int) -> Any:
    y = x[0]
    for t in range(turns):
        y = np.sin(y * FACTORS[t % 3]) + x[t % 40]
    return y


def test_a_long_loop_that_no_program_can_run_is_recorded() -> None:
    compiled = compile(lambda x: gradient(lambda x: with_finally(x, 900), x))
    expected = gradient(lambda x: with_finally(x, 900), X)
    assert compiled(X) == pytest.approx(expected, rel=1e-10)
    assert compiled.variants == 1


def until_small(x: Any) -> Any:
    y = x * 1.0
    turns = decay(y)
    return np.sum(y * x) * 1.0 + turns


def decay(y: Any) -> int:
    turns = 0
    while np.max(y) > 0.01:
        y[1:] = 0.9 * y[1:] + 0.01 * y[:-1]
        y[0] *= 0.995
        turns += 1
    return turns


@pytest.mark.skipif(not runtime.has_llvm(), reason="loops are no machine code without llvmlite")
def test_a_long_loop_until_convergence_is_a_step() -> None:
    compiled = compile(lambda x: gradient(until_small, x))
    for x in (X, X * 2.0, X * 0.1, X):
        assert compiled(x.copy()) == pytest.approx(gradient(until_small, x), rel=1e-10)
    assert compiled.variants == 1
    assert "decay" in str(compiled.report())


def halved(x: Any) -> Any:
    low, high = 0.0, 4.0
    for _ in range(900):
        middle = 0.5 * (low + high)
        if middle * middle > x:
            high = middle
        else:
            low = middle
    return low


@pytest.mark.skipif(not runtime.has_llvm(), reason="loops are no machine code without llvmlite")
def test_a_long_search_is_no_step_because_its_argument_is_warned_of() -> None:
    compiled = compile(lambda x, y: gradient(lambda x, y: halved(x) * y, x, y))
    for x in (2.0, 3.0):
        with pytest.warns(NoPathWarning, match="argument 0"):
            assert compiled(x, 3.0) == pytest.approx((0.0, x**0.5))
    both = compile(lambda x, y: gradient(lambda x, y: halved(x) * y * x, x, y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (2.0, 3.0):
            assert both(x, 3.0) == pytest.approx((3.0 * x**0.5, x**1.5))


@pytest.mark.skipif(runtime.has_llvm(), reason="a step runs it")
def test_a_long_loop_that_hides_decisions_runs_as_it_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recordings: list[int] = []

    def counted(self: Recording) -> list:
        recordings.append(len(self.steps))
        return closed(self)

    closed = Recording.close
    monkeypatch.setattr(Recording, "close", counted)
    compiled = compile(lambda x: gradient(until_small, x))
    for x in (X, X * 2.0):
        assert compiled(x.copy()) == pytest.approx(gradient(until_small, x), rel=1e-10)
    assert compiled.variants == 0
    assert "LoopsUnrolledError: its loops run from their source" in compiled.eager_because
    assert len(recordings) == 1  # a second one could not be shorter
    assert recordings[0] < 3100


def test_without_structured_programs_loops_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, "enabled", False)
    compiled = compile(lambda x: gradient(lambda x: in_place(x, 8), x))
    assert compiled(X) == pytest.approx(gradient(lambda x: in_place(x, 8), X), rel=1e-10)
    assert compiled.variants == 1


def test_second_derivatives_of_a_long_loop() -> None:
    def slope(x: Any) -> Any:
        return np.sum(gradient(lambda x: in_place(x, 60), x) ** 2)

    compiled = compile(lambda x: gradient(slope, x))
    for x in (X, X * 1.1):
        assert compiled(x) == pytest.approx(gradient(slope, x), rel=1e-9)
    assert compiled.variants == 1
    assert "tangent_of_advance" in str(compiled.report())


def sums(x: Any, y: Any, turns: int) -> Any:
    total = 0.0
    for t in range(turns):
        total = total + math.sin(x[t % 40]) * y[t % 7]
    return x + y + total


@pytest.mark.skipif(not runtime.has_llvm(), reason="llvmlite is not there")
def test_gradients_of_a_step_are_new_memory_and_are_not_copied() -> None:
    seen = X * 0.5

    def loss(x: Any, y: Any) -> Any:
        return np.sum(sums(x, y, 3000) * seen)

    compiled = compile(lambda x, y: gradient(loss, x, y, argnums=(0, 1)))
    for k in range(3):
        given = X + k, X * 2.0
        before = [a.copy() for a in given]
        found = compiled(*given)
        arrays = [*found, *given, seen]
        for i, a in enumerate(arrays):
            assert not any(np.shares_memory(a, b) for b in arrays[:i])
        for a in found:
            a[...] = np.nan
        for a, b in zip(given, before, strict=True):
            np.testing.assert_array_equal(a, b)
    assert "sums_sweep(" in compiled.source
    assert ".copy()" not in compiled.source


@pytest.mark.skipif(not runtime.has_llvm(), reason="llvmlite is not there")
def test_a_step_whose_slopes_are_infinite_is_respecialized() -> None:
    def roots(x: Any, turns: int) -> Any:
        total = 0.0
        for t in range(turns):
            total = total + np.sum(np.where(x > 0.0, np.sqrt(x), 0.0)) * (0.1 * t)
        return total

    x = X.copy()
    x[:3] = 0.0
    expected = gradient(lambda x: roots(x, 500), x)
    compiled = compile(lambda x: gradient(lambda x: roots(x, 500), x))
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_allclose(compiled(x), expected, rtol=1e-12)
    assert compiled.eager_because is None


def energy(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(4):
        total = total + 1.0 / math.sqrt(x * x + w * w + k)
    return total


def flight(w: Any, turns: int) -> Any:
    x, v = 1.0, 0.0
    for _ in range(turns):
        v = v - 0.01 * jvp(lambda x: energy(x, w), (x,), (1.0,))[1]
        x = x + 0.01 * v
    return x


def test_a_loop_in_forward_mode_is_recorded() -> None:
    """The derivative that is taken in each turn has no program, but the turns have one."""
    compiled = compile(lambda w: jvp(lambda w: flight(w, 100), (w,), (1.0,))[1])
    for w in (0.7, 0.8, 0.9):
        expected = jvp(lambda w: flight(w, 100), (w,), (1.0,))[1]
        np.testing.assert_allclose(compiled(w), expected, rtol=1e-12)
    assert compiled.variants == 1


@pytest.mark.parametrize("backend", ["auto", "python"])
def test_second_derivatives_of_long_loops(backend: str) -> None:
    v = np.cos(np.arange(40.0))
    compiled = compile(lambda x: hvp(lambda x: recurrence(x, 20), x, v), backend=backend)
    for scale in (1.0, 0.9, 1.1):
        expected = hvp(lambda x: recurrence(x, 20), scale * X, v)
        np.testing.assert_allclose(compiled(scale * X), expected, rtol=1e-9, atol=1e-12)
    assert compiled.eager_because is None
    assert len(compiled.source.splitlines()) < 200 or backend == "python"


@pytest.mark.parametrize("unit", [1.0, 1.0 + 0.5j])
def test_cotangents_of_numbers_have_one_class_by_source_and_by_machine_code(unit: Any) -> None:
    """A guard looks at the class: if it were another one, each call would be recorded."""
    pytest.importorskip("llvmlite")

    def euler(y: Any, rate: float) -> Any:
        for _ in range(400):
            y = y + 0.01 * (rate * y * (1.0 - y))
        return y.real

    compiled = compile(lambda y, rate: gradient(euler, y, rate))
    for y in (0.1, 0.2, 0.3, 0.4):
        expected = gradient(euler, unit * y, 1.5)
        np.testing.assert_allclose(compiled(unit * y, 1.5), expected, rtol=1e-13)
    assert compiled.report().loops[0].state == "machine code"
    assert compiled.variants == 1


def by_halves(f: Callable, a: float, b: float, eps: float) -> Any:
    m = 0.5 * (a + b)
    coarse, fine = f(m) * (b - a), 0.5 * (f(0.5 * (a + m)) + f(0.5 * (m + b))) * (b - a)
    if abs(coarse - fine) < eps:
        return fine
    return by_halves(f, a, m, 0.5 * eps) + by_halves(f, m, b, 0.5 * eps)


def area(x: Any) -> Any:
    return by_halves(lambda t: x[0] * t * t + x[1] * np.exp(-t), 0.0, 2.0, 1e-4)


@pytest.mark.skipif(not runtime.has_llvm(), reason="without llvmlite first calls are kept short")
def test_a_recursion_without_machine_code_is_recorded_with_all_its_calls() -> None:
    compiled = compile(lambda x: gradient(area, x))
    for x in (np.array([0.5, 1.0]), np.array([0.51, 1.01])):
        found = compiled(x)
        for k, step in enumerate(1e-6 * np.eye(2)):
            slope = (area(x + step) - area(x - step)) / 2e-6
            assert found[k] == pytest.approx(slope, rel=1e-6)
    assert compiled.eager_because is None
    assert len(compiled.source.splitlines()) > 500


def test_a_second_recording_draws_the_same_numbers() -> None:
    """A recording that would unroll a loop is given up after the generator has been used."""

    def decaying(x: Any, e: Any) -> Any:
        s = x[0]
        for i in range(300):
            s = 0.9 * s + np.sin(x[i % 12]) * e
        return s

    def slope(generator: np.random.Generator, x: Any) -> Any:
        e = generator.normal()
        return gradient(lambda z: decaying(z, e), x)

    compiled = compile(slope)
    drawn, expected = np.random.default_rng(1), np.random.default_rng(1)
    weights = 0.9 ** np.arange(299, -1, -1.0)
    for _ in range(4):
        by_x = np.cos(np.ones(12)) * weights.reshape(25, 12).sum(axis=0) * expected.normal()
        by_x[0] += 0.9**300
        np.testing.assert_allclose(compiled(drawn, np.ones(12)), by_x, rtol=1e-12)
    assert compiled.eager_because is None


def test_a_recording_with_strong_zeros_repeats_no_effects(capsys: Any) -> None:
    """A NaN in a tangent has the call recorded again."""

    def pushed(generator: np.random.Generator, x: Any) -> Any:
        e = generator.normal()
        print("called")
        return e, jvp(lambda z: z * e, (x,), (np.array([1.0, np.nan, 0.0]),))[1]

    compiled = compile(pushed)
    drawn, expected = np.random.default_rng(1), np.random.default_rng(1)
    for n in range(1, 4):
        e, y_dot = compiled(drawn, np.ones(3))
        assert e == expected.normal()
        np.testing.assert_array_equal(y_dot, [e, np.nan, 0.0])
        assert capsys.readouterr().out.count("called") == 1, n


def filled(x: Any) -> Any:
    out = np.zeros(50)
    previous = 0.0
    for i in range(50):
        previous = 0.5 * previous + x[i] * x[i]
        out[i] = previous
    return np.sum(out * out)


def diffused(x: Any) -> Any:
    for _ in range(50):
        x = x + 0.1 * (np.roll(x, 1) - 2.0 * x + np.roll(x, -1))
    return np.sum(x * x)


@pytest.mark.skipif(not runtime.has_llvm(), reason="without machine code, both are unrolled")
@pytest.mark.parametrize("f, is_straight", [(filled, True), (diffused, False)])
def test_loops_over_elements_are_unrolled_longer_than_those_over_arrays(
    f: Callable, is_straight: bool
) -> None:
    x = np.linspace(0.2, 1.4, 50)
    compiled = compile(lambda x: gradient(f, x))
    g = compiled(x)
    assert ("straight line" in str(compiled.report())) == is_straight
    ways = [x + 1e-6 * e for e in np.eye(50)[::7]], [x - 1e-6 * e for e in np.eye(50)[::7]]
    differences = [(f(up) - f(down)) / 2e-6 for up, down in zip(*ways, strict=True)]
    np.testing.assert_allclose(g[::7], differences, rtol=1e-5)
