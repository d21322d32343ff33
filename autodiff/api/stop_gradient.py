"""ignore_derivatives: a value, or what a function returns, as a constant on every level."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.trace.pytree import map_leaves
from autodiff.trace.trace_stack import active_tapes
from autodiff.trace.tracer import is_tracer, untraced
from chainrules_core import ignore_derivatives as call_or_return


def ignore_derivatives(x: Any) -> Any:
    """Return a value as it is, or call a function; the result is a constant for the gradient.

    Parameters
    ----------
    x : value or function
        A plain function or method without arguments is called; anything else, callable instances
        included, is returned.

    Returns
    -------
    value
        `x`, or what the function returned, without a derivative.

    Notes
    -----
    For logging, caches and the like. Used where the value does matter, the gradient is wrong by
    what was ignored.

    Examples
    --------
    >>> from autodiff import gradient
    >>> gradient(lambda x: x * ignore_derivatives(x * x), 3.0)
    9.0
    """
    return map_leaves(call_or_return(x), _constant)


def _constant(leaf: Any) -> Any:
    if is_tracer(leaf) and leaf._tape.observer is not None:
        leaf._tape.observer.ignored(leaf)
    value = untraced(leaf)
    if value is not leaf and type(value) is np.ndarray:
        for tape in active_tapes():
            tape.hold(value)  # its memory is that of the traced array
    return value
