"""Functions of SciPy as they are made of others, to the last bit: see `numpy_functions`."""

from __future__ import annotations

from typing import Any

import numpy as np


def softmax(x: Any, axis: Any = None) -> Any:
    """Return the exponentials, divided by their sum."""
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """Return the logarithms of the exponentials, divided by their sum."""
    top = np.max(x, axis=axis, keepdims=True)
    assert np.all(np.isfinite(top))
    d = x - top
    return d - np.log(np.sum(np.exp(d), axis=axis, keepdims=True))


def logsumexp(x: Any) -> Any:
    """Return the logarithm of the sum of the exponentials."""
    top = np.max(x)
    assert np.isfinite(top)
    hits = x == top
    n = np.sum(hits)
    return np.log1p(np.sum(np.where(hits, 0.0, np.exp(x - top))) / n) + np.log(n) + top


def logsumexp_along(x: Any, axis: Any) -> Any:
    """Return the logarithms of the sums of the exponentials along an axis, which is kept."""
    top = np.max(x, axis=axis, keepdims=True)
    assert np.all(np.isfinite(top))
    hits = x == top
    n = np.sum(hits, axis=axis, keepdims=True)
    s = np.sum(np.where(hits, 0.0, np.exp(x - top)), axis=axis, keepdims=True)
    return np.log1p(s / n) + np.log(n) + top


def logsumexp_first(x: Any, axis: Any) -> Any:
    """Return the logarithms of the sums of the exponentials along the first axis."""
    return logsumexp_along(x, axis)[0]


def logsumexp_last(x: Any, axis: Any) -> Any:
    """Return the logarithms of the sums of the exponentials along the last axis."""
    return logsumexp_along(x, axis)[..., 0]
