"""A partial derivative as data: a constant, or a function that knows what it reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_core.define.symbolic import Symbol, Traced, parameter, traced

_NOTHING = Traced(frozenset(), None)

# What Python's floats raise where arrays give Inf or NaN.
ARITHMETIC = (ZeroDivisionError, OverflowError, ValueError)


class Partial:
    """∂y/∂x for one argument, as a function of ``(y, *args)`` or a constant.

    Attributes
    ----------
    constant : number or tangent, optional
        The value, where it does not depend on anything.
    reads : frozenset of int
        Which of ``(y, *args)`` the function reads: 0 is the output. What no partial reads need
        not be kept until the pullback runs.
    returns : int, optional
        The one parameter that the function returns as it is (``lambda y, a, b: b``).
    result : Symbol, optional
        What the function does with symbols, where that is clear.
    """

    __slots__ = ("_n", "_traced", "constant", "function")

    def __init__(self, function: Any, n: int) -> None:
        self.function: Callable | None = function if callable(function) else None
        self.constant: Any = None if callable(function) else function
        self._n = n
        self._traced: Traced | None = None

    def _seen(self) -> Traced:
        # Found out at first need: there are hundreds of these in an import.
        if self._traced is None:
            seen = traced(self.function, self._n) if self.function else _NOTHING
            self._traced = seen or Traced(frozenset(range(self._n)), None)
        return self._traced

    @property
    def is_arithmetic(self) -> bool:
        """Whether the function calls nothing: then Python's floats raise, and nothing warns."""
        code = getattr(self.function, "__code__", None)
        return code is not None and not code.co_names and not code.co_freevars

    @property
    def reads(self) -> frozenset[int]:
        """The parameters that are read; all of them, where that is not clear."""
        return self._seen().reads

    @property
    def returns(self) -> int | None:
        """The parameter that is returned as it is."""
        result = self.result
        if result is None or result.operands:
            return None
        return next((i for i in self.reads if parameter(i) == result.operation), None)

    @property
    def result(self) -> Symbol | None:
        """What the function does with symbols, where that is clear."""
        result = self._seen().result
        return result if type(result) is Symbol else None

    def __call__(self, *values: Any) -> Any:
        """Evaluate on ``(y, *args)``.

        Python's floats raise where arrays give Inf; the partial of ``sqrt`` at 0 is Inf for both.
        """
        if self.function is None:
            return self.constant
        try:
            return self.function(*values)
        except ARITHMETIC:
            return self.safely(*values)

    def safely(self, *values: Any) -> Any:
        """Evaluate with NumPy's numbers, which do not raise, and without their warnings."""
        if self.function is None:
            return self.constant
        with np.errstate(all="ignore"):
            return self.function(*[_numpy_scalar(v) for v in values])


def _numpy_scalar(value: Any) -> Any:
    kind = type(value)
    if kind is float or kind is int:
        return np.float64(value)
    if kind is complex:
        return np.complex128(value)
    # One that an engine traces passes for a float; a product makes it one of NumPy's.
    return value * np.float64(1.0) if isinstance(value, float) else value
