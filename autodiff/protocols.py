"""Door 2: NumPy's protocols, by which ufuncs and array functions reach a traced value."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from autodiff import call as calls, floats
from autodiff.call import NO_RULE, as_array, by_rule, call, require_rule
from autodiff.elementwise import NOT_HERE, binary, unary
from autodiff.errors import MutationError
from autodiff.mutation import assign
from autodiff.tracer import FloatTracer, Tracer, is_tracer
from autodiff.writing import WRITERS, add_at


def ufunc(f: np.ufunc, method: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a ufunc, or a method of one, on arguments some of which are traced."""
    if any(type(x) in (list, tuple) for x in inputs) and method != "at":
        inputs = tuple([as_array(x) for x in inputs])
    if method == "__call__" and not kwargs:
        result = _elementwise(f, inputs)
        return require_rule(f, inputs, kwargs) if result is NOT_HERE else result
    if method == "at":
        add_at(f, *inputs)
        return None
    out = kwargs.pop("out", None)
    target = f if method == "__call__" else getattr(f, method)
    if out is None:
        return require_rule(target, inputs, kwargs)
    if len(out) != 1 or kwargs.get("where", True) is not True:
        raise MutationError(
            f"{f.__name__} with out= is followed for one output and without where= only."
        )
    return into(out[0], call(target, inputs, kwargs))


def _elementwise(f: np.ufunc, inputs: tuple) -> Any:
    """Call a ufunc by a fast path, if there is one for these arguments."""
    if len(inputs) == 1:
        x = inputs[0]
        if type(x) is FloatTracer:
            record = floats.unary[f]
            return NOT_HERE if record is None else record(x)
        return unary(f, x)
    return binary(f, *inputs) if len(inputs) == 2 else NOT_HERE


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
    writer = WRITERS.get(f)
    if writer is not None:
        return writer(*args, **kwargs)
    body = getattr(f, "_implementation", None)
    if not isinstance(body, types.FunctionType):
        return ruled(f, args, kwargs)
    out = kwargs.get("out")
    if out is not None:
        return into(out, function(f, args, _without_out(kwargs)))
    result = by_rule(f, args, kwargs)
    return calls.body_of(body)(*args, **kwargs) if result is NO_RULE else result


def ruled(f: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call an array function by a rule: for methods, whose functions would call them again."""
    out = kwargs.get("out")
    if out is None:
        return require_rule(f, args, kwargs)
    return into(out, require_rule(f, args, _without_out(kwargs)))


def _without_out(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kwargs.items() if name != "out"}


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
