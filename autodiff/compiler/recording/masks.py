"""Bitwise operators: masks and integers are values of a recording, too."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch.call import by_rule
from autodiff.python_operators import OF_BITS
from autodiff.trace.tape import CONSTANT
from autodiff.trace.tracer import Tracer, is_tracer, untraced


def _bitwise(op: Callable) -> tuple[Callable, Callable]:
    def method(self: Tracer, other: Any) -> Any:
        return _computed(op, untraced(self), untraced(other))

    def reflected(self: Tracer, other: Any) -> Any:
        return _computed(op, untraced(other), untraced(self))

    return method, reflected


def _invert(self: Tracer) -> Any:
    return _computed(operator.invert, untraced(self))


def _computed(op: Callable, *args: Any) -> Any:
    if any(map(is_tracer, args)):
        return by_rule(op, args, {})
    y = op(*args)  # constants of a recording, or a TypeError
    return Tracer(y, CONSTANT, -1) if type(y) is np.ndarray else y


def install() -> None:
    """Give traced values the operators of masks and integers: a recording may see such."""
    for name, op, _ in OF_BITS.values():
        method, reflected = _bitwise(op)
        setattr(Tracer, f"__{name}__", method)
        setattr(Tracer, f"__r{name}__", reflected)
    setattr(Tracer, "__invert__", _invert)  # noqa: B010 - a type checker must not see it


install()
