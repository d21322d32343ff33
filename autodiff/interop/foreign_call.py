"""Calls of another system's functions within a derivative of ours.

The mirror of a flat call: a function of n arrays that returns m arrays, which the other system
computes and differentiates. One function of ours has a rule for all of them. The pullback of a
foreign call is a foreign call, so the other system computes the derivatives of every order; forward
mode is the adjoint of the pullback.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from autodiff.dispatch.call import call as dispatched
from autodiff.interop.flat_call import as_scalar, own
from autodiff.interop.structures import is_array, taken_out
from autodiff.trace.tape import CONSTANT
from autodiff.trace.tracer import bare, is_tracer
from chainrules_core import AbstractZero, NoTangent, rrule, unthunk, zero_tangent

Back = Callable[[Sequence[Any]], Sequence[Any]]


class ForeignCall(str):
    """A function of n arrays that returns m arrays, of another system.

    It is a string, the name of the function, since strings are leaves of pytrees. An adapter
    derives a class from it with the three methods; they get and return NumPy arrays, or NumPy
    scalars for those without axes.
    """

    def value(self, *arrays: Any) -> Iterable[Any]:
        """Return the outputs."""
        raise NotImplementedError

    def recorded(self, arrays: tuple, wanted: tuple[int, ...]) -> tuple[Iterable[Any], Back]:
        """Return the outputs and the pullback at this point, from one run.

        The pullback takes a cotangent for each output in floating point, in their order, and
        returns one for each wanted input.
        """
        raise NotImplementedError

    def pullback(self, wanted: tuple[int, ...], given: tuple[int, ...]) -> ForeignCall:
        """Return the pullback, a foreign call of the inputs and of cotangents of outputs.

        Parameters
        ----------
        wanted : tuple of int
            The positions of the inputs whose cotangents are returned.
        given : tuple of int
            The positions of the outputs whose cotangents follow the inputs; the others are no
            floating-point numbers.
        """
        raise NotImplementedError


def call_foreign(
    make: Callable[[Callable[..., Any]], ForeignCall],
    f: Callable,
    args: tuple,
    kwargs: dict[str, Any],
    is_output: Callable[[Any], bool],
) -> Any:
    """Call a function of another system with arrays in place of those of that system.

    Parameters
    ----------
    make : callable
        Returns the foreign call for a function of arrays of that system that returns a list of
        them.
    f, args, kwargs
        The call. Arrays and traced values in it are given to `f` as arrays of that system, floats
        too unless they are keyword arguments.
    is_output : callable
        Whether a leaf of the result is an array of that system.
    """
    positional, first = taken_out(args)
    named, second = taken_out(kwargs, _is_array_by_name)
    n = len(positional)
    outputs: Any = None

    def of_arrays(arrays: list) -> list:
        nonlocal outputs
        found, outputs = taken_out(
            f(*first.filled(arrays[:n]), **second.filled(arrays[n:])), is_output
        )
        return found

    arrays = tuple(map(_without_constant, (*positional, *named)))
    values = dispatched(run_foreign, (make(of_arrays), *arrays))
    return outputs.filled(values)


def _is_array_by_name(x: Any) -> bool:
    return is_array(x) and (is_tracer(x) or isinstance(x, np.ndarray))


def _without_constant(x: Any) -> Any:
    """Return an array that was made in a traced function and does not depend on variables."""
    return x._value if is_tracer(x) and x._tape is CONSTANT else x


def run_foreign(call: ForeignCall, *arrays: Any) -> tuple:
    """Return the outputs of a foreign call."""
    return tuple([as_scalar(y) for y in own(call.value(*arrays), arrays)])


@rrule.register(run_foreign, ForeignCall, [object])
def _run_foreign_rrule(call: ForeignCall, *arrays: Any) -> tuple[Any, Callable]:
    wanted = tuple([i for i, x in enumerate(arrays) if _is_inexact(x)])
    back: Back | None = None
    if any(map(is_tracer, arrays)):  # on outer levels, on which the call is recorded as well
        outputs = dispatched(run_foreign, (call, *arrays))
    else:
        found, back = call.recorded(arrays, wanted)
        outputs = tuple([as_scalar(y) for y in own(found, arrays)])
    given = tuple([k for k, y in enumerate(outputs) if _is_inexact(y)])

    def foreign_pullback(y_bar: Any) -> tuple:
        bars = [_materialized(unthunk(y_bar[k]), outputs[k]) for k in given]
        if back is None or any(map(is_tracer, bars)):
            found = dispatched(run_foreign, (call.pullback(wanted, given), *arrays, *bars))
        else:
            found = own(back(bars), (*arrays, *bars))
        by_place = dict(zip(wanted, found, strict=True))
        return NoTangent(), *[by_place.get(i, NoTangent()) for i in range(len(arrays))]

    return outputs, foreign_pullback


def _materialized(bar: Any, y: Any) -> Any:
    return zero_tangent(y) if bar is None or isinstance(bar, AbstractZero) else bar


def _is_inexact(x: Any) -> bool:
    x = bare(x)
    return isinstance(x, (float, complex)) or x.dtype.kind in "fc"


class Foreign:
    """A function of another system that takes and returns arrays of ours.

    Parameters
    ----------
    f : callable
        The function.
    make, is_output : callable
        As for :func:`call_foreign`.
    """

    def __init__(
        self,
        f: Callable,
        make: Callable[[Callable[..., Any]], ForeignCall],
        is_output: Callable[[Any], bool],
    ) -> None:
        self._parts = f, make, is_output
        functools.update_wrapper(self, f, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        f, make, is_output = self._parts
        return call_foreign(make, f, args, kwargs, is_output)

    def __repr__(self) -> str:
        return f"<{self._parts[0]!r}, called with arrays>"
