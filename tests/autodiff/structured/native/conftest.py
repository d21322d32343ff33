"""Fixtures: loops become machine code at their first call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import autodiff
from autodiff.structured import calls
from autodiff.structured.runtime import Structured


@pytest.fixture(autouse=True)
def _at_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls.Settings, "native", -1.0)


@pytest.fixture(autouse=True)
def _memory_is_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill memory with NaN when it is allocated, and some behind each array."""
    from llvmlite import ir

    from autodiff.structured.native.llvm import function_builder, memory

    allocated, types = memory.allocated, [function_builder.PTR, function_builder.I32]

    def filled(code: Any, state: Any, arena: int, size: Any) -> Any:
        size = code.b.add(size, code.whole(256))
        address = allocated(code, state, arena, size)
        fill = code.external("memset", function_builder.PTR, [*types, function_builder.I64])
        with code.apart():  # loops go on waiting, as if this did not touch memory
            code.b.call(fill, [address, ir.Constant(function_builder.I32, 255), size])
        return address

    monkeypatch.setattr(memory, "allocated", filled)


@pytest.fixture
def check_machine_code(made: list[Structured], traced: Callable, by_numpy: Callable) -> Callable:
    """Compare machine code, compiled or reused, with tracing and with the NumPy source.

    `given` returns the arguments anew. All loops of the function, or of `kernel`, must be machine
    code. Without `atol`, deviations are relative to the largest element. Returns the program.
    """

    def check(
        f: Callable, given: Callable[[], tuple], rtol: float, atol: float | None = None,
        kernel: Callable | None = None,
    ) -> Structured:  # fmt: skip
        expected = traced(f, *given())
        for way in (autodiff.gradient, by_numpy, autodiff.gradient, autodiff.gradient):
            for x, y in zip(way(f, *given()), expected, strict=True):
                assert x.dtype == y.dtype
                least = rtol * np.abs(y).max() if atol is None else atol
                np.testing.assert_allclose(x, y, rtol=rtol, atol=least)
        program = next(p for p in made if p.name == (kernel or f).__name__)
        assert program.native is not None, program.why
        assert not program.native.why
        assert not program.bailouts
        return program

    return check


@pytest.fixture
def by_numpy(monkeypatch: pytest.MonkeyPatch) -> Callable:
    """Take a gradient by the NumPy source."""

    def gradient(f: Callable, *args: object) -> object:
        with monkeypatch.context() as m:
            m.setattr(calls.Settings, "native", float("inf"))
            return autodiff.gradient(f, *args)

    return gradient
