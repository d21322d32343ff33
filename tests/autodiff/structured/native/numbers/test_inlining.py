"""Functions that machine code inlines return what Python returns, whatever their branches bind."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from autodiff.structured.form.kinds import kind_of
from autodiff.structured.native.llvm.function_builder import F64, PTR, FunctionBuilder
from autodiff.structured.native.llvm.jit import CompiledModule
from autodiff.structured.native.llvm.modules import LLVMModule
from autodiff.structured.native.lowered_values import Number, StaticValue
from autodiff.structured.native.numbers.scalars import Scalars


def binds(x: Any, flag: Any) -> Any:
    y = x
    if flag:
        y = 3.0 * x * x
    return y


def binds_in_both(x: Any, flag: Any) -> Any:
    if flag:
        y, z = x, 2.0
    else:
        y, z = 2.0 * x, 3.0
    y *= z
    return y + z


def returns_in_one(x: Any, flag: Any) -> Any:
    y = x
    if flag:
        y = y + 1.0
    elif x > 0.5:
        return -x
    else:
        y = y - 1.0
    return 2.0 * y


def nested(x: Any, flag: Any) -> Any:
    y = x
    if x > 0.5:
        y = y * 2.0
        if flag:
            y = y + 7.0
    if not flag:
        y = y - 5.0
    for k in range(3):
        y = y * x + k
    return y


@pytest.mark.parametrize("f", [binds, binds_in_both, returns_in_one, nested])
@pytest.mark.parametrize("flag", [True, False])
def test_branches(f, flag):
    module = LLVMModule("test")
    code = FunctionBuilder(module, "f", [PTR])
    (memory,) = code.function.args
    x = Number(kind_of(1.0), "d", code.b.load(memory, typ=F64))
    scalars = Scalars(code, True)
    found = scalars.number(scalars.expanded(f, [x, StaticValue(flag)], {}, "d", 0))
    code.b.store(scalars.converted(found, "d"), memory)
    code.finish()
    compiled = CompiledModule(module)
    for value in (0.25, 0.75, -2.0):
        y = np.array([value])
        assert compiled.function("f", [ctypes.c_void_p])(y.ctypes.data) == 0
        assert y[0] == f(value, flag)
