"""Products of the rows of one matrix with another one, computed before they are needed.

A loop over the rows of a matrix that multiplies each by another matrix reads that one from memory
in each iteration. If nothing writes into either matrix, one matrix product computes the products of
the next rows as soon as two calls have taken one row after the other. The calls that follow find
theirs, if they ask for the same vector and for a part of the same columns.

The sweep collects its products instead: see `product_batches`.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir

from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.blas import (
    FEWEST_ELEMENTS,
    LONGEST_AXIS,
    BlasCaller,
    char,
)
from autodiff.structured.native.llvm.function_builder import (
    I32,
    I64,
    PTR,
    FunctionBuilder,
)
from autodiff.structured.native.llvm.modules import LLVMModule

_AHEAD = 32  # products that one matrix product computes
_MOST_WASTE = 4  # how many times larger than a part the bounding rectangle of all parts may be
_WORDS = 15
_GIVEN = range(8)
"""What the last call was given; then the products: of which vectors and columns, how many, where,
in how many bytes; then the address of the product that was found."""
_VECTOR, _LENGTH, _STEP, _NEXT, _PART, _WIDTH, _SIDE, _DEPTH = _GIVEN
_FIRST, _HULL, _HULL_WIDTH, _COUNT, _PRODUCTS, _ROOM, _FOUND = range(8, _WORDS)


class ProductsAhead:
    """Products of vectors with parts of a float64 matrix, in one place of a loop.

    Parameters
    ----------
    code : FunctionBuilder
        The function with the loop.
    state : pointer
        The memory of the run.
    """

    def __init__(self, code: FunctionBuilder, state: Any) -> None:
        self.code = code
        self.state = state
        self.words = code.words(_WORDS)

    def find(self, args: list) -> Any:
        """Return the address of a product, or null if it has not been computed.

        Parameters
        ----------
        args : list
            The address of the vector, its length and stride; the stride from one vector to the next
            one, and how many there are from this one on. The address of the part of the matrix; the
            length and stride of the axis that remains, and the stride of the other one; how many
            more elements the matrix has before and after the part, along the axis that remains.
        """
        code = self.code
        status = code.b.call(_find(code.module), [self.words, self.state, *args])
        code.exit_if(code.b.icmp_signed("!=", status, ir.Constant(I32, 0)))
        return code.word(self.words, _FOUND, PTR)


def _find(module: LLVMModule) -> Any:
    """Return the function that finds a product, and computes the next ones ahead."""
    name = "structured_find_product"
    if name in module.globals:
        return module.globals[name]
    kinds = [PTR, I64, I64, I64, I64, PTR, I64, I64, I64, I64, I64]
    code = FunctionBuilder(module, name, [PTR, PTR, *kinds])
    b = code.b
    words, state, x, length, step, following, count, part, width, side, depth, before, after = (
        code.function.args
    )
    x, part, zero, one = b.ptrtoint(x, I64), b.ptrtoint(part, I64), code.whole(0), code.whole(1)
    last = [code.word(words, k) for k in _GIVEN]
    given = (x, length, step, following, part, width, side, depth)
    for k, value in zip((*_GIVEN, _FOUND), (*given, zero), strict=True):
        code.set_word(words, k, value)
    is_small = code.less(b.mul(length, width), code.whole(FEWEST_ELEMENTS))
    with code.branch(b.or_(is_small, code.less(code.lesser(following, side), one))):
        b.ret(ir.Constant(I32, 0))
    is_alike = functools.reduce(
        b.and_, [code.equal(last[k], given[k]) for k in (_LENGTH, _STEP, _NEXT, _SIDE, _DEPTH)]
    )
    with code.branch(b.not_(is_alike)):
        code.set_word(words, _COUNT, zero)
    # Is it among those that have been computed?
    held, hull_width = code.word(words, _COUNT), code.word(words, _HULL_WIDTH)
    row, is_row = _position(code, code.word(words, _FIRST), x, following)
    column, is_column = _position(code, code.word(words, _HULL), part, side)
    is_row = b.and_(is_row, code.less(row, held))
    is_column = b.and_(is_column, b.not_(code.less(hull_width, b.add(column, width))))
    with code.branch(is_row):
        with code.branch(is_column):
            at = b.mul(b.add(b.mul(row, hull_width), column), code.whole(8))
            code.set_word(words, _FOUND, b.add(code.word(words, _PRODUCTS), at))
        b.ret(ir.Constant(I32, 0))
    # Compute the next ones, for the columns that they will ask for if these move on like before.
    n = code.lesser(count, code.whole(_AHEAD))
    moved = b.sdiv(b.sub(part, last[_PART]), side)
    grown = b.add(moved, b.sub(width, last[_WIDTH]))
    low = code.lesser(before, code.greater(zero, b.mul(b.neg(moved), n)))
    high = code.lesser(after, code.greater(zero, b.mul(grown, n)))
    wide = b.add(width, b.add(low, high))
    first = b.sub(part, b.mul(low, side))
    eight = code.whole(8)
    is_next = b.and_(is_alike, code.equal(x, b.add(last[_VECTOR], following)))
    tests = [
        is_next,
        code.less(one, n),
        b.not_(code.less(b.mul(width, code.whole(_MOST_WASTE)), wide)),
        _is_matrix(code, wide, side, length, depth),
        _is_matrix(code, length, step, n, following),
    ]
    tests += [
        code.less(k, code.whole(LONGEST_AXIS)) for k in (wide, length, side, depth, step, following)
    ]
    with code.branch(functools.reduce(b.and_, tests)):
        size = b.mul(b.add(width, b.add(before, after)), code.whole(8 * _AHEAD))
        with code.branch(code.less(code.word(words, _ROOM), size)):
            made = memory.allocated(code, state, memory.KEPT, size)
            code.set_word(words, _PRODUCTS, made)
            code.set_word(words, _ROOM, size)
        for k, value in zip((_FIRST, _HULL, _HULL_WIDTH, _COUNT), (x, first, wide, n), strict=True):
            code.set_word(words, k, value)
        caller = BlasCaller(code, "d")
        pairs = []
        for dense, other in ((side, depth), (step, following)):  # BLAS is column-major
            is_plain = code.equal(dense, eight)
            letter = caller.letter(b.select(is_plain, char("N"), char("T")))
            pairs.append((letter, caller.whole(b.sdiv(b.select(is_plain, other, dense), eight))))
        (a, lead), (c, next_lead) = pairs
        made = code.word(words, _PRODUCTS, PTR)
        caller.call("gemm", [
            a, c, caller.whole(wide), caller.whole(n), caller.whole(length), caller.number(1.0),
            b.inttoptr(first, PTR), lead, b.inttoptr(x, PTR), next_lead, caller.number(0.0), made,
            caller.whole(wide),
        ])  # fmt: skip
        code.set_word(words, _FOUND, b.add(code.word(words, _PRODUCTS), b.mul(low, eight)))
    code.finish()
    return code.function


def _position(code: FunctionBuilder, first: Any, x: Any, stride: Any) -> tuple[Any, Any]:
    """Return how many strides an address is after the first one, and whether that is a number."""
    b = code.b
    distance = b.sub(x, first)
    is_whole = code.equal(b.srem(distance, stride), code.whole(0))
    return b.sdiv(distance, stride), b.and_(is_whole, b.icmp_signed(">=", distance, code.whole(0)))


def _is_matrix(code: FunctionBuilder, m: Any, step: Any, n: Any, stride: Any) -> Any:
    """Whether BLAS can read a matrix of m by n elements with these strides."""
    b, eight = code.b, code.whole(8)

    def is_dense(k: Any, own: Any, other: Any) -> Any:
        return b.and_(code.equal(own, eight), b.not_(code.less(other, b.mul(k, eight))))

    return b.or_(is_dense(m, step, stride), is_dense(n, stride, step))
