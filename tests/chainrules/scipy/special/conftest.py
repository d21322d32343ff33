"""What the tests of scipy.special share."""

import numpy as np
import pytest

import autodiff
from chainrules_core.testing import check_rule

NEAR = np.array([1.0, 1.02, 0.97])


def is_inexact(a):
    return isinstance(a, (float, complex))


def single(a):
    return (np.complex64 if isinstance(a, complex) else np.float32)(a)


def with_floats(args, change):
    """Change the inexact arguments; integers stay the constants that they are."""
    return [change(a) if is_inexact(a) else a for a in args]


@pytest.fixture
def check_elementwise():
    """Check a rule on numbers, and on arrays of many kinds of numbers near them."""

    def check(f, *args, single_precision=True, slow=False, fkwargs=None, **options):
        def at(change):
            check_rule(f, *with_floats(args, change), fkwargs=fkwargs, **options)

        def read_only(a):
            array = np.repeat(a * NEAR, 2)[::-2]
            array.flags.writeable = False
            return array

        at(lambda a: a)
        at(read_only)
        if slow:
            return
        at(lambda a: np.zeros((2, 0), type(a)))
        shapes = iter([(3, 1), (2,), (), (1, 2), ()])
        at(lambda a: np.resize(a * NEAR, next(shapes)))
        if single_precision:
            at(lambda a: single(a) * NEAR.astype(np.float32))

    return check


def total(y):
    """A number that depends on all parts of an output in some way."""
    if isinstance(y, tuple):
        return sum((i + 1.5) * total(part) for i, part in enumerate(y))
    weights = np.cos(np.arange(np.size(y))).reshape(np.shape(y))
    return np.sum(weights * (np.real(y) + 0.5 * np.imag(y)))


@pytest.fixture
def check_curvature():
    """Check the engine's gradients of first and second order with respect to each number."""

    def check(f, *args, rtol=1e-6, **options):
        for j, a in enumerate(args):
            if not is_inexact(a):
                continue

            def alone(t, j=j):
                return total(f(*args[:j], args[j] + t, *args[j + 1 :], **options))

            def slope(t, alone=alone):
                return autodiff.gradient(alone, t)

            for function in (alone, slope):
                h = 1e-3
                steps = [function(k * h) for k in (1, -1, 2, -2)]
                expected = (8 * (steps[0] - steps[1]) - (steps[2] - steps[3])) / (12 * h)
                found = autodiff.gradient(function, 0.0)
                assert found == pytest.approx(expected, rel=rtol, abs=rtol), (j, function)
                _, forward = autodiff.jvp(function, (0.0,), (1.0,))
                assert forward == pytest.approx(expected, rel=rtol, abs=rtol), (j, function)

    return check


@pytest.fixture
def check_mixed():
    """Check second derivatives by all pairs of numbers; each half comes from its own rule."""

    def check(f, *args, step=1e-4, rtol=1e-5):
        def value(x):
            return f(*[x[i] for i in range(len(args))])

        x = np.array(args)
        moves = step * np.eye(len(args))
        with np.errstate(all="ignore"):
            pairs = [[autodiff.gradient(value, x + k * move) for k in (1, -1)] for move in moves]
            expected = np.stack([(ahead - back) / (2 * step) for ahead, back in pairs])
            found = autodiff.hessian(value, x)
        np.testing.assert_allclose(found, found.T, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)

    return check
