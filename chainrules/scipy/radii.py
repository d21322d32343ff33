"""Functions of a distance, of its square q: where that is 0 their derivatives are 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_core import primitive, scalar_rule


def over(a: Any, b: Any) -> Any:
    """A / b, and 0 where b is 0."""
    zero = np.equal(b, 0)
    return np.where(zero, 0.0, a / np.where(zero, 1.0, b)) if np.any(zero) else a / b


def sides(x: Any, p: Any) -> Any:
    """Return |x|, to be raised to a power p.

    For p > 1 the kink at 0 is none of the power's. There the slopes are those of one side, which
    the second derivative of the power needs.
    """
    return np.where(p > 1, np.where(x < 0, -x, x), np.abs(x))


@primitive
def root(q: Any) -> Any:
    """The distance.

    Examples
    --------
    >>> root(np.array([0.0, 4.0]))
    array([0., 2.])
    """
    return np.sqrt(q)


@primitive
def plate(q: Any) -> Any:
    """r² log r, and 0 where r is.

    Examples
    --------
    >>> plate(np.array([0.0, 1.0]))
    array([0., 0.])
    """
    return q * np.log(np.where(np.equal(q, 0), 1.0, q)) / 2


scalar_rule(root, lambda y, q: over(0.5, y))
scalar_rule(plate, lambda y, q: np.where(np.equal(q, 0), 0.0, over(y, q) + 0.5))
