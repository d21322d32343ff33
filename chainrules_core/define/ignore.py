"""ignore_derivatives: treat a value, or the result of a function, as a constant."""

from __future__ import annotations

from typing import Any

from chainrules_core.define.nondifferentiable import non_differentiable


def ignore_derivatives(x: Any) -> Any:
    """Return a value, or call a function; engines treat the result as a constant.

    Parameters
    ----------
    x : value or function
        A plain function or method is called without arguments. Anything else, including a callable
        instance, is returned.

    Returns
    -------
    value
        `x`, or the result of the function.

    Notes
    -----
    Use it for logging, caches and the like. If the output depends on the value, the gradient lacks
    that contribution.

    Examples
    --------
    >>> ignore_derivatives(3.0)
    3.0
    >>> ignore_derivatives(lambda: 3.0)
    3.0
    """
    if hasattr(x, "__code__") or hasattr(x, "__func__"):
        return x()
    return x


non_differentiable(ignore_derivatives)
