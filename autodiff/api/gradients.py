"""Derivatives at a point: gradient, value_and_gradient, derivative, pullback, pushforward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

import numpy as np

from autodiff import autocompile
from autodiff.api.keywords import check_keywords
from autodiff.api.numeric_fallback import fallback_to, numeric_fallback
from autodiff.api.tracebacks import hide_engine
from autodiff.errors import ArgumentError, MutationError, SeedError
from autodiff.trace.checks.outputs import check_returned, check_scalar
from autodiff.trace.jvp_trace import Pushed
from autodiff.trace.linearize import (
    Linearised,
    argnums_of,
    checked_argnums,
    is_single,
)
from autodiff.trace.tracer import untraced
from chainrules_core.rules import name_of

Argnums = int | tuple[int, ...] | None
Fallback = Literal["numeric"] | None
X = TypeVar("X")
Y = TypeVar("Y")


@overload
def gradient(f: Callable, x: float, /, *, fallback: Fallback = None, **kwargs: Any) -> float: ...
@overload
def gradient(f: Callable, x: X, /, *, fallback: Fallback = None, **kwargs: Any) -> X: ...
@overload
def gradient(
    f: Callable,
    /,
    *args: Any,
    argnums: Argnums = None,
    has_aux: bool = False,
    fallback: Fallback = None,
    **kwargs: Any,
) -> Any: ...
def gradient(
    f: Callable,
    /,
    *args: Any,
    argnums: Argnums = None,
    has_aux: bool = False,
    fallback: Fallback = None,
    **kwargs: Any,
) -> Any:
    """Return the gradient of a function.

    Parameters
    ----------
    f : callable
        A function that returns a real number: any Python and NumPy code.
    *args : Any
        Its arguments: numbers, arrays, or pytrees of them (tuples, lists, dicts, namedtuples,
        dataclasses, objects). An int is promoted to float.
    argnums : int or tuple of int, optional
        The positions of the arguments to differentiate with respect to; all by default.
    has_aux : bool
        Whether `f` returns a pair ``(value, aux)``, of which only the value is differentiated.
    fallback : {"numeric"}, optional
        How to differentiate C functions without a rule: "numeric" uses finite differences
        (:func:`numeric_fallback`). By default they are an error.
    **kwargs : Any
        Keyword arguments of `f`; they are constants.

    Returns
    -------
    Any
        The gradient of one argument, or a tuple of gradients for several; ``(gradient, aux)`` with
        `has_aux`. A gradient has the structure, shapes and dtypes of its argument. It is zero if
        the value does not depend on the argument, and None for values that cannot be perturbed (a
        string, a bool, an int inside a pytree). For complex arguments it is ``∂f/∂re + i ∂f/∂im``,
        the conjugate of what JAX and autograd return.

    Raises
    ------
    OutputError
        If the output is not a real number.
    ArgumentError
        If `f` cannot be differentiated with respect to an argument.
    MissingRuleError
        If `f` calls a C function that has no rule.
    LostValueError, MutationError
        If `f` does something that would lose a derivative.

    Notes
    -----
    An optimiser needs only the gradient with respect to the first argument. Pass ``argnums=0``, or
    use :func:`autodiff.grad`, whose ``argnums`` is 0 by default: ``scipy.optimize.minimize(loss, w,
    args=(x, y), jac=grad(loss))``.

    If a keyword argument of `f` has the same name as an option of this function, bind it with
    ``functools.partial(f, mode=...)``.

    Examples
    --------
    >>> gradient(lambda x: np.sum(x ** 2), np.array([1.0, 2.0]))
    array([2., 4.])
    >>> gradient(lambda a, b: a * b, 2.0, 3.0)
    (3.0, 2.0)
    >>> gradient(lambda a, b: a * b, 2.0, 3.0, argnums=0)
    3.0
    >>> gradient(lambda x: (x * x, "seen"), 3.0, has_aux=True)
    (6.0, 'seen')
    """
    try:
        if kwargs:
            check_keywords(f, kwargs)
        if fallback is None:
            value, slope = autocompile.called(
                _value_and_gradient, f, args, kwargs, argnums, has_aux
            )
        else:
            with numeric_fallback(fallback):
                value, slope = _value_and_gradient(f, args, kwargs, argnums, has_aux)
    except Exception as error:
        hide_engine(error)
        raise
    return (slope, value[1]) if has_aux else slope


@overload
def value_and_gradient(
    f: Callable, x: float, /, *, fallback: Fallback = None, **kwargs: Any
) -> tuple[float, float]: ...
@overload
def value_and_gradient(
    f: Callable, x: X, /, *, fallback: Fallback = None, **kwargs: Any
) -> tuple[float, X]: ...
@overload
def value_and_gradient(
    f: Callable,
    /,
    *args: Any,
    argnums: Argnums = None,
    has_aux: bool = False,
    fallback: Fallback = None,
    **kwargs: Any,
) -> tuple[Any, Any]: ...
def value_and_gradient(
    f: Callable,
    /,
    *args: Any,
    argnums: Argnums = None,
    has_aux: bool = False,
    fallback: Fallback = None,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """Evaluate a function and its gradient.

    Parameters
    ----------
    f, *args, argnums, has_aux, fallback, **kwargs
        As for :func:`gradient`.

    Returns
    -------
    value : float
        The value, or ``(value, aux)`` with `has_aux`.
    gradient : Any
        As from :func:`gradient`.

    Raises
    ------
    OutputError
        If the output is not a real number.
    ArgumentError
        If `f` cannot be differentiated with respect to an argument.

    Examples
    --------
    >>> value_and_gradient(lambda x: x * x, 3.0)
    (9.0, 6.0)
    """
    try:
        if kwargs:
            check_keywords(f, kwargs)
        if fallback is None:
            return autocompile.called(_value_and_gradient, f, args, kwargs, argnums, has_aux)
        with numeric_fallback(fallback):
            return _value_and_gradient(f, args, kwargs, argnums, has_aux)
    except Exception as error:
        hide_engine(error)
        raise


def _value_and_gradient(
    f: Callable, args: tuple, kwargs: dict[str, Any], argnums: Any, has_aux: bool
) -> tuple[Any, Any]:
    traced = Linearised(f, args, kwargs, argnums_of(argnums), has_aux, at_once=True)
    check_scalar(f, traced.value)
    bars = traced.gradients()
    single = is_single(argnums, args)
    value = (traced.value, traced.aux) if has_aux else traced.value
    return value, bars[0] if single else tuple(bars)


def derivative(
    f: Callable,
    x: float,
    /,
    *args: Any,
    argnums: int = 0,
    fallback: Fallback = None,
    **kwargs: Any,
) -> Any:
    """Return the derivative of a function of one real number.

    Parameters
    ----------
    f : callable
        A function of a number. It returns a number, an array, or a pytree of them.
    x : float
        The point.
    *args : Any
        Further arguments of `f`.
    argnums : int
        The argument to differentiate with respect to; `x` by default.
    fallback, **kwargs
        As for :func:`gradient`.

    Returns
    -------
    Any
        ``df/dx``, with the structure, shapes and dtypes of the output.

    Raises
    ------
    ArgumentError
        If that argument is not a real number.

    Examples
    --------
    >>> derivative(lambda x: x ** 3, 2.0)
    12.0
    >>> derivative(lambda x: np.array([1.0, 2.0]) * x, 2.0)
    array([1., 2.])
    """
    return differentiated(_derivative, f, (x, *args), kwargs, fallback, argnums)


def _derivative(f: Callable, args: tuple, kwargs: dict[str, Any], argnums: Any) -> Any:
    (i,) = checked_argnums(f, args, argnums_of(argnums))
    x = untraced(args[i])
    if type(x) is not float and not _is_real_number(x):
        raise ArgumentError(
            f"derivative is for a function of one real number, not {type(x).__name__}. Use "
            "gradient(f, x), or pullback(f, x)."
        )
    value, slope = Pushed(f, args, kwargs, None if len(args) == 1 else (i,)).push((1.0,))
    check_returned(f, value)
    return slope


def _is_real_number(x: Any) -> bool:
    return isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool)


def differentiated(
    transform: Callable,
    f: Callable,
    args: tuple,
    kwargs: dict[str, Any],
    fallback: Fallback,
    *options: Any,
) -> Any:
    """Return ``transform(f, args, kwargs, *options)``, by a program where one was made.

    `gradient` and `value_and_gradient` do the same themselves: one more call would cost 4 % of a
    small program.
    """
    try:
        if kwargs:
            check_keywords(f, kwargs)
        if fallback is None:
            return autocompile.called(transform, f, args, kwargs, *options)
        with numeric_fallback(fallback):
            return transform(f, args, kwargs, *options)
    except Exception as error:
        hide_engine(error)
        raise


def cotangents(
    f: Callable, args: tuple, bars: Any, argnums: tuple[int, ...], /, **kwargs: Any
) -> tuple:
    """Return the cotangents of arguments of `f` for the cotangent of its value.

    This is a pullback that is called once, so it can be a program, as a gradient can.
    """
    return differentiated(_cotangents_of, f, (*args, bars), kwargs, None, argnums)


def _cotangents_of(
    f: Callable, args: tuple, kwargs: dict[str, Any], argnums: tuple[int, ...]
) -> tuple:  # fmt: skip
    *given, bars = args
    traced = Linearised(f, tuple(given), kwargs, argnums, at_once=True)
    return tuple(traced.cotangents(bars))


def pullback(
    f: Callable[..., Y],
    /,
    *args: Any,
    argnums: Argnums = None,
    fallback: Fallback = None,
    **kwargs: Any,
) -> tuple[Y, Callable[[Any], Any]]:
    """Evaluate a function and return its pullback at that point.

    Parameters
    ----------
    f : callable
        Any function.
    *args, argnums, fallback, **kwargs
        As for :func:`gradient`.

    Returns
    -------
    y : Any
        The value.
    back : callable
        ``back(y_bar)`` takes a cotangent with the structure and shapes of `y`. It returns the
        cotangent of the argument, or a tuple of them for several arguments, each with the
        structure, shapes and dtypes of its argument. It can be called any number of times.

    Raises
    ------
    ArgumentError
        If there is nothing to differentiate with respect to.
    SeedError
        By `back`, if the cotangent does not fit the output.
    MutationError
        By `back`, if an array that the function used has been written into since.

    Examples
    --------
    >>> y, back = pullback(lambda x: x ** 2, np.array([1.0, 2.0]))
    >>> back(np.array([1.0, 10.0]))
    array([ 2., 40.])
    """
    try:
        if kwargs:
            check_keywords(f, kwargs)
        with fallback_to(fallback):
            traced = Linearised(f, args, kwargs, argnums_of(argnums))
        traced.check_paths()
    except Exception as error:
        hide_engine(error)
        raise
    traced.keep_from_changes()
    traced.tape.watch()  # arrays that f used may be written into before `back` is called
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
        try:
            bars = traced.cotangents(y_bar[0])
        except Exception as error:
            hide_engine(error)
            raise
        return bars[0] if single else tuple(bars)

    return traced.value, back


def pushforward(
    f: Callable[..., Y],
    /,
    *args: Any,
    argnums: Argnums = None,
    fallback: Fallback = None,
    **kwargs: Any,
) -> tuple[Y, Callable[..., Any]]:
    """Evaluate a function and return its pushforward at that point.

    Parameters
    ----------
    f : callable
        Any function.
    *args, argnums, fallback, **kwargs
        As for :func:`gradient`.

    Returns
    -------
    y : Any
        The value.
    push : callable
        ``push(*dots)`` takes a tangent for each of these arguments, with its structure and
        shapes. It returns the tangent of the output. Each call runs `f` once.

    Raises
    ------
    ArgumentError
        If there is nothing to perturb.
    SeedError
        By `push`, if a tangent does not fit its argument.

    Examples
    --------
    >>> y, push = pushforward(lambda x: x ** 2, np.array([1.0, 2.0]))
    >>> push(np.array([1.0, 10.0]))
    array([ 2., 40.])
    """
    try:
        if kwargs:
            check_keywords(f, kwargs)
        pushed = Pushed(f, args, kwargs, argnums_of(argnums))
        with fallback_to(fallback):
            value = pushed.value()
    except Exception as error:
        hide_engine(error)
        raise

    def push(*dots: Any) -> Any:
        try:
            with fallback_to(fallback):
                return pushed.push(dots)[1]
        except Exception as error:
            hide_engine(error)
            raise

    return value, push
