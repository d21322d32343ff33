"""Probabilities of boxes under multivariate normal and t distributions.

For Z normal with mean 0 and covariance Σ let P = P(a < Z < b). With φ_i the density of Z_i, and
P_{-i|c} the probability for the other components given Z_i = c (again of a box),

    ∂P/∂b_i = F_i(b_i),   ∂P/∂a_i = -F_i(a_i),   F_i(c) = φ_i(c) P_{-i|c}.

The density obeys ∂φ/∂Σ = ∇∇ᵀφ/2 (Plackett, 1954), so ∂P/∂Σ = H/2 with H the integral of ∇∇ᵀφ:
off the diagonal it is the density of two components at the four corners times the probability for
the rest, with signs; on it, from x φ = -Σ∇φ,

    Σ_ii H_ii = -(b_i F_i(b_i) - a_i F_i(a_i)) - Σ_{k≠i} Σ_ik H_ik.

All of these are boxes of fewer dimensions, so an engine differentiates them in turn; up to two
they are computed exactly, above by SciPy's randomised lattices, with a seed of our own.

A t variable is Z/√(χ²_ν/ν): its probability is the mean of that of the box e^τ(a, b), where the
density of τ = log √(χ²_ν/ν) is 2(ν/2)^(ν/2)/Γ(ν/2) exp(ντ - ν e^(2τ)/2). Over τ the trapezoidal
rule converges exponentially.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from scipy import special, stats

from chainrules.refused import refuse
from chainrules.scipy.found import with_value
from chainrules.scipy.private import Private
from chainrules.scipy.stats.quadrature import as_found, plain
from chainrules_core import ZeroTangent, decompose, pair_rule, primitive, thunk

_kde = Private("stats._kde")
_multivariate = Private("stats._multivariate")

lattices = Private("stats._qmvnt")
compiled = _multivariate.get("_mvn")  # until SciPy 1.15

normal, student = type(stats.multivariate_normal), type(stats.multivariate_t)
ROOT_2PI = math.sqrt(2 * math.pi)


def plane(low: Any, high: Any, cov: Any) -> Any:
    """Return the probability of a box of two dimensions, exactly."""
    if lattices.has("_bvn"):
        return lattices._bvn(low, high, cov)
    with _multivariate.MVN_LOCK:
        return compiled.mvnun(low, high, np.zeros(2), cov)[0]


@primitive
def box(a: Any, b: Any, cov: Any, *, known: Any = None) -> Any:
    """Return the probability of a box, which may be known."""
    if known is not None:
        return known
    n = np.shape(cov)[0]
    if n == 1:
        scale = np.sqrt(cov[0, 0])
        return special.ndtr(b[0] / scale) - special.ndtr(a[0] / scale)
    sign = (-1.0) ** np.sum(b < a)
    low, high = np.minimum(a, b), np.maximum(a, b)
    if n == 2:
        return sign * plane(low, high, cov)
    rng = np.random.default_rng(0)
    found = lattices._qauto(
        lattices._qmvn, cov, low, high, rng, error=1e-7, limit=200_000, n_batches=10
    )
    return sign * found[0]


def is_finite(c: Any) -> bool:
    return bool(np.isfinite(plain(c)))


def given(a: Any, b: Any, cov: Any, i: int, c: Any) -> tuple:
    """Return the box of the other components, given that component i is c."""
    rest = [k for k in range(np.shape(cov)[0]) if k != i]
    column = cov[rest, i] / cov[i, i]
    conditional = cov[np.ix_(rest, rest)] - np.outer(column, cov[i, rest])
    return a[rest] - column * c, b[rest] - column * c, conditional


def face(a: Any, b: Any, cov: Any, i: int, c: Any) -> Any:
    """Return F_i(c)."""
    if not is_finite(c):
        return 0.0
    variance = cov[i, i]
    density = np.exp(-c * c / (2 * variance)) / (ROOT_2PI * np.sqrt(variance))
    return density if np.shape(cov)[0] == 1 else density * box(*given(a, b, cov, i, c))


def edge(a: Any, b: Any, cov: Any, i: int, j: int) -> Any:
    """Return H_ij, for i < j."""
    total: Any = 0.0
    variance = cov[i, i]
    for c, sign in ((b[i], 1), (a[i], -1)):
        if is_finite(c):
            density = np.exp(-c * c / (2 * variance)) / (ROOT_2PI * np.sqrt(variance))
            low, high, rest = given(a, b, cov, i, c)
            ends = (
                face(low, high, rest, j - 1, high[j - 1]),
                face(low, high, rest, j - 1, low[j - 1]),
            )
            total = total + sign * density * (ends[0] - ends[1])
    return total


def by_limit(a: Any, b: Any, cov: Any, limits: Any) -> Any:
    return np.stack([face(a, b, cov, i, limits[i]) for i in range(np.shape(cov)[0])])


def by_covariance(a: Any, b: Any, cov: Any) -> Any:
    """Return H/2."""
    n = np.shape(cov)[0]
    h: list[list[Any]] = [[0.0] * n for _ in range(n)]
    for i, j in itertools.combinations(range(n), 2):
        h[i][j] = h[j][i] = edge(a, b, cov, i, j)
    for i in range(n):
        total: Any = 0.0
        for limit, sign in ((b[i], 1), (a[i], -1)):
            if is_finite(limit):
                total = total - sign * limit * face(a, b, cov, i, limit)
        others = sum((cov[i, k] * h[i][k] for k in range(n) if k != i), 0.0)
        h[i][i] = (total - others) / cov[i, i]
    return np.stack([np.stack([1.0 * x for x in row]) for row in h]) / 2


@pair_rule(box)
def box_rule(a, b, cov, *, known=None):
    y = box(a, b, cov, known=known)

    def box_pushforward(a_dot, b_dot, cov_dot):
        y_dot: Any = ZeroTangent()
        if not is_zero(a_dot):
            y_dot = y_dot - np.sum(by_limit(a, b, cov, a) * a_dot)
        if not is_zero(b_dot):
            y_dot = y_dot + np.sum(by_limit(a, b, cov, b) * b_dot)
        if not is_zero(cov_dot):
            y_dot = y_dot + np.sum(by_covariance(a, b, cov) * cov_dot)
        return y_dot

    def box_pullback(y_bar):
        return (
            thunk(lambda: -y_bar * by_limit(a, b, cov, a)),
            thunk(lambda: y_bar * by_limit(a, b, cov, b)),
            thunk(lambda: y_bar * by_covariance(a, b, cov)),
        )

    return y, box_pushforward, box_pullback


def is_zero(dot: Any) -> bool:
    return isinstance(dot, ZeroTangent) or not hasattr(dot, "shape")


def each_point(x: Any, lower: Any, mean: Any, known: Any, probability: Any) -> Any:
    """Return the probabilities for points along the last axis."""
    lower = np.full(np.shape(mean), -np.inf) if lower is None else lower
    b, a = np.broadcast_arrays(x, lower)
    a, b = a - mean, b - mean
    shape = np.shape(b)
    a, b = np.reshape(a, (-1, shape[-1])), np.reshape(b, (-1, shape[-1]))
    known = np.asarray(plain(known))
    values = [probability(a[i], b[i], y) for i, y in enumerate(np.ravel(known))]
    return np.reshape(np.stack(values), np.shape(known))[()]


def normal_cdf(
    self: Any, x: Any, mean: Any, cov: Any, maxpts: Any, abseps: Any, releps: Any,
    lower_limit: Any, rng: Any = None,
) -> Any:  # fmt: skip
    args = (x, mean, cov, maxpts, abseps, releps, lower_limit)
    known = as_found(NORMAL, self, *args, *(() if rng is None else (rng,)))
    return each_point(
        x, lower_limit, mean, known, lambda a, b, y: with_value(y, box(a, b, cov, known=y))
    )


def student_box(a: Any, b: Any, cov: Any, df: Any, known: Any) -> Any:
    """Return the probability of a box under a t distribution."""
    nu = plain(df)
    spread = 1 / np.sqrt(2 * nu)
    h = min(spread / 2, 0.1)
    tau = np.arange(-40 / nu - 8 * spread, 0.5 * np.log(1 + 100 / nu) + 8 * spread, h)
    log_density = (
        math.log(2) + df / 2 * np.log(df / 2) - special.gammaln(df / 2)
        + df * tau - df / 2 * np.exp(2 * tau)
    )  # fmt: skip
    counts = plain(log_density) > -30.0
    tau, density = tau[counts], np.exp(log_density[counts]) * h
    parts = [w * box(a * s, b * s, cov) for w, s in zip(density, np.exp(tau), strict=True)]
    return with_value(known, sum(parts[1:], parts[0]))


def student_cdf(
    self: Any, x: Any, loc: Any, shape: Any, df: Any, dim: Any, maxpts: Any = None,
    lower_limit: Any = None, random_state: Any = None,
) -> Any:  # fmt: skip
    known = as_found(STUDENT, self, x, loc, shape, df, dim, maxpts, lower_limit, random_state)
    x = self._process_quantiles(x, dim)
    return each_point(x, lower_limit, loc, known, lambda a, b, y: student_box(a, b, shape, df, y))


def kernels_in_box(self: Any, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Any:
    known = as_found(KERNELS, self, low_bounds, high_bounds, maxpts)
    if self.d != 2 and np.any(plain(low_bounds) > plain(high_bounds)):
        return known  # 0, while in two dimensions SciPy changes the sign
    low, high = low_bounds - self.dataset.T, high_bounds - self.dataset.T
    parts = [box(a, b, self.covariance) for a, b in zip(low, high, strict=True)]
    return with_value(known, np.sum(np.stack(parts) * self.weights))


NORMAL = Private("stats.multivariate_normal", normal)._cdf
STUDENT = Private("stats.multivariate_t", student)._cdf
if lattices.has("_qauto", "_qmvn") and (compiled is not None or lattices.has("_bvn")):
    decompose(NORMAL)(normal_cdf)
    decompose(STUDENT)(student_cdf)
else:
    refuse(
        (NORMAL, STUDENT),
        "this version of SciPy computes it by compiled code. Use a newer one.",
    )
if _kde.has("_mvn"):  # newer versions call the distribution
    KERNELS = stats.gaussian_kde.integrate_box
    decompose(KERNELS)(kernels_in_box)
