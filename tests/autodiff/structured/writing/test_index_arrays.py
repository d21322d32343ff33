"""Writes at arrays of indices in loops: as programs, traced, and by machine code."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import gradient
from autodiff.structured import calls
from tests.helpers import define

# Index → whether it can be read in a program: others are traced.
INDICES = {
    "[i, i + 1]": True,
    "[i + 1, 0]": True,
    "[2, i // 3, 3]": True,
    "PLACES": True,
    "np.arange(2)": True,
    "a[:2] > b[:2]": False,  # an error: the length does not fit
    "[1, 1]": True,
    "[0, -1]": True,
    "[i, i]": True,
    "[-4, i, 0]": True,
    "[i, i + 1][::-1]": False,  # a slice of a list
    "np.array([0, i, 0])[::-1]": True,
    "[[0, 1], [i, 0]]": False,
}
STATEMENTS = (
    "m[{at}] = m[{at}][::-1]",
    "m[{at}] = np.sin(m[{at}] * a)",
    "m[{at}] *= b[i]",
    "m[:, {at}] = m[:, {at}] * 0.5 + a[i]",
    "m[{at}, 1] += a[i]",
    "m[{at}, 1:] -= 0.1 * m[{at}, :-1]",
    "a[{at}] = a[{at}][::-1] * m[i, 1]",
    "v = m[1]; v[{at}] = b[i]",
    "m[{at}, {at}] = m[{at}, 0] * a[1]",
    "m[{at}] = m[i]",
    "m[{at}] = m[{at}].T.copy(order='F').T",
    "a[{at}] += b[{at}]",
)
TEXT = """
import numpy as np

PLACES = np.array([3, 0, 2])

def kernel(a, b, m):
    s = 0.0
    for i in range(3):
        {statement}
        s = s + np.sum(m * m[i]) * a[0] + np.dot(a, b)
    return s

def loss(a, b, m):
    return kernel(a * 1.0, b * 1.0, m * 1.0)
"""


def _made(statement: str) -> dict[str, Any]:
    text = TEXT.format(statement=statement)
    return define(text, f"<index {statement}>", {"__name__": "index_arrays"})


def _arguments() -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    return [rng.uniform(0.5, 1.5, size) for size in (4, 4, (4, 4))]


def _outcome(f: Callable, *args: Any) -> Any:
    try:
        return f(*args)
    except (IndexError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("at, statement", list(itertools.product(INDICES, STATEMENTS)))
def test_each(
    at: str, statement: str, native: bool, traced: Callable, runs: list[str], monkeypatch: Any
) -> None:
    monkeypatch.setattr(calls.Settings, "native", 0.0 if native else 9.0)
    loss = _made(statement.format(at=at))["loss"]
    expected = _outcome(traced, loss, *_arguments())
    for _ in range(3):
        found = _outcome(gradient, loss, *_arguments())
        if isinstance(expected, type):
            assert found is expected
            return
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)
    if INDICES[at]:
        assert "kernel" in runs


@pytest.mark.parametrize(
    "statement",
    [
        "m[[i, i + 1]] = np.sin(m[[i + 1, i]] * a)",
        "m[[i, 1]] = np.sin(m[[1, i]] * a)",
        "m[[i, 1, -3], [0, 2, i]] = np.sin(m[[1, i, 0], 1] * a[1:])",
        "a[[i, 0, 1]] = m[[1, i, i], 0] * b[1:]",
    ],
)
def test_differences(statement: str) -> None:
    loss = _made(statement)["loss"]
    found = gradient(loss, *_arguments())
    h = 1e-6
    for k, x in enumerate(_arguments()):
        dot = np.cos(np.arange(x.size)).reshape(x.shape)
        ends = []
        for sign in (1, -1):
            moved = _arguments()
            moved[k] = x + sign * h * dot
            ends.append(loss(*moved))
        np.testing.assert_allclose(np.sum(found[k] * dot), (ends[0] - ends[1]) / (2 * h), rtol=1e-6)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    "made, use, change",
    [
        ("np.arange(9) * 2 % 9", "p", "p[p[:4]] = (p[:4] + 3) % 9"),
        ("np.arange(9) * 2 % 9", "p[1:4]", "p[p] += 1; p %= 9"),
        ("np.arange(9) * 2 % 9", "p", "np.add.at(p, p[::2], 2); p %= 9"),
        ("x > 0.4", "p", "p[p] = t > 0; p[:2] = True"),
    ],
)
def test_writes_at_the_array_itself(
    made: str, use: str, change: str, native: bool, traced: Callable, runs: list, monkeypatch: Any
) -> None:
    text = f"""
import numpy as np

def kernel(x):
    a = x.copy()
    p = {made}
    for t in range(3):
        a[{use}] = np.sin(a[{use}]) * (1.0 + 0.1 * np.arange(np.size(a[{use}])))
        {change}
    return np.sum(a * a)

def loss(x):
    return kernel(x)
"""
    monkeypatch.setattr(calls.Settings, "native", -1.0 if native else np.inf)
    loss = define(text, f"<{change} of {made}>", {"__name__": "index_arrays"})["loss"]
    x = np.linspace(0.1, 0.9, 9)
    expected = traced(loss, x)
    for _ in range(3):
        np.testing.assert_allclose(gradient(loss, x), expected, rtol=1e-12)
    assert "kernel" in runs


def turned_off_by_others(a, n):
    m, s = a > 0.1, 0.0
    for _ in range(n):
        m = m.copy()
        m[m[::-1]] = False
        s = s + np.sum(~m) * np.sum(a)
    return s


def turned_off_at_once(a, n):
    m = np.array([True, True, False, True, False, True, True])
    m[m[::-1]] = False
    return n * np.sum(m) * np.sum(a)


def turned_off_beside(a, n):
    m, s = a > 0.1, 0.0
    for _ in range(n):
        m[1:][m[:-1]] = False
        s = s + np.sum(m) * np.sum(a)
    return s


@pytest.mark.parametrize("f", [turned_off_by_others, turned_off_at_once, turned_off_beside])
def test_a_mask_that_is_another_part_of_the_array(f: Callable) -> None:
    # NumPy reads such a mask while it writes, so the order decides about the value.
    a = np.array([0.5, 0.3, 0.0, 0.9, -1.0, 0.7, 0.2])

    def both(a):
        return autodiff.value_and_gradient(f, a, 3, argnums=0)

    compiled = autodiff.compile(both)
    for run in (both, compiled, compiled):
        value, slopes = run(a)
        np.testing.assert_allclose(value, f(a, 3), rtol=1e-12)
        np.testing.assert_allclose(slopes, f(a, 3) / np.sum(a), rtol=1e-12)
