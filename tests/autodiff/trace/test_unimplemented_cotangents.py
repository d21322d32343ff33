"""Unimplemented derivatives: an error where the result depends on them, and only there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff import derivative, gradient, ignore_derivatives, jacobian, pushforward
from chainrules_core import NotImplementedTangentError, frule, not_implemented, rrule
from chainrules_core.define import primitive

X = np.array([1.0, 2.0, 3.0])


@primitive
def unknown(x: Any) -> Any:
    return x * 1.0


@pytest.fixture(autouse=True)
def rules():
    """Rules for each test, after which they are taken away."""

    @rrule.register(unknown)
    def unknown_rrule(x):
        return unknown(x), lambda y_bar: (not_implemented("of unknown"),)

    @frule.register(unknown)
    def unknown_frule(dots, x):
        return unknown(x), not_implemented("of unknown")


USED = [
    lambda x: np.sum(unknown(x)),
    lambda x: np.sum(x + unknown(x) * 2),
    lambda x: np.sum(np.sin(unknown(x)) / x),
    lambda x: unknown(x) @ x,
    lambda x: np.linalg.norm(np.concatenate([x, unknown(x)])),
    lambda x: float(unknown(x)[0]) * x[1],
    lambda x: np.sum(np.where(x > 1.5, unknown(x), x)),
    lambda x: np.sum(np.reshape(unknown(x), (3, 1)).T[:, 1:] ** 2),
    lambda x: np.max(unknown(x)),
    lambda x: np.sum(np.sort(unknown(x))),
]
USED_AFTER_A_WRITE = lambda x: np.sum(written(x, unknown(x)))  # noqa: E731


def written(x: Any, part: Any) -> Any:
    y = np.zeros(6)
    y[:3] = x
    y[3:] += part
    return y


NOT_USED = [
    (lambda x: unknown(x).shape[0] * x[0], [3.0, 0.0, 0.0]),
    (lambda x: x[0] if np.all(np.real(unknown(x)) > 0.0) else x[1], [1.0, 0.0, 0.0]),
    (lambda x: np.sum(x * ignore_derivatives(unknown(x))), X),
    (lambda x: np.sum(x + np.sign(unknown(x))), np.ones(3)),
    (lambda x: (np.sum(x), np.exp(unknown(x)) @ x, written(x, unknown(x)))[0], np.ones(3)),
]
OF_CONSTANTS = [
    (lambda x: np.sum(unknown(np.append(x, 0.0)[3:])) + x[0], [1.0, 0.0, 0.0]),
    (lambda x: np.sum(unknown(0.0 * x)) + x[0], [1.0, 0.0, 0.0]),
    (lambda x: unknown(x * np.array([0.0, 0.0, 0.0]))[0] + x[0], [1.0, 0.0, 0.0]),
]


@pytest.mark.parametrize("f", [*USED, USED_AFTER_A_WRITE])
def test_what_is_used_is_an_error(f):
    for _ in range(20):  # the first calls take other ways than later ones
        with pytest.raises(NotImplementedTangentError, match="of unknown"):
            gradient(f, X)
        with pytest.raises(NotImplementedTangentError, match="of unknown"):
            pushforward(f, X)[1](np.ones(3))
    with pytest.raises(NotImplementedTangentError, match="of unknown"):
        jacobian(lambda x: np.stack([f(x), x[0]]), X)
    with pytest.raises(NotImplementedTangentError, match="of unknown"):
        derivative(lambda t: pushforward(f, t * X)[1](np.ones(3)), 1.0)


@pytest.mark.parametrize("f, expected", NOT_USED)
def test_what_is_not_used_is_none(f, expected):
    np.testing.assert_allclose(gradient(f, X), expected)
    np.testing.assert_allclose(pushforward(f, X)[1](X), expected @ X)
    np.testing.assert_allclose(jacobian(f, X), expected)


@pytest.mark.parametrize("f, expected", OF_CONSTANTS)
def test_of_what_does_not_depend_on_the_argument(f, expected):
    np.testing.assert_allclose(gradient(f, X), expected)
    np.testing.assert_allclose(jacobian(f, X), expected)
