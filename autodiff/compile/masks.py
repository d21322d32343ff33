"""The operators of masks: comparisons are values to a recording, so traced ones are combined."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from autodiff.call import by_rule
from autodiff.tracer import Tracer, is_tracer, untraced


def _bitwise(op: Callable) -> tuple[Callable, Callable]:
    def method(self: Tracer, other: Any) -> Any:
        a, b = untraced(self), untraced(other)
        if not (is_tracer(a) or is_tracer(b)):
            return NotImplemented
        return by_rule(op, (a, b), {})

    def reflected(self: Tracer, other: Any) -> Any:
        return method(other, self) if is_tracer(other) else by_rule(op, (other, self), {})

    return method, reflected


def _invert(self: Tracer) -> Any:
    return by_rule(operator.invert, (untraced(self),), {})


def install() -> None:
    """Give traced values the operators of masks: those that a recording sees may be such."""
    for name, op in (("and", operator.and_), ("or", operator.or_), ("xor", operator.xor)):
        method, reflected = _bitwise(op)
        setattr(Tracer, f"__{name}__", method)
        setattr(Tracer, f"__r{name}__", reflected)
    setattr(Tracer, "__invert__", _invert)  # noqa: B010 - a type checker must not see it


install()
