"""Graphs: what counts or orders is constant; distances are sums of the edges on the paths.

The shortest paths themselves do not change under a small change of the weights, so that the
distance from i to j has the derivative 1 with respect to each edge on the path which SciPy chose
(where several are as short, there is a kink, and this is one of its derivatives).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph as graphs

from chainrules.refused import refuse
from chainrules.scipy.sparse.construction import coo_of
from chainrules.scipy.sparse.entries import natively, places_of, vector_of, weighed
from chainrules_core import (
    Array,
    decompose,
    frule,
    ignore_derivatives,
    non_differentiable,
    rrule,
)

_CONSTANT = (
    "connected_components", "breadth_first_order", "breadth_first_tree", "depth_first_order",
    "depth_first_tree", "maximum_bipartite_matching", "maximum_flow",
    "min_weight_full_bipartite_matching", "reconstruct_path", "reverse_cuthill_mckee",
    "structural_rank",
)  # fmt: skip
_REFUSED = (
    "construct_dist_matrix", "csgraph_from_dense", "csgraph_from_masked",
    "csgraph_masked_from_dense", "csgraph_to_dense", "csgraph_to_masked", "minimum_spanning_tree",
    "yen",
)  # fmt: skip
non_differentiable(tuple([getattr(graphs, n) for n in _CONSTANT if not n.endswith("tree")]))
refuse(
    [getattr(graphs, n) for n in (*_REFUSED, "breadth_first_tree", "depth_first_tree")
     if hasattr(graphs, n)],
    "it hands the weights on from C. Find the edges on a constant graph, "
    "autodiff.ignore_derivatives(graph), and compute with the weights of those.",
)  # fmt: skip


def edges_on_paths(
    before: np.ndarray, sources: np.ndarray, graph: Any, weights: np.ndarray, directed: bool
) -> Any:
    """Return the matrix of how often each edge is on the path to each node from each source.

    All paths are walked back at once, one edge after the other.
    """
    n = before.shape[1]
    edge_of = _edges(*places_of(graph), weights, n, directed)
    at, start = np.tile(np.arange(n), len(sources)), np.repeat(sources, n)
    path = np.arange(before.size)
    rows, columns = [path[:0]], [path[:0]]
    while path.size:
        last = before[path // n, at]
        on = (at != start) & (last >= 0)
        path, at, start, last = path[on], at[on], start[on], last[on].astype(np.int64)
        edge = edge_of(last * n + at)
        rows.append(path)
        columns.append(edge)
        at = last
    places = np.concatenate(rows), np.concatenate(columns)
    return sp.coo_array((np.ones(places[0].size), places), shape=(before.size, weights.size))


def _edges(
    rows: np.ndarray, columns: np.ndarray, weights: np.ndarray, n: int, directed: bool
) -> Callable[[np.ndarray], np.ndarray]:
    """Return what finds the shortest edges between pairs of nodes, which are given as numbers.

    Of edges that are equally short it is the first one.
    """
    keys, numbers = rows.astype(np.int64) * n + columns, np.arange(weights.size)
    if not directed:
        keys = np.concatenate([keys, columns.astype(np.int64) * n + rows])
        numbers = np.concatenate([numbers, numbers])
    if not np.all(keys[1:] > keys[:-1]):
        order = np.lexsort((numbers, weights[numbers], keys))
        keys, first = np.unique(keys[order], return_index=True)
        numbers = numbers[order][first]
    if n * n > 16 * keys.size:
        return lambda pairs: _checked(np.append(numbers, -1)[_positions(keys, pairs)])
    table = np.full(n * n, -1)
    table[keys] = numbers
    return lambda pairs: _checked(table[pairs])


def _positions(keys: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return where in ordered keys each pair is; the last place is for what is not there."""
    found = np.searchsorted(keys, pairs)
    return np.where(np.append(keys, -1)[found] == pairs, found, keys.size)


def _checked(edges: np.ndarray) -> np.ndarray:
    if edges.size and edges.min() < 0:
        raise RuntimeError("SciPy went along an edge that the graph does not have")
    return edges


def _distances(f: Callable) -> Callable:
    def body(csgraph: Any, *args: Any, **kwargs: Any) -> Any:
        named = dict(zip(_NAMES[f.__name__], args, strict=False)) | kwargs
        if named.get("unweighted"):
            return natively(f, ignore_derivatives(csgraph), *args, **kwargs)
        if named.pop("min_only", False):
            return _from_nearest(f, csgraph, named)
        wants_paths = named.pop("return_predecessors", False)
        named.pop("overwrite", None)
        indices = named.get("indices")
        plain = ignore_derivatives(csgraph)
        distances, before = natively(f, plain, return_predecessors=True, **named)
        graph = coo_of(csgraph)
        n = graph.shape[0]
        sources = np.arange(n) if indices is None else np.atleast_1d(indices) % n
        steps = natively(
            edges_on_paths, np.reshape(before, (-1, n)), sources.ravel(), graph,
            ignore_derivatives(vector_of(graph)), named.get("directed", True),
        )  # fmt: skip
        sums = np.reshape(weighed(vector_of(graph), weights=steps), np.shape(distances))
        made = np.where(np.isfinite(distances), sums, distances)
        return (made, before) if wants_paths else made

    return body


def _from_nearest(f: Callable, csgraph: Any, named: dict[str, Any]) -> Any:
    """Return the distances from the nearest source: of those from all sources, one each."""
    wants_paths = named.pop("return_predecessors", False)
    all_sources = np.atleast_1d(np.arange(csgraph.shape[0]) if named.get("indices") is None
                                else named["indices"])  # fmt: skip
    _, before, sources = natively(
        f, ignore_derivatives(csgraph), return_predecessors=True, min_only=True, **named
    )
    named = named | {"indices": all_sources}
    distances = _distances(f)(csgraph, **named)
    chosen = np.argmax(np.equal(all_sources[:, None], sources), axis=0)  # -9999 is in no row
    made = distances[chosen, np.arange(len(chosen))]
    return (made, before, sources) if wants_paths else made


_NAMES = {
    "shortest_path": (
        "method", "directed", "return_predecessors", "unweighted", "overwrite", "indices"
    ),
    "floyd_warshall": ("directed", "return_predecessors", "unweighted", "overwrite"),
    "dijkstra": (
        "directed", "indices", "return_predecessors", "unweighted", "limit", "min_only"
    ),
    "bellman_ford": ("directed", "indices", "return_predecessors", "unweighted"),
    "johnson": ("directed", "indices", "return_predecessors", "unweighted"),
}  # fmt: skip
for _name in _NAMES:
    _f = getattr(graphs, _name)
    decompose(_f)(_distances(_f))


# ---------------------------------------------------------------------------------- the Laplacian


@rrule.register(graphs.laplacian, Array)
def laplacian_rrule(csgraph):
    """That of a dense graph, for which no option is given: linear. Others are traced."""
    if np.ndim(csgraph) != 2 or csgraph.dtype.kind not in "fc":
        return None

    def laplacian_pullback(bar):
        return np.diagonal(bar) - bar  # a weight counts for its place and the degree of its column

    return graphs.laplacian(csgraph), laplacian_pullback


@frule.register(graphs.laplacian, Array)
def laplacian_frule(dots, csgraph):
    if np.ndim(csgraph) != 2 or csgraph.dtype.kind not in "fc":
        return None
    return graphs.laplacian(csgraph), graphs.laplacian(dots[0])
