"""Rules of functions that are elementwise in one argument; the others are integers and options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from chainrules_core import frule, rrule
from chainrules_core.authoring import conjugate, fit, precise


def argument_rule(f: Callable | tuple[Callable, ...], name: str, slope: Callable) -> None:
    """Define frule and rrule by the derivative with respect to one argument.

    Parameters
    ----------
    f : callable or tuple of callables
        The function, or several that compute the same.
    name : str
        The name of the argument.
    slope : callable
        ``slope(y, x, **options)``, the derivative; `options` are all other arguments, by name.
    """
    for target in f if isinstance(f, tuple) else (f,):
        _register(target, name, slope)


def widened(y: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the other arguments in a precision in which they do not wrap around."""
    return dict(zip(options, precise(y, tuple(options.values())), strict=True))


def _register(f: Callable, name: str, slope: Callable) -> None:
    def argument_rrule(x: Any, **options: Any) -> Any:
        y = f(**{name: x}, **options)

        def argument_pullback(y_bar: Any) -> Any:
            return conjugate(slope(y, x, **widened(y, options))) * y_bar

        return y, argument_pullback

    def argument_frule(dots: tuple, x: Any, **options: Any) -> Any:
        y = f(**{name: x}, **options)
        return y, fit(slope(y, x, **widened(y, options)) * dots[0], y)

    kinds = inspect.Parameter
    own = [kinds(name, kinds.POSITIONAL_OR_KEYWORD), kinds("options", kinds.VAR_KEYWORD)]
    dots = kinds("dots", kinds.POSITIONAL_OR_KEYWORD)
    argument_rrule.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    argument_frule.__signature__ = inspect.Signature([dots, *own])  # type: ignore[attr-defined]
    rrule.register(f, broadcasts=True)(argument_rrule)
    frule.register(f)(argument_frule)
