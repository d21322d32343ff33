"""Functions that engines treat as one call (primitive), or call without tracing (natively).

What such a function does can be said in steps as well, for engines that write calls down.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from chainrules_core.projection.project_to import is_foreign

F = TypeVar("F", bound=Callable)


def primitive(f: F) -> F:
    """Make `f` support NumPy's ``__array_function__`` protocol, as NumPy's own functions do.

    Engines that trace values by this protocol then see the call, and can use a rule for it. Use it
    for helpers of rules, such as a scatter, or an adjoint for which NumPy has no function:
    pullbacks run on traced values when second derivatives are computed.

    Parameters
    ----------
    f : callable
        A function of arrays.

    Returns
    -------
    callable
        The function to call, and to register rules for.

    Examples
    --------
    >>> @primitive
    ... def double(x): return 2 * x
    >>> double(3.0)
    6.0
    """

    @functools.wraps(f)
    def dispatching(*args: Any, **kwargs: Any) -> Any:
        for a in args:
            if is_foreign(a) and hasattr(type(a), "__array_function__"):
                types = (type(a),)
                return a.__array_function__(dispatching, types, args, kwargs)
        return f(*args, **kwargs)

    dispatching._implementation = f  # type: ignore[attr-defined] # where NumPy keeps it too
    return dispatching  # type: ignore[return-value] # it is called as f is


def natively(f: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call a function without tracing: no engine looks into its body.

    Use it in helpers of rules that pass containers of traced values to library code that only moves
    the values around and does not compute with them.

    Parameters
    ----------
    f : callable
        The function or method.
    *args, **kwargs
        Its arguments.

    Returns
    -------
    Any
        What it returns.

    Examples
    --------
    >>> natively(max, [1.0, 3.0], key=abs)
    3.0
    """
    return f(*args, **kwargs)


STEPS: dict[Callable, Callable] = {}
"""Functions, and what they do in steps."""
STEPS_OF_ARRAYS: set[Callable] = set()
"""Those of them that are as few for large arrays, and as fast."""


def in_steps(f: Callable, of_arrays: bool = False) -> Callable[[F], F]:
    """Describe `f` in terms of functions that engines know.

    An engine that records calls and runs them by other means may run these steps in place of a call
    that it does not know. It does so for small arrays, where the number of calls does not matter.

    Parameters
    ----------
    f : callable
        The function, often a `primitive`.
    of_arrays : bool, optional
        Whether the steps are as few for large arrays, and as fast as a call, so that they serve
        arrays of any size.

    Returns
    -------
    callable
        A decorator for a function of the same arguments. It must return the same result up to
        rounding, or NotImplemented for arguments without steps.

    Examples
    --------
    >>> @primitive
    ... def doubled(x): return 2 * x
    >>> @in_steps(doubled)
    ... def doubled_in_steps(x): return x + x
    >>> STEPS[doubled](3.0)
    6.0
    """

    def register(body: F) -> F:
        STEPS[f] = body
        if of_arrays:
            STEPS_OF_ARRAYS.add(f)
        return body

    return register
