"""Lowering of contractions to one operation: stacked products, `einsum`, `tensordot`.

Both factors are broadcast to all axes: those of the result, then those that are summed over. Along
an axis that a factor does not have, its stride is 0.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.compiler.kernels.loop_ir import LoopOp, NotLowerableError, StridedView
from autodiff.compiler.recording.ir import FLOATS, Meta, Step, shape_of
from chainrules_core.operations.contraction import extents_of

if TYPE_CHECKING:
    from autodiff.compiler.kernels.step_lowering import Lowerer

LARGEST = 1 << 15
"""Up to this number of multiplications, loops are used instead of BLAS."""
_MATMUL = frozenset({np.matmul, operator.matmul})


def subscripts(step: Step, metas: list[Meta]) -> tuple[str, str, str] | None:
    """Return the axes of both factors and of the result as letters; None for other calls."""
    options = step.kwargs or {}
    if step.f in _MATMUL and len(step.args) == 2 and not options:
        m, n = (len(shape_of(x, metas, FLOATS) or ()) for x in step.args)
        return _of_matmul(m, n) if min(m, n) >= 1 and max(m, n) > 2 else None
    if step.f is np.einsum and len(step.args) == 3 and type(step.args[0]) is str:
        if options.keys() - {"optimize"}:
            return None
        return _of_einsum(step.args[0].replace(" ", ""))
    if step.f is np.tensordot and 2 <= len(step.args) <= 3 and not options.keys() - {"axes"}:
        axes = step.args[2] if len(step.args) == 3 else options.get("axes", 2)
        a, b = (shape_of(x, metas, FLOATS) for x in step.args[:2])
        return None if a is None or b is None else _of_tensordot(len(a), len(b), axes)
    return None


def _of_matmul(m: int, n: int) -> tuple[str, str, str]:
    batch = "abcdefgh"[: max(m, n) - 2]
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
    extents = _extents(letters, a, b)
    return 0 < int(np.prod([*extents.values()], dtype=float)) <= LARGEST


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
    axes = [*letters[2], *[c for c in extents if c not in letters[2]]]
    whole = tuple([extents[c] for c in axes])
    if whole[: len(shape)] != shape:
        raise NotLowerableError
    spread = [_broadcast(v, mine, axes, whole) for v, mine in zip(views, letters[:2], strict=True)]
    return LoopOp("contraction", None, spread, shape)


def _broadcast(view: StridedView, mine: str, axes: list[str], whole: tuple) -> StridedView:
    """Broadcast a factor to all axes."""
    strides = dict.fromkeys(axes, 0)
    for c, n, stride in zip(mine, view.shape, view.strides, strict=True):
        strides[c] = stride if n > 1 else 0
    return StridedView(view.kind, view.base, view.offset, whole, tuple(strides.values()))
