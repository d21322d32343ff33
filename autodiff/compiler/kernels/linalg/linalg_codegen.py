"""Source of linear algebra in kernels: for each matrix of a stack, a call of a routine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autodiff.compiler.kernels.loop_ir import at, strides_of

if TYPE_CHECKING:
    from autodiff.compiler.kernels.loop_codegen import LoopWriter


class _Stack:
    """Loops over a stack of matrices, with the offsets of operands and result in an iteration.

    `core` is the number of axes of the result for one matrix.
    """

    def __init__(self, w: LoopWriter, p: int, core: int) -> None:
        op = w.ops[p]
        self.w = w
        batch = op.shape[: len(op.shape) - core]
        n = len(batch)
        found = [w.memory(p, k) for k in range(len(op.args))]
        target = w.target(p) if op.shape else ""
        places = [place for _, place in found] + [target]
        strides = [*[a.strides[:n] for a in op.args], strides_of(op.shape)[:n]]
        terms, variables = w.nest(batch, strides)
        *self.places, self.target = [at(x, t) for x, t in zip(places, terms, strict=True)]
        self.arrays = [array for array, _ in found]
        self._depth = len(variables)

    def call(self, text: str) -> None:
        """Write a call of a routine that may fail, and end the loops."""
        self.w.write(f"if not {text}: return 2")
        self.leave()

    def leave(self) -> None:
        """End the loops."""
        self.w.leave(self._depth)


def factors(w: LoopWriter, p: int) -> None:
    """Write an LU factorization: the factors, the permutation of rows, and its sign."""
    op = w.ops[p]
    row, column = op.args[0].strides[-2:]
    of = _Stack(w, p, 1)
    x, place = of.arrays[0], of.places[0]
    of.call(f"factored({x}, {place}, {row}, {column}, {op.extra[0]}, s, {of.target})")


def solution(w: LoopWriter, p: int) -> None:
    """Write the solution of two triangular systems; that of the transpose remains permuted."""
    op = w.ops[p]
    n, core, is_transposed = op.extra
    of = _Stack(w, p, core)
    right = _right(w, p, of, core)
    w.write(f"solved(s, {of.places[0]}, {n}, {is_transposed}, {right}, {of.target})")
    of.leave()


def _right(w: LoopWriter, p: int, of: _Stack, core: int) -> str:
    """Return arguments of a routine: the right-hand sides, their strides and their number."""
    b = w.ops[p].args[1]
    row, column, m = (*b.strides[-2:], b.shape[-1]) if core == 2 else (b.strides[-1], 0, 1)
    return f"{of.arrays[1]}, {of.places[1]}, {row}, {column}, {m}"


def unordered(w: LoopWriter, p: int) -> None:
    """Write the inverse permutation of rows."""
    op = w.ops[p]
    n, core = op.extra
    of = _Stack(w, p, core)
    m = op.shape[-1] if core == 2 else 1
    w.write(f"put_back(s, {of.places[0]}, {n}, {of.places[1]}, {m}, {of.target})")
    of.leave()


def cholesky(w: LoopWriter, p: int) -> None:
    """Write a Cholesky factorization."""
    op = w.ops[p]
    n, is_lower, is_checked = op.extra
    of = _Stack(w, p, 2)
    x, place = of.arrays[0], of.places[0]
    row, column = op.args[0].strides[-2:]
    strides = f"{row}, {column}" if is_lower else f"{column}, {row}"
    to = f"{of.target}, {n}, 1" if is_lower else f"{of.target}, 1, {n}"
    of.call(f"cholesky({x}, {place}, {strides}, {n}, {is_checked}, s, {to})")


def triangular(w: LoopWriter, p: int) -> None:
    """Write the solution of a triangular system."""
    op = w.ops[p]
    n, core, is_lower, is_transposed, is_unit, is_checked = op.extra
    of = _Stack(w, p, core)
    row, column = op.args[0].strides[-2:]
    if is_transposed:
        row, column, is_lower = column, row, not is_lower
    matrix = f"{of.arrays[0]}, {of.places[0]}, {row}, {column}, {n}"
    how = f"{is_lower}, {is_unit}, {is_checked}"
    of.call(f"triangle_solved({matrix}, {how}, {_right(w, p, of, core)}, s, {of.target})")


def determinant(w: LoopWriter, p: int) -> None:
    """Write a determinant from the pivots: its sign, the logarithm of its size, or its value."""
    op = w.ops[p]
    n, which = op.extra
    of = _Stack(w, p, 0)
    lu = of.places[0]
    sign, log = f"pivots_sign(s, {lu}, {n})", f"pivots_log(s, {lu}, {n})"
    text = {"sign": sign, "log": log, "det": f"{sign} * math.exp({log})"}[which]
    if op.shape:
        w.write(f"put(s, {of.target}, {text})")
    else:
        w.result(p, text)
    of.leave()
