"""Reading random generators that the function makes itself, such as ``random.Random(7)``; clocks.

A run makes its own generator, so it draws what the function does. Draws are numbers and arrays
without derivatives: their arguments must be known, or integers.
"""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.form.function_ir import Op, Value
from autodiff.structured.form.kinds import Kind, UnsupportedError, kind_of_result
from autodiff.structured.message_queue import time_of
from autodiff.structured.reading.builder import ProgramBuilder

MAKERS: dict[Any, type] = {
    random.Random: random.Random,
    np.random.default_rng: np.random.Generator,
    np.random.RandomState: np.random.RandomState,
}
"""Functions that make a generator, and its class."""

_DRAWS: dict[type, frozenset[str]] = {
    random.Random: frozenset(
        {"random", "gauss", "normalvariate", "uniform", "randint", "randrange", "expovariate"}
    ),
    np.random.Generator: frozenset(
        {"random", "normal", "standard_normal", "uniform", "integers", "exponential", "poisson"}
    ),
    np.random.RandomState: frozenset(
        {
            "rand",
            "randn",
            "random",
            "normal",
            "standard_normal",
            "uniform",
            "randint",
            "exponential",
        }
    ),
}


CLOCKS = frozenset({time.perf_counter, time.time, time.monotonic, time.process_time})
"""Functions without arguments that return a different number at each call."""


def read_clock(reader: ProgramBuilder, clock: Any) -> Value:
    """Read a call of a clock."""
    reader.program.has_messages = True
    read = functools.partial(time_of, clock)
    return reader.emit(Op("draw", [], f=read), Kind(frozenset([float])))


def new_generator(reader: ProgramBuilder, make: Any, args: list[Value]) -> Value:
    """Read a call that makes a generator."""
    _check_given(args)
    return reader.emit(Op("draw", args, f=make), Kind(frozenset([MAKERS[make]])))


def is_generator(x: Any) -> bool:
    """Whether this is a generator that the program has made."""
    return type(x) is Value and x.kind.classes <= _DRAWS.keys() and not x.kind.is_known


def draw(reader: ProgramBuilder, owner: Value, name: str, args: list, options: dict) -> Value:
    """Read a call of a method that draws a number or an array."""
    (cls,) = owner.kind.classes
    if name not in _DRAWS[cls]:
        raise UnsupportedError(f"method {name} of a random generator")
    _check_given([*args, *options.values()])
    method: Callable = getattr(cls, name)
    make = next(f for f, made in MAKERS.items() if made is cls)

    def sample(*values: Any, **named: Any) -> Any:
        return method(make(0), *values, **named)

    kinds = {key: x.kind for key, x in options.items()}
    kind = kind_of_result(sample, [x.kind for x in args], kinds)
    return reader.emit(Op("draw", [owner, *args], f=method, options=options), kind.general())


def _check_given(args: list) -> None:
    for x in args:
        if type(x) is not Value or not (x.kind.is_known or x.kind.is_integral or x.kind.parts):
            raise UnsupportedError("a random number that may depend on the variables")
        if not x.kind.is_known and x.kind.has_floats:
            raise UnsupportedError("a random number that may depend on the variables")
