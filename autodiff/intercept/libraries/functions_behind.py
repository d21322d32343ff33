"""Functions of Python behind callables that are made in C, or keep results.

Numba's compiled functions, wrapt's wrappers and caches call such a function, or a compiled version
of it, where no rewritten call sees it. With a traced value among the arguments the Python code runs
instead; plain values are left to the callable itself.
"""

from __future__ import annotations

import functools
import re
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch.arguments import innermost
from autodiff.dispatch.call import as_array, require_rule
from autodiff.intercept.syntax import syntax_ops
from autodiff.numpy_api.out_arguments import copyto
from autodiff.numpy_api.pyfunc_loops import each_element
from autodiff.trace.tape import CONSTANT
from autodiff.trace.tracer import bare, is_tracer


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


def remembering(g: Any, kind: type) -> Callable | None:
    """Return a function with a cache that also takes traced values, for each trace anew.

    A call is made once for one traced value, as it is for one plain value. Two traced values are
    not the same where they are equal: their derivatives differ.
    """
    function: Any = getattr(g, "__wrapped__", None)
    if function is None:
        return None
    if kind.__module__ == "cachetools._cachedmethod":  # of an object, which is in its key
        function = types.MethodType(function, g.cache_key.args[0])
    parameters: dict[str, Any] = getattr(g, "cache_parameters", dict)()
    # Caches of packages may have keys of their own, for arrays too.
    none = (_NoKeyError,) if parameters else (_NoKeyError, TypeError)

    def called(*args: Any, **kwargs: Any) -> Any:
        body = syntax_ops.intercept(function)
        try:
            keys = tuple(map(_key, args))
            named = {name: _key(a) for name, a in kwargs.items()}
        except none:
            return body(*args, **kwargs)
        tape = innermost(args, kwargs)
        known = tape.caches.get(id(g)) if tape is not None else None
        if known is None:

            def once(*keys: Any, **named: Any) -> Any:
                return body(*map(_value, keys), **{n: _value(k) for n, k in named.items()})

            known = g, functools.lru_cache(**(parameters or {"maxsize": None}))(once)
            if tape is not None:
                tape.caches = {**tape.caches, id(g): known}
        return known[1](*keys, **named)

    return called


class _NoKeyError(Exception):
    """A traced value inside an object has no key."""


class _Key:
    """A traced value as a key: equal to what is the same value of the same variables.

    That is the value itself, or one that was computed from it in the same single step.
    """

    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        if type(other) is not _Key:
            return False
        x, y = self.x, other.x
        if x is y:
            return True
        if x._tape is not y._tape or x._tape is CONSTANT or bare(x) != bare(y):
            return False
        i, j, nodes = x._index, y._index, x._tape.nodes
        if i == j:
            return True
        return max(i, j) < len(nodes) and type(nodes[i]) is tuple and nodes[i] == nodes[j]

    def __hash__(self) -> int:
        return hash(bare(self.x))


def _key(a: Any) -> Any:
    if is_tracer(a):
        key = _Key(a)
        hash(key)  # an array has none, as without a trace
        return key
    if innermost((a,), {}) is None:
        return a
    if type(a) is tuple:
        return tuple(map(_key, a))
    raise _NoKeyError


def _value(key: Any) -> Any:
    if type(key) is tuple:
        return tuple(map(_value, key))
    return key.x if type(key) is _Key else key


def _compiled(g: Any, kind: type) -> Callable | None:
    """Return the Python function that numba has compiled, of numbers or of arrays."""
    function = getattr(g, "py_func", None)
    if type(function) is types.FunctionType:
        return syntax_ops.intercept(function)
    element = getattr(getattr(g, "_dispatcher", None), "py_func", None)
    filling = getattr(getattr(g, "gufunc_builder", None), "py_func", None)
    if type(filling) is types.FunctionType:
        return functools.partial(_filled, g, syntax_ops.intercept(filling))
    if type(element) is not types.FunctionType or getattr(g, "signature", None) is not None:
        return functools.partial(_without_body, g)

    def of_each(*args: Any) -> Any:
        inputs = tuple([as_array(a) for a in args])
        return each_element(syntax_ops.intercept(element), 1, inputs, has_dtypes=True)

    return of_each


def _filled(g: Any, fill: Callable, *args: Any) -> Any:
    """Call the function that ``guvectorize`` compiles for each core of the arguments.

    It fills the arrays behind its inputs: the caller's, if these are given, or new ones.
    """
    given, made = [re.findall(r"\((.*?)\)", half) for half in g.signature.split("->")]
    n = len(given)
    kinds, dtypes = _types_of(g, args[:n], len(made))
    results = args[n:]

    def of_core(*cores: Any) -> Any:
        sizes = {
            name.strip(): size
            for dims, x in zip((*given, *made), cores, strict=False) if dims
            for name, size in zip(dims.split(","), np.shape(x), strict=True)
        }  # fmt: skip
        shapes = [
            [sizes[name.strip()] for name in dims.split(",")] if dims else [1] for dims in made
        ]
        before = cores[n:] or [np.zeros((), dtype) for dtype in dtypes]
        filled = [np.full(shape, x) for shape, x in zip(shapes, before, strict=True)]
        inputs = [np.reshape(x, 1) if is_array and np.ndim(x) == 0 else x
                  for x, is_array in zip(cores, kinds, strict=False)]  # fmt: skip
        fill(*inputs, *filled)
        found = [x if dims else x[0] for x, dims in zip(filled, made, strict=True)]
        return tuple(found) if len(found) > 1 else found[0]

    cores = [f"({dims})" for dims in (*given, *(made if results else ()))]
    signature = f"{','.join(cores)}->{','.join(f'({dims})' for dims in made)}"
    y = syntax_ops.intercept(np.vectorize(of_core, signature=signature))(*args)
    if not results:
        return y
    for result, x in zip(results, y if len(made) > 1 else (y,), strict=True):
        copyto(result, x, casting="same_kind")
    return results if len(made) > 1 else results[0]


def _types_of(g: Any, inputs: tuple, n_results: int) -> tuple[list[bool], str]:
    """Return which inputs of a generalised ufunc are arrays, and the dtypes of its results.

    Single numbers may be arrays for its function, too. They are numbers if it is compiled for the
    types of each call.
    """
    held = [as_array(x).dtype for x in inputs]
    for loop, declared in zip(g.types, g.gufunc_builder._sigs, strict=False):
        taken, made = loop.split("->")
        if all(map(np.can_cast, held, taken)):
            return [hasattr(t, "ndim") for t in declared.args[: len(inputs)]], made
    return [False] * len(inputs), "d" * n_results


def _without_body(g: Any, *args: Any, **kwargs: Any) -> Any:
    """Call what does more than call a Python function (``stencil``) by a rule."""
    return require_rule(g, args, kwargs)


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
    "cachetools": remembering,
    "numba": _compiled,
}
