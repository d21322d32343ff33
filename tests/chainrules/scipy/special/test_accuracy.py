"""Derivatives by orders and shapes against mpmath, to eight digits, over the useful domain."""

import itertools

import mpmath as mp
import numpy as np
import pytest
from scipy import special

from chainrules_core.define import derivatives_given_output

RTOL = 1e-8


def by(f, position, args):
    """mpmath's derivative of `f` by one argument."""
    args = [mp.mpf(a) if isinstance(a, float) else a for a in args]

    def alone(x):
        return f(*args[:position], x, *args[position + 1 :])

    with mp.workdps(40):
        return complex(mp.diff(alone, args[position]))


def lower_gamma(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def upper_gamma(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


def lower_beta(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def upper_beta(a, b, x):
    return mp.betainc(a, b, x, 1, regularized=True)


def student(v, t):
    tail = mp.betainc(v / 2, mp.mpf(1) / 2, 0, v / (v + t * t), regularized=True) / 2
    return tail if t < 0 else 1 - tail


def fisher(d, e, x):
    return lower_beta(d / 2, e / 2, d * x / (d * x + e))


def poisson(j, m):
    return mp.exp(-m) * m**j / mp.factorial(j)


def noncentral_chi2(x, v, nc):
    return mp.fsum(poisson(j, nc / 2) * lower_gamma(v / 2 + j, x / 2) for j in range(60))


def noncentral_f(d, e, nc, x):
    u = d * x / (d * x + e)
    return mp.fsum(poisson(j, nc / 2) * lower_beta(d / 2 + j, e / 2, u) for j in range(60))


def wright(a, b, x):
    return mp.fsum(x**k / mp.factorial(k) * mp.rgamma(a * k + b) for k in range(80))


def jacobi(n, a, b, x):
    return mp.jacobi(n, a, b, x)


ORDERS = [0.0, 0.5, 1.0, 2.7, 10.0, 40.3]
ARGUMENTS = [1e-3, 0.1, 1.0, 7.5, 60.0]
SHAPES = [0.02, 0.5, 1.0, 3.7, 45.0, 800.0]
QUANTILES = [0.03, 0.6, 0.97]

GRIDS = [
    (special.jv, mp.besselj, [0], [ORDERS, ARGUMENTS]),
    (special.yv, mp.bessely, [0], [ORDERS, ARGUMENTS]),
    (special.iv, mp.besseli, [0], [ORDERS, ARGUMENTS]),
    (special.kv, mp.besselk, [0], [ORDERS[1:], ARGUMENTS]),
    (special.jv, mp.besselj, [0], [[-0.4, -2.6], [0.7, 5.0]]),
    (special.hankel1, mp.hankel1, [0], [[0.5, 3.2], [0.7, 5.0]]),
    (special.struve, mp.struveh, [0], [[0.0, 0.5, 2.2], [0.3, 2.0, 11.0]]),
    (special.modstruve, mp.struvel, [0], [[0.0, 0.5, 2.2], [0.3, 2.0, 11.0]]),
    (special.zeta, mp.zeta, [0], [[1.05, 1.5, 3.0, 12.0], [0.3, 1.0, 8.0]]),
    (special.zeta, mp.zeta, [0], [[-4.3, -0.5, 0.3, 0.95, 1.05, 2.0, 9.0]]),
    (special.zetac, lambda s: mp.zeta(s) - 1, [0], [[0.3, 2.0, 9.0, 30.0]]),
    (special.hyp0f1, mp.hyp0f1, [0], [[0.3, 1.0, 4.5, -1.4], [-8.0, 0.2, 5.0, 30.0]]),
    (special.hyp1f1, mp.hyp1f1, [0, 1], [[0.3, 2.0, -1.5], [0.4, 3.0], [-6.0, 0.5, 12.0]]),
    (
        special.hyp2f1,
        mp.hyp2f1,
        [0, 1, 2],
        [[0.3, 2.0], [1.2, -0.7], [0.4, 3.1], [-2.5, -0.3, 0.4, 0.85]],
    ),
    (special.hyperu, mp.hyperu, [0, 1], [[0.1, 0.3, 2.0, 6.0], [-1.3, 0.4, 3.7], [0.1, 0.5, 9.0]]),
    (special.wright_bessel, wright, [0, 1], [[0.4, 1.3], [0.5, 2.0], [0.3, 2.5]]),
    (special.eval_legendre, mp.legendre, [0], [[0.5, 3.2, 9.7], [-0.4, 0.3, 0.9]]),
    (special.eval_chebyt, mp.chebyt, [0], [[0.5, 3.2, 9.7], [-0.4, 0.3, 0.9, 1.7]]),
    (special.eval_chebyu, mp.chebyu, [0], [[0.5, 3.2, 9.7], [-0.4, 0.3, 0.9, 1.7]]),
    (special.eval_laguerre, lambda n, x: mp.laguerre(n, 0, x), [0], [[0.5, 3.2], [0.3, 4.0]]),
    (special.eval_gegenbauer, mp.gegenbauer, [0, 1], [[0.5, 3.2], [0.7, 2.0], [-0.4, 0.3, 0.9]]),
    (special.eval_genlaguerre, mp.laguerre, [0, 1], [[0.5, 3.2], [-0.3, 2.0], [0.3, 4.0]]),
    (special.eval_jacobi, jacobi, [0, 1, 2], [[0.5, 3.2], [-0.3, 2.0], [0.4], [-0.4, 0.9]]),
    (special.pbdv, mp.pcfd, [0], [[0.5, 3.2, -1.4], [0.3, 1.6]]),
    (special.chndtr, noncentral_chi2, [0, 1, 2], [[0.5, 6.0], [1.3, 4.0], [0.2, 5.0]]),
    (special.ncfdtr, noncentral_f, [0, 1, 2, 3], [[1.3], [4.0], [0.2, 5.0], [0.5, 3.0]]),
]
TAILS = [
    (special.gammainc, lower_gamma, special.gammaincinv, [SHAPES]),
    (special.gammaincc, upper_gamma, special.gammainccinv, [SHAPES]),
    (special.betainc, lower_beta, special.betaincinv, [SHAPES, [0.3, 2.0, 60.0]]),
    (special.betaincc, upper_beta, special.betainccinv, [SHAPES, [0.3, 2.0, 60.0]]),
    (special.stdtr, student, special.stdtrit, [[0.4, 1.0, 3.0, 30.0, 1e4]]),
    (special.fdtr, fisher, special.fdtri, [[0.6, 3.0, 25.0], [1.5, 40.0]]),
]


def name(value):
    return value.__name__ if callable(value) else None


def difference(f, exact, positions, args):
    """The largest relative error of the derivatives by arguments at `positions`."""
    with np.errstate(all="ignore"):
        found = derivatives_given_output(f(*args), f, *args)[0]
    errors = []
    for j in positions:
        expected = by(exact, j, args)
        expected = expected if isinstance(found[j], complex) else expected.real
        errors.append(abs(found[j] - expected) / max(abs(expected), 1e-300))
    return max(errors)


@pytest.mark.parametrize("f, exact, positions, grid", GRIDS, ids=name)
def test_on_a_grid(f, exact, positions, grid):
    worst = 0
    for args in itertools.product(*grid):
        y = f(*args)
        y = y[0] if isinstance(y, tuple) else y
        if not np.isfinite(y) or 0 < abs(y) < 1e-280:
            continue
        worst = difference(f, exact, positions, args)
        assert worst < RTOL, args


@pytest.mark.parametrize("f, exact, quantile, grid", TAILS, ids=name)
def test_distribution_functions_by_shape(f, exact, quantile, grid):
    for shapes in itertools.product(*grid):
        for p in QUANTILES:
            args = (*shapes, float(quantile(*shapes, p)))
            if args[-1] < 1e-250:
                continue
            assert difference(f, exact, range(len(shapes)), args) < RTOL, args
