"""Interpolation through scattered points: radial basis functions, and on triangulations.

The functions of the distance r are written in r², so that they are differentiated where r is 0.
The triangulation and the choice of neighbours are constant. On a simplex with corners p_i the
weights λ of the linear interpolant solve Σ λ_i p_i = x, Σ λ_i = 1. Clough and Tocher's interpolant
is linear in the values, y = M f; the matrix M is what it makes of the columns of the identity. In
the places it is a cubic polynomial on each third of a triangle, which ten of its values determine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import CloughTocher2DInterpolator, LinearNDInterpolator, Rbf

from chainrules.refused import RefusedError, refuse
from chainrules.scipy.found import with_value
from chainrules.scipy.interpolate.kernels import kernel, plainly
from chainrules.scipy.private import Private
from chainrules.scipy.radii import plate, root
from chainrules.scipy.spatial.distance import all_distances
from chainrules_core import decompose, ignore_derivatives, non_differentiable

_interpnd = Private("interpolate._interpnd")
_rbfinterp = Private("interpolate._rbfinterp")
_rbfinterp_pythran = Private("interpolate._rbfinterp_pythran")

MODULES = tuple(m for m in (_rbfinterp.get("_rbfinterp_np"), _rbfinterp) if m is not None)


OF_SQUARE = {
    "linear": lambda q: -root(q),
    "thin_plate_spline": plate,
    "cubic": lambda q: q * root(q),
    "quintic": lambda q: -q * q * root(q),
    "multiquadric": lambda q: -np.sqrt(q + 1),
    "inverse_multiquadric": lambda q: 1 / np.sqrt(q + 1),
    "inverse_quadratic": lambda q: 1 / (q + 1),
    "gaussian": lambda q: np.exp(-q),
}


def radial(x: Any, y: Any, name: str, epsilon: Any) -> Any:
    """The matrix of a radial function of the distances of two sets of points."""
    return OF_SQUARE[name](all_distances(x * epsilon, y * epsilon))


# What Rbf calls them, with their signs, and whether the distances are scaled.
OF_RBF = {
    "_h_multiquadric": ("multiquadric", -1.0, True),
    "_h_inverse_multiquadric": ("inverse_multiquadric", 1.0, True),
    "_h_gaussian": ("gaussian", 1.0, True),
    "_h_linear": ("linear", -1.0, False),
    "_h_cubic": ("cubic", 1.0, False),
    "_h_quintic": ("quintic", -1.0, False),
    "_h_thin_plate": ("thin_plate_spline", 1.0, False),
}


def rbf_body(self: Any, *args: Any) -> Any:
    args = [np.asarray(x) for x in args]
    if any(np.shape(x) != np.shape(args[0]) for x in args):
        raise ValueError("Array lengths must be equal")
    places = np.stack([np.ravel(x) for x in args]) * 1.0
    found = OF_RBF.get(getattr(self._function, "__name__", ""))
    if found is None or self.norm != "euclidean":
        values = self._function(self._call_norm(places, self.xi))
    else:
        name, sign, scaled = found
        scale = 1 / self.epsilon if scaled else 1.0
        values = sign * radial(np.transpose(places), np.transpose(self.xi), name, scale)
    shape = (*np.shape(args[0]), *([self._target_dim] if self._target_dim > 1 else []))
    return np.reshape(np.dot(values, self.nodes), shape)


rbf_body.traces_objects = True  # type: ignore[attr-defined] # what it is made of may be traced
decompose(Rbf.__call__)(rbf_body)


def monomials(x: Any, powers: Any) -> Any:
    """The matrix of monomials of these powers."""
    columns = []
    for row in powers:
        column = np.ones(np.shape(x)[0])
        for axis, power in enumerate(row):
            column = column * x[:, axis] ** int(power) if power else column
        columns.append(column)
    return np.stack(columns, -1) if columns else np.zeros((np.shape(x)[0], 0))


@kernel("_build_and_solve_system", *MODULES)
def build_and_solve_system_body(y, d, smoothing, kernel, epsilon, powers, xp=None):
    low, high = np.min(y, axis=0), np.max(y, axis=0)
    shift, scale = (high + low) / 2, (high - low) / 2
    scale = np.where(ignore_derivatives(scale) == 0, 1.0, scale)
    P = monomials((y - shift) / scale, powers)
    r = np.shape(powers)[0]
    K = radial(y, y, kernel, epsilon) + np.diag(smoothing)
    lhs = np.concatenate(
        [
            np.concatenate([K, P], axis=1),
            np.concatenate([np.transpose(P), np.zeros((r, r))], axis=1),
        ]
    )
    rhs = np.concatenate([d, np.zeros((r, np.shape(d)[1]))])
    return shift, scale, np.linalg.solve(lhs, rhs)


@kernel("_build_evaluation_coefficients", *MODULES, _rbfinterp_pythran)
def build_evaluation_coefficients_body(x, y, kernel, epsilon, powers, shift, scale, xp=None):
    P = monomials((x - shift) / scale, powers)
    return np.concatenate([radial(x, y, kernel, epsilon), P], axis=1)


# ---------------------------------------------------------------------------------- triangulations


def points_of(args: tuple) -> Any:
    """The places of a call: one array, or one for each coordinate."""
    if len(args) == 1 and not isinstance(args[0], tuple):
        return np.asarray(args[0], dtype=float)
    parts = args[0] if len(args) == 1 else args
    return np.stack(np.broadcast_arrays(*[np.asarray(p, dtype=float) for p in parts]), -1)


@kernel("_ndim_coords_from_arrays", _interpnd)
def coordinates_body(points, ndim=None):
    if not isinstance(points, tuple):
        points = np.asarray(points)
        if np.ndim(points) == 1:
            points = np.reshape(points, (-1, 1 if ndim is None else ndim))
        return points
    return points[0] if len(points) == 1 else points_of((points,))


class Triangulated:
    """An interpolant on a triangulation, made of traced values or points.

    Attributes
    ----------
    made : object
        SciPy's interpolant of the same numbers.
    points, values : array
        What it was made of.
    fill_value : float
        What is returned outside.
    """

    def __init__(self, made: Any, points: Any, values: Any, fill_value: Any) -> None:
        self.made, self.points, self.values = made, points, values
        self.fill_value = fill_value

    def __call__(self, *args: Any, simplex_tolerance: float = 1.0) -> Any:
        """Interpolate at places."""
        if simplex_tolerance != 1.0:
            raise RefusedError(
                f"scipy.interpolate.{type(self.made).__name__}",
                "simplex_tolerance= has no rule. Leave it out.",
            )
        x = points_of(args)
        flat = np.reshape(x, (-1, np.shape(x)[-1]))
        f = np.reshape(self.values, (np.shape(self.values)[0], -1))
        simplex = found_simplices(self.made, ignore_derivatives(flat))
        y = self.interpolated(flat, f, simplex)
        y = np.where(simplex[:, None] < 0, self.fill_value, y)
        y = np.reshape(y, np.shape(x)[:-1] + np.shape(self.values)[1:])
        return with_value(self.made(ignore_derivatives(x)), y)


class TriangulatedLinear(Triangulated):
    """A `LinearNDInterpolator` of traced values."""

    def interpolated(self, x: Any, f: Any, simplex: Any) -> Any:
        """The values at places in the simplices of these numbers."""
        corners = self.made.tri.simplices[simplex]
        p = self.points[corners]
        edges = np.swapaxes(p[:, 1:] - p[:, :1], 1, 2)
        rest = np.linalg.solve(edges, (x - p[:, 0])[:, :, None])[:, :, 0]
        weights = np.concatenate([1 - np.sum(rest, -1, keepdims=True), rest], -1)
        return np.einsum("ri,rij->rj", weights, f[corners])


class TriangulatedCubic(Triangulated):
    """A `CloughTocher2DInterpolator` of traced values, or read at traced places."""

    def interpolated(self, x: Any, f: Any, simplex: Any) -> Any:
        """The values at places in the simplices of these numbers."""
        centre, edges, nodes, known = cubic_pieces(self.made, x, simplex)
        found = with_value(known, np.matmul(cubic_matrix(self.made, self.points, nodes), f))
        offsets = np.expand_dims(scaled(self.made, x) - centre, -1)
        local = np.linalg.solve(edges, offsets)[..., 0]
        weights = np.matmul(monomials(local, THIRD_DEGREE), OF_LATTICE)
        return np.einsum("ri,rij->rj", weights, np.reshape(found, (*np.shape(weights), -1)))


def cubic_matrix(made: Any, points: Any, x: Any) -> Any:
    """What the interpolant makes of the columns of the identity."""
    identity = np.eye(np.shape(points)[0])
    return plainly(plainly(CloughTocher2DInterpolator, made.tri, identity, 0.0), scaled(made, x))


refuse(
    cubic_matrix,
    "it has a derivative with respect to the values and the places, but none with respect to the "
    "points. Use LinearNDInterpolator or RBFInterpolator, or wrap the points in "
    "autodiff.ignore_derivatives(...).",
    name="scipy.interpolate.CloughTocher2DInterpolator (griddata's cubic method)",
)

# Ten places in a triangle that determine a cubic polynomial, by two of their weights; inside, since
# the interpolant has no values beyond the hull.
LATTICE = np.array([[1 + i, 1 + j] for i in range(4) for j in range(4 - i)]) / 6 - 1 / 18
THIRD_DEGREE = [(i, j) for i in range(4) for j in range(4 - i)]
OF_LATTICE = np.linalg.inv(monomials(LATTICE, THIRD_DEGREE))


@non_differentiable
def cubic_pieces(made: Any, x: Any, simplex: Any) -> tuple[Any, Any, Any, Any]:
    """The triangles with a cubic polynomial, ten places in each, and the values there.

    The interpolant is a cubic polynomial in each of the three triangles that two corners of a
    simplex form with its centre. A triangle is given by this centre, and the edges to the corners.
    """
    p = made.tri.points[made.tri.simplices[simplex]]
    centre = np.mean(p, 1)
    right = (scaled(made, x) - p[:, 0])[..., None]
    rest = np.linalg.solve(np.swapaxes(p[:, 1:] - p[:, :1], 1, 2), right)[..., 0]
    away = np.argmin(np.concatenate([1 - np.sum(rest, 1, keepdims=True), rest], 1), 1)
    rows = np.arange(np.shape(x)[0])
    edges = np.stack([p[rows, (away + 1) % 3], p[rows, (away + 2) % 3]], -1) - centre[..., None]
    nodes = np.reshape(centre[:, None] + np.matmul(LATTICE, np.swapaxes(edges, 1, 2)), (-1, 2))
    nodes = nodes if made.scale is None else unscaled(made, nodes)
    return centre, edges, nodes, np.reshape(made(nodes), (np.shape(nodes)[0], -1))


def scaled(made: Any, x: Any) -> Any:
    """Places in the coordinates of the triangulation."""
    return x if made.scale is None else (x - made.offset) / made.scale


def unscaled(made: Any, x: Any) -> Any:
    """Places in the coordinates of the user."""
    return x if made.scale is None else x * made.scale + made.offset


def found_simplices(made: Any, x: np.ndarray) -> np.ndarray:
    """The number of the simplex of each place, -1 outside."""
    return made.tri.find_simplex(scaled(made, x), tol=1e-12)


def triangulated(kind: type, interpolant: type) -> None:
    """Have an interpolant of traced values or points made."""

    def body(points, values, fill_value=np.nan, *args, rescale=False, **options):
        made = kind(
            ignore_derivatives(points), ignore_derivatives(values), ignore_derivatives(fill_value),
            *args, rescale=rescale, **options,
        )  # fmt: skip
        at = made.points if hasattr(points, "simplices") else points_of((points,))
        return interpolant(made, at, np.asarray(values), fill_value)

    decompose(kind)(body)


@kernel("__init__", _interpnd.NDInterpolatorBase)
def base_init_body(self, points, values, *args, **options):
    _interpnd.NDInterpolatorBase.__init__(
        self, ignore_derivatives(points), ignore_derivatives(values), *args, **options
    )
    points = points_of((points,))
    self.points = points if self.scale is None else (points - self.offset) / self.scale


@kernel("__call__", _interpnd.NDInterpolatorBase)
def base_call_body(self, *args, **options):
    kind = TriangulatedLinear if isinstance(self, LinearNDInterpolator) else TriangulatedCubic
    points = unscaled(self, self.points)
    values = np.reshape(self.values, (np.shape(points)[0], *self.values_shape))
    return kind(self, points, values, self.fill_value)(*args, **options)


triangulated(LinearNDInterpolator, TriangulatedLinear)
triangulated(CloughTocher2DInterpolator, TriangulatedCubic)
