"""Arguments that are objects with traced attributes: dataclasses of parameters, and methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured import calls
from tests.helpers import check_gradient

X = np.array([0.9, 0.4, 0.6, 0.7])


@dataclass(frozen=True)
class Noise:
    scale: Any
    name: str = "white"


@dataclass
class Model:
    trans: Any
    gain: Any
    noise: Noise
    steps: int = 3
    limits: tuple = (0.1, 5.0)

    @property
    def doubled(self) -> Any:
        return self.gain * 2.0

    def step(self, y: Any) -> Any:
        low, high = self.limits
        return min(max(self.gain * y, low), high) + self.noise.scale

    def filtered(self, y: Any) -> Any:
        for _ in range(self.steps):
            y = self.step(y) * self.doubled
        return y


def of_model(model: Any, x: Any) -> Any:
    y = x * 1.0
    for _ in range(model.steps):
        y = model.trans @ y * model.noise.scale
        if model.noise.name == "white":
            y = y + model.step(x[0])
    return np.sum(y * y)


def of_models(models: Any, x: Any) -> Any:
    total = 0.0
    for _ in range(3):
        for key in ("a", "b"):
            total = total + models[key].gain * np.sum(models[key].trans @ x)
    return total


def written_into(model: Any, x: Any) -> Any:
    for i in range(3):
        model.trans[i] = model.trans[i + 1] * model.gain
    return np.sum(model.trans * x)


def bound_anew(model: Any, x: Any) -> Any:
    for _ in range(3):
        model.gain = model.gain * x[0]
    return model.gain


def model_of(x: Any) -> Model:
    return Model(np.outer(x, x), x[1], Noise(x[2]))


@pytest.mark.parametrize("f", [of_model, written_into])
def test_read(f: Callable, runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(calls.ProgramRun, "traced")
    check_gradient(lambda x: f(model_of(x), x), X)
    assert f.__name__ in runs


@pytest.mark.parametrize("f", [of_model, written_into])
def test_traced_again_with_an_object_like_it(f: Callable, traced: Callable) -> None:
    with pytest.MonkeyPatch.context() as m:
        m.setattr(calls.ProgramRun, "cotangents", calls.ProgramRun.traced)
        found = gradient(lambda x: f(model_of(x), x), X)
    assert np.allclose(found, traced(lambda x: f(model_of(x), x), X))


def test_a_method_with_a_loop(runs: list[str]) -> None:
    check_gradient(lambda x: model_of(x).filtered(x[3]), X)
    assert "filtered" in runs


def test_an_object_made_at_each_call(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The second object shows that each call makes one: from then on there is one program."""

    class Kernel:
        def __init__(self, width: float) -> None:
            self.width = width

        def smoothed(self, x: Any) -> Any:
            total = 0.0
            for v in x:
                total += np.exp(-((v / self.width) ** 2))
            return total

    read: list[str] = []
    make = calls.Programs.made
    monkeypatch.setattr(
        calls.Programs, "made", lambda self, *args: read.append(self.name) or make(self, *args)
    )
    for k in range(12):
        check_gradient(lambda x: Kernel(0.5 + 0.1 * k).smoothed(x), X)  # noqa: B023
    assert len(read) <= 3
    assert runs.count("smoothed") >= 10


def test_objects_in_a_dict(runs: list[str]) -> None:
    def loss(x: Any) -> Any:
        return of_models({"a": model_of(x), "b": model_of(x * 2.0)}, x)

    check_gradient(loss, X)
    assert "of_models" in runs


def test_an_attribute_that_is_bound_anew(runs: list[str]) -> None:
    def loss(x: Any) -> Any:
        model = model_of(x)
        return bound_anew(model, x) + model.gain

    check_gradient(loss, X)
    assert "bound_anew" in runs


def test_objects_that_differ(traced: Callable) -> None:
    class Other(Model):
        def step(self, y: Any) -> Any:
            return self.gain - y

    def loss(x: Any, change: Callable) -> Any:
        return of_model(change(model_of(x)), x)

    def renamed(m: Model) -> Model:
        return replace(m, noise=Noise(m.noise.scale, "pink"))

    def other(m: Model) -> Model:
        return Other(m.trans, m.gain, m.noise)

    def longer(m: Model) -> Model:
        return replace(m, steps=5)

    for change in (lambda m: m, renamed, other, longer, renamed):
        found = gradient(lambda x, c=change: loss(x, c), X)
        assert np.allclose(found, traced(lambda x, c=change: loss(x, c), X))


def test_a_method_that_has_changed(monkeypatch: pytest.MonkeyPatch, traced: Callable) -> None:
    def loss(x: Any) -> Any:
        return of_model(model_of(x), x)

    before = gradient(loss, X)
    monkeypatch.setattr(Model, "step", lambda self, y: y - self.gain)
    assert np.allclose(gradient(loss, X), traced(loss, X))
    assert not np.allclose(gradient(loss, X), before)


def test_objects_that_hold_each_other(traced: Callable) -> None:
    def loss(x: Any) -> Any:
        a, b = model_of(x), model_of(x)
        a.other, b.other = b, a  # type: ignore[attr-defined]
        a.again, b.again = b, a  # type: ignore[attr-defined]
        return of_model(a, x)

    assert np.allclose(gradient(loss, X), traced(loss, X))


def by_neighbours(x: Any, links: dict, weights: dict) -> Any:
    total = 0.0
    for _ in range(3):
        new = np.zeros(4)
        for k, others in links.items():
            for j in others:
                new[j] += weights[k] * x[k] / len(others)
        x = new + 0.1 * x
        total = total + x[2] ** 2
    return total


def test_dicts_whose_keys_are_numbers(runs: list[str]) -> None:
    links, weights = {0: [1, 2], 2: [3], 1: [0, 2, 3], 3: [2]}, {0: 1.0, 1: 0.5, 2: 2.0, 3: -1.0}
    for _ in range(2):
        check_gradient(lambda x: by_neighbours(x, links, weights), X)
    assert "by_neighbours" in runs
    other = {0: [3], 1: [2], 2: [1], 3: [0, 1]}
    check_gradient(lambda x: by_neighbours(x, other, weights), X)
    with_truth = {0: 1.0, True: 0.5, 2: 2.0, 3: -1.0}
    check_gradient(lambda x: by_neighbours(x, other, with_truth), X)
