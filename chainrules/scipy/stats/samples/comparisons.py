"""Tests of samples: statistics are differentiated, and probabilities as far as SciPy has densities.

``shapiro`` weighs the ordered sample, W = (Σ a_i y_i)² / Σ (y_i - ȳ)², and makes of W a number that
is nearly normal (P. Royston, *Applied Statistics* 44, 1995, algorithm AS R94).
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from scipy import optimize, special, stats
from scipy.spatial import distance

from chainrules.refused import RefusedError
from chainrules.scipy.private import Private
from chainrules_core import (
    AbstractZero,
    NoTangent,
    decompose,
    frule,
    ignore_derivatives,
    non_differentiable,
    not_implemented,
    pair_rule,
    primitive,
    rrule,
)

swilk = Private("stats._ansari_swilk_statistics")
_hypotests = Private("stats._hypotests")
_morestats = Private("stats._morestats")
_multicomp = Private("stats._multicomp")
_stats_py = Private("stats._stats_py")

# ------------------------------------------------------------------------------------------ shapiro

SMALL = (0.5440, -0.39978, 0.025054, -0.6714e-3), (1.3822, -0.77857, 0.062767, -0.0020322)
LARGE = (-1.5861, -0.31082, -0.083751, 0.0038915), (-0.4803, -0.082676, 0.0030302)


@primitive
def weights_of_order(y: Any) -> Any:
    """Return the weights that ``shapiro`` gives to a sorted sample, without their signs."""
    a = np.zeros(len(y) // 2)
    swilk.swilk(y - y[len(y) // 2], a, 0)
    return a


non_differentiable(weights_of_order)


def chance_of(w: Any, n: int) -> Any:
    """Return the probability of a smaller W of `n` normal numbers."""
    if n == 3:
        return np.maximum(6 / np.pi * (np.arcsin(np.sqrt(w)) - np.arcsin(np.sqrt(0.75))), 0.0)
    y = np.log(1 - w)
    if n <= 11:
        limit = -2.273 + 0.459 * n
        if ignore_derivatives(y) >= limit:
            return 0.0 * y + 1e-99
        y, at, powers = -np.log(limit - y), float(n), SMALL
    else:
        at, powers = np.log(n), LARGE
    mean, log_deviation = [np.polyval(p[::-1], at) for p in powers]
    return special.ndtr((mean - y) / np.exp(log_deviation))


@decompose(stats.shapiro)
def shapiro_body(x):
    y = np.sort(np.ravel(np.asarray(x, dtype=float)))
    n = len(y)
    if n < 3:
        raise ValueError("scipy.stats.shapiro needs three numbers or more")
    a = weights_of_order(y)
    a = np.concatenate([a, np.zeros(n % 2), -a[::-1]])
    w = np.sum(a * y) ** 2 / (np.sum(a * a) * np.sum((y - np.mean(y)) ** 2))
    return _morestats.ShapiroResult(w, chance_of(w, n))


# ------------------------------------------------------------------------------- several samples


# Where a probability has no derivative, using it is an error in reverse and NaN in forward mode.
RANGE = "the derivative of the studentised range by its degrees of freedom"
DRAWN = (
    "the probability that scipy.stats.dunnett finds is an integral by random numbers. "
    "Differentiate its statistic"
)


@primitive
def range_exceeded(q: Any, k: Any, df: Any) -> Any:
    """Return the probability that the studentised range is larger."""
    return stats.studentized_range.sf(q, k, df)


@primitive
def range_density(q: Any, k: Any, df: Any) -> Any:
    return stats.studentized_range.pdf(q, k, df)


@rrule.register(range_exceeded)
def range_exceeded_rrule(q: Any, k: Any, df: Any) -> Any:
    def range_exceeded_pullback(y_bar: Any) -> tuple:
        return -y_bar * range_density(q, k, df), NoTangent(), not_implemented(RANGE)

    return range_exceeded(q, k, df), range_exceeded_pullback


@frule.register(range_exceeded)
def range_exceeded_frule(dots: tuple, q: Any, k: Any, df: Any) -> Any:
    y, y_dot = range_exceeded(q, k, df), -dots[0] * range_density(q, k, df)
    return y, y_dot if isinstance(dots[2], AbstractZero) else y_dot * np.nan


@pair_rule(_multicomp._pvalue_dunnett)
def pvalue_dunnett_rule(rho: Any, df: Any, statistic: Any, alternative: Any, rng: Any = None):
    y = _multicomp._pvalue_dunnett(rho, df, statistic, alternative, rng)

    def pvalue_dunnett_pushforward(*dots: Any) -> Any:
        return np.nan * y

    def pvalue_dunnett_pullback(y_bar: Any) -> tuple:
        return NoTangent(), NoTangent(), not_implemented(DRAWN), NoTangent(), NoTangent()

    return y, pvalue_dunnett_pushforward, pvalue_dunnett_pullback


# Since SciPy 1.16.
_TAKES_VARIANCES = len(inspect.signature(_hypotests._tukey_hsd_iv).parameters) > 1


@decompose(stats.tukey_hsd)
def tukey_hsd_body(*args, equal_var=True):
    args = [np.asarray(a) for a in args]
    options = (equal_var,) if _TAKES_VARIANCES else ()
    _hypotests._tukey_hsd_iv([ignore_derivatives(a) for a in args], *options)
    count = len(args)
    sizes = np.array([a.size for a in args])
    means = np.stack([np.mean(a) for a in args])
    variances = np.stack([np.var(a, ddof=1) for a in args])
    if equal_var:
        df = np.sum(sizes) - count
        error = np.sum(variances * (sizes - 1)) / df
        deviations = np.sqrt((1 / sizes + 1 / sizes[:, None]) * error / 2)
        if len(set(sizes.tolist())) == 1:
            deviations = deviations[0, 0]
    else:
        own = variances / sizes
        both = own[:, None] + own
        deviations = np.sqrt(both / 2)
        df = both**2 / (own[:, None] ** 2 / (sizes[:, None] - 1) + own**2 / (sizes - 1))
    apart = means[:, None] - means
    chances = range_exceeded(np.abs(apart) / deviations, count, df)
    return _hypotests.TukeyHSDResult(apart, chances, count, df, deviations)


# ----------------------------------------------------------------------------------------- anderson


def logistic_fit(x: Any) -> Any:
    def rootfunc(ab, x):
        t = (x - ab[0]) / ab[1]
        e = np.exp(t)
        both = [np.sum(1 / (1 + e)) - 0.5 * len(x), np.sum(t * (1 - e) / (1 + e)) + len(x)]
        return np.array(both)

    start = np.array([np.mean(x), np.std(x, ddof=1)])
    return optimize.fsolve(rootfunc, ignore_derivatives(start), args=(x,), xtol=1e-5)


@decompose(stats.anderson)
def anderson_body(x, dist="norm", **options):
    plain = stats.anderson(ignore_derivatives(x), dist, **options)
    x, name = np.asarray(x), dist.lower()
    name = "gumbel_l" if name in ("extreme1", "gumbel") else name
    if name == "weibull_min":
        raise RefusedError(
            "scipy.stats.anderson",
            "dist='weibull_min' is fitted by a search, which has no rule. Use another dist, or "
            "wrap the sample in autodiff.ignore_derivatives(...) if it is to be a constant.",
        )
    if name == "norm":
        loc, scale = np.mean(x), np.std(x, ddof=1)
    elif name == "expon":
        loc, scale = 0.0, np.mean(x)
    else:
        loc, scale = logistic_fit(x) if name == "logistic" else getattr(stats, name).fit(x)
    w, n = (np.sort(x) - loc) / scale, len(x)
    family = getattr(stats, name)
    places = (2 * np.arange(1, n + 1) - 1.0) / n
    statistic = -n - np.sum(places * (family.logcdf(w) + family.logsf(w)[::-1]))
    if not hasattr(plain, "critical_values"):
        known = stats.anderson(ignore_derivatives(x), dist)
        if options["method"] != "interpolate":
            return _morestats.SignificanceResult(statistic=statistic, pvalue=plain.pvalue)
        pvalue = np.interp(statistic, known.critical_values, known.significance_level / 100)
        return _morestats.SignificanceResult(statistic=statistic, pvalue=pvalue)
    return _morestats.AndersonResult(
        statistic, plain.critical_values, plain.significance_level, fit_result=plain.fit_result
    )


# ---------------------------------------------------------------------------------------- transport


@primitive
def cells_of_plan(costs: Any, p: Any, q: Any) -> Any:
    """Return the cheapest plan that takes masses `p` to masses `q`, as a table."""
    m, n = np.shape(costs)
    sums = np.concatenate([np.repeat(np.eye(m), n, axis=1), np.tile(np.eye(n), m)])
    found = optimize.linprog(np.ravel(costs), A_eq=sums, b_eq=np.concatenate([p, q]))
    return np.reshape(found.x, (m, n))


non_differentiable(cells_of_plan)


@primitive
def not_determined(known, p, q):
    """Return the masses that a plan moves, where the weights do not determine their change."""
    return known


@pair_rule(not_determined)
def not_determined_rule(known, p, q):
    def not_determined_pushforward(known_dot, p_dot, q_dot):
        return not_implemented(NOT_DETERMINED)

    def not_determined_pullback(y_bar):
        raise RefusedError("scipy.stats.wasserstein_distance_nd", NOT_DETERMINED)

    return known, not_determined_pushforward, not_determined_pullback


NOT_DETERMINED = (
    "there is no derivative with respect to weights where several plans of transport are equally "
    "good, or where the plan falls into separate parts. Wrap the weights in "
    "autodiff.ignore_derivatives(...)."
)


def moved(known: Any, p: Any, q: Any, cells: tuple) -> Any:
    """Return what a plan moves in each of its cells; of constant masses constant numbers."""
    m, n = np.size(p), np.size(q)
    if len(cells[0]) < m + n - 1:
        return not_determined(known, p, q)
    sums = np.concatenate(
        [np.equal.outer(np.arange(m), cells[0]), np.equal.outer(np.arange(n), cells[1])]
    )
    return np.linalg.solve(1.0 * sums[:-1], np.concatenate([p, q])[:-1])


@decompose(stats.wasserstein_distance_nd)
def wasserstein_distance_nd_body(u_values, v_values, u_weights=None, v_weights=None):
    u_values, v_values = np.asarray(u_values), np.asarray(v_values)
    given = u_values, v_values, u_weights, v_weights
    plain = [ignore_derivatives(x) for x in given]
    if np.ndim(u_values) == 1 and np.ndim(v_values) == 1:
        return stats.wasserstein_distance(*given)
    if not np.all(np.isfinite(np.concatenate([np.ravel(x) for x in plain[:2]]))):
        return stats.wasserstein_distance_nd(*plain)
    for values, weights in ((plain[0], plain[2]), (plain[1], plain[3])):
        _stats_py._validate_distribution(values, weights)
    p, q = [
        np.full(len(x), 1 / len(x)) if w is None else np.asarray(w) / np.sum(w)
        for x, w in ((u_values, u_weights), (v_values, v_weights))
    ]
    costs = distance.cdist(u_values, v_values)
    plan = cells_of_plan(costs, p, q)
    cells = np.nonzero(plan > 1e-12)
    masses = plan[cells]
    if any(ignore_derivatives(w) is not w for w in (u_weights, v_weights)):
        masses = moved(masses, p, q, cells)
    return np.sum(masses * costs[cells])
