"""Graphs with traced weights."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as graphs

from chainrules_core.testing import check_rule


def finite(d):
    return np.where(np.isfinite(d), d, 0.0)


CASES = {
    "shortest_path": lambda a: finite(graphs.shortest_path(a)),
    "by name": lambda a: finite(graphs.shortest_path(csgraph=a, method="D", indices=[1, 3])),
    "dense": lambda a: finite(graphs.shortest_path(a.toarray(), "D")),
    "dijkstra": lambda a: finite(graphs.dijkstra(a, indices=[0, 2])),
    "dijkstra from one": lambda a: finite(graphs.dijkstra(a, True, 0)),
    "from the nearest": lambda a: finite(graphs.dijkstra(a, indices=[3, 0], min_only=True)),
    "nearest source": lambda a: finite(
        graphs.dijkstra(a, indices=[1, 3], min_only=True, return_predecessors=True)[0]
    ),
    "floyd_warshall": lambda a: finite(graphs.floyd_warshall(a, directed=False)),
    "bellman_ford": lambda a: finite(graphs.bellman_ford(a, return_predecessors=True)[0]),
    "johnson": lambda a: finite(graphs.johnson(a)),
    "unweighted": lambda a: finite(graphs.shortest_path(a, unweighted=True)) * a.sum(),
    "laplacian": lambda a: graphs.laplacian(a),
    "laplacian normed": lambda a: graphs.laplacian(a, normed=True),
    "laplacian of an array": lambda a: graphs.laplacian(a.toarray(), normed=True),
    "degrees": lambda a: graphs.laplacian(a, return_diag=True)[1],
    "spanning tree": lambda a: graphs.minimum_spanning_tree(a).toarray(),
    "tree by breadth": lambda a: graphs.breadth_first_tree(a, 0).toarray(),
    "tree by depth": lambda a: graphs.depth_first_tree(a, 0).toarray(),
    "to dense": lambda a: graphs.csgraph_to_dense(a, null_value=-1.0),
    "from dense": lambda a: graphs.csgraph_from_dense(a.toarray(), null_value=0.0).toarray(),
    "to masked": lambda a: np.ma.filled(graphs.csgraph_to_masked(a) ** 2, -1.0),
    "masked from dense": lambda a: (graphs.csgraph_masked_from_dense(a.toarray()) ** 2).filled(3.0),
    "from masked": lambda a: graphs.csgraph_from_masked(
        graphs.csgraph_masked_from_dense(a.toarray())
    ).toarray(),
    "along paths": lambda a: finite(
        graphs.construct_dist_matrix(a, graphs.dijkstra(a, return_predecessors=True)[1])
    ),
    "along paths, undirected": lambda a: graphs.construct_dist_matrix(
        a, graphs.dijkstra(a, False, return_predecessors=True)[1], directed=False
    ),
    "k shortest": lambda a: graphs.yen(a.toarray(), 0, 3, 3),
    "k shortest, unweighted": lambda a: graphs.yen(a.toarray(), 0, 3, 1, unweighted=True) * a.sum(),
    "components": lambda a: graphs.connected_components(a)[0] * a.sum(),
}


@pytest.mark.parametrize("name", CASES)
def test_graphs(check_sparse, filled, entries, name):
    check_sparse(lambda v: CASES[name](filled(sp.csr_array, v)), entries, second=False)


def test_repeated_edges(check_modes):
    """The shortest of them counts."""
    places = np.int32([0, 0, 1, 0]), np.int32([1, 1, 2, 1])

    def graph(v):
        return sp.coo_array((v, places), shape=(3, 3))

    v = np.array([3.0, 2.0, 1.0, 2.5])
    check_modes(lambda v: graphs.csgraph_to_dense(sp.csr_array(graph(v)), -1.0), v)
    check_modes(lambda v: graphs.minimum_spanning_tree(graph(v)).toarray(), v)
    check_modes(lambda v: graphs.depth_first_tree(sp.csr_array(graph(v)), 2, False).toarray(), v)


def test_shortest_paths_of_an_undirected_graph(check_modes):
    def graph(v):
        made = np.zeros((4, 4))
        made[~np.eye(4, dtype=bool)] = v
        return made

    def shortest(v):
        return graphs.yen(graph(v), 0, 3, 3, directed=False, return_predecessors=True)[0]

    check_modes(shortest, np.array([1.0, 3.0, 9.0, 1.5, 0.7, 2.2, 2.5, 0.9, 1.1, 8.0, 2.6, 1.3]))


W = np.cos(np.arange(16.0)).reshape(4, 4)


@pytest.mark.parametrize("w", [W, W * (1 + 2j), np.float32(W), W[:1, :1]])
def test_laplacian_of_a_dense_graph(w):
    check_rule(graphs.laplacian, w)


@pytest.mark.parametrize("options", [{"use_out_degree": True}, {"symmetrized": True}])
def test_laplacian_with_options(options, check_traced):
    check_traced(lambda w: graphs.laplacian(w, **options), W)
