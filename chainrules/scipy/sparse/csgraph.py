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

from chainrules.scipy.sparse.construction import coo_of
from chainrules.scipy.sparse.entries import (
    as_format,
    from_places,
    is_sparse,
    natively,
    places_of,
    vector_of,
    weighed,
)
from chainrules_core import Array, decompose, ignore_derivatives, non_differentiable, pair_rule

_CONSTANT = (
    "connected_components", "breadth_first_order", "depth_first_order",
    "maximum_bipartite_matching", "maximum_flow",
    "min_weight_full_bipartite_matching", "reconstruct_path", "reverse_cuthill_mckee",
    "structural_rank",
)  # fmt: skip
non_differentiable(tuple([getattr(graphs, n) for n in _CONSTANT]))


def edges_of(csgraph: Any, dtype: Any = float) -> Any:
    """Return a graph in COO, with several edges between two nodes where SciPy sees several."""
    if not is_sparse(csgraph):
        return coo_of(csgraph)
    csr = csgraph.tocsr()
    return (csr if dtype is None else csr.astype(dtype)).tocoo()  # another dtype: added up


def edges_on_paths(
    before: np.ndarray, sources: np.ndarray, graph: Any, weights: np.ndarray, directed: bool
) -> Any:
    """Return the matrix of how often each edge is on the path to each node from each source.

    All paths are walked back at once, one edge after the other.
    """
    n = before.shape[1]
    edge_of = _finder(*places_of(graph), weights, n, directed)
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
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of nodes with an edge, ordered, as numbers; and the shortest edge of each.

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
    return keys, numbers


def _finder(
    rows: np.ndarray, columns: np.ndarray, weights: np.ndarray, n: int, directed: bool
) -> Callable[[np.ndarray], np.ndarray]:
    """Return what finds the shortest edges between pairs of nodes, which are given as numbers."""
    keys, numbers = _edges(rows, columns, weights, n, directed)
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
        graph = edges_of(csgraph)
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


# ------------------------------------------------------------------------- edges that are handed on


def _numbers_at(graph: Any, weights: np.ndarray, places: tuple, directed: bool) -> np.ndarray:
    """Return which entries of a graph are its edges at these places."""
    n = graph.shape[0]
    edge_of = _finder(*places_of(graph), weights, n, directed)
    return edge_of(places[0].astype(np.int64) * n + places[1])


def _subgraph(f: Callable, directed_by_default: bool) -> Callable:
    def body(csgraph: Any, *args: Any, **kwargs: Any) -> Any:
        named = dict(zip(_SUBGRAPHS[f.__name__], args, strict=False)) | kwargs
        named.pop("overwrite", None)
        made = natively(f, ignore_derivatives(csgraph), **named)
        chosen = edges_of if f is graphs.minimum_spanning_tree else coo_of
        graph = chosen(csgraph)
        numbers = natively(
            _numbers_at, graph, ignore_derivatives(vector_of(graph)), made.tocoo().coords,
            named.get("directed", directed_by_default),
        )  # fmt: skip
        entries = (vector_of(graph)[numbers], made.indices, made.indptr)
        return type(made)(entries, shape=made.shape)

    return body


_SUBGRAPHS = {
    "minimum_spanning_tree": ("overwrite",),
    "breadth_first_tree": ("i_start", "directed"),
    "depth_first_tree": ("i_start", "directed"),
}
for _name in _SUBGRAPHS:
    _f = getattr(graphs, _name)
    decompose(_f)(_subgraph(_f, True))


@decompose(graphs.csgraph_from_dense)
def csgraph_from_dense_body(graph, null_value=0, nan_null=True, infinity_null=True):
    graph = np.asarray(graph, dtype=float)
    made = natively(
        graphs.csgraph_from_dense, ignore_derivatives(graph), null_value, nan_null, infinity_null
    )
    return sp.csr_array((graph[made.tocoo().coords], made.indices, made.indptr), shape=made.shape)


@decompose(graphs.csgraph_to_dense)
def csgraph_to_dense_body(csgraph, null_value=0):
    graph = edges_of(csgraph, None)
    n = graph.shape[0]
    keys, numbers = natively(
        _edges, *places_of(graph), ignore_derivatives(vector_of(graph)), n, True
    )
    table, is_edge = np.zeros(n * n, np.int64), np.zeros(n * n, bool)
    table[keys], is_edge[keys] = numbers, True
    found = np.where(is_edge, vector_of(graph).astype(float)[table], null_value)
    return np.reshape(found, graph.shape)


def _masked(graph: Any, plain: Any) -> Any:
    """Return a graph as the masked array that SciPy makes of its plain values."""
    made = np.ma.masked_array(graph, np.ma.getmaskarray(plain))
    made.fill_value = plain.fill_value
    return made


@decompose(graphs.csgraph_masked_from_dense)
def csgraph_masked_from_dense_body(
    graph, null_value=0, nan_null=True, infinity_null=True, copy=True
):
    graph = np.asarray(graph)
    plain = natively(
        graphs.csgraph_masked_from_dense, ignore_derivatives(graph), null_value, nan_null,
        infinity_null,
    )  # fmt: skip
    return _masked(graph, plain)


@decompose(graphs.csgraph_to_masked)
def csgraph_to_masked_body(csgraph):
    plain = natively(graphs.csgraph_to_masked, ignore_derivatives(csgraph))
    return _masked(csgraph_to_dense_body(csgraph), plain)


@decompose(graphs.csgraph_from_masked)
def csgraph_from_masked_body(graph):
    if np.ndim(graph) != 2 or np.shape(graph)[0] != np.shape(graph)[1]:
        raise ValueError("graph should be a square matrix")
    places = np.nonzero(~np.ma.getmaskarray(graph))
    return as_format(from_places(np.asarray(graph.data)[places], places, np.shape(graph)), "csr")


def _summed_on_paths(csgraph: Any, before: Any, sources: Any, directed: bool, plain: Any) -> Any:
    """Return the lengths of paths; what no path leads to keeps its plain value."""
    graph = edges_of(csgraph, None)
    steps = natively(
        edges_on_paths, before, sources, graph, ignore_derivatives(vector_of(graph)), directed
    )
    sums = np.reshape(weighed(vector_of(graph), weights=steps), np.shape(before))
    leads = np.reshape(np.bincount(steps.row, minlength=before.size) > 0, np.shape(before))
    return np.where(leads, sums, plain)


@decompose(graphs.construct_dist_matrix)
def construct_dist_matrix_body(graph, predecessors, directed=True, null_value=np.inf):
    plain = natively(
        graphs.construct_dist_matrix, ignore_derivatives(graph), predecessors, directed, null_value
    )
    return _summed_on_paths(graph, predecessors, np.arange(len(plain)), directed, plain)


def yen_body(
    csgraph, source, sink, K, *, directed=True, return_predecessors=False, unweighted=False
):
    plain, before = natively(
        graphs.yen, ignore_derivatives(csgraph), source, sink, K, directed=directed,
        return_predecessors=True, unweighted=unweighted,
    )  # fmt: skip
    lengths = plain
    if not unweighted and len(plain):
        sources = np.full(len(plain), source)
        full = np.zeros(np.shape(before))
        lengths = _summed_on_paths(csgraph, before, sources, directed, full)[:, sink]
    return (lengths, before) if return_predecessors else lengths


if hasattr(graphs, "yen"):  # since SciPy 1.14
    decompose(graphs.yen)(yen_body)


# ---------------------------------------------------------------------------------- the Laplacian


@pair_rule(graphs.laplacian, Array, shaped_by=(0,))
def laplacian_rule(csgraph):
    """That of a dense graph, for which no option is given: linear. Others are traced."""
    if np.ndim(csgraph) != 2 or csgraph.dtype.kind not in "fc":
        return None

    def laplacian_pushforward(csgraph_dot):
        return graphs.laplacian(csgraph_dot)

    def laplacian_pullback(bar):
        return np.diagonal(bar) - bar  # a weight counts for its place and the degree of its column

    return graphs.laplacian(csgraph), laplacian_pushforward, laplacian_pullback
