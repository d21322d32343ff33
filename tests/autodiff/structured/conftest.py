"""Source is read at the first call here, and no program is made by itself of the calls around."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff.structured import calls
from autodiff.structured.runtime import Structured
from autodiff.structured.separate_loops import SeparateLoop
from tests.helpers import check_gradient


@pytest.fixture(autouse=True)
def _at_once() -> Iterator[None]:
    s = calls.Settings
    before = s.worth, s.least, s.inlined
    s.worth = s.least = -1.0
    was_on = autodiff.automatic_compile(False)
    yield
    autodiff.automatic_compile(was_on)
    s.worth, s.least, s.inlined = before


@pytest.fixture(autouse=True)
def _no_names_are_missing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail if the code of a program reads a name that is not bound: the call would be traced."""
    missing: list[NameError] = []

    def noted(f: Callable) -> Callable:
        def called(*args: Any, **kwargs: Any) -> Any:
            try:
                return f(*args, **kwargs)
            except NameError as error:
                missing.append(error)
                raise

        return called

    monkeypatch.setattr(Structured, "run", noted(Structured.run))
    monkeypatch.setattr(Structured, "sweep", noted(Structured.sweep))
    yield
    assert not missing


@pytest.fixture
def separate_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of functions, for each run of one of their loops by a program of its own."""
    made: list[str] = []
    call = SeparateLoop.__call__

    def noted(self: SeparateLoop, *args: Any) -> Any:
        values = call(self, *args)
        made.extend([] if values is None else [self.function.__name__])
        return values

    monkeypatch.setattr(SeparateLoop, "__call__", noted)
    return made


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of functions whose calls, as a whole, were made by programs."""
    made: list[str] = []
    loops: list[SeparateLoop] = []
    begin, call = calls.ProgramRun.__init__, SeparateLoop.__call__

    def noted(self: calls.ProgramRun, program: Structured, *args: Any) -> None:
        begin(self, program, *args)
        if not loops:
            made.append(program.name.rpartition(".")[2])

    def noted_loop(self: SeparateLoop, *args: Any) -> Any:
        loops.append(self)
        try:
            return call(self, *args)
        finally:
            loops.pop()

    monkeypatch.setattr(calls.ProgramRun, "__init__", noted)
    monkeypatch.setattr(SeparateLoop, "__call__", noted_loop)
    return made


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Structured]:
    """The programs whose loops became machine code, as far as they could."""
    found: list[Structured] = []
    make = Structured._make_native

    def noted(self: Structured) -> None:
        make(self)
        found.append(self)

    monkeypatch.setattr(Structured, "_make_native", noted)
    return found


@pytest.fixture
def check_sweep(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> Callable:
    """Compare the gradient by the sweep of a program with differences; it may not be traced."""

    def check(f: Callable, x: np.ndarray) -> None:
        with monkeypatch.context() as m:
            m.delattr(calls.ProgramRun, "traced")
            check_gradient(f, x)
        assert f.__name__ in runs

    return check


@pytest.fixture
def check_program(runs: list[str], traced: Callable) -> Callable:
    """Compare gradients by a program with those of tracing."""

    def check(f: Callable, *args: Any, rtol: float, atol: float) -> None:
        found = autodiff.gradient(f, *args)
        assert f.__name__ in runs
        for x, y in zip(found, traced(f, *args), strict=True):
            np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)

    return check


@pytest.fixture
def check_two_calls(runs: list[str], traced: Callable, monkeypatch: pytest.MonkeyPatch) -> Callable:
    """Compare two calls of a program with tracing; the value has the bits of the function's."""

    def check(f: Callable, *args: Any) -> None:
        monkeypatch.setattr(calls.Settings, "native", math.inf)  # machine code may differ in bits

        def loss(*args: Any) -> Any:
            return f(*args) * 1.0

        expected = traced(loss, *args)
        for _ in range(2):
            value, found = autodiff.value_and_gradient(loss, *args)
            assert value == loss(*args)
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-11 * np.abs(y).max())
        assert runs.count(f.__name__) == 2

    return check


@pytest.fixture
def check_arrays(traced: Callable) -> Callable:
    """Compare with tracing: an array, the same in float32, and one with other values."""

    def check(f: Callable, x: np.ndarray) -> None:
        for given in (x, x.astype(np.float32), -2.0 * x[::-1]):
            rtol = 1e-11 if given.dtype == np.float64 else 1e-4
            np.testing.assert_allclose(
                autodiff.gradient(f, given), traced(f, given), rtol=rtol, atol=rtol
            )

    return check


@pytest.fixture
def check_with_machine_code(traced: Callable, monkeypatch: pytest.MonkeyPatch) -> Callable:
    """Compare three calls with tracing, in which loops become machine code at once."""

    def check(f: Callable, x: np.ndarray, atol: float = 0.0) -> None:
        with monkeypatch.context() as m:
            m.setattr(calls.Settings, "native", -1.0)
            for _ in range(3):
                np.testing.assert_allclose(
                    autodiff.gradient(f, x), traced(f, x), rtol=1e-11, atol=atol
                )

    return check


@pytest.fixture
def check_few_states(traced: Callable) -> Callable:
    """Compare with tracing where loops keep few states, unless they refuse that."""

    def check(f: Callable, x: np.ndarray) -> None:
        try:
            found = autodiff.gradient(lambda x: autodiff.checkpoint_loops(f)(x), x)
        except autodiff.DifferentiationError:
            return
        np.testing.assert_allclose(found, traced(f, x), rtol=1e-11, atol=1e-13)

    return check


@pytest.fixture
def traced() -> Callable:
    """Take a gradient without programs."""

    def gradient(f: Callable, *args: object) -> object:
        calls.Settings.enabled = False
        try:
            return autodiff.gradient(f, *args)
        finally:
            calls.Settings.enabled = True

    return gradient
