"""Linear least squares within bounds, and isotonic regression.

``nnls`` and ``lsq_linear`` minimise ½ |A x - b|² with x in a box. The variables at a bound stay
there as long as the gradient pushes them against it; the others are the plain least squares
solution of what is left. With r = b - A x its normal equations are A_freeᵀ r = 0, so that with
u = (A_freeᵀ A_free)⁻¹ x̄_free, which is 0 at the fixed ones, and w = A u

    b̄ = w,    Ā = r uᵀ - w xᵀ,    x̄_fixed - A_fixedᵀ w  for the bounds.

``isotonic_regression`` averages blocks of neighbours: which ones is constant, the averages are
differentiated.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, optimize

from chainrules.scipy.found import with_value
from chainrules.scipy.optimize.active import sides_of
from chainrules.scipy.optimize.fitting import box
from chainrules.scipy.optimize.implicit import ImplicitError, SingularError, decomposed, with_fields
from chainrules_core import Array, NoTangent, non_differentiable, pair_rule, primitive
from chainrules_core.authoring import is_foreign, scatter

CLOSE = 1e-3
ON = 1e-9


@non_differentiable
def held(name: str, a: Any, b: Any, x: Any, lower: tuple, upper: tuple) -> tuple:
    """Return which variables are free, at their lower bounds, and at their upper bounds."""
    a, b = np.asarray(a), np.asarray(b)
    slope = np.transpose(a) @ (a @ x - b)
    scale = ON * (1.0 + np.max(np.abs(np.transpose(a) @ b), initial=0.0))
    low = np.array([-np.inf if end is None else end for end in lower], dtype=float)
    high = np.array([np.inf if end is None else end for end in upper], dtype=float)
    below, above = x - low, high - x
    near = CLOSE * np.maximum(1.0, np.abs(x))
    at_lower = (low == high) | ((below <= near) & (slope > np.maximum(below, scale)))
    at_upper = ~at_lower & (above <= near) & (-slope > np.maximum(above, scale))
    is_free = ~(at_lower | at_upper)
    verge = np.flatnonzero(is_free & (np.minimum(below, above) <= ON))
    if len(verge):
        raise ImplicitError(
            f"the solution of {name} lies just on the bound of x[{verge[0]}], which does not hold "
            "it there: it has a kink, and no derivative. Leave out the bound if it does not "
            "matter, or change the data a little."
        )
    return tuple([np.flatnonzero(which) for which in (is_free, at_lower, at_upper)])


class Normal(NamedTuple):
    """The normal equations AᵀA u = v of the columns A of the free variables.

    Attributes
    ----------
    root : array
        R of A = QR; of a traced matrix the pseudo-inverse P, with which u = P Pᵀ v.
    """

    root: Any
    is_foreign: bool

    def solved(self, v: Any) -> Any:
        """Return u."""
        if not np.size(v):
            return v
        if self.is_foreign:
            return np.matmul(self.root, np.matmul(np.transpose(self.root), v))
        half = linalg.solve_triangular(self.root, v, trans="T", check_finite=False)
        return linalg.solve_triangular(self.root, half, check_finite=False)


def normal_equations(name: str, a: Any) -> Normal:
    """Return the normal equations of columns; raise where they are linearly dependent."""
    if is_foreign(a):
        return Normal(np.linalg.pinv(a), True)
    if a.shape[0] >= a.shape[1]:
        root = np.linalg.qr(a, mode="r")
        sizes = np.linalg.svd(root, compute_uv=False)
        if np.all(sizes > np.max(sizes, initial=0.0) * a.shape[0] * np.finfo(a.dtype).eps):
            return Normal(root, False)
    raise SingularError(
        f"the solution of {name} is not unique, and has no derivative: the columns of A are "
        "linearly dependent. Leave out the redundant columns, or take the shortest solution, "
        "np.linalg.pinv(A) @ b."
    )


@primitive
def bounded(name: str, a: Any, b: Any, ends: Any, x: Any, free: Any, fixed: Any) -> Any:
    """Return `x`, which minimises |a x - b| with the elements `fixed` held at `ends`."""
    return x


def at_minimum(name: str, a: Any, b: Any, y: Any, free: Any) -> tuple[Normal, Any, Any]:
    """Return the normal equations, the solution without the solver's error, and b - a x."""
    normal = normal_equations(name, a[:, free])
    missed = np.matmul(np.transpose(a[:, free]), b - np.matmul(a, y))
    x = y + at_places(normal.solved(missed), free, np.shape(y)[0])
    return normal, x, b - np.matmul(a, x)


def at_places(v: Any, places: Any, n: int) -> Any:
    """Return a vector with elements at places, 0 elsewhere."""
    return scatter(v, places, (n,), np.float64)


@pair_rule(bounded, str, Array, Array, Array)
def bounded_rule(name, a, b, ends, x, free, fixed):
    y = bounded(name, a, b, ends, x, free, fixed)
    normal, at, r = at_minimum(name, a, b, y, free)

    def bounded_pushforward(_name, a_dot, b_dot, ends_dot, *_):
        moved = b_dot - np.matmul(a_dot, at) - np.matmul(a[:, fixed], ends_dot)
        slope = np.matmul(np.transpose(a_dot[:, free]), r)
        u = normal.solved(np.matmul(np.transpose(a[:, free]), moved) + slope)
        n = np.shape(at)[0]
        return at_places(u, free, n) + at_places(ends_dot, fixed, n)

    def bounded_pullback(y_bar):
        u = normal.solved(y_bar[free])
        b_bar = np.matmul(a[:, free], u)
        spread = at_places(u, free, np.shape(at)[0])
        a_bar = r[:, None] * spread - b_bar[:, None] * at
        ends_bar = y_bar[fixed] - np.matmul(np.transpose(a[:, fixed]), b_bar)
        return NoTangent(), a_bar, b_bar, ends_bar, NoTangent(), NoTangent(), NoTangent()

    return y, bounded_pushforward, bounded_pullback


def constrained(name: str, a: Any, b: Any, x: Any, lower: tuple, upper: tuple) -> Any:
    """Return the solution `x` as it moves with A, b and the bounds."""
    free, at_lower, at_upper = held(name, a, b, x, lower, upper)
    ends = np.array([lower[i] for i in at_lower] + [upper[i] for i in at_upper], dtype=np.float64)
    return bounded(name, a, b, ends, x, free, np.concatenate([at_lower, at_upper]))


@decomposed(optimize.nnls)
def nnls_body(call, result):
    """The solution and the norm of the residual."""
    a, b = np.array(call["A"]), np.array(call["b"])
    n = np.shape(a)[1]
    x = constrained("scipy.optimize.nnls", a, b, result[0], (0.0,) * n, (None,) * n)
    return x, with_value(result[1], np.linalg.norm(np.matmul(a, x) - b).item())


@decomposed(optimize.lsq_linear)
def lsq_linear_body(call, result):
    """The solution, the cost and the residual of a result."""
    a, b = np.array(call["A"]), np.array(call["b"])
    n = np.shape(a)[1]
    lower, upper = sides_of(box(call["bounds"], n), n)
    x = constrained("scipy.optimize.lsq_linear", a, b, result.x, lower, upper)
    residual = np.matmul(a, x) - b
    cost = with_value(result.cost, np.sum(np.square(residual)) / 2)
    return with_fields(result, x=x, fun=residual, cost=cost)


@decomposed(optimize.isotonic_regression)
def isotonic_regression_body(call, result):
    """The averages and weights of blocks."""
    y, weights = np.array(call["y"]), call["weights"]
    weights = np.ones(np.shape(y)) if weights is None else np.array(weights)
    ends = result.blocks
    total = np.add.reduceat(weights, ends[:-1])
    means = np.add.reduceat(weights * y, ends[:-1]) / total
    return with_fields(
        result, x=with_value(result.x, np.repeat(means, np.diff(ends))), weights=total
    )
