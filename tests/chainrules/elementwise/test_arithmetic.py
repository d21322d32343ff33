import operator

import numpy as np
import pytest

from chainrules_core import rrule
from chainrules_core.testing import COMPLEX, NONZERO, POSITIVE, REAL, check_rule, const

SHAPES = [((), ()), ((3,), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((0,), ())]
UNARY_SHAPES = [(), (3,), (2, 2), (0,)]
STRIDED = np.linspace(0.3, 2.5, 24).reshape(4, 6)[::2, ::-2]


def by_name(f):
    return f"{f.__module__ or 'numpy'}.{f.__name__}"


BINARY = [
    (operator.add, REAL, REAL),
    (operator.sub, REAL, REAL),
    (operator.mul, REAL, REAL),
    (operator.truediv, REAL, NONZERO),
    (operator.mod, NONZERO, NONZERO),
    (operator.pow, POSITIVE, NONZERO),
    (np.add, REAL, REAL),
    (np.subtract, REAL, REAL),
    (np.multiply, REAL, REAL),
    (np.divide, REAL, NONZERO),
    (np.remainder, NONZERO, NONZERO),
    (np.fmod, NONZERO, NONZERO),
    (np.divmod, NONZERO, NONZERO),
    (np.copysign, NONZERO, NONZERO),
    (np.power, POSITIVE, NONZERO),
    (np.float_power, POSITIVE, NONZERO),
]
UNARY = [
    (operator.neg, REAL),
    (operator.pos, REAL),
    (np.negative, REAL),
    (np.positive, REAL),
    (np.square, REAL),
    (np.reciprocal, NONZERO),
    (np.modf, NONZERO),
    (np.frexp, NONZERO),
]
HOLOMORPHIC = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, np.add, np.subtract,
    np.multiply, np.divide, np.power, np.float_power,
]  # fmt: skip
HOLOMORPHIC_UNARY = [
    operator.neg, operator.pos, np.negative, np.positive, np.square, np.reciprocal,
]  # fmt: skip
NAMES = {"ids": lambda v: by_name(v) if callable(v) else str(v).replace(" ", "")}


@pytest.mark.parametrize("f, a, b", BINARY, **NAMES)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_binary(f, a, b, shapes):
    check_rule(f, a.draw(shapes[0]), b.draw(shapes[1]))


@pytest.mark.parametrize("f, a, b", BINARY, **NAMES)
def test_binary_in_other_forms(f, a, b):
    check_rule(f, a.draw(3, np.float32), b.draw(3, np.float32))
    check_rule(f, np.array(a.draw()), b.draw())
    check_rule(f, STRIDED, b.draw(3))


@pytest.mark.parametrize("f", HOLOMORPHIC, **NAMES)
def test_complex_numbers(f):
    check_rule(f, COMPLEX.draw(3), COMPLEX.draw((2, 3)))
    check_rule(f, COMPLEX.draw(), COMPLEX.draw())
    check_rule(f, POSITIVE.draw(3), COMPLEX.draw(3))
    check_rule(f, COMPLEX.draw(3), REAL.draw(3))
    check_rule(f, COMPLEX.draw(3, np.complex64), COMPLEX.draw(3, np.complex64))


@pytest.mark.parametrize("f, domain", UNARY, **NAMES)
def test_unary(f, domain):
    for shape in UNARY_SHAPES:
        check_rule(f, domain.draw(shape))
    check_rule(f, domain.draw(3, np.float32))
    check_rule(f, np.array(domain.draw()))
    check_rule(f, STRIDED)


@pytest.mark.parametrize("f", HOLOMORPHIC_UNARY, **NAMES)
def test_unary_of_complex_numbers(f):
    check_rule(f, COMPLEX.draw())
    check_rule(f, COMPLEX.draw((2, 2)))


@pytest.mark.parametrize("f", [operator.pow, np.power, np.float_power], **NAMES)
@pytest.mark.parametrize("p", [0, 1, 2, 3, -1, -2, 0.5, -0.5, 2.5, np.float64(2), np.int64(3)])
def test_power_with_a_plain_exponent(f, p):
    check_rule(f, POSITIVE.draw(3), p)
    check_rule(f, POSITIVE.draw(), p)
    check_rule(f, COMPLEX.draw(3), p)
    check_rule(f, POSITIVE.draw(3, np.float32), p)


def test_power_of_a_negative_float_is_complex():
    check_rule(operator.pow, -2.0, 0.3)


def test_ldexp():
    check_rule(np.ldexp, REAL.draw(3), np.array([1, -2, 3]))
    check_rule(np.ldexp, REAL.draw((2, 1)), np.array([1, -2, 3]))
    check_rule(np.ldexp, 1.5, 3)
    check_rule(np.ldexp, REAL.draw(3, np.float32), 2)


def test_dtype_by_keyword():
    check_rule(np.multiply, REAL.draw(3), REAL.draw(3), fkwargs={"dtype": np.float64})


def test_truth_values_are_constants():
    check_rule(np.add, 1.5, np.True_)
    check_rule(operator.mul, REAL.draw(3), np.array([True, False, True]))
    check_rule(operator.mul, 1.5, const(True))


X = np.array([0.7, 1.9, 2.4])
ENGINE = [
    lambda x: x + x[0],
    lambda x: x - x[0] * 2,
    lambda x: x * x[::-1],
    lambda x: x / x[1],
    lambda x: 1 / x,
    lambda x: -x * +x,
    lambda x: x**2,
    lambda x: x**3,
    lambda x: x**-1,
    lambda x: x**0.5,
    lambda x: x**0 * x,
    lambda x: 2**x,
    lambda x: x ** x[0],
    lambda x: x[0] ** x[1] * x,
    lambda x: (-x) ** 3,
    lambda x: np.power(x, x[::-1]),
    lambda x: np.float_power(x, 3),
    lambda x: np.square(x) * np.reciprocal(x[0]),
    lambda x: x % 0.9 * x,
    lambda x: 5.3 % x,
    lambda x: np.fmod(x, -0.9) * x,
    lambda x: np.fmod(-5.3, x),
    lambda x: sum(divmod(x, x[0])) * x,
    lambda x: np.divmod(5.3, x)[1] * x,
    lambda x: np.modf(x)[0] * x,
    lambda x: np.frexp(x)[0] * x,
    lambda x: np.ldexp(x, 3) * x,
    lambda x: np.copysign(x, -1.0) * x,
    lambda x: np.copysign(x, x[::-1]) * x,
    lambda x: (x * (1 + 2j)) ** 2 / (x[0] + 1j),
    lambda x: np.multiply(x, x, dtype=float),
]


@pytest.mark.parametrize("f", ENGINE)
def test_engine(f, check_engine):
    check_engine(f, X)


def test_powers_that_over_or_underflow():
    """There p x^(p-1) is not p y/x."""
    x, p = np.array([1e300, 1e-300, 2.0, 0.5]), np.array([1.03, 1.05, 3.0, 2.0])
    with np.errstate(over="ignore", under="ignore"):
        _, x_bar, p_bar = rrule(np.power, x, p)[1](np.ones(4))
    np.testing.assert_allclose(x_bar, p * x ** (p - 1), rtol=1e-13)
    assert p_bar[0] == np.inf
    np.testing.assert_allclose(p_bar[1:], x[1:] ** p[1:] * np.log(x[1:]), rtol=1e-13)


def test_small_powers_keep_their_digits_under_small_cotangents():
    x, p, y_bar = np.full(3, 1e-100), np.full(3, 3.05), np.full(3, 1e-12)
    _, x_bar, _ = rrule(np.power, x, p)[1](y_bar)
    np.testing.assert_allclose(x_bar, y_bar * p * x ** (p - 1), rtol=1e-12)


def test_powers_of_zero_and_of_negative_numbers():
    x, p = np.array([0.0, -2.0, 3.0]), np.array([2.0, 3.0, 1.5])
    _, x_bar, p_bar = rrule(np.power, x, p)[1](np.ones(3))
    np.testing.assert_allclose(x_bar, p * x ** (p - 1))
    np.testing.assert_allclose(p_bar, [0, -8 * np.log(2), 3**1.5 * np.log(3)])


def test_copysign_at_zero_and_infinity():
    a, b = np.array([0.0, -0.0, np.inf, -2.0, 3.0]), np.array([-1.0, 1.0, -1.0, 1.0, -1.0])
    a_bar = rrule(np.copysign, a, b)[1](np.full(5, 2.0))[1]
    np.testing.assert_array_equal(a_bar, [0, 0, -2, -2, -2])
    a_bar = rrule(np.copysign, a[3:], b[3:])[1](np.full(2, 2.0))[1]
    np.testing.assert_array_equal(a_bar, [-2, -2])
