"""The calling forms of JAX and HIPS autograd: functions that return functions.

For complex arguments these, too, follow this package's convention, ``∂f/∂re + i ∂f/∂im``: the
conjugate of what JAX and autograd return.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import hot, matrices
from autodiff.derivatives import gradient, pullback, value_and_gradient
from autodiff.forward import Pushed

Argnums = int | tuple[int, ...]


def grad(f: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
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
    def gradient_of_f(*args: Any, **kwargs: Any) -> Any:
        value, slope = value_and_gradient(f, *args, argnums=argnums, has_aux=has_aux, **kwargs)
        return (slope, value[1]) if has_aux else slope

    return gradient_of_f


def value_and_grad(f: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
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
    def value_and_gradient_of_f(*args: Any, **kwargs: Any) -> Any:
        return value_and_gradient(f, *args, argnums=argnums, has_aux=has_aux, **kwargs)

    return value_and_gradient_of_f


def elementwise_grad(f: Callable, argnum: int = 0) -> Callable:
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

    @functools.wraps(f)
    def derivative_of_f(*args: Any, **kwargs: Any) -> Any:
        return gradient(lambda *a: np.sum(f(*a, **kwargs)), *args, argnums=argnum)

    return derivative_of_f


def vjp(f: Callable, *primals: Any, has_aux: bool = False) -> tuple:
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


def jvp(f: Callable, primals: tuple | list, tangents: tuple | list) -> tuple[Any, Any]:
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

    Examples
    --------
    >>> jvp(lambda x: x * x, (3.0,), (1.0,))
    (9.0, 6.0)
    """
    return hot.called(_jvp, f, (*primals, *tangents), {}, len(primals))


def _jvp(f: Callable, args: tuple, kwargs: dict[str, Any], n: int) -> tuple[Any, Any]:
    return Pushed(f, args[:n], kwargs, None).push(args[n:])


def _matrix(make: Callable, f: Callable, argnums: Argnums, **options: Any) -> Callable:
    @functools.wraps(f)
    def matrix_of_f(*args: Any, **kwargs: Any) -> Any:
        return make(f, *args, argnums=argnums, **options, **kwargs)

    return matrix_of_f


def jacfwd(f: Callable, argnums: Argnums = 0) -> Callable:
    """Return the function that computes the Jacobian of `f` by forward mode.

    Examples
    --------
    >>> jacfwd(np.square)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    return _matrix(matrices.jacobian, f, argnums, mode="forward")


def jacrev(f: Callable, argnums: Argnums = 0) -> Callable:
    """Return the function that computes the Jacobian of `f` by reverse mode.

    Examples
    --------
    >>> jacrev(np.square)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    return _matrix(matrices.jacobian, f, argnums, mode="reverse")


def hessian(f: Callable, argnums: Argnums = 0) -> Callable:
    """Return the function that computes the Hessian of `f`, forward over reverse.

    Examples
    --------
    >>> hessian(lambda x: np.sum(x ** 3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return _matrix(matrices.hessian, f, argnums)
