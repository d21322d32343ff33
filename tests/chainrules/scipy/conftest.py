"""What the tests of traced functions share."""

import numpy as np
import pytest
import scipy

import autodiff
from chainrules_core import NoTangent, frule, rrule, unthunk
from chainrules_core.testing import check_frule, with_tangent

NEWEST = tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 17)
STENCIL = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}


def number(y, start=1.0):
    """A number that depends on every part of an output."""
    if isinstance(y, (tuple, list)):
        return sum(number(part, start + i) for i, part in enumerate(y))
    if np.result_type(y).kind not in "fc":
        return 0.0
    weights = start + np.reshape(np.arange(np.size(y)), np.shape(y)) / 7
    return np.sum(weights * np.real(y)) + np.sum(np.cos(weights) * np.imag(y))


def value(f, *xs):
    """The value of an untraced call; what an older SciPy cannot compute is skipped."""
    try:
        return f(*xs)
    except (AttributeError, TypeError, ValueError) as error:
        if NEWEST:
            raise
        pytest.skip(f"SciPy {scipy.__version__} cannot do it: {error}")


@pytest.fixture
def value_of():
    """The value of a call, or a skip where an older SciPy cannot do it."""
    return value


@pytest.fixture
def check_structured():
    """Check both rules of f(a, x), where `a` may only be moved along `a_dot`."""

    def check(f, a, a_dot, x):
        check_frule(f, with_tangent(a, a_dot), x)
        y, pull = rrule(f, a, x)
        y_bar = np.cos(np.arange(np.size(y))).reshape(np.shape(y)) * (1 + 0.3j)
        y_bar = y_bar if np.iscomplexobj(y) else y_bar.real
        x_dot = 0.5 * x + 0.1
        y_dot = frule((NoTangent(), a_dot, x_dot), f, a, x)[1]
        _, a_bar, x_bar = map(unthunk, pull(y_bar))
        expected = np.vdot(y_bar, y_dot).real
        found = np.vdot(a_bar, a_dot).real + np.vdot(x_bar, x_dot).real
        np.testing.assert_allclose(found, expected, rtol=1e-9)

    return check


@pytest.fixture
def check_traced():
    """Check gradient and pushforward of a traced function against differences of sixth order."""

    def check(f, *xs, step=1e-3, rtol=1e-6):
        def loss(*xs):
            return number(f(*xs))

        plain = value(loss, *xs)
        y, back = autodiff.pullback(loss, *xs)
        np.testing.assert_allclose(y, plain, rtol=1e-9, atol=1e-9)
        bars = back(1.0)
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


def total(y, start=1.0):
    """A number that depends on every part of an output, sparse arrays and dicts among them."""
    if isinstance(y, dict):
        y = list(y.values())
    if hasattr(y, "toarray"):
        y = y.toarray()
    if isinstance(y, (tuple, list)):
        return sum((total(part, start + 0.3 * i) for i, part in enumerate(y)), 0.0)
    if y is None or isinstance(y, str):
        return 0.0
    weights = start + np.reshape(np.arange(np.size(y)), np.shape(y)) / 7
    return np.sum(weights * (np.real(y) + 0.7 * np.imag(y)))


def direction(x, start):
    """A direction in which to go from a number or an array: of no symmetry."""
    v = 0.7 * np.cos(start + 1.7 * np.arange(np.size(x))).reshape(np.shape(x)) + 0.2
    v = v - 0.5j * np.roll(v, 1) if np.iscomplexobj(x) else v
    return v if np.ndim(x) else v[()].item()


@pytest.fixture
def check_call():
    """Check a call in both modes, along one direction in which all of its arguments go."""

    def check(f, *xs):
        def loss(*xs):
            return total(f(*xs))

        def copies():  # since some calls overwrite what they are given
            return [np.copy(x) if np.ndim(x) else x for x in xs]

        plain = value(loss, *copies())
        dots = [direction(x, 1.0 + i) for i, x in enumerate(xs)]

        def at(k):
            return loss(*[x + k * 1e-3 * dot for x, dot in zip(xs, dots, strict=True)])

        with np.errstate(all="ignore"):
            expected = sum(c * (at(k) - at(-k)) for k, c in STENCIL.items()) / 1e-3
            y, back = autodiff.pullback(loss, *copies())
            bars = back(1.0)
            _, push = autodiff.pushforward(loss, *copies())
        bars = bars if len(xs) > 1 else (bars,)
        np.testing.assert_allclose(y, plain, rtol=1e-10, atol=1e-10)
        for x, bar in zip(xs, bars, strict=True):
            assert np.shape(bar) == np.shape(x)
            assert np.asarray(bar).dtype == np.asarray(x).dtype
        found = sum(np.sum(np.real(np.conj(b) * d)) for b, d in zip(bars, dots, strict=True))
        scale = max(1.0, abs(plain))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * scale)
        np.testing.assert_allclose(push(*dots), expected, rtol=1e-6, atol=1e-7 * scale)

    return check
