"""Tessellations and hulls of traced points."""

import numpy as np
import pytest
from scipy import spatial

import autodiff
from chainrules.refused import RefusedError

FLAT = np.array(
    [[0.1, 0.3], [1.2, 0.2], [0.5, 1.4], [-0.8, 0.9], [-1.1, -0.7], [0.6, -1.3], [2.1, 1.7]]
)
SOLID = np.array(
    [[0.1, 0.2, 1.3], [1.1, -0.3, 0.2], [-0.4, 1.2, 0.1], [-1.2, -0.6, 0.4], [0.3, -1.1, -0.5],
     [0.2, 0.4, -1.4], [0.9, 0.8, 0.7]]
)  # fmt: skip
HALVES = np.array([[1.0, 0.2, -1.0], [0.1, 1.0, -1.0], [-1.0, 0.3, -1.0], [0.2, -1.0, -0.8]])


def on_sphere(p):
    return p / np.linalg.norm(p, axis=1, keepdims=True)


def joined(p):
    made = spatial.Voronoi(p)
    return made.points[made.ridge_points[:, 0]] * made.max_bound + made.min_bound


@pytest.mark.parametrize(
    "f, x",
    [
        (lambda p: spatial.Voronoi(p).vertices, FLAT),
        (lambda p: spatial.Voronoi(p).vertices, SOLID),
        (lambda p: spatial.Voronoi(p, furthest_site=True).vertices, FLAT),
        (joined, FLAT),
        (lambda p: p[spatial.Delaunay(p).simplices].mean(axis=1), FLAT),
        (lambda p: spatial.Delaunay(p).points * spatial.Delaunay(p).nsimplex, FLAT),
        (lambda h: spatial.HalfspaceIntersection(h, np.zeros(2)).intersections, HALVES),
        (lambda c: spatial.HalfspaceIntersection(HALVES, c).intersections + c, np.array([0.1, 0])),
        (lambda p: spatial.ConvexHull(p).equations, FLAT),
        (lambda p: spatial.ConvexHull(p).equations, SOLID),
        (lambda p: spatial.SphericalVoronoi(on_sphere(p)).vertices, SOLID),
        (lambda p: spatial.SphericalVoronoi(on_sphere(p)).calculate_areas(), SOLID),
        (lambda p: spatial.SphericalVoronoi(on_sphere(p)).calculate_areas(), FLAT),
        (lambda r: spatial.SphericalVoronoi(r * on_sphere(SOLID), r).calculate_areas(), 0.7),
        (lambda r: spatial.Rectangle([r, 2 * r], [0.1, r * r]).volume(), 0.7),
    ],
)
def test_traced(f, x, check_modes):
    check_modes(f, x, twice=np.ndim(x) < 2 or len(x) == 4)
    value, _ = autodiff.pullback(f, x)
    np.testing.assert_allclose(value, f(x), rtol=1e-9, atol=1e-12)


def test_equations_in_four_dimensions_are_refused():
    points = np.random.default_rng(1).normal(size=(7, 4))
    with pytest.raises(Exception, match=r"ConvexHull\.equations"):
        autodiff.gradient(lambda p: np.sum(spatial.ConvexHull(p).equations), points)


PYRAMID = np.array(
    [[1.0, 0, 1, -1], [-1, 0, 1, -1], [0, 1, 1, -1], [0, -1, 1, -1], [0, 0, -1, -0.5]]
)


@pytest.mark.parametrize(
    "f, x",
    [
        (lambda p: spatial.Voronoi(p).vertices, np.indices((3, 3)).reshape(2, 9).T * 1.0),
        (lambda h: spatial.HalfspaceIntersection(h, np.zeros(3)).intersections, PYRAMID),
    ],
)
def test_corners_that_split_under_any_change_are_refused(f, x):
    with pytest.raises(RefusedError, match="splits under any change"):
        autodiff.gradient(lambda z: np.sum(f(z)), x)
