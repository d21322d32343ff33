"""Calls of Python from machine code: what they raise."""

from __future__ import annotations

import ctypes
import signal
from typing import Any

import pytest

pytest.importorskip("llvmlite")

from llvmlite import ir

from autodiff.structured.native.llvm.calls_of_python import define_call, define_entry, entry_of
from autodiff.structured.native.llvm.function_builder import I32, PTR, FunctionBuilder
from autodiff.structured.native.llvm.jit import CompiledModule
from autodiff.structured.native.llvm.modules import LLVMModule


def caller(signal_number: int | None) -> Any:
    """Return machine code that may send a signal, and then calls an operation of Python."""
    module = LLVMModule("calls")
    define_call(module)
    code = FunctionBuilder(module, "f", [PTR, PTR, PTR])
    if signal_number is not None:
        code.call("raise", I32, [ir.Constant(I32, signal_number)])
    code.b.ret(code.call("structured_python", I32, code.function.args))
    code.begin()
    define_entry(module, "f")
    compiled = CompiledModule(module)
    f = compiled.function(entry_of("f"), [ctypes.py_object, ctypes.py_object, ctypes.c_void_p])
    return lambda *args: (f(*args), compiled)[0]


def test_results_and_exceptions() -> None:
    seen = []

    def operation(run: Any, address: int) -> None:
        seen.append((run, address))
        if address == 3:
            raise SystemExit("three")

    f = caller(None)
    assert f("run", operation, 2) == 0
    with pytest.raises(SystemExit, match="three"):
        f("run", operation, 3)
    assert seen == [("run", 2), ("run", 3)]


def test_a_signal_that_arrives_in_machine_code() -> None:
    """Its handler runs before the first line of what machine code calls."""
    called: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        caller(signal.SIGINT)(None, lambda run, address: called.append(address), 0)
    assert not called
