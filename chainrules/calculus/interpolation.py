"""``np.interp``: piecewise linear interpolation.

Between the nodes p_j and p_{j+1}, with t = (x - p_j) / (p_{j+1} - p_j) and the slope
s = (f_{j+1} - f_j) / (p_{j+1} - p_j), it is y = (1 - t) f_j + t f_{j+1}, so

    ∂y/∂x = s,  ∂y/∂f_j = 1 - t,  ∂y/∂f_{j+1} = t,  ∂y/∂p_j = -(1 - t) s,  ∂y/∂p_{j+1} = -t s.

Outside it is f_0 or f_{n-1}, or the values given for the left and the right. At a node the slopes
of both sides count half, outside the slope is 0. With a period, x and the nodes are reduced to it,
the nodes sorted, and the last one put before the first and the first behind the last.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chainrules_core import NoTangent, Numeric, conj, pair_rule, thunk
from chainrules_core.authoring import fit, precise, scatter


class Line(NamedTuple):
    """The interval and the position in it of each x."""

    j: Any
    """The node before it."""
    t: Any
    """How far it is on the way to the next node, 0 outside."""
    slope: Any
    below: Any
    above: Any


def line_at(x: Any, xp: Any, fp: Any) -> Line:
    """Find each x among the nodes."""
    n = np.shape(xp)[0]
    below, above = np.less(x, xp[0]), np.greater(x, xp[-1])
    if n == 1:
        j = np.zeros(np.shape(x), np.intp)
        return Line(j, np.zeros(np.shape(x)), np.zeros(np.shape(x)), below, above)
    widths = np.diff(xp)
    slopes = np.diff(fp) / np.where(widths == 0, 1, widths)
    slopes = np.concatenate([[0.0], slopes, [0.0]])
    right = np.searchsorted(xp, x, "right")
    if np.all(np.greater(widths, 0)):
        left = right - np.equal(x, xp[np.maximum(right - 1, 0)])
    else:
        left = np.searchsorted(xp, x, "left")
    slope = (slopes[left] + slopes[right]) / 2
    j = np.clip(right - 1, 0, n - 2)
    inside = np.logical_and(np.greater_equal(x, xp[0]), np.less(x, xp[-1]))
    width = np.where(inside, xp[j + 1] - xp[j], 1.0)
    t = np.where(inside, (x - xp[j]) / width, np.where(np.equal(x, xp[-1]), 1.0, 0.0))
    return Line(j, t, slope, below, above)


def ends(x_bar: Any, line: Line, n: int) -> Any:
    """Hand what belongs to each x to the nodes on both sides of it, in parts 1 - t and t."""
    if n == 1:
        return np.reshape(np.sum(x_bar), (1,))
    x_bar = np.where(line.above, 0.0, x_bar)
    first = scatter((1 - line.t) * x_bar, line.j, (n,), np.float64)
    return first + scatter(line.t * x_bar, line.j + 1, (n,), np.float64)


def value_between(f: Any, line: Line, n: int) -> Any:
    """Interpolate linearly between values at the nodes; above the last one it is 0."""
    if n == 1:
        return f[line.j]
    return np.where(line.above, 0.0, (1 - line.t) * f[line.j] + line.t * f[line.j + 1])


class Interpolation:
    """The derivative of an interpolation without a period."""

    def __init__(self, x: Any, xp: Any, fp: Any, left: Any, right: Any) -> None:
        self.n = np.shape(xp)[0]
        self.has_left, self.has_right = left is not None, right is not None
        self.line = line_at(x, xp, fp)

    def pull_x(self, y_bar: Any) -> Any:
        """The cotangent of the places."""
        return np.real(conj(self.line.slope) * y_bar)

    def pull_xp(self, y_bar: Any) -> Any:
        """The cotangent of the nodes."""
        return -ends(self.pull_x(y_bar), self.line, self.n)

    def pull_fp(self, y_bar: Any) -> Any:
        """The cotangent of the values at the nodes."""
        line = self.line
        kept = np.where(line.below, 0.0, y_bar) if self.has_left else y_bar
        f_bar = ends(np.where(line.above, 0.0, kept), line, self.n)
        if self.has_right:
            return f_bar
        last = np.sum(np.where(line.above, y_bar, 0.0))
        return f_bar + scatter(np.reshape(last, (1,)), [self.n - 1], (self.n,), np.float64)

    def pull_sides(self, y_bar: Any) -> tuple[Any, Any]:
        """The cotangents of the values outside."""
        left = np.sum(np.where(self.line.below, y_bar, 0.0)) if self.has_left else NoTangent()
        right = np.sum(np.where(self.line.above, y_bar, 0.0)) if self.has_right else NoTangent()
        return left, right

    def push(self, x_dot: Any, xp_dot: Any, fp_dot: Any, left_dot: Any, right_dot: Any) -> Any:
        """The tangent of the values."""
        line, n = self.line, self.n
        y_dot = line.slope * (x_dot - value_between(xp_dot, line, n))
        moved = value_between(fp_dot, line, n) if n > 1 else fp_dot[line.j]
        below = left_dot if self.has_left else fp_dot[0]
        above = right_dot if self.has_right else fp_dot[-1]
        return y_dot + np.where(line.below, below, np.where(line.above, above, moved))


class Periodic:
    """The arguments reduced to one period, and the way back."""

    def __init__(self, x: Any, xp: Any, fp: Any, period: Any) -> None:
        self.sign, self.period = np.sign(period), np.abs(period)
        self.turns = np.floor(x / self.period)
        self.node_turns = np.floor(xp / self.period)
        reduced = xp % self.period
        self.order = np.argsort(reduced)
        self.x = x % self.period
        self.xp = self.around(reduced[self.order], self.period)
        self.fp = self.around(fp[self.order], 0.0)

    @staticmethod
    def around(nodes: Any, period: Any) -> Any:
        """Put the last node before the first, and the first behind the last."""
        return np.concatenate([nodes[-1:] - period, nodes, nodes[:1] + period])

    def back(self, bars: Any) -> Any:
        """The cotangent of the nodes in their own order."""
        n = np.shape(bars)[0] - 2
        places = np.concatenate([self.order[-1:], self.order, self.order[:1]])
        return scatter(bars, places, (n,), np.float64)

    def pull_period(self, x_bar: Any, xp_bar: Any) -> Any:
        """The cotangent of the period."""
        whole = xp_bar[-1] - xp_bar[0] - np.sum(self.turns * x_bar)
        return self.sign * (whole - np.sum(self.node_turns * self.back(xp_bar)))

    def push(self, x_dot: Any, xp_dot: Any, fp_dot: Any, period_dot: Any) -> tuple:
        """The tangents of what was reduced."""
        step = self.sign * period_dot
        nodes = (xp_dot - self.node_turns * step)[self.order]
        return (
            x_dot - self.turns * step,
            self.around(nodes, step),
            self.around(fp_dot[self.order], 0.0),
        )


@pair_rule(np.interp, Numeric, Numeric, Numeric, lists=True, shaped_by=(0, 1, 2, 3, 4))
def interp_rule(x, xp, fp, left=None, right=None, period=None):
    y = np.interp(x, xp, fp, left, right, period)
    x, xp, fp = precise(y, (x, xp, fp))

    def interp_pushforward(*dots):
        if period is None:
            return fit(Interpolation(x, xp, fp, left, right).push(*dots[:5]), y)
        p = Periodic(x, xp, fp, period)
        moved = p.push(*dots[:3], dots[5])
        return fit(Interpolation(p.x, p.xp, p.fp, None, None).push(*moved, None, None), y)

    def interp_pullback(y_bar):
        if period is None:
            f = Interpolation(x, xp, fp, left, right)
            x_bar, xp_bar, fp_bar = (
                thunk(lambda pull=pull: pull(y_bar)) for pull in (f.pull_x, f.pull_xp, f.pull_fp)
            )
            return x_bar, xp_bar, fp_bar, *f.pull_sides(y_bar), NoTangent()
        p = Periodic(x, xp, fp, period)
        f = Interpolation(p.x, p.xp, p.fp, None, None)
        x_bar, xp_bar = f.pull_x(y_bar), f.pull_xp(y_bar)
        period_bar = p.pull_period(x_bar, xp_bar)
        sides = NoTangent(), NoTangent()
        return x_bar, p.back(xp_bar), thunk(lambda: p.back(f.pull_fp(y_bar))), *sides, period_bar

    return y, interp_pushforward, interp_pullback
