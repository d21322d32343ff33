"""Piecewise polynomials: what `PPoly`, `BPoly` and `NdPPoly` compute in C.

In the piece that begins at x_i, with s = x - x_i and k coefficients, the highest first, the ν-th
derivative is Σ_p p!/(p-ν)! c_{k-1-p} s^{p-ν}, and so for negative ν, which integrates from x_i on.
A polynomial in the Bernstein basis is differentiated by differences of its coefficients,
c'_j = (k-1) (c_{j+1} - c_j) / h, and evaluated by de Casteljau's recursion.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from chainrules.scipy.interpolate.kernels import falling, kernel, polished
from chainrules.scipy.private import Private
from chainrules_core import (
    Array,
    NoTangent,
    frule,
    ignore_derivatives,
    non_differentiable,
    primitive,
    rrule,
    thunk,
)
from chainrules_core.authoring import scatter

_ppoly = Private("interpolate._ppoly")


def pieces(breaks: Any, x: Any) -> Any:
    """Return the number of the piece in which each place lies, the outer ones reaching outside."""
    breaks, x = ignore_derivatives(breaks), ignore_derivatives(x)
    if breaks[-1] < breaks[0]:
        breaks, x = -breaks, -x
    return np.clip(np.searchsorted(breaks, x, "right") - 1, 0, np.shape(breaks)[0] - 2)


def outside(breaks: Any, x: Any) -> Any:
    """Whether each place is beyond the ends, or nowhere."""
    breaks, x = ignore_derivatives(breaks), ignore_derivatives(x)
    ends = np.minimum(breaks[0], breaks[-1]), np.maximum(breaks[0], breaks[-1])
    return ~((x >= ends[0]) & (x <= ends[1]))


def blanked(y: Any, breaks: Any, x: Any, extrapolate: bool) -> Any:
    """`y`, NaN where it belongs to places that are not to be extrapolated to."""
    missing = np.isnan(ignore_derivatives(x)) if extrapolate else outside(breaks, x)
    return np.where(missing[:, None], np.nan, y) if np.any(missing) else y


def horner(c: Any, s: Any, nu: int) -> Any:
    """Evaluate polynomials c[:, place, j] and their derivatives at s[place]."""
    k = np.shape(c)[0]
    s = s[:, None]
    if k <= nu:
        return 0.0 * c[0] * s
    y: Any = falling(k - 1, nu) * c[0]
    y = y + 0.0 * s  # a constant is NaN, too, where there is no place
    for p in range(k - 2, max(nu, 0) - 1, -1):
        y = y * s + falling(p, nu) * c[k - 1 - p]
    for _ in range(-nu):
        y = y * s
    return y


@primitive
def in_pieces(c: Any, s: Any, i: Any, nu: int) -> Any:
    """Evaluate the i-th piece of c[:, :, j], or its derivative, at each distance from its start."""
    return horner(np.take(c, i, axis=1), s, nu)


@rrule.register(in_pieces, Array, Array)
def in_pieces_rrule(c, s, i, nu):
    here = np.take(c, i, axis=1)
    y = horner(here, s, nu)

    def in_pieces_pullback(y_bar):
        here_, s_ = here, s
        if not np.all(np.isfinite(ignore_derivatives(y))):
            silent = np.all(ignore_derivatives(y_bar) == 0, axis=1)  # places without a value
            here_, s_ = np.where(silent[:, None], 0.0, here), np.where(silent, 0.0, s)

        def c_bar():
            n, power = np.shape(c)[0], y_bar
            parts = [0 * y_bar] * min(nu, n)
            for p in range(nu, n):
                parts.append(falling(p, nu) * power)
                power = power * s_[:, None]
            return scatter(np.stack(parts[::-1]), (slice(None), i), np.shape(c), c.dtype)

        def s_bar():
            return np.sum(np.real(y_bar * np.conj(horner(here_, s_, nu + 1))), axis=1)

        return thunk(c_bar), thunk(s_bar), NoTangent(), NoTangent()

    return y, in_pieces_pullback


@frule.register(in_pieces, Array, Array)
def in_pieces_frule(dots, c, s, i, nu):
    c_dot, s_dot = dots[:2]
    moved = in_pieces(c_dot, s, i, nu)
    return in_pieces(c, s, i, nu), moved + in_pieces(c, s, i, nu + 1) * s_dot[:, None]


@non_differentiable
def located(breaks: Any, x: Any, extrapolate: bool) -> tuple[Any, Any]:
    """Return the piece in which each place lies, and which are to be NaN; None for none."""
    missing = np.isnan(x) if extrapolate else outside(breaks, x)
    return pieces(breaks, x), missing if np.any(missing) else None


@kernel("evaluate", _ppoly)
def evaluate_body(c, x, xp, dx, extrapolate, out):
    i, missing = located(x, xp, extrapolate)
    y = in_pieces(c, xp - x[i], i, dx)
    out[...] = y if missing is None else np.where(missing[:, None], np.nan, y)


@kernel("integrate", _ppoly)
def integrate_body(c, x, a, b, extrapolate, out=None):
    ends = np.stack([np.asarray(a, dtype=float), np.asarray(b, dtype=float)])
    i = pieces(x, ends)
    whole = horner(c, x[1:] - x[:-1], -1)
    before = np.concatenate([0 * whole[:1], np.cumsum(whole, axis=0)])
    y = before[i] + horner(c[:, i], ends - x[i], -1)
    y = blanked(y, x, ends, extrapolate)
    if out is None:  # the engine writes into an array given by name
        return y[1] - y[0]
    out[...] = y[1] - y[0]
    return None


@kernel("fix_continuity", _ppoly)
def fix_continuity_body(c, x, order):
    k = np.shape(c)[0]
    h = x[1:-1] - x[:-2]
    for j in range(min(order, k - 1), -1, -1):
        # The coefficient of s**j is what the piece before comes to, from the first piece on.
        step = sum(
            math.comb(p, j) * c[k - 1 - p, :-1] * h[:, None] ** (p - j) for p in range(j + 1, k)
        )
        if k - 1 > j:
            c[k - 1 - j, 1:] = c[k - 1 - j, :1] + np.cumsum(step, axis=0)


@kernel("real_roots", _ppoly)
def real_roots_body(c, x, y, report_discont, extrapolate):
    plain = [ignore_derivatives(v) for v in (c, x, y)]
    found = _ppoly.real_roots(*plain, report_discont, extrapolate)
    return [solution(c[:, :, j], x, y, roots) for j, roots in enumerate(found)]


def solution(c: Any, x: Any, y: Any, roots: Any) -> Any:
    """Return the roots of one piecewise polynomial, differentiably."""
    if not roots.size:
        return roots
    breaks = ignore_derivatives(x)
    kept = np.isnan(roots)  # after the start of a piece that is zero throughout
    kept = kept | np.append(kept[1:], False)
    i = pieces(breaks, roots)
    at_break = np.isin(roots, breaks)

    def residual(at: Any) -> Any:
        return horner(c[:, i, None], at - x[i], 0)[:, 0] - y

    size = 1.0 + np.abs(ignore_derivatives(c)).max()
    jumps = at_break & (np.abs(ignore_derivatives(residual(roots))) > 1e-8 * size)
    kept = kept | jumps
    place = np.searchsorted(np.sort(breaks), roots)
    at_place = np.argsort(breaks)[np.clip(place, 0, len(breaks) - 1)]

    def slope(at: Any) -> Any:
        return np.where(kept, 1.0, horner(c[:, i, None], at - x[i], 1)[:, 0])

    smooth = polished(
        np.where(kept, breaks[0], roots),
        lambda at: np.where(kept, 0.0, residual(at)),
        slope,
        "PPoly",
    )
    if not np.any(kept):
        return smooth
    return np.where(np.isnan(roots), np.nan, np.where(kept, x[at_place], smooth))


@kernel("evaluate_bernstein", _ppoly)
def evaluate_bernstein_body(c, x, xp, nu, extrapolate, out):
    i = pieces(x, xp)
    h = (x[i + 1] - x[i])[:, None]
    s = (xp - x[i])[:, None] / h
    b = [c[j, i] for j in range(np.shape(c)[0])]
    for _ in range(nu):
        n = len(b) - 1
        b = [n * (above - below) / h for below, above in itertools.pairwise(b)]
    if not b:
        b = [0 * c[0, i]]
    while len(b) > 1:
        b = [(1 - s) * below + s * above for below, above in itertools.pairwise(b)]
    out[...] = blanked(b[0] + 0 * s, x, xp, extrapolate)


@kernel("evaluate_nd", _ppoly)
def evaluate_nd_body(c, xs, ks, xp, dx, extrapolate, out):
    flat: Any = 0
    weights: Any = np.ones((np.shape(xp)[0], 1))
    missing = np.zeros(np.shape(xp)[0], bool)
    for j, breaks in enumerate(xs):
        x = xp[:, j]
        i = pieces(breaks, x)
        flat = flat * (np.shape(breaks)[0] - 1) + i
        s = x - breaks[i]
        k, nu = int(ks[j]), int(dx[j])
        along = [falling(p, nu) * s ** (p - nu) if p >= nu else 0 * s for p in range(k - 1, -1, -1)]
        weights = weights[:, :, None] * np.stack(along, -1)[:, None, :]
        weights = np.reshape(weights, (np.shape(xp)[0], -1))
        missing = missing | (np.isnan(x) if extrapolate else outside(breaks, x))
    y = np.einsum("rd,drn->rn", weights, c[:, flat])
    out[...] = np.where(missing[:, None], np.nan, y) if np.any(missing) else y
