"""Decompositions of functions of `scipy.special`: see `numpy_decompositions`.

They are listed by name, because `scipy.special` may not be imported.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.structured.reading.libraries.argument_checks import (
    among,
    decomposes,
    flat_or_end,
    floats,
    known_parts,
    option,
)


def _axis(v: Any, named: dict[str, Any]) -> Any:
    """Check for a known axis."""
    n, axis = named["a"].kind.ndim, known_parts(v)
    return axis if type(axis) is int and -n <= axis < n else NotImplemented


@decomposes("softmax", x=floats(), axis=option)
def softmax(x: Any, axis: Any = None) -> Any:
    """Compute `scipy.special.softmax`."""
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


@decomposes("log_softmax", x=floats(), axis=option)
def log_softmax(x: Any, axis: Any = None) -> Any:
    """Compute `scipy.special.log_softmax`."""
    top = np.max(x, axis=axis, keepdims=True)
    assert np.all(np.isfinite(top))
    d = x - top
    return d - np.log(np.sum(np.exp(d), axis=axis, keepdims=True))


@decomposes("logsumexp", a=floats(), axis=flat_or_end, keepdims=among(False))
def logsumexp(x: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """Compute `scipy.special.logsumexp` of all elements, or along the first or last axis."""
    if axis is not None and x.ndim > 1:
        made = logsumexp_keepdims(x, axis, keepdims=True)
        return made[0] if axis == 0 else made[..., 0]
    top = np.max(x)
    assert np.isfinite(top)
    hits = x == top
    n = np.sum(hits)
    return np.log1p(np.sum(np.where(hits, 0.0, np.exp(x - top))) / n) + np.log(n) + top


@decomposes("logsumexp", a=floats(), axis=_axis, keepdims=among(True))
def logsumexp_keepdims(x: Any, axis: Any, *, keepdims: Any) -> Any:
    """Compute `scipy.special.logsumexp` along an axis, with ``keepdims``."""
    top = np.max(x, axis=axis, keepdims=True)
    assert np.all(np.isfinite(top))
    hits = x == top
    n = np.sum(hits, axis=axis, keepdims=True)
    s = np.sum(np.where(hits, 0.0, np.exp(x - top)), axis=axis, keepdims=True)
    return np.log1p(s / n) + np.log(n) + top
