"""The interface of JAX and HIPS autograd: functions that return functions.

As there, ``argnums`` is 0 by default, which differentiates with respect to the first argument. The
returned function passes all its arguments, including keywords, to `f`.

Derivatives with respect to complex arguments follow the convention of this package, ``∂f/∂re +
i ∂f/∂im``, the conjugate of what JAX and autograd return.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from autodiff.api.gradients import differentiated, gradient, pullback, value_and_gradient
from autodiff.api.jacobians import jacobian
from autodiff.api.keywords import OPTIONS
from autodiff.errors import ArgumentError
from autodiff.trace.jvp_trace import Pushed
from chainrules_core.rules import name_of

Argnums = int | tuple[int, ...]
P = ParamSpec("P")
Y = TypeVar("Y")


def grad(f: Callable[P, Any], /, argnums: Argnums = 0, has_aux: bool = False) -> Callable[P, Any]:
    """Return the function that computes the gradient of `f`.

    Parameters
    ----------
    f : callable
        A function that returns a real number.
    argnums : int or tuple of int
        The positions of the arguments to differentiate with respect to.
    has_aux : bool
        Whether `f` returns a pair ``(value, aux)``, of which only the value is differentiated.

    Returns
    -------
    callable
        A function with the arguments of `f`. It returns what :func:`autodiff.gradient` does, and
        raises the same errors.

    Examples
    --------
    >>> grad(lambda x, y: x * y)(2.0, 3.0)
    3.0
    """
    return _derivative_of(f, gradient, argnums=argnums, has_aux=has_aux)


def _derivative_of(f: Callable[P, Any], transform: Callable, **options: Any) -> Callable[P, Any]:
    """Return the function ``transform(f, ...)`` of the arguments of `f`."""
    argnums = options["argnums"]
    if not isinstance(argnums, (int, np.integer, tuple, list)):
        raise ArgumentError(
            f"argnums takes the positions of arguments, not {type(argnums).__name__}. The function "
            f"that is returned takes the arguments of {name_of(f)}: grad(f)(x)."
        )

    @functools.wraps(f)
    def derivative_of_f(*args: Any, **kwargs: Any) -> Any:
        g: Callable = f
        own = {name: kwargs[name] for name in OPTIONS if name in kwargs}
        if own:  # bound, since they would be taken for options of the transform
            g = functools.partial(f, **own)
            kwargs = {name: value for name, value in kwargs.items() if name not in own}
        return transform(g, *args, **options, **kwargs)

    return derivative_of_f


_CODE = grad(abs).__code__


def parts_of_derivative(g: Any) -> tuple[Callable, Callable, dict[str, Any]] | None:
    """Return the transform, `f` and the options, for what `grad` and the like return of `f`."""
    if getattr(g, "__code__", None) is not _CODE:
        return None
    held = dict(zip(_CODE.co_freevars, [cell.cell_contents for cell in g.__closure__], strict=True))
    return held["transform"], held["f"], held["options"]


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
        A function with the arguments of `f`. It returns ``(value, gradient)``, or ``((value, aux),
        gradient)`` with `has_aux`.

    Examples
    --------
    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """
    return _derivative_of(f, value_and_gradient, argnums=argnums, has_aux=has_aux)


def elementwise_grad(f: Callable[P, Y], /, argnum: int = 0) -> Callable[P, Y]:
    """Return the derivative of a function that acts on each element by itself.

    Parameters
    ----------
    f : callable
        A function whose output has the shape of its argument.
    argnum : int
        The argument to differentiate with respect to.

    Returns
    -------
    callable
        A function with the arguments of `f`. It returns an array in the shape of that argument.

    Notes
    -----
    This is the gradient of the sum of the outputs. If an output depends on other elements as well,
    the result is a sum of partial derivatives.

    Examples
    --------
    >>> elementwise_grad(np.square)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    g: Callable[..., Any] = f

    @functools.wraps(f)
    def derivative_of_f(*args: P.args, **kwargs: P.kwargs) -> Any:
        return gradient(lambda *a: np.sum(g(*a, **kwargs)), *args, argnums=argnum)

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
        Whether `f` returns a pair ``(value, aux)``, of which only the value is differentiated.

    Returns
    -------
    tuple
        ``(y, f_vjp)``, or ``(y, f_vjp, aux)`` with `has_aux`. ``f_vjp(y_bar)`` returns a tuple with
        a cotangent for each argument.

    Raises
    ------
    ArgumentError
        If there is nothing to differentiate with respect to.
    SeedError
        By `f_vjp`, if the cotangent does not fit the output.

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
        A tangent for each argument, with its structure and shapes.

    Returns
    -------
    tuple
        ``(y, y_dot)``: the value and its tangent.

    Raises
    ------
    ArgumentError
        If `primals` or `tangents` is neither a tuple nor a list.
    SeedError
        If a tangent does not fit its argument.

    Examples
    --------
    >>> jvp(lambda x: x * x, (3.0,), (1.0,))
    (9.0, 6.0)
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise ArgumentError(
                f"jvp takes its {name} as a tuple, one for each argument of f, not as "
                f"{type(given).__name__}: jvp(f, (x,), (x_dot,))."
            )
    return differentiated(_jvp, f, (*primals, *tangents), {}, None, len(primals))


def tangent_of(f: Callable, primals: Any, tangents: Any, /, **kwargs: Any) -> tuple:
    """Return the value of `f` and its tangent; the keyword arguments of `f` have no tangents."""
    return differentiated(_jvp, f, (*primals, *tangents), kwargs, None, len(primals))


def _jvp(f: Callable, args: tuple, kwargs: dict[str, Any], n: int) -> tuple[Any, Any]:
    return Pushed(f, args[:n], kwargs, None).push(args[n:])


def jacfwd(f: Callable[P, Any], /, argnums: Argnums = 0) -> Callable[P, Any]:
    """Return the function that computes the Jacobian of `f` by forward mode.

    Parameters
    ----------
    f : callable
        A function that returns a real number or array, or a pytree of them.
    argnums : int or tuple of int
        The positions of the arguments to differentiate with respect to.

    Returns
    -------
    callable
        A function with the arguments of `f`. It returns what :func:`autodiff.jacobian` does.

    Examples
    --------
    >>> jacfwd(np.square)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    return _derivative_of(f, jacobian, argnums=argnums, mode="forward")


def jacrev(f: Callable[P, Any], /, argnums: Argnums = 0) -> Callable[P, Any]:
    """Return the function that computes the Jacobian of `f` by reverse mode.

    Parameters
    ----------
    f, argnums
        As for :func:`jacfwd`.

    Returns
    -------
    callable
        A function with the arguments of `f`. It returns what :func:`autodiff.jacobian` does.

    Examples
    --------
    >>> jacrev(np.square)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    return _derivative_of(f, jacobian, argnums=argnums, mode="reverse")
