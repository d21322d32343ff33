"""Integrals over elementwise functions, differentiated as the sums that they are.

With a substitution x(t) under which the integrand falls doubly exponentially (Takahasi and Mori,
1974), the trapezoidal rule

    ∫ f(x) dx  ≈  h Σ_j f(x(jh)) x'(jh)

converges exponentially in 1/h, and so do its derivatives by parameters and limits. Near the ends
t = ±∞

    limits a, b      x = a + (b-a) c(t),   c = 1/(1 + exp(-π sinh t))
    a, ∞             x = a + exp(π/2 sinh t)
    -∞, b            x = b - exp(-π/2 sinh t)
    -∞, ∞            x = sinh(π/2 sinh t)

in units of a scale, around a centre. So an engine may trace the sum. Which step is fine enough, and
which terms count at all, is found out on plain values. The value is the one that SciPy has found;
it also tells whether the sum is right.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

from chainrules.scipy.found import with_value
from chainrules_core import ChainRulesError, non_differentiable

STEPS = [2.0**-k for k in range(2, 8)]
AGREE = 1e-6  # with SciPy's value, relative to the integral of |f|
SETTLED = 1e-9  # from one step to the next
COUNTS = 1e-20  # of the sum: smaller terms are left out
AT_AN_END = 1e-3
"""The largest part of the sum of the terms that the last one may have."""
REACH = 6.0


class QuadratureError(ChainRulesError, ArithmeticError):
    """An integral whose derivative could not be computed."""


@non_differentiable
def plain(x: Any) -> Any:
    """Return the values of what may be traced."""
    return x


def as_found(f: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call a method of SciPy's where nothing is traced."""
    return f(*args, **kwargs)


non_differentiable(as_found, Callable)


class JumpError(QuadratureError):
    """An integrand that jumps, while the nodes may move over the jump."""


class Nodes:
    """Where an integrand is evaluated: x = start + width c, dx = width w.

    `c` and the weights `w` are plain arrays with the nodes along their first axis. Nodes are
    measured from the nearer limit, at which an integrand may be singular; where there is none,
    from the centre. The width is the distance of two finite limits, else the scale.
    """

    def __init__(self, a: Any, b: Any, place: tuple) -> None:
        self.low, self.high = np.isfinite(a), np.isfinite(b)
        self.bounded, self.unbounded = self.low & self.high, ~self.low & ~self.high
        self.centre, self.scale = place
        self.jumps = False

    def points(self, a: Any, b: Any) -> Any:
        """Return the nodes between limits, traced or not."""
        start = np.where(self.from_low, _finite(a), _finite(b))
        start = np.where(self.unbounded, self.centre, start)
        return start + self.width(a, b) * self.c

    def width(self, a: Any, b: Any) -> Any:
        """Return the factor of c."""
        return np.where(self.bounded, _finite(b) - _finite(a), self.scale)

    def doubly_exponential(self, h: float) -> Nodes:
        """Set the nodes to those of the trapezoidal rule with step h."""
        t = np.arange(-math.floor(REACH / h), math.floor(REACH / h) + 1) * h
        t = t.reshape(-1, *[1] * np.ndim(self.low))
        u, slope = math.pi / 2 * np.sinh(t), math.pi / 2 * np.cosh(t)
        near = 1 / (1 + np.exp(2 * np.abs(u)))  # the distance to the nearer limit
        both, none = self.bounded, self.unbounded
        one = np.where(self.low, np.exp(u), -np.exp(-u))
        self.c = np.where(both, np.where(t < 0, near, -near), np.where(none, np.sinh(u), one))
        grows = np.where(both, 2 * near * (1 - near), np.where(none, np.cosh(u), np.abs(one)))
        self.weight = h * slope * grows
        self.from_low = np.where(both, t < 0, self.low & np.ones(np.shape(t), bool))
        return self

    def panels(self, f: Callable, a: Any, b: Any, tested: Any) -> Nodes:
        """Set the nodes to those of intervals into which quad divides a scalar integral."""
        width = self.width(a, b)

        def integrand(c: float) -> float:
            y = f(np.reshape(start + width * c, (1,)))
            return float(np.abs(y[0]))

        parts = []
        for sign in (1, -1) if self.unbounded else (1,) if self.low else (-1,):
            start = self.centre if self.unbounded else a if self.low else b
            if self.bounded:
                edges = divided(integrand, 0.0, 1.0)
                c, dc = edges[0] + edges[1] * PANEL[0], edges[1] * PANEL[1]
            else:  # c = ±(1 - t)/t
                edges = divided(lambda t, s=sign: integrand(s * (1 - t) / t) / t**2, 0.0, 1.0)
                t, dt = edges[0] + edges[1] * PANEL[0], edges[1] * PANEL[1]
                c, dc = sign * (1 - t) / t, dt / t**2
            parts.append((np.ravel(c), np.ravel(dc)))
            if tested is not None:
                first, last = start + width * c[:, 0], start + width * c[:, -1]
                before, after = tested(first), tested(last)
                change = np.abs(after - before) > 1e-3 * np.max(np.abs([before, after]))
                narrow = np.abs(last - first) < 1e-3 * (self.scale + width)
                self.jumps = self.jumps or bool(np.any(narrow & change))
        self.c, self.weight = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(self.c)
        self.c, self.weight = self.c[order], self.weight[order]
        self.from_low = np.full(np.shape(self.c), bool(self.low))
        return self

    def keep(self, size: Any, density: Any, inside: Any) -> None:
        """Leave out the ends, which count for nothing, and terms that are not finite.

        Nodes at a limit, by rounding, are left out too: a derivative may be infinite there.

        A term counts if it is large, or if the density is. A zero between terms that count must
        stay, since its derivative need not be 0.
        """
        finite = np.isfinite(size) & np.isfinite(density) & inside
        size, density = np.where(finite, size, 0.0), np.where(finite, density, 0.0)
        large = [z > COUNTS * np.max(z, axis=0, initial=0.0) for z in (size, density)]
        counts = between(large[0] | large[1]) & finite
        best = np.expand_dims(
            np.argmax(np.where(np.any(size > 0, axis=0), size, density), axis=0), 0
        )
        rows = np.flatnonzero(np.any(counts, axis=tuple(range(1, np.ndim(counts)))))
        rows = rows if rows.size else np.array([len(size) // 2])
        shape = np.shape(size)

        def taken(z: Any) -> Any:
            z = np.broadcast_to(z, shape)
            return np.where(counts, z, np.take_along_axis(z, best, 0))[rows]

        self.c, self.from_low = taken(self.c), taken(self.from_low)
        self.weight = np.where(counts, self.weight, 0.0)[rows]


def between(counts: Any) -> Any:
    """Return which terms count, or lie between those that do."""
    before, after = np.logical_or.accumulate(counts), np.logical_or.accumulate(counts[::-1])
    return before & after[::-1]


def _panel() -> tuple:
    """Return nodes and weights for [0, 1] that do not mind singularities at its ends."""
    t = np.arange(-19, 20) / 6
    near = 1 / (1 + np.exp(math.pi * np.abs(np.sinh(t))))
    return np.where(t < 0, near, 1 - near), math.pi / 6 * np.cosh(t) * near * (1 - near)


PANEL = _panel()


def divided(f: Callable, a: float, b: float) -> tuple:
    """Return start and width of the intervals into which quad divides one, as columns."""
    *_, info = integrate.quad(f, a, b, limit=60, epsabs=0.0, epsrel=1e-10, full_output=1)[:3]
    n = info["last"]
    low, high = info["alist"][:n, None], info["blist"][:n, None]
    return low, high - low


@non_differentiable
def _is_finite(x: Any) -> Any:
    return np.isfinite(x)


def _finite(x: Any) -> Any:
    """Return a limit, or 0 in the place of an infinite one."""
    return np.where(_is_finite(x), x, 0.0)


def find_nodes(
    f: Callable,
    density: Any,
    tested: Any,
    a: Any,
    b: Any,
    known: Any,
    log: bool,
    name: str,
    place: tuple,
) -> Nodes:
    """Return nodes that give the known integral, with a step half as long as would do.

    Where no step does, because the integrand has kinks, the interval is divided.
    """
    nodes = Nodes(a, b, place)
    before: Any = np.inf
    good = False
    before_mass: Any = np.inf

    def keep(nodes: Nodes, y: Any, masses: Any) -> Nodes:
        x = nodes.points(a, b)
        nodes.keep(np.abs(y) * nodes.weight, masses, (x != a) & (x != b))
        return nodes

    def mass(nodes: Nodes, y: Any) -> Any:
        """Return the terms of the integral over the density; without one, those of `y`."""
        terms = np.abs(y if density is None else density(nodes.points(a, b)))
        return terms * nodes.weight

    def sum_over(nodes: Nodes) -> tuple:
        y = f(nodes.points(a, b))
        top = np.max(np.real(y), axis=0) if log else 0.0
        top = np.where(np.isfinite(top), top, 0.0)
        y = np.exp(y - top) if log else y
        terms = np.where(np.isfinite(y), y, 0.0) * nodes.weight * nodes.width(a, b)
        found, size = np.sum(terms, axis=0), np.sum(np.abs(terms), axis=0)
        ends = np.max(np.abs(terms[[0, -1]]), axis=0)  # the integral does not exist: no agreement
        size = np.where(ends > AT_AN_END * size, np.nan, size)
        return y, found, size, np.exp(known - top) if log else known

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for h in STEPS:
            y, found, size, expected = sum_over(nodes.doubly_exponential(h))
            near = (np.abs(found - expected) <= AGREE * size) | ~np.isfinite(expected)
            moved = np.abs(found - before)
            masses = mass(nodes, y)
            whole = np.sum(np.where(np.isfinite(masses), masses, 0.0), axis=0)
            near = near & ((density is None) | (np.abs(whole - before_mass) <= SETTLED * whole))
            change = AGREE / 10 if h == STEPS[-1] else SETTLED
            if good or np.all(near & (moved <= change * size)):
                return keep(nodes, y, masses)
            good, before = bool(np.all(near & (moved <= SETTLED * size))), found
            before_mass = whole
        if np.ndim(a) == 0 and not log:
            y, found, size, expected = sum_over(nodes.panels(f, a, b, tested))
            if np.abs(found - expected) <= AGREE * size:
                return keep(nodes, y, mass(nodes, y))
    raise QuadratureError(
        f"the derivative of {name} could not be computed: it is an integral over a function that "
        "is not smooth enough, or falls too slowly. Use finite limits in place of infinite ones, "
        "or wrap its arguments in autodiff.ignore_derivatives(...) if it is to be a constant."
    )


non_differentiable(find_nodes, Callable)


def quadrature(
    f: Callable,
    a: Any,
    b: Any,
    known: Any,
    *,
    log: bool = False,
    name: str = "",
    place: tuple = (0.0, 1.0),
    density: Any = None,
    tested: Any = None,
) -> Any:
    """Return the integral over an elementwise function, whose value is known.

    Parameters
    ----------
    f : callable
        ``f(x)``, with nodes along the first axis.
    a, b : array_like
        The limits.
    known : array_like
        The integral.
    log : bool
        Whether `f` returns the logarithm of the integrand, and the integral is wanted as one.
    name : str
        What is integrated, for errors.
    place : tuple
        Centre and scale of the integrand, plain numbers.
    density : callable, optional
        A factor of the integrand. Where it is large a term counts even if the other factor is 0,
        since the derivative of that need not be.
    tested : callable, optional
        A factor of the integrand that must not jump, since the nodes may move over a jump.
    """
    a, b = np.broadcast_arrays(a, b)
    known = plain(known)
    nodes = find_nodes(f, density, tested, a, b, known, log, name, place)
    if nodes.jumps:
        raise JumpError(
            f"the derivative of {name} could not be computed: it is an integral over a function "
            "that jumps. Give the place of the jump as a limit of the integral (lb= and ub= of "
            "expect)."
        )
    y = f(nodes.points(a, b))
    weight = nodes.weight * nodes.width(a, b)
    if log:
        top = plain(np.max(np.real(y), axis=0))
        total = np.sum(np.exp(y - top) * weight, axis=0)
        total = np.log(total if np.iscomplexobj(total) else np.abs(total))
    else:
        total = np.sum(y * weight, axis=0)
    return with_value(known, total)
