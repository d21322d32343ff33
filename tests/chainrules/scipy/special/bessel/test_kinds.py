import numpy as np
import pytest
from scipy import special

import autodiff
from chainrules_core.testing import NONZERO, POSITIVE, REAL, check_rule

UNARY = [
    (special.j0, REAL),
    (special.j1, REAL),
    (special.y0, POSITIVE),
    (special.y1, POSITIVE),
    (special.i0, REAL),
    (special.i1, REAL),
    (special.k0, POSITIVE),
    (special.k1, POSITIVE),
    (special.i0e, NONZERO),
    (special.i1e, NONZERO),
    (special.k0e, POSITIVE),
    (special.k1e, POSITIVE),
]
OF_ORDER = [special.jv, special.yv, special.iv, special.kv]


@pytest.mark.parametrize("f, domain", UNARY)
def test_unary(f, domain):
    for shape in [(), (3,), (2, 2), (0,)]:
        check_rule(f, domain.draw(shape))
    check_rule(f, domain.draw(3, np.float32))


@pytest.mark.parametrize("f", [special.j0, special.j1, special.i0, special.i1])
def test_at_zero(f):
    check_rule(f, 0.0)
    check_rule(f, np.array([0.0, 1.5]))


@pytest.mark.parametrize("f", OF_ORDER)
@pytest.mark.parametrize("v", [0, 1.5, 2, np.array([0.5, 1.0, 3.0])], ids=str)
def test_of_some_order(f, v):
    check_rule(f, v, POSITIVE.draw(3))
    check_rule(f, v, POSITIVE.draw(3) + 0.5j)


@pytest.mark.parametrize("f, domain", UNARY)
def test_engine(f, domain, check_engine):
    check_engine(f, domain.draw(3))


@pytest.mark.parametrize("f", OF_ORDER)
def test_engine_of_some_order(f, check_engine):
    check_engine(lambda x: f(2, x), POSITIVE.draw(3))


CASES = [
    (special.kve, 1.3, 0.7),
    (special.kve, 1.3, 0.7 + 0.2j),
    (special.hankel1, 1.3, 0.7),
    (special.hankel1, 2, 0.7 + 0.2j),
    (special.hankel2, 1.3, 0.7 + 0.2j),
    (special.hankel1e, 1.3, 0.7 + 0.2j),
    (special.hankel2e, 1.3, 0.7),
    (special.kn, 2, 0.7),
    (special.yn, 2, 0.7),
    (special.jve, 1.3, 0.7),
    (special.jve, 1.3, 0.7 - 0.4j),
    (special.yve, 1.3, 0.7 + 0.2j),
    (special.ive, 1.3, 0.7),
    (special.ive, 1.3, -0.7 + 0.2j),
    (special.itj0y0, 0.7),
    (special.iti0k0, 0.7),
    (special.it2j0y0, 0.7),
    (special.it2j0y0, 1.7),
    (special.it2i0k0, 0.7),
    (special.it2i0k0, 1.7),
    (special.besselpoly, 1.2, 0.7, 0.5),
    (special.besselpoly, 1.2, 0.7, 2.0),
]
DERIVATIVES = [
    special.jvp, special.yvp, special.ivp, special.kvp, special.h1vp, special.h2vp,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_rule(case, check_elementwise):
    check_elementwise(*case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_curvature(case, check_curvature):
    check_curvature(*case)


@pytest.mark.parametrize("f", DERIVATIVES)
def test_traced_derivatives(f, check_curvature):
    check_curvature(f, 1.3, 0.7)
    check_curvature(f, 2, 0.7, 2)


def test_negative_arguments(check_curvature):
    for f in (special.jv, special.iv, special.jve, special.ive):
        check_curvature(f, 2, -1.7)


@pytest.mark.parametrize(
    "f, v, z, slope",
    [
        (special.iv, 1.0, 1e-280, 0.5),
        (special.iv, 1.5, 1e-149, 1.2615662610100802e-75),
        (special.iv, 2.0, 1e-149, 2.5e-150),
        (special.jv, 1.0, 1e-310, 0.5),
        (special.jv, 1.5, 1e-149, 1.2615662610100802e-75),
        (special.kv, 0.0, 1e-160, -1e160),
    ],
)
def test_near_zero(f, v, z, slope):
    """SciPy's values of I underflow there. The slope is that of (z/2)^v / Γ(v+1)."""
    assert autodiff.gradient(lambda z: f(v, z), z) == pytest.approx(slope, rel=1e-12)


def test_no_order_at_the_edge():
    """J_v(0) falls from Inf to 0 where v passes 0."""
    with pytest.raises(ArithmeticError, match=r"scipy\.special\.jv by argument 1"):
        autodiff.gradient(lambda v: special.jv(v, 0.0), 0.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: special.kn(1.7, x),
        lambda x: special.yn(2.9, x),
        lambda x: special.expn(1.7, x),
        lambda x: special.expn(0.4, x),
        lambda x: special.bdtr(1.7, 3.9, x),
        lambda x: special.nbdtr(1.2, 2.9, x),
        lambda x: special.smirnov(4.3, x),
    ],
)
@pytest.mark.filterwarnings("ignore:floating point number truncated:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:non-integer arg n:DeprecationWarning")
def test_orders_are_cut_off(f, check_modes):
    check_modes(f, np.array([0.4, 0.7]), twice=False)
