"""Classes and objects that change after programs were made of functions that use them."""

import numbers

import numpy as np
import pytest

from autodiff import automatic_compile, gradient
from autodiff.autocompile import why_not

W = np.array([0.3, -0.7, 1.1])

pytestmark = pytest.mark.usefixtures("soon")


class Base:
    scale = 2.0

    def loss(self, w):
        return np.sum((self.scale * w - self.y) ** 2) * self.gain()

    def gain(self):
        return 1.0


class Other(Base):
    def __init__(self):
        self.k = 3.0
        self.y = np.arange(3.0)

    def gain(self):
        return 10.0


class Mixed:
    pass


class Kept(Mixed, Base):
    def __init__(self):
        self.k = 0.0
        self.y = np.arange(3.0)

    def gain(self):
        return super().gain() * np.copysign(1.0, self.k)


kept = Kept()


@pytest.mark.parametrize("f", [lambda w: kept.loss(w), lambda w: Kept().loss(w)])
@pytest.mark.parametrize(
    "kind, name, value",
    [
        (Mixed, "gain", lambda self: 7.0),
        (Mixed, "scale", 7.0),
        (Kept, "k", property(lambda self: -1.0, lambda self, k: None)),
        (Kept, "__bases__", (Other,)),
        (Kept, "__getattribute__", lambda self, name: object.__getattribute__(Other(), name)),
    ],
)
def test_what_hides_something_else(monkeypatch, f, kind, name, value):
    assert why_not(f) == ""
    for _ in range(6):  # the next calls are not compared
        before = gradient(f, W)
    if name == "__bases__":
        had = kind.__bases__
        kind.__bases__ = value
    else:
        monkeypatch.setattr(kind, name, value, raising=False)
    try:
        found = [gradient(f, W) for _ in range(3)]
        automatic_compile(False)
        expected = gradient(f, W)
    finally:
        automatic_compile(True)
        if name == "__bases__":
            kind.__bases__ = had
    assert np.any(expected != before)
    np.testing.assert_allclose(found, [expected] * 3, rtol=1e-12)


def test_the_other_zero():
    assert why_not(kept.loss) == ""
    for _ in range(6):  # the next calls are not compared
        before = gradient(kept.loss, W)
    kept.k = -0.0
    found = [gradient(kept.loss, W) for _ in range(3)]
    kept.k = 0.0
    np.testing.assert_allclose(found, [-before] * 3, rtol=1e-12)


def test_a_class_that_is_registered_as_a_subclass():
    class Local:
        pass

    local, Real = Local(), numbers.Real

    def f(w):
        return np.sum(w * w) * (2.0 if isinstance(local, Real) else 3.0)

    assert why_not(f) == ""
    for _ in range(6):
        np.testing.assert_allclose(gradient(f, W), 6.0 * W, rtol=1e-12)
    Real.register(Local)
    for _ in range(3):
        np.testing.assert_allclose(gradient(f, W), 4.0 * W, rtol=1e-12)
