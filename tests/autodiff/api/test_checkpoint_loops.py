"""checkpoint_loops: loops that keep few of their states, against traces and differences."""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import DifferentiationError, checkpoint_loops, gradient
from autodiff.structured import calls
from tests.helpers import one_in
from tools.fuzz import generators, judge

U = np.linspace(0.1, 1.0, 9)


def bound_anew(u: Any, k: Any, n: int) -> Any:
    for _ in range(n):
        u = u + 0.1 * k * np.sin(u)
    return u * 1.0


def swapped(u: Any, k: Any, n: int) -> Any:
    u = u * 1.0
    v = u * 0.5
    for _ in range(n):
        v[1:-1] = u[1:-1] + k * (u[2:] - 2 * u[1:-1] + u[:-2])
        u, v = v, u
    return u * v[2]


def written_into(u: Any, k: Any, n: int) -> Any:
    w = u * k
    s = np.sum(w * w)
    for t in range(n):
        for i in range(1, len(w)):
            w[i] = w[i] * 0.9 + 0.1 * np.sin(w[i - 1]) * k
        if t % 3 == 0:
            s = s * 0.9 + w[1]
    return s * w


def ended_early(u: Any, k: Any, n: int) -> Any:
    x = u[0]
    count = 0
    while count < n and x < 50.0:
        x = x + 0.05 * k * np.cos(x) * u[count % 3]
        count += 1
        if x > 1.4:
            break
    return x + u * 0.0


def argument_written(u: Any, k: Any, n: int) -> Any:
    for _ in range(n):
        u[1:] *= 0.99
        u[0] += 0.01 * np.sum(u) * k
        u[-1] -= u[0] * 0.001
    return u


def two_loops_and_a_write_between(u: Any, k: Any, n: int) -> Any:
    w = u * 1.0
    s = 0.0
    for i in range(n):
        s = s + 0.001 * np.sum(np.sin(w) * k * i)
    w *= 0.5
    for _ in range(n):
        w = np.tanh(w * s)
    return w + s


def changes_the_variable_of_the_loop(u: Any, k: Any, n: int) -> Any:
    x = u
    for i in range(n):
        i = i * 0.1
        x = x + 0.01 * np.sin(x * i * k)
    return x * 1.0


def beside_comprehensions(u: Any, k: Any, n: int) -> Any:
    weights = [k * i for i in range(3)]
    rows = [np.sin(u * i) for i in range(3)]
    for i in range(n):
        u = u + 0.01 * rows[i % 3] * weights[i % 2] * u
    return u + sum(rows) * np.sum(weights)


def sometimes_bound_anew(u: Any, k: Any, n: int) -> Any:
    w = u * k
    kept = w
    for i in range(n):
        w[i % 3] = w[i % 3] * 0.7 + kept[4] * 0.0
        if i % 5 == 4:
            w = np.sin(w[::-1]) + u
            kept = w * 2.0
    return w * kept


FUNCTIONS = (
    bound_anew, swapped, written_into, ended_early, argument_written,
    two_loops_and_a_write_between, changes_the_variable_of_the_loop, beside_comprehensions,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _as_written() -> Iterator[None]:
    was_on = autodiff.automatic_compile(False)
    yield
    autodiff.automatic_compile(was_on)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was swept by programs, and what was traced again."""
    made: list[str] = []
    swept, traced = calls.ProgramRun.swept, calls.ProgramRun.traced

    def noted(self: calls.ProgramRun, bars: list) -> tuple:
        made.append("swept" if self.program.has_checkpoints else "without")
        return swept(self, bars)

    def noted_trace(self: calls.ProgramRun, bars: list) -> tuple:
        made.append("traced")
        return traced(self, bars)

    monkeypatch.setattr(calls.ProgramRun, "swept", noted)
    monkeypatch.setattr(calls.ProgramRun, "traced", noted_trace)
    return made


def _loss(f: Callable, n: int) -> Callable:
    return lambda u, k: np.sum(np.sin(f(u * 1.0, k, n)) * np.arange(1.0, len(u) + 1))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 50, 200])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_each(f: Callable, n: int, runs: list[str]) -> None:
    value, found = autodiff.value_and_gradient(_loss(checkpoint_loops(f), n), U, 0.2)
    assert value == _loss(f, n)(U, 0.2)
    h = 1e-6
    loss = _loss(f, n)
    differences = [(loss(U + h * e, 0.2) - loss(U - h * e, 0.2)) / (2 * h) for e in np.eye(len(U))]
    np.testing.assert_allclose(found[0], differences, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        found[1], (loss(U, 0.2 + h) - loss(U, 0.2 - h)) / (2 * h), rtol=1e-5, atol=1e-6
    )
    assert runs == ["swept"]


def test_two_names_for_what_is_written_are_traced(runs: list[str]) -> None:
    expected = gradient(_loss(sometimes_bound_anew, 12), U, 0.2)
    found = gradient(_loss(checkpoint_loops(sometimes_bound_anew), 12), U, 0.2)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    assert "swept" not in runs


def _peak(f: Callable, n: int) -> int:
    u = np.linspace(0.1, 1.0, 2000)
    loss = lambda k: np.sum(f(u * 1.0, k, n))  # noqa: E731 - a name for what is differentiated
    gradient(loss, 0.2)
    tracemalloc.start()
    try:
        gradient(loss, 0.2)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("f", [bound_anew, swapped], ids=lambda f: f.__name__)
def test_memory_grows_with_the_root(f: Callable) -> None:
    small, large = (_peak(checkpoint_loops(f), n) for n in (100, 1600))
    assert large < 6 * small
    assert 8 * large < _peak(f, 1600)


def test_refused() -> None:
    def fills(u: Any, k: Any, n: int) -> Any:
        out = []
        for i in range(n):
            u = u * k
            out.append(u * i)
        return np.sum(np.array(out))

    def writes_into_items(u: Any, k: Any, n: int) -> Any:
        rows = [u * i for i in range(n)]
        for i in range(n):
            rows[i][0] = k * i
        return np.sum(np.array(rows))

    def matches(u: Any, k: Any, n: int) -> Any:
        for _ in range(n):
            match {"n": n}:
                case {"n": _, **rest}:
                    u = u * k + len(rest)
        return u

    for f, why in ((fills, "a list that"), (writes_into_items, "in a list"), (matches, "pattern")):
        with pytest.raises(DifferentiationError, match=why):
            gradient(lambda k: np.sum(checkpoint_loops(f)(U, k, 4)), 0.5)  # noqa: B023
    with pytest.raises(autodiff.ArgumentError, match="Python function"):
        checkpoint_loops(np.sin)


def test_a_call_that_is_refused_does_not_end_others() -> None:
    @checkpoint_loops
    def f(u: Any, k: Any, items: Any = None) -> Any:
        for _ in range(3):
            u = u * k
        return u * 1.0 if items is None else items

    with pytest.raises(DifferentiationError, match="not read"):
        gradient(lambda k: np.sum(f(U, k, "text")), 0.5)
    assert gradient(lambda k: np.sum(f(U, k)), 0.5) == pytest.approx(0.75 * np.sum(U))


def test_in_other_modes() -> None:
    f = checkpoint_loops(bound_anew)
    assert np.array_equal(f(U, 0.2, 5), bound_anew(U, 0.2, 5))
    for derivative in (autodiff.derivative, autodiff.hessian):
        found = derivative(lambda k: np.sum(f(U, k, 5)), 0.2)
        np.testing.assert_allclose(found, derivative(lambda k: np.sum(bound_anew(U, k, 5)), 0.2))
    compiled = autodiff.compile(lambda k: gradient(lambda z: np.sum(f(U, z, 5)), k))
    expected = gradient(lambda z: np.sum(bound_anew(U, z, 5)), 0.3)
    for _ in range(2):
        np.testing.assert_allclose(compiled(0.3), expected, rtol=1e-13)


@pytest.mark.parametrize("start", range(0, 120, 40))
def test_generated(start: int, runs: list[str], monkeypatch: Any) -> None:
    monkeypatch.setattr(calls.Settings, "worth", 1e9)
    for seed in range(start, start + 40, one_in(4)):
        f, arguments = judge.load(generators.write("loops", seed))
        expected = _outcome(f, arguments, False, monkeypatch)
        f.__globals__["kernel"] = checkpoint_loops(f.__globals__["kernel"])
        found = _outcome(f, arguments, True, monkeypatch)
        if found is DifferentiationError:
            continue
        if isinstance(expected, type):
            assert found is expected, seed
            continue
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11, err_msg=f"seed {seed}")
    assert "swept" in runs


def _outcome(f: Callable, arguments: tuple, by_programs: bool, monkeypatch: Any) -> Any:
    monkeypatch.setattr(calls.Settings, "enabled", by_programs)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", autodiff.NoPathWarning)
            calls.Settings.worth = 1e9
            return gradient(f, *judge.fresh(arguments))
    except Exception as error:
        return type(error)
