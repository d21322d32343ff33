"""Floats of Python's raise where NumPy gives Inf: compiled as well, whoever reads the result."""

import math

import numpy as np
import pytest

from autodiff import compile, gradient

RAISING = [
    (lambda x: x**2, 1e160),
    (lambda x: x**3, -1e104),
    (lambda x: x**5, 1e62),
    (lambda x: x**1.5, 1e300),
    (lambda x: x**-1, 1e-310),
    (lambda x: math.pow(x, 3), 1e104),
    (lambda x: math.lgamma(x), -3.0),
    (lambda x: math.lgamma(x), 1e308),
    (lambda x: x + 0.0 * math.floor(x // (x - 1.0)), 1.0),
    (lambda x: (math.exp(x), x * x)[1], 800.0),
    (lambda x: (math.expm1(x), x * x)[1], 800.0),
    (lambda x: (math.cosh(x), x * x)[1], -800.0),
    (lambda x: (math.sinh(x), x * x)[1], 800.0),
    (lambda x: (math.gamma(x), x * x)[1], 172.0),
    (lambda x: (math.gamma(x), x * x)[1], -2.0),
    (lambda x: (math.fmod(1.0, x), x * x)[1], 0.0),
    (lambda x: (2.0 % x, x * x)[1], 0.0),
    (lambda x: (2.0 // x, x * x)[1], 0.0),
    (lambda x: 2.0 % np.float64(x).item(), 0.0),
    (lambda x: 2.0 // np.array([x])[0].item(), 0.0),
    (lambda x: divmod(2.0, float(np.asarray(x)))[1], 0.0),
    (lambda x: 2.0 / np.sum(np.array([x])).item(), 0.0),
    (lambda x: pow(float(np.float64(x)), -1.0), 0.0),
]


@pytest.mark.parametrize("backend", ["python", "native"])
@pytest.mark.parametrize("f, x", RAISING)
def test_what_raises_eagerly_raises_compiled(f, x, backend):
    for eager in (f, lambda x: gradient(f, x)):
        with pytest.raises((ArithmeticError, ValueError)) as expected:
            eager(x)
        compiled = compile(eager, backend=backend)
        for y in (1.7, 2.3):
            assert compiled(y) == pytest.approx(eager(y), rel=1e-12)
        with pytest.raises(expected.type, match=str(expected.value.args[-1])):
            compiled(x)
        assert compiled(2.7) == pytest.approx(eager(2.7), rel=1e-12)


@pytest.mark.parametrize("f", [lambda x: x**2, lambda x: x**3, lambda x: x**-2, math.exp])
@pytest.mark.parametrize("x", [math.inf, -math.inf])
def test_powers_of_infinity_are_values(f, x):
    compiled = compile(lambda x: f(x) + 1.0, backend="python")
    compiled(1.5)
    programs = compiled.variants
    assert compiled(x) == f(x) + 1.0
    assert compiled.variants == programs


@pytest.mark.parametrize("c", [2, 3, 7, -1, -2, 1.5, 40.0])
def test_the_last_base_that_has_a_power_is_found(c):
    compiled = compile(lambda x: x**c, backend="python")
    compiled(1.5)
    limit = 1.7976931348623157e308 ** (1 / c)
    for x in (limit * (1 - 1e-12), limit * (1 + 1e-12)):
        try:
            expected = x**c
        except OverflowError:
            with pytest.raises(OverflowError):
                compiled(x)
        else:
            assert compiled(x) == pytest.approx(expected, rel=1e-12)
