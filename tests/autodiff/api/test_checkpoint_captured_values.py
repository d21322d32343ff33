"""What a checkpointed call reads from outside is compared, where its value does not show it."""

import random
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import checkpoint, gradient, hvp

VALUES = [2.0]
SCALE = 2.0
SMALL, LARGE = np.full(2, 2.0), np.full(20_000, 2.0)
CONFIG = types.SimpleNamespace(k=2.0, nested={"a": [2.0]})
DRAWS = np.random.default_rng(0)
OLD = np.random.RandomState(0)


class Model:
    rate = 2.0

    def __init__(self) -> None:
        self.w = 2.0
        self.calls = 0

    def step(self, x: Any) -> Any:
        return x * self.w


def helper(x: Any) -> Any:
    return x * VALUES[0]


def in_a_list(x: Any) -> Any:
    VALUES[0] = 2.0
    y = checkpoint(lambda a: a * VALUES[0])(x)
    VALUES[0] = 7.0
    return y


def captured_list(x: Any) -> Any:
    values = [2.0]
    y = checkpoint(lambda a: a * values[0])(x)
    values[0] = 7.0
    return y


def as_an_argument(x: Any) -> Any:
    values = [2.0]
    y = checkpoint(lambda a, v: a * v[0])(x, values)
    values[0] = 7.0
    return y


def of_the_module(x: Any) -> Any:
    global SCALE
    SCALE = 2.0
    y = checkpoint(lambda a: a * SCALE)(x)
    SCALE = 7.0
    return y


def of_a_class(x: Any) -> Any:
    Model.rate = 2.0
    y = checkpoint(lambda a: a * Model.rate)(x)
    Model.rate = 7.0
    return y


def of_an_object(x: Any) -> Any:
    CONFIG.k = 2.0
    y = checkpoint(lambda a: a * CONFIG.k)(x)
    CONFIG.k = 7.0
    return y


def deep_inside(x: Any) -> Any:
    CONFIG.nested["a"][0] = 2.0
    y = checkpoint(lambda a: a * CONFIG.nested["a"][0])(x)
    CONFIG.nested["a"][0] = 7.0
    return y


def of_self(x: Any) -> Any:
    model = Model()
    y = checkpoint(model.step)(x)
    model.w = 7.0
    return y


def in_a_small_array(x: Any) -> Any:
    SMALL[:] = 2.0
    y = checkpoint(lambda a: a * SMALL[0])(x)
    SMALL[:] = 7.0
    return y


def in_a_large_array(x: Any) -> Any:
    LARGE[:] = 2.0
    y = checkpoint(lambda a: a * LARGE[0])(x)
    LARGE[:] = 7.0
    return y


def behind_a_function(x: Any) -> Any:
    VALUES[0] = 2.0
    y = checkpoint(lambda a: helper(a))(x)
    VALUES[0] = 7.0
    return y


def inside_another(x: Any) -> Any:
    VALUES[0] = 2.0
    y = checkpoint(lambda a: checkpoint(helper)(a) * 1.0)(x)
    VALUES[0] = 7.0
    return y


def drawn(x: Any) -> Any:
    return checkpoint(lambda a: a * DRAWS.random())(x)


def drawn_of_old(x: Any) -> Any:
    return checkpoint(lambda a: a * OLD.rand())(x)


def drawn_by_the_module(x: Any) -> Any:
    return checkpoint(lambda a: a * np.random.rand())(x)  # noqa: NPY002 - that is the test


def drawn_by_python(x: Any) -> Any:
    return checkpoint(lambda a: a * random.random())(x)


def dropped_out(x: Any) -> Any:
    return np.sum(checkpoint(lambda a: np.where(DRAWS.random(50) < 0.5, a * np.ones(50), 0.0))(x))


CHANGING = [
    in_a_list, captured_list, as_an_argument, of_the_module, of_a_class, of_an_object, deep_inside,
    of_self, in_a_small_array, in_a_large_array, behind_a_function, inside_another, drawn,
    drawn_of_old, drawn_by_the_module, drawn_by_python, dropped_out,
]  # fmt: skip


@pytest.mark.parametrize("x", [0.0, 1.5])
@pytest.mark.parametrize("f", CHANGING)
def test_what_has_changed_since(f: Callable, x: float) -> None:
    with pytest.raises(autodiff.DifferentiationError):
        gradient(f, x)


@pytest.mark.parametrize("f", [in_a_list, of_self, drawn])
def test_second_derivatives(f: Callable) -> None:
    with pytest.raises(autodiff.DifferentiationError):
        gradient(lambda x: gradient(lambda y: f(y * y), x), 0.0)


def logs(x: Any) -> Any:
    seen: list[int] = []

    def step(a: Any) -> Any:
        seen.append(1)
        return a * 3.0

    for _ in range(3):
        x = checkpoint(step)(x)
    return x * x


def counts_outside(x: Any) -> Any:
    model = Model()
    for _ in range(3):
        x = checkpoint(model.step)(x)
        model.calls += 1
    return x * x


def loop_variable(x: Any) -> Any:
    for i in range(1, 4):
        x = checkpoint(lambda a: a * i)(x)  # noqa: B023 - that is the test
    return x * x


def from_a_seed(x: Any) -> Any:
    return checkpoint(lambda a: a * a * np.random.default_rng(3).random())(x)


@pytest.mark.parametrize(
    "f, curvature",
    [
        (logs, 2 * 27.0**2),
        (counts_outside, 2 * 8.0**2),
        (loop_variable, 2 * 6.0**2),
        (from_a_seed, 2 * np.random.default_rng(3).random()),
    ],
)
def test_what_does_no_harm(f: Callable, curvature: float) -> None:
    assert gradient(f, 1.5) == pytest.approx(1.5 * curvature)
    assert gradient(f, 0.0) == 0.0
    assert hvp(f, 0.0, 1.0) == pytest.approx(curvature)
