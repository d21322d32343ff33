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

from chainrules.refused import RefusedError, refuse
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

    def __getattr__(self, name: str) -> Any:
        if name in ("equations", "add_points"):
            raise RefusedError(
                f"scipy.spatial.ConvexHull.{name}",
                "of the hull only volume and area are. Compute with the points by its simplices "
                "and vertices, which are indices.",
            )
        if name == "made" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.made, name)


@decompose(spatial.ConvexHull)
def convex_hull_body(points, incremental=False, qhull_options=None):
    points = np.asarray(points, dtype=float)
    return Hull(spatial.ConvexHull(ignore_derivatives(points), incremental, qhull_options), points)


refuse(
    [spatial.Delaunay, spatial.Voronoi, spatial.HalfspaceIntersection, spatial.SphericalVoronoi],
    "which points it joins is constant, and its coordinates are not differentiated. Make it of "
    "autodiff.ignore_derivatives(points), and compute with the points by its indices.",
)
