"""Gradients where a formula alone gives NaN or the wrong side: expected values as numbers."""

import math
import operator
import warnings

import numpy as np
import pytest
from scipy import special

import autodiff
from chainrules_core import AbstractZero, NoTangent, frule, rrule, unthunk

INF, NAN = math.inf, math.nan

# x, p, (∂x^p/∂x, ∂x^p/∂p)
POWERS = [
    (1.0, 2, (2, 0)),
    (2.0, 2, (4, 2.772588722239781)),
    (-2.0, 2, (-4, 2.772588722239781)),
    (-2.0, 3, (12, -5.545177444479562)),
    (0.0, 2, (0, 0)),
    (-0.0, 2, (0, 0)),
    (0.0, 1, (1, 0)),
    (-0.0, 1, (1, 0)),
    (0.0, 0, (0, NAN)),
    (-0.0, 0, (0, NAN)),
    (0.0, 0.0, (0, NAN)),
    (3.0, 0, (0, 1.0986122886681098)),
    (0.0, -1, (-INF, NAN)),
    (-0.0, -1, (-INF, NAN)),
    (0.0, -2, (-INF, NAN)),
    (-0.0, -2, (INF, NAN)),
    (0.0, 0.5, (INF, 0)),
    (4.0, 0.5, (0.25, 2.772588722239781)),
    (0.0, 3.5, (0, 0)),
    (0.0, 1.0, (1, 0)),
    (0.0, -1.5, (-INF, NAN)),
    (INF, 2.0, (INF, INF)),
]

# (function, argument, gradient)
ONE_ARGUMENT = [
    (np.sqrt, 0.0, INF),
    (np.sqrt, 4.0, 0.25),
    (np.sqrt, INF, 0),
    (np.cbrt, 0.0, INF),
    (np.cbrt, -8.0, 1 / 12),
    (np.log, 0.0, INF),
    (np.log, INF, 0),
    (np.log1p, -1.0, INF),
    (np.log1p, 0.0, 1),
    (np.exp, -INF, 0),
    (np.exp, INF, INF),
    (np.expm1, 0.0, 1),
    (np.reciprocal, 0.0, -INF),
    (np.reciprocal, INF, 0),
    (np.square, 0.0, 0),
    (np.arcsin, 1.0, INF),
    (np.arcsin, -1.0, INF),
    (np.arccos, 1.0, -INF),
    (np.arctan, INF, 0),
    (np.arctanh, 1.0, INF),
    (np.arccosh, 1.0, INF),
    (np.arcsinh, 0.0, 1),
    (np.arcsinh, 1e200, 0),
    (np.tanh, INF, 0),
    (np.tanh, 0.0, 1),
    (np.cosh, 0.0, 0),
    (np.sinc, 0.0, 0),
    (np.sinc, -0.0, 0),
    (np.sinc, 1.0, -1),
    (np.sinc, 1e-8, -3.289868133696453e-08),
    (np.sinc, 1e-4, -0.00032898681012267556),
    (np.degrees, 0.0, 57.29577951308232),
    (np.absolute, 0.0, 0),
    (np.absolute, -0.0, 0),
    (np.absolute, -2.0, -1),
    (np.absolute, INF, 1),
    (np.absolute, 0j, 0),
    (np.absolute, 3 + 4j, 0.6 + 0.8j),
    (np.absolute, -2j, -1j),
    (np.fabs, 0.0, 0),
    (np.fabs, -2.0, -1),
    (operator.abs, 0.0, 0),
    (operator.abs, -3.0, -1),
    (abs, 0.0, 0),
    (abs, 0j, 0),
    (abs, -3 + 4j, -0.6 + 0.8j),
    (np.sign, 0.0, 0),
    (np.sign, 2.0, 0),
    (np.sign, 0j, 0),
    (np.sign, 2 + 0j, 0),
    (np.angle, 0j, 0),
    (np.angle, 1j, -1),
    (np.angle, 2 + 0j, 0.5j),
    (np.angle, -2.0, 0),
    (np.real, 1 + 2j, 1),
    (np.imag, 1 + 2j, 1j),
    (np.imag, 1.0, 0),
    (np.nan_to_num, NAN, 0),
    (np.nan_to_num, INF, 0),
    (np.nan_to_num, 2.0, 1),
    (np.floor, 2.0, 0),
    (np.rint, 2.5, 0),
    (np.i0, 0.0, 0),
    (math.sqrt, 0.0, INF),
    (math.cbrt, 0.0, INF),
    (math.fabs, 0.0, 0),
    (math.acos, 1.0, -INF),
    (math.asin, 1.0, INF),
    (math.acosh, 1.0, INF),
    (math.exp, -1000.0, 0),
    (math.hypot, 0.0, 0),
    (math.lgamma, 1.0, -0.5772156649015329),
    (math.gamma, 1.0, -0.5772156649015329),
    (float, 2.5, 1),
    (special.gammaln, 1.0, -0.5772156649015329),
    (special.gammaln, -0.5, 0.03648997397857652),
    (special.digamma, 1.0, 1.6449340668482264),
    (special.rgamma, 0.0, 1),
    (special.rgamma, -1.0, -1),
    (special.rgamma, -2.0, 2),
    (special.rgamma, -3.0, -6),
    (special.erf, 0.0, 1.1283791670955126),
    (special.erf, INF, 0),
    (special.erfinv, 0.0, 0.8862269254527579),
    (special.erfinv, 1.0, INF),
    (special.expit, 0.0, 0.25),
    (special.expit, INF, 0),
    (special.expit, -INF, 0),
    (special.logit, 0.0, INF),
    (special.logit, 1.0, INF),
    (special.logit, 0.5, 4),
    (special.log_expit, 0.0, 0.5),
    (special.log_expit, -INF, 1),
    (special.log_expit, 800.0, 0),
    (special.log_ndtr, 0.0, 0.7978845608028654),
    (special.log_ndtr, -1e10, 1e10),
    (special.log_ndtr, 60.0, 0),
    (special.ndtri, 0.5, 2.5066282746310002),
    (special.entr, 0.0, INF),
    (special.entr, 1.0, -1),
    (special.exprel, 0.0, 0.5),
    (special.exprel, 1e-8, 0.5000000033333333),
    (special.j1, 0.0, 0.5),
    (special.i1, 0.0, 0.5),
]

# (function, arguments, gradients)
MORE_ARGUMENTS = [
    (np.maximum, (1.0, 1.0), (0.5, 0.5)),
    (np.maximum, (0.0, -0.0), (0.5, 0.5)),
    (np.maximum, (2.0, 1.0), (1, 0)),
    (np.maximum, (INF, INF), (0.5, 0.5)),
    (np.maximum, (NAN, 1.0), (0, 0)),
    (np.minimum, (1.0, 1.0), (0.5, 0.5)),
    (np.minimum, (2.0, 1.0), (0, 1)),
    (np.fmax, (NAN, 1.0), (0, 1)),
    (np.fmax, (1.0, NAN), (1, 0)),
    (np.fmax, (NAN, NAN), (0, 0)),
    (np.fmin, (NAN, 1.0), (0, 1)),
    (np.fmin, (1.0, 1.0), (0.5, 0.5)),
    (np.clip, (0.5, 0.0, 1.0), (1, 0, 0)),
    (np.clip, (0.0, 0.0, 1.0), (0.5, 0.5, 0)),
    (np.clip, (1.0, 0.0, 1.0), (0.5, 0, 0.5)),
    (np.clip, (2.0, 0.0, 1.0), (0, 0, 1)),
    (np.clip, (-1.0, 0.0, 1.0), (0, 1, 0)),
    (np.clip, (1.0, 1.0, 1.0), (1 / 3, 1 / 3, 1 / 3)),
    (np.clip, (2.0, 3.0, 1.0), (0, 0, 1)),
    (np.clip, (1.0, 3.0, 1.0), (0, 0, 1)),
    (np.clip, (NAN, 0.0, 1.0), (0, 0, 0)),
    (np.where, (True, 1.0, 2.0), (0, 1, 0)),
    (np.where, (False, INF, 2.0), (0, 0, 1)),
    (np.heaviside, (0.0, 0.5), (0, 1)),
    (np.heaviside, (1.0, 0.5), (0, 0)),
    (np.hypot, (0.0, 0.0), (0, 0)),
    (np.hypot, (3.0, 4.0), (0.6, 0.8)),
    (np.hypot, (3e300, 4e300), (0.6, 0.8)),
    (np.arctan2, (0.0, 0.0), (0, 0)),
    (np.arctan2, (0.0, 1.0), (1, 0)),
    (np.arctan2, (0.0, -1.0), (-1, 0)),
    (np.arctan2, (1e-200, 1e-200), (5e199, -5e199)),
    (np.copysign, (2.0, -1.0), (-1, 0)),
    (np.copysign, (-2.0, -1.0), (1, 0)),
    (np.copysign, (0.0, -1.0), (0, 0)),
    (np.copysign, (2.0, -0.0), (-1, 0)),
    (np.remainder, (6.0, 3.0), (1, -2)),
    (np.remainder, (-7.0, 3.0), (1, 3)),
    (np.remainder, (5.0, INF), (1, 0)),
    (np.fmod, (-7.0, 3.0), (1, 2)),
    (np.fmod, (7.0, -3.0), (1, 2)),
    (np.fmod, (5.0, INF), (1, 0)),
    (operator.mod, (-7.0, 3.0), (1, 3)),
    (math.fmod, (-7.0, 3.0), (1, 2)),
    (math.remainder, (8.0, 3.0), (1, -3)),
    (math.remainder, (7.0, 3.0), (1, -2)),
    (np.nextafter, (1.0, 2.0), (1, 0)),
    (np.ldexp, (1.5, 3), (8, 0)),
    (np.logaddexp, (0.0, 0.0), (0.5, 0.5)),
    (np.logaddexp, (-INF, 0.0), (0, 1)),
    (np.logaddexp, (-INF, -INF), (0.5, 0.5)),
    (np.logaddexp, (INF, 1.0), (1, 0)),
    (np.logaddexp, (INF, INF), (0.5, 0.5)),
    (np.logaddexp, (1000.0, 0.0), (1, 0)),
    (np.logaddexp2, (1.0, 1.0), (0.5, 0.5)),
    (np.divide, (1.0, 0.0), (INF, -INF)),
    (math.pow, (-2.0, 3), (12, -5.545177444479562)),
    (math.pow, (0.0, 2.0), (0, 0)),
    (math.pow, (0.0, 0.5), (INF, 0)),
    (math.hypot, (0.0, 0.0), (0, 0)),
    (math.hypot, (2.0, 3.0, 6.0), (2 / 7, 3 / 7, 6 / 7)),
    (math.hypot, (0.0, 1e-310), (0, 1)),
    (math.hypot, (3e300, 4e300), (0.6, 0.8)),
    (math.atan2, (0.0, 0.0), (0, 0)),
    (math.copysign, (-2.0, 1.0), (-1, 0)),
    (complex, (1.0, 2.0), (1, 0)),
    (special.xlogy, (0.0, 0.0), (-INF, 0)),
    (special.xlogy, (0.0, 2.0), (0.6931471805599453, 0)),
    (special.xlog1py, (0.0, -1.0), (-INF, 0)),
    (special.rel_entr, (0.0, 1.0), (-INF, 0)),
    (special.rel_entr, (0.0, 0.0), (1, 0)),
    (special.rel_entr, (2.0, 1.0), (1.6931471805599454, -2)),
    (special.kl_div, (0.0, 2.0), (-INF, 1)),
    (special.kl_div, (0.0, 0.0), (0, 1)),
    (special.boxcox, (1.0, 0.0), (1, 0)),
    (special.boxcox, (2.718281828459045, 0.0), (0.36787944117144233, 0.5)),
]


def number(bar):
    bar = unthunk(bar)
    return 0 if isinstance(bar, AbstractZero) else bar


def gradients(f, args):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        _, pullback = rrule(f, *args)
    return [number(bar) for bar in pullback(1.0)[1:]]


def slopes(f, args):
    """Push each argument's unit forward alone."""
    found = []
    for i, x in enumerate(args):
        if isinstance(x, (bool, int, complex)):
            found.append(None)
            continue
        dots = [NoTangent()] * len(args)
        dots[i] = 1.0
        with np.errstate(all="ignore"):
            found.append(np.real(number(frule((NoTangent(), *dots), f, *args)[1])))
    return found


def check(f, args, expected):
    found = gradients(f, args)
    np.testing.assert_allclose(found, expected, rtol=2e-14, atol=0)
    for slope, value in zip(slopes(f, args), expected, strict=True):
        if slope is not None:
            np.testing.assert_allclose(slope, value, rtol=2e-14, atol=0)


def check_arrays(f, args, expected):
    """The same for arrays, which take other ways through the formulas."""
    arrays = [np.array([x, x]) for x in args]
    with np.errstate(all="ignore"):
        y, pullback = rrule(f, *arrays)
        bars = [number(bar) for bar in pullback(np.ones_like(y))[1:]]
    for bar, value in zip(bars, expected, strict=True):
        np.testing.assert_allclose(bar, np.full(np.shape(bar), value), rtol=2e-14, atol=0)


def by_name(value):
    return value.__name__ if callable(value) else str(value).replace(" ", "")


def takes_arrays(f):
    return isinstance(f, np.ufunc) or (f.__module__ or "numpy").startswith(("numpy", "_operator"))


@pytest.mark.parametrize("f", [np.power, np.float_power], ids=by_name)
@pytest.mark.parametrize("x, p, expected", POWERS, ids=by_name)
def test_power(f, x, p, expected):
    check(f, (np.float64(x), np.float64(p)), expected)
    check(f, (np.float64(x), p), expected)
    check_arrays(f, (x, p), expected)


@pytest.mark.parametrize("x, p, expected", [row for row in POWERS if row[0] != 0 or row[1] >= 0])
def test_power_of_floats(x, p, expected):
    check(operator.pow, (x, p), expected)
    check(pow, (x, p), expected)


@pytest.mark.parametrize("f, x, expected", ONE_ARGUMENT, ids=by_name)
def test_one_argument(f, x, expected):
    check(f, (x,), (expected,))
    if takes_arrays(f):
        check_arrays(f, (x,), (expected,))


@pytest.mark.parametrize("f, args, expected", MORE_ARGUMENTS, ids=by_name)
def test_more_arguments(f, args, expected):
    check(f, args, expected)
    if takes_arrays(f):
        check_arrays(f, args, expected)


@pytest.mark.parametrize(
    "x, expected",
    [
        ([-INF, -INF], [0.5, 0.5]),
        ([INF, 1.0], [1, 0]),
        ([INF, INF, 2.0], [0.5, 0.5, 0]),
        ([-INF, 0.0], [0, 1]),
        ([1000.0, 1000.0], [0.5, 0.5]),
        ([3.0], [1]),
    ],
    ids=str,
)
def test_logsumexp(x, expected):
    _, pullback = rrule(special.logsumexp, np.array(x))
    np.testing.assert_allclose(pullback(1.0)[1], expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("p, q", [((1.0, 2.0), (1.0, 2.0)), ((0.0,), (0.0,))], ids=str)
def test_dist_of_a_point_from_itself(p, q):
    _, pullback = rrule(math.dist, p, q)
    assert all(x == 0 for bar in pullback(1.0)[1:] for x in bar)


@pytest.mark.parametrize(
    "x, expected",
    [
        ([0.0, 2.0, 3.0], (6, 0, 0)),
        ([0.0, 0.0, 3.0], (0, 0, 0)),
        ([2.0, 0.0, 3.0], (0, 6, 0)),
        ([2.0], (1,)),
    ],
    ids=str,
)
def test_prod(x, expected):
    _, pullback = rrule(math.prod, x)
    assert tuple(pullback(1.0)[1]) == expected


# (function, point, gradient): what the branch not taken would make NaN
BRANCHES = [
    (lambda x: np.where(x > 0, np.sqrt(x), 0), [0.0, -1.0, 4.0], [0, 0, 0.25]),
    (lambda x: np.where(x > 0, np.log(x), x), [0.0, -1.0, 4.0], [1, 1, 0.25]),
    (lambda x: np.where(x == 0, 1.0, np.sin(x) / x), [0.0], [0]),
    (lambda x: np.sqrt(np.where(x > 0, x, 0)), [-1.0, 4.0], [0, 0.25]),
    (lambda x: np.sqrt(np.clip(x, 0, None)), [-1.0, 4.0], [0, 0.25]),
    (lambda x: np.select([x > 0], [np.sqrt(x)], 1.0), [0.0, -1.0, 4.0], [0, 0, 0.25]),
    (lambda x: np.nan_to_num(np.where(x > 0, x, NAN)), [-1.0, 2.0], [0, 1]),
    (lambda x: np.maximum(np.abs(x), 0), [0.0, -2.0], [0, -1]),
    (lambda x: np.hypot(x, 0 * x), [0.0, -2.0], [0, -1]),
]


@pytest.mark.parametrize("f, x, expected", BRANCHES)
def test_branches(f, x, expected):
    with np.errstate(all="ignore"):
        assert autodiff.gradient(lambda x: np.sum(f(x)), np.array(x)).tolist() == expected
