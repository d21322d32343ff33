"""The global scope of all generated code, and the parts that generators share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff.dispatch.call import NO_RULE
from autodiff.fastpath.elementwise_nodes import SMALL
from autodiff.trace.tape import CONSTANT, FLOAT64, Forward, place_of
from autodiff.trace.tracer import FloatTracer, Tracer
from chainrules_core import ProjectTo
from chainrules_core.define.bits import where_true
from chainrules_core.define.partial import ARITHMETIC, Partial
from chainrules_core.define.scalar import has_nan
from chainrules_core.interpreter.quiet import quiet
from chainrules_core.projection.project_to import KNOWN_SPACES

_ndarray = np.ndarray
NUMBERS = frozenset({float, np.float64})

SCOPE: dict[str, Any] = {
    "ARITHMETIC": ARITHMETIC,
    "BOOL": np.dtype(bool),
    "CONSTANT": CONSTANT,
    "FLOAT64": FLOAT64,
    "FLOAT64_SPACES": KNOWN_SPACES[FLOAT64],
    "FloatTracer": FloatTracer,
    "Forward": Forward,
    "NO_RULE": NO_RULE,
    "NUMBERS": NUMBERS,
    "OBJECTS": np.dtype(object),
    "ProjectTo": ProjectTo,
    "SMALL": SMALL,
    "Tracer": Tracer,
    "__name__": __name__,  # for filters of warnings
    "add": np.add,
    "float64": np.float64,
    "has_nan": has_nan,
    "inf": math.inf,  # as floats are shown
    "nan": math.nan,
    "ndarray": _ndarray,
    "new": object.__new__,
    "place_of": place_of,
    "quiet": quiet,
    "where_true": where_true,
}
"""The global scope of all generated code."""


def product(
    partial: Partial, bar: str, names: Sequence[str], constant: Callable[[float], str]
) -> str | None:
    """Return the source of the product of a partial derivative with a cotangent or tangent.

    Parameters
    ----------
    partial : Partial
        The partial derivative.
    bar : str
        The name of the cotangent or tangent.
    names : sequence of str
        The names of ``(y, *args)``.
    constant : callable
        Returns the name of a number.

    Returns
    -------
    str or None
        An expression; None if a function has to be called first.
    """
    if partial.function is None:
        c = partial.constant
        return bar if c == 1 else f"-{bar}" if c == -1 else f"{constant(float(c))} * {bar}"
    return None if partial.returns is None else f"{names[partial.returns]} * {bar}"


def quietly(partial: Partial) -> Callable | None:
    """Return the function of a partial derivative, with NumPy warnings switched off."""
    function = partial.function
    if function is None or partial.is_arithmetic:
        return function
    return np.errstate(all="ignore")(function)
