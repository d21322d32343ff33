"""The elementwise functions that a program's source writes in a form of its own."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

UFUNC_OF: dict[Any, np.ufunc] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.true_divide,
    operator.neg: np.negative,
    operator.pow: np.power,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
    abs: np.absolute,
    pow: np.power,
    math.pow: np.power,
    math.fabs: np.absolute,
    **{
        getattr(math, mine): getattr(np, theirs)
        for mine, theirs in (
            ("sin", "sin"), ("cos", "cos"), ("tan", "tan"), ("asin", "arcsin"),
            ("acos", "arccos"), ("atan", "arctan"), ("sinh", "sinh"), ("cosh", "cosh"),
            ("tanh", "tanh"), ("asinh", "arcsinh"), ("acosh", "arccosh"), ("atanh", "arctanh"),
            ("exp", "exp"), ("expm1", "expm1"), ("log1p", "log1p"), ("log2", "log2"),
            ("log10", "log10"), ("sqrt", "sqrt"), ("cbrt", "cbrt"), ("atan2", "arctan2"),
        )
    },
}  # fmt: skip
"""The ufunc that computes the same, for numbers too: one name for each function in a program."""

INFIX: dict[Any, str] = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.true_divide: "/",
    np.less: "<", np.less_equal: "<=", np.greater: ">", np.greater_equal: ">=",
    np.equal: "==", np.not_equal: "!=",
}  # fmt: skip
COMPARISONS = frozenset(
    {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}
)

MATH: dict[Any, Callable] = {
    np.sin: math.sin, np.cos: math.cos, np.tan: math.tan, np.arcsin: math.asin,
    np.arccos: math.acos, np.arctan: math.atan, np.sinh: math.sinh, np.cosh: math.cosh,
    np.tanh: math.tanh, np.arcsinh: math.asinh, np.arccosh: math.acosh,
    np.arctanh: math.atanh, np.exp: math.exp, np.expm1: math.expm1, np.log: math.log,
    np.log1p: math.log1p, np.log2: math.log2, np.log10: math.log10, np.sqrt: math.sqrt,
    np.cbrt: math.cbrt, np.arctan2: math.atan2, np.hypot: math.hypot, np.power: math.pow,
}  # fmt: skip
"""For floats. They raise where NumPy gives NaN or Inf; then the call is done again eagerly."""

ELEMENTWISE = frozenset(
    {
        *INFIX, *MATH, np.negative, np.absolute, np.square, np.reciprocal, np.maximum,
        np.minimum, np.sign, np.fmax, np.fmin, np.logaddexp, np.floor, np.ceil, np.trunc,
        np.rint, np.heaviside, np.copysign, np.fabs, np.exp2, np.logaddexp2, np.isnan,
        np.isfinite, np.isinf, np.logical_and, np.logical_or, np.logical_not,
        np.bitwise_and, np.bitwise_or, np.remainder, np.fmod, np.deg2rad, np.rad2deg,
    }
)  # fmt: skip
"""Ufuncs whose results may be computed in blocks and written into given memory."""


def is_elementwise(f: Any) -> bool:
    """Whether a function is a ufunc of one output that works element by element."""
    return isinstance(f, np.ufunc) and f.signature is None and f.nout == 1


VIEWS: frozenset[Any] = frozenset(
    {
        np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.broadcast_to, np.expand_dims,
        np.squeeze, np.reshape, np.ravel, np.real, np.diagonal, np.linalg.diagonal, np.flip,
        np.fliplr, np.flipud, np.rot90, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.asarray,
        np.asanyarray, np.ascontiguousarray, np.split, np.array_split, np.hsplit, np.vsplit,
        np.dsplit, np.imag, np.diag, np.broadcast_arrays, np.matrix_transpose,
        np.linalg.matrix_transpose, np.ndarray.astype, operator.getitem, np.nan_to_num,
        operator.pos,
    }
)  # fmt: skip
"""Functions whose results may share memory with their arguments."""

FRESH: frozenset[Any] = frozenset(
    {
        np.sum, np.prod, np.mean, np.var, np.std, np.max, np.min, np.argmax, np.argmin,
        np.cumsum, np.cumprod, np.dot, np.vdot, np.inner, np.outer, np.tensordot, np.einsum,
        np.matmul, operator.matmul, np.concatenate, np.stack, np.hstack, np.vstack, np.copy,
        np.where, np.tile, np.repeat, np.sort, np.argsort, np.take, np.clip, np.kron, np.trace,
        np.linalg.inv, np.linalg.solve, np.linalg.cholesky, np.linalg.det, np.tril, np.triu,
        np.roll, np.diff, np.zeros_like, np.ones_like, np.full_like, np.pad, np.array,
    }
)  # fmt: skip
"""Functions whose results are new memory (or numbers)."""
