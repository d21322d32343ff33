import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.spatial import distance

import autodiff
from chainrules.scipy.cluster.trees import heights, spread
from chainrules_core.testing import check_rule

# Far enough from points whose clusters join in another order.
A = np.array([[0, 0], [1, 0.1], [3, 0.5], [7, 1], [4, 15], [31, 2], [63, 0.3]]) / 10
Y = distance.pdist(A)
Z = hierarchy.linkage(A, "average")
R = hierarchy.inconsistent(Z, 3)


def of_heights(f, Z=Z):
    """A function of a tree as one of its heights: the other columns are indices and sizes."""
    return lambda h: f(np.column_stack([Z[:, :2], h, Z[:, 3]]))


METHODS = ("single", "complete", "average", "weighted", "centroid", "median", "ward")
CONSTANT = [
    lambda Z: hierarchy.fcluster(Z, 0.5), hierarchy.leaves_list, hierarchy.is_valid_linkage,
    lambda Z: hierarchy.cut_tree(Z, 2), hierarchy.num_obs_linkage,
    lambda Z: hierarchy.leaders(Z, hierarchy.fcluster(Z, 2, "maxclust"))[0],
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_linkage(method, check_modes):
    check_modes(lambda y: hierarchy.linkage(y, method), Y)
    check_modes(lambda a: hierarchy.linkage(a, method, optimal_ordering=True), A, twice=False)
    check_modes(lambda a: getattr(hierarchy, method)(a), A, twice=False)
    value, _ = autodiff.pullback(lambda a: hierarchy.linkage(a, method), A)
    np.testing.assert_allclose(value, hierarchy.linkage(A, method), rtol=1e-12)


def test_metrics(check_modes):
    check_modes(lambda a: hierarchy.linkage(a, "average", "cityblock"), A)
    check_modes(
        lambda a: hierarchy.linkage(a, "complete", lambda x, y: np.sum((x - y) ** 4)),
        A,
        twice=False,
    )
    with pytest.raises(ValueError, match="euclidean"):
        autodiff.gradient(lambda a: np.sum(hierarchy.linkage(a, "ward", "cityblock")), A)


@pytest.mark.parametrize("method", METHODS[2:])
def test_heights(method):
    merges = hierarchy.linkage(Y, method)[:, :2].astype(int)
    check_rule(heights, Y, merges, method)
    check_rule(spread, np.arange(6.0), merges, method)


@pytest.mark.parametrize(
    "f",
    [
        hierarchy.cophenet,
        lambda Z: hierarchy.cophenet(Z, Y),
        *[lambda Z, d=d: hierarchy.inconsistent(Z, d) for d in (1, 2, 3, 8)],
        hierarchy.maxdists,
        lambda Z: hierarchy.optimal_leaf_ordering(Z, A),
        hierarchy.to_mlab_linkage,
        lambda Z: hierarchy.from_mlab_linkage(hierarchy.to_mlab_linkage(Z)),
    ],
)
def test_of_a_tree(f, check_modes):
    check_modes(of_heights(f), Z[:, 2])


def test_of_a_tree_and_its_statistics(check_modes):
    check_modes(lambda y: hierarchy.cophenet(Z, y)[0], Y)
    check_modes(lambda R: hierarchy.maxRstat(Z, R, 1), R + 1.0)
    check_modes(lambda R: hierarchy.maxinconsts(Z, R), R + 1.0)
    falling = hierarchy.linkage(np.array([[0, 0], [1.0, 0], [0.5, 0.8]]), "centroid")
    check_modes(of_heights(hierarchy.maxdists, falling), falling[:, 2])


@pytest.mark.parametrize("f", CONSTANT)
def test_constants(f):
    assert np.all(autodiff.gradient(lambda Z: np.sum(np.asarray(f(Z)) * Z[0, 0] * 0.0), Z) == 0)
