"""A partial derivative as data: a constant, or a function that knows what it reads."""

from __future__ import annotations

import dis
import types
from collections.abc import Callable
from typing import Any

import numpy as np

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
    """

    __slots__ = ("_n", "_reading", "constant", "function")

    def __init__(self, function: Any, n: int) -> None:
        self.function: Callable | None = function if callable(function) else None
        self.constant: Any = None if callable(function) else function
        self._n = n
        self._reading: tuple[frozenset[int], int | None] | None = None

    def _read(self) -> tuple[frozenset[int], int | None]:
        # Found out at first need: there are hundreds of these in an import.
        if self._reading is None:
            if self.function is None:
                self._reading = frozenset(), None
            else:
                self._reading = _reading(self.function, self._n)
        return self._reading

    @property
    def is_arithmetic(self) -> bool:
        """Whether the function calls nothing: then Python's floats raise, and nothing warns."""
        code = getattr(self.function, "__code__", None)
        return code is not None and not code.co_names and not code.co_freevars

    @property
    def reads(self) -> frozenset[int]:
        """The parameters that are read."""
        return self._read()[0]

    @property
    def returns(self) -> int | None:
        """The parameter that is returned as it is."""
        return self._read()[1]

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


def _reading(function: Callable, n: int) -> tuple[frozenset[int], int | None]:
    """Find which of its first `n` parameters a function reads, from its bytecode."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, types.CodeType) or code.co_flags & 0x0C or code.co_cellvars:
        return frozenset(range(n)), None
    names = code.co_varnames[: code.co_argcount]
    instructions = [i for i in dis.get_instructions(code) if i.opname not in ("RESUME", "NOP")]
    loaded = {i.argval for i in instructions if i.opname.startswith("LOAD_FAST")}
    reads = frozenset(i for i, name in enumerate(names) if name in loaded)
    returns = None
    if [i.opname for i in instructions] == ["LOAD_FAST", "RETURN_VALUE"]:
        returns = next(iter(reads))
    return reads, returns
