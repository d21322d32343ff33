"""Neighbouring loops become machine code together, with the code between them."""

from __future__ import annotations

import gc
import types
from collections.abc import Callable

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.native import regions
from autodiff.structured.runtime import Structured


def made_between(a, b):
    s = 0.0
    for i in range(len(a)):
        s += np.sin(a[i]) * b[i]
    y = a * s + b
    z = y[1:]
    for i in range(len(z)):
        s += z[i] * y[i]
    w = np.tanh(y) * z[0]
    return np.sum(w) + s


def branches_between(a, b):
    s = 1.0
    for i in range(len(a)):
        s = s + a[i] * b[i]
    if s > 0.0:
        t = s * b[0]
        for i in range(3):
            t = t * a[i]
    else:
        t = s - b[1]
    k = 0
    while k < len(a):
        s = s + t * a[k] * b[k]
        k += 2
    return s * t


def overwritten_between(a, b):
    a = a * 1.0
    for i in range(1, len(a)):
        a[i] = a[i] * b[i] + a[i - 1]
    a[0] = a[-1] * b[0]
    b = b * a
    b[2:4] = np.sin(b[1:3])
    for i in range(1, len(a)):
        a[i] = a[i] * b[i] - a[i - 1]
    return np.sum(a * b)


def returned_arrays(a, b):
    for i in range(len(a)):
        a[i] *= b[i]
    y = np.zeros(len(a))
    for i in range(len(a)):
        y[i] = a[i] * b[-i]
    return y, y * 2.0


def nothing_turns(a, b):
    s = a[0]
    for i in range(len(a) - len(b)):
        s += a[i]
    y = s * b
    for i in range(-3):
        s += y[i]
    return s + y[0]


def one_without_form(a, b):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * b[i]
    y = a * np.nanmedian(b * s)
    for i in range(len(a)):
        s += y[i] * b[i]
    return s


PROGRAMS = {
    made_between: 1, branches_between: 1, overwritten_between: 1, returned_arrays: 1,
    nothing_turns: 1, one_without_form: 1,
}  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_loops_together(f: Callable, check_machine_code: Callable) -> None:
    def loss(a, b):
        y = f(a * 1.0, b * 1.0)
        return y if not isinstance(y, tuple) else np.sum(np.sin(y[0]) + np.cos(y[1]))

    args = np.cos(np.arange(1.0, 8.0)), np.sin(np.arange(1.0, 8.0))
    program = check_machine_code(loss, lambda: args, rtol=1e-12, atol=1e-14, kernel=f)
    assert len(program.native.parts) == PROGRAMS[f]


def test_arrays_of_a_region_live_as_long_as_they_are_read() -> None:
    """They lie in the memory of the run, or of arguments of its sweep."""

    def f(x):
        total = x * 0.0
        for i in range(3):
            total = total + x * x[i]
        y = np.sin(total)
        for i in range(3):
            total = total * y[i]
        return total * y

    x = np.linspace(0.5, 1.5, 2000)
    loss = lambda x, k: np.sum(f(x * k))  # noqa: E731
    kept = [gradient(loss, x, k, argnums=0) for k in (1.0, 2.0, 1.0, 2.0, 1.0, 2.0)]
    gc.collect()
    again = [gradient(loss, x, k, argnums=0) for k in (1.0, 2.0)]
    for k, g in enumerate(kept):
        np.testing.assert_allclose(g, again[k % 2], rtol=1e-12)


def scaled_around(a, b):
    x = np.tanh(a) * b
    s = 0.0
    for i in range(len(a)):
        s += np.sin(x[i]) * b[i]
    x = x * s - np.mean(x)
    return np.sum(x**2) + np.max(x * b)


def sorted_around(a, b):
    x = np.sort(a)
    s = 0.0
    for i in range(len(a)):
        s += np.sin(x[i]) * b[i]
    return np.sum(np.sort(x * s) * b)


def many_kinds_around(a, b):
    is_large = a > 0.5
    c = np.cumsum(np.where(is_large, a * b, b))
    x = np.concatenate([c[2:], b[:2]]) * np.roll(a, 1)
    s = np.mean(x[is_large])
    for i in range(len(a)):
        s += np.sin(x[i]) * b[i]
    m = np.outer(x, b) @ np.outer(a, x)
    return s * np.linalg.norm(m) + np.sum(np.interp(a, [0.0, 1.0, s], [0.0, s, 2.0]))


def loop_in_a_branch(a, b):
    x = np.where(a > 0.5, a * b, b)
    s = 0.0
    if b[0] > 0.5:
        for i in range(len(a)):
            s += np.sin(x[i]) * b[i]
    else:
        x = np.cumsum(x)
    return np.sum(np.maximum(x, s) * a)


def stack_around(a, b):
    m = np.outer(a, b).reshape(7, 7, 1) * a
    y = np.einsum("kij,kjl->kil", m, np.transpose(m, (0, 2, 1)))
    s = 0.0
    for i in range(len(a)):
        s += np.sin(y[i, 0, 0]) * b[i]
    return s + np.mean(y)


@pytest.mark.parametrize(
    "f", [scaled_around, sorted_around, many_kinds_around, loop_in_a_branch, stack_around]
)
def test_statements_on_whole_arrays_around_a_loop(
    f: Callable, check_machine_code: Callable
) -> None:
    program = check_machine_code(f, lambda: (np.linspace(0.2, 1.4, 7), np.arange(1.0, 8.0)), 1e-11)
    assert program.native.has_surroundings
    assert not program.bailouts


@pytest.mark.parametrize("f", [made_between, branches_between, overwritten_between])
def test_long_functions_are_compiled_with_less_care(
    f: Callable, monkeypatch: pytest.MonkeyPatch, check_machine_code: Callable
) -> None:
    monkeypatch.setattr(regions, "_MANY", 50)
    f = types.FunctionType(f.__code__.replace(), f.__globals__, f.__name__)  # without a program
    check_machine_code(f, lambda: (np.linspace(0.2, 1.4, 7), np.arange(1.0, 8.0)), 1e-11)


def test_of_a_function_that_is_too_long_the_inner_loops_are_machine_code(
    monkeypatch: pytest.MonkeyPatch, made: list[Structured], traced: Callable
) -> None:
    def nested(a, b):
        for _ in range(3):
            for i in range(1, len(a)):
                a[i] = a[i - 1] * 0.5 + b[i]
            for i in range(1, len(a)):
                b[i] = b[i - 1] * 0.5 + a[i]
        return np.sum(a * b)

    a, b = np.linspace(0.2, 1.4, 7), np.arange(1.0, 8.0)
    expected = traced(nested, a.copy(), b.copy())
    monkeypatch.setattr(regions, "_MOST_INSTRUCTIONS", 250)
    for _ in range(3):
        found = gradient(nested, a.copy(), b.copy())
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)
    assert "so long a loop" in made[0].native.why.values()
    assert made[0].native.parts


def logarithms_behind(a, b):
    s = 0.0
    for i in range(len(a)):
        s += np.sin(a[i]) * b[i]
    return np.sum(np.where(b > 1.0, np.log(b - 1.0), b) * a) * s


def test_a_loop_stays_machine_code_where_what_surrounds_it_steps_aside(
    made: list[Structured], traced: Callable
) -> None:
    a, b = np.linspace(0.2, 1.4, 7), np.arange(1.0, 8.0)
    with np.errstate(all="ignore"):
        expected = traced(logarithms_behind, a, b)
    for _ in range(8):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            found = gradient(logarithms_behind, a, b)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    program = made[0]
    assert program.native is not None, program.why
    assert not program.native.has_surroundings
    assert not program.bailouts


def view_made_in_a_loop(a, n):
    for _ in range(n):
        w = a[1:]
    return w


def written_through_a_view(a):
    a = a * 1.0
    w = view_made_in_a_loop(a, 3)
    w[0] = 5.0 * w[0]
    return np.sum(a * a)


def array_and_view(a, n):
    for i in range(n):
        y = np.sin(a) * i
        z = y[1:]
    return y, z


def written_through_a_view_of_a_result(a):
    y, z = array_and_view(a, 3)
    z[0] = 5.0 * z[0]
    return np.sum(y * y)


@pytest.mark.parametrize("f", [written_through_a_view, written_through_a_view_of_a_result])
def test_a_returned_view_stays_one(f: Callable, traced: Callable) -> None:
    a = np.linspace(0.2, 1.4, 4)
    for _ in range(3):
        np.testing.assert_allclose(gradient(f, a), traced(f, a), rtol=1e-12)
