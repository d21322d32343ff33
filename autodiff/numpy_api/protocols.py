"""NumPy's protocols, through which ufuncs and array functions reach a traced value."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch import call as calls, dispatch_cache
from autodiff.dispatch.arguments import innermost, place_of_out
from autodiff.dispatch.call import NO_RULE, as_array, call, require_rule, without_plan
from autodiff.fastpath import scalar_methods
from autodiff.fastpath.codegen.frequent_operations import note
from autodiff.fastpath.elementwise import NOT_HERE, apply
from autodiff.mutation.views import settled
from autodiff.numpy_api import array_subclasses
from autodiff.numpy_api.out_arguments import WRITERS, at, into, into_each, where_true
from autodiff.numpy_api.pyfunc_loops import by_method, each_element, python_function
from autodiff.trace.checks.number_classes import check_class, computes_itself
from autodiff.trace.pytree import leaves_of
from autodiff.trace.tape import CONSTANT
from autodiff.trace.tracer import TRACERS, FloatTracer, Tracer


def ufunc(f: np.ufunc, method: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a ufunc, or a method of one, on arguments some of which are traced."""
    if method == "__call__" and not kwargs:
        known = dispatch_cache.known_of(f)
        way = dispatch_cache.find(known, inputs, kwargs) if known else None
        result = NO_RULE if way is None else way(*inputs)
        if result is not NO_RULE:
            return result
        result = NOT_HERE
        if len(inputs) == 1:
            x = inputs[0]
            record = scalar_methods.unary[f] if type(x) is FloatTracer else None
            result = apply(f, inputs) if record is None else record(x)
        elif len(inputs) == 2 and f.signature is None:
            result = apply(f, inputs)
        if result is not NOT_HERE:
            note(f, inputs, result)
            return result
        result = calls.planned(f, inputs, kwargs)
        if result is not NO_RULE:
            return result
    if any(type(x) in (list, tuple) for x in inputs) and method != "at":
        inputs = tuple([as_array(x) for x in inputs])
        if method == "__call__":
            return ufunc(f, method, inputs, kwargs)
    if method == "at":
        at(f, *inputs)
        return None
    pyfunc = python_function(f)
    if pyfunc is not None:
        if method != "__call__":
            return by_method(f, pyfunc, method, inputs, kwargs)
        return each_element(pyfunc, f.nout, inputs)
    outs = kwargs.pop("out", None)
    if method == "__call__" and kwargs.get("where", True) is not True:
        return where_true(f, inputs, kwargs.pop("where"), outs, kwargs)
    target = f if method == "__call__" else getattr(f, method)
    if outs is None:
        return require_rule(target, inputs, kwargs)
    return into_each(outs, call(target, inputs, kwargs), method == "__call__")


def _padded(array: Any, pad_width: Any, mode: Any = "constant", **values: Any) -> Any:
    """Pad with traced values: the margins are linear in these."""
    ((name, given),) = values.items()
    array, ndim = as_array(array), np.ndim(array)
    if array.dtype.kind not in "fc":
        return np.pad(np.asarray(array), pad_width, mode, **{name: settled(given)})
    given = np.broadcast_to(as_array(given), (ndim, 2))
    y = np.pad(array, pad_width, mode)
    for place in np.ndindex(ndim, 2):
        unit = np.zeros((ndim, 2))
        unit[place] = 1.0
        y = y + given[place] * np.pad(np.zeros(np.shape(array)), pad_width, mode, **{name: unit})
    return y if y.dtype == array.dtype else y.astype(array.dtype)  # NumPy writes into its array


def _clipped(
    a: Any, low: Any = None, high: Any = None, out: Any = None, *, where: Any, **options: Any
) -> Any:
    """Clip the elements at which ``where=`` is true."""
    low = options.pop("a_min", options.pop("min", low))
    high = options.pop("a_max", options.pop("max", high))
    inputs = tuple([as_array(x) for x in (a, low, high)])
    return where_true(np.clip, inputs, where, None if out is None else (out,), options)


# Functions with options that their rule does not differentiate → what does, and these options.
BY_BODY: dict[Any, tuple[Callable, frozenset]] = {
    np.pad: (_padded, frozenset({"constant_values", "end_values"}))
}


def function(f: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call an array function: by a rule, else by NumPy's own Python code for it."""
    writer = WRITERS.get(f)
    if writer is not None:
        return writer(*args, **kwargs)
    if len(args) > place_of_out(f)[0]:
        args, kwargs = _with_out_named(f, args, kwargs)
    result = calls.planned(f, args, kwargs)
    if result is not NO_RULE:
        return result
    body = getattr(f, "_implementation", None)
    if not isinstance(body, types.FunctionType):
        return ruled(f, args, kwargs)
    if f is np.clip and "where" in kwargs:
        return _clipped(*args, **kwargs)
    out = kwargs.get("out")
    if out is not None:
        return into(out, function(f, args, _without_out(kwargs)))
    if f in BY_BODY and kwargs:
        instead, names = BY_BODY[f]
        if any(innermost((kwargs[n],), {}) is not None for n in names.intersection(kwargs)):
            return instead(*args, **kwargs)
    result = without_plan(f, args, kwargs)
    return by_body(body, tuple(map(_buffer, args)), kwargs) if result is NO_RULE else result


def by_body(body: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Trace NumPy's own code for a function; raise if an array's class may override it."""
    for leaf in leaves_of((args, kwargs)):
        check_class(type(leaf))
    return calls.body_of(body)(*args, **kwargs)


def _buffer(x: Any) -> Any:
    """Return a constant tracer of an array, so that results made of it can take traced values."""
    is_inexact = type(x) is np.ndarray and x.dtype.kind in "fc"
    return Tracer(x, CONSTANT, -1) if is_inexact else x


def ruled(f: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call an array function by its rule only: NumPy's own code would call the method again."""
    if len(args) > place_of_out(f)[0]:
        args, kwargs = _with_out_named(f, args, kwargs)
    result = calls.planned(f, args, kwargs)
    if result is not NO_RULE:
        return result
    for a in args:
        check_class(type(a))
    out = kwargs.get("out")
    if out is None:
        return require_rule(f, args, kwargs)
    return into(out, require_rule(f, args, _without_out(kwargs)))


def _with_out_named(f: Any, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """Return the arguments of a call with ``out`` given by name."""
    place, names = place_of_out(f)
    named = dict(zip(names, args[place:], strict=False))
    if named["out"] is None:
        del named["out"]
    return args[:place], {**named, **kwargs}


def _without_out(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kwargs.items() if name != "out"}


def _array_ufunc(self: Tracer, f: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if any(map(array_subclasses.is_instance_of_subclass, inputs)):
        return array_subclasses.call_ufunc(f, method, inputs, kwargs)
    return ufunc(f, method, inputs, kwargs)


def _array_function(self: Tracer, f: Any, kinds: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    for kind in kinds:
        if kind in TRACERS:
            continue
        if kind is array_subclasses.ArrayInstance or computes_itself(kind):
            return array_subclasses.call_function(f, kinds, args, kwargs)
    return function(f, args, kwargs)


Tracer.__array_ufunc__ = _array_ufunc  # type: ignore[attr-defined] # installed here
Tracer.__array_function__ = _array_function  # type: ignore[attr-defined] # installed here
