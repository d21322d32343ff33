"""Programs read what people write around their loops: compared with differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured import calls
from tests.helpers import check_gradient

X = np.array([0.3, -0.7, 0.5, 1.2])


def function_inside(x: Any) -> Any:
    c = x[0]

    def step(h: Any, k: Any = 2.0) -> Any:
        w = h * c
        return np.sin(w) + k * h

    h = x[1]
    for _ in range(5):
        c = c * 0.9  # `step` sees it
        h = step(h, 0.5)
        h = step(h)
    return h


def function_as_argument(x: Any) -> Any:
    def euler(g: Callable, y: Any, n: int) -> Any:
        t = 0.0
        for _ in range(n):
            y = y + 0.1 * g(t, y)
            t += 0.1
        return y

    decays = lambda t, y: t - y * x[0]  # noqa: E731 - it is what is tested
    return euler(decays, x[1], 10) + euler(lambda t, y: y * x[2], x[3], n=5)


def lists_of_numbers(x: Any) -> Any:
    s = [x[0], x[1]]
    total = 0.0
    for _ in range(6):
        s = [a * 0.9 + b * x[2] for a, b in zip(s, [s[1], s[0]], strict=False)]
        total += s[0]
        u, (v, w) = s[1], (s[0], total)
        total += u * v * w * 0.1
    return total + len(s)


def loops_over_arrays(x: Any) -> Any:
    total = 0.0
    for i, (a, b) in enumerate(zip(x, x[::-1]), 1):  # noqa: B905 - the form without is read, too
        total += a * b * i
    for j in reversed(range(1, 4)):
        total += x[j] * j
    for v in reversed(x):
        total = total * 0.5 + v
    for a, k in ((x[0], 2), (x[1], 3)):
        total += a * k
    for i, row in enumerate(np.outer(x, x)):
        total += np.sum(row) * i
    for a, i in zip(x, range(5, 0, -2)):  # noqa: B905
        total += a * i
    return total


def rows_written_by_a_loop(x: Any) -> Any:
    m = np.outer(x, x)
    for row, factor in zip(m, x, strict=False):
        row[1:] *= factor
    return np.sum(m**2)


def choices(x: Any) -> Any:
    total = 0.0
    for i, v in enumerate(x):
        if (0 < v < 1 and i != 2) or i == 3:
            total += v * v
        else:
            total -= v if v < 0 else 2 * v
        total += min(v, total, 0.4) * max(total * v, v)
    return total


def return_in_nested_loops(x: Any) -> Any:
    total = 0.0
    for i in range(10):
        for v in x:
            total += v * v * i
            if total > 3:
                return total * v
    return total


def return_of_an_endless_loop(x: Any) -> Any:
    def grown(y: Any) -> Any:
        while True:
            y = y * 1.5
            if y > 10:
                return y, y * x[0]

    a, b = grown(x[3])
    for _ in range(3):
        a, b = b, a
    return a * b


def unpacked_arrays(x: Any) -> Any:
    y = x * 1.0
    for k in range(3):
        a, b, c, d = y * y
        y = np.array([a * b, c, d, a + 0.1 * k])
    return sum([v * k for k, v in enumerate((y[0], y[1]))]) + np.sum(np.stack([y, x]))


def value_read_in_a_branch(x: Any) -> Any:
    """What a branch reads of the block before is not there in turns that take the other branch."""
    total = 0.0
    for v in x:
        w = v * v * v
        total = (total * 0.5 + w if v > 0 else total) + v
    return total


def shadowed_names(x: Any) -> Any:
    v = x[0]
    total = 0.0
    for _ in range(3):
        total += sum([v * k for v, k in ((x[1], 2), (x[2], 3))]) * v
    return total


def tuples_given_in_other_blocks(x: Any) -> Any:
    """A tuple is made before the branch that chooses what is given beside it."""
    total = 0.0
    for i in range(2):
        total += np.dot((x[i], x[3]), x[:2] if x[i] > 0 else x[1:3])
        made = np.append((x[i], 2.0), x[:2] if x[i] > 0 else x[1:3])
        total += np.sum(made * made)
    return total


def branching_tests(x: Any) -> Any:
    """Nothing of the test is undone: the branches of the body must find their own flags."""
    y, i = x[0], 0
    while i < 4 and i < 7:
        if i == 0:
            y = y + x[1]
        i += 1
    while 0 < i <= 4:
        if i > 2:
            y = y * x[3]
        i -= 1
    return y


def a_tuple_with_an_array(x: Any) -> Any:
    total = 0.0
    for i in range(3):
        total += np.sum(np.hypot((x[i], x[3]), x[1:3]))
    return total


def quotient_and_remainder(x: Any) -> Any:
    total = 0.0
    for v in x:
        total += v * divmod(v, 0.37)[1]
    return total


def parts_of_numbers(x: Any) -> Any:
    total = 0.0
    for v in x:
        fraction, _ = math.modf(1.9 * v)
        total += fraction * np.modf(v)[0] + np.sum(np.divmod(x, 0.45)[1])
    return total


def unpacked_iterators(x: Any) -> Any:
    def product(u: Any, v: Any) -> Any:
        return u * v

    total, found = 0.0, {}
    for i in range(4):
        found[i] = x[i] * 2.0
    for i in range(4):
        *first, last = range(i + 2)
        a, *between, b = found.values()
        c, d = "37"
        *_, (key, value) = found.items()
        (p, q), *rest = zip(x, reversed(x), strict=False)
        total += x[i] * last + len(first) * a * between[1] + b * int(c) * int(d) + value * key
        total += p * q * len(rest) * product(*(v * v for v in x[:2]))
        total += sum([*found.values(), *map(abs, x)]) * x[i] * len([*found, *range(i), i])
    return total


def bound_by_the_loop_alone(x: Any) -> Any:
    for i in range(3):
        y = x * (i + 1)
    for v in x:
        pair = v * 2.0, np.array([v, v * y[0]])
    k = 0
    while k < 3:
        z = x[k] ** 2
        k += 1
    return np.sum(y * i) + z * k + pair[0] + pair[1].sum()


def bound_by_loops_in_loops(x: Any) -> Any:
    total = 0.0
    for i in range(4):
        for j in range(i + 1):
            last = x[j] * x[i]
        total += last
    for v in x:
        a = v * v
        if a > 0.4:
            b = a * 2.0
            break
        b = a
    return total + last + a * b


def loop_that_may_have_no_turn(x: Any) -> Any:
    total = 0.0
    for i in range(3):
        for j in range(i):
            total += x[i] * x[j]
            w = x[j]
    return total + w  # the first loop inside has no turn


PROGRAMS = [
    bound_by_the_loop_alone, bound_by_loops_in_loops,
    function_inside, function_as_argument, lists_of_numbers, loops_over_arrays,
    rows_written_by_a_loop, choices, return_in_nested_loops, return_of_an_endless_loop,
    unpacked_arrays, value_read_in_a_branch, shadowed_names, tuples_given_in_other_blocks,
    branching_tests, quotient_and_remainder, parts_of_numbers, unpacked_iterators,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program(f: Callable, runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def sweeps(self: calls.ProgramRun, bars: list) -> tuple:
        return self.swept(bars)

    # A sweep that fails is not replaced.
    monkeypatch.setattr(calls.ProgramRun, "cotangents", sweeps)
    check_gradient(f, X)
    assert f.__name__ in runs


def test_a_loop_without_a_turn_is_traced(runs: list[str]) -> None:
    """What it would have bound keeps the value of an earlier turn, or is not bound at all."""
    check_gradient(loop_that_may_have_no_turn, X)
    assert "loop_that_may_have_no_turn" not in runs

    def unbound(x: Any, c: Any) -> Any:
        for v in c:
            y = x * v
        return np.sum(y)

    for _ in range(3):
        found = gradient(lambda x: unbound(x, np.array([1.0, 2.0])), X)
        np.testing.assert_array_equal(found, [2.0] * 4)
        with pytest.raises(UnboundLocalError, match="'y'"):
            gradient(lambda x: unbound(x, np.array([])), X)
    assert "unbound" in runs


def test_a_tuple_in_the_place_of_an_array_is_traced(runs: list[str]) -> None:
    """Its cotangent is none of a number or array, as sweeps have them."""
    check_gradient(a_tuple_with_an_array, X)
    assert "a_tuple_with_an_array" not in runs


def scaled(x: Any, factor: float = 2.0, turns: int = 3) -> Any:
    for _ in range(turns):
        x = np.tanh(factor * x)
    return np.sum(x)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: scaled(x),
        lambda x: scaled(x, turns=2),
        lambda x: scaled(turns=2, factor=x[0], x=x),
        lambda x: scaled(*[x, 0.5], turns=1),
    ],
)
def test_defaults_and_names_of_arguments(call: Callable, runs: list[str]) -> None:
    check_gradient(call, X)
    assert "scaled" in runs


def two_of(x: Any) -> Any:
    total = 0.0
    for _ in range(3):
        a, b = x
        total += a * b
    return total


def test_unpacking_that_fails_raises_what_python_raises(runs: list[str]) -> None:
    np.testing.assert_allclose(gradient(two_of, X[:2]), 3 * X[1::-1])
    assert runs
    with pytest.raises(ValueError, match="too many values to unpack"):
        gradient(two_of, X)


def test_wrong_names_of_arguments_raise_what_python_raises() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'turn'"):
        gradient(lambda x: scaled(x, turn=2), X)  # type: ignore[call-arg]


def recurrent(params: dict, xs: Any) -> Any:
    h = np.zeros(3)
    total = 0.0
    for x in xs:
        h = np.tanh(params["W"] @ h + params["b"] * x)
        for scale, part in zip(params["scales"], h, strict=False):
            total += scale * part
    for name, value in params.items():
        if name == "b":
            total += np.sum(value)
    return total


PARAMS = {
    "W": np.cos(np.arange(9.0)).reshape(3, 3),
    "b": np.array([0.1, -0.2, 0.3]),
    "scales": [0.5, (1.5), -0.3],
}


def test_arguments_in_dicts_and_lists(runs: list[str], traced: Callable) -> None:
    xs = np.array([0.3, -0.5])
    found = gradient(recurrent, PARAMS, xs)
    assert runs == ["recurrent"]
    expected = traced(recurrent, PARAMS, xs)
    np.testing.assert_allclose(found[1], expected[1])
    assert found[0].keys() == expected[0].keys()
    np.testing.assert_allclose(found[0]["W"], expected[0]["W"])
    np.testing.assert_allclose(found[0]["b"], expected[0]["b"])
    assert found[0]["scales"] == pytest.approx(expected[0]["scales"])


def filled(arrays: list, x: Any) -> None:
    for i in range(len(x)):
        arrays[0][i] = x[i] * 2.0
        arrays[1][i] += arrays[0][i] * x[i]


def test_arrays_in_lists_are_written_into(runs: list[str]) -> None:
    def f(x: Any) -> Any:
        arrays = [np.zeros_like(x) * x, x * 1.0]
        filled(arrays, x)
        return np.sum(arrays[0] * arrays[1])

    check_gradient(f, X)
    assert "filled" in runs


def test_a_list_that_holds_itself_is_traced(runs: list[str]) -> None:
    cycle: list = [1.0]
    cycle.append(cycle)

    def f(x: Any, items: list) -> Any:
        total = 0.0
        for _ in range(3):
            total += x * items[1][0]
        return total

    assert gradient(lambda x: f(x, cycle), 2.0) == 3.0
    assert not runs


def test_a_function_that_belongs_to_no_module_is_read_or_traced() -> None:
    scope: dict = {"np": np}
    exec("def scaled(a, k=2.0):\n    a *= k\n", scope)
    scaled = scope["scaled"]
    scaled.__module__ = None

    def f(x: Any) -> Any:
        r = X * 2.0
        total = 0.0
        for _ in range(3):
            scaled(r)
            total = total + np.vdot(r * x, x)
        return total

    check_gradient(f, X)


def test_axes_that_a_view_loses_where_the_shape_says_so(runs: list[str]) -> None:
    def f(x: Any, n: int) -> Any:
        m = np.outer(x, x)
        for i in range(3):
            m[i] *= x[i]
        return np.squeeze(m[:, 1 : 1 + n])[2] + x[0]

    def total(x: Any, n: int) -> Any:
        return np.sum(f(x, n))

    for n in (2, 1, 2, 1):
        check_gradient(lambda x, n=n: total(x, n), X)
    assert "f" in runs


def test_numbers_of_single_precision_as_arguments(runs: list[str]) -> None:
    def scaled(x: Any, a: Any) -> Any:
        for _ in range(3):
            x = x + a * x
        return np.sum(x * x)

    x = np.array([1.0, 2.0, 3.0], np.float32)
    found = gradient(lambda x: scaled(x, np.float32(0.5)), x)
    assert "scaled" in runs
    assert found.dtype == np.float32
    assert np.allclose(found, 2 * 1.5**6 * x)
