import numpy as np
import pytest
from scipy import spatial
from scipy.spatial import distance

import autodiff
from chainrules.refused import RefusedError
from chainrules.scipy.spatial.coordinates import distances, pair_distances, pulled, pushed
from chainrules.scipy.spatial.distance import all_distances, all_pairs
from chainrules.scipy.spatial.squares import condensed, squared
from chainrules_core.testing import check_rule

# SciPy 1.18 has deprecated distance_matrix and minkowski_distance.
pytestmark = pytest.mark.filterwarnings("ignore:.* is deprecated in favor of")

RNG = np.random.default_rng(3)
A, B = RNG.uniform(0.2, 1, (4, 3)), RNG.uniform(0.2, 1, (5, 3))
W = np.array([0.3, 1.0, 0.5])
SPREAD = RNG.normal(size=(5, 3))
METRICS = [
    "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean",
    "jensenshannon", "minkowski", "sqeuclidean",
]  # fmt: skip


@pytest.mark.parametrize("metric", METRICS)
def test_metrics(metric, check_traced):
    check_traced(lambda x, y: distance.cdist(x, y, metric), A, B, step=1e-5)
    check_traced(lambda x: distance.pdist(x, metric), B, step=1e-5)
    check_traced(lambda u, v: getattr(distance, metric)(u, v), A[0], B[0], step=1e-5)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: distance.cdist(x, B, "minkowski", p=3, w=W),
        lambda x: distance.cdist(x, B, "euclidean", w=W),
        lambda x: distance.cdist(x, B, distance.cosine),
        lambda x: distance.cdist(x, B, lambda u, v: np.sum(u * v)),
        lambda x: distance.pdist(x, lambda u, v: np.sum(u * v)),
        lambda x: distance.cdist(x, B, "hamming"),
        lambda x: distance.pdist(x, "hamming"),
        lambda x: distance.cdist(x, SPREAD, "mahalanobis"),
        lambda x: distance.pdist(x, "seuclidean"),
        lambda x: distance.seuclidean(x[0], B[0], W),
        lambda x: distance.mahalanobis(x[0], B[0], np.eye(3) + 0.1),
        lambda x: distance.minkowski(x[0], B[0], 3, W),
        lambda x: distance.minkowski(x[0], B[0], np.inf),
        lambda x: distance.chebyshev(x[0], B[0], w=[1, 0, 2]),
        lambda x: distance.canberra(x[0], [1, 2, 3], list(W)),
        lambda x: distance.squareform(x[0]),
        lambda x: distance.squareform(distance.squareform(distance.pdist(x))),
        lambda x: distance.directed_hausdorff(x, B)[0],
        lambda x: spatial.distance_matrix(x, B, p=3),
        lambda x: spatial.distance_matrix(x, x[:2] * B[:2]),
        lambda x: spatial.distance_matrix(x, B, 1),
        lambda x: spatial.distance_matrix(B, x, np.inf),
        lambda x: spatial.distance_matrix(x, B, 2 + x[0, 0]),
        lambda x: spatial.distance_matrix(x * (1 + 2j), B),
        lambda x: distance.cdist(x, B, "seuclidean"),
        lambda x: distance.cdist(x, B, "seuclidean", V=x[0] + W),
        lambda x: spatial.procrustes(x, SPREAD[:4])[2],
        lambda x: spatial.cKDTree(B).query(x, k=2)[0],
        lambda x: spatial.KDTree(x).query(B)[0],
        lambda x: spatial.ConvexHull(x[:, :2]).volume + spatial.ConvexHull(x[:, :2]).area,
        lambda x: spatial.geometric_slerp(np.array([1.0, 0]), np.array([0, 1.0]), x[0]),
    ],
)
def test_by_places(f, check_traced):
    check_traced(f, A + 0.1 * SPREAD[:4], step=1e-5, rtol=1e-5)


def test_hull_of_a_body(check_traced):
    x = RNG.normal(size=(8, 3))
    check_traced(lambda x: spatial.ConvexHull(x).volume + spatial.ConvexHull(x).area, x)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev", "cosine"])
def test_twice(metric, check_engine):
    check_engine(lambda x: distance.cdist(x, B, metric) ** 2, A)
    check_engine(lambda x: distance.pdist(x, metric) ** 2, A)


TWO = ["cityblock", "chebyshev"]
TIED = np.array([[1.0, 0.0, -1.0], [0.0, 0.0, 0.5], [2.0, 1.0, 0.0]])


@pytest.mark.parametrize("metric", TWO)
def test_coordinates(metric):
    options = {"second_order": True, "gradient": autodiff.gradient}
    check_rule(distances, A, B, fkwargs={"metric": metric}, **options)
    check_rule(pair_distances, A, fkwargs={"metric": metric}, **options)


@pytest.mark.parametrize("metric", TWO)
@pytest.mark.parametrize("a", [A, TIED, TIED.astype(np.float32)])
def test_slopes(metric, a):
    given = {"a": a, "b": TIED, "y": distance.cdist(a, TIED, metric), "metric": metric}
    check_rule(pulled, np.cos(given["y"]), fkwargs=given)
    check_rule(pushed, np.concatenate([np.sin(a), np.cos(TIED)]).astype(float), fkwargs=given)


def test_largest_coordinates_share():
    x = np.array([[1.0, 1.0, 0.5], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    found = autodiff.gradient(lambda x: distance.cdist(x[:1], x[1:], "chebyshev")[0, 0], x)
    np.testing.assert_array_equal(found, [[0.5, 0.5, 0], [-0.5, -0.5, 0], [0, 0, 0]])
    pairs = autodiff.gradient(lambda x: np.sum(distance.pdist(x, "chebyshev")), x)
    np.testing.assert_array_equal(pairs, [[1.5, 0.5, 0], [-0.5, -1.5, 0], [-1, 1, 0]])


@pytest.mark.parametrize("metric", TWO)
def test_values_and_nan(metric):
    x = np.array([[0.1, np.nan], [0.7, 0.2], [0.3, 0.3]])
    y, back = autodiff.pullback(lambda x: distance.cdist(x, B[:, :2], metric), x)
    np.testing.assert_array_equal(y, distance.cdist(x, B[:, :2], metric))
    bars = back(np.ones_like(y))
    assert np.all(np.isfinite(bars[1:]))
    assert np.isnan(bars[0, 1]) == (metric == "cityblock")


def test_a_hundred_coordinates():
    a = np.ones((2, 300))
    found = autodiff.gradient(lambda a: distance.cdist(a, 0 * a[:1], "chebyshev")[0, 0], a)
    np.testing.assert_allclose(found, [[1 / 300] * 300, [0] * 300])


def test_squares():
    v, square = np.array([1.0, 2.0, -3.0]), A[:, :3][:3]
    check_rule(squared, v, second_order=True, gradient=autodiff.gradient)
    check_rule(condensed, square, second_order=True, gradient=autodiff.gradient)
    check_rule(condensed, square[:1, :1])
    for is_square in (True, False):
        check_rule(all_pairs, A, is_square, second_order=True, gradient=autodiff.gradient)
        check_rule(all_pairs, FAR + 100, is_square)


@pytest.mark.parametrize("metric", ["euclidean", "minkowski", "cityblock", "chebyshev"])
def test_distance_zero(metric):
    g = autodiff.gradient(lambda u: distance.cdist(u[None], W[None], metric)[0, 0], W)
    np.testing.assert_array_equal(g, 0.0)


HALVES = np.array([[1.0, 0.2, -1.0], [0.1, 1.0, -1.0], [-1.0, 0.3, -1.0], [0.2, -1.0, -0.8]])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: spatial.Delaunay(x).transform,
        lambda x: spatial.Voronoi(x).add_points(x),
        lambda x: spatial.HalfspaceIntersection(HALVES * np.sum(x), np.zeros(2)).dual_points,
        lambda x: spatial.cKDTree(B).sparse_distance_matrix(x, 1.0),
        lambda x: spatial.cKDTree(B).count_neighbors(x, 1.0),
        lambda x: spatial.KDTree(B).sparse_distance_matrix(x, 1.0),
        lambda x: spatial.KDTree(B).count_neighbors(x, 1.0),
        lambda x: spatial.KDTree(x).sparse_distance_matrix(spatial.KDTree(B), 1.0),
        lambda x: spatial.cKDTree(x).count_neighbors(spatial.cKDTree(B), 1.0),
        lambda x: spatial.KDTree(x, boxsize=9.0),
        lambda x: spatial.ConvexHull(x).add_points(x),
    ],
)
def test_refused(f):
    with pytest.raises(RefusedError, match="is not differentiated"):
        autodiff.gradient(lambda x: f(x) and 0.0, A)


FAR = np.array([[0.0, 1.0], [2.0, -1.0], [0.5, 0.25]])
NEAR = np.concatenate([FAR + 1e-9, FAR[:1]])  # one of them at a point of FAR itself


@pytest.mark.parametrize("a, b", [(FAR, FAR + 1.5), (FAR + 100, FAR), (FAR, FAR[:1]), (A, B)])
@pytest.mark.parametrize("is_square", [True, False])
def test_all_distances(a, b, is_square):
    # At distance 0 the slope of the distance itself jumps.
    twice = is_square or not np.any(distance.cdist(a, b) == 0)
    check_rule(all_distances, a, b, is_square, second_order=twice, gradient=autodiff.gradient)


@pytest.mark.parametrize("b", [FAR + 1.5, NEAR, FAR], ids=["apart", "near", "the same"])
def test_distances_of_near_points_keep_their_digits(b):
    weights = np.cos(np.arange(FAR.shape[0] * b.shape[0])).reshape(FAR.shape[0], -1)
    found = autodiff.gradient(lambda a: np.sum(weights * distance.cdist(a, b)), FAR)
    d = FAR[:, None] - b
    length = np.sqrt(np.sum(d * d, -1))
    unit = np.where(length[..., None] > 0, d / np.where(length, length, 1)[..., None], 0)
    np.testing.assert_allclose(found, np.sum(weights[..., None] * unit, 1), rtol=1e-12)


def test_distances_of_no_points():
    found = autodiff.gradient(lambda a: np.sum(distance.cdist(a, FAR[:0])), FAR)
    np.testing.assert_array_equal(found, np.zeros_like(FAR))


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev", "cosine"])
@pytest.mark.parametrize("count", [0, 1])
def test_no_pairs(metric, count):
    y, back = autodiff.pullback(lambda x: distance.pdist(x, metric), A[:count])
    np.testing.assert_array_equal(back(y), np.zeros((count, 3)))
    assert (
        autodiff.pushforward(lambda x: distance.pdist(x, metric), A[:count])[1](A[:count]).size == 0
    )


@pytest.mark.parametrize("metric", TWO)
def test_one_of_two_moves(metric, check_modes):
    far = FAR + 0.05  # no coordinates are so near each other that differences meet a kink
    check_modes(lambda x: distance.cdist(x, far, metric), A[:, :2])
    check_modes(lambda x: distance.cdist(A[:, :2], x, metric), far)


def test_infinite_vectors_have_no_distance_to_themselves():
    x = np.array([[np.inf, 1.0], [0.5, 2.0], [0.0, -1.0]])
    y, pull = autodiff.pullback(lambda x: distance.pdist(x, "cityblock"), x)
    np.testing.assert_array_equal(y, [np.inf, np.inf, 3.5])
    np.testing.assert_array_equal(
        pull(np.array([1.0, 10.0, 100.0])), [[11, 9], [99, 101], [-110, -110]]
    )


def test_a_metric_may_have_captured_what_is_traced(check_modes):
    check_modes(lambda c: distance.pdist(A, lambda u, v: c * np.sum((u - v) ** 4)), 0.3)
    check_modes(lambda c: distance.cdist(A, B, lambda u, v: np.sum(np.abs(u - v) ** c)), 2.3)


U, V = np.array([1.0, 0.5, -2.0]), np.array([1.0, -0.3, -2.0])  # equal in two coordinates
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize(
    "f",
    [
        lambda p: lambda u, v: distance.minkowski(u, v, p),
        lambda p: lambda u, v: distance.minkowski(u, v, p, W),
        lambda p: lambda u, v: spatial.minkowski_distance(u, v, p),
        lambda p: lambda u, v: spatial.minkowski_distance_p(u, v, p),
        lambda p: lambda u, v: distance.cdist([u], [v], "minkowski", p=p),
        lambda p: lambda u, v: spatial.cKDTree(u[None]).query(v, p=p)[0],
        lambda p: lambda u, v: spatial.distance_matrix(u[None] * (1 + 0j), v[None], p),
    ],
)
@pytest.mark.parametrize("p", [2, 2.0, 4.0])
def test_equal_coordinates_have_a_second_derivative(f, p, check_engine):
    check_engine(f(p), U, V)


def test_equal_coordinates_of_pairs(check_engine):
    check_engine(lambda x: distance.pdist(x, "minkowski"), CORNERS)
    check_engine(lambda u, p: distance.minkowski(u, V, p), U, 2.0)


@pytest.mark.parametrize(
    "f",
    [
        distance.euclidean,
        distance.sqeuclidean,
        distance.minkowski,
        distance.cityblock,
        lambda u, v: distance.minkowski(u, v, 3, W),
        lambda u, v: distance.euclidean(u, v, W),
        lambda u, v: distance.seuclidean(u, v, W),
        lambda u, v: distance.mahalanobis(u, v, np.eye(3) + 0.1),
        spatial.minkowski_distance,
        lambda u, v: spatial.minkowski_distance_p(u, v, 3),
    ],
)
def test_complex_vectors(f, check_engine):
    check_engine(f, A[0] + 1j * B[0], B[1] - 0.5j * A[1])
    check_engine(f, A[0], B[1] - 0.5j * A[1])
