"""The precision of values: how fine it is, and the same values in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_core.tangents import AbstractZero, unthunk_deep
from chainrules_core.testing.numeric.vectors import leaves, parts_of

_WIDE = {np.dtype(narrow): np.dtype(wide) for narrow, wide in ("ed", "fd", "FD")}


def coarsest(x: Any) -> float:
    """Return the machine epsilon of the least precise floating point number in `x`; 0 if none."""
    return max((_epsilon(leaf) for leaf in leaves(x)), default=0.0)


def _epsilon(x: Any) -> float:
    x = unthunk_deep(x)
    if isinstance(x, (float, complex)):
        return 2.220446049250313e-16
    dtype = getattr(x, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "fc":
        return float(np.finfo(dtype).eps)
    return 0.0


def widen(x: Any) -> Any:
    """Return `x` in double precision where it is less precise; else `x` itself.

    Examples
    --------
    >>> widen([np.ones(2, np.float32), 3])
    [array([1., 1.]), 3]
    """
    return _mapped(x, _widened)


def _widened(x: Any) -> Any:
    dtype = getattr(x, "dtype", None)
    if dtype in _WIDE and isinstance(x, (np.ndarray, np.generic)):
        return x.astype(_WIDE[dtype])
    return x


def promote(x: Any) -> Any:
    """Return `x` with its integers as floats; truth values stay.

    Examples
    --------
    >>> promote([1, 2.5, True])
    [1.0, 2.5, True]
    """
    return _mapped(x, _promoted)


def promote_where(x: Any, tangent: Any) -> Any:
    """Return `x` with those of its integers as floats that have a tangent other than zero.

    Examples
    --------
    >>> from chainrules_core import Tangent, ZeroTangent
    >>> promote_where([1, 2], Tangent[list](ZeroTangent(), 5.0))
    [1, 2.0]
    """
    if isinstance(tangent, AbstractZero):
        return x
    parts = parts_of(x)
    if parts is None:
        return _promoted(x)
    pairs = zip(parts.children, map(unthunk_deep, parts.of_tangent(tangent)), strict=True)
    changed = [promote_where(child, t) for child, t in pairs]
    if all(a is b for a, b in zip(changed, parts.children, strict=True)):
        return x
    return parts.build(changed)


def _promoted(x: Any) -> Any:
    if isinstance(x, (int, np.integer)) and not isinstance(x, bool):
        return float(x)
    if isinstance(x, np.ndarray) and x.dtype.kind in "iu":
        return x.astype(float)
    return x


def _mapped(x: Any, change: Callable[[Any], Any]) -> Any:
    parts = parts_of(x)
    if parts is None:
        return change(x)
    changed = [_mapped(child, change) for child in parts.children]
    if all(a is b for a, b in zip(changed, parts.children, strict=True)):
        return x
    return parts.build(changed)
