import numpy as np
import pytest
from scipy import special

from chainrules_core.testing import POSITIVE, REAL, UNIT, check_rule, check_scalar

SHAPES = [(), (3,), (2, 2), (0,)]
UNARY = [
    (special.gammaln, POSITIVE),
    (special.gammaln, REAL),
    (special.loggamma, POSITIVE),
    (special.gamma, POSITIVE),
    (special.gamma, REAL),
    (special.rgamma, REAL),
    (special.digamma, POSITIVE),
]
BINARY = [special.beta, special.betaln, special.poch]
HOLOMORPHIC = [special.loggamma, special.gamma, special.rgamma, special.digamma]


@pytest.mark.parametrize("f, domain", UNARY)
def test_unary(f, domain):
    for shape in SHAPES:
        check_rule(f, domain.draw(shape))
    check_rule(f, POSITIVE.draw(3, np.float32))
    check_rule(f, np.array(domain.draw()))


@pytest.mark.parametrize("f", HOLOMORPHIC)
@pytest.mark.parametrize("z", [1.3 + 0.7j, 0.4 - 2j, -1.3 - 0.6j, -2.5 + 1j, 9 + 3j], ids=str)
def test_complex_numbers(f, z):
    check_scalar(f, z)


@pytest.mark.parametrize("x", [0.0, -1.0, -3.0, np.array([-2.0, -1.5, 0.0, 1.5])], ids=str)
def test_zeros_of_the_reciprocal(x):
    check_rule(special.rgamma, x)


@pytest.mark.parametrize("f", BINARY)
def test_binary(f, check_binary):
    check_binary(f, POSITIVE)


@pytest.mark.parametrize(
    "f, args",
    [
        (special.polygamma, (0, POSITIVE.draw(3))),
        (special.polygamma, (1, POSITIVE.draw((2, 2)))),
        (special.polygamma, (2, POSITIVE.draw())),
        (special.polygamma, (np.array([0, 1, 2]), POSITIVE.draw(3))),
        (special.polygamma, ([0, 1, 2], POSITIVE.draw(3))),
        (special.polygamma, (np.array([[0], [3]]), POSITIVE.draw(3))),
        (special.binom, (POSITIVE.draw(3) + 4, POSITIVE.draw(3))),
        (special.multigammaln, (POSITIVE.draw(3) + 3, 3)),
        (special.multigammaln, (5.0, 2)),
        (special.zeta, (3.0, POSITIVE.draw(3))),
        (special.zeta, (2.5, POSITIVE.draw())),
        (special.gammainc, (2.0, POSITIVE.draw(3))),
        (special.gammaincc, (2.0, POSITIVE.draw((2, 2)))),
        (special.gammaincinv, (2.0, UNIT.draw(3))),
        (special.gammainccinv, (2.0, UNIT.draw(3))),
    ],
)
def test_rule(f, args):
    check_rule(f, *args)


def test_arguments_by_name():
    check_rule(special.polygamma, fkwargs={"n": 1, "x": POSITIVE.draw(3)})


@pytest.mark.parametrize(
    "f",
    [
        special.gammaln,
        special.loggamma,
        special.gamma,
        special.rgamma,
        special.digamma,
        lambda x: special.gammaln(x[0]) * x,
        lambda x: special.beta(x, x[::-1] * 2),
        lambda x: special.betaln(x, x[0]) * x,
        lambda x: special.poch(x, x[0]),
        lambda x: special.binom(x + 3, x[::-1]),
        lambda x: special.polygamma(2, x),
        lambda x: special.multigammaln(x + 3, 2),
        lambda x: special.zeta(2, x),
        lambda x: special.gammainc(2.0, x),
        lambda x: special.gamma(x * (0.3 + 0.4j)) + special.loggamma(x * (1 - 0.3j)),
        lambda x: special.digamma(x + 1j) + special.digamma(1j - x),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, np.array([0.6, 1.7, 2.4]))


@pytest.mark.parametrize("s", [2.3, 0.4, -1.7, 40.0])
def test_zetac(s, check_elementwise, check_curvature):
    check_elementwise(special.zetac, s)
    check_curvature(special.zetac, s)
    check_curvature(special.zeta, s)


def test_zeta_of_complex_numbers(check_curvature):
    check_scalar(special.zeta, 2.3 + 0.4j)
    check_curvature(special.zeta, 2.3 + 0.4j)


@pytest.mark.parametrize(
    "n, options",
    [
        (3.3, {}),
        (-2.5, {}),
        (3.3, {"extend": "complex"}),
        (-2.5, {"extend": "complex"}),
        (3.3 + 0.2j, {"extend": "complex"}),
    ],
)
def test_factorial(n, options, check_elementwise, check_curvature):
    check_elementwise(special.factorial, n, fkwargs=options)
    check_curvature(special.factorial, n, **options)


@pytest.mark.parametrize(
    "f, args, options",
    [
        (special.comb, (5.3, 2.2), {}),
        (special.comb, (5.3, 2.2), {"repetition": True}),
        (special.comb, (2.2, 5.3), {}),
        (special.perm, (5.3, 2.2), {}),
        (special.diric, (0.7, 4), {}),
        (special.diric, (2.1, 5), {}),
        (special.softplus, (0.7,), {})
        if hasattr(special, "softplus")
        else (special.psi, (2.0,), {}),
    ],
)
def test_traced(f, args, options, check_curvature):
    check_curvature(f, *args, **options)
