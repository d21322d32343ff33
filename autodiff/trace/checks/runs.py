"""Whether two runs of a function gave the same value: a derivative is of one function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.errors import DifferentiationError
from autodiff.trace.pytree import is_perturbable, leaves_of
from autodiff.trace.tracer import bare
from chainrules_core.rules import name_of

_ALIKE = {"f": 1e-3, "d": 1e-6, "F": 1e-3, "D": 1e-6}


def are_alike(before: Any, again: Any, least: float = 0.0) -> bool:
    """Whether two runs gave the same value, up to rounding errors of reordered sums.

    Numbers smaller than `least` may be rounding errors themselves.
    """
    old, new = leaves_of(before), leaves_of(again)
    return len(old) == len(new) and all(_alike(a, b, least) for a, b in zip(old, new, strict=True))


def check_runs(f: Callable, before: Any, again: Any) -> None:
    """Raise if a function that runs once for each tangent has returned another value."""
    if not are_alike(before, again, 1.0):
        raise DifferentiationError(
            f"{name_of(f)} runs again for each tangent, and has returned another value than "
            "before, so that its tangents are not those of one function. It must be pure: draw "
            "random numbers outside and pass them in, keep no counts, and do not change its "
            "arguments, or what it reads, before the last tangent is taken."
        )


def _alike(a: Any, b: Any, least: float) -> bool:
    a, b = bare(a), bare(b)  # a recorded program computes both in the same way
    if not is_perturbable(a):
        return True
    if not is_perturbable(b) or np.shape(a) != np.shape(b):
        return False
    if np.size(a) == 0:
        return True
    with np.errstate(all="ignore"):
        tolerance = _ALIKE.get(np.asarray(a).dtype.char, 1e-6)
        finite = np.isfinite(a)
        scale = max(least, np.max(np.abs(np.where(finite, a, 0))))
        same = np.abs(np.where(finite, a, 0) - np.where(finite, b, 0)) <= tolerance * scale
        return bool(np.all(np.where(finite, same, (a == b) | (np.isnan(a) & np.isnan(b)))))
