"""compiled.report(): what became of each loop, and why."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff.compiler.kernels import array_kernels
from autodiff.structured import loop_report
from autodiff.structured.calls import Settings
from autodiff.structured.runtime import Structured


def recursion(a: Any, n: int) -> Any:
    for _ in range(n):
        for i in range(1, len(a)):
            a[i] = a[i] * a[i - 1] + 0.1
    return np.sum(a)


def filled(a: Any, n: int) -> Any:
    xs = []
    for t in range(n):
        xs.append(np.sum(np.sin(a)) * t.bit_length())
    s = 0.0
    for i in range(len(a)):
        for j in range(len(a)):
            s += a[i] * a[j]
    return np.sum(np.array(xs)) + s


def matches(a: Any, n: int) -> Any:
    for _ in range(n):
        match {"n": n}:
            case {"n": _}:
                a = a * 1.01
    return np.sum(a)


def searched(a: Any, n: int) -> Any:
    t = 0
    while (
        sum([x * t for x in a])
        < n
    ):  # fmt: skip
        t += 1
    return np.sum(a) * t


def _compiled(f: Any, n: int) -> Any:
    # A function of its own: nothing of it is known from other tests.
    f = types.FunctionType(f.__code__.replace(), f.__globals__, f.__name__)
    compiled = autodiff.compile(lambda x: autodiff.gradient(lambda z: f(z * 1.0, n), x))
    for _ in range(3):
        compiled(np.linspace(0.1, 0.9, 12))
    return compiled


def _states(f: Callable, found: Any) -> list[tuple[int, str]]:
    """Return the lines of the loops, counted from the function's, with their states."""
    _, first = inspect.getsourcelines(f)
    assert all(loop.function == f.__qualname__ for loop in found.loops)
    assert all(loop.where.startswith(__file__) for loop in found.loops)
    return [(int(loop.where.rpartition(":")[2]) - first, loop.state) for loop in found.loops]


@pytest.mark.skipif(not loop_report.has_llvm(), reason="there is no llvmlite")
def test_machine_code() -> None:
    found = _compiled(recursion, 40).report()
    assert _states(recursion, found) == [
        (1, loop_report.MACHINE_CODE),
        (2, loop_report.MACHINE_CODE),
    ]
    assert found.programs == 1
    assert found.eager_because is None


@pytest.mark.skipif(not loop_report.has_llvm(), reason="there is no llvmlite")
def test_a_part_that_has_no_form_in_machine_code(monkeypatch: Any) -> None:
    monkeypatch.setattr(Settings, "native", 0.0)
    found = _compiled(filled, 3000).report()
    assert _states(filled, found) == [
        (2, loop_report.SOURCE),
        (5, loop_report.MACHINE_CODE),
        (6, loop_report.MACHINE_CODE),
    ]
    assert "machine code has no form of this: <method 'bit_length'" in found.loops[0].why
    assert str(found).startswith("<lambda> runs as it is written; ")


def test_without_llvmlite(monkeypatch: Any) -> None:
    monkeypatch.setattr("autodiff.structured.runtime.has_llvm", lambda: False)
    monkeypatch.setattr(loop_report, "has_llvm", lambda: False)
    found = _compiled(filled, 3000).report()
    assert {state for _, state in _states(filled, found)} == {loop_report.SOURCE}
    assert all('pip install "chainrules-autodiff[native]"' in loop.why for loop in found.loops)


def test_a_loop_in_the_test_of_another() -> None:
    found = _compiled(searched, 2000).report()
    assert [line for line, _ in _states(searched, found)] == [2, 3]


@pytest.mark.parametrize("method", ["run", "sweep"])
def test_a_program_that_fails(method: str, monkeypatch: Any) -> None:
    """Its calls are traced, which nobody would notice but for the time."""
    f = types.FunctionType(filled.__code__.replace(), globals(), "filled")
    x = np.linspace(0.1, 0.9, 12)
    compiled = autodiff.compile(lambda x: autodiff.gradient(lambda z: f(z * 1.0, 3000), x))
    expected = compiled(x)
    assert loop_report.TRACED not in {state for _, state in _states(filled, compiled.report())}

    def fails(*args: Any) -> None:
        raise RuntimeError("of the test")

    with monkeypatch.context() as m:
        m.setattr(Structured, method, fails)
        np.testing.assert_allclose(compiled(x), expected, rtol=1e-12)
    found = compiled.report()
    assert {state for _, state in _states(filled, found)} == {loop_report.TRACED}
    assert all("(RuntimeError: of the test)" in loop.why for loop in found.loops)
    compiled(x)
    assert loop_report.TRACED not in {state for _, state in _states(filled, compiled.report())}


@pytest.mark.skipif(not loop_report.has_llvm(), reason="there is no llvmlite")
@pytest.mark.parametrize("n", [10, 1000])
def test_not_read(n: int) -> None:
    found = _compiled(matches, n).report()
    state = loop_report.MACHINE_CODE if n == 1000 else loop_report.STEPS  # of the loop alone
    assert _states(matches, found) == [(1, state)]


def test_short_loops_are_recorded() -> None:
    found = _compiled(recursion, 2).report()
    assert {state for _, state in _states(recursion, found)} == {loop_report.STEPS}
    assert "line" not in str(found).splitlines()[0]


def test_before_the_first_call_and_where_nothing_is_recorded() -> None:
    compiled = autodiff.compile(lambda x: x * 1.0)
    assert str(compiled.report()) == "<lambda>: not called yet"
    compiled(2.0)
    assert str(compiled.report()) == "<lambda>: 1 program"

    def printing(x: Any) -> Any:
        return float(str(x))

    eager = autodiff.compile(printing)
    eager(2.0)
    assert "runs as it is written; " in str(eager.report())


def test_repr_says_what_machine_code_would_add(monkeypatch: Any) -> None:
    monkeypatch.setattr(array_kernels, "is_installed", lambda: False)
    assert 'machine code needs llvmlite: pip install "chainrules' in repr(autodiff.compile(np.sin))
    monkeypatch.setattr(array_kernels, "is_installed", lambda: True)
    assert "llvmlite" not in repr(autodiff.compile(np.sin))
