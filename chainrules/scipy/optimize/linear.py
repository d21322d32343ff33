"""Linear least squares within bounds, and isotonic regression.

``nnls`` and ``lsq_linear`` minimise ½ |A x - b|² with x in a box. The variables at a bound stay
there as long as the gradient pushes them against it; the others are the plain least squares
solution of what is left,

    x_free = argmin |A_free x_free - (b - A_fixed x_fixed)|,

which ``np.linalg.lstsq`` differentiates. ``isotonic_regression`` averages blocks of neighbours:
which ones is constant, the averages are differentiated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from chainrules.scipy.found import with_value
from chainrules.scipy.optimize.active import sides_of
from chainrules.scipy.optimize.fitting import box
from chainrules.scipy.optimize.implicit import (
    ImplicitError,
    SingularError,
    decomposed,
    with_fields,
)
from chainrules_core import non_differentiable

CLOSE = 1e-3
ON = 1e-9


@non_differentiable
def held(name: str, a: Any, b: Any, x: Any, lower: tuple, upper: tuple) -> tuple[list, list, list]:
    """Return which variables are free, at their lower bounds, and at their upper bounds."""
    a, b = np.asarray(a), np.asarray(b)
    slope = np.transpose(a) @ (a @ x - b)
    scale = ON * (1.0 + np.max(np.abs(np.transpose(a) @ b), initial=0.0))
    at_lower, at_upper, free = [], [], []
    for i in range(len(x)):
        low = -np.inf if lower[i] is None else float(lower[i])
        high = np.inf if upper[i] is None else float(upper[i])
        below, above = x[i] - low, high - x[i]
        near = CLOSE * max(1.0, abs(x[i]))
        if low == high or (below <= near and slope[i] > max(below, scale)):
            at_lower.append(i)
        elif above <= near and -slope[i] > max(above, scale):
            at_upper.append(i)
        elif min(below, above) <= ON:
            raise ImplicitError(
                f"the solution of {name} lies just on the bound of x[{i}], which does not hold it "
                "there: it has a kink, and no derivative."
            )
        else:
            free.append(i)
    if free and np.linalg.matrix_rank(a[:, free]) < len(free):
        raise SingularError(
            f"the solution of {name} is not unique: the columns of A are linearly dependent. Only "
            "the derivative of a unique solution is defined."
        )
    return free, at_lower, at_upper


def constrained(name: str, a: Any, b: Any, x: Any, lower: tuple, upper: tuple) -> Any:
    """Return the solution `x` as it moves with A, b and the bounds."""
    free, at_lower, at_upper = held(name, a, b, x, lower, upper)
    bounds = {**{i: lower[i] for i in at_lower}, **{i: upper[i] for i in at_upper}}
    fixed = list(bounds)
    values = np.array([bounds[i] for i in fixed], dtype=np.float64)
    rest = b - np.matmul(a[:, fixed], values) if fixed else b
    parts = [values]
    if free:
        parts.append(np.linalg.lstsq(a[:, free], rest, rcond=None)[0])
    order = np.argsort(np.array(fixed + free))
    return with_value(x, np.concatenate(parts)[order])


@decomposed(optimize.nnls)
def nnls_body(call, result):
    """The solution and the norm of the residual."""
    a, b = np.array(call["A"]), np.array(call["b"])
    n = np.shape(a)[1]
    x = constrained("scipy.optimize.nnls", a, b, result[0], (0.0,) * n, (None,) * n)
    return x, with_value(result[1], np.linalg.norm(np.matmul(a, x) - b))


@decomposed(optimize.lsq_linear)
def lsq_linear_body(call, result):
    """The solution, the cost and the residual of a result."""
    a, b = np.array(call["A"]), np.array(call["b"])
    n = np.shape(a)[1]
    lower, upper = sides_of(box(call["bounds"], n), n)
    x = constrained("scipy.optimize.lsq_linear", a, b, result.x, lower, upper)
    residual = np.matmul(a, x) - b
    return with_fields(result, x=x, fun=residual, cost=np.sum(np.square(residual)) / 2)


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
