"""Objects from outside in lists and dicts that are read by an index or key that is not known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured import calls
from tests.helpers import check_gradient

X = np.array([0.9, 0.4, 0.6])


class Site:
    scale = 2.0

    def __init__(self, i: int) -> None:
        self.height = 0.5 * i
        self.weights = np.full(3, 0.1 * i)
        self.near = [i % 3, (i + 1) % 3]
        self.bonus = 1.0 if i % 2 else None
        self.peer: Any = None

    def pull(self, y: Any) -> Any:
        return self.scale * self.height * y + np.sum(self.weights * y)

    @property
    def doubled(self) -> float:
        return 2 * self.height


SITES: list[Site] = []
BY_NAME: dict[str, Site] = {}
ORDER = [3, 1, 4, 1, 0, 2] * 10


@pytest.fixture(autouse=True)
def sites() -> Iterator[None]:
    SITES[:] = [Site(i) for i in range(100)]
    BY_NAME.update(a=SITES[0], b=SITES[3])
    yield
    SITES.clear()
    BY_NAME.clear()


def by_index(x: Any) -> Any:
    total = 0.0
    for k in ORDER:
        site = SITES[k]
        total += site.pull(x[0]) ** 2 + site.doubled * x[1] * x[site.near[0]]
        if site.bonus is not None:
            total += site.bonus * x[2]
    return total


def long_list(x: Any) -> Any:
    total = 0.0
    for site in SITES:
        for k in site.near:
            total += site.pull(x[k]) ** 2
    return total


def sorted_by_key(x: Any) -> Any:
    total, k = 0.0, 0
    sites = sorted(SITES[:8], key=lambda site: -site.height)
    while k < len(sites):
        total = total * x[k % 3] + sites[k].pull(x[0])
        k += 1
    return total


def by_key(x: Any) -> Any:
    total = 0.0
    for k in ["a", "b", "b"] * 12:
        total += BY_NAME[k].pull(x[1]) * x[0] ** 2
    return total


def same_object(x: Any) -> Any:
    total, k = 0.0, 0
    while k < 6:
        total += x[k % 3] ** 2 * (3.0 if SITES[k] is SITES[(k * k) % 6] else 1.0)
        k += 1
    return total


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("f", [by_index, long_list, sorted_by_key, by_key, same_object])
def test_objects_that_are_read(
    f: Callable, native: bool, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls.Settings, "native", 0.0 if native else 9.0)
    for _ in range(3):
        check_gradient(f, X)
    assert f.__name__ in runs


def test_what_changes_between_calls(traced: Callable, runs: list[str]) -> None:
    def compared() -> None:
        for _ in range(2):
            expected = traced(by_index, X)
            np.testing.assert_allclose(gradient(by_index, X), expected, rtol=1e-13)

    compared()
    SITES[3].height = 7.0
    compared()
    SITES[1].weights[1] = 9.0
    compared()
    SITES[1].near[0] = 2
    compared()
    SITES[2] = SITES[50]
    compared()
    SITES[0].bonus = 4.0
    compared()
    assert runs.count("by_index") >= 4
    SITES[3].scale = 5.0  # type: ignore[misc] # now an attribute of its own
    compared()
    SITES[0].pull = lambda y: y  # type: ignore[method-assign]
    compared()


def changed(x: Any) -> Any:
    total, k = 0.0, 0
    while k < 5:
        SITES[k].height += 1.0
        total += SITES[k].height * x[k % 3]
        k += 1
    return total


def array_changed(x: Any) -> Any:
    k = 0
    while k < 5:
        SITES[k].weights[0] = 3.0
        k += 1
    return np.sum(x * SITES[0].weights)


def equal_objects(x: Any) -> Any:
    total, k, best = 0.0, 0, SITES[2]
    while k < 6:
        total += x[k % 3] ** 2 * (3.0 if SITES[k] == best or SITES[k] in SITES[3:5] else 1.0)
        k += 1
    return total


def in_a_circle(x: Any) -> Any:
    SITES[0].peer, SITES[1].peer = SITES[1], SITES[0]
    total, k = 0.0, 0
    while k < 2:
        total += SITES[k].peer.height * x[k]
        k += 1
    return total


@pytest.mark.parametrize("f", [changed, array_changed, equal_objects, in_a_circle])
def test_objects_that_are_traced(f: Callable, runs: list[str], traced: Callable) -> None:
    for _ in range(3):
        SITES[:] = [Site(i) for i in range(100)]
        found = gradient(f, X)
        SITES[:] = [Site(i) for i in range(100)]
        np.testing.assert_allclose(found, traced(f, X), rtol=1e-13)
    assert f.__name__ not in runs
