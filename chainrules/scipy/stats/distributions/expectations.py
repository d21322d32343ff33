"""Expectations, entropies and moments that SciPy integrates, as sums that an engine traces.

See `chainrules.scipy.stats.quadrature`. `expect` splits its integral where SciPy does, at the
quantiles 0.05 and 0.95. It is integrated in the standard form, over f(loc + scale z) p(z), since p
may be singular at z = 0; the function f gets one number at a time, as from ``quad``. Only where f
jumps and p is smooth on all of the line are the nodes fixed points of x: a jump does not move then.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate, special, stats

from chainrules.scipy.stats.distributions.continuous import in_place_of
from chainrules.scipy.stats.quadrature import JumpError, as_found, plain, quadrature
from chainrules_core import non_differentiable
from chainrules_core.interpreter.noticed import forgive

rv = stats.rv_continuous
ENTROPY, MOMENT, MOMENT_BY_QUANTILES = rv._entropy, rv._mom0_sc, rv._mom1_sc
ALPHA = 0.05
# Where a density has a kink or is singular, in the standard form.
BREAKS: dict[str, Callable] = {
    **dict.fromkeys(
        ("dgamma", "dweibull", "gennorm", "laplace", "laplace_asymmetric", "skewcauchy"),
        lambda *shapes: (0.0,),
    ),
    "loglaplace": lambda c: (1.0,),
    "triang": lambda c: (c,),
    "trapezoid": lambda c, d: (c, d),
    "crystalball": lambda beta, m: (-beta,),
}

# What the quantiles go through, where the density is periodic on the whole line.
PERIODS: dict[str, tuple[float, float]] = {"vonmises": (-np.pi, np.pi)}


@non_differentiable
def place_of(dist: Any, args: tuple) -> tuple:
    """Return about where a distribution is, and how wide."""
    with np.errstate(all="ignore"):
        low, middle, high = dist._ppf(np.array([0.25, 0.5, 0.75]), *args)
    width = high - low
    return (middle, width) if np.isfinite(width) and width > 0 else (0.0, 1.0)


def integral_of(dist: Any, known: Any, f: Callable, args: tuple, what: str) -> Any:
    a, b = PERIODS[dist.name] if dist.name in PERIODS else dist._get_support(*args)
    name = f"scipy.stats.{dist.name}.{what}"
    return quadrature(f, a, b, known, name=name, place=place_of(dist, args))


@in_place_of(rv, "_entropy")
def entropy(self: Any, *args: Any) -> Any:
    known = as_found(ENTROPY, self, *args)
    return integral_of(self, known, lambda x: special.entr(self._pdf(x, *args)), args, "entropy")


def moment(found: Callable, self: Any, m: Any, *args: Any) -> Any:
    known = as_found(found, self, m, *args)
    return integral_of(self, known, lambda x: x**m * self._pdf(x, *args), args, "moment")


@in_place_of(rv, "_mom0_sc")
def moment_by_density(self: Any, m: Any, *args: Any) -> Any:
    return moment(MOMENT, self, m, *args)


@in_place_of(rv, "_mom1_sc")
def moment_by_quantiles(self: Any, m: Any, *args: Any) -> Any:
    return moment(MOMENT_BY_QUANTILES, self, m, *args)


def quad_at(f: Callable, a: Any, b: Any, options: dict) -> Any:
    """Return what quad finds where nothing is traced."""
    return integrate.quad(f, a, b, **options)[0]


non_differentiable(quad_at, Callable)


def inner_edges(dist: Any, low: Any, high: Any, args: tuple) -> Any:
    """Return the quantiles ALPHA and 1 - ALPHA of what lies between the limits."""
    start, end = dist.cdf(np.stack([low, high]), *args)
    return dist._ppf(start + (end - start) * np.array([ALPHA, 1 - ALPHA]), *args)


def sum_of(f: Callable, edges: list, known: list, **options: Any) -> Any:
    """Return the integral in pieces that are known."""
    pairs = zip(itertools.pairwise(edges), known, strict=True)
    parts = [quadrature(f, a, b, y, **options) for (a, b), y in pairs]
    return sum(parts[1:], parts[0])


@in_place_of(rv, "expect")
def expect(
    self: Any, func: Any = None, args: Any = (), loc: Any = 0, scale: Any = 1, lb: Any = None,
    ub: Any = None, conditional: bool = False, **options: Any,
) -> Any:  # fmt: skip
    shifted = {"loc": loc, "scale": scale}
    low, high = self._get_support(*args)
    on_line = lb is None and ub is None and not (np.isfinite(low) or np.isfinite(high))
    z_low = low if lb is None else (lb - loc) / scale
    z_high = high if ub is None else (ub - loc) / scale
    inner = inner_edges(self, *plain((z_low, z_high, tuple(args))))

    def values(x: Any) -> Any:
        return x if func is None else np.stack([func(x[i]) for i in range(np.shape(x)[0])])

    def at_z(z: Any) -> Any:
        return values(loc + scale * z)

    def density(z: Any) -> Any:
        return self._pdf(z, *args)

    def in_z(z: Any) -> Any:
        return at_z(z) * density(z)

    def density_in_x(x: Any) -> Any:
        return self.pdf(x, *args, **shifted)

    def in_x(x: Any) -> Any:
        return values(x) * density_in_x(x)

    name = f"scipy.stats.{self.name}.expect"
    width = inner[1] - inner[0] if inner[1] > inner[0] else 1.0
    breaks = BREAKS[self.name](*args) if self.name in BREAKS else ()
    breaks = [z for z in breaks if plain(z_low) < plain(z) < plain(z_high)]
    edges = [z_low, *sorted([*inner, *breaks], key=plain), z_high]
    ends = [plain(loc + scale * z) for z in edges]
    known = [
        quad_at(lambda x: in_x(np.reshape(x, (1,)))[0], a, b, options)
        for a, b in itertools.pairwise(ends)
    ]
    try:
        y = sum_of(in_z, edges, known, name=name, place=(0.0, width), density=density, tested=at_z)
    except JumpError as error:
        if not on_line or breaks:
            raise
        forgive(error)
        place = plain((loc, width * scale))
        y = sum_of(in_x, ends, known, name=name, place=place, density=density_in_x)
    if not conditional:
        return y
    return y / (self.cdf(z_high, *args) - self.cdf(z_low, *args))
