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
from chainrules_core import AbstractZero, Array, NoTangent, frule, rrule


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


def register(f: Callable, make: Callable) -> None:
    """Register the rules of an integral with these weights."""

    @functools.lru_cache(maxsize=4)
    def weights(n: int) -> np.ndarray:
        found = make(n)
        found.flags.writeable = False
        return found

    def fits(y: Any, x: Any, dx: Any, axis: Any) -> bool:
        if x is not None or np.ndim(dx) or np.ndim(y) != 1 or axis not in (0, -1):
            return False
        return y.dtype == np.float64 and np.size(y) > 1

    def record(y: Any, x: Any, dx: Any, axis: Any) -> Any:
        if not fits(y, x, dx, axis):
            return None
        found, w = f(y, dx=dx), weights(np.shape(y)[0])

        def integral_pullback(bar):
            return (bar * dx) * w, bar * np.dot(w, y)

        return found, integral_pullback

    def push(dots: tuple, y: Any, x: Any, dx: Any, axis: Any) -> Any:
        if not fits(y, x, dx, axis):
            return None
        w, (y_dot, dx_dot) = weights(np.shape(y)[0]), dots
        moved = 0.0 if isinstance(y_dot, AbstractZero) else dx * np.dot(w, y_dot)
        if not isinstance(dx_dot, AbstractZero):
            moved = moved + dx_dot * np.dot(w, y)
        return f(y, dx=dx), moved

    def with_places(y, x=None, dx=1.0, *, axis=-1):
        recorded = record(y, x, dx, axis)
        if recorded is None:
            return None
        found, pull = recorded

        def integral_pullback(bar):
            y_bar, dx_bar = pull(bar)
            return y_bar, NoTangent(), dx_bar

        return found, integral_pullback

    def with_places_frule(dots, y, x=None, dx=1.0, *, axis=-1):
        return push((dots[0], dots[2] if len(dots) > 2 else NoTangent()), y, x, dx, axis)

    def without_places(y, dx=1.0, *, axis=-1):
        return record(y, None, dx, axis)

    def without_places_frule(dots, y, dx=1.0, *, axis=-1):
        return push((dots[0], dots[1] if len(dots) > 1 else NoTangent()), y, None, dx, axis)

    is_romb = f is integrate.romb
    for target in both(f):
        rrule.register(target, Array)(without_places if is_romb else with_places)
        frule.register(target, Array)(without_places_frule if is_romb else with_places_frule)


register(integrate.trapezoid, trapezoid_weights)
register(integrate.simpson, simpson_weights)
register(integrate.romb, romb_weights)
