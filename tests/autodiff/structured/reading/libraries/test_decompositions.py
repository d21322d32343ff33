"""Functions of NumPy that programs read as made of others: the same bits, the same gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, value_and_gradient
from autodiff.structured import calls
from chainrules_core import rrule
from tests.helpers import check_gradient

X = np.cos(np.arange(30.0)).reshape(5, 6) * 1.3
W = np.sin(np.arange(6.0)) + 0.3


def differences(x: Any, w: Any) -> Any:
    for _ in range(2):
        x = x[1:] * w + np.diff(x, axis=0)
        w = w * 0.5 + np.sum(np.diff(w)) + np.diff(x)[0, 0]
    return np.sum(np.diff(x, axis=1) ** 2) + np.sum(x * w)


def products(x: Any, w: Any) -> Any:
    a, b = w[:3] * 1.0, w[3:] * 1.0
    for k in range(3):
        a = a - 0.1 * np.cross(b, x[k, :3] * a)
        b = b + np.cross(x[k, 3:], a)
    return np.sum(a * b)


def products_of_rows(x: Any, w: Any) -> Any:
    s, field = x[:, :3] * 1.0, w[3:] * 1.0
    for k in range(3):
        h = np.roll(s, 1, axis=0) + np.cross(s, field)
        s = s - 0.1 * np.cross(h, np.cross(h, s)) + np.cross(x[k, :3], s) * w[k]
        field = field + 0.1 * np.sum(np.cross(s[:, None], s), axis=(0, 1))
    return np.sum(s * s) + field[0]


def traces(x: Any, w: Any) -> Any:
    m = x[:4, :4] * 0.5
    for _ in range(3):
        m = m @ m * 0.3 + np.vdot(m, m.T) * 0.01 + np.trace(m) * np.eye(4) + m[:3].trace() * w[:4]
    return np.trace(m)


def spreads(x: Any, w: Any) -> Any:
    for _ in range(2):
        x = (x - x.mean(axis=0)) / (x.std(axis=0) + 0.1) + np.var(w) * w
        x = x * np.std(x, axis=1, keepdims=True) + np.var(x) - x.var(axis=-1, keepdims=True)
    return np.sum(x * x) + x.std()


def slopes(x: Any, w: Any) -> Any:
    for _ in range(2):
        dy, dx = np.gradient(x)
        x = x - 0.1 * dy * dx + np.gradient(x, axis=0) * 0.2 + np.gradient(x, axis=-1)
        w = w * np.gradient(w)
    return np.sum(x * w)


def grids(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(4):
        p, q = np.meshgrid(w, x[:, k])
        total += np.sum(np.sin(p) * q) * q[1, 2]
        p[0] = 2.0 * p[1]
        total += np.sum(p * p)
    return total


def joined(x: Any, w: Any) -> Any:
    v = w * 1.0
    for k in range(3):
        v = np.concatenate(([0], v[1:], [x[k, 0], 2.0])) + np.hstack((v, [1.0, k]))
        m = np.full((3, 3), w[k]) + np.diag([v[0], 1.0, 2.0]) + np.diag(v[:3])
        v = v * np.sum(m * m) * 0.1 + np.full(len(v), -2.0)
    return np.sum(v * v)


def neighbours(x: Any, w: Any) -> Any:
    for k in range(1, 3):
        w = w + 0.1 * np.roll(w, k) * np.roll(w, -1) - np.roll(w, 7) * w[k]
        x = x + 0.2 * np.roll(x, -k, axis=0) * np.roll(x, 1, 1) - np.roll(x, shift=1, axis=-2)
    return np.sum(x * w) + np.roll(x, 2)[0, 0]


def increments(x: Any, w: Any) -> Any:
    for k in range(3):
        w = w - 0.3 * np.diff(w, prepend=0) + np.diff(w, append=w[k])
        w = w + 0.1 * np.diff(w[1:], prepend=w[:1], append=[1.0])[:6].sum()
        x = x * np.diff(x[k], prepend=x[k, :1] * 0.5)
    return np.sum(x * w)


def frames(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(3):
        for y in (np.pad(x, 1), np.pad(x, ((1, 2), (0, k)), "edge")):
            total += np.sum(y[1:, 1:] * y[:-1, :-1]) + y[0, 1]
        for m in ("wrap", "reflect", "symmetric"):
            total += np.sum(np.pad(w, (2, 1), m)[1:] ** 2)
        z = np.pad(x, 2, mode="wrap") + np.pad(x, 2, "reflect") * np.pad(x, 2, mode="symmetric")
        x = x + 0.1 * z[2:-2, 1:-3] * np.pad(w, 1, "edge")[2:]
        w = w * np.pad(w[1:], (1, 0), mode="constant")
    return total + np.sum(x) + np.sum(w)


def bounds(x: Any, w: Any) -> Any:
    low, high = x[0, 1], w[2]
    for k in range(3):
        w = np.clip(w, low, None) * np.clip(w * 1.5, None, high) + np.clip(w, a_min=None, a_max=w)
        x = x.clip(x[0, k], None) + w.clip(None, 0.5)
        low = np.clip(low, w[k], None)
    return np.sum(x) + low


def with_ends(x: Any, w: Any) -> Any:
    for k in range(2):
        gx, gy = np.diff(x, axis=1, append=x[:, -1:]), np.diff(x, axis=0, append=x[-1:, :])
        x = x - 0.1 * np.diff(gx, prepend=0.0) * np.diff(gy, axis=0, prepend=w[k])
        x = x + 0.2 * np.diff(x, axis=-1, append=1.5) + 0.1 * np.diff(x, axis=0, append=w[0])
        x = x + np.diff(x, prepend=x[:, :1], append=x[:, :1])[:, 1:] * w
        x = x + np.diff(x, axis=0, prepend=x[:1], append=x[:1])[:-1] * np.diff(x, prepend=x[:, :1])
    return np.sum(x * x) * 1e-6


def turned_and_rounded(x: Any, w: Any) -> Any:
    for k in range(3):
        x = np.roll(x, (k, -1), axis=(0, 1)) * w + np.roll(x, (1, k), (1, 0))
        x = x - np.round(x) * w + (x * 0.1).round() + np.around(w, 0)
        np.fill_diagonal(x, 0.5)
        y = x * 2.0
        np.fill_diagonal(y, w[k])
        x = x * y
    return np.sum(x * x)


def integrals(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(3):
        total += np.trapezoid(w, w * w) + np.trapezoid(x[k]) * np.trapezoid(w, dx=x[0, k])
        x = x * np.trapezoid(x, dx=0.3)[:, None] + 0.1 * np.trapezoid(x, w)[:, None]
        w = w + np.polyval(w[:4], w) * np.polyval([1.0, 2.0], x[0]) + np.gradient(w, 0.5)
        x = x + np.gradient(x, w[1])[1] * 0.1 + np.gradient(x, 2.0, axis=0)
    return total + np.sum(x)


def parts(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(3):
        a, b, c = np.split(w, 3)
        left, right = np.split(x, 2, axis=1)
        (whole,) = np.split(x, 1)
        total += np.sum(a * b - c) + np.sum(left * right[k]) + whole[k, 0]
        total += np.prod(w) * np.sum(np.delete(x, k, axis=0) * w) + np.sum(np.delete(w, k) ** 2)
        w = w + np.concatenate([b, c * 0.5, a * c])
        x = x * np.prod(x[k] * 0.9)
        np.fill_diagonal(x, 1)
    halves = np.split(w, 2)
    halves[0][1] = total
    return np.sum(w) + np.prod(w[2:])


def ordered(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(3):
        row = x[k].copy()
        row.sort()
        total += row[1] * row[-1] + np.sort(w * x[k + 1])[k] + np.polyval(w, row[0])
        items, rows = w.tolist(), x.tolist()
        for item in items:
            total += item * rows[k][1]
        w = np.sort(w) * 0.9 + np.array(items)[::-1] * rows[2][k]
    return total * np.sum(w)


def by_methods(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(3):
        y = x.transpose() * x[k, 0] + x.transpose(1, 0) + x.transpose((1, 0)) * x.swapaxes(0, 1)
        total += np.sum(np.take(x, [k, 0], 1) ** 2)
        total += y.reshape(1, 30).squeeze(0)[k] + w[w.argsort()[k]] * w.take([0, 2]).sum()
        z = w.astype(complex)
        z[k] = z[k] * w[0]
        total += np.sum(np.abs(z) ** 2) * np.arange(6.0).searchsorted(2.5)
        x = x + 0.1 * y.T
    return total


def assembled(x: Any, w: Any) -> Any:
    total = 0.0
    m = np.zeros((7, 7))
    for k in range(5):
        at, mask = [k, k + 1], np.arange(7) > k
        total += np.sum(m[np.ix_(mask, at)] * w[k]) + np.sum(m[np.ix_(mask, ~mask)] ** 2)
        m[np.ix_(at, at)] += w[k] * np.array([[1.0, -1.0], [-1.0, 1.0]])
        m[np.ix_([k], np.arange(k, 7))] = w[k] * 0.5 + m[np.ix_(at, [0, 2])][1, 1]
        total += np.sum(
            np.block([[x[:2, :3], np.ones((2, 2))], [x[2:, 1:4] * k, x[1:4, 3:5]]]) ** 2
        )
        places = np.ix_([0, -1], [k])
        total += np.sum(x[places] ** 2) + np.sum(m[places])
    odd = [k for k in range(len(x)) if k % 2]
    total += np.sum(m[np.ix_(odd, odd)]) + np.sum(x[odd] ** 3)
    return total


PROGRAMS = [
    assembled,
    ordered, by_methods, parts, differences, products, products_of_rows, traces, spreads,
    slopes, grids, joined, neighbours, increments, frames, bounds, integrals, with_ends,
    turned_and_rounded,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_same_bits(f: Callable, check_two_calls: Callable) -> None:
    check_two_calls(f, X, W)


@pytest.mark.parametrize("x", [np.ones((1, 6)), np.zeros((5, 6))])
@pytest.mark.parametrize("f", PROGRAMS)
def test_edges(f: Callable, x: np.ndarray, traced: Callable) -> None:
    def outcome(way: Callable) -> Any:
        try:
            with np.errstate(all="ignore"):
                return way(f, x, W)
        except (ValueError, IndexError) as error:
            return type(error)

    expected = outcome(traced)
    found = outcome(gradient)
    if isinstance(expected, type):
        assert found is expected
        return
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def test_a_rule_of_the_users(traced: Callable) -> None:
    def f(x: Any) -> Any:
        for _ in range(2):
            x = x[1:] * np.diff(x)
        return np.sum(x)

    given = np.arange(1.0, 6.0) ** 2
    before = gradient(f, given)
    rrule.register(np.diff, np.ndarray)(
        lambda x: (np.diff(x), lambda y_bar: np.append(2.0 * y_bar, 0.0))
    )
    try:
        found = gradient(f, given)
        np.testing.assert_allclose(found, traced(f, given))
        assert not np.allclose(found, before)
    finally:
        rrule.unregister(np.diff, np.ndarray)


@pytest.mark.parametrize(
    "f", [parts, neighbours, increments, bounds, integrals, with_ends, turned_and_rounded]
)
def test_no_rule_is_called(f: Callable) -> None:
    gradient(f, X, W)
    programs = [p for _, kept in calls._programs.values() for p in kept.values()]
    (of_kernel,) = [p for p in programs if (p.name, p.file) == (f.__name__, __file__)]
    for program in filter(None, of_kernel.known.values()):
        assert "_pull" not in program.source


def test_deleted_from_a_matrix_without_an_axis(traced: Callable) -> None:
    """`np.delete` makes a vector of it: not the rows are counted, but the elements."""

    def f(x: Any) -> Any:
        total = 0.0
        for k in range(3):
            total = total + np.sum(np.delete(x, k) ** 2) + np.sum(np.delete(x, k, 1) * x[:, 1:])
            total = total + np.sum(np.delete(x, k, axis=None)[1:] ** 3) * np.delete(x, -1, 0)[0, 0]
        return total

    for _ in range(2):
        value, found = value_and_gradient(f, X)
        assert value == f(X)
        np.testing.assert_allclose(found, traced(f, X), rtol=1e-11)
    check_gradient(f, X)


def narrow_bounds(x: Any, c: float, low: Any) -> Any:
    total = 0.0
    for _ in range(2):
        total = total + np.clip(c, low[0], None) * 3.0 + np.clip(c, None, low[1]) * x[0, 0]
    return total


def test_bounds_of_a_number(traced: Callable, runs: list[str]) -> None:
    """For `np.clip` a number of Python is one of float64, for `np.maximum` it is as its bound."""
    given = X, 0.1, np.array([0.05, 0.7], dtype=np.float32)
    for _ in range(2):
        value, found = value_and_gradient(narrow_bounds, *given, argnums=(0, 1))
        expected = narrow_bounds(*given)
        assert value == expected
        np.testing.assert_allclose(found[1], 2.0 * (3.0 + X[0, 0]), rtol=1e-14)
    assert "narrow_bounds" in runs
