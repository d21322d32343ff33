"""Instructions for the bit operations of `vector_functions`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from autodiff import vector_functions
from autodiff.structured.native.llvm.function_builder import F64, I64


def _power_of_two(b: Any, x: Any) -> Any:
    bits = b.add(b.bitcast(x, I64), ir.Constant(I64, 1023))
    return b.bitcast(b.shl(bits, ir.Constant(I64, 52)), F64)


BIT_OPERATIONS: dict[Callable, Callable] = {
    vector_functions.fused: lambda b, x, y, z: b.fma(x, y, z),
    vector_functions.bits_of: lambda b, x: b.bitcast(x, I64),
    vector_functions.float_of: lambda b, bits: b.bitcast(bits, F64),
    vector_functions.power_of_two: _power_of_two,
}
"""Function → emitter, which takes a builder and the arguments."""
