"""Arrays computed from constants, into which traced values are written."""

from __future__ import annotations

import dataclasses
import types
from typing import Any

import numpy as np
import pytest

from autodiff import MutationError, gradient, value_and_gradient

X = np.array([0.3, -0.7, 0.5])
CONSTANT = np.arange(3.0) + 1.0


def written(x: Any) -> Any:
    y = CONSTANT * 1
    y[0] = x[0]
    y[1] *= x[1]
    return np.sum(y**2)


def augmented(x: Any) -> Any:
    y = CONSTANT * 1
    y += x
    return np.sum(y**2)


def written_in_a_nested_function(x: Any) -> Any:
    def scaled() -> Any:
        y = CONSTANT @ np.eye(3)
        for i in range(3):
            y[i] *= x[i]
        return y

    return np.sum(scaled() ** 2)


class Slotted:
    __slots__ = ("y",)
    y: Any


@dataclasses.dataclass(frozen=True)
class Frozen:
    y: Any


def held_by_an_attribute(x: Any) -> Any:
    s = types.SimpleNamespace(y=CONSTANT * 2)
    s.y[0] += x[0]
    s.y[1:] *= x[1:]
    s.y += x
    s.y[2] = s.y[1] * x[0]
    return np.sum(s.y**2)


def held_by_a_slot_or_field(x: Any) -> Any:
    s = Slotted()
    s.y = CONSTANT * 2
    s.y -= x
    f = Frozen(CONSTANT / 2)
    f.y[0] = x[0]
    f.y[1:] += x[:2]
    return np.sum(s.y**2) * np.sum(f.y**2)


def held_by_elements(x: Any) -> Any:
    held = [CONSTANT * 2, {"k": np.outer(CONSTANT, CONSTANT)}]
    held[0][1] += x[1]
    held[0] *= x
    held[1]["k"][0] += x
    held[1]["k"][:, 1] *= x
    held[1]["k"][2, 2] = x[2]
    return np.sum(held[1]["k"] @ held[0])


@pytest.mark.parametrize(
    "f",
    [
        written, augmented, written_in_a_nested_function, held_by_an_attribute,
        held_by_a_slot_or_field, held_by_elements,
    ],
)  # fmt: skip
def test_an_array_computed_from_constants_takes_a_traced_value(f: Any, differences: Any) -> None:
    np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-6)
    assert f(X) == value_and_gradient(f, X)[0]


def aliased(x: Any) -> Any:
    y = CONSTANT * 1
    z = y
    y[0] = x[0]
    return z[0]


def viewed(x: Any) -> Any:
    y = CONSTANT * 1
    z = y[1:]
    y[1] = x[0]
    return z[0]


def in_a_list(x: Any) -> Any:
    y = CONSTANT * 1
    held = [y]
    y[0] += x[0]
    return held[0][0]


def from_outside(x: Any) -> Any:
    CONSTANT[0] = x[0]
    return CONSTANT[0]


def of_the_caller(x: Any) -> Any:
    def fill(y: Any) -> None:
        y[0] = x[0]

    z = CONSTANT * 1
    fill(z)
    return z[0]


def of_an_attribute_and_a_name(x: Any) -> Any:
    s = types.SimpleNamespace(y=CONSTANT * 1)
    t = s.y
    s.y[0] = x[0]
    return t[0]


def of_two_lists(x: Any) -> Any:
    y = CONSTANT * 1
    a, b = [y], [y]
    del y
    a[0][0] = x[0]
    return b[0][0]


@pytest.mark.parametrize(
    "f",
    [
        aliased, viewed, in_a_list, from_outside, of_the_caller, of_an_attribute_and_a_name,
        of_two_lists,
    ],
)  # fmt: skip
def test_but_not_where_somebody_else_sees_its_memory(f: Any) -> None:
    with pytest.raises(MutationError, match="made outside"):
        gradient(f, X)
    np.testing.assert_array_equal(CONSTANT, [1.0, 2.0, 3.0])


def test_nor_one_from_outside_that_an_attribute_holds() -> None:
    def f(x: Any) -> Any:
        s = types.SimpleNamespace(y=CONSTANT)
        s.y += x
        return s.y[0]

    with pytest.raises(MutationError):
        gradient(f, X)
    np.testing.assert_array_equal(CONSTANT, [1.0, 2.0, 3.0])
