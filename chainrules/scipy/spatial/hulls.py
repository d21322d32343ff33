"""Hulls and tessellations: which points they join is constant.

A convex hull in d dimensions is a union of simplices, one over each facet with a point c inside for
its apex: their volumes |det(p_i - c)| / d! add up, and the facets' own √det(EᵀE) / (d-1)!, E being
the edges from a corner.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import spatial

from chainrules.refused import RefusedError
from chainrules_core import decompose, ignore_derivatives


class Hull:
    """A `ConvexHull` of traced points: volume and area are traced too.

    Attributes
    ----------
    made : ConvexHull
        That of the plain points; its other attributes are this object's.
    points : array
        The points.
    volume, area : float
        As SciPy means them: of the body and its surface.
    equations : array
        Of the facets in two and three dimensions: outward normals of length 1, and offsets.
    """

    def __init__(self, made: Any, points: Any) -> None:
        self.made, self.points = made, points
        corners = points[made.simplices]
        d = np.shape(points)[1]
        inside = ignore_derivatives(np.mean(points[made.vertices], axis=0))
        self.volume = np.sum(np.abs(np.linalg.det(corners - inside))) / math.factorial(d)
        edges = corners[:, 1:] - corners[:, :1]
        gram = np.linalg.det(np.matmul(edges, np.swapaxes(edges, 1, 2)))
        self.area = np.sum(np.sqrt(gram)) / math.factorial(d - 1)

    @property
    def equations(self) -> Any:
        """Return the facets' normals and offsets."""
        corners = self.points[self.made.simplices]
        edges = corners[:, 1:] - corners[:, :1]
        if np.shape(edges)[1] == 1:
            normals = edges[:, 0, ::-1] * np.array([1.0, -1.0])
        elif np.shape(edges)[1] == 2:
            normals = np.cross(edges[:, 0], edges[:, 1])
        else:
            raise refused_attribute("ConvexHull", "equations")
        outward = np.sign(np.sum(ignore_derivatives(normals) * self.made.equations[:, :-1], axis=1))
        normals = normals * (outward / np.sqrt(np.sum(normals**2, axis=1)))[:, None]
        return np.concatenate([normals, -np.sum(normals * corners[:, 0], axis=1)[:, None]], axis=1)

    def __getattr__(self, name: str) -> Any:
        return attribute_of("ConvexHull", self, name, ("add_points",))


def refused_attribute(kind: str, name: str) -> RefusedError:
    return RefusedError(
        f"scipy.spatial.{kind}.{name}",
        "it is computed in C, and has no rule. Compute with the points themselves, by the indices "
        "of the object: points[made.simplices].",
    )


def attribute_of(kind: str, x: Any, name: str, refused: tuple[str, ...]) -> Any:
    """Return what the object of plain points has; what depends on the coordinates is an error."""
    if name in refused:
        raise refused_attribute(kind, name)
    if name == "made" or name.startswith("__"):
        raise AttributeError(name)
    return getattr(x.made, name)


@decompose(spatial.ConvexHull)
def convex_hull_body(points, incremental=False, qhull_options=None):
    points = np.asarray(points, dtype=float)
    return Hull(spatial.ConvexHull(ignore_derivatives(points), incremental, qhull_options), points)


class Triangulation:
    """A `Delaunay` of traced points: which points it joins is constant."""

    def __init__(self, made: Any, points: Any) -> None:
        self.made, self.points = made, points

    def __getattr__(self, name: str) -> Any:
        refused = ("equations", "transform", "add_points", "paraboloid_scale", "paraboloid_shift")
        return attribute_of("Delaunay", self, name, refused)


@decompose(spatial.Delaunay)
def delaunay_body(points, furthest_site=False, incremental=False, qhull_options=None):
    points = np.asarray(points, dtype=float)
    plain = ignore_derivatives(points)
    return Triangulation(spatial.Delaunay(plain, furthest_site, incremental, qhull_options), points)


class Cells:
    """A `Voronoi` of traced points.

    A vertex is equally far from the points in whose regions it is: with edges E from one of them
    to d others it is at 2 E v = |E|² from there.
    """

    def __init__(self, made: Any, points: Any) -> None:
        self.made, self.points = made, points
        self.min_bound, self.max_bound = np.min(points, axis=0), np.max(points, axis=0)

    @property
    def vertices(self) -> Any:
        """Return the corners of the regions."""
        around = self.points[points_around(self.made)]
        edges = around[:, 1:] - around[:, :1]
        squares = np.sum(edges * edges, axis=2)[..., None]
        return around[:, 0] + np.linalg.solve(2 * edges, squares)[..., 0]

    def __getattr__(self, name: str) -> Any:
        return attribute_of("Voronoi", self, name, ("add_points",))


def points_around(made: spatial.Voronoi) -> np.ndarray:
    """Return for each vertex the points that it belongs to."""
    found: list[list[int]] = [[] for _ in made.vertices]
    for point, region in enumerate(made.point_region):
        for vertex in made.regions[region]:
            if vertex >= 0:
                found[vertex].append(point)
    return alike("Voronoi.vertices", found, made.ndim + 1, "points equally far from it")


def alike(name: str, found: list, count: int, what: str) -> np.ndarray:
    """Return the numbers of what makes each corner; where these are too many, it is an error."""
    most = max(map(len, found), default=count)
    if most > count:
        raise RefusedError(
            f"scipy.spatial.{name}",
            f"there is a corner with {most} {what}, which splits under any change. Move what makes "
            "the corner a little, for example the points away from a regular grid.",
        )
    return np.array(found, np.intp)


@decompose(spatial.Voronoi)
def voronoi_body(points, furthest_site=False, incremental=False, qhull_options=None):
    points = np.asarray(points, dtype=float)
    plain = ignore_derivatives(points)
    return Cells(spatial.Voronoi(plain, furthest_site, incremental, qhull_options), points)


class Intersection:
    """A `HalfspaceIntersection` of traced half-spaces: a corner is where d of their edges meet."""

    def __init__(self, made: Any, halfspaces: Any, interior_point: Any) -> None:
        self.made, self.halfspaces, self.interior_point = made, halfspaces, interior_point

    @property
    def intersections(self) -> Any:
        """Return the corners of the body."""
        d = np.shape(self.halfspaces)[1] - 1
        name = "HalfspaceIntersection.intersections"
        meeting = self.halfspaces[alike(name, self.made.dual_facets, d, "half-spaces")]
        return np.linalg.solve(meeting[..., :d], -meeting[..., d:])[..., 0]

    def __getattr__(self, name: str) -> Any:
        refused = ("dual_points", "dual_equations", "dual_volume", "dual_area", "add_halfspaces")
        return attribute_of("HalfspaceIntersection", self, name, refused)


@decompose(spatial.HalfspaceIntersection)
def halfspace_intersection_body(halfspaces, interior_point, incremental=False, qhull_options=None):
    halfspaces = np.asarray(halfspaces, dtype=float)
    made = spatial.HalfspaceIntersection(
        ignore_derivatives(halfspaces),
        ignore_derivatives(interior_point),
        incremental,
        qhull_options,
    )
    return Intersection(made, halfspaces, interior_point)
