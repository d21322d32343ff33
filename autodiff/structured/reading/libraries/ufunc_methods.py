"""Decompositions of the ufunc methods ``reduce`` and ``accumulate`` into loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.form.function_ir import Value, known

LEFT_FOLDS = frozenset({np.subtract, np.divide, np.logaddexp, np.logaddexp2, np.hypot})
"""Ufuncs whose ``reduce`` gives the same bits as a fold from the left.

Not `numpy.add`, which adds pairwise; ``power`` and ``arctan2`` reduce wrongly in some builds.
"""

_FLOATS = frozenset({float, np.float64})


def are_float64_numbers(items: Any) -> bool:
    """Whether this is a non-empty list or tuple of float64 numbers."""
    return (
        isinstance(items, tuple)
        and len(items) > 0
        and all(type(x) is Value and x.kind.classes <= _FLOATS for x in items)
    )


def fold_loop(name: str, a: Any, options: dict[str, Any]) -> Callable | None:
    """Return the loop for the method `name` of a ufunc in `LEFT_FOLDS`; None if there is none."""
    if type(a) is not Value or a.kind.letter != "f" or options.keys() - {"axis"}:
        return None
    axis = known(options["axis"]) if "axis" in options else 0
    if name == "accumulate":
        return accumulated if a.kind.ndim == 1 and axis in (0, -1) else None
    if axis in (a.kind.ndim - 1, -1) and a.kind.ndim == 2:
        return folded_rows
    return folded if axis == 0 and a.kind.ndim in (1, 2) else None


def folded(f: Any, a: Any) -> Any:
    """Fold a vector, or the rows of a matrix, from the left."""
    made = +a[0]  # a copy, as NumPy returns of a single row
    for i in range(1, len(a)):
        made = f(made, a[i])
    return made


def folded_rows(f: Any, a: Any) -> Any:
    """Fold each row of a matrix from the left."""
    made = +a[:, 0]
    for i in range(1, a.shape[1]):
        made = f(made, a[:, i])
    return made


def accumulated(f: Any, a: Any) -> Any:
    """Compute ``f.accumulate(a)`` of a vector."""
    made = a.copy()
    for i in range(1, len(a)):
        made[i] = f(made[i - 1], a[i])
    return made
