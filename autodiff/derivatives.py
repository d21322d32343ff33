"""gradient, value_and_gradient, pullback, pushforward, derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import hot
from autodiff.errors import ArgumentError, MutationError, SeedError
from autodiff.fallback import fallback_to, numeric_fallback
from autodiff.forward import Pushed
from autodiff.reverse import Linearised, argnums_of, check_scalar, is_single
from autodiff.tracer import untraced
from chainrules_core.rules import name_of


def pullback(
    f: Callable,
    *args: Any,
    argnums: int | tuple[int, ...] | None = None,
    fallback: str | None = None,
    **kwargs: Any,
) -> tuple[Any, Callable]:
    """Evaluate a function and return its pullback at that point.

    Parameters
    ----------
    f : callable
        Any function.
    *args : Any
        Its arguments: numbers, arrays, or nests of them.
    argnums : int or tuple of int, optional
        Which arguments to differentiate with respect to; all by default.
    fallback : {"numeric"}, optional
        What to do with a C function that has no rule: "numeric" differentiates it by differences
        (:func:`numeric_fallback`). By default it is an error.
    **kwargs : Any
        Passed on as constants.

    Returns
    -------
    y : Any
        The value.
    back : callable
        ``back(y_bar)``, any number of times: the cotangent of the argument, or a tuple of them
        where there are several, each in the nesting of its argument.

    Raises
    ------
    ArgumentError
        If there is nothing to differentiate with respect to.
    MutationError
        By `back`, if an array from outside that the function used has been written into since.

    Examples
    --------
    >>> y, back = pullback(lambda x: x ** 2, np.array([1.0, 2.0]))
    >>> back(np.array([1.0, 10.0]))
    array([ 2., 40.])
    """
    with fallback_to(fallback):
        traced = Linearised(f, args, kwargs, argnums_of(argnums))
    traced.check_paths()
    traced.keep_from_changes()
    traced.tape.watch()  # what the function used may be written into before `back` is called
    single = is_single(argnums, args)

    def back(*y_bar: Any) -> Any:
        if traced.tape.has_changed():
            raise MutationError(
                f"an array that {name_of(f)} used has been written into since, and its pullback "
                "needs the old values. Call the pullback before, or use a copy in the function."
            )
        if len(y_bar) != 1:
            raise SeedError(
                f"the pullback of {name_of(f)} takes one cotangent, for its output; it was given "
                f"{len(y_bar)}. For an output of several parts give them as one tuple."
            )
        bars = traced.cotangents(y_bar[0])
        return bars[0] if single else tuple(bars)

    return traced.value, back


def value_and_gradient(
    f: Callable,
    *args: Any,
    argnums: int | tuple[int, ...] | None = None,
    has_aux: bool = False,
    fallback: str | None = None,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """Evaluate a function and its gradient.

    Parameters
    ----------
    f : callable
        A function that returns a real number.
    *args : Any
        Its arguments: numbers, arrays, or nests (tuples, lists, dicts, namedtuples, dataclasses,
        objects) of them. An int is promoted to float.
    argnums : int or tuple of int, optional
        Which arguments to differentiate with respect to; all by default.
    has_aux : bool
        Whether `f` returns a pair, of which the second part is passed through.
    fallback : {"numeric"}, optional
        What to do with a C function that has no rule: "numeric" differentiates it by differences
        (:func:`numeric_fallback`). By default it is an error.
    **kwargs : Any
        Passed on as constants.

    Returns
    -------
    value : float
        The value; ``(value, aux)`` with `has_aux`.
    gradient : Any
        As from :func:`gradient`.

    Raises
    ------
    OutputError
        If the output is not a real number.
    ArgumentError
        If an argument cannot be differentiated with respect to.

    Examples
    --------
    >>> value_and_gradient(lambda x: x * x, 3.0)
    (9.0, 6.0)
    """
    if fallback is not None:
        with numeric_fallback(fallback):
            return _value_and_gradient(f, args, kwargs, argnums, has_aux)
    return hot.called(_value_and_gradient, f, args, kwargs, argnums, has_aux)


def _value_and_gradient(
    f: Callable, args: tuple, kwargs: dict[str, Any], argnums: Any, has_aux: bool
) -> tuple[Any, Any]:
    traced = Linearised(f, args, kwargs, argnums_of(argnums), has_aux, at_once=True)
    check_scalar(f, traced.value)
    bars = traced.gradients()
    single = is_single(argnums, args)
    value = (traced.value, traced.aux) if has_aux else traced.value
    return value, bars[0] if single else tuple(bars)


def gradient(
    f: Callable,
    *args: Any,
    argnums: int | tuple[int, ...] | None = None,
    fallback: str | None = None,
    **kwargs: Any,
) -> Any:
    """Return the gradient of a function.

    Parameters
    ----------
    f : callable
        A function that returns a real number: any Python and NumPy code.
    *args : Any
        Its arguments: numbers, arrays, or nests (tuples, lists, dicts, namedtuples, dataclasses,
        objects) of them. An int is promoted to float.
    argnums : int or tuple of int, optional
        Which arguments to differentiate with respect to; all by default.
    fallback : {"numeric"}, optional
        What to do with a C function that has no rule: "numeric" differentiates it by differences
        (:func:`numeric_fallback`). By default it is an error.
    **kwargs : Any
        Passed on as constants.

    Returns
    -------
    Any
        For one argument its gradient, for several a tuple: each in the nesting, shape and precision
        of its argument, zero where nothing depends on it, None where it cannot be perturbed (a
        string, a bool, an int inside a nest). For complex arguments it is
        ``∂f/∂re + i ∂f/∂im``, the conjugate of what JAX and autograd return.

    Raises
    ------
    OutputError
        If the output is not a real number.
    ArgumentError
        If an argument cannot be differentiated with respect to.

    Examples
    --------
    >>> gradient(lambda x: np.sum(x ** 2), np.array([1.0, 2.0]))
    array([2., 4.])
    >>> gradient(lambda a, b: a * b, 2.0, 3.0)
    (3.0, 2.0)
    """
    if fallback is not None:
        with numeric_fallback(fallback):
            return _value_and_gradient(f, args, kwargs, argnums, False)[1]
    # The value is not asked for, but what it warns of is.
    return hot.called(_value_and_gradient, f, args, kwargs, argnums, False)[1]


def pushforward(
    f: Callable,
    *args: Any,
    argnums: int | tuple[int, ...] | None = None,
    fallback: str | None = None,
    **kwargs: Any,
) -> tuple[Any, Callable]:
    """Evaluate a function and return its pushforward at that point.

    Parameters
    ----------
    f : callable
        Any function.
    *args : Any
        Its arguments: numbers, arrays, or nests of them.
    argnums : int or tuple of int, optional
        Which arguments to perturb; all by default.
    fallback : {"numeric"}, optional
        What to do with a C function that has no rule: "numeric" differentiates it by differences
        (:func:`numeric_fallback`). By default it is an error.
    **kwargs : Any
        Passed on as constants.

    Returns
    -------
    y : Any
        The value.
    push : callable
        ``push(*dots)``, one tangent for each of these arguments in its own nesting: the tangent
        of the output. Each call runs `f` once.

    Raises
    ------
    ArgumentError
        If there is nothing to perturb.
    SeedError
        If a tangent does not belong to its argument.

    Examples
    --------
    >>> y, push = pushforward(lambda x: x ** 2, np.array([1.0, 2.0]))
    >>> push(np.array([1.0, 10.0]))
    array([ 2., 40.])
    """
    pushed = Pushed(f, args, kwargs, argnums_of(argnums))

    def push(*dots: Any) -> Any:
        with fallback_to(fallback):
            return pushed.push(dots)[1]

    with fallback_to(fallback):
        value = pushed.value()
    return value, push


def derivative(f: Callable, x: Any, *, fallback: str | None = None, **kwargs: Any) -> Any:
    """Return the derivative of a function of one real number.

    Parameters
    ----------
    f : callable
        A function of a number; it may return a number, an array, or a nest of them.
    x : float
        Where.
    fallback : {"numeric"}, optional
        What to do with a C function that has no rule: "numeric" differentiates it by differences
        (:func:`numeric_fallback`). By default it is an error.
    **kwargs : Any
        Passed on as constants.

    Returns
    -------
    Any
        ``df/dx``, in the nesting and shape of the output.

    Raises
    ------
    ArgumentError
        If `x` is not a real number.

    Examples
    --------
    >>> derivative(lambda x: x ** 3, 2.0)
    12.0
    >>> derivative(lambda x: np.array([1.0, 2.0]) * x, 2.0)
    array([1., 2.])
    """
    plain = untraced(x)
    if not isinstance(plain, (int, float, np.integer, np.floating)) or isinstance(plain, bool):
        raise ArgumentError(
            f"derivative is for a function of one real number, not {type(plain).__name__}. Use "
            "gradient(f, x), or pullback(f, x)."
        )
    with fallback_to(fallback):
        return hot.called(_derivative, f, (x,), kwargs)


def _derivative(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    return Pushed(f, args, kwargs, None).push((1.0,))[1]
