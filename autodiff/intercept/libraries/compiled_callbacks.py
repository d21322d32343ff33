"""Functions that compiled numerical code calls back.

Such code turns what a function returns into a number, and does not always check whether that was
possible. So a traced value never gets there: the function that returns one raises an error.
"""

from __future__ import annotations

import ctypes
import functools
import types
from collections.abc import Callable
from typing import Any

from autodiff.dispatch import call as calls
from autodiff.dispatch.arguments import innermost
from autodiff.errors import LostValueError, lost_value
from chainrules_core import ChainRulesError

_FUNCTIONS = frozenset({types.FunctionType, types.MethodType})
_COMPILED = ("scipy",)  # packages whose functions in C read numbers, and pass nothing on
FUNCTION_POINTER: type = ctypes.CFUNCTYPE(None).__mro__[1]
"""The class of functions that ctypes makes for C."""


def reads_numbers(g: Any) -> bool:
    """Whether a function is of a numerical package, or a routine of Fortran's."""
    module = getattr(g, "__module__", None) or type(g).__module__ or ""
    return module.partition(".")[0] in _COMPILED or type(g).__name__ == "fortran"


def sees_traced(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether an argument is or holds a traced value, or is a function that has captured one."""
    return innermost(*calls.with_closures(args, kwargs)) is not None


def returning_plain(f: Any) -> Any:
    """Return a function that raises instead of returning a traced value; else `f` as it is."""
    if type(f) not in _FUNCTIONS:
        return f

    @functools.wraps(f)
    def called(*args: Any, **kwargs: Any) -> Any:
        y = f(*args, **kwargs)
        if innermost((y,), {}) is not None:
            raise _called_by_c(y.__class__.__name__)  # of the value, not of its tracer
        return y

    return called


def _called_by_c(kind: str) -> LostValueError:
    return lost_value(
        "A function that compiled code calls and that uses a traced value from outside",
        kind,
        "Compute without compiled code in between, or do it in a function of your own and give "
        "that one a rule (chainrules_core.rrule.register).",
    )


def calling_back(g: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a library's function whose arguments hold nothing that is traced.

    A function that it is given may still find a traced value, in a global.
    """
    try:
        return g(*args, **kwargs)
    except SystemError as error:  # compiled code went on although a conversion had failed
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ChainRulesError):
                raise cause from None
            cause = cause.__cause__ or cause.__context__
        raise


def making_pointer(g: type) -> Callable:
    """Return a replacement for ctypes' conversion of a Python function to a C function."""

    def make(*args: Any, **kwargs: Any) -> Any:
        if sees_traced(args, kwargs):
            raise _called_by_c("value")
        return g(*[returning_plain(a) for a in args], **kwargs)

    return make
