"""Programs compare what can be set in place, where no variable gets another value."""

import functools
import typing

import numpy as np
import pytest

from tests.autodiff.compiler.recording.changes import check_change

FIXED = np.array([1.0, 2.0, 3.0])


def test_whether_an_array_can_be_written_into():
    def f(x):
        try:
            FIXED[0] = 1.0  # what it holds anyway
        except ValueError:
            return np.sum(x) * 3.0
        return np.sum(x) * 2.0

    check_change(f, lambda: FIXED.setflags(write=False))


def _scaled(scale, x):
    return scale * np.sum(x)


def test_the_arguments_of_a_partial():
    by_two = functools.partial(_scaled, 2.0)
    check_change(
        lambda x: by_two(x) + 1.0, lambda: by_two.__setstate__((_scaled, (3.0,), {}, None))
    )


@typing.runtime_checkable
class Scaled(typing.Protocol):
    scale: float


@typing.runtime_checkable
class ScaledAndNamed(Scaled, typing.Protocol):
    def name(self): ...


class Part:
    pass


@pytest.mark.parametrize("protocol", [Scaled, ScaledAndNamed])
def test_what_a_protocol_asks_for(protocol):
    part = Part()
    part.name = str

    def f(x):
        return np.sum(x) * (2.0 if isinstance(part, protocol) else 3.0)

    check_change(f, lambda: setattr(part, "scale", 1.0))
