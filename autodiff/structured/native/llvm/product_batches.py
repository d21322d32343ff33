"""Products of vectors with parts of a matrix, collected until one matrix product computes them.

`blas_sums` does the same in NumPy source.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.blas import (
    FEWEST_ELEMENTS,
    LONGEST_AXIS,
    BlasCaller,
    char,
    has_contiguous_rows,
)
from autodiff.structured.native.llvm.function_builder import (
    I32,
    I64,
    PTR,
    TYPES,
    FunctionBuilder,
)
from autodiff.structured.native.llvm.modules import LLVMModule

_BATCH = 32  # products that one matrix product computes
_MOST_WASTE = 4  # how many times larger than a part the bounding rectangle of all parts may be
_WORDS = 13
(_BASE, _ROWS, _COLUMNS, _STRIDE, _COUNT, _LEFT, _RIGHT, _TARGETS, _ROOM, _TOP, _BOTTOM, _START,
 _STOP) = range(_WORDS)  # fmt: skip
_BOUNDS = (_TOP, _BOTTOM), (_START, _STOP)  # the bounding rectangle of all parts
_VECTORS = _LEFT, _RIGHT  # as long as the matrix has rows, and columns
_WORDS_OF_TARGET = 4  # address, stride, number of elements, index of the first row or column


class ProductBatch:
    """A batch of products with parts of one float64 matrix.

    Parameters
    ----------
    code : FunctionBuilder
        The function that collects.
    state : pointer
        The memory of the run.
    axis : int, optional
        The axis along which the matrix is multiplied by vectors; the products are added to other
        vectors. By default, outer products of two vectors are added to the matrix.
    """

    def __init__(self, code: FunctionBuilder, state: Any, axis: int | None = None) -> None:
        self.code = code
        self.state = state
        self.axis = axis
        self.words = code.words(_WORDS)

    def takes(self, base: Any, part: Any) -> Any:
        """Whether a part of a matrix is large enough, and BLAS can read and write it."""
        code, b = self.code, self.code.b
        made = has_contiguous_rows(code, base.shape[1], base.strides[1], base.strides[0], 8)
        for s, t in zip(base.strides, part.strides, strict=True):
            made = b.and_(made, code.equal(s, t))
        large = b.not_(code.less(b.mul(*part.shape), code.whole(FEWEST_ELEMENTS)))
        small = [code.less(n, code.whole(LONGEST_AXIS)) for n in (*base.shape, base.strides[0])]
        for test in (large, *small):
            made = b.and_(made, test)
        return made

    def append(self, base: Any, part: Any, x: Any, y: Any) -> None:
        """Add a product with a part of a matrix to the batch.

        `x` has an element for each row, `y` for each column. For an outer product both are
        factors; for a product along an axis one is the factor, the other one is added to.
        """
        args = [self.words, self.state, base.address, *base.shape, base.strides[0], part.address,
                *part.shape, x.address, x.strides[0], y.address, y.strides[0]]  # fmt: skip
        _call(self.code, _append(self.code.module, self.axis), args)

    def add_all(self) -> None:
        """Compute the products of the batch, and add them to their targets."""
        _call(self.code, _add_all(self.code.module, self.axis), [self.words])


def _call(code: FunctionBuilder, function: Any, args: list) -> None:
    """Call a function, and exit if it has stepped aside."""
    status = code.b.call(function, args)
    code.exit_if(code.b.icmp_signed("!=", status, ir.Constant(I32, 0)))


def _append(module: LLVMModule, axis: int | None) -> Any:
    """Return the function that adds a product to a batch.

    It first computes the batch if that is full, is of another matrix, or if its bounding rectangle
    would become too large.
    """
    name = f"structured_collect_{axis}"
    if name in module.globals:
        return module.globals[name]
    add_all = _add_all(module, axis)
    code = FunctionBuilder(
        module, name, [PTR, PTR, PTR, I64, I64, I64, PTR, I64, I64, PTR, I64, PTR, I64]
    )
    b = code.b
    words, state, base, rows, columns, stride, part, m, n, x, x0, y, y0 = code.function.args
    target, eight = b.ptrtoint(base, I64), code.whole(8)
    known = (_BASE, target), (_ROWS, rows), (_COLUMNS, columns), (_STRIDE, stride)
    differs: Any = ir.Constant(TYPES["b"], 0)
    for k, value in known:
        differs = b.or_(differs, b.not_(code.equal(code.word(words, k), value)))
    with code.branch(differs):
        _call(code, add_all, [words])
        for k, value in known:
            code.set_word(words, k, value)
        _make_room(code, words, state, rows, columns, axis)
    offset = b.sub(b.ptrtoint(part, I64), target)
    first = b.sdiv(offset, stride), b.sdiv(b.srem(offset, stride), eight)
    bounds = [_around(code, words, *args)
              for args in zip(_BOUNDS, first, (m, n), strict=True)]  # fmt: skip
    area = b.mul(*[b.sub(end, start) for start, end in bounds])
    wide = code.less(b.mul(b.mul(m, n), code.whole(_MOST_WASTE)), area)
    full = code.equal(code.word(words, _COUNT), code.whole(_BATCH))
    with code.branch(b.or_(full, wide)):
        _call(code, add_all, [words])
    count = code.word(words, _COUNT)
    for k, (length, vector, step) in enumerate(((m, x, x0), (n, y, y0))):
        for place, value in zip(_BOUNDS[k], _around(code, words, _BOUNDS[k], first[k], length),
                                strict=True):  # fmt: skip
            code.set_word(words, place, value)
        if axis == 1 - k:
            at = _target(code, words, count)
            for place, value in enumerate((b.ptrtoint(vector, I64), step, length, first[k])):
                code.set_word(at, place, value)
            continue
        at = code.at(_vector(code, words, k, count), b.mul(first[k], eight))
        with code.counted(length, alone=True) as i:
            found = code.accessed(b.load(code.at(vector, b.mul(i, step)), typ=TYPES["d"]))
            code.accessed(b.store(found, b.gep(at, [i], source_etype=TYPES["d"])))
    code.set_word(words, _COUNT, b.add(count, code.whole(1)))
    code.finish()
    return code.function


def _make_room(
    code: FunctionBuilder, words: Any, state: Any, rows: Any, columns: Any, axis: int | None
) -> None:
    """Allocate the vectors of a matrix; factors are zero outside of the parts."""
    b = code.b
    left, right = (b.mul(n, code.whole(8 * _BATCH)) for n in (rows, columns))
    vectors = b.add(left, right)
    size = b.add(vectors, code.whole(8 * _BATCH * _WORDS_OF_TARGET))
    with code.branch(code.less(code.word(words, _ROOM), size)):
        made = memory.allocated(code, state, memory.KEPT, size)
        code.set_word(words, _LEFT, made)
        code.set_word(words, _ROOM, size)
        if axis is None:
            code.call("memset", PTR, [made, ir.Constant(I32, 0), size])
    first = code.word(words, _LEFT, PTR)
    if axis is not None:  # clear the products and targets of another matrix
        code.call("memset", PTR, [first, ir.Constant(I32, 0), size])
    code.set_word(words, _RIGHT, code.at(first, left))
    code.set_word(words, _TARGETS, code.at(first, vectors))


def _around(
    code: FunctionBuilder, words: Any, places: tuple[int, int], first: Any, length: Any
) -> Any:
    """Return the bounds along one axis of the rectangle, extended by a part."""
    b = code.b
    is_first = code.equal(code.word(words, _COUNT), code.whole(0))
    start, end = (code.word(words, k) for k in places)
    last = b.add(first, length)
    return (
        b.select(b.or_(is_first, code.less(first, start)), first, start),
        b.select(b.or_(is_first, code.less(end, last)), last, end),
    )


def _vector(code: FunctionBuilder, words: Any, k: int, count: Any) -> Any:
    """Return the address of a product's vector along the rows (k = 0) or columns (k = 1)."""
    width = code.word(words, (_ROWS, _COLUMNS)[k])
    return code.at(code.word(words, _VECTORS[k], PTR),
                   code.b.mul(code.b.mul(count, width), code.whole(8)))  # fmt: skip


def _target(code: FunctionBuilder, words: Any, count: Any) -> Any:
    """Return the address of the record of the vector that a product is added to."""
    return code.at(code.word(words, _TARGETS, PTR),
                   code.b.mul(count, code.whole(8 * _WORDS_OF_TARGET)))  # fmt: skip


def _add_all(module: LLVMModule, axis: int | None) -> Any:
    """Return the function that computes a batch."""
    name = f"structured_add_{axis}"
    if name in module.globals:
        return module.globals[name]
    code = FunctionBuilder(module, name, [PTR])
    b = code.b
    (words,) = code.function.args
    count = code.word(words, _COUNT)
    with code.branch(code.less(code.whole(0), count)):
        widths = [code.word(words, k) for k in (_ROWS, _COLUMNS)]
        firsts = [code.word(words, start) for start, _ in _BOUNDS]
        sizes = [b.sub(code.word(words, end), code.word(words, start)) for start, end in _BOUNDS]
        stride, eight = code.word(words, _STRIDE), code.whole(8)
        left, right = [code.at(code.word(words, _VECTORS[k], PTR), b.mul(firsts[k], eight))
                       for k in (0, 1)]  # fmt: skip
        matrix = code.at(code.word(words, _BASE, PTR),
                         b.add(b.mul(firsts[0], stride), b.mul(firsts[1], eight)))  # fmt: skip
        # BLAS is column-major: it sees the transpose of a row-major matrix.
        (m, n), (rows, columns), lead = sizes, widths, b.sdiv(stride, eight)
        letters, shape, args, old = {
            None: ("NT", (n, m, count), (right, columns, left, rows, matrix, lead), 1.0),
            0: ("NN", (n, count, m), (matrix, lead, left, rows, right, columns), 0.0),
            1: ("TN", (m, count, n), (matrix, lead, right, columns, left, rows), 0.0),
        }[axis]
        caller = BlasCaller(code, "d")
        x, x0, y, y0, made, made0 = args
        caller.call("gemm", [
            *[caller.letter(char(c)) for c in letters], *[caller.whole(k) for k in shape],
            caller.number(1.0), x, caller.whole(x0), y, caller.whole(y0),
            caller.number(old), made, caller.whole(made0),
        ])  # fmt: skip
        with code.counted(count) as i:
            if axis is not None:
                _add_to_target(code, words, i, 1 - axis)
            for k in (0, 1):
                if axis != 1 - k:
                    place = code.at(_vector(code, words, k, i), b.mul(firsts[k], eight))
                    code.call("memset", PTR, [place, ir.Constant(I32, 0), b.mul(sizes[k], eight)])
        code.set_word(words, _COUNT, code.whole(0))
    code.finish()
    return code.function


def _add_to_target(code: FunctionBuilder, words: Any, i: Any, k: int) -> None:
    """Add the i-th product to its target; exit if it is not finite.

    Inf or NaN may come from elements of the matrix outside of the part, times zero.
    """
    b, kind = code.b, TYPES["d"]
    at = _target(code, words, i)
    address, (step, length, first) = code.word(at, 0, PTR), (code.word(at, j) for j in (1, 2, 3))
    made = code.at(_vector(code, words, k, i), b.mul(first, code.whole(8)))
    test = code.stored(ir.Constant(kind, 0.0))
    with code.counted(length) as j:
        x = b.load(b.gep(made, [j], source_etype=kind), typ=kind)
        place = code.at(address, b.mul(j, step))
        b.store(b.fadd(b.load(place, typ=kind), x), place)
        b.store(b.fadd(b.load(test, typ=kind), b.fmul(x, ir.Constant(kind, 0.0))), test)
    code.exit_if(b.fcmp_unordered("!=", b.load(test, typ=kind), ir.Constant(kind, 0.0)))
