"""Statistics of one sample: the formulas for a vector of numbers. Other calls are traced.

With d = x - mean and the central moments m_k, of n numbers:

    moment    ∂m_k  = k/n (d^(k-1) - m_(k-1))
    skew      ∂s    = 3/n ((d² - m₂) / m₂^(3/2) - s d / m₂)
    kurtosis  ∂κ    = 4/n ((d³ - m₃) / m₂² - κ d / m₂),  κ = m₄ / m₂²
    gmean     ∂g    = g / (n x)
    hmean     ∂h    = h² / (n x²)

and for z = (x - mean) / σ the cotangent (z̄ - mean z̄ - z Σ z z̄ / (n - ddof)) / σ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from chainrules.scipy.delegated import both
from chainrules_core import AbstractZero, Array, frule, rrule


def is_sample(a: Any, axis: Any = 0) -> bool:
    """Whether this is a vector of real numbers in double precision, and all of it is meant."""
    return np.ndim(a) == 1 and a.dtype == np.float64 and np.size(a) > 1 and axis in (0, -1, None)


def is_regular(y: Any) -> bool:
    """Whether a statistic is a number; for others SciPy has branches, which tracing follows."""
    return bool(np.all(np.isfinite(y)))


def register(f: Callable, rule: Callable, push: Callable) -> None:
    """Register an rrule and an frule, for the function and what it wraps."""
    for target in both(f):
        rrule.register(target, Array)(rule)
        frule.register(target, Array)(push)


def register_outer(f: Callable, rule: Callable, push: Callable) -> None:
    """Register an rrule and an frule for the public function alone."""
    rrule.register(f, Array)(rule)
    frule.register(f, Array)(push)


def rules_of(f: Callable, slope: Callable) -> tuple[Callable, Callable]:
    """Return ``(rrule, frule)`` of ``f(a, *args)``, a number with this slope by `a`."""

    def value(a: Any, args: tuple, axis: Any) -> Any:
        y = f(a, *args, axis=axis) if is_sample(a, axis) else None
        return y if y is not None and is_regular(y) and np.all(np.not_equal(y, 0)) else None

    def statistic_rrule(a: Any, args: tuple, axis: Any) -> Any:
        y = value(a, args, axis)
        if y is None:
            return None

        def statistic_pullback(y_bar):
            return y_bar * slope(a, y, *args)

        return y, statistic_pullback

    def statistic_frule(dots: tuple, a: Any, args: tuple, axis: Any) -> Any:
        y = value(a, args, axis)
        return None if y is None else (y, np.dot(slope(a, y, *args), dots[0]))

    return statistic_rrule, statistic_frule


def register_statistic(f: Callable, slope: Callable, to: Callable = register) -> None:
    """Register the rules of a statistic with this slope."""
    record, push = rules_of(f, slope)
    to(
        f,
        lambda a, *, axis=0: record(a, (), axis),
        lambda dots, a, *, axis=0: push(dots, a, (), axis),
    )


def powers(a: Any, count: int) -> tuple[Any, list, list]:
    """Return n, the powers of the deviations from the mean up to one, and their means."""
    n = np.size(a)
    deviation = a - np.sum(a) / n
    found = [np.ones(()), deviation]
    while len(found) <= count:
        found.append(found[-1] * deviation)
    return n, found, [np.sum(p) / n if np.ndim(p) else 1.0 for p in found]


def moment_slope(a: Any, y: Any, order: int) -> Any:
    n, d, m = powers(a, order - 1)
    return (order / n) * (d[order - 1] - m[order - 1])


def skew_slope(a: Any, y: Any) -> Any:
    n, d, m = powers(a, 2)
    return (3 / n) * ((d[2] - m[2]) / m[2] ** 1.5 - (y / m[2]) * d[1])


def kurtosis_slope(a: Any, y: Any) -> Any:
    n, d, m = powers(a, 3)
    ratio = (y + 3) / m[2]
    return (4 / n) * ((d[3] - m[3]) / m[2] ** 2 - ratio * d[1])


register_statistic(stats.skew, skew_slope)
register_statistic(stats.kurtosis, kurtosis_slope)
# What is inside of the means is traced by formulas of its own, in which numbers may be 0.
register_statistic(stats.gmean, lambda a, y: (y / np.size(a)) / a, register_outer)
register_statistic(stats.hmean, lambda a, y: (y * y / np.size(a)) / (a * a), register_outer)

_moment_rrule, _moment_frule = rules_of(stats.moment, moment_slope)


def _is_order(order: Any) -> bool:
    return type(order) is int and 2 <= order <= 8


register(
    stats.moment,
    lambda a, *, order=1, axis=0: _moment_rrule(a, (order,), axis) if _is_order(order) else None,
    lambda dots, a, *, order=1, axis=0: (
        _moment_frule(dots, a, (order,), axis) if _is_order(order) else None
    ),
)


# ---------------------------------------------------------------------------------------- scores


def scale_of(a: Any, ddof: Any) -> tuple[Any, Any]:
    """Return the deviations from the mean and their standard deviation."""
    deviation = a - np.sum(a) / np.size(a)
    return deviation, np.sqrt(np.dot(deviation, deviation) / (np.size(a) - ddof))


def zscore_rrule(a, *, axis=0, ddof=0):
    z = stats.zscore(a, axis=axis, ddof=ddof) if is_sample(a, axis) else None
    if z is None or not is_regular(z):
        return None

    def zscore_pullback(z_bar):
        n = np.size(a)
        along = np.dot(z, z_bar) / (n - ddof)
        return (z_bar - np.sum(z_bar) / n - along * z) / scale_of(a, ddof)[1]

    return z, zscore_pullback


def zscore_frule(dots, a, *, axis=0, ddof=0):
    z = stats.zscore(a, axis=axis, ddof=ddof) if is_sample(a, axis) else None
    if z is None or not is_regular(z):
        return None
    a_dot, n = dots[0], np.size(a)
    along = np.dot(z, a_dot) / (n - ddof)
    return z, (a_dot - np.sum(a_dot) / n - along * z) / scale_of(a, ddof)[1]


register(stats.zscore, zscore_rrule, zscore_frule)


def are_samples(scores: Any, compare: Any, axis: Any) -> bool:
    return is_sample(compare, axis) and is_sample(scores, axis)


def zmap_rrule(scores, compare, *, axis=0, ddof=0):
    z = stats.zmap(scores, compare, axis, ddof) if are_samples(scores, compare, axis) else None
    if z is None or not is_regular(z):
        return None

    def zmap_pullback(z_bar):
        deviation, size = scale_of(compare, ddof)
        n = np.size(compare)
        along = np.dot(z, z_bar) / ((n - ddof) * size * size)
        return z_bar / size, -(along * deviation + np.sum(z_bar) / (n * size))

    return z, zmap_pullback


def zmap_frule(dots, scores, compare, *, axis=0, ddof=0):
    z = stats.zmap(scores, compare, axis, ddof) if are_samples(scores, compare, axis) else None
    if z is None or not is_regular(z):
        return None
    deviation, size = scale_of(compare, ddof)
    n, moved = np.size(compare), 0.0
    if not isinstance(dots[0], AbstractZero):
        moved = dots[0] / size
    if not isinstance(dots[1], AbstractZero):
        along = np.dot(deviation, dots[1]) / ((n - ddof) * size * size)
        moved = moved - np.sum(dots[1]) / (n * size) - along * z
    return z, moved


for _f in both(stats.zmap):
    rrule.register(_f, Array, Array)(zmap_rrule)
    frule.register(_f, Array, Array)(zmap_frule)
