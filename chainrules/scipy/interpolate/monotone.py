"""The slopes of ``PchipInterpolator``, of Fritsch and Butland's formula.

With h the widths of two pieces that meet and m their divided differences, the slope where they meet
is a weighted harmonic mean

    s = (w₁ + w₂) / q,    q = w₁/m₀ + w₂/m₁,    w₁ = 2 h₁ + h₀,  w₂ = h₁ + 2 h₀,

or 0 where m₀ and m₁ are not of one sign. At an end it is that of a parabola,

    s = ((2 h₀ + h₁) m₀ - h₀ m₁) / (h₀ + h₁),

but 0 if it has not the sign of m₀, and 3 m₀ if m₀ and m₁ differ in sign and it is longer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import PchipInterpolator

from chainrules.scipy.interpolate.cubic import at_both_ends, in_namespace, per_piece
from chainrules_core import Array, decompose, frule, ignore_derivatives, primitive, rrule

NAMESPACE = in_namespace(PchipInterpolator._find_derivatives)


@primitive
def slopes(x: Any, y: Any) -> Any:
    """Return the slopes at breaks `x` of monotone pieces through values `y`."""
    columns = np.reshape(x, (-1,) + (1,) * (np.ndim(y) - 1))
    return PchipInterpolator._find_derivatives(columns, y, **NAMESPACE)


def inner(h: Any, m: Any, s: Any) -> tuple[Any, Any, Any, Any]:
    """Return the derivatives of inner slopes by the widths and differences before and behind."""
    before, behind = m[:-1], m[1:]
    signs = np.sign(ignore_derivatives(m))
    one_way = (signs[:-1] == signs[1:]) & (signs[1:] != 0)
    before, behind = np.where(one_way, before, 1.0), np.where(one_way, behind, 1.0)
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    scale = one_way / (w1 / before + w2 / behind)
    s = s[1:-1]
    return (
        (3 - s * (1 / before + 2 / behind)) * scale,
        (3 - s * (2 / before + 1 / behind)) * scale,
        s * scale * w1 / before**2,
        s * scale * w2 / behind**2,
    )


def of_the_end(h: Any, m: Any) -> tuple[Any, Any, Any, Any]:
    """Return the derivatives of the slope at an end by its two widths and differences."""
    both = h[0] + h[1]
    s = ((2 * h[0] + h[1]) * m[0] - h[0] * m[1]) / both
    near, far, slope = (ignore_derivatives(v) for v in (m[0], m[1], s))
    flat = np.sign(slope) != np.sign(near)
    steep = ~flat & (np.sign(near) != np.sign(far)) & (np.abs(slope) > 3 * np.abs(near))
    smooth = ~(flat | steep)
    return (
        smooth * (2 * m[0] - m[1] - s) / both,
        smooth * (m[0] - s) / both,
        smooth * (2 * h[0] + h[1]) / both + 3.0 * steep,
        -h[0] * smooth / both,
    )


def partials(x: Any, y: Any, s: Any) -> tuple[Any, Any, tuple]:
    """Return the widths, the differences, and the derivatives of all slopes by those around."""
    h = per_piece(x, np.ndim(y))
    m = (y[1:] - y[:-1]) / h
    ends = of_the_end(h[:2], m[:2]), of_the_end(h[:-3:-1], m[:-3:-1])
    return h, m, (inner(h, m, s), *ends)


def to_pieces(first: Any, inside: tuple, last: Any) -> Any:
    """Add up what belongs to each piece: by the slope behind it, and by that before it.

    `first` and `last` are those of the ends, the outer piece first.
    """
    total = at_both_ends(*inside)
    none = 0 * total[2:]
    start = np.concatenate([first[0][None], first[1][None], none])
    return total + start + np.concatenate([none, last[1][None], last[0][None]])


@rrule.register(slopes, Array, Array)
def slopes_rrule(x, y):
    s = slopes(x, y)

    def slopes_pullback(s_bar):
        if np.shape(x)[0] == 2:
            h = per_piece(x, np.ndim(y))
            by_m = s_bar[:1] + s_bar[1:]
            m, by_h = (y[1:] - y[:-1]) / h, 0.0
        else:
            h, m, (inside, first, last) = partials(x, y, s)
            bar = s_bar[1:-1]
            by_h, by_m = (
                to_pieces(
                    [first[i] * s_bar[0], first[i + 1] * s_bar[0]],
                    (inside[i] * bar, inside[i + 1] * bar),
                    [last[i] * s_bar[-1], last[i + 1] * s_bar[-1]],
                )
                for i in (0, 2)
            )
        by_step = by_m / h
        by_h = by_h - by_step * m
        by_h = np.sum(np.reshape(by_h, (np.shape(h)[0], -1)), axis=1)
        return at_both_ends(-by_h, by_h), at_both_ends(-by_step, by_step)

    return s, slopes_pullback


@frule.register(slopes, Array, Array)
def slopes_frule(dots, x, y):
    x_dot, y_dot = dots
    s = slopes(x, y)
    h, h_dot = per_piece(x, np.ndim(y)), per_piece(x_dot, np.ndim(y))
    m_dot = (y_dot[1:] - y_dot[:-1] - (y[1:] - y[:-1]) / h * h_dot) / h
    if np.shape(x)[0] == 2:
        return s, np.concatenate([m_dot, m_dot])
    _, _, (inside, first, last) = partials(x, y, s)

    def moved(p: tuple, h_dots: tuple, m_dots: tuple) -> Any:
        return p[0] * h_dots[0] + p[1] * h_dots[1] + p[2] * m_dots[0] + p[3] * m_dots[1]

    parts = [
        moved(first, (h_dot[0], h_dot[1]), (m_dot[0], m_dot[1]))[None],
        moved(inside, (h_dot[:-1], h_dot[1:]), (m_dot[:-1], m_dot[1:])),
        moved(last, (h_dot[-1], h_dot[-2]), (m_dot[-1], m_dot[-2]))[None],
    ]
    return s, np.concatenate(parts)


@decompose(PchipInterpolator._find_derivatives)
def find_derivatives_body(x, y, xp=None):
    return slopes(np.reshape(x, (-1,)), y)
