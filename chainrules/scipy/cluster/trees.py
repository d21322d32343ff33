"""``scipy.cluster.hierarchy``: which clusters join is constant, their distances are differentiated.

The distance of a cluster from one that two others made is, by every method but "single" and
"complete", a sum of theirs with constant weights: of squares by "centroid", "median" and "ward" (G.
Lance and W. Williams, 1967). So all heights are a linear map of the distances of the points. By
"single" and "complete" each height is one of these distances.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.cluster import hierarchy
from scipy.spatial import distance

from chainrules.scipy.delegated import both
from chainrules_core import (
    decompose,
    ignore_derivatives,
    linear_rule,
    non_differentiable,
    primitive,
)

SQUARED = ("centroid", "median", "ward")


def joined(merges: np.ndarray) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """Go through the merges: the rows of both clusters, the living others, all sizes before.

    The merged cluster takes the first row; the second is empty from then on.
    """
    n = len(merges) + 1
    row, sizes = list(range(n)), np.ones(n)
    alive = np.ones(n, bool)
    for a, b in merges:
        i, j = row[a], row[b]
        alive[[i, j]] = False
        yield i, j, np.flatnonzero(alive), sizes
        alive[i] = True
        sizes[i] += sizes[j]
        row.append(i)


def shares(method: str, i: int, j: int, others: np.ndarray, sizes: np.ndarray) -> tuple:
    """Return the weights of d(i, others), d(j, others) and d(i, j) in what the merged has."""
    p, q, r = sizes[i], sizes[j], sizes[others]
    if method == "average":
        return p / (p + q), q / (p + q), 0.0
    if method == "weighted":
        return 0.5, 0.5, 0.0
    if method == "centroid":
        return p / (p + q), q / (p + q), -p * q / (p + q) ** 2
    if method == "median":
        return 0.5, 0.5, -0.25
    total = p + q + r
    return (p + r) / total, (q + r) / total, -r / total


@primitive
def heights(y: Any, merges: np.ndarray, method: str) -> Any:
    """Return the distances at which clusters join, of a condensed matrix of distances.

    Examples
    --------
    >>> heights(np.array([1.0, 3.0, 5.0]), np.array([[0, 1], [3, 2]]), "average")
    array([1., 4.])
    """
    table = distance.squareform(y, checks=False)
    found = np.zeros(len(merges), table.dtype)
    for k, (i, j, others, sizes) in enumerate(joined(merges)):
        found[k] = table[i, j]
        p, q, r = shares(method, i, j, others, sizes)
        table[i, others] = p * table[i, others] + q * table[j, others] + r * table[i, j]
        table[others, i] = table[i, others]
    return found


@primitive
def spread(bars: Any, merges: np.ndarray, method: str) -> Any:
    """The adjoint of `heights`, the same steps from the last to the first."""
    n = len(merges) + 1
    table = np.zeros((n, n), np.asarray(bars).dtype)
    steps = [(i, j, others, sizes.copy()) for i, j, others, sizes in joined(merges)]
    for bar, (i, j, others, sizes) in zip(bars[::-1], reversed(steps), strict=True):
        p, q, r = shares(method, i, j, others, sizes)
        own = table[i, others] + table[others, i]
        table[i, others], table[others, i] = p * own, 0.0
        table[j, others] = table[j, others] + q * own
        table[i, j] += np.sum(r * own) + bar
    return (table + table.T)[np.triu_indices(n, 1)]


linear_rule(heights, lambda bars, y, merges, method: spread(bars, merges, method), argnums=(0,))
linear_rule(
    spread, lambda y_bar, bars, merges, method: heights(y_bar, merges, method), argnums=(0,)
)


def extremal_places(y: np.ndarray, merges: np.ndarray, method: str) -> np.ndarray:
    """Return where in the condensed matrix the distance stands by which clusters join."""
    table = distance.squareform(y)
    places = distance.squareform(np.arange(len(y)), checks=False)
    found = np.zeros(len(merges), np.intp)
    for k, (i, j, others, _) in enumerate(joined(merges)):
        found[k] = places[i, j]
        first, second = table[i, others], table[j, others]
        takes = first <= second if method == "single" else first >= second
        for kept in (table, places):
            kept[i, others] = np.where(takes, kept[i, others], kept[j, others])
            kept[others, i] = kept[i, others]
    return found


def pairs_of(Z: np.ndarray) -> np.ndarray:
    return Z[:, :2].astype(np.intp)


def with_heights(Z: np.ndarray, found: Any) -> Any:
    return np.concatenate([Z[:, :2], found[:, None], Z[:, 3:]], axis=1)


@decompose(both(hierarchy.linkage))
def linkage_body(y, method="single", metric="euclidean", optimal_ordering=False):
    y = np.asarray(y, dtype=float)
    if np.ndim(y) == 2:
        if method in SQUARED and metric != "euclidean":
            raise ValueError(f"the method {method!r} is for the metric 'euclidean' alone")
        y = distance.pdist(y, metric)
    plain = ignore_derivatives(y)
    Z = hierarchy.linkage(plain, method, optimal_ordering=optimal_ordering)
    merges = pairs_of(Z)
    if method in ("single", "complete"):
        return with_heights(Z, y[extremal_places(plain, merges, method)])
    if method in SQUARED:
        return with_heights(Z, np.sqrt(heights(y * y, merges, method)))
    return with_heights(Z, heights(y, merges, method))


def plain_and_traced(Z: Any) -> tuple[Any, Any]:
    Z = np.asarray(Z, dtype=float)
    return ignore_derivatives(Z), Z


@primitive
def meeting(Z: np.ndarray) -> np.ndarray:
    """Return for each pair of points the link that joins them.

    Examples
    --------
    >>> meeting(np.array([[0.0, 1.0, 0.5, 2.0], [2.0, 3.0, 1.0, 3.0]]))
    array([0, 1, 1])
    """
    n = len(Z) + 1
    clusters = [[i] for i in range(n)]
    table = np.zeros((n, n), np.intp)
    for k, (a, b) in enumerate(pairs_of(Z)):
        table[np.ix_(clusters[a], clusters[b])] = k
        clusters.append(clusters[a] + clusters[b])
    return (table + table.T)[np.triu_indices(n, 1)]


non_differentiable(meeting)


@decompose(both(hierarchy.cophenet))
def cophenet_body(Z, Y=None):
    plain, Z = plain_and_traced(Z)
    zz = Z[:, 2][meeting(plain)]
    if Y is None:
        return zz
    own, given = zz - np.mean(zz), Y - np.mean(Y)
    return np.sum(given * own) / np.sqrt(np.sum(given**2) * np.sum(own**2)), zz


@decompose(both(hierarchy.inconsistent))
def inconsistent_body(Z, d=2):
    plain, Z = plain_and_traced(Z)
    R = hierarchy.inconsistent(plain, d)
    members = within(plain, int(d))
    h, count = Z[:, 2], R[:, 2]
    mean = members @ h / count
    deviations = members * (h - mean[:, None])
    varies = R[:, 1] > 0
    variance = np.sum(deviations**2, axis=1) / np.maximum(count - 1, 1)
    std = np.where(varies, np.sqrt(np.where(varies, variance, 1.0)), 0.0)
    part = np.where(varies, (h - mean) / np.where(varies, std, 1.0), 0.0)
    return np.stack([mean, std, count, part], axis=1)


def within(Z: np.ndarray, depth: int) -> np.ndarray:
    """Return, as numbers, which links are fewer than `depth` steps below each link."""
    n = len(Z) + 1
    steps = np.zeros((n - 1, n - 1))
    for k, children in enumerate(pairs_of(Z)):
        steps[k, children[children >= n] - n] = 1.0
    found = reached = np.eye(n - 1)
    for _ in range(1, min(depth, n - 1)):
        reached = reached @ steps
        found = found + reached
    return found


def places_of_maxima(Z: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return for each link which of those below it, or itself, has the largest value."""
    n = len(Z) + 1
    found = np.arange(n - 1)
    for k, children in enumerate(pairs_of(Z)):
        for child in children[children >= n]:
            best = found[child - n]
            found[k] = best if values[best] > values[found[k]] else found[k]
    return found


@decompose(both(hierarchy.maxdists))
def maxdists_body(Z):
    plain, Z = plain_and_traced(Z)
    hierarchy.maxdists(plain)  # checks it
    return Z[:, 2][places_of_maxima(plain, plain[:, 2])]


@decompose(both(hierarchy.maxRstat))
def max_r_stat_body(Z, R, i):
    plain, _ = plain_and_traced(Z)
    plain_R, R = plain_and_traced(R)
    hierarchy.maxRstat(plain, plain_R, i)
    return R[:, i][places_of_maxima(plain, plain_R[:, i])]


@decompose(both(hierarchy.maxinconsts))
def maxinconsts_body(Z, R):
    return max_r_stat_body(Z, R, 3)


@decompose(both(hierarchy.optimal_leaf_ordering))
def optimal_leaf_ordering_body(Z, y, metric="euclidean"):
    plain, Z = plain_and_traced(Z)
    return with_heights(
        hierarchy.optimal_leaf_ordering(plain, ignore_derivatives(y), metric), Z[:, 2]
    )


@decompose(both(hierarchy.from_mlab_linkage))
def from_mlab_linkage_body(Z):
    plain, Z = plain_and_traced(Z)
    made = hierarchy.from_mlab_linkage(plain)
    if np.ndim(made) < 2 or not len(made):
        return Z
    return np.concatenate([made[:, :2], Z[:, 2:], made[:, -1:]], axis=1)


@decompose(both(hierarchy.to_mlab_linkage))
def to_mlab_linkage_body(Z):
    plain, Z = plain_and_traced(Z)
    made = hierarchy.to_mlab_linkage(plain)
    if np.ndim(made) < 2 or not len(made):
        return Z
    return np.concatenate([made[:, :2], Z[:, 2:3]], axis=1)


non_differentiable(
    tuple(
        getattr(hierarchy, name)
        for name in (
            "correspond", "cut_tree", "fcluster", "fclusterdata", "is_isomorphic", "is_monotonic",
            "is_valid_im", "is_valid_linkage", "leaders", "leaves_list", "num_obs_linkage",
        )
    )
)  # fmt: skip
