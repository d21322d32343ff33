"""Calls of BLAS (matrix products) and LAPACK (linear systems) from machine code.

The addresses come from the C interfaces that SciPy exports for Cython. Matrices are passed with
their strides: the elements have to be contiguous along one axis.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from typing import Any

from llvmlite import ir

from autodiff.structured.native.llvm.function_builder import (
    I8,
    I32,
    I64,
    PTR,
    TYPES,
    FunctionBuilder,
    constant,
)
from autodiff.structured.native.llvm.modules import LLVMModule

FEWEST_ELEMENTS = 1024
"""Matrices with fewer elements are multiplied in loops, which is faster than a call."""
_FUNCTIONS = {"cython_blas": tuple(f"{x}{f}" for x in "dszc" for f in ("gemv", "gemm")),
              "cython_lapack": ("dgesv", "zgesv", "dgetrf", "zgetrf", "dgetrs", "zgetrs", "dpotrf",
                                "dtrtrs", "dsyevd")}  # fmt: skip
name_of, _pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
LONGEST_AXIS = 2**31
"""Axes must be shorter than this: the integers of BLAS have 32 bits."""


def addresses(module: LLVMModule) -> dict[str, int]:
    """Return the addresses of the BLAS and LAPACK functions that a module calls."""
    found: dict[str, Any] = {}
    for library, functions in _FUNCTIONS.items():
        called = [f for f in functions if f in module.globals]
        table = _exported(library) if called else {}
        found |= {f: table[f] for f in called}
    return addresses_of(found)


@functools.cache
def _exported(library: str) -> dict[str, Any]:
    """Return the functions that an extension module of `scipy.linalg` exports for Cython.

    The module is loaded alone: to import the package takes a third of a second.
    """
    name = f"scipy.linalg.{library}"
    if "scipy.linalg" in sys.modules:
        return importlib.import_module(name).__pyx_capi__
    folder = os.path.join(importlib.import_module("scipy").__path__[0], "linalg")
    spec = PathFinder.find_spec(name, [folder])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop(name, None)  # the package sets its attribute when it imports the module itself
    return module.__pyx_capi__


def addresses_of(capsules: dict[str, Any]) -> dict[str, int]:
    """Return the addresses in the capsules in which SciPy exports functions."""
    return {f: _pointer_of(capsule, name_of(capsule)) for f, capsule in capsules.items()}


def has_contiguous_rows(code: FunctionBuilder, n: Any, step: Any, stride: Any, size: int) -> Any:
    """Whether rows of `n` elements are contiguous, and do not overlap.

    `step` is the stride of an element, `stride` that of a row, `size` the bytes of an element.
    """
    b = code.b
    return b.and_(
        code.equal(step, code.whole(size)), b.not_(code.less(stride, b.mul(n, code.whole(size))))
    )


def is_blas_readable(code: FunctionBuilder, shape: list, strides: list, size: int) -> Any:
    """Whether BLAS can read a vector or matrix with these strides."""
    if len(shape) == 1:
        return code.less(code.whole(0), strides[0])
    rows = has_contiguous_rows(code, shape[1], strides[1], strides[0], size)
    return code.b.or_(rows, has_contiguous_rows(code, shape[0], strides[0], strides[1], size))


def multiply(code: FunctionBuilder, letter: str, x: Any, y: Any, made: Any) -> None:
    """Emit ``made = x @ y`` for a matrix `x`, and a matrix or vector `y`.

    BLAS has to be able to read both (`is_blas_readable`). The result is contiguous.
    """
    columns = y if len(y.shape) == 2 else None
    zero = code.whole(0)
    args = [x.shape[0], x.shape[1], code.whole(1) if columns is None else y.shape[1],
            x.address, *x.strides, y.address, y.strides[0],
            zero if columns is None else y.strides[1], made.address]  # fmt: skip
    for n in args[:3]:
        code.exit_if(code.less(code.whole(LONGEST_AXIS - 1), n))
    code.b.call(_multiply(code.module, letter, columns is None), args)


def solve(code: FunctionBuilder, letter: str, a: Any, x: Any, n: Any, m: Any, pivots: Any) -> None:
    """Solve a system with m right-hand sides in place; exit if the matrix is singular.

    `a` and `x` are contiguous, in column-major order. Both are overwritten.
    """
    _by_lapack(code, "gesv", n, lambda c, size: [
        size, c.whole(m), a, size, pivots, x, size], letter)  # fmt: skip


def factor(code: FunctionBuilder, letter: str, a: Any, n: Any, pivots: Any) -> None:
    """Replace a matrix by its LU factors; exit if it is singular."""
    _by_lapack(code, "getrf", n, lambda c, size: [size, size, a, size, pivots], letter)


def solve_factored(
    code: FunctionBuilder, letter: str, a: Any, x: Any, n: Any, m: Any, pivots: Any,
    is_adjoint: bool,
) -> None:  # fmt: skip
    """Solve a system with m right-hand sides in place, given the LU factors of its matrix.

    With `is_adjoint`, the matrix of the system is the conjugate transpose.
    """
    _by_lapack(code, "getrs", n, lambda c, size: [
        c.letter(char("C" if is_adjoint else "N")), size, c.whole(m), a, size, pivots, x,
        size], letter)  # fmt: skip


def factor_positive(code: FunctionBuilder, a: Any, n: Any) -> None:
    """Replace a lower triangle by its Cholesky factor; exit if it is not positive definite.

    The matrix is contiguous, in row-major order: LAPACK sees an upper triangle.
    """
    _by_lapack(code, "potrf", n, lambda c, size: [c.letter(char("U")), size, a, size])


def solve_triangle(
    code: FunctionBuilder, a: Any, x: Any, n: Any, m: Any, is_lower: bool, is_transposed: bool
) -> None:
    """Replace the m right-hand sides `x` by the solution of a triangular system.

    The triangle is in row-major order, so LAPACK sees its transpose. `x` is in column-major order.
    """
    letters = ("U" if is_lower else "L") + ("N" if is_transposed else "T") + "N"
    _by_lapack(code, "trtrs", n, lambda c, size: [
        *map(c.letter, map(char, letters)), size, c.whole(m), a, size, x, size])  # fmt: skip


def spectrum(code: FunctionBuilder, a: Any, w: Any, n: Any, work: Callable[[Any], Any]) -> None:
    """Replace a symmetric matrix by its eigenvectors, and store its eigenvalues in `w`.

    The lower triangle is read; the eigenvectors are in column-major order. `work` allocates a
    number of words and returns their address.
    """
    b = code.b
    words = b.add(b.mul(n, b.add(b.mul(n, code.whole(2)), code.whole(6))), code.whole(1))
    integers = b.add(b.mul(n, code.whole(5)), code.whole(3))
    places = [work(words), work(integers)]
    _by_lapack(code, "syevd", n, lambda c, size: [
        *map(c.letter, map(char, "VL")), size, a, size, w,
        places[0], c.whole(words), places[1], c.whole(integers)])  # fmt: skip


def _by_lapack(code: FunctionBuilder, name: str, n: Any, args: Callable, letter: str = "d") -> None:
    caller, info = BlasCaller(code, letter), code.variable(I32)
    fits = code.b.and_(code.less(code.whole(0), n), code.less(n, code.whole(LONGEST_AXIS)))
    code.exit_if(code.b.not_(fits))
    caller.call(name, [*args(caller, caller.whole(n)), info])
    done = code.b.icmp_signed("==", code.b.load(info, typ=I32), ir.Constant(I32, 0))
    code.exit_if(code.b.not_(done))


def _multiply(module: LLVMModule, letter: str, by_vector: bool) -> Any:
    """Return the function that multiplies an (m, k) matrix by a (k, n) matrix or a vector."""
    name = f"structured_{letter}{'gemv' if by_vector else 'gemm'}"
    if name in module.globals:
        return module.globals[name]
    code = FunctionBuilder(module, name, [I64, I64, I64, PTR, I64, I64, PTR, I64, I64, PTR])
    b = code.b
    m, k, n, x, x0, x1, y, y0, y1, made = code.function.args
    caller = BlasCaller(code, letter)
    size = code.whole({"d": 8, "s": 4, "z": 16, "c": 8}[letter])

    def vector(a: Any, rows: Any, length: Any, a0: Any, a1: Any, v: Any, step: Any) -> None:
        """Emit `made = a @ v`."""
        # BLAS is column-major: it sees a row-major matrix transposed.
        is_row = has_contiguous_rows(code, length, a1, a0, size.constant)
        caller.call("gemv", [
            caller.letter(b.select(is_row, char("T"), char("N"))),
            caller.whole(b.select(is_row, length, rows)),
            caller.whole(b.select(is_row, rows, length)),
            caller.number(1.0), a, caller.whole(b.sdiv(b.select(is_row, a0, a1), size)),
            v, caller.whole(b.sdiv(step, size)), caller.number(0.0), made,
            caller.whole(code.whole(1)),
        ])  # fmt: skip

    if by_vector:
        vector(x, m, k, x0, x1, y, y0)
        code.finish()
        return code.function
    with code.branch(code.equal(n, code.whole(1))):
        vector(x, m, k, x0, x1, y, y0)
        b.ret(ir.Constant(I32, 0))
    with code.branch(code.equal(m, code.whole(1))):
        vector(y, n, k, y1, y0, x, x1)
        b.ret(ir.Constant(I32, 0))
    transposed = [b.not_(has_contiguous_rows(code, width, step, stride, size.constant))
                  for width, step, stride in ((n, y1, y0), (k, x1, x0))]  # fmt: skip
    steps = [b.sdiv(b.select(t, *pair), size)
             for t, pair in zip(transposed, ((y1, y0), (x1, x0)), strict=True)]  # fmt: skip
    letters = [caller.letter(b.select(t, char("T"), char("N"))) for t in transposed]
    caller.call("gemm", [
        *letters, caller.whole(n), caller.whole(m), caller.whole(k), caller.number(1.0),
        y, caller.whole(steps[0]), x, caller.whole(steps[1]), caller.number(0.0), made,
        caller.whole(n),
    ])  # fmt: skip
    code.finish()
    return code.function


def char(letter: str) -> ir.Constant:
    """Return an option of a BLAS function, such as "T" for transposed."""
    return ir.Constant(I8, ord(letter))


class BlasCaller:
    """Emitter of BLAS calls, whose arguments are passed by reference.

    Parameters
    ----------
    code : FunctionBuilder
        The function that calls.
    letter : str
        The dtype: see `function_builder.TYPES`.
    """

    def __init__(self, code: FunctionBuilder, letter: str) -> None:
        self.code = code
        self.prefix = letter
        self.type = TYPES[letter]

    def letter(self, value: Any) -> Any:
        """Return the address of a letter."""
        return self.code.stored(value)

    def whole(self, value: Any) -> Any:
        """Return the address of an integer."""
        return self.code.stored(self.code.b.trunc(value, I32))

    def number(self, x: float) -> Any:
        """Return the address of a number."""
        return self.code.stored(constant(self.type, x))

    def call(self, name: str, args: list) -> None:
        """Emit a call of the function for this dtype."""
        self.code.call(self.prefix + name, ir.VoidType(), args)
