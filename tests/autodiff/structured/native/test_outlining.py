"""Outlined loops over elements in machine code."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.native import regions
from autodiff.structured.native.arrays.fused_loops import FusedLoops
from autodiff.structured.native.llvm.function_builder import I64, PTR, FunctionBuilder
from autodiff.structured.native.llvm.modules import LLVMModule
from autodiff.structured.native.lowered_values import Array
from autodiff.structured.native.numbers.scalars import Scalars
from autodiff.structured.runtime import Structured

X = np.cos(np.arange(40.0)).reshape(5, 8) * 0.7
W = np.sin(np.arange(40.0)).reshape(5, 8) + 1.5


@pytest.fixture(params=["called", "inlined"])
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 10**9 if request.param == "inlined" else 0
    monkeypatch.setattr(regions, "_SHORT", most)


def anew(f: Any) -> Callable:
    """Return a copy of a function, which has no program yet."""
    return types.FunctionType(f.__code__.replace(), f.__globals__, f.__name__)


def loops_of(program: Structured) -> list[Any]:
    assert program.native is not None, program.why
    assert not program.native.why
    return list(program.native.module.loops.values())


def equal_loops(x: Any, w: Any) -> Any:
    a, b, c = x.copy(), w.copy(), x * w
    for _ in range(3):
        a[1:-1, 1:-1] = a[1:-1, 1:-1] * 0.5 + b[1:-1, 1:-1]
        b[1:-1, 1:-1] = b[1:-1, 1:-1] * 0.5 + c[1:-1, 1:-1]
        c[1:-1, 1:-1] = c[1:-1, 1:-1] * 0.5 + a[1:-1, 1:-1]
        a[0] = b[-1] * 0.25
        b[:, 0] = c[:, 1] * w[:, 2]
    return np.sum(a * b + c)


def other_constants(x: Any, w: Any) -> Any:
    for _ in range(2):
        x = x * 2.0 + w
        x = x * 3.0 + w
        w = w * 3.0 - x
    return np.sum(x * w)


def broadcast(x: Any, w: Any) -> Any:
    s = 0.0
    for _ in range(2):
        y = x * w[0] + w[:, 1:2] * x[2, 3]
        s = s + np.sum(y * w)
        x = y * x[:, :1]
    return s


def of_one_number(x: Any, w: Any) -> Any:
    s = 0.0
    for k in range(5):
        v = np.zeros(8)
        v[:] = x[k, 0]
        v[2:] = k
        s = s + np.sum(v * w[k])
    return s


PROGRAMS = [equal_loops, other_constants, broadcast, of_one_number]


@pytest.mark.usefixtures("_both_ways")
@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients(f: Callable, made: list[Structured], traced: Callable) -> None:
    f = anew(f)
    for x, w in ((X, W), (X[::-1], 0.8 * W), (0.5 * X, W + 0.25)):
        expected = traced(f, x, w)
        for _ in range(2):
            for a, b in zip(gradient(f, x, w), expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)
    assert loops_of(made[0])
    assert not made[0].bailouts


def test_equal_loops_are_one_function(made: list[Structured]) -> None:
    """Their number does not grow with the length of the program."""

    def longer(x: Any, w: Any) -> Any:
        a, b, c = x.copy(), w.copy(), x * w
        for _ in range(3):
            a[1:-1, 1:-1] = a[1:-1, 1:-1] * 0.5 + b[1:-1, 1:-1]
            b[1:-1, 1:-1] = b[1:-1, 1:-1] * 0.5 + c[1:-1, 1:-1]
            c[1:-1, 1:-1] = c[1:-1, 1:-1] * 0.5 + a[1:-1, 1:-1]
            a[0] = b[-1] * 0.25
            b[:, 0] = c[:, 1] * w[:, 2]
            a[1:-1, 1:-1] = a[1:-1, 1:-1] * 0.5 + c[1:-1, 1:-1]
            b[1:-1, 1:-1] = b[1:-1, 1:-1] * 0.5 + a[1:-1, 1:-1]
            c[1:-1, 1:-1] = c[1:-1, 1:-1] * 0.5 + b[1:-1, 1:-1]
        return np.sum(a * b + c)

    for f in map(anew, (equal_loops, longer)):
        for _ in range(2):
            gradient(f, X, W)
    short, long = map(loops_of, made)
    assert len(long) <= len(short) + 2
    assert len(short) < 20


@pytest.mark.usefixtures("_both_ways")
@pytest.mark.parametrize("large", [800.0, 1e306])
def test_a_loop_that_cannot_go_on_leaves_the_program(
    large: float, made: list[Structured], traced: Callable
) -> None:
    """The exponential overflows: machine code bails out, and the NumPy source runs."""

    def exponentials(x: Any, w: Any) -> Any:
        s = 0.0
        for k in range(3):
            y = np.exp(x * w)
            s = s + np.sum(y[k])
        return s

    f = anew(exponentials)
    for _ in range(2):
        gradient(f, X, W)
    x = X.copy()
    x[4, 7] = large / W[4, 7]
    with np.errstate(over="ignore", invalid="ignore"):
        expected = traced(f, x, W)
        for _ in range(2):
            for a, b in zip(gradient(f, x, W), expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12)
    assert made[0].bailouts


def test_what_leaves_where_python_raises_is_another_function() -> None:
    """The forward function must not call a loop of a sweep, which does not check integers."""
    unit = LLVMModule("test")
    for raises in (False, True):
        code = FunctionBuilder(unit, f"with_{raises}", [PTR, PTR, I64])
        to, given, n = code.function.args
        target = Array(np.dtype(np.float64), to, [n], [code.whole(8)], None)
        elements = FusedLoops(code, Scalars(code, raises), None)
        elements.write(target, Array(np.dtype(np.int64), given, [n], [code.whole(8)], None))
        code.settle()
    assert [loop.may_fail for loop in unit.loops.values()] == [False, True]
