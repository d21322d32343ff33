"""Distances of all pairs that are sums or maxima of differences of coordinates.

For "cityblock" d_ij = Σ_c |a_ic - b_jc| and for "chebyshev", the largest of them, ∂d_ij/∂a_ic is
the sign of the difference, in the latter only where it is the largest, divided by how many are. One
coordinate after the other is looked at, so that no array is larger than the distances themselves.
Where it exists the derivative is constant: what is linear in cotangents and tangents here has
itself as its derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import distance

from chainrules.scipy.spatial.squares import condensed, squared
from chainrules_core import frule, ignore_derivatives, linear_rule, pair_rule, primitive, rrule
from chainrules_core.authoring import strong_product, turned_by_sign, where_true

LARGEST, SUM = "chebyshev", "cityblock"


class Slopes:
    """The derivatives of distances by the differences of one coordinate after the other."""

    def __init__(self, a: np.ndarray, b: np.ndarray, y: np.ndarray, metric: str) -> None:
        self.y, self.metric, self.has_nan = y, metric, bool(np.any(np.isnan(y)))
        self.columns = [np.ascontiguousarray(np.transpose(x)) for x in (a, b)]
        self.differences, self.sizes = np.empty(y.shape), np.empty(y.shape)
        self.counts = np.zeros(y.shape, np.intp if len(a.T) > 255 else np.uint8)

    def times(self, g: np.ndarray, c: int) -> np.ndarray:
        """`g` times the derivatives by a coordinate, but for ties, which are counted."""
        d = np.subtract(self.columns[0][c, :, None], self.columns[1][c], out=self.differences)
        has_sign = not (self.has_nan or np.any(np.equal(d, 0)))
        signed = turned_by_sign(g, d) if has_sign else None
        if signed is None:  # of an infinite vector and itself the difference is NaN, and g is 0
            signed = strong_product(np.sign(d), g)
        if self.metric == SUM:
            return signed
        is_largest = np.equal(np.abs(d, out=self.sizes), self.y)
        self.counts += is_largest.view(np.uint8)
        return where_true(is_largest, signed)

    def shares(self) -> np.ndarray | None:
        """How many coordinates share the derivative, once all have been looked at; None for one."""
        if self.metric == SUM or not np.any(self.counts > 1):
            return None
        return np.maximum(self.counts, 1)


@primitive
def pulled(g: Any, a: Any, b: Any, y: Any, metric: str) -> Any:
    """The cotangents of `a` and, below, of `b`, from those of the distances."""
    slopes = Slopes(a, b, y, metric)
    bars = sums_of_shares(slopes, g)
    shares = slopes.shares()
    return bars if shares is None else sums_of_shares(slopes, g / shares)


def sums_of_shares(slopes: Slopes, g: np.ndarray) -> np.ndarray:
    """The sums of `g` times the derivatives over all pairs with a vector."""
    a, b = slopes.columns
    bars = np.zeros((len(a), a.shape[1] + b.shape[1]))
    for_a, for_b = np.ones(b.shape[1]), np.ones(a.shape[1])
    for c, row in enumerate(bars):
        t = slopes.times(g, c)
        row[: len(for_b)], row[len(for_b) :] = np.matmul(t, for_a), -np.matmul(for_b, t)
    return bars.T


@primitive
def pushed(dots: Any, a: Any, b: Any, y: Any, metric: str) -> Any:
    """The tangents of the distances, from those of `a` and, below, of `b`."""
    slopes, total = Slopes(a, b, y, metric), np.zeros(np.shape(y))
    for c in range(len(a.T)):
        total += slopes.times(dots[: len(a), c, None] - dots[len(a) :, c], c)
    shares = slopes.shares()
    return total if shares is None else total / shares


def pulled_adjoint(bar, g, *, a, b, y, metric):
    return pushed(bar, a, b, y, metric)


def pushed_adjoint(bar, dots, *, a, b, y, metric):
    return pulled(bar, a, b, y, metric)


linear_rule(pulled, pulled_adjoint)
linear_rule(pushed, pushed_adjoint)


@primitive
def distances(a: Any, b: Any, metric: str) -> Any:
    """The distances of each vector of `a` from each of `b`, by one of the two metrics."""
    return distance.cdist(a, b, metric)


@rrule.register(distances)
def distances_rrule(a, b, *, metric):
    y = distances(a, b, metric)
    given = [ignore_derivatives(x) for x in (a, b, y)]
    n = len(a)

    def distances_pullback(y_bar):
        bars = pulled(y_bar, *given, metric)
        return bars[:n], bars[n:]

    return y, distances_pullback


@frule.register(distances)
def distances_frule(dots, a, b, *, metric):
    y = distances(a, b, metric)
    given = [ignore_derivatives(x) for x in (a, b, y)]
    return y, pushed(np.concatenate(dots), *given, metric)


@primitive
def pair_distances(x: Any, metric: str) -> Any:
    """The same for each pair of vectors, one after the other."""
    return distance.pdist(x, metric)


@pair_rule(pair_distances)
def pair_distances_rule(x, *, metric):
    y = pair_distances(x, metric)
    given, square = ignore_derivatives(x), squared(ignore_derivatives(y))

    def pair_distances_pushforward(x_dot):
        moved = pushed(np.concatenate([x_dot, x_dot]), given, given, square, metric)
        return condensed(moved)

    def pair_distances_pullback(y_bar):
        # Either vector of a pair is the first one in one of the halves.
        g = squared(y_bar)
        return pulled(g, given, given, square, metric)[: len(x)]

    return y, pair_distances_pushforward, pair_distances_pullback
