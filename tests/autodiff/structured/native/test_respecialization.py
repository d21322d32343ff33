"""Programs that are recompiled, because arrays are broadcast or slopes are infinite."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import compile, gradient
from autodiff.structured.runtime import Structured
from autodiff.structured.settings import Settings
from tests.autodiff.structured.native.test_native import arguments, loss_of


def columns(a, b, m):
    """Columns that are broadcast against rows, computed from the arguments."""
    x = m[:, :1] * 1.0
    for i in range(3):
        d = x.T - x
        inverse = d**2 + 0.1
        inverse[inverse > 0.2] = inverse[inverse > 0.2] ** -0.5
        x += 0.1 * ((d * inverse) @ (m[:, i : i + 1] * b[i]))
        x = np.hstack((x, x, x))[:, 1:2] * 1.0
    return np.sum(x * m)


def moved(a, b, m):
    x, w = a[:, None] + 0.0, b.reshape(-1, 1)
    for _ in range(3):
        x += 0.1 * (x.T - x) @ w + x * w
    return np.sum(x * w)


def growing(a, b, m):
    """Vectors that start with one element, and become longer."""
    f, x = np.array([1.0]), np.array([b[0]])
    for k in range(1, len(a)):
        ef = ex = 0.0
        for i in range(k):
            ef += 0.1 * a[k - i] * f[i]
            ex += 0.1 * a[k - i] * x[i]
        padded = np.concatenate((f, [0.0])) - ef * np.concatenate(([0.0], f[::-1]))
        f = padded / (1.0 + ef * ef)
        x = np.concatenate((x, [0.0])) + (b[k] - ex) * f[::-1]
    return np.sum(x * m)


@pytest.mark.parametrize("kernel", [columns, moved])
def test_arrays_that_are_broadcast(
    kernel: Callable, made: list[Structured], traced: Callable
) -> None:
    loss = loss_of(kernel)
    for n in (5, 5, 5, 6):
        for x, y in zip(gradient(loss, *arguments(n)), traced(loss, *arguments(n)), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)
    assert made[-1].native is not None
    assert made[-1].broadcasts
    assert not made[-1].native.why
    assert not made[-1].bailouts


def test_arrays_of_one_element_that_become_longer(made: list[Structured], traced: Callable) -> None:
    loss = loss_of(growing)
    for n in (5, 5, 5, 6):
        for x, y in zip(gradient(loss, *arguments(n)), traced(loss, *arguments(n)), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)
    assert made[-1].native is not None
    assert not made[-1].native.why
    assert made[-1].bailouts == 0


def test_shapes_that_alternate(made: list[Structured], traced: Callable) -> None:
    def scaled(x, w):
        for _ in range(3):
            x = np.tanh(x * w) + x
        return np.sum(x * x)

    x, narrow, wide = np.ones((4, 3)), np.full((4, 1), 0.5), np.full((4, 3), 0.3)
    for w in (narrow, wide, narrow, wide, wide, narrow, wide, narrow):
        for a, b in zip(gradient(scaled, x, w), traced(scaled, x, w), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    assert len(made) <= 8  # it is not compiled again and again


def test_a_function_called_with_several_shapes(made: list[Structured], traced: Callable) -> None:
    def window(x, w):
        s = np.sum(w)
        for i in range(x.shape[0] - 1):
            s = s + np.sum(np.sum(x[i : i + 2, :, None] * w[None], axis=(0, 1)) ** 2)
        return s

    def loss(x, y, v, w):
        return window(x, v) + window(y, w)

    given = [
        np.cos(np.arange(float(n))).reshape(m, -1) for n, m in ((5, 5), (20, 5), (3, 1), (8, 4))
    ]
    for _ in range(4):
        for a, b in zip(gradient(loss, *given), traced(loss, *given), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    (program,) = {p for p in made if p.name.endswith("window")}
    assert program.native is not None
    assert not program.native.why


def hidden_slopes(x, w, steps):
    """A slope is infinite where its cotangent is 0, and a constant hides others."""
    total = 0.0
    for i in range(steps):
        y = np.where(x > 0.0, np.sqrt(x), 0.5 * x)
        z = np.sqrt(w * x)
        total += np.sum(y) * (i + 1.0) + np.sum(z)
        if w[i] > 0.0:
            total += math.sqrt(x[i] ** 2 + 1.0) * x[i]
        x = x * 1.5 + y
    return total


def test_zeros_win_over_infinite_slopes(made: list[Structured], traced: Callable) -> None:
    x, w = np.array([0.0, 0.5, 1.0, 0.0, 2.0]), np.array([0.0, 1.0, 0.0, 0.0, 1.0])

    def loss(v):
        return hidden_slopes(v, w, 3)

    for _ in range(3):
        found = gradient(loss, x)
        np.testing.assert_allclose(found, traced(loss, x), rtol=1e-12)
        assert np.isfinite(found).all()
    assert made[-1].steep
    assert made[-1].native is not None
    assert not made[-1].native.why
    assert not made[-1].bailouts


def made_in_the_loop(x, k):
    """Axes of length 1 that are not known statically."""
    for i in range(3):
        y = np.ones((len(x), k)) * 0.5
        y[:] = x[:, None] * (i + 1.0)
        x = x + np.sum(y * np.outer(x, x)) * 0.1
    return x * 1.0


def test_machine_code_that_cannot_know_of_broadcast_axes_is_given_up(
    made: list[Structured], traced: Callable
) -> None:
    def loss(x):
        return np.sum(made_in_the_loop(x, 1))

    x = np.array([0.3, -0.2, 0.5])
    for _ in range(9):
        np.testing.assert_allclose(gradient(loss, x), traced(loss, x), rtol=1e-12)
    assert made[-1].native is None
    assert made[-1].why is not None
    assert len(made) < 5


def multiplied(x: Any, w: Any) -> Any:
    for _ in range(400):
        x = 0.5 * np.sin(x * w) + 0.4 * x
    return np.sum(x * x)


def test_a_first_call_is_machine_code_if_the_search_for_broadcasts_takes_as_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Settings, "native", 1e-9)  # any run takes longer than compiling does
    is_search = []

    def noted(program: Any, values: Any, run: Callable = Structured._run_forward) -> Any:
        is_search.append(program.compares_all)
        return run(program, values)

    monkeypatch.setattr(Structured, "_run_forward", noted)
    x, w = np.linspace(0.2, 1.4, 50), np.linspace(1.0, 2.0, 50)
    g = compile(lambda x: gradient(multiplied, x, w, argnums=0))(x)
    assert is_search == [True]
    ways = [x + 1e-6 * e for e in np.eye(50)[::7]], [x - 1e-6 * e for e in np.eye(50)[::7]]
    differences = [(multiplied(u, w) - multiplied(d, w)) / 2e-6 for u, d in zip(*ways, strict=True)]
    np.testing.assert_allclose(g[::7], differences, rtol=1e-5, atol=1e-9)
