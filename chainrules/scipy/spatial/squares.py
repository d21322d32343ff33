"""Distances of pairs as a vector, one pair after the other, or as a symmetric matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import distance

from chainrules_core import decompose, ignore_derivatives, linear_rule, primitive


@primitive
def squared(v: Any) -> Any:
    """The symmetric matrix of a vector.

    Examples
    --------
    >>> squared(np.array([1.0, 2.0, 3.0]))
    array([[0., 1., 2.],
           [1., 0., 3.],
           [2., 3., 0.]])
    """
    return distance.squareform(v, "tomatrix", checks=False)


@primitive
def condensed(square: Any) -> Any:
    """What is above the diagonal, row after row."""
    return distance.squareform(square, "tovector", checks=False)


def squared_adjoint(bar, v):
    return condensed(bar + np.transpose(bar))


def condensed_adjoint(bar, square):
    return np.zeros(square.shape, square.dtype) if square.size < 2 else np.triu(squared(bar))


linear_rule(squared, squared_adjoint)
linear_rule(condensed, condensed_adjoint)


@decompose(distance.squareform, shaped_by=(0,))
def squareform_body(X, force="no", checks=True):
    X = np.asarray(X)
    if np.ndim(X) == 1 and force == "no":
        return squared(X)
    plain = distance.squareform(ignore_derivatives(X), force, checks)
    return condensed(X) if np.ndim(plain) == 1 else squared(X)
