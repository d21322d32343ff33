"""Functions of Python behind callables that are made in C, or keep results.

Numba's compiled functions, wrapt's wrappers and caches call such a function, or a compiled version
of it, where no rewritten call sees it. With a traced value among the arguments the Python code runs
instead; plain values are left to the callable itself.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

from autodiff.dispatch.arguments import innermost
from autodiff.dispatch.call import as_array
from autodiff.intercept.runtime import syntax_ops
from autodiff.numpy_api.pyfunc_loops import each_element


def behind(g: Any, kind: type) -> Callable | None:
    """Return what is called for a callable with traced arguments; None if nothing is behind it.

    Parameters
    ----------
    g : callable
        No function of Python's, nor a class.
    kind : type
        Its class.
    """
    find = _BY_PACKAGE.get(kind.__module__.partition(".")[0])
    return None if find is None else find(g, kind)


def unless_traced(plainly: Callable, body: Callable) -> Callable:
    """Return what calls `body` if an argument is traced, and `plainly` if none is."""

    def calling(*args: Any, **kwargs: Any) -> Any:
        return (plainly if innermost(args, kwargs) is None else body)(*args, **kwargs)

    return calling


def _uncached(g: Any, kind: type) -> Callable | None:
    """Return what a cache keeps the results of: it would take equal values for the same."""
    function = getattr(g, "__wrapped__", None)
    return None if function is None else syntax_ops.intercept(function)


def _compiled(g: Any, kind: type) -> Callable | None:
    """Return the Python function that numba has compiled, of numbers or of arrays."""
    function = getattr(g, "py_func", None)
    if type(function) is types.FunctionType:
        return syntax_ops.intercept(function)
    element = getattr(getattr(g, "_dispatcher", None), "py_func", None)
    if type(element) is not types.FunctionType or getattr(g, "signature", None) is not None:
        return None

    def of_each(*args: Any) -> Any:
        inputs = tuple([as_array(a) for a in args])
        return each_element(syntax_ops.intercept(element), 1, inputs)

    return of_each


def _twin(g: Any, kind: type) -> Callable | None:
    """Return the method written in Python that does what one of wrapt's classes does in C."""
    written = sys.modules.get("wrapt.wrappers")
    for base in kind.__mro__[:-1]:
        call = getattr(getattr(written, base.__name__, None), "__call__", None)  # noqa: B004
        if type(call) is types.FunctionType:
            return types.MethodType(syntax_ops.intercept(call), g)
    return None


_BY_PACKAGE: dict[str, Callable[[Any, type], Callable | None]] = {
    "_wrappers": _twin,  # the module that wrapt's classes in C say they are of
    "cachetools": _uncached,
    "numba": _compiled,
}
