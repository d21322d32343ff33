"""The calling forms of JAX and HIPS autograd: functions that return functions.

Each takes ``argnums=0`` as there: the derivative by the first argument. All arguments of the
function that is returned, keywords included, go to `f`.

For complex arguments these, too, follow this package's convention, ``∂f/∂re + i ∂f/∂im``: the
conjugate of what JAX and autograd return.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from autodiff import autocompile
from autodiff.api import jacobians
from autodiff.api.gradients import gradient, pullback, value_and_gradient
from autodiff.api.keywords import OPTIONS
from autodiff.api.tracebacks import hide_engine
from autodiff.errors import ArgumentError
from autodiff.trace.jvp_trace import Pushed

Argnums = int | tuple[int, ...]
P = ParamSpec("P")
Y = TypeVar("Y")


def grad(f: Callable[P, Any], /, argnums: Argnums = 0, has_aux: bool = False) -> Callable[P, Any]:
    """Return the function that computes the gradient of `f`.

    Parameters
    ----------
    f : callable
        A function that returns a real number; with `has_aux` a pair, the second part passed on.
    argnums : int or tuple of int
        Which arguments to differentiate with respect to.
    has_aux : bool
        Whether `f` returns a pair.

    Returns
    -------
    callable
        Takes what `f` takes; returns the gradient, or ``(gradient, aux)``.

    Examples
    --------
    >>> grad(lambda x, y: x * y)(2.0, 3.0)
    3.0
    """

    @functools.wraps(f)
    def gradient_of_f(*args: P.args, **kwargs: P.kwargs) -> Any:
        g, rest = _split(f, kwargs)
        return gradient(g, *args, argnums=argnums, has_aux=has_aux, **rest)

    return gradient_of_f


def _split(f: Callable, kwargs: Any) -> tuple[Callable, dict[str, Any]]:
    """Return a function that has its keywords with names of options, and the other keywords."""
    own = {name: kwargs[name] for name in OPTIONS if name in kwargs}
    if not own:
        return f, kwargs
    rest = {name: value for name, value in kwargs.items() if name not in own}
    return functools.partial(f, **own), rest


def value_and_grad(
    f: Callable[P, Any], /, argnums: Argnums = 0, has_aux: bool = False
) -> Callable[P, tuple[Any, Any]]:
    """Return the function that computes the value and the gradient of `f`.

    Parameters
    ----------
    f, argnums, has_aux
        As for :func:`grad`.

    Returns
    -------
    callable
        Takes what `f` takes; returns ``(value, gradient)``, or ``((value, aux), gradient)``.

    Examples
    --------
    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """

    @functools.wraps(f)
    def value_and_gradient_of_f(*args: P.args, **kwargs: P.kwargs) -> tuple[Any, Any]:
        g, rest = _split(f, kwargs)
        return value_and_gradient(g, *args, argnums=argnums, has_aux=has_aux, **rest)

    return value_and_gradient_of_f


def elementwise_grad(f: Callable[P, Y], /, argnum: int = 0) -> Callable[P, Y]:
    """Return the derivative of a function that acts on each element alone, as autograd's.

    Parameters
    ----------
    f : callable
        A function whose output has the shape of its argument.
    argnum : int
        Which argument.

    Returns
    -------
    callable
        Takes what `f` takes; returns an array.

    Examples
    --------
    >>> elementwise_grad(np.square)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    made: Callable[..., Any] = f

    @functools.wraps(f)
    def derivative_of_f(*args: P.args, **kwargs: P.kwargs) -> Any:
        return gradient(lambda *a: np.sum(made(*a, **kwargs)), *args, argnums=argnum)

    return derivative_of_f


def vjp(f: Callable, /, *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return the value of `f` and its vector-Jacobian product.

    Parameters
    ----------
    f : callable
        Any function.
    *primals : Any
        Its arguments.
    has_aux : bool
        Whether `f` returns a pair, of which the second part is passed on.

    Returns
    -------
    tuple
        ``(y, f_vjp)`` or ``(y, f_vjp, aux)``; ``f_vjp(y_bar)`` returns a tuple of cotangents.

    Examples
    --------
    >>> y, f_vjp = vjp(lambda x: x * x, 3.0)
    >>> f_vjp(1.0)
    (6.0,)
    """
    aux: list[Any] = []

    def first(*args: Any) -> Any:
        y, rest = f(*args)
        aux.append(rest)
        return y

    argnums = tuple(range(len(primals)))
    y, back = pullback(first if has_aux else f, *primals, argnums=argnums)
    return (y, back, aux[0]) if has_aux else (y, back)


def jvp(f: Callable[..., Y], /, primals: tuple | list, tangents: tuple | list) -> tuple[Y, Y]:
    """Return the value of `f` and its Jacobian-vector product.

    Parameters
    ----------
    f : callable
        Any function.
    primals : tuple or list
        Its arguments.
    tangents : tuple or list
        A tangent for each.

    Returns
    -------
    tuple
        ``(y, y_dot)``.

    Raises
    ------
    ArgumentError
        If `primals` or `tangents` is no tuple or list.
    SeedError
        If a tangent does not belong to its argument.

    Examples
    --------
    >>> jvp(lambda x: x * x, (3.0,), (1.0,))
    (9.0, 6.0)
    """
    try:
        for name, given in (("primals", primals), ("tangents", tangents)):
            if not isinstance(given, (tuple, list)):
                raise ArgumentError(
                    f"jvp takes its {name} as a tuple, one for each argument of f, not as "
                    f"{type(given).__name__}: jvp(f, (x,), (x_dot,))."
                )
        return autocompile.called(_jvp, f, (*primals, *tangents), {}, len(primals))
    except Exception as error:
        hide_engine(error)
        raise


def _jvp(f: Callable, args: tuple, kwargs: dict[str, Any], n: int) -> tuple[Any, Any]:
    return Pushed(f, args[:n], kwargs, None).push(args[n:])


def _jacobian(f: Callable[P, Any], argnums: Argnums, mode: Any) -> Callable[P, Any]:
    @functools.wraps(f)
    def jacobian_of_f(*args: P.args, **kwargs: P.kwargs) -> Any:
        g, rest = _split(f, kwargs)
        return jacobians.jacobian(g, *args, argnums=argnums, mode=mode, **rest)

    return jacobian_of_f


def jacfwd(f: Callable[P, Any], /, argnums: Argnums = 0) -> Callable[P, Any]:
    """Return the function that computes the Jacobian of `f` by forward mode.

    Parameters
    ----------
    f : callable
        A function that returns a real number or array, or a nest of them.
    argnums : int or tuple of int
        Which arguments to differentiate with respect to.

    Returns
    -------
    callable
        Takes what `f` takes; returns what :func:`autodiff.jacobian` does.

    Examples
    --------
    >>> jacfwd(np.square)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    return _jacobian(f, argnums, "forward")


def jacrev(f: Callable[P, Any], /, argnums: Argnums = 0) -> Callable[P, Any]:
    """Return the function that computes the Jacobian of `f` by reverse mode.

    Parameters
    ----------
    f, argnums
        As for :func:`jacfwd`.

    Returns
    -------
    callable
        Takes what `f` takes; returns what :func:`autodiff.jacobian` does.

    Examples
    --------
    >>> jacrev(np.square)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    return _jacobian(f, argnums, "reverse")
