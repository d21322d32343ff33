"""Nearest neighbours: which they are is constant, their distances are those of the points."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import spatial

from chainrules.refused import RefusedError, refuse
from chainrules.scipy.spatial.distance import minkowski
from chainrules_core import decompose, ignore_derivatives, non_differentiable

DISTANCES = "it has no rule. Compute the distances with scipy.spatial.distance.cdist."
COUNTS = (
    "the number of neighbours jumps. Make the trees of autodiff.ignore_derivatives(points), or use "
    "a smooth function of the distances (scipy.spatial.distance.cdist)."
)


class Tree:
    """A tree of traced points.

    Attributes
    ----------
    made : cKDTree
        That of the plain points; its other attributes are this object's.
    data : array
        The points.
    """

    def __init__(self, made: Any, data: Any) -> None:
        self.made, self.data = made, data

    def __getattr__(self, name: str) -> Any:
        if name == "made" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.made, name)

    def query_ball_point(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Which points are near: a constant."""
        return self.made.query_ball_point(ignore_derivatives(x), *args, **kwargs)

    def sparse_distance_matrix(self, *args: Any, **kwargs: Any) -> Any:
        """An error."""
        raise RefusedError("scipy.spatial.KDTree.sparse_distance_matrix", DISTANCES)

    def count_neighbors(self, *args: Any, **kwargs: Any) -> Any:
        """An error."""
        raise RefusedError("scipy.spatial.KDTree.count_neighbors", COUNTS)

    def query(
        self, x: Any, k: Any = 1, eps: Any = 0.0, p: Any = 2.0,
        distance_upper_bound: Any = np.inf, workers: int = 1,
    ) -> tuple[Any, Any]:  # fmt: skip
        """The distances of the nearest points, and which they are."""
        return nearest(self.made, self.data, x, k, eps, p, distance_upper_bound, workers)


def nearest(
    made: Any, data: Any, x: Any, k: Any, eps: Any, p: Any, bound: Any, workers: int
) -> tuple[Any, Any]:
    """Find the nearest points, and compute their distances."""
    x = np.asarray(x, dtype=float)
    _, near = made.query(ignore_derivatives(x), k, eps, p, ignore_derivatives(bound), workers)
    missing = np.equal(near, made.n)
    points = data[np.where(missing, 0, near)]
    places = x[..., None, :] if np.ndim(points) > np.ndim(x) else x
    return np.where(missing, np.inf, minkowski(places, points, p)), near


def query_body(self, x, k=1, eps=0.0, p=2.0, distance_upper_bound=np.inf, workers=1):
    return nearest(self, self.data, x, k, eps, p, distance_upper_bound, workers)


def made_of(kind: type) -> None:
    """Have trees of traced points made."""

    @decompose(kind)
    def tree_body(
        data, leafsize=10, compact_nodes=True, copy_data=False, balanced_tree=True, boxsize=None
    ):
        data = np.asarray(data, dtype=float)
        if boxsize is not None:
            raise RefusedError(
                f"scipy.spatial.{kind.__name__}",
                "a periodic box (boxsize=) has no rule. Make the tree of "
                "autodiff.ignore_derivatives(points), and compute the distances to the points that "
                "query finds.",
            )
        options = (leafsize, compact_nodes, copy_data, balanced_tree)
        return Tree(kind(ignore_derivatives(data), *options), data)

    decompose(kind.query)(query_body)
    non_differentiable((kind.query_pairs, kind.query_ball_point, kind.query_ball_tree))
    refuse(kind.sparse_distance_matrix, DISTANCES)
    refuse(kind.count_neighbors, COUNTS)


made_of(spatial.cKDTree)
made_of(spatial.KDTree)
