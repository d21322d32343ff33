"""Functions that look at the frames of their callers find the user's, as without a gradient."""

from __future__ import annotations

import collections
import inspect
import sys
from collections.abc import Callable
from typing import Any

import pytest

from autodiff import gradient, value_and_gradient


def by_getframe() -> Any:
    return sys._getframe(1).f_locals["x"]


def by_currentframe() -> Any:
    return inspect.currentframe().f_back.f_locals["x"]  # type: ignore[union-attr]


def by_stack() -> Any:
    return inspect.stack(0)[1].frame.f_locals["x"]


def further_out() -> Any:
    return two_out()


def two_out() -> Any:
    return sys._getframe(2).f_locals["x"]


class Looking:
    def __init__(self) -> None:
        self.x = sys._getframe(1).f_locals["x"]

    def method(self) -> Any:
        return sys._getframe(1).f_locals["x"]

    @property
    def seen(self) -> Any:
        return sys._getframe(1).f_locals["x"]

    def __add__(self, other: Any) -> Any:
        return sys._getframe(1).f_locals["x"] + other


def of_a_generator(x: Any) -> Any:
    return next(y * by_getframe() for y in [2.0] if x)


WAYS: list[Callable] = [
    lambda x: by_getframe() * 2.0,
    lambda x: by_currentframe() * 2.0,
    lambda x: by_stack() * 2.0,
    lambda x: further_out() * 2.0,
    lambda x: Looking().x * 2.0,
    lambda x: Looking().method() * 2.0,
    lambda x: Looking().seen * 2.0,
    lambda x: (Looking() + 1.0) * 2.0,  # inside an expression
]


@pytest.mark.parametrize("f", WAYS)
def test_locals_of_the_caller(f):
    for _ in range(40):  # expressions are written anew after some
        assert value_and_gradient(f, 3.0) == (f(3.0), 2.0)


def test_frames_of_the_engine_do_not_count():
    depths = []

    def inner(x: Any) -> Any:
        near, next_, far = sys._getframe(0), sys._getframe(1), sys._getframe(2)
        depths.append([near.f_code.co_name, next_.f_code.co_name, far.f_code.co_name])
        return x * x

    def outer(x: Any) -> Any:
        return inner(x)

    gradient(outer, 3.0)
    assert depths[-1] == ["inner", "outer", "test_frames_of_the_engine_do_not_count"]
    with pytest.raises(ValueError, match="deep enough"):
        gradient(lambda x: x * len(sys._getframe(10_000).f_locals), 1.0)


def test_the_library_sees_its_caller():
    def f(x: Any) -> Any:
        pair = collections.namedtuple("pair", "a b")
        assert pair.__module__ == __name__
        held = pair(x, 2.0)
        return held.a * held.b

    assert gradient(f, 3.0) == 2.0
