"""Subclasses of arrays whose elements are traced: the class's own code runs on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from autodiff import DifferentiationError, OutputError, gradient, hessian, pushforward
from tests.helpers import check_gradient, differences

X = np.array([0.3, 1.2, 0.7])
C = np.array([0.5, 1.5, 2.5])


class Length(np.ndarray):
    """A length with a unit, by the protocols of NumPy as libraries of units use them."""

    FACTORS = {"m": 1.0, "km": 1000.0}  # noqa: RUF012 - a constant

    def __new__(cls, numbers: Any, unit: str = "m") -> Any:
        made = np.array(numbers, dtype=float, copy=True, subok=True)
        made = made.view(cls)
        made._put(unit)
        return made

    def _put(self, unit: str) -> None:
        self.unit = unit

    def __array_finalize__(self, other: Any) -> None:
        super().__array_finalize__(other)
        self.unit = getattr(other, "unit", "m")

    @property
    def metres(self) -> Any:
        return self.view(np.ndarray) * self.FACTORS[self.unit]

    def to(self, unit: str) -> Any:
        return type(self)(self.metres / self.FACTORS[unit], unit)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, str):
            return self.to(other)
        return super().__mul__(other)

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return found if isinstance(found, Length) else Length(found, self.unit)

    def __array_ufunc__(self, f: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [x.metres if isinstance(x, Length) else x for x in inputs]
        options.pop("out", None)
        made = super().__array_ufunc__(f, method, *plain, **options)
        return Length(made, "m") if made is not NotImplemented and made.dtype.kind == "f" else made

    def __array_function__(self, f: Any, kinds: Any, args: Any, options: Any) -> Any:
        plain = tuple([x.metres if isinstance(x, Length) else x for x in args])
        return super().__array_function__(f, kinds, plain, options)


class Noted(np.ndarray):
    """With a note, and the arithmetic of arrays."""

    def __array_finalize__(self, other: Any) -> None:
        self.note = getattr(other, "note", "none")

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(index)


USES: dict[str, Callable] = {
    "made and taken apart": lambda x: np.sum(Length(x, "km").metres),
    "converted": lambda x: np.sum(np.asarray(Length(x).to("km"))),
    "a method of the class in an operator": lambda x: np.sum((Length(x) * "km").metres ** 2),
    "arithmetic": lambda x: np.sum((Length(x, "km") * 2.0 + Length(x) * x).metres),
    "from the right": lambda x: np.sum((x * Length(C, "km")).metres),
    "from the left": lambda x: np.sum((Length(C, "km") * x).metres ** 2),
    "a ufunc": lambda x: np.sum(np.sin(Length(x, "km")).metres),
    "a reduction": lambda x: Length(x, "km").sum().metres ** 2,
    "a method of arrays": lambda x: Length(x, "km").reshape(3, 1).sum(axis=0).metres[0],
    "a mean": lambda x: (Length(x, "km") * x).mean().metres,
    "an element": lambda x: Length(x, "km")[1].metres ** 2,
    "a slice": lambda x: np.sum(Length(x, "km")[1:].metres ** 2),
    "a mask": lambda x: np.sum(Length(x, "km")[X > 0.5].metres ** 2),
    "going through": lambda x: sum(v.metres * i for i, v in enumerate(Length(x, "km"))),
    "a function": lambda x: np.dot(Length(x, "km"), Length(x, "km")),
    "an attribute": lambda x: np.sum(x) * len(Length(x, "km").unit),
    "a comparison": lambda x: np.sum(x[np.asarray(Length(x) > Length(C))] ** 2) + x[0],
    "another array": lambda x: np.sum(np.asarray(Length(x, "km"))),
    "a label": lambda x: np.sum(np.asarray(x.view(Noted) * 2.0)[1:] ** 2),
    "sums of labelled": lambda x: (x.view(Noted)[1:] * x[1:]).sum(),
    "a deviation": lambda x: x.view(Noted).std() + np.mean(x.view(Noted)),
    "written into": lambda x: np.sum(np.asarray(_written(x))),
}


def _written(x: Any) -> Any:
    y = np.array(x).view(Noted)
    y[1] = x[0] ** 2
    return y * x


@pytest.mark.parametrize("use", USES)
def test_gradients_are_those_of_the_class(use: str) -> None:
    check_gradient(USES[use], X)


@pytest.mark.parametrize("use", USES)
def test_forward_mode(use: str) -> None:
    dots = np.array([0.2, -0.7, 1.1])
    value, push = pushforward(USES[use], X)
    np.testing.assert_allclose(value, USES[use](X))
    np.testing.assert_allclose(push(dots), differences(USES[use], X) @ dots, rtol=1e-5)


def test_second_derivatives() -> None:
    f = USES["arithmetic"]
    np.testing.assert_allclose(hessian(f, X), differences(lambda x: gradient(f, x), X), rtol=1e-5)


def test_precision_is_kept() -> None:
    found = gradient(lambda x: np.sum(np.asarray(x.view(Noted) * x)), X.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, 2 * X, rtol=1e-6)


def test_what_the_class_is_asked_for() -> None:
    seen = []

    def f(x: Any) -> Any:
        y = Length(x, "km")
        seen.extend([type(y) is Length, y.__class__ is Length, isinstance(y, np.ndarray)])
        seen.extend([type(y[1:]) is Length, y.unit == "km", not hasattr(y, "missing")])
        return np.sum(y.metres)

    gradient(f, X)
    assert all(seen)


def test_numbers_that_mean_something_are_not_given_out() -> None:
    with pytest.raises(OutputError, match="returns a Length"):
        gradient(lambda x: Length(x, "km").sum(), X)
    assert gradient(lambda x: x.view(Noted).sum(), X).tolist() == [1.0, 1.0, 1.0]


def test_what_is_not_followed_is_an_error() -> None:
    refused: list[Callable] = [
        lambda x: np.sum(x.view(Noted).byteswap()),
        lambda x: scipy.linalg.norm(x.view(Noted)),
        lambda x: np.sum(np.add(x.view(Noted), 1.0, out=x.view(Noted))),
    ]
    for f in refused:
        with pytest.raises(DifferentiationError):
            gradient(f, X)


class Doubled(np.ndarray):
    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return np.asarray(array) * 2.0


def test_numbers_of_the_class_are_compared() -> None:
    with pytest.raises(DifferentiationError, match="gives other numbers"):
        gradient(lambda x: np.sum(x.view(Doubled) * x), X)


def test_the_number_of_one_element():
    found = gradient(lambda x: float(Length(x) * 2.0) + float(Length(x**2, "km").to("m")), 1.5)
    np.testing.assert_allclose(found, 2.0 + 2000.0 * 1.5)
