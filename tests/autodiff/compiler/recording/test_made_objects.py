"""Objects that keep what their methods do not read, and classes whose `__init__` does."""

import copy
import dataclasses

import numpy as np
import pytest

from autodiff import compile, gradient

SETTINGS = {"scale": 2.0, "name": "a"}


class Fit:
    def __init__(self, rate):
        self.rate, self.weights, self.history, self.names = rate, None, [], {}

    def loss(self, w):
        return self.rate * np.sum(w**2)


def test_what_only_init_mentions_may_change():
    fit, w = Fit(0.5), np.ones(3)
    step = compile(lambda w: gradient(fit.loss, w))
    for i in range(6):
        np.testing.assert_allclose(step(w), 2 * fit.rate * w)
        fit.weights = w = w - 0.1
        fit.history.append(i)
        fit.names[i] = str(i)
    assert "1 variant" in repr(step)


class Vector:
    def __init__(self, x):
        self.x = x * SETTINGS["scale"] if SETTINGS["name"] == "a" else x

    def plus(self, other):
        return type(self)(self.x + other.x)

    def minus(self, other):
        return self.__class__(self.x - other.x)

    def again(self):
        return copy.copy(self)

    @classmethod
    def of(cls, x):
        return cls(x)

    def __mul__(self, k):
        return Vector(self.x * k)


class Derived(Vector):
    def __init__(self, x):
        super().__init__(x + 1.0)


@dataclasses.dataclass
class Data:
    x: float
    y: float = 0.0

    def __post_init__(self):
        self.y = self.x * SETTINGS["scale"] if SETTINGS["name"] == "a" else self.x

    def moved(self, x):
        return dataclasses.replace(self, x=x)


MADE = Vector(1.0), Derived(1.0), Data(1.0)
CLASSES = {"v": Vector}


@pytest.mark.parametrize(
    "f",
    [
        lambda x: MADE[0].plus(MADE[1]).x * x,
        lambda x: MADE[1].minus(MADE[0]).again().x * x,
        lambda x: MADE[0].of(x).x,
        lambda x: (MADE[1] * x).x,
        lambda x: MADE[2].moved(x).y * x,
        lambda x: CLASSES["v"](x).x ** 2,
    ],
    ids=["type", "class", "classmethod", "operator", "replace", "table"],
)
def test_what_init_reads_is_compared(f, monkeypatch):
    step = compile(lambda x: gradient(f, x))
    for scale, name in [(2.0, "a"), (2.0, "a"), (3.0, "a"), (3.0, "b"), (2.0, "a")]:
        monkeypatch.setitem(SETTINGS, "scale", scale)
        monkeypatch.setitem(SETTINGS, "name", name)
        h = 1e-6
        slope = (f(1.5 + h) - f(1.5 - h)) / (2 * h)
        np.testing.assert_allclose(step(1.5), slope, rtol=1e-6)
