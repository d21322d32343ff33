"""cotangent_hook: look at a cotangent on its way back, or put another one in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autodiff.api.callback_values import as_nest, as_tangent, call_user
from autodiff.closures.captured_state import with_own_variables
from autodiff.dispatch.call import call
from autodiff.errors import ArgumentError, DifferentiationError
from autodiff.trace.tracer import untraced
from chainrules_core import frule, rrule
from chainrules_core.rules import name_of


def cotangent_hook(x: Any, hook: Callable[[Any], Any]) -> Any:
    """Return a value as it is, and have `hook` see its cotangent on the way back.

    Parameters
    ----------
    x : Any
        A number, an array, or a nest of them.
    hook : callable
        ``hook(x_bar)`` is given the cotangent that the uses of the result have added up to: a
        number or array like `x`; for a nest the same nest, with None where nothing can be
        perturbed. What it returns goes on in its place. If it returns None, as ``print`` does, the
        cotangent goes on as it is.

    Returns
    -------
    Any
        `x`.

    Raises
    ------
    DifferentiationError
        On the way back, if the hook returns something that is no cotangent of `x`.

    Notes
    -----
    Only what is computed from the result is seen, not other uses of `x`: write
    ``x = cotangent_hook(x, hook)``. Where no cotangent arrives the hook is not called. In a sweep
    that meets 0 · Inf, which is then done again with strong zeros, it is called twice. Forward mode
    has no cotangents: the hook is not called and tangents pass unchanged.

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
    hook = with_own_variables(hook)  # it is called later

    def cotangent_hook_pullback(y_bar: Any) -> Any:
        replaced = call_user(hook, as_nest(x, y_bar))
        return y_bar if replaced is None else _as_cotangent(x, replaced, hook)

    return x, cotangent_hook_pullback  # on outer levels there is no hook


def _as_cotangent(x: Any, replaced: Any, hook: Callable) -> Any:
    """Check what a hook returned against the value that it belongs to."""
    try:
        return as_tangent(x, replaced)
    except (LookupError, AttributeError, TypeError) as error:
        raise DifferentiationError(
            f"cotangent_hook: {name_of(hook)} returned a {type(untraced(replaced)).__name__} "
            f"for the cotangent of a {type(untraced(x)).__name__} ({error}). Return one like what "
            "it was given, or None to leave it as it is."
        ) from error
