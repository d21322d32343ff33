"""Gradients of special functions at edges and limits: expected values as numbers.

Integers are constants here; their places are None.
"""

import math

import numpy as np
import pytest
from scipy import special

import autodiff
from chainrules_core import (
    AbstractZero,
    NoTangent,
    NotImplementedTangent,
    Tangent,
    ZeroTangent,
    frule,
    rrule,
    unthunk,
)

INF = math.inf
PI = math.pi
EULER = 0.5772156649015329

# (function, arguments, gradients)
ONE_OUTPUT = [
    (special.jv, (0, 0.0), (None, 0)),
    (special.jv, (1, 0.0), (None, 0.5)),
    (special.jv, (2.0, 0.0), (0, 0)),
    (special.jv, (0.5, 0.0), (0, INF)),
    (special.iv, (1.0, 0.0), (0, 0.5)),
    (special.ive, (1, 0.0), (None, 0.5)),
    (special.kv, (0.0, 1.0), (0, -0.6019072301972346)),
    (special.kv, (1, 0.0), (None, -INF)),
    (special.ber, (0.0,), (0,)),
    (special.bei, (0.0,), (0,)),
    (special.berp, (0.0,), (0,)),
    (special.beip, (0.0,), (0.5,)),
    (special.struve, (0, 0.0), (None, 2 / PI)),
    (special.modstruve, (0, 0.0), (None, 2 / PI)),
    (special.it2struve0, (0.0,), (-2 / PI,)),
    (special.ellipk, (0.0,), (PI / 8,)),
    (special.ellipk, (1.0,), (INF,)),
    (special.ellipk, (-INF,), (0,)),
    (special.ellipkm1, (1.0,), (-PI / 8,)),
    (special.ellipkm1, (0.0,), (-INF,)),
    (special.ellipe, (0.0,), (-PI / 8,)),
    (special.ellipe, (1.0,), (-INF,)),
    (special.ellipkinc, (0.0, 0.5), (1, 0)),
    (special.ellipkinc, (1.0, 0.0), (1, 0.1363378216467898)),
    (special.ellipeinc, (PI / 2, 0.0), (1, -PI / 8)),
    (special.ellipeinc, (1.0, 1.0), (0.5403023058681398, -0.1923600930378103)),
    (special.elliprf, (1.0, 1.0, 1.0), (-1 / 6, -1 / 6, -1 / 6)),
    (special.elliprf, (0.0, 1.0, 1.0), (-INF, -PI / 8, -PI / 8)),
    (special.elliprd, (1.0, 1.0, 1.0), (-0.3, -0.3, -0.9)),
    (special.elliprd, (0.0, 1.0, 1.0), (-INF, -9 * PI / 32, -27 * PI / 32)),
    (special.elliprg, (1.0, 1.0, 1.0), (1 / 6, 1 / 6, 1 / 6)),
    (special.elliprg, (0.0, 1.0, 1.0), (INF, PI / 16, PI / 16)),
    (special.elliprg, (0.0, 0.0, 1.0), (INF, INF, 0.25)),
    (special.elliprj, (1.0, 1.0, 1.0, 1.0), (-0.3, -0.3, -0.3, -0.6)),
    (special.elliprc, (1.0, 1.0), (-1 / 6, -1 / 3)),
    (special.elliprc, (0.0, 1.0), (-INF, -PI / 4)),
    (special.agm, (4.0, 4.0), (0.5, 0.5)),
    (special.agm, (0.0, 1.0), (INF, 0)),
    (special.hyp0f1, (2.0, 0.0), (0, 0.5)),
    (special.hyp1f1, (1.0, 2.0, 0.0), (0, 0, 0.5)),
    (special.hyp2f1, (1.0, 2.0, 3.0, 0.0), (0, 0, 0, 2 / 3)),
    (special.gammainc, (1.0, 0.0), (0, 1)),
    (special.gammainc, (2.0, 0.0), (0, 0)),
    (special.gammainc, (0.5, 0.0), (0, INF)),
    (special.gammainc, (2.0, INF), (0, 0)),
    (special.gammaincc, (2.0, 0.0), (0, 0)),
    (special.gammaincinv, (1.0, 0.0), (0, 1)),
    (special.betainc, (1.0, 1.0, 0.0), (0, 0, 1)),
    (special.betainc, (2.0, 3.0, 1.0), (0, 0, 0)),
    (special.betainc, (1.0, 1.0, 0.5), (-math.log(2) / 2, math.log(2) / 2, 1)),
    (special.bdtr, (5, 5, 0.3), (None, None, 0)),
    (special.bdtr, (0, 5, 0.0), (None, None, -5)),
    (special.bdtr, (0, 5, 1.0), (None, None, 0)),
    (special.pdtr, (0, 0.0), (None, -1)),
    (special.pdtr, (2, 0.0), (None, 0)),
    (special.nbdtr, (0, 1, 0.5), (None, None, 1)),
    (special.chdtr, (2.0, 0.0), (0, 0.5)),
    (special.fdtr, (2.0, 2.0, 0.0), (0, 0, 1)),
    (special.stdtr, (1.0, 0.0), (0, 1 / PI)),
    (special.stdtr, (2.0, INF), (0, 0)),
    (special.stdtrit, (1.0, 0.5), (0, PI)),
    (special.owens_t, (0.0, 1.0), (0, 1 / (4 * PI))),
    (special.owens_t, (1.0, INF), (-0.12098536225957168, 0)),
    (special.nrdtrimn, (0.5, 1.0, 2.0), (-math.sqrt(2 * PI), 0, 1)),
    (special.huber, (1.0, 1.0), (0, 1)),
    (special.huber, (1.0, -1.0), (0, -1)),
    (special.huber, (0.0, 1.0), (1, 0)),
    (special.huber, (1.0, 0.0), (0, 0)),
    (special.pseudo_huber, (1.0, 0.0), (0, 0)),
    (special.pseudo_huber, (0.0, 2.0), (2, 0)),
    (special.pseudo_huber, (0.0, 0.0), (0, 0)),
    (special.inv_boxcox, (0.0, 0.0), (1, 0)),
    (special.inv_boxcox, (1.0, 0.0), (math.e, -math.e / 2)),
    (special.lambertw, (0.0,), (1,)),
    (special.lambertw, (math.e,), (0.5 / math.e,)),
    (special.wrightomega, (1.0,), (0.5,)),
    (special.wrightomega, (-INF,), (0,)),
    (special.wrightomega, (INF,), (1,)),
    (special.tklmbda, (0.0, 0.0), (0.25, 0)),
    (special.tklmbda, (2.0, 1.0), (0, 0)),
    (special.kolmogorov, (0.0,), (0,)),
    (special.kolmogorov, (INF,), (0,)),
    (special.kolmogi, (1.0,), (-INF,)),
    (special.smirnov, (1, 0.5), (None, -1)),
    (special.smirnov, (1, 1.0), (None, -1)),
    (special.smirnov, (3, 0.0), (None, -1)),
    (special.smirnov, (2, 1.0), (None, 0)),
    (special.exp1, (0.0,), (-INF,)),
    (special.expi, (0.0,), (INF,)),
    (special.expn, (2, 0.0), (None, -INF)),
    (special.expn, (3, 0.0), (None, -1)),
    (special.spence, (0.0,), (-INF,)),
    (special.spence, (1.0,), (-1,)),
    (special.spence, (2.0,), (-math.log(2),)),
    (special.voigt_profile, (0.0, 1.0, 0.0), (0, -1 / math.sqrt(2 * PI), -1 / PI)),
    (special.voigt_profile, (0.0, 0.0, 1.0), (0, 0, -1 / PI)),
    (special.voigt_profile, (1.0, 0.0, 1.0), (-0.5 / PI, 0, 0)),
    (special.eval_legendre, (3, 1.0), (None, 6)),
    (special.eval_legendre, (3, -1.0), (None, 6)),
    (special.eval_legendre, (0, 0.3), (None, 0)),
    (special.eval_chebyt, (3, 1.0), (None, 9)),
    (special.eval_chebyt, (2.0, 1.0), (0, 4)),
    (special.eval_chebyu, (2.0, 1.0), (1, 8)),
    (special.eval_hermite, (0, 1.0), (None, 0)),
    (special.eval_genlaguerre, (2, 0.0, 0.0), (None, 1.5, -2)),
    (special.lpmv, (0, 2, 1.0), (None, None, 3)),
    (special.lpmv, (0, 3, -1.0), (None, None, 6)),
    (special.legendre_p, (2, 1.0), (None, 3)),
    (special.sph_legendre_p, (1, 0, 0.0), (None, None, 0)),
    (special.spherical_jn, (0, 0.0), (None, 0)),
    (special.spherical_jn, (1, 0.0), (None, 1 / 3)),
    (special.spherical_in, (1, 0.0), (None, 1 / 3)),
    (special.mathieu_a, (0, 0.0), (None, 0)),
    (special.mathieu_a, (1, 0.0), (None, 1)),
    (special.pro_cv, (0, 0, 0.0), (None, None, 0)),
    (special.factorial, (0.0,), (-EULER,)),
    (special.factorial, (-1.0,), (0,)),
    (special.zeta, (0.0,), (-math.log(2 * PI) / 2,)),
    (special.zeta, (2.0,), (-0.9375482543158437,)),
    (special.zetac, (60.0,), (-6.0120934324e-19,)),
]

# (function, arguments, gradients of each output)
SEVERAL_OUTPUTS = [
    (special.airy, (0.0,), [(-0.2588194037928068,), (0,), (0.4482883573538264,), (0,)]),
    (special.airye, (0.0,), [(-0.2588194037928068,), (0,), (0.4482883573538264,), (0,)]),
    (special.ellipj, (0.0, 0.5), [(1, 0), (0, 0), (0, 0), (1, 0)]),
    (
        special.ellipj,
        (1.0, 0.0),
        [
            (0.5403023058681398, -0.0736636394127997),
            (-0.8414709848078965, 0.11472432104768755),
            (0, -0.3540367091367856),
            (1, -0.1363378216467898),
        ],
    ),
    (special.sici, (0.0,), [(1,), (INF,)]),
    (special.shichi, (0.0,), [(1,), (INF,)]),
    (special.it2j0y0, (0.0,), [(0,), (INF,)]),
    (special.pbdv, (0, 0.0), [(None, 0), (None, -0.5)]),
    (special.mathieu_cem, (0, 0.0, 0.0), [(None, -math.sqrt(2) / 4, 0), (None, 0, 0)]),
]


def number(bar):
    bar = unthunk(bar)
    if isinstance(bar, NotImplementedTangent):
        return None
    return 0 if isinstance(bar, AbstractZero) else bar


def check(found, expected):
    for bar, value in zip(found, expected, strict=True):
        if value is not None:
            np.testing.assert_allclose(np.real(bar), value, rtol=1e-10, atol=2e-14)


def slopes(f, args):
    """Push each argument's unit forward alone."""
    for i, x in enumerate(args):
        dots = [NoTangent()] * len(args)
        if isinstance(x, float):
            dots[i] = 1.0
            yield i, frule((NoTangent(), *dots), f, *args)[1]


@pytest.mark.parametrize("f, args, expected", ONE_OUTPUT)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_one_output(f, args, expected):
    _, pullback = rrule(f, *args)
    check([number(bar) for bar in pullback(1.0)[1:]], expected)
    for i, slope in slopes(f, args):
        check([number(slope)], [expected[i]])


@pytest.mark.parametrize("f, args, expected", SEVERAL_OUTPUTS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_several_outputs(f, args, expected):
    y, pullback = rrule(f, *args)
    for i, row in enumerate(expected):
        y_bar = [ZeroTangent()] * len(y)
        y_bar[i] = 1.0
        check([number(bar) for bar in pullback(Tangent[tuple](*y_bar))[1:]], row)
    for j, slope in slopes(f, args):
        check([number(part) for part in slope], [row[j] for row in expected])


def test_a_branch_not_taken_contributes_nothing():
    def f(x):
        return np.sum(np.where(x > 0, special.exp1(x) + special.spence(x), 1.0))

    found = autodiff.gradient(f, np.array([0.0, 1.0]))
    np.testing.assert_allclose(found, [0, -math.exp(-1) - 1], rtol=1e-14)


def test_curvature_at_a_limit():
    """Limits that are filled in have the right slope, too."""
    slope = autodiff.gradient(lambda x: autodiff.gradient(special.spence, x), 1.0)
    assert slope == 0.5
    assert autodiff.gradient(lambda x: autodiff.gradient(lambda z: special.sici(z)[0], x), 0.0) == 0
