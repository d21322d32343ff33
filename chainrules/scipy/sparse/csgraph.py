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
from chainrules_core import decompose, ignore_derivatives, non_differentiable

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
    before: np.ndarray, sources: np.ndarray, edges: dict[tuple[int, int], int], n_edges: int
) -> Any:
    """Return the matrix of how often each edge is on the path to each node from each source."""
    n = before.shape[1]
    rows: list[int] = []
    columns: list[int] = []
    for i, source in enumerate(sources):
        for node in range(n):
            at = node
            while at != source and before[i, at] >= 0:
                rows.append(i * n + node)
                columns.append(edges[int(before[i, at]), int(at)])
                at = before[i, at]
    ones = np.ones(len(rows))
    return sp.csr_array((ones, (rows, columns)), shape=(before.size, n_edges))


def _numbers_of_edges(graph: Any, directed: bool) -> dict[tuple[int, int], int]:
    """Return the number of the edge from one node to another; the shorter one if undirected."""
    rows, columns = [a.tolist() for a in places_of(graph)]
    weights = ignore_derivatives(vector_of(graph))
    numbers: dict[tuple[int, int], int] = {}
    for k, (i, j) in enumerate(zip(rows, columns, strict=True)):
        for pair in ((i, j),) if directed else ((i, j), (j, i)):
            if pair not in numbers or weights[k] < weights[numbers[pair]]:
                numbers[pair] = k
    return numbers


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
        numbers = _numbers_of_edges(graph, named.get("directed", True))
        steps = natively(
            edges_on_paths, np.reshape(before, (-1, n)), sources.ravel(), numbers,
            np.size(vector_of(graph)),
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
