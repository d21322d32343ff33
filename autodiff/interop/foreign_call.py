"""Calls of another system's functions inside a derivative of ours, with its own derivatives.

A :class:`ForeignCall` is a function of n arrays that returns m arrays, computed by the other
system. Its pullback and its pushforward are foreign calls again. The rule of :func:`foreign_call`
calls them by `foreign_call` itself, so that derivatives of every order are those of the other
system.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff.trace.tracer import is_tracer
from chainrules_core import AbstractZero, NoTangent, Tangent, frule, primitive, rrule
from chainrules_core.authoring import part

Back = Callable[[Sequence[Any]], Sequence[Any]]


class ForeignCall(ABC):
    """A function of n arrays that returns m arrays, in another system.

    Cotangents of complex values are those of this engine, ``∂f/∂re + i ∂f/∂im``.
    """

    @abstractmethod
    def value(self, *arrays: Any) -> tuple:
        """Return the outputs, as arrays and numbers of NumPy."""

    @abstractmethod
    def recorded(self, arrays: Sequence[Any], wanted: tuple[int, ...]) -> tuple[tuple, Back]:
        """Return the outputs, and a function from cotangents of all of them to those of `wanted`.

        A cotangent may be None for zero.
        """

    @abstractmethod
    def pullback(self, wanted: tuple[int, ...], given: tuple[int, ...]) -> ForeignCall:
        """Return the pullback: of the arrays and the cotangents of the outputs `given`."""

    @abstractmethod
    def pushforward(self, perturbed: tuple[int, ...]) -> ForeignCall:
        """Return the pushforward: of the arrays and the tangents of the inputs `perturbed`.

        It returns the tangents of the outputs in floating point, in their order.
        """


@primitive
def foreign_call(*arrays: Any, call: ForeignCall) -> tuple:
    """Return the outputs of a foreign call.

    Parameters
    ----------
    *arrays : numpy.ndarray or number
        The inputs, which may be traced.
    call : ForeignCall
        The call.
    """
    return call.value(*arrays)


def _is_inexact(x: Any) -> bool:
    return np.result_type(x).kind in "fc"


@rrule.register(foreign_call)
def foreign_call_rrule(*arrays: Any, call: ForeignCall) -> Any:
    """Differentiate by the other system's pullback, which is a foreign call."""
    wanted = tuple(i for i, x in enumerate(arrays) if _is_inexact(x))
    if any(map(is_tracer, arrays)):
        y, kept = foreign_call(*arrays, call=call), None
    else:
        y, kept = call.recorded(arrays, wanted)

    def foreign_call_pullback(y_bar: Any) -> tuple:
        y_bars = [part(y_bar, k) for k in range(len(y))]
        given = tuple(k for k, bar in enumerate(y_bars) if bar is not None)
        bars: list[Any] = [NoTangent()] * len(arrays)
        if kept is not None and not any(map(is_tracer, y_bars)):
            found = kept(y_bars)
        else:
            back = call.pullback(wanted, given)
            found = foreign_call(*arrays, *(y_bars[k] for k in given), call=back)
        for i, bar in zip(wanted, found, strict=True):
            bars[i] = bar
        return tuple(bars)

    return y, foreign_call_pullback


@frule.register(foreign_call)
def foreign_call_frule(dots: tuple, *arrays: Any, call: ForeignCall) -> Any:
    """Differentiate by the other system's pushforward, which is a foreign call."""
    moved = tuple(i for i, dot in enumerate(dots) if not isinstance(dot, AbstractZero))
    y = foreign_call(*arrays, call=call)
    push = call.pushforward(moved)
    found = iter(foreign_call(*arrays, *(dots[i] for i in moved), call=push))
    return y, Tangent[tuple](*(next(found) if _is_inexact(part) else NoTangent() for part in y))
