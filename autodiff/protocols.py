"""Door 2: NumPy's protocols, by which ufuncs and array functions reach a traced value."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from autodiff.call import NO_RULE, by_rule, call, require_rule
from autodiff.errors import MutationError
from autodiff.mutation import assign
from autodiff.tracer import Tracer, is_tracer


def ufunc(f: np.ufunc, method: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a ufunc, or a method of one, on arguments some of which are traced."""
    out = kwargs.pop("out", None)
    target = f if method == "__call__" else getattr(f, method)
    if out is None:
        return require_rule(target, inputs, kwargs)
    if len(out) != 1 or kwargs.get("where", True) is not True:
        raise MutationError(
            f"{f.__name__} with out= is followed for one output and without where= only."
        )
    return into(out[0], call(target, inputs, kwargs))


def into(out: Any, result: Any) -> Any:
    """Write a result into the array given as ``out=``."""
    if not is_tracer(out):
        raise MutationError(
            "a traced value is written into an array that is not traced, and its derivative would "
            "be lost. Make the array from a traced one (np.zeros_like(x)), or do without out=."
        )
    assign(out, result)
    return out


def function(f: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call an array function: by a rule, else by NumPy's own Python code for it."""
    out = kwargs.get("out")
    if out is not None:
        rest = {name: value for name, value in kwargs.items() if name != "out"}
        return into(out, function(f, args, rest))
    result = by_rule(f, args, kwargs)
    if result is not NO_RULE:
        return result
    body = getattr(f, "_implementation", None)
    if isinstance(body, types.FunctionType):
        return body(*args, **kwargs)
    return require_rule(f, args, kwargs)


def install() -> None:
    """Give `Tracer` NumPy's protocols."""

    def __array_ufunc__(  # noqa: N807 - the protocol's name
        self: Tracer, f: np.ufunc, method: str, *inputs: Any, **kwargs: Any
    ) -> Any:
        return ufunc(f, method, inputs, kwargs)

    def __array_function__(  # noqa: N807 - the protocol's name
        self: Tracer, f: Any, kinds: Any, args: tuple, kwargs: dict[str, Any]
    ) -> Any:
        return function(f, args, kwargs)

    Tracer.__array_ufunc__ = __array_ufunc__  # type: ignore[attr-defined] # installed here
    Tracer.__array_function__ = __array_function__  # type: ignore[attr-defined] # installed here


install()
