"""Graphs with traced weights."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as graphs

import autodiff
from chainrules.refused import RefusedError
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
    "components": lambda a: graphs.connected_components(a)[0] * a.sum(),
}


@pytest.mark.parametrize("name", CASES)
def test_graphs(check_sparse, filled, entries, name):
    check_sparse(lambda v: CASES[name](filled(sp.csr_array, v)), entries, second=False)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: graphs.minimum_spanning_tree(a).sum(),
        lambda a: np.sum(graphs.csgraph_to_dense(a)),
        lambda a: graphs.breadth_first_tree(a, 0).sum(),
    ],
)
def test_refused(matrix, f):
    with pytest.raises(RefusedError):
        autodiff.gradient(f, sp.csr_array(matrix))


W = np.cos(np.arange(16.0)).reshape(4, 4)


@pytest.mark.parametrize("w", [W, W * (1 + 2j), np.float32(W), W[:1, :1]])
def test_laplacian_of_a_dense_graph(w):
    check_rule(graphs.laplacian, w)


@pytest.mark.parametrize("options", [{"use_out_degree": True}, {"symmetrized": True}])
def test_laplacian_with_options(options, check_traced):
    check_traced(lambda w: graphs.laplacian(w, **options), W)
