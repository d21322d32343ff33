"""Checks of what a differentiated function returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.errors import OutputError
from autodiff.trace.tracer import untraced
from chainrules_core.rules import name_of


def check_returned(f: Callable, y: Any) -> None:
    """Raise if a function returned None."""
    if y is None:
        raise OutputError(f"{name_of(f)} returned None. Does it lack a return statement?")


def check_scalar(f: Callable, y: Any) -> None:
    """Raise if an output is not one real number."""
    if type(y) is float or type(y) is np.float64:
        return
    plain = untraced(y)
    if type(plain) is float or type(plain) is np.float64:
        return
    check_returned(f, plain)
    if isinstance(plain, (np.ndarray, np.generic)) and plain.shape != ():
        raise OutputError(
            f"{name_of(f)} returned an array of shape {plain.shape}, but a gradient needs one real "
            "number. Sum it, or use pullback(f, x) or jacobian(f, x)."
        )
    if isinstance(plain, (complex, np.complexfloating)) or (
        isinstance(plain, np.ndarray) and plain.dtype.kind == "c"
    ):
        raise OutputError(
            f"{name_of(f)} returned a complex number, but a gradient needs a real one. Return its "
            "abs, real or imag, or use pullback(f, x) with a cotangent of your choice."
        )
    if not isinstance(plain, (int, float, np.number, np.ndarray, np.bool_)):
        raise OutputError(
            f"{name_of(f)} returned a {type(plain).__name__}, but a gradient needs one real "
            "number. To return something else next to the number, use value_and_gradient(f, x, "
            "has_aux=True). For several numbers, use pullback(f, x)."
        )
