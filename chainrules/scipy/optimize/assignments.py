"""Assignments: which column goes to which row is constant; the cost is what depends on the data.

``linear_sum_assignment`` returns indices, by which the user reads the cost matrix.
``quadratic_assignment`` returns the value with them, Σ_ij A_ij B_p(i)p(j), linear in A and in B. Line
searches and brackets are steps of an iteration, not solutions of anything, and are refused.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize

from chainrules.refused import refuse
from chainrules.scipy.optimize.implicit import decomposed, with_fields
from chainrules_core import non_differentiable

non_differentiable(optimize.linear_sum_assignment)


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
)
