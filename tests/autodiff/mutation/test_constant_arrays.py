"""Arrays computed from constants, into which traced values are written."""

from __future__ import annotations

import dataclasses
import types
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import MutationError, gradient, hvp, pushforward, value_and_gradient
from autodiff.mutation.held_arrays import fingerprint

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


def by_flat(x: Any) -> Any:
    y = CONSTANT * 1
    y.flat[1] = x[0]
    return y[1]


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
        of_two_lists, by_flat,
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


# ----------------------------------------------------------------- what is used, and then changed


def lists(x: Any) -> Any:
    weights, order, matrix = [1.0, 2.0, 3.0], [1, 0], [[1.0, 2.0, 0.5]]
    y = np.dot(weights, x) * np.transpose(np.outer(x, x + 1.0), order)[0, 1]
    y += np.matmul(matrix, x)[0] ** 2
    weights[0] = 100.0
    order.reverse()
    matrix[0][0] = 50.0
    return y


def lists_of_arrays(x: Any) -> Any:
    conditions, choices = [x > 1.0, x > -1.0], [x**2, x**3]
    y = np.select(conditions, choices) * np.choose([0, 1, 0], choices)
    conditions.reverse()
    choices.reverse()
    return np.sum(y)


def masks(x: Any) -> Any:
    mask, total = np.zeros(3, bool), 0.0
    for i in range(3):
        mask[:] = False
        mask[i] = True
        total += np.where(mask, x**2, 0.0).sum() * (i + 1) + x[mask][0] + (x * ~mask).prod()
    return total


def indices_and_counts(x: Any) -> Any:
    index, counts, total = np.zeros(2, int), np.zeros(3, int), 0.0
    for i in range(2):
        index[:] = i, i + 1
        counts[index] += 1
        total += x[index].prod() + np.take(x, index).sum() * np.sum(counts * x) ** 2
    return total + np.eye(3, dtype=int)[index].T[1] @ x[:2]


def work_arrays(x: Any) -> Any:
    weights, total = CONSTANT * 0, 0.0
    for i in range(3):
        weights[i] = i + 1.0
        total += np.sum(weights * x) ** 2
    return total


@pytest.mark.parametrize("f", [lists, lists_of_arrays, masks, indices_and_counts, work_arrays])
def test_a_pullback_has_what_was_there_when_it_was_recorded(f: Any, differences: Any) -> None:
    found, v = gradient(f, X), np.array([0.3, -1.0, 0.5])
    np.testing.assert_allclose(found, differences(f, X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(pushforward(f, X)[1](v), found @ v)
    second = (gradient(f, X + 1e-5 * v) - gradient(f, X - 1e-5 * v)) / 2e-5
    np.testing.assert_allclose(hvp(f, X, v), second, rtol=1e-5, atol=1e-7)


WITHOUT_SOURCE = """
def f(x):
    c = np.arange(3.0)
    z = x * c
    c[1] = 50.0
    return np.sum(z)
"""


@pytest.mark.parametrize("differentiate", [lambda f, x: f(x), lambda f, x: autodiff.compile(f)(x)])
def test_a_write_in_a_function_without_source_does_no_harm(differentiate: Any) -> None:
    namespace: dict[str, Any] = {"np": np}
    exec(WITHOUT_SOURCE, namespace)
    f = namespace["f"]
    np.testing.assert_array_equal(differentiate(lambda x: gradient(f, x), X), np.arange(3.0))


CHANGES: dict[str, Any] = {
    "an element": lambda c: c.__setitem__(70_001, 3.0),
    "the last one": lambda c: c.__setitem__(-1, 3.0),
    "the order": lambda c: c.sort(),
    "two of them": lambda c: c.__setitem__([5, 90_000], c[[90_000, 5]]),
}


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.complex128, np.float16])
@pytest.mark.parametrize("change", CHANGES)
def test_large_arrays_are_known_by_sums(change: str, kind: type) -> None:
    c = np.random.default_rng(0).standard_normal(100_003).astype(kind)
    before = fingerprint(c)
    np.testing.assert_array_equal(fingerprint(c.copy()), before)
    CHANGES[change](c)
    assert fingerprint(c).tobytes() != before.tobytes()


@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.multiply])
def test_writes_by_at_into_what_a_pullback_holds(ufunc):
    def f(x, c):
        y = x * c
        ufunc.at(c, [0, 1], 5.0)
        return np.sum(y**2)

    found = gradient(f, X, CONSTANT.copy(), argnums=0)
    np.testing.assert_allclose(found, 2.0 * X * CONSTANT**2)
    with pytest.raises(MutationError, match="made outside"):
        gradient(f, np.tile(X, 10_000), np.tile(CONSTANT, 10_000), argnums=0)
    slope = autodiff.compile(lambda x, c: gradient(f, x, c, argnums=0))
    for _ in range(2):  # a recording follows all that it is given
        np.testing.assert_allclose(slope(X, CONSTANT.copy()), 2.0 * X * CONSTANT**2)
