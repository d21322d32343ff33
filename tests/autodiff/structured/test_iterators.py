"""Loops over several indices and over generators; calls with parameters of all sorts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import gradient

X = 1.5 + np.cos(np.arange(12.0))
M = np.sin(np.arange(36.0)).reshape(12, 3)


def pairs(x: Any, m: Any) -> Any:
    total = 0.0
    for i, j in itertools.combinations(range(len(x)), 2):
        total += math.exp(-((x[i] - x[j]) ** 2)) * m[i, 0]
        if j > 5:
            continue
        total += x[j] * m[j, 1]
    for a, b, c in itertools.combinations(x[:4], 3):
        total += a * b - c * c
    return total


def grids(x: Any, m: Any) -> Any:
    total = 0.0
    for i, j in itertools.product(range(2, 5), range(3)):
        m[i, j] += x[i] * m[i - 1, j]
    for u, (v, w) in itertools.product([x[0], x[1]], [(x[2], 1.0), (x[3], x[4])]):
        total += u * v + w * w
    for t in itertools.product((1, 2), range(2)):
        total += x[t[0]] * x[t[1] + 4]
    return total + np.sum(m * m)


def elements(x: Any, m: Any) -> Any:
    total = 0.0
    for i, j in np.ndindex(m.shape):
        total += m[i, j] * math.cos(0.1 * i + x[j])
    for (i, j), v in np.ndenumerate(m):
        total += v * v * x[i] * (j + 1)
    for at in np.ndindex(3, 2):
        total += m[at[0], at[1]]
    return total


def halves(n: int, rate: Any) -> Any:
    """Yield weights of a series."""
    w = rate
    for _ in range(n):
        w = w * 0.5 + 0.1
        if w > 0.2:
            yield w
        else:
            yield w * w


def generated(x: Any, m: Any) -> Any:
    def smoothed(xs: Any, a: Any = 0.7) -> Any:
        level = xs[0]
        yield level
        for v in xs[1:]:
            level = a * level + (1.0 - a) * v
            yield level

    total = 0.0
    for k, s in enumerate(smoothed(x), 1):
        total += s * s * m[k - 1, 0]
    for w in halves(4, x[2]):
        for s in smoothed(x[:3], w):
            total += s * w
    for p, q in ((x[i], x[i + 1]) for i in range(4)):
        total += p * q
    return total


def with_names(x: Any, m: Any) -> Any:
    def step(v: Any, *more: Any, rate: float = 0.1, **others: Any) -> Any:
        return v * rate + sum(more) * others.get("bias", 2.0) + sum([u * u for u in more])

    s = 0.0
    for i in range(3):
        s = step(s, x[i], m[i, 1], rate=x[i + 1]) + step(s, bias=x[0]) + step(s, x[2])
    return s


def counts(x: Any, m: Any) -> Any:
    calls, best = 0, x[0]

    def measured(v: Any) -> Any:
        nonlocal calls, best
        calls += 1
        if v > best:
            best = v
        return v * calls

    total = 0.0
    for i in range(len(x)):
        total += measured(x[i] * m[i, 2])
    return total * best + calls


def counts_of_both(x: Any, m: Any) -> Any:
    n = 1.0

    def outer(v: Any) -> Any:
        n = v * 2.0

        def inner() -> Any:
            nonlocal n
            n = n * v
            return n

        return inner() + n

    total = 0.0
    for i in range(4):
        total += outer(x[i]) * n + m[i, 0]
        n = n + 0.5 * x[i]
    return total


def scattered(x: Any, m: Any) -> Any:
    y, z = np.zeros(5), m * 1.0
    places = np.array([0, 3, 3, 1])
    for i in range(4):
        np.add.at(y, places, x[i : i + 4] * y[i])
        np.add.at(z, (places, [0, 1, 1, 2]), x[:4])
        np.add.at(y, places[:2], 0.5)
        z = z * y[1]
    return np.sum(y * y) + np.sum(z)


def tables(x: Any, m: Any) -> Any:
    weights = {name: x[i] * 2.0 for i, name in enumerate(("a", "b"))}
    total = 0.0
    for i in range(3):
        d = np.subtract.outer(x[:3], m[i])
        total += np.sum(np.exp(-weights["a"] * d * d)) + np.add.reduce(m)[i] * weights["b"]
        total += np.maximum.reduce(x) * np.add.reduce(m, axis=1)[i] + np.multiply.outer(x, x)[i, 0]
    return total


def sums_by_name(x: Any, m: Any) -> Any:
    sums = {name: x[i] * 0.1 for i, name in enumerate(("u", "v"))}
    for i in range(4):
        sums["u"] += x[i] * m[i, 0]
        sums["v"] = sums["u"] * sums.get("v", 1.0) + x[i] * max(sums.values())
    return sum(sums.values()) * sums["v"]


def sizes(x: Any, m: Any) -> Any:
    total = 0.0
    for i in range(3):
        a = m[i : i + 3]
        total += np.linalg.norm(a, "fro") + np.linalg.norm(x, 1) * np.linalg.norm(a, 1)
        total += np.linalg.norm(x[i:], np.inf) + np.linalg.norm(a, axis=1)[0] + np.linalg.norm(a)
    return total


PROGRAMS = [
    pairs,
    grids,
    elements,
    generated,
    with_names,
    counts,
    counts_of_both,
    scattered,
    tables,
    sums_by_name,
    sizes,
]


def _loss(f: Callable) -> Callable:
    return lambda x, m: f(x * 1.0, m * 1.0)


@pytest.mark.parametrize("f", PROGRAMS)
def test_what_tracing_gives(f: Callable, traced: Callable, runs: list[str]) -> None:
    found = gradient(_loss(f), X, M)
    assert f.__name__ in runs
    for x, y in zip(found, traced(_loss(f), X, M), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("f", PROGRAMS)
def test_differences(f: Callable) -> None:
    rng, h = np.random.default_rng(5), 1e-6
    dx, dm = rng.normal(size=X.shape), rng.normal(size=M.shape)
    found, loss = gradient(_loss(f), X, M), _loss(f)
    slope = (loss(X + h * dx, M + h * dm) - loss(X - h * dx, M - h * dm)) / (2 * h)
    assert np.sum(found[0] * dx) + np.sum(found[1] * dm) == pytest.approx(slope, rel=1e-6)


def by_keyword(x: Any, /, m: Any, *, rate: Any, n: int = 3) -> Any:
    for k in range(n):
        x = x * rate + m[k, 0]
    return np.sum(x)


def keyword_only(x: Any, *, rate: Any = 0.5, n: int = 3) -> Any:
    for k in range(n):
        x = x * rate + x[k]
    return np.sum(x)


def test_keywords_of_the_function_itself(traced: Callable, runs: list[str]) -> None:
    losses: list[Callable] = [
        lambda x, r: keyword_only(x, rate=r),
        lambda x, r: keyword_only(x, n=4) * r,
        lambda x, r: keyword_only(x, n=2, rate=r * x[0]),
    ]
    for loss in losses:
        expected = traced(loss, X, 0.3)
        for _ in range(2):
            for x, y in zip(gradient(loss, X, 0.3), expected, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-12)
    assert runs.count("keyword_only") == 6
    with pytest.raises(TypeError, match="positional"):
        gradient(lambda x: keyword_only(x, 0.5, 3), X)  # type: ignore[misc]
    loss = lambda x, r: by_keyword(x, M, rate=r)  # noqa: E731
    for x, y in zip(gradient(loss, X, 0.3), traced(loss, X, 0.3), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_a_default_that_changes(traced: Callable) -> None:
    loss = lambda x: keyword_only(x)  # noqa: E731
    gradient(loss, X)
    keyword_only.__kwdefaults__["n"] = 2
    try:
        np.testing.assert_allclose(gradient(loss, X), traced(loss, X), rtol=1e-12)
    finally:
        keyword_only.__kwdefaults__["n"] = 3


def generator_in_a_generator(x: Any) -> Any:
    """A generator that nobody goes over does not give to the loop that is open."""

    def inner() -> Any:
        yield x[0] * 100.0

    def outer() -> Any:
        unused = inner()
        yield x[1]
        yield next(unused) * x[2]

    total = 0.0
    for v in outer():
        total += v * v
    return total


def ends_early(x: Any) -> Any:
    def values() -> Any:
        for v in x:
            if v > 2.3:
                return
            yield v

    total = 0.0
    for v in values():
        if total > 3.0:
            break
        total += v
    for i, j in itertools.product(range(3), range(3)):
        if x[i] > x[j]:
            break
        total += x[i] * x[j]
    return total


def a_view_of_a_dict(x: Any) -> Any:
    """The items that a loop goes over are those that there are then."""
    sums, total = {"u": x[0], "v": x[1]}, 0.0
    for i in range(3):
        for _, s in sums.items():
            total += s * x[i]
            sums["v"] = sums["v"] * 0.5 + s
        values = sums.values()
        sums["u"] = x[i] * 2.0
        total += sum(values)
    return total


@pytest.mark.parametrize("f", [generator_in_a_generator, ends_early, a_view_of_a_dict])
def test_what_is_traced(f: Callable, traced: Callable) -> None:
    np.testing.assert_allclose(gradient(f, X), traced(f, X), rtol=1e-12)
    autodiff.gradient(f, X)
