"""Rules of forward mode on values, and with tangents, that an outer level traces."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, pushforward
from chainrules_core import frule, linear_rule, rrule

A = np.array([0.3, -0.2, 0.5])


def halved(x: Any) -> Any:
    return math.fsum([x]) / 2.0


def by_hand(x: Any) -> Any:
    return math.sin(x)


@pytest.fixture(autouse=True)
def rules() -> Iterator[None]:
    linear_rule(halved, lambda y_bar, x: y_bar / 2.0)

    @frule.register(by_hand, object)
    def by_hand_frule(dots: tuple, x: Any) -> tuple[Any, Any]:
        return math.sin(x), math.cos(x) * dots[0]

    yield
    for table in (rrule, frule):
        for f in (halved, by_hand):
            if table.entry(f) is not None:
                table.unregister(f)


PROGRAMS: dict[str, Callable] = {
    "partials": lambda x: math.sin(x) * math.exp(x),
    "linear": lambda x: halved(x * x),
    "by hand": by_hand,
    "branch": lambda x: math.sin(x) if x > 0 else math.cos(x),
}


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_in_the_point(f: Callable, differences: Callable) -> None:
    expected = differences(lambda x: pushforward(f, float(x))[1](1.0), 0.3)
    np.testing.assert_allclose(
        gradient(lambda x: pushforward(f, x)[1](1.0), 0.3), expected, rtol=1e-6
    )


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_in_the_tangent(f: Callable) -> None:
    expected = pushforward(f, 0.3)[1](1.0)
    np.testing.assert_allclose(gradient(lambda v: pushforward(f, 0.3)[1](v), 2.0), expected)
