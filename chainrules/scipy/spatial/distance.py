"""Distances of two vectors, and of all pairs (`cdist`, `pdist`).

Each metric is written once, for arrays of vectors along the last axis, and is what is
differentiated in place of the loops in C. At distance 0 a norm has gradient 0; the largest
coordinates share where they tie. Metrics of truth values are constant.

The pullback of Euclidean distances of all pairs is made of products of matrices: for the squares
y_ij = |a_i - b_j|² with g = 2ȳ, for the distances themselves with g = ȳ / y, it is
ā_i = Σ_j g_ij (a_i - b_j) = a_i Σ_j g_ij - Σ_j g_ij b_j. Where points are so near each other that
digits would be lost, all a_i - b_j are made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import spatial
from scipy.spatial import distance

from chainrules.scipy.delegated import trace_body
from chainrules.scipy.found import with_value
from chainrules.scipy.radii import over, root, sides
from chainrules.scipy.spatial.coordinates import LARGEST, SUM, distances, pair_distances
from chainrules.scipy.spatial.squares import condensed, squared
from chainrules.scipy.spatial.two_vectors import angle, apart, are_plain
from chainrules_core import decompose, ignore_derivatives, non_differentiable, pair_rule, primitive


def root_of_powers(q: Any, p: Any) -> Any:
    """The root of a sum of powers, with derivative 0 where it is 0."""
    zero = ignore_derivatives(q) == 0
    return np.where(zero, 0.0, np.where(zero, 1.0, q) ** (1 / p))


def weighted(x: Any, w: Any) -> Any:
    """The sum of a term for each coordinate."""
    return np.sum(x if w is None else w * x, axis=-1)


def ratio(a: Any, b: Any) -> Any:
    """A / b, and 0 where both are 0."""
    zero = ignore_derivatives(b) == 0
    return np.where(zero, 0.0, a / np.where(zero, 1.0, b))


CONJUGATES = distance.sqeuclidean(np.array([1j]), np.zeros(1)).real > 0
"""Whether the square of complex numbers is that of their size, as from SciPy 1.18 on."""


def sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    d = u - v
    return weighted((np.conj(d) if CONJUGATES and np.iscomplexobj(d) else d) * d, w)


def square(d: Any) -> Any:
    """|d|²."""
    return np.real(np.conj(d) * d) if np.iscomplexobj(d) else d * d


def euclidean(u: Any, v: Any, w: Any = None) -> Any:
    return root(weighted(square(u - v), w))


def cityblock(u: Any, v: Any, w: Any = None) -> Any:
    return weighted(np.abs(u - v), w)


def chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    d = np.abs(u - v)
    if w is not None:
        d = np.where(ignore_derivatives(w) > 0, d, 0.0)
    return np.max(d, axis=-1)


def powers(d: Any, p: Any) -> Any:
    """|d|^p of differences; derivatives by one that is 0 are 0 where they would be infinite."""
    if p is ignore_derivatives(p) and p == 2:
        return square(d)
    zero = ignore_derivatives(d) == 0
    filled = zero & ((ignore_derivatives(p) <= 1) | np.all(zero, axis=-1, keepdims=True))
    size = np.abs(d) if np.iscomplexobj(d) else sides(d, p)
    return np.where(filled, 0.0, np.where(filled, 1.0, size) ** p)


def minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    if ignore_derivatives(p) == np.inf:
        return chebyshev(u, v, w)
    return root_of_powers(weighted(powers(u - v, p), w), p)


def minkowski_to_p(u: Any, v: Any, p: Any = 2) -> Any:
    if ignore_derivatives(p) == np.inf:
        return chebyshev(u, v)
    return np.sum(powers(u - v, p), axis=-1)


def braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    return weighted(np.abs(u - v), w) / weighted(np.abs(u + v), w)


def canberra(u: Any, v: Any, w: Any = None) -> Any:
    return weighted(ratio(np.abs(u - v), np.abs(u) + np.abs(v)), w)


def cosine(u: Any, v: Any, w: Any = None) -> Any:
    return 1 - weighted(u * v, w) / np.sqrt(weighted(u * u, w) * weighted(v * v, w))


def correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    if not centered:
        return cosine(u, v, w)
    total = np.shape(u)[-1] if w is None else np.sum(w)
    u = u - (weighted(u, w) / total)[..., None]
    v = v - (weighted(v, w) / total)[..., None]
    return cosine(u, v, w)


def seuclidean(u: Any, v: Any, V: Any) -> Any:
    return root(np.sum(square(u - v) / V, axis=-1))


def mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    d = u - v
    return root(np.sum(np.matmul(d, VI) * d, axis=-1))


def entropy(p: Any, q: Any) -> Any:
    """P log(p / q), 0 where p is."""
    zero = ignore_derivatives(p) == 0
    return np.where(zero, 0.0, p * np.log(np.where(zero, 1.0, p) / np.where(zero, 1.0, q)))


def jensenshannon(u: Any, v: Any, base: Any = None) -> Any:
    u, v = u / np.sum(u, -1, keepdims=True), v / np.sum(v, -1, keepdims=True)
    m = (u + v) / 2
    s = np.sum(entropy(u, m) + entropy(v, m), axis=-1) / 2
    return root(s if base is None else s / np.log(base))


# ------------------------------------------------------------------------- squares, of all pairs


@primitive
def all_distances(a: Any, b: Any, is_square: bool = True) -> Any:
    """The squared distances of each vector of `a` from each of `b`, or the distances."""
    return distance.cdist(a, b, "sqeuclidean" if is_square else "euclidean")


@primitive
def are_apart(a: Any, b: Any, y: Any, is_square: bool) -> bool:
    """Whether no distance is small beside the vectors themselves."""
    size = max(np.max(np.abs(a), initial=0), np.max(np.abs(b), initial=0))
    least = 1e-6 * size * size if is_square else 1e-3 * size
    if np.min(y, initial=np.inf) > least:
        return True
    return bool(np.min(y, initial=np.inf, where=y > 0) > least)


non_differentiable(are_apart)


def differences(g: Any, a: Any, b: Any, y: Any, is_square: bool, both: bool = True) -> tuple:
    """Σ_j g_ij (a_i - b_j) and, if both are wanted, Σ_i g_ij (b_j - a_i)."""
    center = ignore_derivatives(np.mean(b, axis=0)) if np.size(b) else 0.0
    of_a, of_b = a - center, b - center
    if not are_apart(of_a, of_b, y, is_square):
        terms = g[..., None] * (a[:, None] - b)
        return np.sum(terms, axis=1), -np.sum(terms, axis=0) if both else None
    first = totals_less_products(g, of_a, of_b)
    return first, totals_less_products(np.transpose(g), of_b, of_a) if both else None


def totals_less_products(g: Any, a: Any, b: Any) -> Any:
    """Σ_j g_ij (a_i - b_j), where no digits are lost."""
    # The sums by the same product of matrices: a column of ones costs less than one more pass.
    found = np.matmul(g, np.concatenate([b, np.ones((np.shape(b)[0], 1))], axis=1))
    return found[:, -1:] * a - found[:, :-1]


@pair_rule(all_distances)
def all_distances_rule(a, b, *, is_square=True):
    y = all_distances(a, b, is_square)

    def all_distances_pushforward(a_dot, b_dot):
        along = np.sum((a[:, None] - b) * (a_dot[:, None] - b_dot), axis=-1)
        return 2 * along if is_square else over(along, y)

    def all_distances_pullback(y_bar):
        g = 2 * y_bar if is_square else over(y_bar, y)
        return differences(g, a, b, y, is_square)

    return y, all_distances_pushforward, all_distances_pullback


@primitive
def all_pairs(x: Any, is_square: bool = True) -> Any:
    """The squared distances of each pair of vectors, one after the other, or the distances."""
    return distance.pdist(x, "sqeuclidean" if is_square else "euclidean")


@pair_rule(all_pairs)
def all_pairs_rule(x, *, is_square=True):
    y = all_pairs(x, is_square)

    def all_pairs_pushforward(x_dot):
        i, j = np.triu_indices(np.shape(x)[0], 1)
        along = np.sum((x[i] - x[j]) * (x_dot[i] - x_dot[j]), axis=-1)
        return 2 * along if is_square else over(along, y)

    def all_pairs_pullback(y_bar):
        # Either vector of a pair is the first one in one of the halves.
        g = squared(2 * y_bar if is_square else over(y_bar, y))
        return differences(g, x, x, y, is_square, False)[0]

    return y, all_pairs_pushforward, all_pairs_pullback


# --------------------------------------------------------------------------- angles, of all pairs


def cosines(a: Any, b: Any, w: Any = None) -> Any:
    """The distance by `cosine` of each vector of `a` from each of `b`."""
    sizes = [np.sqrt(weighted(x * x, w))[:, None] for x in (a, b)]
    a = a if w is None else w * a
    return 1 - np.matmul(a / sizes[0], np.transpose(b / sizes[1]))


def correlations(a: Any, b: Any, w: Any = None, centered: bool = True) -> Any:
    """The same by `correlation`."""
    if centered:
        total = np.shape(a)[-1] if w is None else np.sum(w)
        a, b = [x - (weighted(x, w) / total)[:, None] for x in (a, b)]
    return cosines(a, b, w)


ANGLES: dict[str, Callable] = {"cosine": cosines, "correlation": correlations}

SQUARES = {"sqeuclidean": True, "euclidean": False}
"""Whether the square is wanted."""

METRICS: dict[str, Callable] = {
    f.__name__: f
    for f in (
        braycurtis, canberra, chebyshev, cityblock, correlation, cosine, euclidean,
        jensenshannon, mahalanobis, minkowski, seuclidean, sqeuclidean,
    )
}  # fmt: skip


def real_or_complex(x: Any) -> Any:
    x = np.asarray(x)
    return x if x.dtype.kind == "c" else np.asarray(x, dtype=float)


def listed(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, (list, tuple)) else x


# Two vectors without weights, whose value is SciPy's.
QUICK: dict[Callable, Callable] = {
    euclidean: apart,
    sqeuclidean: lambda u, v: apart(u, v, True),
    cosine: angle,
    correlation: lambda u, v: angle(u, v, True),
}


def vectors(f: Callable, found: Callable) -> Callable:
    """The same for anything that NumPy takes for two vectors, with the value that SciPy finds."""

    def body(u, v, *args, **options):
        quick = QUICK.get(f)
        if quick is not None and not args and not options and are_plain(u, v):
            return quick(u, v)
        args = [listed(x) for x in args]
        options = {key: listed(x) for key, x in options.items()}
        given = [ignore_derivatives(x) for x in (u, v, *args)]
        known = found(*given, **{key: ignore_derivatives(x) for key, x in options.items()})
        y = f(real_or_complex(u), real_or_complex(v), *args, **options)
        return with_value(known, y)

    return body


for _name, _metric in METRICS.items():
    if _name != "jensenshannon":  # it has axes, and is traced
        _found = getattr(distance, _name)
        decompose(_found)(vectors(_metric, _found))
for _found, _metric in (
    (spatial.minkowski_distance, minkowski),
    (spatial.minkowski_distance_p, minkowski_to_p),
):
    decompose(_found)(vectors(_metric, _found))


def name_of(metric: Any) -> str | None:
    """The name of a metric in the table, if it is there."""
    if callable(metric):
        known = getattr(distance, getattr(metric, "__name__", ""), None)
        metric = metric.__name__ if known is metric else ""
    text = metric.lower().removeprefix("test_")
    info = distance._METRIC_ALIAS.get(text)
    return None if info is None else info.canonical_name


def by_columns(x: Any) -> Any:
    """Vectors whose coordinates lie side by side: sums over these are then sums of long rows."""
    return np.transpose(np.copy(np.transpose(x), order="C"))


def completed(name: str, options: dict[str, Any], X: Any) -> dict[str, Any]:
    """Add the scales that a metric takes from the data."""
    options = {key: value for key, value in options.items() if value is not None}
    if name == "seuclidean" and "V" not in options:
        options["V"] = np.var(X, axis=0, ddof=1)
    if name == "mahalanobis" and "VI" not in options:
        options["VI"] = np.transpose(np.linalg.inv(np.cov(np.transpose(X))))
    return options


@decompose(distance.cdist)
def cdist_body(XA, XB, metric="euclidean", *, out=None, **options):
    XA, XB = np.asarray(XA, dtype=float), np.asarray(XB, dtype=float)
    name = name_of(metric)
    if name is None:
        y = np.stack([np.stack([np.asarray(metric(a, b, **options)) for b in XB]) for a in XA])
    elif name not in METRICS:
        plain = {key: ignore_derivatives(value) for key, value in options.items()}
        y = distance.cdist(ignore_derivatives(XA), ignore_derivatives(XB), name, **plain)
    elif name in SQUARES and not any(value is not None for value in options.values()):
        y = all_distances(XA, XB, SQUARES[name])
    elif name in (LARGEST, SUM) and not any(value is not None for value in options.values()):
        y = distances(XA, XB, name)
    elif name in ANGLES:
        y = ANGLES[name](XA, XB, **completed(name, options, None))
    elif name == "seuclidean":
        sizes = np.sqrt(completed(name, options, np.concatenate([XA, XB]))["V"])
        y = all_distances(XA / sizes, XB / sizes, False)
    else:
        stacked = np.concatenate([XA, XB]) if name == "mahalanobis" else None
        options = completed(name, options, stacked)
        y = METRICS[name](by_columns(XA)[:, None], by_columns(XB)[None], **options)
    if out is None:
        return y
    out[...] = y
    return out


@decompose(spatial.distance_matrix)
def distance_matrix_body(x, y, p=2.0, threshold=1000000):
    x, y = np.asarray(x), np.asarray(y)
    known = spatial.distance_matrix(*map(ignore_derivatives, (x, y, p)))
    order = ignore_derivatives(p)
    if order is p and np.result_type(x, y).kind != "c":
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        if order == 2:
            return with_value(known, all_distances(x, y, False))
        if order in (1, np.inf):
            return with_value(known, distances(x, y, SUM if order == 1 else LARGEST))
    return with_value(known, minkowski(by_columns(x)[:, None], by_columns(y)[None], p))


@decompose(distance.pdist)
def pdist_body(X, metric="euclidean", *, out=None, **options):
    X = np.asarray(X, dtype=float)
    name, count = name_of(metric), np.shape(X)[0]
    is_bare = count > 1 and not any(value is not None for value in options.values())
    if name is None:
        pairs = zip(*np.triu_indices(count, 1), strict=True)
        y = np.stack([np.asarray(metric(X[a], X[b], **options)) for a, b in pairs])
    elif name not in METRICS:
        plain = {key: ignore_derivatives(value) for key, value in options.items()}
        y = distance.pdist(ignore_derivatives(X), name, **plain)
    elif name in SQUARES and is_bare:
        y = all_pairs(X, SQUARES[name])
    elif name in (LARGEST, SUM) and is_bare:
        y = pair_distances(X, name)
    elif name in ANGLES and count > 1:
        y = condensed(ANGLES[name](X, X, **completed(name, options, X)))
    else:
        i, j = np.triu_indices(count, 1)
        y = METRICS[name](X[i], X[j], **completed(name, options, X))
    if out is None:
        return y
    out[...] = y
    return out


@decompose(distance.directed_hausdorff)
def directed_hausdorff_body(u, v, rng=0, **options):
    u, v = np.asarray(u), np.asarray(v)
    seed = options.get("seed", rng)
    _, i, j = distance.directed_hausdorff(ignore_derivatives(u), ignore_derivatives(v), seed)
    return euclidean(u[i], v[j]), i, j


# A metric may have captured what is traced, where the points are not.
trace_body(distance._prepare_out_argument)
