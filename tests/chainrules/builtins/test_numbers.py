import builtins
import cmath
import math

import numpy as np
import pytest

import chainrules  # noqa: F401  # registers the rules
from chainrules_core import NoTangent, Tangent, ZeroTangent, rrule
from chainrules_core.testing import check_rule, check_scalar

OF_ONE = {
    math.acos: 0.3, math.acosh: 1.7, math.asin: 0.3, math.asinh: -0.4, math.atan: 0.5,
    math.atanh: 0.3, math.cbrt: -2.0, math.cos: 0.3, math.cosh: 0.3, math.degrees: 2.0,
    math.erf: 0.3, math.erfc: 0.4, math.exp: 0.3, math.exp2: 0.3, math.expm1: 0.3,
    math.fabs: -2.0, math.gamma: 2.3, math.lgamma: 2.3, math.log: 3.0, math.log10: 3.0,
    math.log1p: 2.0, math.log2: 3.0, math.radians: 3.0, math.sin: 0.3, math.sinh: 0.4,
    math.sqrt: 2.0, math.tan: 0.3, math.tanh: -0.3,
}  # fmt: skip
OF_TWO = [
    math.atan2, math.copysign, math.fmod, math.hypot, math.log, math.pow, math.remainder,
]  # fmt: skip
CMATH = [
    cmath.acos, cmath.acosh, cmath.asin, cmath.asinh, cmath.atan, cmath.atanh, cmath.cos,
    cmath.cosh, cmath.exp, cmath.log, cmath.log10, cmath.phase, cmath.polar, cmath.sin, cmath.sinh,
    cmath.sqrt, cmath.tan, cmath.tanh,
]  # fmt: skip
PLANE = [0.3 + 0.4j, -2 + 0.3j, -2 - 0.3j, 2 + 0.3j, 2 - 0.3j, -0.4 + 1.8j, 0.4 - 1.8j]


def by_name(f):
    return f"{f.__module__}.{f.__name__}" if callable(f) else str(f)


@pytest.mark.parametrize("module", [math, cmath], ids=lambda m: m.__name__)
def test_every_function_is_in_a_class(module):
    functions = [f for name, f in vars(module).items() if callable(f) and name[0] != "_"]
    assert [f.__name__ for f in functions if not rrule.methods(f)] == []


@pytest.mark.parametrize("f, x", OF_ONE.items(), ids=by_name)
def test_math(f, x):
    check_rule(f, x)
    check_rule(f, np.float64(x))
    check_rule(f, np.float32(x))
    check_rule(f, np.array(x))


@pytest.mark.parametrize("f", OF_TWO, ids=by_name)
def test_math_of_two(f):
    check_rule(f, 3.3, 1.4)
    check_rule(f, 1.3, 2)
    check_rule(f, np.float32(1.3), 2.4)


def test_values_are_floats():
    y, pullback = rrule(math.sin, 1)
    assert type(y) is float
    assert type(pullback(1.0)[1]) is float


@pytest.mark.parametrize(
    "f, args, kwargs",
    [
        (math.modf, (3.3,), {}),
        (math.modf, (-3.3,), {}),
        (math.frexp, (3.3,), {}),
        (math.ldexp, (1.3, 4), {}),
        (math.hypot, (1.0,), {}),
        (math.hypot, (1.0, 2.0, -3.0), {}),
        (math.dist, ([1.0, 2.0], [3.0, 0.5]), {}),
        (math.dist, ((1.0, 2.0), np.array([3.0, 0.5])), {}),
        (math.fsum, ([1.0, 2.0, 3.0],), {}),
        (math.fsum, ((1.0, 2.0),), {}),
        (math.fsum, (np.array([1.0, 2.0]),), {}),
        (math.fsum, ([],), {}),
        (math.fsum, (np.zeros(0),), {}),
        (math.prod, ([1.0, 2.0, 3.0],), {}),
        (math.prod, ((1.0, 0.0, 3.0),), {"start": 2.0}),
        (math.prod, (np.array([0.0, 0.0, 3.0]),), {}),
        (math.prod, ([2 + 1j, 3 - 2j],), {}),
        (math.prod, ([np.array([1.0, 2.0]), 3.0],), {}),
        (math.prod, ([],), {"start": 2.0}),
    ],
    ids=by_name,
)
def test_math_of_other_forms(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs)


def test_nextafter():
    assert rrule(math.nextafter, 1.0, 2.0)[1](3.0) == (NoTangent(), 3.0, ZeroTangent())


@pytest.mark.parametrize("f", [math.floor, math.ceil, math.trunc, math.ulp, math.isqrt])
def test_math_in_steps(f):
    assert rrule(f, 2)[1](1.0) == (NoTangent(), NoTangent())


@pytest.mark.parametrize("f", CMATH, ids=by_name)
@pytest.mark.parametrize("z", PLANE, ids=str)
def test_cmath(f, z):
    if f is cmath.polar:
        check_rule(f, z)
    else:
        check_scalar(f, z)


@pytest.mark.parametrize("f", CMATH, ids=by_name)
@pytest.mark.parametrize("x", [0.3, 2.3, -1.4, np.complex128(0.3 - 0.5j)], ids=str)
def test_cmath_of_real_numbers(f, x):
    """Beyond the real domain the result is complex, its derivative that of the upper side."""
    check_rule(f, x)


def test_cmath_of_two():
    check_rule(cmath.log, 1.3 + 1j, 2 - 1j)
    check_rule(cmath.log, -3.0, 0.5)
    check_rule(cmath.log, 3.0, -2.0)
    check_rule(cmath.rect, 1.3, 0.4)


@pytest.mark.parametrize(
    "f, args, kwargs",
    [
        (abs, (2.0,), {}),
        (abs, (-2.0,), {}),
        (abs, (1 + 2j,), {}),
        (abs, (np.array([1.0, -2.0]),), {}),
        (abs, (np.array([1j, 2 + 1j]),), {}),
        (abs, (np.float32(-3),), {}),
        (abs, (np.array(-3.0),), {}),
        (divmod, (5.3, 2.1), {}),
        (divmod, (5.3, -2.1), {}),
        (divmod, (np.array([5.3, -2.0]), 2.1), {}),
        (pow, (2.0, 3.1), {}),
        (pow, (2.0,), {"exp": 3}),
        (pow, (np.array([1.0, 2.0]), 3), {}),
        (pow, (1 + 2j, 2), {}),
        (float, (2.0,), {}),
        (float, (np.float32(2.0),), {}),
        (float, (np.array(3.0),), {}),
        (complex, (2.0,), {}),
        (complex, (2 + 1j,), {}),
        (complex, (2.0, 3.0), {}),
        (complex, (2.0,), {"imag": 3.0}),
        (complex, (2 + 1j, 1 - 3j), {}),
        (round, (2.3,), {}),
        (round, (2.345, 1), {}),
        (int, (2.3,), {}),
        (bool, (2.3,), {}),
    ],
    ids=by_name,
)
def test_builtins(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs)


@pytest.mark.skipif(not hasattr(math, "sumprod"), reason="Python 3.12 brought math.sumprod")
def test_sumprod():
    check_rule(math.sumprod, [1.0, 2.0, -0.5], [0.3, 1.2, 2.0])
    check_rule(math.sumprod, (1.0, 2.0), np.array([0.3, 1.2]))


@pytest.mark.skipif(not hasattr(math, "fma"), reason="Python 3.13 brought math.fma")
def test_fma():
    check_rule(math.fma, 1.3, -0.4, 2.0)


def test_strings_have_no_rule():
    assert rrule(float, "1.5") is None
    assert rrule(complex, "1.5") is None


def test_a_cotangent_of_a_list():
    _, pullback = rrule(math.prod, [2.0, 3.0])
    assert pullback(1.0)[1] == Tangent[list](3.0, 2.0)


X = np.array([0.7, 1.9])


@pytest.mark.parametrize("f, x", OF_ONE.items(), ids=by_name)
def test_engine(f, x, check_engine):
    check_engine(lambda x: f(x[0]) * x, np.array([x, 1.2]))


@pytest.mark.parametrize("f", OF_TWO, ids=by_name)
def test_engine_with_two_arguments(f, check_engine):
    check_engine(lambda x: f(x[1], x[0]) * x, X)
    check_engine(lambda x: f(2.3, x[0]) * x, X)


@pytest.mark.parametrize("f", CMATH, ids=by_name)
def test_engine_with_complex_numbers(f, check_engine):
    check_engine(lambda x: f(complex(x[0], x[1]) * 0.4), X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: math.hypot(x[0], x[1], x[0] * x[1]) * x,
        lambda x: math.dist([x[0], x[1]], (1.0, x[0] * x[1])) * x,
        lambda x: math.fsum([x[0], x[1], x[0] * x[1], 2.0]) * x,
        lambda x: math.prod([x[0], x[1], x[0] * x[1], 2.0], start=x[1]) * x,
        lambda x: math.prod([x[0], 0.0 * x[1], x[0] * x[1]]) * x,
        lambda x: math.modf(x[1])[0] * x,
        lambda x: math.frexp(x[1])[0] * x,
        lambda x: math.ldexp(x[1], 3) * x,
        lambda x: cmath.rect(x[0], x[1]) * x,
        lambda x: cmath.log(x[0] + 1j, x[1] * 1j) * x,
        lambda x: builtins.abs(-x),
        lambda x: divmod(x[1], x[0])[1] * x,
        lambda x: pow(x[1], x[0]) * x,
        lambda x: float(x[0]) * x,
        lambda x: complex(x[0], x[1]) * x,
    ],
)
def test_engine_with_other_forms(f, check_engine):
    check_engine(f, X)
