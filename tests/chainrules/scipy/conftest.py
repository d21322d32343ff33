"""What the tests of traced functions share."""

import numpy as np
import pytest

import autodiff

STENCIL = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}


def number(y, start=1.0):
    """A number that depends on every part of an output."""
    if isinstance(y, (tuple, list)):
        return sum(number(part, start + i) for i, part in enumerate(y))
    if np.result_type(y).kind not in "fc":
        return 0.0
    weights = start + np.reshape(np.arange(np.size(y)), np.shape(y)) / 7
    return np.sum(weights * np.real(y)) + np.sum(np.cos(weights) * np.imag(y))


@pytest.fixture
def check_traced():
    """Check gradient and pushforward of a traced function against differences of sixth order."""

    def check(f, *xs, step=1e-3, rtol=1e-6):
        def loss(*xs):
            return number(f(*xs))

        bars = autodiff.pullback(loss, *xs)[1](1.0)
        bars = bars if len(xs) > 1 else (bars,)
        dots = [np.cos(1.0 + 2.0 * np.arange(np.size(x))).reshape(np.shape(x)) for x in xs]
        dots = [d if np.ndim(x) else float(d) for d, x in zip(dots, xs, strict=True)]
        push = autodiff.pushforward(loss, *xs)[1]
        total = 0.0
        for i, (x, dot) in enumerate(zip(xs, dots, strict=True)):

            def at(k, i=i, x=x, dot=dot):
                return loss(*xs[:i], x + k * step * dot, *xs[i + 1 :])

            slope = sum(c * (at(k) - at(-k)) for k, c in STENCIL.items()) / step
            np.testing.assert_allclose(np.sum(bars[i] * dot), slope, rtol=rtol, atol=1e-7)
            total += slope
        np.testing.assert_allclose(push(*dots), total, rtol=rtol, atol=1e-7)

    return check
