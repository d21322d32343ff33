"""Assignments and differences.

Which column goes to which row is constant; the cost is what depends on the data.
``linear_sum_assignment`` returns indices, by which the user reads the cost matrix.
``quadratic_assignment`` returns the value with them, Σ_ij A_ij B_p(i)p(j), linear in A and in B.
Line searches and brackets are steps of an iteration, not solutions of anything, and are refused.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import optimize

from chainrules.refused import refuse
from chainrules.scipy.optimize.implicit import ImplicitError, decomposed, with_fields
from chainrules_core import decompose, non_differentiable

EPSILON = np.sqrt(np.finfo(float).eps)

non_differentiable(optimize.linear_sum_assignment)


@decompose(optimize.approx_fprime, object, Callable)
def approx_fprime_body(xk, f, epsilon=EPSILON, *args):
    """Forward differences, as they are."""
    x = np.array(xk, dtype=np.float64)
    y = f(x, *args)
    if np.ndim(x) == 0:
        return (f(x + epsilon, *args) - y) / epsilon
    steps = np.eye(np.size(x)) * epsilon
    return np.stack([(f(x + h, *args) - y) / np.sum(h) for h in steps], axis=-1)


@decompose(optimize.check_grad, Callable, Callable)
def check_grad_body(func, grad, x0, *args, epsilon=EPSILON, direction="all", rng=None, seed=None):
    """The distance of a gradient from forward differences."""
    if direction != "all":
        raise ImplicitError(
            "scipy.optimize.check_grad in a random direction has no derivative rule. Leave out "
            "direction=."
        )
    gap = grad(x0, *args) - optimize.approx_fprime(x0, func, epsilon, *args)
    return np.sqrt(np.sum(np.square(np.abs(gap))))


@decomposed(optimize.quadratic_assignment)
def quadratic_assignment_body(call, result):
    """The value of a result."""
    p = result.col_ind
    a, b = np.array(call["A"]), np.array(call["B"])
    return with_fields(result, fun=np.sum(a * b[p][:, p]))


refuse(
    (optimize.line_search, optimize.bracket),
    "it returns a step of an iteration, which is no smooth function of its arguments. "
    "Differentiate the minimum that the iteration is for, or wrap the arguments in "
    "autodiff.ignore_derivatives(...).",
    Callable,
)
