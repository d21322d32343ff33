"""Products of vectors and matrices by BLAS, and linear systems by LAPACK, called from machine code.

The functions of BLAS are those that SciPy hands to compiled code. Matrices are given by strides:
elements have to lie side by side along one of their axes.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from autodiff.structured.native import memory
from autodiff.structured.native.code import I8, I32, I64, PTR, TYPES, Code

LEAST = 1024
"""Products of fewer numbers are computed in loops: that is faster than a call."""
_FUNCTIONS = {"cython_blas": ("dgemv", "dgemm", "sgemv", "sgemm"),
              "cython_lapack": ("dgesv", "dgetrf")}  # fmt: skip
_MOST = 2**31  # elements along an axis
_MOST_TOGETHER = 32  # outer products that are added at once
_WORDS_OF_SUM = 12
(_BASE, _ROWS, _COLUMNS, _STRIDE, _COUNT, _LEFT, _RIGHT, _ROOM, _TOP, _BOTTOM, _START,
 _STOP) = range(_WORDS_OF_SUM)  # fmt: skip


def addresses(module: ir.Module) -> dict[str, int]:
    """Return where the functions of BLAS and LAPACK are that a module calls."""
    found: dict[str, Any] = {}
    for library, functions in _FUNCTIONS.items():
        wanted = [f for f in functions if f in module.globals]
        table = importlib.import_module(f"scipy.linalg.{library}").__pyx_capi__ if wanted else {}
        found |= {f: table[f] for f in wanted}
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return {f: pointer_of(capsule, name_of(capsule)) for f, capsule in found.items()}


def is_along(code: Code, n: Any, step: Any, stride: Any, size: int) -> Any:
    """Whether `n` elements lie side by side at `step`, and rows of them do not overlap."""
    b = code.b
    return b.and_(
        code.equal(step, code.whole(size)), b.not_(code.less(stride, b.mul(n, code.whole(size))))
    )


def is_fit(code: Code, shape: list, strides: list, size: int) -> Any:
    """Whether BLAS can read a vector or matrix."""
    if len(shape) == 1:
        return code.less(code.whole(0), strides[0])
    rows = is_along(code, shape[1], strides[1], strides[0], size)
    return code.b.or_(rows, is_along(code, shape[0], strides[0], strides[1], size))


def multiply(code: Code, letter: str, x: Any, y: Any, made: Any) -> None:
    """Write the product of two matrices, or of a matrix and a vector, into a new array.

    All of them are arrays that BLAS can read; what is written is dense.
    """
    columns = y if len(y.shape) == 2 else None
    zero = code.whole(0)
    args = [x.shape[0], x.shape[1], code.whole(1) if columns is None else y.shape[1],
            x.address, *x.strides, y.address, y.strides[0],
            zero if columns is None else y.strides[1], made.address]  # fmt: skip
    for n in args[:3]:
        code.exit_if(code.less(code.whole(_MOST - 1), n))
    code.b.call(_multiply(code.module, letter, columns is None), args)


def solve(code: Code, a: Any, x: Any, n: Any, m: Any, pivots: Any) -> None:
    """Put the solution of a system with m right sides in their place; leave if there is none.

    Both are dense, column by column, and overwritten.
    """
    _by_lapack(code, "gesv", n, lambda c, size: [
        size, c.whole(m), a, size, pivots, x, size])  # fmt: skip


def factor(code: Code, a: Any, n: Any, pivots: Any) -> None:
    """Put the triangular factors of a matrix in its place; leave if it is singular."""
    _by_lapack(code, "getrf", n, lambda c, size: [size, size, a, size, pivots])


def _by_lapack(code: Code, name: str, n: Any, args: Callable) -> None:
    caller, info = _Caller(code, "d"), code.variable(I32)
    fits = code.b.and_(code.less(code.whole(0), n), code.less(n, code.whole(_MOST)))
    code.exit_if(code.b.not_(fits))
    caller.call(name, [*args(caller, caller.whole(n)), info])
    done = code.b.icmp_signed("==", code.b.load(info, typ=I32), ir.Constant(I32, 0))
    code.exit_if(code.b.not_(done))


def _multiply(module: ir.Module, letter: str, by_vector: bool) -> Any:
    """Return the function that multiplies an (m, k) matrix with a (k, n) matrix or a vector."""
    name = f"structured_{letter}{'gemv' if by_vector else 'gemm'}"
    if name in module.globals:
        return module.globals[name]
    code = Code(module, name, [I64, I64, I64, PTR, I64, I64, PTR, I64, I64, PTR])
    b = code.b
    m, k, n, x, x0, x1, y, y0, y1, made = code.function.args
    caller = _Caller(code, letter)
    size = code.whole(8 if letter == "d" else 4)

    def vector(a: Any, rows: Any, length: Any, a0: Any, a1: Any, v: Any, step: Any) -> None:
        """Write `made = a @ v`."""
        # A matrix of rows is one of columns for BLAS, the other way round.
        is_row = is_along(code, length, a1, a0, size.constant)
        caller.call("gemv", [
            caller.letter(b.select(is_row, _of("T"), _of("N"))),
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
    turned = [b.not_(is_along(code, width, step, stride, size.constant))
              for width, step, stride in ((n, y1, y0), (k, x1, x0))]  # fmt: skip
    steps = [b.sdiv(b.select(t, *pair), size)
             for t, pair in zip(turned, ((y1, y0), (x1, x0)), strict=True)]  # fmt: skip
    letters = [caller.letter(b.select(t, _of("T"), _of("N"))) for t in turned]
    caller.call("gemm", [
        *letters, caller.whole(n), caller.whole(m), caller.whole(k), caller.number(1.0),
        y, caller.whole(steps[0]), x, caller.whole(steps[1]), caller.number(0.0), made,
        caller.whole(n),
    ])  # fmt: skip
    code.finish()
    return code.function


def _of(letter: str) -> ir.Constant:
    return ir.Constant(I8, ord(letter))


class _Caller:
    """Writes calls of BLAS, whose arguments are addresses."""

    def __init__(self, code: Code, letter: str) -> None:
        self.code = code
        self.prefix = letter
        self.type = TYPES[letter]

    def _place(self, kind: Any, value: Any) -> Any:
        place = self.code.variable(kind)
        self.code.b.store(value, place)
        return place

    def letter(self, value: Any) -> Any:
        return self._place(I8, value)

    def whole(self, value: Any) -> Any:
        return self._place(I32, self.code.b.trunc(value, I32))

    def number(self, x: float) -> Any:
        return self._place(self.type, ir.Constant(self.type, x))

    def call(self, name: str, args: list) -> None:
        self.code.call(self.prefix + name, ir.VoidType(), args)


class OuterSum:
    """Outer products that are added to parts of a matrix of float64: many at once.

    See `blas_sums.OuterSum`, which does so in NumPy source.
    """

    def __init__(self, code: Code, state: Any) -> None:
        self.code = code
        self.state = state
        self.words = code.words(_WORDS_OF_SUM)

    def takes(self, base: Any, part: Any) -> Any:
        """Whether a part of a matrix is large enough, and one that BLAS can write into."""
        code, b = self.code, self.code.b
        made = is_along(code, base.shape[1], base.strides[1], base.strides[0], 8)
        for s, t in zip(base.strides, part.strides, strict=True):
            made = b.and_(made, code.equal(s, t))
        large = b.not_(code.less(b.mul(*part.shape), code.whole(LEAST)))
        small = [code.less(n, code.whole(_MOST)) for n in (*base.shape, base.strides[0])]
        for test in (large, *small):
            made = b.and_(made, test)
        return made

    def append(self, base: Any, part: Any, x: Any, y: Any) -> None:
        """Add the outer product of two vectors to a part of a matrix, later."""
        args = [self.words, self.state, base.address, *base.shape, base.strides[0], part.address,
                *part.shape, x.address, x.strides[0], y.address, y.strides[0]]  # fmt: skip
        b = self.code.b
        status = b.call(_append(self.code.module), args)
        self.code.exit_if(b.icmp_signed("!=", status, ir.Constant(I32, 0)))

    def add_all(self) -> None:
        """Add what has been collected."""
        self.code.b.call(_add_all(self.code.module), [self.words])


def _append(module: ir.Module) -> Any:
    name = "structured_outer"
    if name in module.globals:
        return module.globals[name]
    add_all = _add_all(module)
    code = Code(module, name, [PTR, PTR, PTR, I64, I64, I64, PTR, I64, I64, PTR, I64, PTR, I64])
    b = code.b
    words, state, base, rows, columns, stride, part, m, n, x, x0, y, y0 = code.function.args
    target = b.ptrtoint(base, I64)
    differs: Any = ir.Constant(TYPES["b"], 0)
    for k, value in ((_BASE, target), (_ROWS, rows), (_COLUMNS, columns), (_STRIDE, stride)):
        differs = b.or_(differs, b.not_(code.equal(code.word(words, k), value)))
    full = code.equal(code.word(words, _COUNT), code.whole(_MOST_TOGETHER))
    with code.branch(b.or_(differs, full)):
        b.call(add_all, [words])
    with code.branch(differs):
        for k, value in ((_BASE, target), (_ROWS, rows), (_COLUMNS, columns), (_STRIDE, stride)):
            code.set_word(words, k, value)
        left = b.mul(rows, code.whole(8 * _MOST_TOGETHER))
        size = b.add(left, b.mul(columns, code.whole(8 * _MOST_TOGETHER)))
        with code.branch(code.less(code.word(words, _ROOM), size)):
            made = memory.allocated(code, state, memory.KEPT, size)
            code.call("memset", PTR, [made, ir.Constant(I32, 0), size])
            code.set_word(words, _LEFT, made)
            code.set_word(words, _ROOM, size)
        code.set_word(words, _RIGHT, code.at(code.word(words, _LEFT, PTR), left))
    count = code.word(words, _COUNT)
    offset = b.sub(b.ptrtoint(part, I64), target)
    row, column = b.sdiv(offset, stride), b.sdiv(b.srem(offset, stride), code.whole(8))
    for to, width, first, length, source, step, low, high in (
        (_LEFT, rows, row, m, x, x0, _TOP, _BOTTOM),
        (_RIGHT, columns, column, n, y, y0, _START, _STOP),
    ):
        at = code.at(code.word(words, to, PTR),
                     b.mul(b.add(b.mul(count, width), first), code.whole(8)))  # fmt: skip
        with code.counted(length, alone=True) as i:
            found = code.accessed(b.load(code.at(source, b.mul(i, step)), typ=TYPES["d"]))
            code.accessed(b.store(found, b.gep(at, [i], source_etype=TYPES["d"])))
        is_first, last = code.equal(count, code.whole(0)), b.add(first, length)
        old, end = code.word(words, low), code.word(words, high)
        code.set_word(words, low, b.select(b.or_(is_first, code.less(first, old)), first, old))
        code.set_word(words, high, b.select(b.or_(is_first, code.less(end, last)), last, end))
    code.set_word(words, _COUNT, b.add(count, code.whole(1)))
    code.finish()
    return code.function


def _add_all(module: ir.Module) -> Any:
    name = "structured_outer_sum"
    if name in module.globals:
        return module.globals[name]
    code = Code(module, name, [PTR])
    b = code.b
    (words,) = code.function.args
    count = code.word(words, _COUNT)
    with code.branch(code.less(code.whole(0), count)):
        rows, columns, stride = [code.word(words, k) for k in (_ROWS, _COLUMNS, _STRIDE)]
        top, start = code.word(words, _TOP), code.word(words, _START)
        m, n = b.sub(code.word(words, _BOTTOM), top), b.sub(code.word(words, _STOP), start)
        eight = code.whole(8)
        left = code.at(code.word(words, _LEFT, PTR), b.mul(top, eight))
        right = code.at(code.word(words, _RIGHT, PTR), b.mul(start, eight))
        target = code.at(code.word(words, _BASE, PTR),
                         b.add(b.mul(top, stride), b.mul(start, eight)))  # fmt: skip
        caller = _Caller(code, "d")
        one = caller.number(1.0)
        caller.call("gemm", [
            caller.letter(_of("N")), caller.letter(_of("T")), caller.whole(n), caller.whole(m),
            caller.whole(count), one, right, caller.whole(columns), left, caller.whole(rows), one,
            target, caller.whole(b.sdiv(stride, eight)),
        ])  # fmt: skip
        with code.counted(count) as i:
            for at, width, length in ((left, rows, m), (right, columns, n)):
                place = code.at(at, b.mul(b.mul(i, width), eight))
                code.call("memset", PTR, [place, ir.Constant(I32, 0), b.mul(length, eight)])
        code.set_word(words, _COUNT, code.whole(0))
    code.finish()
    return code.function
