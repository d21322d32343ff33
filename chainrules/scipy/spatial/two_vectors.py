"""Distances of two vectors of real numbers, in as few passes over them as there can be.

With d = u - v the derivatives of |d|² and |d| by u are 2d and d / |d| (0 at distance 0), those by v
the same with the other sign. The distance by the angle, 1 - c with c = u·v / (|u| |v|), has
-(v - (u·v / |u|²) u) / (|u| |v|) by u; if the vectors are centred first it has the same, of the
centred ones, since these add up to 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import blas
from scipy.spatial import distance

from chainrules.scipy.radii import over
from chainrules_core import AbstractZero, frule, pair_rule, primitive, rrule
from chainrules_core.authoring import is_foreign


def are_plain(u: Any, v: Any) -> bool:
    """Whether these are two vectors of double precision, of the same length."""
    for x in (u, v):
        if np.ndim(x) != 1 or getattr(x, "dtype", None) != np.float64:
            return False
    return np.shape(u) == np.shape(v)


@primitive
def apart(u: Any, v: Any, is_square: bool = False) -> Any:
    """The distance of two vectors, or its square."""
    return distance.sqeuclidean(u, v) if is_square else distance.euclidean(u, v)


@pair_rule(apart)
def apart_rule(u: Any, v: Any, *, is_square: bool = False) -> tuple[Any, Callable]:
    y = apart(u, v, is_square)

    def apart_pushforward(u_dot: Any, v_dot: Any) -> Any:
        if isinstance(u_dot, AbstractZero) or isinstance(v_dot, AbstractZero):
            moved = -v_dot if isinstance(u_dot, AbstractZero) else u_dot
        else:
            moved = u_dot - v_dot
        along = np.dot(u - v, moved)
        return 2 * along if is_square else over(along, y)

    def apart_pullback(y_bar):
        bar = (2 * y_bar if is_square else over(y_bar, y)) * (u - v)
        return bar, -bar

    return y, apart_pushforward, apart_pullback


@primitive
def angle(u: Any, v: Any, is_centred: bool = False) -> Any:
    """The distance of two vectors by their angle, or by that of the centred vectors."""
    return distance.correlation(u, v, centered=is_centred)


def products(u: Any, v: Any, is_centred: bool) -> tuple:
    """Return the vectors, centred if that is wanted, and u·v, u·u, v·v and |u| |v|."""
    if is_centred:
        u, v = u - np.mean(u), v - np.mean(v)
    both, of_u, of_v = np.dot(u, v), np.dot(u, u), np.dot(v, v)
    return u, v, both, of_u, of_v, np.sqrt(of_u * of_v)


def slopes(known: tuple, wanted: tuple[bool, bool], factor: Any) -> list:
    """Return the derivatives of the distance that are wanted, times a factor."""
    u, v, both, of_u, of_v, sizes = known
    other, own = factor / sizes, factor * both / sizes
    sides = ((u, v, of_u), (v, u, of_v))
    return [
        combined(own / size, x, -other, z) if is_wanted else None
        for (x, z, size), is_wanted in zip(sides, wanted, strict=True)
    ]


def combined(a: Any, x: Any, b: Any, z: Any) -> Any:
    """A x + b z, in two passes where it is plain."""
    if any(is_foreign(p) for p in (a, x, b, z)):
        return a * x + b * z
    return blas.daxpy(z, a * x, a=b)


@rrule.register(angle)
def angle_rrule(u: Any, v: Any, *, is_centred: bool = False) -> tuple[Any, Callable]:
    def angle_pullback(y_bar):
        found = products(u, v, is_centred) if known is None else known
        return tuple(slopes(found, (True, True), y_bar))

    if is_foreign(u) or is_foreign(v):
        known = None
        return angle(u, v, is_centred), angle_pullback
    # What SciPy computes.
    known = products(u, v, is_centred)
    y = 1.0 - known[2] / known[-1]
    return np.float64(0.0) if y < 0 else np.float64(2.0) if y > 2 else y, angle_pullback


@frule.register(angle)
def angle_frule(dots: tuple, u: Any, v: Any, *, is_centred: bool = False) -> tuple[Any, Any]:
    wanted = tuple([not isinstance(dot, AbstractZero) for dot in dots])
    found = zip(slopes(products(u, v, is_centred), wanted, 1.0), dots, strict=True)
    moved = [np.dot(slope, dot) for slope, dot in found if slope is not None]
    return angle(u, v, is_centred), moved[0] if len(moved) == 1 else moved[0] + moved[1]
