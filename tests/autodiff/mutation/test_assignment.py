"""Writes into arrays and containers: the gradient is that of the values read at each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import MutationError, gradient, pullback, value_and_gradient
from autodiff.dispatch.call import call
from chainrules_core import NoTangent, Tangent, rrule
from tests.helpers import check_gradient

X = np.array([0.3, -0.7, 0.5])
W = np.array([1.0, 2.0, 3.0])

# ------------------------------------------------------------------------------ writes and names


def alias(x: Any) -> Any:
    a = x * 1.0
    b = a
    a += 1.0
    a *= x
    return np.sum(b * W)


def no_alias(x: Any) -> Any:
    a = x * 1.0
    b = a
    a = a + 1.0
    return np.sum(a * b)


def element(x: Any) -> Any:
    b = x.copy()
    b[0] = x[1] * x[2]
    b[-1] += b[0]
    return np.sum(b * b * W)


def constant_element(x: Any) -> Any:
    b = x.copy()
    b[1] = 3.0
    return np.sum(b * b * x)


def old_values_are_kept(x: Any) -> Any:
    b = x.copy()
    y = np.sin(b) + b * b
    b[0] = y[1]
    b *= y
    return np.sum(y * b)


def overwritten(x: Any) -> Any:
    b = x.copy()
    b[:] = 2.0
    return np.sum(b * x)


def filled(x: Any) -> Any:
    b = np.empty_like(x)
    for i in range(len(b)):
        b[i] = x[i] * x[0]
    return np.sum(b * b)


def slices(x: Any) -> Any:
    b = x.copy()
    b[1:] = x[:-1] * 2.0
    b[::2] += 1.0
    b[::-1] = b * x
    return np.sum(b * W)


def shifted(x: Any) -> Any:
    b = x.copy()
    b[1:] = b[:-1]
    b[:-1] += b[1:]
    return np.sum(b * b * W)


def last_wins(x: Any) -> Any:
    b = x.copy()
    b[[0, 0, 2]] = np.stack([x[0] * 2.0, x[1] * 3.0, x[2]])
    return np.sum(b * b * W)


def repeated_in_place(x: Any) -> Any:
    b = x.copy()
    b[[0, 0]] += x[1:]  # NumPy adds once, the last
    return np.sum(b * b * W)


def masked(x: Any) -> Any:
    b = x.copy()
    b[x > 0] = x[x > 0] ** 2
    b[b < 0] = 0.0
    return np.sum(b * W)


def masked_constant(x: Any) -> Any:
    b = x.copy()
    b[np.array([True, False, True])] *= x[1]
    return np.sum(b * b)


def broadcast(x: Any) -> Any:
    b = np.zeros_like(x)
    b[:] = x[0]
    b[1:] = x[2]
    return np.sum(b * b * W)


def of_a_list(x: Any) -> Any:
    b = np.zeros_like(x)
    b[:] = [x[0], 2.0 * x[1], 3.0]
    return np.sum(b * b)


def by_ellipsis(x: Any) -> Any:
    b = x.copy()
    b[...] = x * x
    return np.sum(b * W)


def swapped(x: Any) -> Any:
    b = x.copy()
    b[0], b[1] = b[1], b[0]
    return np.sum(b * W * x)


def out_argument(x: Any) -> Any:
    b = np.empty_like(x)
    np.multiply(x, x, out=b)
    np.add(b, 1.0, out=b)
    np.sin(b, out=b)
    return np.sum(b * W)


def out_of_constants(x: Any) -> Any:
    b = x.copy()
    np.multiply(W, 2.0, out=b)
    return np.sum(b * x)


def zero_dimensional(x: Any) -> Any:
    a = np.sum(x, keepdims=True)[0:1].reshape(())
    b = a
    a += 1.0
    a *= 2.0
    a[...] = a * a
    a[()] = a + x[0]
    return b * b


def swept(x: Any) -> Any:
    b = x.copy()
    for i in range(1, len(b)):
        b[i] = b[i - 1] * b[i]
    return b[-1] * np.sum(b)


def argument(x: Any) -> Any:
    x *= 2.0
    x[0] = x[1] * x[1]
    return np.sum(x * x)


def sorted_in_place(x: Any) -> Any:
    b = x * W
    b.sort()
    return np.sum(b * W)


def method_fill(x: Any) -> Any:
    b = x.copy()
    b.fill(2.0)
    return np.sum(b * x * x)


def lists_and_dicts(x: Any) -> Any:
    store = {"a": [x[0], x[1]]}
    store["a"][0] = store["a"][1] * x[2]
    store["a"].append(x[0])
    store["b"] = store["a"].pop(0) * 2.0
    return store["b"] * store["a"][0] + sum(store["a"])


def attributes(x: Any) -> Any:
    class Box:
        pass

    box: Any = Box()
    box.value = x
    for _ in range(3):
        box.value = box.value * x
    return np.sum(box.value)


PROGRAMS = [
    alias, no_alias, element, constant_element, old_values_are_kept, overwritten, filled, slices,
    shifted, last_wins, repeated_in_place, masked, masked_constant, broadcast, of_a_list,
    by_ellipsis, swapped, out_argument, out_of_constants, zero_dimensional, swept, argument,
    sorted_in_place, method_fill, lists_and_dicts, attributes,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_writes(f: Callable) -> None:
    check_gradient(f, X)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_writes_are_differentiated_twice(f: Callable) -> None:
    check_gradient(lambda x: np.sum(gradient(f, x) * W), X)


MAKERS: dict[str, Callable] = {
    "zeros": lambda x: np.zeros(3),
    "ones": lambda x: np.ones((3,)),
    "empty": lambda x: np.empty(3) * 0.0,
    "full": lambda x: np.full(3, 2.0),
    "full of a traced value": lambda x: np.full(3, x[0]),
    "zeros_like": lambda x: np.zeros_like(x),
    "zeros_like of a constant": lambda x: np.zeros_like(W),
    "full_like": lambda x: np.full_like(x, 2.0),
    "eye": lambda x: np.eye(3),
    "arange": lambda x: np.arange(3.0),
    "linspace": lambda x: np.linspace(0.0, 1.0, 3),
    "array": lambda x: np.array([1.0, 2.0, 3.0]),
    "array of an array": lambda x: np.array(W),
    "array of traced values": lambda x: np.array([x[0], 2.0, x[1]]),
    "copy": lambda x: W.copy(),
    "np.copy": lambda x: np.copy(W),
    "astype": lambda x: W.astype(float),
    "tile": lambda x: np.tile(W, 1),
    "sum": lambda x: W + W,
    "concatenate": lambda x: np.concatenate([W[:1], W[1:]]),
    "sqrt": lambda x: np.sqrt(W),
    "by a list": lambda x: W[[0, 1, 2]],
}  # fmt: skip


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_traced_values_are_written_into_arrays_made_before(make: Callable) -> None:
    def f(x: Any) -> Any:
        b = make(x)
        b[1] = x[0] * x[1]
        b[0] += x[2]
        return np.sum(b * b * W)

    before = W.copy()
    check_gradient(f, X)
    np.testing.assert_array_equal(W, before)


@pytest.mark.parametrize(
    "f", [argument, lambda x: np.sum(x.__imul__(2.0)), lambda x: x.fill(1.0) or x[0]]
)
def test_the_users_array_is_not_written_into(f: Callable) -> None:
    x = X.copy()
    gradient(f, x)
    np.testing.assert_array_equal(x, X)
    _, back = pullback(f, x)
    back(1.0)
    np.testing.assert_array_equal(x, X)


# ------------------------------------------------------- what a rule holds while it is changed


def test_a_constant_that_changes_after_its_use() -> None:
    c = np.zeros(3)

    def f(x: Any) -> Any:
        s = 0.0
        for i in range(3):
            c[:] = i + 1.0
            s = s + np.sum(x * c)
        return s

    check_gradient(f, X)


def test_a_work_array_that_is_passed_in() -> None:
    def f(x: Any, work: Any) -> Any:
        s = 0.0
        for i in range(3):
            work.fill(i)
            s = s + (x * work) @ (x * work)
        return s

    work = np.zeros(3)
    check_gradient(lambda x: f(x, work), X)


@pytest.mark.parametrize("make", [lambda: [0], lambda: np.zeros(1, int), lambda: np.zeros((), int)])
def test_an_index_that_changes_after_its_use(make: Callable) -> None:
    def reads(x: Any) -> Any:
        i = make()
        s = 0.0
        for k in range(3):
            i[... if isinstance(i, np.ndarray) else 0] = k
            s = s + np.sum(x[i]) * (k + 1.0)
        return s

    def writes(x: Any) -> Any:
        i = make()
        b = x * 1.0
        for k in range(3):
            i[... if isinstance(i, np.ndarray) else 0] = k
            b[i] = x[k - 1] * (k + 1.0)
        return np.sum(b * b * W)

    check_gradient(reads, X)
    check_gradient(writes, X)


def test_a_mask_that_changes_after_its_use() -> None:
    def f(x: Any) -> Any:
        mask = np.zeros(3, bool)
        s = 0.0
        for k in range(3):
            mask[:] = False
            mask[k] = True
            s = s + np.sum(x[mask] ** 2) + np.sum(np.where(mask, x, 0.0)) * k
        return s

    check_gradient(f, X)


def test_the_argument_changed_by_another_name() -> None:
    x0 = X.copy()

    def f(x: Any) -> Any:
        y = np.sum(x * x)
        x0[0] = 7.0
        return y

    with pytest.raises(MutationError, match="written into"):
        value_and_gradient(f, x0)
    np.testing.assert_array_equal(x0, X)
    np.testing.assert_allclose(gradient(f, X), 2 * X)


def test_one_array_for_two_arguments() -> None:
    """Without a gradient, a write into one is seen in the other."""

    def f(x: Any, y: Any) -> Any:
        x[0] = 5.0
        return np.sum(x * y)

    a = np.array([1.0, 2.0, 3.0])
    with pytest.raises(MutationError, match="shares its memory with another argument"):
        value_and_gradient(f, a, a)
    np.testing.assert_array_equal(a, [1.0, 2.0, 3.0])


def test_iteration_reads_as_it_goes() -> None:
    def ahead(x: Any) -> Any:
        b = x.copy()
        s = 0.0
        for v in b:
            s = s + v
            b[1] = 10.0 * x[0]
        return s

    def running_sum(x: Any) -> Any:
        b = x.copy()
        for i, v in enumerate(b):
            if i + 1 < len(b):
                b[i + 1] += v * x[0]
        return b[-1]

    for f in (ahead, running_sum):
        check_gradient(f, X)


# --------------------------------------------------------------------------- across the levels


def test_an_inner_function_writes_into_an_array_of_the_outer() -> None:
    def f(x: Any) -> Any:
        b = x * 1.0

        def inner(z: float) -> Any:
            b[0] = b[0] * x[1]
            return z * z * x[0]

        return b[0] * gradient(inner, 3.0) + np.sum(b)

    check_gradient(f, X)


def test_a_value_of_an_inner_level_is_written_into_an_array_of_the_outer() -> None:
    def f(x: Any) -> Any:
        b = x * 1.0

        def inner(z: float) -> Any:
            b[0] = z * x[1]
            return z * z

        return gradient(inner, 3.0) * b[0]

    with pytest.raises(autodiff.LeakedTracerError, match=r"after the gradient\(\) call"):
        gradient(f, X)


# ------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    "write, error",
    [
        (lambda x: x.__setitem__(7, 1.0), IndexError),
        (lambda x: x.__setitem__(0, "text"), (ValueError, TypeError)),
        (lambda x: x.__setitem__(slice(None), np.ones(7)), ValueError),
        (lambda x: x.__iadd__(np.ones((2, 3))), (ValueError, MutationError)),
        (lambda x: x.__imul__(1j), (TypeError, MutationError)),
        (lambda x: x[0].__setitem__(0, 1.0), (TypeError, AttributeError)),
        (lambda x: np.add(x, 1.0, out=np.zeros(2)), (MutationError, ValueError)),
    ],
    ids=["index", "text", "shape", "broadcast", "complex", "scalar", "out"],
)
def test_writes_that_numpy_refuses(write: Callable, error: Any) -> None:
    with pytest.raises(error):
        gradient(lambda x: write(x) or np.sum(x), X)


def test_out_into_an_array_of_integers_is_refused() -> None:
    counts = np.zeros(3, int)
    with pytest.raises((MutationError, TypeError)):
        gradient(lambda x: np.sum(np.multiply(x, 2.0, out=counts)), X)
    np.testing.assert_array_equal(counts, 0)


def test_what_the_function_leaves_behind_is_plain() -> None:
    """Arrays made while tracing that hold nothing traced are arrays afterwards."""
    kept: dict[str, Any] = {}

    def f(x: Any) -> Any:
        kept["zeros"] = np.zeros(3)
        kept["zeros"][1] = 2.0
        kept["copy"] = W.copy()
        return np.sum(x * kept["zeros"] * kept["copy"])

    np.testing.assert_array_equal(gradient(f, X), [0.0, 4.0, 0.0])
    for a in kept.values():
        assert np.asarray(a).dtype == np.float64
        np.testing.assert_array_equal(np.add(a, 1.0) - 1.0, a)


@pytest.mark.parametrize(
    "output", [lambda x: (x, np.zeros(2)), lambda x: {"a": [np.ones(3)], "b": x}]
)
def test_constants_are_returned_as_plain_arrays(output: Callable) -> None:
    y, _ = pullback(output, 2.0)
    parts = list(y.values()) if isinstance(y, dict) else list(y)
    flat = [p for part in parts for p in (part if isinstance(part, list) else [part])]
    assert {type(p) for p in flat} <= {float, np.ndarray}
    _, aux = value_and_gradient(lambda x: (x * x, output(x)), 2.0, has_aux=True)[0]
    assert type(aux) is type(y)
    part = aux[1] if isinstance(aux, tuple) else aux["a"][0]
    assert type(part) is np.ndarray


def test_a_rule_receives_plain_arrays() -> None:
    seen: list[type] = []

    def total(x: Any, parts: Any) -> Any:
        return np.sum(x) + np.sum(parts[0])

    @rrule.register(total)
    def total_rrule(x: Any, parts: Any) -> tuple[Any, Callable]:
        seen.extend((type(x), type(parts[0])))

        def total_pullback(y_bar: Any) -> tuple:
            ones = [np.full(np.shape(p), y_bar) for p in parts]
            return NoTangent(), np.full(x.shape, y_bar), Tangent[list](*ones)

        return float(total(x, parts)), total_pullback

    def f(x: Any) -> Any:
        buffer = np.zeros(2)
        return call(total, (x, [buffer])) + call(total, (buffer, [x])) + call(total, (x, [x]))

    np.testing.assert_array_equal(gradient(f, X), np.full(3, 4.0))
    assert set(seen) == {np.ndarray}
