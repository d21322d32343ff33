"""Functions of complex numbers in machine code, at zeros, infinities, NaN and branch cuts.

Machine code either gives what NumPy gives, or steps aside. So do Python's complex numbers; where
they raise, it steps aside.
"""

from __future__ import annotations

import cmath
import ctypes
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from llvmlite import ir

from autodiff.structured.form.kinds import Kind, kind_of, kind_of_result
from autodiff.structured.native.arrays.array_loops import ArrayLoops
from autodiff.structured.native.llvm.function_builder import (
    I32,
    PTR,
    TYPES,
    FunctionBuilder,
    exceptions,
)
from autodiff.structured.native.llvm.jit import CompiledModule
from autodiff.structured.native.llvm.memory import define_functions
from autodiff.structured.native.llvm.modules import LLVMModule
from autodiff.structured.native.lowered_values import Array, Number, letter_of
from autodiff.structured.native.numbers.scalars import Scalars

INF, NAN = float("inf"), float("nan")
PARTS = (0.0, -0.0, 1.0, -2.5, INF, -INF, NAN, 1e-200, -1e200, 1e-300, 1.7e308)
NUMBERS = [complex(x, y) for x, y in itertools.product(PARTS, PARTS)]
ORDINARY = {1.0, -2.5, *[complex(x, y) for x in (1.0, -2.5) for y in (1.0, -2.5)]}
COMPLEX = (complex, np.complex128)

UNARY: tuple[Callable, ...] = (
    operator.neg, np.abs, np.sqrt, np.exp, np.log, np.sin, np.cos, np.sinh, np.cosh, np.tan,
    np.tanh, np.conjugate, np.real, np.imag, np.isfinite, np.angle,
)  # fmt: skip
OF_PYTHON: tuple[Callable, ...] = (
    abs, cmath.phase, cmath.exp, cmath.sqrt, cmath.sin, cmath.cos, cmath.log, cmath.sinh,
    cmath.tanh,
)  # fmt: skip
BINARY: tuple[Callable, ...] = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.eq, operator.ne,
)  # fmt: skip


N = 21  # elements, of which LLVM takes several at once, and a rest


class Machine:
    """A function of numbers, or of arrays that are filled with them, as machine code."""

    def __init__(
        self, f: Callable, given: list[Any], is_vector: bool = False, literals: tuple = ()
    ) -> None:
        self.literals = literals  # the last arguments
        module = LLVMModule("test")
        define_functions(module)
        self.code = FunctionBuilder(module, "f", [PTR, PTR])
        flags = [ir.Constant(I32, exceptions())]
        self.code.call("feclearexcept", I32, flags)
        (self._arrays if is_vector else self._numbers)(f, list(map(kind_of, given)))
        found = self.code.call("fetestexcept", I32, flags)
        self.code.exit_if(self.code.b.icmp_signed("!=", found, ir.Constant(I32, 0)))
        self.code.finish()
        self.compiled = CompiledModule(module)  # it is there as long as this object
        self.call = self.compiled.function("f", [ctypes.c_void_p] * 2)

    def _numbers(self, f: Callable, kinds: list[Kind]) -> None:
        code, (given, made) = self.code, self.code.function.args
        args = []
        for i, k in enumerate(kinds):
            x = code.b.load(code.at(given, code.whole(16 * N * i)), typ=TYPES[letter_of(k)])
            args.append(Number(k, letter_of(k), x))
        scalars = Scalars(code, True)
        args += map(scalars.known, self.literals)
        kind = kind_of_result(f, [*kinds, *map(kind_of, self.literals)])
        letter = letter_of(kind)
        self.dtype = np.dtype({"z": complex, "d": float, "b": np.int64}[letter])
        found = scalars.converted(scalars.function(f, args, kind), letter)
        for k, word in enumerate(code.to_words(found)):
            code.set_word(made, k, word)

    def _arrays(self, f: Callable, kinds: list[Kind]) -> None:
        code, (given, made) = self.code, self.code.function.args

        def array(dtype: np.dtype, address: Any) -> Array:
            return Array(dtype, address, [code.whole(N)], [code.whole(dtype.itemsize)], address)

        dtypes = [np.dtype(next(iter(k.classes))) for k in kinds]
        arrays = [array(dtype, code.at(given, code.whole(16 * N * i)))
                  for i, dtype in enumerate(dtypes)]  # fmt: skip
        kind = kind_of_result(f, [a.kind for a in arrays])
        assert kind.dtype is not None
        self.dtype = kind.dtype
        e = ArrayLoops(code, Scalars(code, True), given)
        e.write(array(kind.dtype, made), e.tree(f, kind, arrays))

    def __call__(self, *args: Any) -> Any:
        """Return what is made of numbers; None if machine code steps aside."""
        rows, made = np.zeros((2, N), complex), np.zeros(2 * N)
        for row, x in zip(rows, args, strict=False):
            row.view(np.asarray(x).dtype)[:N] = x
        status = self.call(rows.ctypes.data, made.ctypes.data)
        return made.view(self.dtype)[0] if status == 0 else None


def alike(x: Any, y: Any, ulps: float) -> bool:
    """Whether numbers are close, and their infinities, NaNs and zeros are the same."""
    pairs = [(np.real(x), np.real(y)), (np.imag(x), np.imag(y))]
    size = np.abs(y) if np.isfinite(y) else 0.0
    return all(
        (np.isnan(p) and np.isnan(q))
        or (p == q and np.signbit(p) == np.signbit(q))
        or (p != q and abs(p - q) <= ulps * 2.3e-16 * size + 1e-322)
        for p, q in pairs
    )


def expected(f: Callable, args: tuple, is_vector: bool) -> Any:
    """Return what NumPy or Python make of numbers; None where Python raises."""
    with np.errstate(all="ignore"):
        if is_vector:
            return f(*[np.full(N, x) for x in args])[0]
        try:
            return f(*args)
        except (ZeroDivisionError, OverflowError, ValueError):
            return None


def check(f: Callable, classes: tuple[type, ...], is_vector: bool) -> None:
    machine = Machine(f, [cls(1) for cls in classes], is_vector)
    values = [NUMBERS if cls in COMPLEX else PARTS for cls in classes]
    for row in itertools.product(*values):
        args = tuple(cls(x) for cls, x in zip(classes, row, strict=True))
        found, wanted = machine(*args), expected(f, args, is_vector)
        if set(row) <= ORDINARY:
            assert found is not None, args
        if found is not None:
            assert wanted is not None, args
            assert alike(found, wanted, 8), (args, found, wanted)


@pytest.mark.parametrize("is_vector", [False, True])
@pytest.mark.parametrize("f", UNARY)
def test_functions(f: Callable, is_vector: bool) -> None:
    check(f, (np.complex128,), is_vector)


@pytest.mark.parametrize("f", OF_PYTHON)
def test_functions_of_python(f: Callable) -> None:
    check(f, (complex,), False)


@pytest.mark.parametrize("classes", [(np.complex128,) * 2, (np.complex128, np.float64),
                                     (np.float64, np.complex128)])  # fmt: skip
@pytest.mark.parametrize("is_vector", [False, True])
@pytest.mark.parametrize("f", BINARY)
def test_operators(f: Callable, is_vector: bool, classes: tuple) -> None:
    check(f, classes, is_vector)


@pytest.mark.parametrize("classes", [(complex, complex), (complex, float), (float, complex)])
@pytest.mark.parametrize("f", [*BINARY, complex])
def test_operators_of_python(f: Callable, classes: tuple) -> None:
    check(f, classes, False)


@pytest.mark.parametrize("cls", [np.complex128, complex])
@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 99, -1, -2, -5, 0.5, 2.0, -1.5, 150, 0.3 - 0.2j])
def test_powers(n: complex, is_known: bool, cls: type) -> None:
    if is_known:
        machine = Machine(operator.pow, [cls(1)], literals=(n,))
    else:
        machine = Machine(operator.pow, [cls(1), type(n)(1)])
    for z in (1.0 + 0j, -2.5 + 0j, complex(-2.5, -0.0), 0.3 - 0.4j, complex(2.0, -0.0), 1e-3j):
        args = (cls(z), n)
        found = machine(*args[: 2 - is_known])
        assert alike(found, operator.pow(*args), 2000), z
