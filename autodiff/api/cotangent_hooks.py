"""cotangent_hook: inspect or replace a cotangent during the reverse sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from autodiff.api.callback_values import MISFITS, as_pytree, as_tangent, call_user
from autodiff.closures.captured_state import with_own_variables
from autodiff.dispatch.call import call
from autodiff.errors import ArgumentError, DifferentiationError
from autodiff.trace.tracer import untraced
from chainrules_core import frule, rrule
from chainrules_core.rules import name_of

X = TypeVar("X")


def cotangent_hook(x: X, hook: Callable[[Any], Any]) -> X:
    """Return `x` unchanged, and pass its cotangent to `hook` during the reverse sweep.

    Parameters
    ----------
    x : Any
        A number, an array, or a pytree of them.
    hook : callable
        ``hook(x_bar)`` gets the sum of the cotangents of all uses of the result. It has the
        structure and shapes of `x`, with None for leaves that cannot be perturbed. The return value
        of the hook replaces the cotangent. If the hook returns None, as ``print`` does, the
        cotangent stays unchanged.

    Returns
    -------
    Any
        `x`.

    Raises
    ------
    ArgumentError
        If `hook` is not callable.
    DifferentiationError
        In the reverse sweep, if the hook returns something that is not a cotangent of `x`.

    Notes
    -----
    The hook sees only uses of the result, not other uses of `x`, so write ``x = cotangent_hook(x,
    hook)``. It is not called if no cotangent arrives. It is called twice if the sweep is repeated
    with strong zeros because it met 0 · Inf. In forward mode there are no cotangents: the hook is
    not called, and tangents are unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from autodiff import gradient
    >>> def show(x_bar):
    ...     print("cotangent:", x_bar)
    >>> gradient(lambda x: 3.0 * cotangent_hook(x * x, show), 2.0)
    cotangent: 3.0
    12.0
    >>> gradient(lambda x: np.sum(cotangent_hook(x, lambda g: np.clip(g, -1, 1)) ** 2),
    ...          np.array([0.1, 5.0]))
    array([0.2, 1. ])
    """
    if not callable(hook):
        raise ArgumentError(
            f"cotangent_hook takes a value and a function of its cotangent; the second argument is "
            f"a {type(hook).__name__}: cotangent_hook(x, print)."
        )
    return call(_hooked, (x,), {"hook": hook})


def _hooked(x: Any, hook: Callable) -> Any:
    return x


@frule.register(_hooked, object)
def _hook_frule(dots: tuple, x: Any, *, hook: Callable) -> tuple[Any, Any]:
    (x_dot,) = dots
    return x, x_dot


@rrule.register(_hooked, object)
def _hook_rrule(x: Any, *, hook: Callable) -> tuple[Any, Callable]:
    hook = with_own_variables(hook)  # it runs when captured variables may have changed

    def cotangent_hook_pullback(y_bar: Any) -> Any:
        replaced = call_user(hook, as_pytree(x, y_bar))
        if replaced is None:
            return y_bar
        try:
            return as_tangent(x, replaced)
        except MISFITS as error:
            raise DifferentiationError(
                f"cotangent_hook: {name_of(hook)} returned a {type(untraced(replaced)).__name__} "
                f"for the cotangent of a {type(untraced(x)).__name__} ({error}). Return one like "
                "what it was given, or None to leave it as it is."
            ) from error

    return x, cotangent_hook_pullback  # the plain x: outer levels have no hook
