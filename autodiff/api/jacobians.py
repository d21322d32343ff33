"""Jacobians and Hessians, whole or applied to a vector."""

from __future__ import annotations

import itertools
import functools
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from autodiff import autocompile
from autodiff.api.gradients import Argnums, Fallback, gradient
from autodiff.api.keywords import check_keywords
from autodiff.api.numeric_fallback import numeric_fallback
from autodiff.api.tracebacks import hide_engine
from autodiff.errors import ArgumentError, OutputError
from autodiff.trace.jacobian_sweep import jacobian_rows
from autodiff.trace.jvp_trace import Pushed
from autodiff.trace.linearize import Linearised, argnums_of, checked_argnums, is_single
from autodiff.trace.pytree import is_perturbable, leaves_of, map_leaves
from autodiff.trace.tracer import untraced
from chainrules_core import ZeroTangent, inner
from chainrules_core.rules import name_of

_MODES = ("auto", "forward", "reverse")


def jacobian(
    f: Callable,
    /,
    *args: Any,
    argnums: Argnums = None,
    mode: Literal["auto", "forward", "reverse"] = "auto",
    fallback: Fallback = None,
    **kwargs: Any,
) -> Any:
    """Return the Jacobian of a function.

    Parameters
    ----------
    f : callable
        A function that returns a real number or array, or a nest of them.
    *args : Any
        Its arguments.
    argnums : int or tuple of int, optional
        Which arguments to differentiate with respect to; all by default.
    mode : {"auto", "forward", "reverse"}
        Forward mode runs `f` once for each element of the arguments; reverse mode runs it once, and
        sweeps the tape once for each element of the output. "auto" takes what is less.
    fallback : {"numeric"}, optional
        What to do with a C function that has no rule: "numeric" differentiates it by differences
        (:func:`numeric_fallback`). By default it is an error.
    **kwargs : Any
        Passed on as constants.

    Returns
    -------
    Any
        ``J`` with ``J.shape == output.shape + argument.shape``; a tuple for several arguments. In
        the place of each output of a nest stands its Jacobian, in the nesting of the arguments.

    Raises
    ------
    OutputError
        If the output is complex.
    ArgumentError
        If there is nothing to differentiate with respect to, or `mode` is not known.

    Examples
    --------
    >>> jacobian(lambda x: x ** 2, np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    if mode not in _MODES:
        raise ArgumentError(f"mode is one of {', '.join(_MODES)}, not {mode!r}.")
    return _taken(_jacobian, f, args, kwargs, fallback, argnums, mode)


def _taken(
    transform: Callable,
    f: Callable,
    args: tuple,
    kwargs: dict[str, Any],
    fallback: Any,
    *chosen: Any,
) -> Any:
    """Take a derivative, by a program where one was made, and hide the engine in errors."""
    try:
        if kwargs:
            check_keywords(f, kwargs)
        if fallback is None:
            return autocompile.called(transform, f, args, kwargs, *chosen)
        with numeric_fallback(fallback):
            return transform(f, args, kwargs, *chosen)
    except Exception as error:
        hide_engine(error)
        raise


def _jacobian(f: Callable, args: tuple, kwargs: dict[str, Any], argnums: Any, mode: str) -> Any:
    chosen = argnums_of(argnums)
    single = is_single(argnums, args)
    traced = Linearised(f, args, kwargs, chosen, at_once=True)
    _check_real(f, traced.value)
    n_in = sum(np.size(x) for a in traced.arguments for x in _variables(a))
    n_out = sum(np.size(y) for y in _variables(traced.value))
    traced.check_paths()
    # A run of the function costs several sweeps.
    if mode == "forward" or (mode == "auto" and 3 * n_in < n_out):
        return _by_columns(Pushed(f, args, kwargs, chosen), traced.value, single)
    return _by_rows(traced, single)


def _variables(nest: Any) -> list[Any]:
    return [leaf for leaf in leaves_of(nest) if is_perturbable(leaf)]


def _check_real(f: Callable, y: Any) -> None:
    for leaf in leaves_of(y):
        plain = untraced(leaf)
        if np.iscomplexobj(plain):
            raise OutputError(
                f"{name_of(f)} returned complex numbers; its Jacobian is not one matrix. Return "
                "the real and imaginary parts, or use pullback or pushforward."
            )


def _units(x: Any) -> Any:
    """Yield the values of the shape of `x` with a single one; for complex also an i."""
    plain = untraced(x)
    ones = (1.0, 1j) if np.iscomplexobj(plain) else (1.0,)
    for i in range(np.size(plain)):
        for one in ones:
            unit = np.zeros(np.shape(plain), np.result_type(plain))
            unit.flat[i] = one
            yield unit if unit.ndim else unit[()]


def _only(nest: Any, place: int, value: Any, other: Any) -> Any:
    """Return a nest with `value` in the place of one leaf and `other` in that of the rest.

    Leaves are told apart by their place: equal numbers may be one object.
    """
    places = itertools.count()

    def choose(_: Any) -> Any:
        return value if next(places) == place else other

    return choose(nest) if is_perturbable(nest) else map_leaves(nest, choose)


def _by_rows(traced: Linearised, single: bool) -> Any:
    """Sweep once for each element of the output."""
    y = traced.value
    places = itertools.count()
    outputs = traced.outputs()

    def rows(leaf: Any) -> Any:
        place = next(places)
        if not is_perturbable(leaf):
            return None
        batched = jacobian_rows(traced, outputs[place]) if np.size(leaf) != 1 else None
        if batched is not None:
            made = [_with_shape(part, np.shape(leaf)) for part in batched]
            return made[0] if single else tuple(made)
        zero = ZeroTangent()
        found = [traced.cotangents(_only(y, place, unit, zero)) for unit in _units(leaf)]
        shape = np.shape(leaf)
        parts = [_stacked([row[k] for row in found], shape) for k in range(len(traced.arguments))]
        return parts[0] if single else tuple(parts)

    return rows(y) if is_perturbable(y) else map_leaves(y, rows)


def _with_shape(rows: Any, shape: tuple) -> Any:
    """Return a nest of rows with their leading axis in the shape of the output."""

    def shaped(leaf: Any) -> Any:
        return None if leaf is None else np.reshape(leaf, shape + np.shape(leaf)[1:])

    return shaped(rows) if type(rows) is np.ndarray else map_leaves(rows, shaped, every=True)


def _stacked(rows: list[Any], shape: tuple) -> Any:
    """Return a nest like each of `rows`, with their leaves stacked to leading axes `shape`."""
    if not rows:
        return np.zeros((*shape, 0))
    columns = [iter(leaves_of(row)) for row in rows]

    def stack(leaf: Any) -> Any:
        values = [next(column) for column in columns]
        if leaf is None:
            return None
        if shape == ():
            return values[0]
        return np.reshape(np.stack(values), shape + np.shape(leaf))

    return map_leaves(rows[0], stack)


def _by_columns(pushed: Pushed, y: Any, single: bool) -> Any:
    """Run once for each element of the arguments."""
    columns: list[tuple[Any, list[Any]]] = []
    for k, argument in enumerate(pushed.arguments):
        for place, leaf in enumerate(leaves_of(argument)):
            if not is_perturbable(leaf):
                continue
            if np.iscomplexobj(untraced(leaf)):
                raise ArgumentError(
                    "a Jacobian by forward mode is for real arguments; use mode='reverse'."
                )
            found = []
            for unit in _units(leaf):
                dots: list[Any] = [None] * len(pushed.arguments)
                dots[k] = _only(argument, place, unit, None)
                found.append(pushed.push(tuple(dots))[1])
            columns.append((leaf, found))

    def assembled(outputs: list[Any]) -> tuple:
        remaining = iter(outputs)
        return tuple(
            map_leaves(a, lambda leaf: next(remaining) if is_perturbable(leaf) else None)
            for a in pushed.arguments
        )

    def of_output(place: int, out: Any) -> tuple:
        made = []
        for leaf, found in columns:
            parts = [leaves_of(tangent)[place] for tangent in found]
            shape = np.shape(leaf)
            if shape == ():
                made.append(parts[0])
                continue
            stacked = np.moveaxis(np.stack(parts), 0, -1)
            made.append(np.reshape(stacked, np.shape(out) + shape))
        return assembled(made)

    outputs = [
        of_output(place, out) if is_perturbable(out) else None
        for place, out in enumerate(leaves_of(y))
    ]
    remaining = iter(outputs)

    def chosen(_: Any) -> Any:
        found = next(remaining)
        return found if found is None or not single else found[0]

    return chosen(y) if is_perturbable(y) else map_leaves(y, chosen)


def hessian(
    f: Callable,
    /,
    *args: Any,
    argnums: Argnums = None,
    mode: Literal["forward", "reverse"] = "forward",
    fallback: Fallback = None,
    **kwargs: Any,
) -> Any:
    """Return the Hessian of a function: the Jacobian of its gradient.

    Parameters
    ----------
    f : callable
        A function that returns a real number.
    *args : Any
        Its arguments.
    argnums : int or tuple of int, optional
        Which arguments to differentiate with respect to; all by default.
    mode : {"forward", "reverse"}
        How the gradient is differentiated: forward over reverse, or reverse over reverse.
    fallback : {"numeric"}, optional
        As for :func:`jacobian`.
    **kwargs : Any
        Passed on as constants.

    Returns
    -------
    Any
        ``H.shape == x.shape + x.shape`` for one argument; a tuple of tuples for several.

    Raises
    ------
    OutputError
        If the output is not a real number.

    Examples
    --------
    >>> hessian(lambda x: x[0] ** 2 * x[1], np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    return _taken(_hessian, f, args, kwargs, fallback, argnums, mode)


def _hessian(f: Callable, args: tuple, kwargs: dict[str, Any], argnums: Any, mode: Any) -> Any:
    return jacobian(_gradient_of(f, argnums, kwargs), *args, argnums=argnums, mode=mode)


def hvp(
    f: Callable,
    x: Any,
    v: Any,
    /,
    *args: Any,
    argnums: int | tuple[int, ...] = 0,
    fallback: Fallback = None,
    **kwargs: Any,
) -> Any:
    """Return the product of the Hessian of `f` at `x` with a vector: forward over reverse.

    Parameters
    ----------
    f : callable
        A function ``f(x, *args)`` that returns a real number.
    x : Any
        Where: a number, array, or nest of them.
    v : Any
        The vector, in the nesting of `x`; with several `argnums` a tuple of vectors.
    *args : Any
        Further arguments of `f`. ``functools.partial(hvp, loss)`` is a ``hessp`` for SciPy.
    argnums : int or tuple of int
        Which arguments to differentiate with respect to, `x` by default.
    fallback : {"numeric"}, optional
        As for :func:`jacobian`.
    **kwargs : Any
        Passed on as constants.

    Returns
    -------
    Any
        In the nesting of `x`; a tuple with several `argnums`. It costs a few gradients, and no
        matrix is made.

    Raises
    ------
    SeedError
        If `v` is not like `x`.

    Examples
    --------
    >>> hvp(lambda x: np.sum(x ** 3), np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    >>> hvp(lambda w, x: np.sum(x * w ** 2), np.ones(2), np.ones(2), np.array([3.0, 4.0]))
    array([6., 8.])
    """
    return _taken(_hvp, f, (x, *args, v), kwargs, fallback, argnums)


def _hvp(f: Callable, args: tuple, kwargs: dict[str, Any], argnums: Any) -> Any:
    """`args` are those of `f`, and the vector."""
    *given, v = args
    chosen = checked_argnums(f, tuple(given), argnums_of(argnums))

    pushed = Pushed(_gradient_of(f, argnums, kwargs), tuple(given), {}, chosen)
    return pushed.push(_vectors(v, argnums))[1]


def _gradient_of(f: Callable, argnums: Any, kwargs: dict[str, Any]) -> Callable:
    """Return the gradient of `f` as a function of all its arguments."""
    # Errors name it; a function made here would be rewritten at each call.
    gradient_of_f: Any = functools.partial(gradient, f, argnums=argnums, **kwargs)
    gradient_of_f.__qualname__ = f"gradient of {name_of(f)}"
    gradient_of_f.__module__ = None
    return gradient_of_f


def _vectors(v: Any, argnums: Any) -> tuple:
    return tuple(v) if isinstance(argnums, (tuple, list)) else (v,)


def vhp(
    f: Callable,
    x: Any,
    v: Any,
    /,
    *args: Any,
    argnums: int | tuple[int, ...] = 0,
    fallback: Fallback = None,
    **kwargs: Any,
) -> Any:
    """Return the product of a vector with the Hessian of `f` at `x`: reverse over reverse.

    Parameters
    ----------
    f, x, v, *args, argnums, fallback, **kwargs
        As for :func:`hvp`.

    Returns
    -------
    Any
        In the nesting of `x`; equal to `hvp`, since Hessians are symmetric.

    Examples
    --------
    >>> vhp(lambda x: np.sum(x ** 3), np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """
    return _taken(_vhp, f, (x, *args, v), kwargs, fallback, argnums)


def _vhp(f: Callable, args: tuple, kwargs: dict[str, Any], argnums: Any) -> Any:
    *given, v = args

    def paired(*inner_args: Any) -> Any:
        slopes = _variables(gradient(f, *inner_args, argnums=argnums, **kwargs))
        total: Any = 0.0
        for slope, direction in zip(slopes, _variables(v), strict=True):
            total = total + inner(slope, direction)
        return total

    return gradient(paired, *given, argnums=argnums)


def diag_hessian(
    f: Callable,
    x: Any,
    /,
    *args: Any,
    argnums: int = 0,
    fallback: Fallback = None,
    **kwargs: Any,
) -> Any:
    """Return the diagonal of the Hessian of `f` at an array or number `x`.

    Parameters
    ----------
    f : callable
        A function ``f(x, *args)`` that returns a real number.
    x : float or ndarray
        Where.
    *args : Any
        Further arguments of `f`.
    argnums : int
        Which argument to differentiate with respect to, `x` by default.
    fallback : {"numeric"}, optional
        As for :func:`jacobian`.
    **kwargs : Any
        Passed on as constants.

    Returns
    -------
    float or ndarray
        In the shape of `x`.

    Examples
    --------
    >>> diag_hessian(lambda x: np.sum(x ** 3), np.array([1.0, 2.0]))
    array([ 6., 12.])
    """
    return _taken(_diag_hessian, f, (x, *args), kwargs, fallback, argnums)


def _diag_hessian(f: Callable, args: tuple, kwargs: dict[str, Any], argnums: int) -> Any:
    chosen = checked_argnums(f, args, argnums_of(argnums))
    x = args[chosen[0]]
    pushed = Pushed(_gradient_of(f, argnums, kwargs), args, {}, chosen)
    if np.shape(untraced(x)) == ():
        return pushed.push((1.0,))[1]
    entries = [np.sum(pushed.push((unit,))[1] * unit) for unit in _units(x)]
    return np.reshape(np.stack(entries), np.shape(untraced(x)))
