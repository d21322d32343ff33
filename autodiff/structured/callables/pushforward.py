"""Calls in tangent functions whose tangents are computed by rules, not by generated source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autodiff.dispatch import call as calls
from autodiff.dispatch.arguments import of_level
from autodiff.structured.callables.inner_derivatives import InnerDerivative
from autodiff.structured.callables.recursive_calls import RuleLike
from autodiff.trace.jvp_trace import tangent_out
from autodiff.trace.linearize import Linearised
from autodiff.trace.tape import Forward
from autodiff.trace.tracer import wrap


class Pushforward(RuleLike):
    """The pushforward of a function: ``p(*args, *tangents)`` returns results, then tangents.

    Parameters
    ----------
    f : callable
        The function.
    places : tuple of int
        The positions of the arguments that have tangents.
    options : dict
        Its keyword arguments.
    n : int, optional
        The number of results, if it returns a tuple.
    """

    __slots__ = ("__name__", "f", "n", "options", "places")

    def __init__(
        self, f: Callable, places: tuple[int, ...], options: dict[str, Any], n: int | None
    ) -> None:
        self.f = f
        self.places = places
        self.options = options
        self.n = n
        self.__name__ = f"push_{getattr(f, '__name__', 'f')}"

    def __call__(self, *given: Any) -> tuple:
        """Return the results and their tangents."""
        end = len(given) - len(self.places)
        args, level = list(given[:end]), Forward()
        for i, dot in zip(self.places, given[end:], strict=True):
            args[i] = wrap(args[i], level, dot)
        try:
            if isinstance(self.f, InnerDerivative):
                y = self.f.at_levels(*args)
            elif isinstance(self.f, Pushforward):
                y = self.f(*args)
            else:
                y = calls.call(self.f, tuple(args), dict(self.options))
        finally:
            level.close()
        parts = (y,) if self.n is None else tuple(y)
        values = [of_level(part, level) for part in parts]
        return (*values, *[tangent_out(part, level) for part in parts])

    def record(self, args: tuple, options: dict[str, Any], wanted: tuple[int, ...]) -> tuple:
        """Return the results, and the pullback for the arguments at the positions `wanted`."""

        def of_wanted(*variables: Any) -> tuple:
            given = list(args)
            for i, x in zip(wanted, variables, strict=True):
                given[i] = x
            return self(*given)

        run = Linearised(of_wanted, tuple([args[i] for i in wanted]), {}, None)
        return run.value, run.cotangents
