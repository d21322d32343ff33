"""What ``await`` and ``async for`` do inside a traced coroutine.

As in :mod:`autodiff.intercept.syntax.syntax_ops`, the methods that a user-defined class has for
them are traced.
"""

from __future__ import annotations

import types
from typing import Any

from autodiff.intercept.syntax import syntax_ops


class _Awaited:
    __slots__ = ("method", "value")

    def __init__(self, value: Any, method: types.FunctionType) -> None:
        self.value = value
        self.method = method

    def __await__(self) -> Any:
        return syntax_ops.iterate(syntax_ops.intercept(self.method)(self.value))


def awaited(x: Any) -> Any:
    """Return what is to be awaited in place of `x`."""
    method = syntax_ops.users_method(x, "__await__")
    return x if method is None else _Awaited(x, method)


class _Steps:
    __slots__ = ("iterator", "step")

    def __init__(self, iterator: Any, step: types.FunctionType) -> None:
        self.iterator = iterator
        self.step = step

    def __aiter__(self) -> Any:
        return self

    def __anext__(self) -> Any:
        return awaited(syntax_ops.intercept(self.step)(self.iterator))


def async_iterate(x: Any) -> Any:
    """Return what an ``async for`` loop over `x` is to iterate over."""
    method = syntax_ops.users_method(x, "__aiter__")
    if method is None:
        return x
    iterator = syntax_ops.intercept(method)(x)
    step = syntax_ops.users_method(iterator, "__anext__")
    return iterator if step is None else _Steps(iterator, step)
