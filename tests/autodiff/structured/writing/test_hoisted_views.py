"""Views that all turns of a loop share are made once, where that changes nothing."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.runtime import Structured


def shares(a, w):
    for i in range(1, len(a)):
        for j in range(i):
            a[i, j] -= a[i, :i] @ a[j, :i] * w[i]
    return np.sum(a * a)


def outside_without_turns(a, w):
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            a[j] = a[j] * w[j] + a[i + 1, :]
    return np.sum(a * a)


def bound_anew(a, w):
    k = 0
    row = a[0] * w
    for i in range(len(a)):
        k = k + 1
        row = row[::-1] * (a[i, :k] @ w[:k]) + a[k - 1, :]
    return np.sum(row * a[0])


def in_a_branch(a, w):
    for i in range(len(a)):
        for j in range(len(w)):
            if j > 2:
                a[i, :] = a[i, :] * w[j]
            elif i + 1 < len(a):
                a[i + 1, :] += a[i, :] * w[j]
    return np.sum(np.sin(a))


def left(a, w):
    for i in range(len(a)):
        for j in range(len(w)):
            a[i, :] = np.cos(a[i, :]) * w[j]
            if a[i, 0] > 0.4:
                break
    return np.sum(a * a)


def while_turning(a, w):
    i = 0
    while i < len(a):
        for j in range(3):
            a[i, j:] = a[i, j:] * w[i] + a[i, : len(a) - j]
        i += 1
    return np.sum(a * a)


def of_lists(a, w):
    rows = []
    for i in range(len(a)):
        rows.append(a[i, :] * w)
        for j in range(len(rows)):
            a[i, : len(rows)] += rows[j][: len(rows)] * w[j]
    return np.sum(a * a)


def by_name(a, w):
    s = 0.0
    for i in range(len(a)):
        v = np.flip(a, axis=1)[:, 0]
        s = s + np.sum(v * w) * w[i]
    return s * s


# How many views stand before loops, forward and in the sweep.
FOUND = {
    shares: (1, 2),
    outside_without_turns: (1, 1),
    bound_anew: (0, 0),
    in_a_branch: (0, 0),
    left: (1, 2),
    while_turning: (0, 0),
    of_lists: (0, 0),
    by_name: (1, 1),
}


def _arguments():
    return np.cos(np.arange(25.0)).reshape(5, 5), 0.5 + np.sin(np.arange(5.0)) ** 2


def _number_before_loops(source: str) -> int:
    starts = re.findall(r"\n( +)if r_\d+_:\n((?:\1    \w+ = .*\n)+)", source)
    return sum(lines.count("\n") for _, lines in starts)


@pytest.mark.parametrize("f", FOUND)
def test_only_views_that_stay_the_same_are_shared(f: Callable) -> None:
    made = Structured(f, (None, None), _arguments(), (0, 1))
    forward, backward = made.source.split("def backward")
    assert (_number_before_loops(forward), _number_before_loops(backward)) == FOUND[f]


@pytest.mark.parametrize("f", FOUND)
def test_gradients_are_those_of_traces(f: Callable, traced: Callable, runs: list[str]) -> None:
    def loss(a, w):
        return f(np.array(a), np.array(w))

    expected = traced(loss, *_arguments())
    for x, y in zip(gradient(loss, *_arguments()), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)
    assert f.__name__ in runs
