"""Functions of Python behind callables that are made in C, or keep results.

Numba's compiled functions, wrapt's wrappers and caches call such a function, or a compiled version
of it, where no rewritten call sees it. With a traced value among the arguments the Python code runs
instead; plain values are left to the callable itself.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch.arguments import innermost
from autodiff.dispatch.call import as_array
from autodiff.errors import DifferentiationError, untraced_array
from autodiff.intercept.syntax import syntax_ops
from autodiff.numpy_api.pyfunc_loops import each_element
from autodiff.trace.tape import CONSTANT
from autodiff.trace.tracer import Tracer, bare, is_tracer


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
    builder = getattr(g, "gufunc_builder", None)
    if builder is not None:
        return _generalised(builder)
    if kind.__name__ == "StencilFunc":
        return functools.partial(_stencil, g)
    element = getattr(getattr(g, "_dispatcher", None), "py_func", None)
    if type(element) is not types.FunctionType or getattr(g, "signature", None) is not None:
        return None

    def of_each(*args: Any) -> Any:
        inputs = tuple([as_array(a) for a in args])
        return each_element(syntax_ops.intercept(element), 1, inputs, has_dtypes=True)

    return of_each


def _generalised(builder: Any) -> Callable:
    """Return the generalised ufunc of a kernel that writes its results into its last arguments."""
    kernel: types.FunctionType = builder.py_func
    given, made = builder.signature.replace(" ", "").split("->")
    ins = [_names(axes) for axes in given[1:-1].split("),(")]
    outs = [_names(axes) for axes in made[1:-1].split("),(")]
    # A number is an array of one element, where the types of the kernel say so.
    kinds = builder._sigs[0].args if builder._sigs else ()
    as_arrays = [hasattr(kind, "ndim") for kind in kinds] or [False] * len(ins)

    def over_rows(*args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) not in (len(ins), len(ins) + len(outs)):
            raise DifferentiationError(
                f"{kernel.__qualname__} of numba.guvectorize is given a traced value with out= or "
                "other options, which are not followed. Call it with its inputs alone, or with "
                "arrays for its results behind these."
            )
        body = syntax_ops.intercept(kernel)
        inputs = [a if is_tracer(a) else np.asarray(a) for a in map(as_array, args[: len(ins)])]
        sizes, rows = _sizes(kernel, inputs, ins)
        shape = np.broadcast_shapes(*rows)
        dtype = np.result_type(*[np.asarray(bare(x)).dtype for x in inputs], np.float32)
        results = list(args[len(ins) :]) or [
            Tracer(np.zeros((*shape, *[sizes[name] for name in axes]), dtype), CONSTANT, -1)
            for axes in outs
        ]
        for x in results:
            if not is_tracer(x):
                raise untraced_array(
                    np.asarray(x),
                    f"by {kernel.__qualname__} of numba.guvectorize, and its derivative would be "
                    "lost. Make it by np.zeros in the function being differentiated.",
                )
        for place in np.ndindex(*shape):
            parts = [_row(x, place, len(row)) for x, row in zip(inputs, rows, strict=True)]
            for i, axes in enumerate(ins):
                if as_arrays[i] and not axes:
                    parts[i] = np.reshape(parts[i], (1,))
            for axes, x in zip(outs, results, strict=True):
                parts.append(x[(*place, ...)] if axes else x[(*place, None)])
            body(*parts)
        if len(args) > len(ins):
            return None
        found = tuple([x[()] for x in results])
        return found[0] if len(outs) == 1 else found

    return over_rows


def _sizes(kernel: Any, inputs: list, ins: list) -> tuple[dict[str, int], list[tuple[int, ...]]]:
    """Return the sizes of the axes that the inputs name, and the shapes of their other axes."""
    sizes: dict[str, int] = {}
    rows = []
    for x, axes in zip(inputs, ins, strict=True):
        first = np.ndim(x) - len(axes)
        if first < 0:
            raise ValueError(f"{kernel.__qualname__} takes arrays of the axes {axes}")
        for name, size in zip(axes, np.shape(x)[first:], strict=True):
            if sizes.setdefault(name, size) != size:
                raise ValueError(f"{kernel.__qualname__}: arrays of different sizes on {name}")
        rows.append(np.shape(x)[:first])
    return sizes, rows


class _Neighbours:
    """An array as the kernel of a stencil sees it: indices count from the place of the loop."""

    def __init__(self, array: Any, place: tuple[int, ...], reach: list[list[int]]) -> None:
        self.array, self.place, self.reach = array, place, reach

    def __getitem__(self, index: Any) -> Any:
        steps = index if isinstance(index, tuple) else (index,)
        at = []
        for axis, (i, step) in enumerate(zip(self.place, steps, strict=True)):
            least, most = self.reach[axis]
            self.reach[axis] = [min(least, int(step)), max(most, int(step))]
            at.append((i + int(step)) % np.shape(self.array)[axis])
        return self.array[tuple(at)]


def _stencil(g: Any, *args: Any, **kwargs: Any) -> Any:
    """Call the kernel of one of numba's stencils at each place where all neighbours are there."""
    known = {"cval", "standard_indexing", "func_or_mode"}
    if kwargs or not set(g.options) <= known:
        raise DifferentiationError(
            "a stencil of numba with out= or neighborhood= is given a traced value, which is not "
            "followed. Call it without, or write it with slices of NumPy (x[:-2] + x[2:])."
        )
    kernel = syntax_ops.intercept(g.kernel_ir.func_id.func)
    names = g.kernel_ir.arg_names
    standard = g.options.get("standard_indexing", ())
    inputs = [as_array(a) if isinstance(a, (list, tuple)) else a for a in args]
    shape = np.shape(inputs[0])
    reach = [[0, 0] for _ in shape]

    def at(place: tuple[int, ...]) -> Any:
        seen = [
            x if name in standard or np.ndim(x) == 0 else _Neighbours(x, place, reach)
            for name, x in zip(names, inputs, strict=True)
        ]
        return kernel(*seen)

    if 0 not in shape:
        at((0,) * len(shape))  # which neighbours it asks for
    inner = [range(-min(a, 0), n - max(b, 0)) for (a, b), n in zip(reach, shape, strict=True)]
    cval = float(g.options.get("cval", 0.0))
    made = [
        at(place) if all(i in axis for i, axis in zip(place, inner, strict=True)) else cval
        for place in np.ndindex(*shape)
    ]
    return np.reshape(as_array(made), shape)


def _names(axes: str) -> list[str]:
    return [name for name in axes.split(",") if name]


def _row(x: Any, place: tuple[int, ...], count: int) -> Any:
    """Return what a generalised ufunc gives its kernel at one place of the loop."""
    shape = np.shape(x)[:count]
    at = place[len(place) - count :] if count else ()
    part = x[tuple([0 if size == 1 else i for i, size in zip(at, shape, strict=True)])]
    return part if np.ndim(bare(part)) or not isinstance(part, np.ndarray) else part[()]


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
