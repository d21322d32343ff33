"""Gradients inside functions with loops: calls of `gradient` that record their own pullbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.mutation.memory_layout import unshared
from autodiff.structured.callables.recursive_calls import RuleLike
from autodiff.trace.trace_stack import apart

_gradient: Callable
_jvp: Callable


def connect(*, gradient: Callable, jvp: Callable) -> None:
    """Take the functions of `autodiff.api`, which import this module."""
    global _gradient, _jvp
    _gradient, _jvp = gradient, jvp


def is_gradient(f: Any) -> bool:
    """Whether a function is `autodiff.gradient`."""
    return f is _gradient


class InnerGradient(RuleLike):
    """The gradient of a function that reads numbers and arrays from its arguments alone.

    For the gradient g(x) = ∂f/∂x_p by the arguments p, the pullback of ḡ is the derivative of the
    whole gradient ∂f/∂x along ḡ, as second derivatives are symmetric: x̄ = d/dε ∂f/∂x(x_p + ε ḡ).

    Parameters
    ----------
    f : FunctionType
        The function.
    places : tuple of int
        The positions of the arguments that it is differentiated by.
    is_single : bool
        Whether the result is one gradient and not a tuple.
    n_floats : int
        How many arguments are numbers or arrays of floats: these come first.
    """

    returns_new = True

    def __init__(
        self, f: Callable, places: tuple[int, ...], is_single: bool, n_floats: int
    ) -> None:
        self.f = f
        self.places = places
        self.is_single = is_single
        self.n_floats = n_floats
        self.__name__ = f"gradient_of_{f.__name__}"
        self._whole: dict[tuple[int, ...], Callable] = {}

    def __call__(self, *args: Any) -> Any:
        """Return the gradient."""
        slopes = apart(_gradient, self.f, *args, argnums=self.places)
        arrays = [a for a in args if type(a) is np.ndarray]
        found = tuple([unshared(x, arrays) if type(x) is np.ndarray else x for x in slopes])
        return found[0] if self.is_single else found

    def record(self, args: tuple, options: dict[str, Any], wanted: tuple[int, ...]) -> tuple:
        """Return the gradient, and the pullback for the arguments at the positions `wanted`."""
        floats, others = args[: self.n_floats], args[self.n_floats :]

        def pullback(bars: Any) -> tuple:
            given = dict(zip(self.places, (bars,) if self.is_single else bars, strict=True))
            dots = [_like(x, given.get(i)) for i, x in enumerate(floats)]
            primals, tangents = (*floats, others), (*dots, (None,) * len(others))
            return apart(_jvp, self._gradient_by(wanted), primals, tangents)[1]

        return self(*args), pullback

    def _gradient_by(self, wanted: tuple[int, ...]) -> Callable:
        """Return the function of the floats, and a tuple of the others, that gives a gradient."""
        found = self._whole.get(wanted)
        if found is None:
            f = self.f

            def whole(*given: Any) -> Any:
                return _gradient(f, *given[:-1], *given[-1], argnums=wanted)

            found = self._whole[wanted] = whole
        return found


def _like(x: Any, bar: Any) -> Any:
    """Return a cotangent, or zeros for None, in the class and shape of a value."""
    bar = 0.0 if bar is None else bar
    if type(x) is np.ndarray:
        full = np.zeros_like(x)
        full[...] = bar
        return full
    return type(x)(bar)
