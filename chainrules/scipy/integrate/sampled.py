"""Integrals of samples at equal distances: weighted sums of a vector. Other calls are traced.

The weights for a distance of 1, of n samples:

    trapezoid   ½, 1, …, 1, ½
    simpson     1/3 (1, 4, 2, …, 4, 1); for even n, of all but the last one, and then
                (-1, 8, 5)/12 for the last interval
    romb        Richardson's extrapolation of the trapezoidal sums with steps 1, 2, 4, …
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

from chainrules.scipy.delegated import both
from chainrules_core import AbstractZero, Array, NoTangent, pair_rule


def trapezoid_weights(n: int, step: int = 1) -> np.ndarray:
    """The weights of the trapezoidal rule on each `step`-th sample.

    Examples
    --------
    >>> trapezoid_weights(5, 2)
    array([1., 0., 2., 0., 1.])
    """
    weights = np.zeros(n)
    weights[::step] = step
    weights[[0, -1]] /= 2
    return weights


def simpson_weights(n: int) -> np.ndarray:
    """The weights of Simpson's rule.

    Examples
    --------
    >>> simpson_weights(5) * 3
    array([1., 4., 2., 4., 1.])
    """
    if n == 2:
        return np.full(2, 0.5)
    if n % 2 == 0:
        weights = np.append(simpson_weights(n - 1), 0.0)
        weights[-3:] += np.array([-1.0, 8.0, 5.0]) / 12
        return weights
    weights = np.full(n, 2 / 3)
    weights[1::2] = 4 / 3
    weights[[0, -1]] = 1 / 3
    return weights


def romb_weights(n: int) -> np.ndarray:
    """The weights of Romberg's rule, for 2ᵏ + 1 samples."""
    steps, step = [trapezoid_weights(n)], 2
    while step < n:
        steps.append(trapezoid_weights(n, step))
        step *= 2
    order = 1
    while len(steps) > 1:
        factor = 4**order
        steps = [
            (factor * fine - coarse) / (factor - 1) for fine, coarse in itertools.pairwise(steps)
        ]
        order += 1
    return steps[0]


def fits(y: Any, x: Any, dx: Any, axis: Any) -> bool:
    """Whether the samples are a vector at equal distances."""
    if x is not None or np.ndim(dx) or np.ndim(y) != 1 or axis not in (0, -1):
        return False
    return y.dtype == np.float64 and np.size(y) > 1


def weighted_sum(w: Any, y: Any, dx: Any) -> tuple[Callable, Callable]:
    """Return pushforward and pullback of ``dx * np.dot(w, y)``."""

    def integral_pushforward(y_dot, dx_dot):
        moved = 0.0 if isinstance(y_dot, AbstractZero) else dx * np.dot(w, y_dot)
        if not isinstance(dx_dot, AbstractZero):
            moved = moved + dx_dot * np.dot(w, y)
        return moved

    def integral_pullback(bar):
        return (bar * dx) * w, bar * np.dot(w, y)

    return integral_pushforward, integral_pullback


def remembered(make: Callable) -> Callable:
    """Keep the weights for the last few numbers of samples."""

    @functools.lru_cache(maxsize=4)
    def weights(n: int) -> np.ndarray:
        found = make(n)
        found.flags.writeable = False
        return found

    return weights


def register(f: Callable, weights: Callable) -> None:
    """Register the rules of an integral by the places of the samples or by their distance."""

    @pair_rule(both(f), Array, shaped_by=(0, 1, 2))
    def integral_rule(y, x=None, dx=1.0, *, axis=-1):
        if not fits(y, x, dx, axis):
            return None
        push, pull = weighted_sum(weights(np.shape(y)[0]), y, dx)

        def integral_pushforward(y_dot, x_dot, dx_dot):
            return push(y_dot, dx_dot)

        def integral_pullback(bar):
            y_bar, dx_bar = pull(bar)
            return y_bar, NoTangent(), dx_bar

        return f(y, dx=dx), integral_pushforward, integral_pullback


register(integrate.trapezoid, remembered(trapezoid_weights))
register(integrate.simpson, remembered(simpson_weights))
romb_weights_for = remembered(romb_weights)


@pair_rule(both(integrate.romb), Array, shaped_by=(0, 1))
def romb_rule(y, dx=1.0, *, axis=-1):
    if not fits(y, None, dx, axis):
        return None
    return integrate.romb(y, dx=dx), *weighted_sum(romb_weights_for(np.shape(y)[0]), y, dx)
