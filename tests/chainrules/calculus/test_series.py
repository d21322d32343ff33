"""Coefficients of numpy.polynomial that are 0: right derivatives, or an error where one is lost."""

import numpy as np
import pytest
from numpy.polynomial import (
    Legendre,
    Polynomial,
    chebyshev,
    hermite,
    hermite_e,
    laguerre,
    legendre,
    polynomial,
    polyutils,
)

import autodiff
from chainrules.calculus.series import division, mapped, product
from chainrules_core import NotImplementedTangentError
from chainrules_core.testing import check_rule

FAMILIES = {
    "poly": polynomial,
    "cheb": chebyshev,
    "leg": legendre,
    "herm": hermite,
    "herme": hermite_e,
    "lag": laguerre,
}
OTHER = np.array([1.0, 2.0])
LAST_IS_0 = np.array([1.0, 2.0, 0.0])
# All that is 0 here is inside.
GAPS = (np.array([0.0, 2.0, 3.0]), np.array([0.0, 0.0, 3.0]), np.array([1.0, 0.0, 3.0]))
Z = np.array([0.7 + 0.2j, 0.0, 2.1 - 0.3j])


def functions(name):
    """Functions of coefficients, by names, whose values are compared as polynomials."""
    module = FAMILIES[name]
    of = {key: getattr(module, name + key) for key in ("add", "sub", "mul", "mulx", "div", "pow")}
    value = getattr(module, name + "val")

    def at(c):
        return value(0.7, c)

    yield "add", lambda c: at(of["add"](c, OTHER))
    yield "sub", lambda c: at(of["sub"](OTHER, c))
    yield "mul", lambda c: at(of["mul"](c, OTHER))
    yield "mul twice", lambda c: at(of["mul"](c, c + 1.0))
    yield "mulx", lambda c: at(of["mulx"](c))
    yield "quotient", lambda c: at(of["div"](c, OTHER)[0])
    yield "remainder", lambda c: at(of["div"](c, [1.0, 2.0])[1])
    yield "pow", lambda c: at(of["pow"](c, 3))
    if name != "poly":
        there, back = getattr(module, f"{name}2poly"), getattr(module, f"poly2{name}")
        yield "to powers", lambda c: polynomial.polyval(0.7, there(c))
        yield "from powers", lambda c: at(back(c))


CASES = [(f"{name} {what}", f) for name in FAMILIES for what, f in functions(name)]


@pytest.mark.parametrize("f", [f for _, f in CASES], ids=[name for name, _ in CASES])
def test_zeros_inside(f, check_modes):
    for c in GAPS:
        check_modes(f, c, twice=False)


@pytest.mark.parametrize("f", [f for _, f in CASES], ids=[name for name, _ in CASES])
def test_a_zero_at_the_end_is_an_error(f):
    with pytest.raises(NotImplementedTangentError, match="exactly 0"):
        autodiff.gradient(f, LAST_IS_0)
    with pytest.raises(NotImplementedTangentError, match="exactly 0"):
        autodiff.pushforward(f, LAST_IS_0)[1](np.ones(3))


@pytest.mark.parametrize("name", FAMILIES)
def test_roots_that_are_symmetric(name, check_modes):
    module = FAMILIES[name]
    evaluate, from_roots = getattr(module, f"{name}val"), getattr(module, f"{name}fromroots")
    for roots in (np.array([1.0, 0.0, -1.0]), np.zeros(3), np.array([0.0, 2.0, 0.0])):
        check_modes(lambda r: evaluate(0.7, from_roots(r)), roots, twice=False)


@pytest.mark.parametrize("name", FAMILIES)
def test_lines(name, check_modes):
    module = FAMILIES[name]
    line, evaluate = getattr(module, f"{name}line"), getattr(module, f"{name}val")
    check_modes(lambda a: evaluate(0.7, line(a[0], a[1])), np.array([0.0, 2.0]))
    check_modes(lambda a: evaluate(0.7, line(a, 0.0)), 1.0)
    with pytest.raises(NotImplementedTangentError, match="exactly 0"):
        autodiff.gradient(lambda a: evaluate(0.7, line(1.0, a)), 0.0)


@pytest.mark.parametrize(
    "f, x",
    [
        # What is dropped does not change, or is not asked for.
        (lambda c: polynomial.polyval(2.0, polynomial.polyadd(np.append(c, 0.0), OTHER)), OTHER),
        (lambda c: Polynomial([c[0], 3.0, 0.0])(2.0) + (0 * Polynomial(c))(2.0), OTHER),
        (lambda c: (c[0] + Polynomial(c) * 0.0)(2.0), GAPS[0]),
        (lambda c: divmod(Polynomial(c) * Polynomial([1.0, 1.0]), Polynomial(c))[0](2.0), OTHER),
        (lambda c: Legendre(c).convert(kind=Polynomial)(c[2]), GAPS[1]),
        (lambda c: (Legendre(c) ** 3 / 2.0)(0.3), GAPS[1]),
        (lambda c: Legendre(c)(Polynomial([c[0], 1.0])).coef, GAPS[2]),
        (lambda c: polynomial.polytrim(np.append(c, [1e-9, 0.0]), 1e-6), OTHER),
        (lambda c: polyutils.trimseq(c), OTHER),
    ],
)
def test_others_are_right(f, x, check_modes):
    check_modes(f, x, twice=False)


def test_values_are_those_of_numpy():
    for name, module in FAMILIES.items():
        for key in ("mul", "div", "add", "sub"):
            f = getattr(module, name + key)
            for a in (*GAPS, LAST_IS_0):
                for b in (OTHER, [2.0], a):
                    found = autodiff.pullback(f, a, b, argnums=0)[0]
                    for x, y in (
                        zip(np.atleast_2d(found), np.atleast_2d(f(a, b)), strict=True)
                        if (key != "div")
                        else zip(found, f(a, b), strict=True)
                    ):
                        np.testing.assert_array_equal(x, y)


def test_rules():
    for family in FAMILIES:
        check_rule(product, GAPS[1], GAPS[2], fkwargs={"family": family})
        check_rule(product, Z, GAPS[0], fkwargs={"family": family})
        check_rule(division, np.array([0.5, 0.0, 0.7, 1.0]), GAPS[2], fkwargs={"family": family})
        check_rule(division, np.append(Z, 1.0), 1.0 + Z, fkwargs={"family": family})
        check_rule(mapped, Z, fkwargs={"by": f"{family}mulx"})
    check_rule(mapped, GAPS[1], fkwargs={"by": "leg2poly"})
