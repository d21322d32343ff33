"""Global searches: what they return is a local minimum, and moves as one.

Which of several minima is the lowest may change with the parameters; at such a point the minimiser
jumps, and the derivative is that of the branch which was found. A search that does not polish its
result (``brute(finish=None)``, ``differential_evolution(polish=False)``) may be too far from the
minimum, which is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from chainrules.scipy.optimize.implicit import (
    ImplicitError,
    apart,
    decomposed,
    full_name,
    tuple_of,
    with_fields,
    with_others,
)
from chainrules.scipy.optimize.minima import Minimum, converged_digits, minimum_at, value


def search(target: Callable) -> None:
    """Decompose a search in a box."""
    name = full_name(target)

    @decomposed(target, Callable)
    def body(call: dict, result: Any) -> Any:
        if np.any(call.get("integrality")):
            raise ImplicitError(
                f"{name} with integrality= has no derivative rule. Find the integers with "
                "arguments wrapped in autodiff.ignore_derivatives(...), and minimise over the "
                "other variables with scipy.optimize.minimize."
            )
        options = call.get("minimizer_kwargs") or {}
        spec = Minimum(
            name,
            np.size(result.x),
            np.shape(result.x),
            value,
            # DIRECT stops at its budget more often than not.
            digits=3 if target is optimize.direct else converged_digits(result),
            first=options.get("jac") is True,
        )
        params = call["func"], tuple_of(call["args"] if "args" in call else options.get("args", ()))
        bounds = call["bounds"] if "bounds" in call else options.get("bounds")
        constraints = call.get("constraints") or options.get("constraints", ())
        x, y = minimum_at(spec, params, result.x, bounds, constraints)
        return with_fields(with_others(result, x, name), x=x, fun=y)


for _target in (
    optimize.basinhopping, optimize.differential_evolution, optimize.direct,
    optimize.dual_annealing, optimize.shgo,
):  # fmt: skip
    search(_target)


@decomposed(optimize.brute, Callable)
def brute_body(call, result):
    """The minimum that was found from the best point of a grid."""
    x = result[0] if call["full_output"] else result
    name = "scipy.optimize.brute"
    spec = Minimum(name, np.size(x), (np.size(x),) if np.ndim(x) else (), value)
    x, y = minimum_at(spec, (call["func"], tuple_of(call["args"])), x)
    if not call["full_output"]:
        return x
    return x, y, result[2], apart(result[3], x, field=f"Jout in the result of {name}")
