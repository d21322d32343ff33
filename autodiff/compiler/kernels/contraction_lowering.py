"""Lowering of products of vectors and matrices, of stacks of them, `einsum` and `tensordot`.

Both factors are broadcast to all axes: those of the result, and those that are summed over. Along
an axis that a factor does not have, its stride is 0. So all are sums of products.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.compiler.kernels import row_blocks
from autodiff.compiler.kernels.loop_ir import (
    LoopOp,
    NotLowerableError,
    StridedView,
    in_terms,
    strides_of,
)
from autodiff.compiler.recording.ir import FLOATS, Meta, Step, shape_of
from autodiff.functions import MATRIX_PRODUCTS
from chainrules_core.operations.contraction import extents_of

if TYPE_CHECKING:
    from autodiff.compiler.kernels.step_lowering import Lowerer

LARGEST = 1 << 15
"""Up to this number of multiplications, loops are used instead of BLAS."""
_FEW = 4096
"""Up to this number, a call of a routine is as fast as loops of its own, which take longer to
compile."""


def subscripts(step: Step, metas: list[Meta]) -> tuple[str, str, str] | None:
    """Return the axes of both factors and of the result as letters; None for other calls."""
    options = step.kwargs or {}
    if step.f in (*MATRIX_PRODUCTS, np.inner, np.vdot) and len(step.args) == 2 and not options:
        return _of_product(step.f, *[shape_of(x, metas, FLOATS) or () for x in step.args])
    if step.f is np.einsum and len(step.args) == 3 and type(step.args[0]) is str:
        if options.keys() - {"optimize"}:
            return None
        return _of_einsum(step.args[0].replace(" ", ""))
    if step.f is np.tensordot and 2 <= len(step.args) <= 3 and not options.keys() - {"axes"}:
        axes = step.args[2] if len(step.args) == 3 else options.get("axes", 2)
        a, b = (shape_of(x, metas, FLOATS) for x in step.args[:2])
        return None if a is None or b is None else _of_tensordot(len(a), len(b), axes)
    return None


def _of_product(f: Any, a: tuple, b: tuple) -> tuple[str, str, str] | None:
    m, n = len(a), len(b)
    if f is np.vdot:
        letters = "abcdefgh"[:m]
        return (letters, letters, "") if a == b else None
    most = 1 if f is np.inner else 2 if f is np.dot else 8
    if not (0 < m <= most and 0 < n <= most):
        return None
    batch = "abcdefgh"[: max(0, max(m, n) - 2)]
    left = "z" if m == 1 else batch[len(batch) - m + 2 :] + "yz"
    right = "z" if n == 1 else batch[len(batch) - n + 2 :] + "zx"
    return left, right, batch + ("y" if m > 1 else "") + ("x" if n > 1 else "")


def _of_einsum(text: str) -> tuple[str, str, str] | None:
    given, arrow, out = text.partition("->")
    left, comma, right = given.partition(",")
    if not comma or "," in right or not (left + right + out).isalpha():
        return None
    if not arrow:
        both = left + right
        out = "".join(sorted(c for c in set(both) if both.count(c) == 1))
    if any(len(set(x)) != len(x) for x in (left, right, out)):
        return None
    return (left, right, out) if set(out) <= set(left + right) else None


def _of_tensordot(m: int, n: int, axes: Any) -> tuple[str, str, str] | None:
    if type(axes) is int:
        axes = (tuple(range(m - axes, m)), tuple(range(axes)))
    if type(axes) not in (tuple, list) or len(axes) != 2:
        return None
    pair = [(x,) if type(x) is int else x for x in axes]
    if any(type(x) not in (tuple, list) or any(type(k) is not int for k in x) for x in pair):
        return None
    left, right = list("abcdefghijkl"[:m]), list("mnopqrstuvwx"[:n])
    if len(left) != m or len(right) != n or len(pair[0]) != len(pair[1]):
        return None
    for i, k in zip(*pair, strict=True):
        right[k] = left[i]
    out = [c for c in left + right if (c in left) + (c in right) == 1]
    return "".join(left), "".join(right), "".join(out)


def is_contraction(step: Step, metas: list[Meta]) -> bool:
    """Whether `lower_contraction` can lower a call."""
    letters = subscripts(step, metas)
    if letters is None:
        return False
    left, right, _ = letters
    a, b = (shape_of(x, metas, FLOATS) for x in factors_of(step))
    if a is None or b is None or len(a) != len(left) or len(b) != len(right):
        return False
    count = math.prod(_extents(letters, a, b).values())
    # A large matrix is read from memory, so that loops are as fast as BLAS.
    is_streamed = min(len(left), len(right)) == 1 and count >= row_blocks.LARGE
    return count <= LARGEST or is_streamed or step.f is np.vdot


def factors_of(step: Step) -> tuple:
    """Return the factors of a contraction."""
    return step.args[1:3] if step.f is np.einsum else step.args[:2]


def _extents(letters: tuple[str, str, str], a: tuple, b: tuple) -> dict[str, int]:
    """Return the length of each axis, after broadcasting."""
    *factors, out = letters
    return dict.fromkeys(out, 1) | extents_of(factors, (a, b))


def lower_contraction(reader: Lowerer, step: Step, shape: tuple) -> LoopOp:
    """Lower a contraction to an operation."""
    letters: Any = subscripts(step, reader.metas)
    views = [reader.view(x) for x in factors_of(step)]
    if any(v.is_bool or v.kind not in "vx" for v in views):
        raise NotLowerableError
    extents = _extents(letters, views[0].shape, views[1].shape)
    *both, out = letters
    if tuple([extents[c] for c in out]) != shape:
        raise NotLowerableError
    summed = [c for c in extents if c not in out]
    strides = [
        {c: s if n == extents[c] else 0 for c, n, s in zip(mine, v.shape, v.strides, strict=True)}
        for mine, v in zip(both, views, strict=True)
    ]
    if len(summed) == 1 and math.prod(shape) > 1 and math.prod(extents.values()) <= _FEW:
        (k,) = summed
        rows, columns = (x.replace(k, "") for x in both)
        if len(rows) < 2 and len(columns) < 2 and rows + columns == out:
            x, y = strides
            left = f"{{0}}, {x.get(rows, 0)}, {x.get(k, 0)}"
            right = f"{{1}}, {y.get(k, 0)}, {y.get(columns, 0)}"
            sizes = f"{extents.get(rows, 1)}, {extents[k]}, {extents.get(columns, 1)}"
            text = f"multiplied({left}, {right}, {sizes}, {{y}})"
            return LoopOp("call", None, views, shape, (len(shape), text, False))
    *_, k = axes = [*out, *summed]
    last, inner = ({s.get(c, 0) for s in strides} for c in (out[-1:], k))
    is_by_rows = bool(summed) and last == {0, 1} and inner != {1}
    if is_by_rows:
        axes = [*out[:-1], *summed, out[-1]]
    whole = tuple([extents[c] for c in axes])
    factors = [
        StridedView(v.kind, v.base, v.offset, whole, tuple([s.get(c, 0) for c in axes]))
        for v, s in zip(views, strides, strict=True)
    ]
    if not summed:
        return LoopOp("map", np.multiply, factors, shape)
    if is_by_rows and math.prod(whole) < row_blocks.LARGE:
        factors = in_terms(factors, axes.index(k))
    of_result = dict(zip(out, strides_of(shape), strict=True))
    extra = (0.0, tuple([of_result.get(c, 0) for c in axes]))
    return LoopOp("sum", np.multiply, factors, shape, extra)
