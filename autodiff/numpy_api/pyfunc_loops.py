"""Python functions applied to each element of arrays, which NumPy loops over in C.

``np.frompyfunc`` and ``np.vectorize`` call a Python function from C, where traced values would
become plain ones. Here the loop runs in Python, and its results are put together again.
"""

from __future__ import annotations

import functools
import gc
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch import call as calls
from autodiff.dispatch.arguments import innermost
from autodiff.dispatch.call import as_array
from autodiff.errors import DifferentiationError
from autodiff.trace.checks.conversions import check_texts
from autodiff.trace.tracer import is_tracer, untraced
from chainrules_core import frule, rrule
from chainrules_core.interpreter.no_value import NO_VALUE


def python_function(f: np.ufunc) -> Callable | None:
    """Return the Python function behind a ufunc of ``np.frompyfunc`` without rules, else None."""
    if f.ntypes != 1 or f.types != [f"{'O' * f.nin}->{'O' * f.nout}"]:
        return None
    if rrule.entry(f) or frule.entry(f):
        return None
    held = [x for x in gc.get_referents(f) if callable(x)]
    # What other machine code does is not known.
    is_seen = held and (isinstance(held[0], _SEEN) or hasattr(type(held[0]).__call__, "__code__"))
    return functools.partial(_called, held[0]) if is_seen else None


def _called(function: Callable, *values: Any) -> Any:
    """Call a function as traced code does: by a rule, else by its body."""
    return calls.call(function, values)


_SEEN = (type, types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial)


def together(values: list, shape: tuple[int, ...], dtype: Any = None) -> Any:
    """Return the results of a loop as an array, traced if one of them is."""
    if innermost((values,), {}) is None:
        plain = np.empty(len(values), object)
        plain[:] = [untraced(v) for v in values]
        if dtype is None:
            return plain.reshape(shape) if shape else plain[0]
        return plain.astype(dtype).reshape(shape)
    if not shape and dtype is None:
        return values[0]
    made = np.reshape(as_array(values), shape)
    return made if dtype is None or made.dtype == dtype else made.astype(dtype)


def each_element(function: Callable, nout: int, inputs: tuple, has_dtypes: bool = False) -> Any:
    """Call a function of numbers for each element, as a ufunc of ``np.frompyfunc`` does.

    With `has_dtypes`, it gets NumPy's numbers. Where a result is traced, the array of them is one
    of numbers, not of objects.
    """
    shape, results = looped(function, inputs, has_dtypes)
    if nout == 1:
        return together(results, shape)
    return tuple([together([r[i] for r in results], shape) for i in range(nout)])


def looped(
    function: Callable, inputs: tuple, has_dtypes: bool = False
) -> tuple[tuple[int, ...], list]:
    """Return the shape to which arrays are broadcast, and a function of each of their elements.

    NumPy makes arrays of objects first, so the function gets Python's numbers: those of a list
    keep their classes.
    """
    inputs = tuple([as_array(a) if innermost((a,), {}) is not None else a for a in inputs])
    if not has_dtypes:
        inputs = tuple([a if is_tracer(a) else np.asanyarray(a, dtype=object) for a in inputs])
    shape = np.broadcast_shapes(*map(np.shape, inputs))
    flat = [np.reshape(np.broadcast_to(a, shape), (-1,)) for a in inputs]
    elements = flat if has_dtypes else [x.tolist() for x in flat]
    return shape, [function(*values) for values in zip(*elements, strict=True)]


class _Loop(np.vectorize):
    """An ``np.vectorize`` that loops over the elements in Python."""

    def _vectorize_call(self, func: Callable, args: Any) -> Any:
        base: Any = np.vectorize
        inputs = [as_array(a) for a in args]
        if self.signature is not None:
            return calls.body_of(base._vectorize_call_with_signature)(self, func, inputs)
        for x in inputs:
            check_texts(x)
        inputs = [x if is_tracer(x) else np.asanyarray(x) for x in inputs]
        if not inputs:
            return func()
        if 0 in np.broadcast_shapes(*map(np.shape, inputs)):
            return base._vectorize_call(self, func, [untraced(x) for x in inputs])
        found: list = []
        if self.otypes is None:  # then NumPy asks what the first of its own numbers gives
            found.append(func(*[np.reshape(x, (-1,))[0] for x in inputs]))
        known = found.copy() if self.cache else []
        given = [x if is_tracer(x) else a for a, x in zip(args, inputs, strict=True)]
        shape, results = looped(lambda *v: known.pop() if known else func(*v), tuple(given))
        first = found[0] if found else results[0]
        if not isinstance(first, tuple):
            return together(results, shape, otype(self, 0, first))
        columns = [[r[i] for r in results] for i in range(len(first))]
        return tuple([together(c, shape, otype(self, i, first[i])) for i, c in enumerate(columns)])


def vectorized(g: np.vectorize, intercept: Callable) -> Callable:
    """Return what is called in place of an ``np.vectorize``."""

    def in_a_loop(*args: Any, **kwargs: Any) -> Any:
        if isinstance(g.pyfunc, type(NO_VALUE)) or type(g) is not np.vectorize:
            return calls.body_of(type(g).__call__)(g, *args, **kwargs)  # a decorator with options
        function = intercept(g.pyfunc)
        return _Loop(function, g.otypes, None, g.excluded, g.cache, g.signature)(*args, **kwargs)

    return in_a_loop


def otype(g: np.vectorize, i: int, first: Any) -> np.dtype:
    """Return the dtype of an output: what ``otypes=`` says, else that of the first result."""
    if g.otypes is not None:
        return np.dtype(g.otypes[i])
    return np.asarray(untraced(first)).dtype


def from_iterator(iterate: Callable, *args: Any, **kwargs: Any) -> Any:
    """Do ``np.fromiter``; the array is traced if one of the elements is."""
    values, dtype, count = bound_fromiter(*args, **kwargs)
    found: list = []
    for value in iterate(values):
        if len(found) == count:
            break
        found.append(value)
    if innermost((found,), {}) is None:
        return np.fromiter([untraced(v) for v in found], dtype, count)
    if len(found) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(found)}")
    made = as_array(found)
    base = np.dtype(dtype).base
    return made if made.dtype == base else made.astype(base)


def bound_fromiter(iter: Any, dtype: Any, count: int = -1, *, like: Any = None) -> tuple:
    """Return the arguments of ``np.fromiter`` in order."""
    return iter, dtype, count


def by_method(f: np.ufunc, function: Callable, method: str, inputs: tuple, options: dict) -> Any:
    """Call ``reduce`` or ``accumulate`` of a ufunc of ``np.frompyfunc``."""
    axis = options.pop("axis", 0)
    if method not in ("reduce", "accumulate") or type(axis) is not int or options:
        raise DifferentiationError(
            f"{f.__name__}.{method}(...): of the methods of a function made by np.frompyfunc only "
            "reduce and accumulate are followed, along one axis and without further options. Call "
            "the function itself on arrays that broadcast, or write the loop in Python."
        )
    x = np.moveaxis(inputs[0], axis, 0)
    running = [x[0]]
    for part in x[1:]:
        running.append(each_element(function, 1, (running[-1], part)))
    return running[-1] if method == "reduce" else np.stack(running, axis)
