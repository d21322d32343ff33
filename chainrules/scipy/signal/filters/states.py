"""Initial states of filters, and a transformation, whose derivatives do not end at a branch.

SciPy divides by a₀ unless it is 1, and takes a frequency to powers unless it is 1: there the branch
that is taken does not show the derivative. Here both are always done.

The state z in which ``lfilter`` answers a step at once is the fixed point of its recursion,
(1 - Cᵀ) z = b₁… - a₁… b₀ with the companion matrix C of a, all divided by a₀. The state that a past
(y₋₁, y₋₂, …; x₋₁, x₋₂, …) leaves is z_m = Σ_n (b_{m+1+n} x_n - a_{m+1+n} y_n) / a₀.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import signal

from chainrules.scipy.delegated import both
from chainrules.transforms.linear import fitted
from chainrules_core import decompose, non_differentiable


@non_differentiable
def checked(f: Any, *args: Any) -> Any:
    """Let SciPy check the arguments, and give its own result."""
    return f(*args)


@decompose(both(signal.lfilter_zi))
def lfilter_zi_body(b, a):
    order = np.size(checked(signal.lfilter_zi, b, a))
    b, a = np.atleast_1d(b), np.atleast_1d(a)
    a = a[int(np.flatnonzero(a)[0]) :]
    b, a = fitted(b / a[0], order + 1, 0), fitted(a / a[0], order + 1, 0)
    shift = np.eye(order) - np.eye(order, k=1)
    past = np.concatenate([np.reshape(a[1:], (-1, 1)), np.zeros((order, max(order - 1, 0)))], 1)
    return np.linalg.solve(shift + past[:, :order], b[1:] - a[1:] * b[0])


def left_by(taps: Any, past: Any, order: int) -> Any:
    """Return Σ_n taps[m+1+n] past[n] for each m."""
    if np.size(past) == 0 or np.size(taps) < 2:
        return np.zeros(order)
    return fitted(np.correlate(taps, np.conj(past), "full")[np.size(past) :], order, 0)


# Older versions of SciPy forgot to divide here.
DIVIDES = abs(signal.lfiltic([1.0], [2.0, 1.0], [1.0])[0]) < 0.75


@decompose(both(signal.lfiltic))
def lfiltic_body(b, a, y, x=None):
    state = checked(signal.lfiltic, b, a, y, x)
    order = np.size(state)
    b, a, y = np.atleast_1d(b), np.atleast_1d(a), np.atleast_1d(y)
    left = -left_by(a, y, order)
    if x is not None:
        left = left + left_by(b, np.atleast_1d(x), order)
    return np.asarray(left / a[0] if DIVIDES else left, state.dtype)


@decompose(both(signal.lp2hp))
def lp2hp_body(b, a, wo=1.0):
    checked(signal.lp2hp, b, a, wo)
    b, a = np.atleast_1d(b) * 1.0, np.atleast_1d(a) * 1.0
    n = max(np.size(b), np.size(a))
    powers = np.reshape(wo, (-1,))[0] ** np.arange(n)

    def swapped(p: Any) -> Any:
        return fitted(np.flip(p) * powers[: np.size(p)], n, 0)

    return signal.normalize(swapped(b), swapped(a))
