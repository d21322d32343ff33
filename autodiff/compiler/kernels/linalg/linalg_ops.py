"""Lowering of linear algebra: solutions, inverses, determinants and Cholesky factors.

Solutions, inverses and determinants of one matrix share an LU factorization with partial pivoting,
as in LAPACK; a NumPy call takes ten times as long as the arithmetic for a matrix of three rows. The
kernel exits if a matrix is singular, not finite, or not positive definite: then NumPy is called.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autodiff.compiler.kernels.loop_ir import LoopOp, NotLowerableError, StridedView
from autodiff.compiler.passes.triangular_solves import solve_triangle
from autodiff.compiler.recording.ir import Meta, Ref, Step, part, shape_of

if TYPE_CHECKING:
    from autodiff.compiler.kernels.step_lowering import Lowerer

LARGEST = 32
"""Up to this number of rows, loops are as fast as LAPACK."""
_MOST_ELEMENTS = 1 << 18


class LinalgCall(NamedTuple):
    """A call of a function of linear algebra.

    Attributes
    ----------
    kind : str
        "solve", "inv", "det", "slogdet", "cholesky" or "triangular".
    a, b : Any
        The matrix and the right-hand side.
    is_lower, is_transposed, is_unit : bool
        Whether the lower triangle is read, whether it is transposed, and whether its diagonal
        consists of ones.
    is_checked : bool
        Whether an argument that is not finite is an error.
    """

    kind: str
    a: Any
    b: Any = None
    is_lower: bool = True
    is_transposed: bool = False
    is_unit: bool = False
    is_checked: bool = False


_OF_NUMPY: dict[Any, str] = {
    np.linalg.solve: "solve", np.linalg.inv: "inv", np.linalg.det: "det",
    np.linalg.slogdet: "slogdet", np.linalg.cholesky: "cholesky", solve_triangle: "triangular",
}  # fmt: skip
_OPTIONS: dict[str, dict[str, Any]] = {
    "cholesky": {"lower": False, "overwrite_a": False, "check_finite": True},
    "solve_triangular": {
        "trans": 0, "lower": False, "unit_diagonal": False, "overwrite_b": False,
        "check_finite": True,
    },
}  # fmt: skip
_TURNED = {0: False, 1: True, 2: True, "N": False, "T": True, "C": True}


def linalg_call(step: Step) -> LinalgCall | None:
    """Return a step as a call of a known function; None if it is not one."""
    kind = _OF_NUMPY.get(step.f)
    if kind is None:
        return _scipy_call(step)
    options = step.kwargs or {}
    if kind == "cholesky":
        upper = options.get("upper", False)
        if len(step.args) != 1 or options.keys() - {"upper"} or type(upper) is not bool:
            return None
        return LinalgCall(kind, step.args[0], is_lower=not upper)
    if options or len(step.args) != {"solve": 2, "triangular": 4}.get(kind, 1):
        return None
    call = LinalgCall(kind, *step.args)
    return call._replace(is_checked=kind == "triangular")


def _scipy_call(step: Step) -> LinalgCall | None:
    linalg = sys.modules.get("scipy.linalg")  # if it has been imported
    name = getattr(step.f, "__name__", "")
    known = _OPTIONS.get(name)
    if known is None or step.f is not getattr(linalg, name, None):
        return None
    n = 2 if name == "solve_triangular" else 1
    if len(step.args) < n or len(step.args) > n + len(known):
        return None
    given = dict(zip(known, step.args[n:], strict=False))
    named = step.kwargs or {}
    if named.keys() - known.keys() or named.keys() & given.keys():
        return None
    options = {**known, **given, **named}
    trans = options.pop("trans", 0)
    if type(trans) not in (int, str) or trans not in _TURNED:
        return None
    if any(type(x) is not bool for x in options.values()):
        return None
    is_lower, is_checked = options["lower"], options["check_finite"]
    if n == 1:
        return LinalgCall(name, step.args[0], is_lower=is_lower, is_checked=is_checked)
    is_unit = options["unit_diagonal"]
    a, b = step.args[:2]
    return LinalgCall("triangular", a, b, is_lower, _TURNED[trans], is_unit, is_checked)


def is_system(step: Step, metas: list[Meta]) -> bool:
    """Whether `LinalgLowering` can lower a call."""
    call = linalg_call(step)
    if call is None:
        return False
    a = shape_of(call.a, metas)
    if a is None or len(a) < 2 or not 0 < a[-1] == a[-2] <= LARGEST:
        return False
    if 0 in a or math.prod(a) > _MOST_ELEMENTS:
        return False
    if call.kind not in ("solve", "triangular"):
        return True
    b = shape_of(call.b, metas)
    if b is None or not b or 0 in b:
        return False
    batch = _batch(a, b)
    shape = None if batch is None else (*batch, *b[-min(2, len(b)) :])
    return shape == metas[step.out].shape and math.prod(shape or ()) <= _MOST_ELEMENTS


def _batch(a: tuple, b: tuple) -> tuple | None:
    """Return the shape of a stack of systems; right-hand sides are vectors if `b` has one axis."""
    try:
        return np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        return None


PAIR: Any = type(np.linalg.slogdet(np.eye(1)))


def is_part_of_pair(step: Step, metas: list[Meta]) -> bool:
    """Whether a step takes a part of the result of `slogdet`."""
    return step.f is part and type(step.args[0]) is Ref and metas[step.args[0].i].type is PAIR


class LinalgLowering:
    """Lowering of linear algebra; equal views of a matrix share a factorization."""

    def __init__(self, reader: Lowerer) -> None:
        self.reader = reader
        self._known: dict[tuple, StridedView] = {}
        self._units: dict[int, np.ndarray] = {}
        self._pairs: dict[int, tuple[StridedView, int]] = {}

    def _matrix(self, x: Any) -> StridedView:
        view = self.reader.view(x)
        if view.is_bool or view.kind not in "vx":
            raise NotLowerableError
        return view

    def _factors(self, a: StridedView) -> tuple[StridedView, bool]:
        """Return the factors of a matrix or of its transpose, and whether it is the latter."""
        transposed = (*a.strides[:-2], a.strides[-1], a.strides[-2])
        for strides, is_transposed in ((a.strides, False), (transposed, True)):
            known = self._known.get((a.kind, a.base, a.offset, a.shape, strides))
            if known is not None:
                return known, is_transposed
        n = a.shape[-1]
        text = f"factored({{0}}, {a.strides[-2]}, {a.strides[-1]}, {n}, {{y}})"
        shape = (*a.shape[:-2], n * n + n + 1)
        factors = self.reader.added(LoopOp("call", None, [a], shape, (1, text, True)))
        self._known[(a.kind, a.base, a.offset, a.shape, a.strides)] = factors
        return factors, False

    def read(self, step: Step, shape: tuple) -> LoopOp:
        """Lower a call other than `slogdet`."""
        call: Any = linalg_call(step)
        a = self._matrix(call.a)
        n = a.shape[-1]
        row, column = a.strides[-2:]
        if call.kind == "cholesky":
            down, along = (n, 1) if call.is_lower else (1, n)
            row, column = (row, column) if call.is_lower else (column, row)
            text = (
                f"cholesky({{0}}, {row}, {column}, {n}, {call.is_checked}, {{y}}, {down}, {along})"
            )
            return LoopOp("call", None, [a], shape, (2, text, True))
        if call.kind == "det":
            return self._determinant(self._factors(a)[0], n, "{sign} * math.exp({log})", shape)
        if call.kind == "inv":
            b = self.reader.view(self._units.setdefault(n, np.eye(n)))
        else:
            b = self._matrix(call.b)
        core = min(2, len(b.shape))
        batch, b = shape[: len(shape) - core], b.broadcast(shape)
        m = b.shape[-1] if core == 2 else 1
        right = f"{{1}}, {b.strides[-core]}, {b.strides[-1] if core == 2 else 0}, {m}"
        if call.kind == "triangular":
            is_lower = call.is_lower != call.is_transposed
            row, column = (column, row) if call.is_transposed else (row, column)
            matrix = f"{{0}}, {row}, {column}, {n}, {is_lower}, {call.is_unit}, {call.is_checked}"
            given = [a.broadcast((*batch, n, n)), b]
            text = f"triangle_solved({matrix}, {right}, {{y}})"
            return LoopOp("call", None, given, shape, (core, text, True))
        factors, is_transposed = self._factors(a)
        factors = factors.broadcast((*batch, factors.shape[-1]))
        text = f"solved({{0}}, {n}, {is_transposed}, {right}, {{y}})"
        op = LoopOp("call", None, [factors, b], shape, (core, text, False))
        if not is_transposed:
            return op
        text = f"put_back({{0}}, {n}, {{1}}, {m}, {{y}})"
        return LoopOp("call", None, [factors, self.reader.added(op)], shape, (core, text, False))

    def _determinant(self, factors: StridedView, n: int, text: str, shape: tuple) -> LoopOp:
        """Return a determinant from the pivots: its sign, logarithm or value, as `text` says."""
        text = text.format(sign=f"pivots_sign({{0}}, {n})", log=f"pivots_log({{0}}, {n})")
        return LoopOp("call", None, [factors], shape, (0, text, False))

    def pair(self, step: Step) -> None:
        """Lower the factorization for `slogdet`; `half` lowers the parts of its result."""
        a = self._matrix(step.args[0])
        self._pairs[step.out] = (self._factors(a)[0], a.shape[-1])

    def half(self, step: Step, shape: tuple) -> LoopOp:
        """Lower the sign, or the logarithm, of a determinant."""
        factors, n = self._pairs[step.args[0].i]
        text = "{sign}" if step.args[1] in (0, "sign") else "{log}"
        return self._determinant(factors, n, text, shape)
