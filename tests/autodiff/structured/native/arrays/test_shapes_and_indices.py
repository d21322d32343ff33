"""Machine code: einsum, reshaped and transposed arrays, and reductions along axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

from autodiff import gradient


def products(m: Any, v: Any) -> Any:
    s = 0.0
    for i in range(3):
        a = np.einsum("ij,jk->ki", m[i], m[i])
        b = np.einsum("ij,j->i", a, v)
        c = np.einsum("i,ij", b, a) * 0.1
        d = np.einsum("ij,ij->j", a, m[i] * 2.0)
        e = np.einsum("ij,kj->ik", a * 2.0, m[i])
        t = np.einsum("ijk,k->ij", m, c)
        s = s + np.sum(b * c) + np.sum(d * e[0]) + np.sum(t**2)
        s = s + np.einsum("i,j,ij->", b, c, e) + np.einsum("i,i->", b * s * 1e-4, d)
        a = np.einsum("ij->ji", a * b)
        s = s + np.sum(a**2 * e) + np.sum(np.einsum("i,j->ji", b, c)[1] ** 2)
        s = s * np.einsum("ij,ji->", a, m[i]) * 1e-4
    return s


def shapes(m: Any, v: Any) -> Any:
    s = 0.0
    for i in range(3):
        flat = m[i].ravel() * 2.0
        rows = np.reshape(flat, (2, -1)) * m[i].T.reshape(2, 8)
        s = s + np.sum(rows**2) + np.sum(m[i].flatten() * flat) + rows.reshape(-1, 2)[i, 1]
        s = s + np.sum((m[i] * v).reshape(4, 4).T.reshape(16) ** 3)
    return s


def orders(m: Any, v: Any) -> Any:
    s = 0.0
    for i in range(3):
        a = np.transpose(m[i] * v) * np.swapaxes(m, 0, 1)[i][:1]
        b = (m * v).transpose(2, 0, 1)
        x = m[i] * 2.0
        c = x.transpose()
        d = c * np.sin(x.swapaxes(0, 1))
        c = d.transpose() ** 2
        s = s + np.sum(a**2) + np.sum(b[1] * b[2]) + np.sum(c * np.transpose(c)) + c[1, 2] * d[2, 1]
    return s


def along_axes(m: Any, v: Any) -> Any:
    s = 0.0
    for i in range(3):
        best, least = m[i].argmax(axis=1), np.argmin(m[i], axis=0)
        some, every = (m[i] > 0.8).any(axis=0), np.all(m[i] > -0.9, axis=1)
        count = np.sum(m > 0.3, axis=(0, 2)) + np.count_nonzero(m[i] > 0.2, axis=1)
        s = s + np.sum(v * best) + np.sum(v**2 * some * count) + np.sum(v * least * every)
        for k in range(4):
            s = s + m[i, k, best[k]] ** 2
    return s


def every_second(m: Any, v: Any) -> Any:
    x, s = m.ravel() * v[0], 0.0
    n = len(x)
    while n >= 8:
        even, odd, few = x[:n:2], x[1:n:2], x[: n // 2 : 3]
        for i, c in enumerate(v):
            if i % 2:
                odd[:-1] += c * (even[:-1] + even[1:])
                odd[-1] += 2 * c * even[-1]
            else:
                even *= np.cos(c)
            s = s + np.sum(few**2)
        x[:n] = np.concatenate([even, odd])
        n //= 2
    return s + np.sum(x * np.arange(float(len(x))))


def without_one(m: Any, v: Any) -> Any:
    s = 0.0
    for i in range(4):
        keep = np.arange(4) != i
        a = m[i % 3] * v
        x = np.linalg.solve(a[np.ix_(keep, keep)] + 3.0 * np.eye(3), a[keep, i])
        s = s + x @ v[keep] + np.sum(a[np.ix_(keep, [i, 0])] ** 2)
    return s


def errors(m: Any, v: Any) -> Any:
    s = 0.0
    for i in range(4):
        s = s + math.erf(v[i]) * math.erfc(0.5 * v[i])
        s = s + np.sum(scipy.special.erf(m[0, i]) * scipy.special.erfc(m[1, i]))
    return s


def special(m: Any, v: Any) -> Any:
    s = 0.0
    for i in range(4):
        x = 30.0 * v[i] - 3.0 * m[0, i, i]
        s = s + scipy.special.expit(x) * scipy.special.ndtr(0.2 * x) + math.exp2(v[i])
        s = s + scipy.special.logit(scipy.special.expit(v[i])) * math.radians(v[i])
        s = s + (math.degrees(v[i]) if not math.isnan(x) and math.isfinite(x) else 0.0)
        s = s + np.sum(scipy.special.expit(m[1] * 20.0) * np.fmax(m[1], v) - np.fmin(m[2], v[i]))
        if np.isnan(m[0]).any() or not np.isfinite(m[1]).all():
            s = s + np.sum(scipy.special.ndtr(m[0]))
    return s


def views_of_what_has_no_name(m: Any, v: Any) -> Any:
    """The sweep reads a view, so its base must live as long."""
    s = 0.0
    for i in range(3):
        w = np.ones(5) * (i + 1.0)
        column, turned = (w[1:] + w[:-1])[:, None], (np.ones((4, 4)) * i + np.eye(4)).T
        back, middle = np.flip(w[1:] * 2.0 + w[0]), np.diag(np.outer(w[1:], w[:-1]) * 1.0)
        m = m * 0.98 + s * 0.01
        t = np.sum(column * m[i] ** 2) + np.sum(turned * m[i] * np.swapaxes(turned + 1.0, 0, 1))
        s = s + 0.1 * t + np.sum(back * v * middle * m[0])
    return s


M = np.cos(np.arange(48.0)).reshape(3, 4, 4)
V = np.sin(np.arange(1.0, 5.0))


@pytest.mark.parametrize(
    "f",
    [
        products, shapes, orders, along_axes, every_second, without_one, errors, special,
        views_of_what_has_no_name,
    ],
)  # fmt: skip
def test_gradients(f: Callable, check_machine_code: Callable) -> None:
    for m in (M, M[::-1]):
        check_machine_code(f, lambda m=m: (m, V), rtol=1e-11, atol=1e-12)


def with_a_row_of_literals(m: Any, v: Any) -> Any:
    """The axis of length 1 is inferred from the source alone: lists make it one region."""
    row, p, total = np.array([[1.0, 0.5, 0.0, -1.0]]), m[0], 0.0
    kept = []
    for _ in range(3):
        gain = p @ row.T / (row @ p @ row.T + 2.0)
        p = p - 0.1 * gain @ row @ p
        kept.append(p)
        total = total + np.sum(gain[:, 0] * v)
    for p in kept:
        total = total + np.sum(p * p)
    return total


def test_an_axis_of_one_element_of_literals(check_machine_code: Callable) -> None:
    check_machine_code(with_a_row_of_literals, lambda: (M, V), rtol=1e-11)


def test_a_shape_that_does_not_fit(traced: Callable) -> None:
    def f(x: Any, n: int) -> Any:
        s = 0.0
        for i in range(3):
            s = s + np.sum(x.reshape(n, -1)[i] ** 2)
        return s

    x = np.cos(np.arange(12.0))
    for n in (3, 4, 6):
        np.testing.assert_allclose(
            gradient(f, x, n, argnums=0), gradient(lambda x, n=n: f(x, n), x), rtol=1e-12
        )
    with pytest.raises(ValueError, match="reshape"):
        gradient(f, x, 5, argnums=0)


def test_ranges_of_a_dtype(made: list, traced: Callable) -> None:
    """Python makes the range, and machine code does the rest of the loop."""

    def f(x: Any) -> Any:
        s = 0.0
        for i in range(3):
            s = s + np.sum(np.arange(len(x), dtype=np.float32) * x) * x[i]
        s = s + np.max(x)
        t = s
        for i in range(3):
            t = t * np.cos(x[i])
        return t + s

    x = np.cos(np.arange(6.0))
    for _ in range(2):
        np.testing.assert_allclose(gradient(f, x), traced(f, x), rtol=1e-12)
    program = made[0]
    assert program.failure is None
    assert program.native is not None
    assert not program.native.why
