"""Decompositions of functions of `scipy.special`: see `numpy_decompositions`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.form.kinds import UNKNOWN
from autodiff.structured.reading.libraries.argument_checks import (
    Choice,
    first_or_last,
    is_floats,
    known_option,
)


def softmax(x: Any, axis: Any = None) -> Any:
    """Compute `scipy.special.softmax`."""
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """Compute `scipy.special.log_softmax`."""
    top = np.max(x, axis=axis, keepdims=True)
    assert np.all(np.isfinite(top))
    d = x - top
    return d - np.log(np.sum(np.exp(d), axis=axis, keepdims=True))


def logsumexp(x: Any) -> Any:
    """Compute `scipy.special.logsumexp` of all elements."""
    top = np.max(x)
    assert np.isfinite(top)
    hits = x == top
    n = np.sum(hits)
    return np.log1p(np.sum(np.where(hits, 0.0, np.exp(x - top))) / n) + np.log(n) + top


def logsumexp_keepdims(x: Any, axis: Any) -> Any:
    """Compute `scipy.special.logsumexp` along an axis, with ``keepdims``."""
    top = np.max(x, axis=axis, keepdims=True)
    assert np.all(np.isfinite(top))
    hits = x == top
    n = np.sum(hits, axis=axis, keepdims=True)
    s = np.sum(np.where(hits, 0.0, np.exp(x - top)), axis=axis, keepdims=True)
    return np.log1p(s / n) + np.log(n) + top


def logsumexp_first(x: Any, axis: Any) -> Any:
    """Compute `scipy.special.logsumexp` along the first axis."""
    return logsumexp_keepdims(x, axis)[0]


def logsumexp_last(x: Any, axis: Any) -> Any:
    """Compute `scipy.special.logsumexp` along the last axis."""
    return logsumexp_keepdims(x, axis)[..., 0]


def _by_axis(function: Callable) -> Callable:
    """Return a selector for a function of an array and an axis."""

    def select(args: list, given: dict[str, Any]) -> Choice:
        is_one = len(args) == 1 and is_floats(args[0]) and given.keys() <= {"axis"}
        axis = known_option(given, "axis")
        return (function, [args[0], axis]) if is_one and axis is not UNKNOWN else None

    return select


def _select_logsumexp(args: list, given: dict[str, Any]) -> Choice:
    if len(args) != 1 or not is_floats(args[0]) or not given.keys() <= {"axis", "keepdims"}:
        return None
    a, axis, keeps = args[0], known_option(given, "axis"), known_option(given, "keepdims", False)
    if not keeps and (axis is None or (a.kind.ndim == 1 and axis in (0, -1))):
        return logsumexp, args
    if type(axis) is not int or type(keeps) is not bool or not -a.kind.ndim <= axis < a.kind.ndim:
        return None
    if keeps:
        return logsumexp_keepdims, [a, axis]
    function = first_or_last(a, axis, logsumexp_first, logsumexp_last)
    return None if function is None else (function, [a, axis])


SELECTORS: dict[str, Callable] = {
    "softmax": _by_axis(softmax), "log_softmax": _by_axis(log_softmax),
    "logsumexp": _select_logsumexp,
}  # fmt: skip
"""See `decompositions`; by name, because `scipy.special` may not be imported."""
