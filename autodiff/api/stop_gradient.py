"""ignore_derivatives: a value, or the result of a function, as a constant on every trace level."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.trace.pytree import map_leaves
from autodiff.trace.trace_stack import active_tapes
from autodiff.trace.tracer import is_tracer, untraced
from chainrules_core import ignore_derivatives as call_or_return


def ignore_derivatives(x: Any) -> Any:
    """Return a value, or the result of a function, as a constant without a derivative.

    Parameters
    ----------
    x : value or function
        A function or method is called without arguments. Anything else, including a callable
        instance, is returned.

    Returns
    -------
    value
        `x`, or the result of the function, in which all arrays and numbers are untraced.

    Notes
    -----
    Use it for logging, caches and the like. If the output of the differentiated function depends on
    the value, its gradient lacks that contribution.

    An array is what `x` holds at the time of the call: it does not follow later writes into `x`.

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
            tape.hold(value)  # it shares memory with the traced array
    return value
