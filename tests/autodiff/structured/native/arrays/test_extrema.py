"""Machine code: extrema, norms, rolled arrays, and variables that only a loop binds."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured import calls
from autodiff.structured.runtime import Structured
from chainrules_core import rrule


def of_numbers(x, w):
    best = np.zeros((5, 5), dtype=x.dtype)
    for i in range(1, 5):
        for j in range(1, 5):
            best[i, j] = np.maximum(best[i - 1, j] + x[i, j], np.minimum(best[i, j - 1], w[j]))
    return np.sum(best * best)


def of_ties(x, w):
    total = np.sum(x * 0.0)
    for k in range(3):
        y = np.maximum(x, 0.5)
        y = np.minimum(y, w) + np.maximum(w, w) * k
        total = total + np.sum(y * x) + np.maximum(w[k], w[k])
    return total


def of_exponentials(x, w):
    total = np.logaddexp(w[0], w[1])
    for k in range(3):
        x = np.logaddexp(x, w * k)
        for i in range(5):
            total = np.logaddexp(total, x[i, k]) - 0.5
    return total + np.sum(x * w)


def bounded_steps(x, w):
    for _ in range(3):
        x = x - 0.1 / np.max(np.abs(x)) * np.min(x[1:]) * w
        x = x * (1.0 + w.max()) - x.min() * 0.1
    return np.sum(x * x)


def in_balls(x, w):
    for k in range(3):
        v = x[k] / (1.0 + np.linalg.norm(x[k]))
        x = x * 0.5 + v * np.linalg.norm(x) + np.linalg.norm(w - w) * w
    return np.sum(x * x)


def along_axes(x, w):
    for _ in range(3):
        m = np.max(x, axis=1, keepdims=True)
        y = x - m - np.log(np.sum(np.exp(x - m), axis=1, keepdims=True))
        x = y * np.max(np.abs(y), 0) + x.min(axis=0)[:, None] * w
        x = x / np.linalg.norm(x, axis=0)
        x = x * x.max(-1)[:, None] + np.linalg.norm(x * w, axis=1, keepdims=True)
        x = x - np.amin(x, (0, 1), keepdims=True)
    return np.sum(x * x * np.arange(25.0).reshape(5, 5))


def clipped(x, w):
    for k in range(3):
        y = np.clip(x, -0.5, w) + np.clip(w, w * 1.0, 1.0) * np.sign(x)
        z = np.where((y > 0.0) & ~(x > 0.5) | ((x > w) ^ (y > w)), y * x, x)
        z = z + (x > 0.2) * (w > 0.4) * y
        x = z + np.arctan2(y, x) * 0.1 + np.clip(y[k, 0], -0.1, 0.1) + math.atan2(w[0], x[k, k])
    return np.sum(x * np.clip(x, 0.1, 0.1))


def factored(x, w):
    for _ in range(3):
        m = x @ x.T + np.eye(5)
        f = np.linalg.cholesky(m)
        x = f * 0.5 + f.T * 0.1 + np.cumsum(w)[:, None] * w.cumsum()
        w = w * 0.5 + np.cumsum(x[:, 1]) * 0.01
    return np.sum(x * x) + np.sum(w)


def factored_before(x, w):
    f = np.linalg.cholesky(x @ x.T + np.eye(5))
    s = np.cumsum(w)
    for k in range(5):
        f[k] = f[k] * s + np.clip(f[k - 1], -0.5, 0.5) * w[k]
    return np.sum(np.linalg.cholesky(f @ f.T + np.eye(5))) + np.max(f, axis=1)[2]


def along_axes_with_ties(x, w):
    for _ in range(2):
        y = np.maximum(x, 0.5)
        x = x * 0.9 + y.min(axis=0) * w + y.max(axis=1)[:, None]
    return np.sum(x * x)


def rolled(x, w):
    for k in range(3):
        x = np.roll(x, 1, axis=0) - 0.3 * np.roll(x, -2, 1) + np.roll(x, 7, axis=-1)
        w = w * np.roll(w, -k) + np.roll(w, 3)
    return np.sum(x * x * w)


def counted(x, w):
    total = np.sum(x * 0.0)
    for k in range(4):
        up = w[0] ** np.arange(k, -k - 1, -2) + np.arange(k + 1) * 0.5
        total = total + np.sum(up) * np.sum(x[np.arange(3), 0] if False else x[0] * np.arange(5))
    return total


def turned(x, w):
    v = w[:3] * 1.0
    for i in range(5):
        c, s = np.cos(x[i, 0]), np.sin(x[i, 1])
        v = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ v
        v = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]) @ v
    return np.sum(v * v) + v[0]


def bound_in_turns(x, w):
    last = 0.0
    while True:
        new = np.sum(x * x)
        y = x @ w
        x = x * 0.7
        if abs(new - last) < 0.05:
            break
        last = new
    return new + np.sum(y * y)


def angles(x, w):
    total = np.sum(w) * 0.0
    for i in range(5):
        a = float(x[i, 0])
        b = float(w[i])
        total = (
            total
            + np.copysign(a, b)
            + math.copysign(1.0, a) * math.pow(b + 1.0, 2.5)
            + math.hypot(a, b)
        )
    return total


def rounded(x, w):
    total = np.sum(x) * 0.0
    for a, b in x[:4, :2]:
        i, j = int(np.floor(a * 3.0)), math.floor(b * 4.0)
        k = round(a * 4.0) + math.ceil(b) + math.trunc(a * 7.0) + int(b * 9.0) + max(i, j, 2)
        near = a - np.rint(a) + b * np.ceil(b * 2.0) + np.trunc(a * 5.0)
        total = total + w[abs(i) % 5] * w[abs(j) % 5] * k + near * near
    return total


def at_extrema(x, w):
    total = np.sum(x) * 0.0
    for k in range(5):
        i, j = np.argmax(x[k]), np.argmin(np.abs(w - x[k]))
        total = total + x[k, i] * w[j] + w[np.argmax(x[k] > 0.5)] * x[np.argmin(x.T) // 5, k]
        total = total + w[np.argmax(np.zeros(3) * x[k, 0])] * int(np.argmax(x))
    return total


def with_pivots(x, w):
    a, b = x.copy(), w.copy()
    for k in range(5):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            a[[k, p]] = a[[p, k]]
            b[[k, p]] = b[[p, k]]
            a[[k, p]] *= 0.9
        for i in range(k + 1, 5):
            factor = a[i, k] / a[k, k]
            a[i, k:] -= factor * a[k, k:]
            b[i] -= factor * b[k]
    b[np.array([0, 2])] = b[3:] * 0.5
    a[[4, 0]] = a[0]
    return np.sum(np.abs(np.diag(a))) + np.sum(b * b) + np.sum(a[:, 2])


def by_momentum(x, w):
    v, m, spread = w[:3] + x[0, :3], np.zeros(3), np.zeros(3)
    for t in range(1, 9):
        g = np.array([v[0] * v[1] - w[0], v[1] * v[1], v[2] - v[0] ** 2])
        m = 0.9 * m + 0.1 * g
        spread = 0.99 * spread + 0.01 * g * g
        v = v - 0.1 * m / (1 - 0.9**t) / (np.sqrt(spread) + 1e-8)
    return np.sum(v * v)


def products_and_truth(x, w):
    total = np.sum(x) * 0.0
    for k in range(5):
        if np.any(x[k] > 0.9) and not np.all(x[k] > w):
            total = total + np.prod(x[k]) * w[k] + np.prod(x[k, 1:] * w[1:])
        near = np.abs(x - w[k]) < 0.5
        total = total + np.sum(near) * w[k] + np.mean(x[k] > 0.1) * np.sum(x[:, k])
        total = total + np.sum(np.arange(k + 1)) * w[k] + np.count_nonzero(near[k]) * x[k, 0]
    return total


IN_DOUBLE = [
    products_and_truth,
    by_momentum,
    at_extrema,
    with_pivots,
    of_exponentials,
    of_numbers,
    of_ties,
    bounded_steps,
    in_balls,
    along_axes,
    clipped,
    factored,
    factored_before,
    along_axes_with_ties,
    rolled,
    counted,
    turned,
    bound_in_turns,
    angles,
    rounded,
]
IN_SINGLE = [at_extrema, with_pivots, of_numbers, of_ties, rolled]


@pytest.mark.parametrize(
    "f, dtype",
    [*((f, np.float64) for f in IN_DOUBLE), *((f, np.float32) for f in IN_SINGLE)],
)
def test_machine_code(
    f: Callable, dtype: type, runs: list[str], check_machine_code: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def never(*args):
        raise AssertionError("the sweep failed")

    monkeypatch.setattr(calls.ProgramRun, "traced", never)

    def given():
        x = np.cos(np.arange(25)).reshape(5, 5)
        return x.astype(dtype), np.array([0.5, 0.3, 0.8, 0.5, 0.2], dtype)

    check_machine_code(f, given, rtol=1e-12 if dtype is np.float64 else 1e-4)
    assert runs.count(f.__name__) == 4
    assert {x.dtype.type for x in gradient(f, *given())} == {dtype}


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("worst", [np.nan, np.inf])
def test_an_extremum_that_is_no_number(worst: float, traced: Callable) -> None:
    def f(x, w):
        for _ in range(2):
            x = x * w + np.max(x)
        return np.sum(x[1:])

    given = np.array([1.0, worst, 3.0]), np.array([0.5, 0.5, 0.5])
    for x, y in zip(gradient(f, *given), traced(f, *given), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("worst", [np.nan, np.inf])
def test_an_extremum_along_an_axis_that_is_no_number(worst: float, traced: Callable) -> None:
    def f(x, w):
        for _ in range(2):
            x = x * w + np.max(x, axis=0) + np.linalg.norm(w) * x
        return np.sum(x[1:])

    given = np.array([[1.0, worst, 3.0], [2.0, 1.0, 3.0]]), np.array([0.5, 0.5, 0.5])
    for x, y in zip(gradient(f, *given), traced(f, *given), strict=True):
        np.testing.assert_array_equal(x, y)


def test_norms_along_an_axis_that_are_zero(traced: Callable) -> None:
    def f(x, w):
        for _ in range(3):
            x = x * 0.5 + np.linalg.norm(x - w, axis=1)[:, None]
        return np.sum(x * x)

    w = np.array([0.5, 0.25, 0.5])
    given = np.array([[1.0, 2.0, 3.0], [0.5, 0.25, 0.5]]), w
    for x, y in zip(gradient(f, *given), traced(f, *given), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13)


def test_a_matrix_without_a_cholesky_factor(traced: Callable) -> None:
    def f(x):
        for _ in range(2):
            x = np.linalg.cholesky(x) @ x
        return np.sum(x)

    for way in (gradient, traced):
        with pytest.raises(np.linalg.LinAlgError):
            way(f, -np.eye(3))


def test_the_extremum_of_nothing(traced: Callable) -> None:
    def f(x):
        for _ in range(2):
            x = x * np.max(x[:0])
        return np.sum(x)

    for way in (gradient, traced):
        with pytest.raises(ValueError, match="zero-size"):
            way(f, np.ones(3))


def test_a_rule_of_the_users_for_norms(traced: Callable) -> None:
    def f(x):
        for _ in range(2):
            x = x / np.linalg.norm(x)
        return np.sum(x[:2])

    before = gradient(f, np.arange(1.0, 4.0))
    own = rrule.register(np.linalg.norm, np.ndarray)(
        lambda x: (np.linalg.norm(x), lambda y_bar: 2.0 * y_bar * x)
    )
    try:
        found = gradient(f, np.arange(1.0, 4.0))
        np.testing.assert_allclose(found, traced(f, np.arange(1.0, 4.0)))
        assert not np.allclose(found, before)
    finally:
        assert own is not None
        rrule.unregister(np.linalg.norm, np.ndarray)


def test_angles_of_what_is_large_or_zero(traced: Callable) -> None:
    def f(x, w):
        total = 0.0
        for k in range(len(x)):
            total += np.arctan2(x[k], w[k]) * 1e160 + np.sum(np.arctan2(w, x)) * 1e150
        return total

    given = np.array([1e200, 0.0, 1e-180, 2.0]), np.array([3e200, 0.0, 1e-180, -1.0])
    for _ in range(2):
        for x, y in zip(gradient(f, *given), traced(f, *given), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)


WHOLE = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, -0.0, 0.49999999999999994, 4503599627370495.5, 2.0**61]


def whole(x, c):
    total = 0.0
    for v in c:
        down, up = math.floor(v) % 1000, math.ceil(v) % 1000
        total = total + x * (int(v) % 1000 + 3 * down + 5 * up + 7 * (math.trunc(v) % 1000))
        total = total + x * 11 * (round(v) % 1000)
    return total


def test_integers_of_floats(made: list[Structured]) -> None:
    for c in [*WHOLE, 1e300]:
        given = np.array([c])
        expected = whole(1.0, given)
        for _ in range(2):
            assert gradient(whole, 1.0, given, argnums=0) == expected
    assert made[0].native is not None, made[0].why
    for c in (math.inf, math.nan):
        with pytest.raises((OverflowError, ValueError)):
            gradient(whole, 1.0, np.array([c]), argnums=0)
