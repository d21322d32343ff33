"""Hulls, trees and tessellations of scipy.spatial."""

import numpy as np
from scipy import spatial

from autodiff import gradient, ignore_derivatives
from chainrules.refused import RefusedError
from tools.errors.entries import entry


@entry("The facets of a hull in four or more dimensions", RefusedError)
def facets_in_four_dimensions() -> None:
    points = np.vstack([np.zeros(4), np.eye(4), np.full(4, 0.7)])
    gradient(lambda p: np.sum(spatial.ConvexHull(p).equations), points)


@facets_in_four_dimensions.instead("Compute with the points by the hull's indices")
def corners_of_the_facets() -> None:
    points = np.vstack([np.zeros(4), np.eye(4), np.full(4, 0.7)])

    def f(p):
        corners = p[spatial.ConvexHull(p).simplices]
        edges = corners[:, 1:] - corners[:, :1]
        return np.sum(np.linalg.det(edges @ np.swapaxes(edges, 1, 2)))

    gradient(f, points)


@entry("A number that compiled code makes of the points", RefusedError)
def transform_of_a_triangulation() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.2]])
    gradient(lambda p: np.sum(spatial.Delaunay(p).transform), points)


@transform_of_a_triangulation.instead("Compute with the points by the triangulation's indices")
def corners_of_the_triangles() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.2]])

    def f(p):
        corners = p[spatial.Delaunay(p).simplices]
        return np.sum(np.linalg.inv(corners[:, 1:] - corners[:, :1]))

    gradient(f, points)


@entry("A corner that splits under any change", RefusedError)
def corner_that_splits() -> None:
    grid = np.indices((3, 3)).reshape(2, 9).T * 1.0
    gradient(lambda p: np.sum(spatial.Voronoi(p).vertices), grid)


@corner_that_splits.instead("Move the points slightly apart from a regular grid")
def corners_of_moved_points() -> None:
    grid = np.indices((3, 3)).reshape(2, 9).T + 1e-3 * np.cos(np.arange(18.0)).reshape(9, 2)
    gradient(lambda p: np.sum(spatial.Voronoi(p).vertices), grid)


@entry("A matrix of distances from a tree", RefusedError)
def distances_from_a_tree() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.5], [0.3, 0.8]])
    others = spatial.KDTree(np.zeros((1, 2)))

    def f(p):
        return spatial.KDTree(p).sparse_distance_matrix(others, 2.0).toarray().sum()

    gradient(f, points)


@distances_from_a_tree.instead("Use cdist")
def distances_of_all_pairs() -> None:
    points = np.array([[0.1, 0.0], [1.0, 0.5], [0.3, 0.8]])
    g = gradient(lambda p: np.sum(spatial.distance.cdist(p, np.zeros((1, 2)))), points)
    assert np.allclose(g, points / np.linalg.norm(points, axis=1, keepdims=True))


@entry("How many neighbours a tree counts", RefusedError)
def count_of_neighbours() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.5], [0.3, 0.8]])
    others = spatial.KDTree(np.zeros((1, 2)))
    gradient(lambda p: spatial.KDTree(p).count_neighbors(others, 1.0) * np.sum(p), points)


@count_of_neighbours.instead("Count by plain points")
def count_by_plain_points() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.5], [0.3, 0.8]])
    others = spatial.KDTree(np.zeros((1, 2)))

    def f(p):
        return spatial.KDTree(ignore_derivatives(p)).count_neighbors(others, 1.0) * np.sum(p)

    assert np.allclose(gradient(f, points), 2.0)


@entry("A tree of points in a periodic box", RefusedError)
def tree_in_a_periodic_box() -> None:
    points = np.array([[0.1, 0.2], [0.9, 0.5], [0.3, 0.8]])
    gradient(lambda p: spatial.KDTree(p, boxsize=1.0).query(np.zeros(2))[0], points)


@tree_in_a_periodic_box.instead("Make the tree of constants, and compute the distances")
def distances_in_a_periodic_box() -> None:
    points = np.array([[0.1, 0.2], [0.9, 0.5], [0.3, 0.8]])

    def f(p):
        i = spatial.KDTree(ignore_derivatives(p), boxsize=1.0).query(np.zeros(2))[1]
        return np.sqrt(np.sum((p[i] - np.round(ignore_derivatives(p[i]))) ** 2))

    assert np.allclose(gradient(f, points)[0], points[0] / np.hypot(*points[0]))
