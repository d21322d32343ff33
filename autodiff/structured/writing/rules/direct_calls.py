"""Calls of NumPy's Python functions, written as the calls that these make.

A function such as `numpy.sum` looks at its arguments in Python before it calls a ufunc, which takes
longer than the sum of a short array. The results have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.form.function_ir import Op, Value
from autodiff.structured.form.known_functions import function_of


def mean_of(x: np.ndarray) -> Any:
    """Return the mean of all elements, as `numpy.mean` does."""
    return np.add.reduce(x, None) / x.size if x.size else np.mean(x)


def norm_of(x: np.ndarray) -> Any:
    """Return the norm of the elements of a real array, as `numpy.linalg.norm` does."""
    elements = x.ravel("K")
    return np.sqrt(elements.dot(elements))


_REDUCE: dict[Any, Callable] = {
    np.sum: np.add.reduce, np.prod: np.multiply.reduce, np.max: np.maximum.reduce,
    np.amax: np.maximum.reduce, np.min: np.minimum.reduce, np.amin: np.minimum.reduce,
}  # fmt: skip
_OUTER = np.multiply.outer
_OF_ALL_ELEMENTS: dict[Any, Callable] = {np.mean: mean_of, np.linalg.norm: norm_of}


def source_of(e: Any, op: Op, text: Callable[[Value], str]) -> str:
    """Return the source of an operation in the forward function; `text` writes its arguments."""
    return _direct_call(e, op, text) or e.operation(op, text)


def _direct_call(e: Any, op: Op, text: Callable[[Value], str]) -> str | None:
    """Return the source of such a call; None for other operations, and in machine code."""
    if op.code != "call" or e.for_native or not op.args or not op.args[0].kind.is_array:
        return None
    f, name = function_of(op.f), e.constants.name
    args = list(map(text, op.args))
    if f in _REDUCE and len(args) < 3 and op.options.keys() <= {"axis", "keepdims"}:
        given = {option: text(v) for option, v in op.options.items()}
        if len(args) == 1:
            given.setdefault("axis", "None")
        args += [f"{option}={x}" for option, x in given.items()]
        return f"{name(_REDUCE[f])}({', '.join(args)})"
    kinds = [(v.kind.dtype, v.kind.ndim) for v in op.args]
    if op.options or {dtype for dtype, _ in kinds} != {np.dtype(float)}:
        return None
    if f in _OF_ALL_ELEMENTS and len(args) == 1:
        return f"{name(_OF_ALL_ELEMENTS[f])}({args[0]})"
    if f is np.outer and [ndim for _, ndim in kinds] == [1, 1]:
        return f"{name(_OUTER)}({', '.join(args)})"
    return None
