"""Jacobians and Hessians, whole or applied to a vector."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from autodiff.api.gradients import Argnums, Fallback, differentiated, gradient
from autodiff.errors import ArgumentError, OutputError
from autodiff.trace.checks.outputs import check_returned
from autodiff.trace.checks.seeds import HESSIAN
from autodiff.trace.jacobian_sweep import jacobian_rows
from autodiff.trace.jvp_trace import Pushed
from autodiff.trace.linearize import (
    Linearised,
    argnums_of,
    checked_argnums,
    is_single,
    promoted,
)
from autodiff.trace.pytree import (
    is_perturbable,
    leaves_of,
    map_leaves,
    map_variables,
    parts_of,
    variables_of,
)
from autodiff.trace.tracer import shape_of, untraced
from chainrules_core import inner
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
        A function that returns a real number or array, or a pytree of them.
    *args, argnums, fallback, **kwargs
        As for :func:`autodiff.gradient`.
    mode : {"auto", "forward", "reverse"}
        Forward mode runs `f` once for each element of the arguments. Reverse mode runs it once and
        sweeps the tape once for each element of the output. "auto" chooses the cheaper one.

    Returns
    -------
    Any
        ``J`` with ``J.shape == output.shape + argument.shape``, or a tuple for several arguments.
        If the output is a pytree, the result is one too, with a Jacobian in place of each leaf. If
        an argument is a pytree, its Jacobian is a pytree like the argument.

    Raises
    ------
    OutputError
        If the output is complex, or None.
    ArgumentError
        If there is nothing to differentiate with respect to, if `mode` is unknown, or if the
        arguments are complex in forward mode.

    Examples
    --------
    >>> jacobian(lambda x: x ** 2, np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    if mode not in _MODES:
        raise ArgumentError(f"mode is one of {', '.join(_MODES)}, not {mode!r}.")
    return differentiated(_jacobian, f, args, kwargs, fallback, argnums, mode)


def _jacobian(f: Callable, args: tuple, kwargs: dict[str, Any], argnums: Any, mode: str) -> Any:
    chosen = argnums_of(argnums)
    if mode == "forward":
        pushed = Pushed(f, args, kwargs, chosen)
        value = pushed.value()
        _check_real(f, value)
        blocks = _by_columns(pushed, value)
    else:
        traced = Linearised(f, args, kwargs, chosen, at_once=True)
        value = traced.value
        _check_real(f, value)
        n_in = sum(np.size(x) for a in traced.arguments for x in variables_of(a))
        n_out = sum(np.size(y) for y in variables_of(value))
        traced.check_paths()
        # A run of the function costs about as much as three sweeps.
        if mode == "auto" and 3 * n_in < n_out:
            blocks = _by_columns(Pushed(f, args, kwargs, chosen), value)
        else:
            outputs = filter(is_perturbable, traced.outputs())
            blocks = [_rows_of(traced, output) for output in outputs]
    single = is_single(argnums, args)
    made = iter([block[0] if single else tuple(block) for block in blocks])
    return map_variables(value, lambda _: next(made))


def _check_real(f: Callable, y: Any) -> None:
    check_returned(f, y)
    for leaf in leaves_of(y):
        if np.iscomplexobj(untraced(leaf)):
            raise OutputError(
                f"{name_of(f)} returned complex numbers; its Jacobian is not one matrix. Return "
                "the real and imaginary parts, or use pullback or pushforward."
            )


def _units(x: Any) -> Iterator[Any]:
    """Yield the unit vectors of the shape of `x`; for complex also those times i."""
    plain = untraced(x)
    ones = (1.0, 1j) if np.iscomplexobj(plain) else (1.0,)
    for i in range(np.size(plain)):
        for one in ones:
            unit = np.zeros(np.shape(plain), np.result_type(plain))
            unit.flat[i] = one
            yield unit if unit.ndim else unit[()]


def _only(x: Any, place: int, value: Any) -> Any:
    """Return a pytree like `x` with `value` for the leaf at `place` and None for all others.

    Leaves are identified by their place, since equal numbers may be one object.
    """
    places = itertools.count()
    return map_leaves(x, lambda _: value if next(places) == place else None, every=True)


def _rows_of(traced: Linearised, output: Any) -> list:
    """Return the Jacobian of one leaf of the output by each argument."""
    shape = shape_of(output)
    blocks = jacobian_rows(traced, output) if math.prod(shape) != 1 else None
    if blocks is None:
        rows = [traced.cotangents(unit, output) for unit in _units(output)]
        if shape == ():
            return rows[0]
        if not rows:
            blocks = [map_variables(a, _no_rows) for a in traced.arguments]
        else:
            blocks = [_stacked(parts) for parts in zip(*rows, strict=True)]

    def shaped(rows: Any) -> Any:
        return np.reshape(rows, shape + np.shape(rows)[1:])

    return [map_variables(block, shaped) for block in blocks]


def _no_rows(x: Any) -> np.ndarray:
    """Return the Jacobian of an empty array by `x`, before it gets the shape of that array."""
    return np.zeros((0, *shape_of(x)), np.result_type(untraced(x)))


def _stacked(rows: Sequence[Any]) -> Any:
    """Return a pytree like each of `rows`, with their leaves stacked along a new first axis."""
    columns = zip(*map(variables_of, rows), strict=True)
    return map_variables(rows[0], lambda _: np.stack(next(columns)))


def _by_columns(pushed: Pushed, y: Any) -> list[list]:
    """Return for each variable of the output its Jacobian by each argument, by pushforwards."""
    columns: list[tuple[Any, list[Any]]] = []
    for k, argument in enumerate(pushed.arguments):
        for place, leaf in enumerate(leaves_of(argument)):
            if not is_perturbable(leaf):
                continue
            if np.iscomplexobj(untraced(leaf)):
                raise ArgumentError(
                    "a Jacobian by forward mode is for real arguments; use mode='reverse'."
                )
            tangents = []
            for unit in _units(leaf):
                dots: list[Any] = [None] * len(pushed.arguments)
                dots[k] = _only(argument, place, unit)
                tangents.append(leaves_of(pushed.push(tuple(dots))[1]))
            columns.append((leaf, tangents))

    def blocks_of(place: int, out: Any) -> list:
        made = iter(
            [
                _as_last_axes([tangent[place] for tangent in tangents], out, leaf)
                for leaf, tangents in columns
            ]
        )
        return [map_variables(a, lambda _: next(made)) for a in pushed.arguments]

    outputs = enumerate(leaves_of(y))
    return [blocks_of(place, out) for place, out in outputs if is_perturbable(out)]


def _as_last_axes(columns: list[Any], out: Any, leaf: Any) -> Any:
    """Return derivatives of `out` by the elements of `leaf` as one array of both shapes."""
    shape = np.shape(leaf)
    if shape == ():
        return columns[0]
    if not columns:
        return np.zeros(np.shape(out) + shape, np.result_type(untraced(out)))
    return np.reshape(np.moveaxis(np.stack(columns), 0, -1), np.shape(out) + shape)


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
    *args, argnums, fallback, **kwargs
        As for :func:`autodiff.gradient`.
    mode : {"forward", "reverse"}
        How the gradient is differentiated: forward over reverse, or reverse over reverse.

    Returns
    -------
    Any
        ``H`` with ``H.shape == x.shape + x.shape`` for one argument; a tuple of tuples for several.

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
    return differentiated(_hessian, f, args, kwargs, fallback, argnums, mode)


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
        The point: a number, an array, or a pytree of them.
    v : Any
        The vector, with the structure and shapes of `x`; a tuple of vectors if `argnums` is one.
    *args : Any
        Further arguments of `f`. ``functools.partial(hvp, loss)`` is a ``hessp`` for SciPy.
    argnums : int or tuple of int
        The positions of the arguments to differentiate with respect to; `x` by default.
    fallback, **kwargs
        As for :func:`autodiff.gradient`.

    Returns
    -------
    Any
        The product, with the structure, shapes and dtypes of `x`; a tuple if `argnums` is one. It
        costs about as much as a few gradients; the Hessian is never formed.

    Raises
    ------
    OutputError
        If the output is not a real number.
    SeedError
        If the structure or shapes of `v` are not those of `x`.

    Examples
    --------
    >>> hvp(lambda x: np.sum(x ** 3), np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    >>> hvp(lambda w, x: np.sum(x * w ** 2), np.ones(2), np.ones(2), np.array([3.0, 4.0]))
    array([6., 8.])
    """
    return differentiated(_hvp, f, (x, *args, v), kwargs, fallback, argnums)


def _hvp(f: Callable, args: tuple, kwargs: dict[str, Any], argnums: Any) -> Any:
    """Return the product; `args` are those of `f`, and the vector."""
    given, v = args[:-1], args[-1]
    chosen = checked_argnums(f, given, argnums_of(argnums))
    pushed = Pushed(_gradient_of(f, argnums, kwargs), given, {}, chosen)
    return pushed.push((v,) if is_single(argnums, given) else tuple(v))[1]


def _gradient_of(f: Callable, argnums: Any, kwargs: dict[str, Any]) -> Callable:
    """Return the gradient of `f` as a function of all its arguments."""
    # Errors name it. A function defined here would be rewritten at each call; a partial is not.
    gradient_of_f: Any = functools.partial(gradient, f, argnums=argnums, **kwargs)
    gradient_of_f.__qualname__ = f"gradient of {name_of(f)}"
    gradient_of_f.__module__ = None
    return gradient_of_f


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
        The product, as from :func:`hvp`: Hessians are symmetric.

    Examples
    --------
    >>> vhp(lambda x: np.sum(x ** 3), np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """
    return differentiated(_vhp, f, (x, *args, v), kwargs, fallback, argnums)


def _vhp(f: Callable, args: tuple, kwargs: dict[str, Any], argnums: Any) -> Any:
    given, v = args[:-1], args[-1]
    chosen = checked_argnums(f, given, argnums_of(argnums))
    xs = [promoted(f, given, i, True) for i in chosen]
    vectors = _checked_vectors(f, xs[0] if is_single(argnums, given) else tuple(xs), v, {})

    def paired(*inner_args: Any) -> Any:
        slopes = variables_of(gradient(f, *inner_args, argnums=argnums, **kwargs))
        total: Any = 0.0
        for slope, direction in zip(slopes, vectors, strict=True):
            total = total + inner(slope, direction)
        return total

    return gradient(paired, *given, argnums=argnums)


def _checked_vectors(f: Callable, x: Any, v: Any, known: dict[int, Any]) -> list[Any]:
    """Return the part of a vector for each variable of `x`; of an object in two places once."""
    parts = parts_of(x)
    if parts is None:
        return [HESSIAN.checked(f, x, v)] if is_perturbable(x) else []
    if id(x) in known and not issubclass(type(x), tuple):
        HESSIAN.check_alike(f, x, known[id(x)], v)
        return []
    known[id(x)] = v
    return [
        leaf
        for k, part in parts
        for leaf in _checked_vectors(f, part, HESSIAN.part(f, x, v, k), known)
    ]


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
        The point.
    *args : Any
        Further arguments of `f`.
    argnums : int
        The argument to differentiate with respect to; `x` by default.
    fallback, **kwargs
        As for :func:`autodiff.gradient`.

    Returns
    -------
    float or ndarray
        The diagonal, in the shape of `x`.

    Raises
    ------
    OutputError
        If the output is not a real number.

    Examples
    --------
    >>> diag_hessian(lambda x: np.sum(x ** 3), np.array([1.0, 2.0]))
    array([ 6., 12.])
    """
    return differentiated(_diag_hessian, f, (x, *args), kwargs, fallback, argnums)


def _diag_hessian(f: Callable, args: tuple, kwargs: dict[str, Any], argnums: int) -> Any:
    chosen = checked_argnums(f, args, argnums_of(argnums))
    x = args[chosen[0]]
    pushed = Pushed(_gradient_of(f, argnums, kwargs), args, {}, chosen)
    if np.shape(untraced(x)) == ():
        return pushed.push((1.0,))[1]
    entries = [np.sum(pushed.push((unit,))[1] * unit) for unit in _units(x)]
    return np.reshape(np.stack(entries), np.shape(untraced(x)))
