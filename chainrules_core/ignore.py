"""ignore_derivatives: a value, or what a function returns, as a constant."""

from __future__ import annotations

from typing import Any

from chainrules_core.define.nondifferentiable import non_differentiable


def ignore_derivatives(x: Any) -> Any:
    """Return a value, or call a function; engines treat the result as a constant.

    Parameters
    ----------
    x : value or function
        A plain function or method without arguments is called; anything else, callable instances
        included, is returned.

    Returns
    -------
    value
        `x`, or what the function returned.

    Notes
    -----
    For logging, caches and the like. Used where the value does matter, the gradient is wrong by
    what was ignored.

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
