"""The elementwise functions that a program's source writes in a form of its own."""

from __future__ import annotations

import functools
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
OF_MATH = frozenset({f for f in UFUNC_OF if getattr(f, "__module__", "") == "math"})

INFIX: dict[Any, str] = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.true_divide: "/",
    np.less: "<", np.less_equal: "<=", np.greater: ">", np.greater_equal: ">=",
    np.equal: "==", np.not_equal: "!=",
}  # fmt: skip
COMPARISONS = frozenset(
    {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}
)

ROUNDED = COMPARISONS | {
    np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.absolute, np.sqrt,
}  # fmt: skip
"""Functions with one right result, whoever computes it."""

MATH: dict[Any, Callable] = {
    np.sin: math.sin, np.cos: math.cos, np.tan: math.tan, np.arcsin: math.asin,
    np.arccos: math.acos, np.arctan: math.atan, np.sinh: math.sinh, np.cosh: math.cosh,
    np.tanh: math.tanh, np.arcsinh: math.asinh, np.arccosh: math.acosh,
    np.arctanh: math.atanh, np.exp: math.exp, np.expm1: math.expm1, np.log: math.log,
    np.log1p: math.log1p, np.log2: math.log2, np.log10: math.log10, np.sqrt: math.sqrt,
    np.cbrt: math.cbrt, np.arctan2: math.atan2, np.hypot: math.hypot, np.power: math.pow,
}  # fmt: skip
"""For floats. They raise where NumPy gives NaN or Inf; then the call is done again eagerly."""


def is_elementwise(f: Any) -> bool:
    """Whether a function is a ufunc of one output that works element by element."""
    return isinstance(f, np.ufunc) and f.signature is None and f.nout == 1


@functools.cache
def takes_floats(f: np.ufunc) -> bool:
    """Whether integers given to a ufunc may as well be floats: the exponents of `ldexp` may not."""
    operands = [t.partition("->")[0] for t in f.types if t.endswith("->d")]
    return not any("d" in kinds and set(kinds) & _INTEGERS for kinds in operands)


_INTEGERS = frozenset("bBhHiIlLqQ")


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
"""Functions whose results are new memory (or numbers); see `is_fresh`."""


def is_fresh(f: Any, args: tuple, kwargs: dict | None) -> bool:
    """Whether the result of a call is new memory, which nothing else shares."""
    if f not in FRESH:
        return False
    options = kwargs or {}
    if f is np.einsum:  # of one array it may be a view: a transpose, a diagonal
        return type(args[0]) is str and len(args) > 2 and "out" not in options
    if f is np.diff:  # the array itself if no differences are taken
        n = args[1] if len(args) > 1 else options.get("n", 1)
        return isinstance(n, (int, np.integer)) and bool(n > 0)
    return "out" not in options and options.get("copy", True) is True
