import numpy as np
import pytest
from scipy import special

import autodiff
from chainrules_core import NoTangent, rrule

CALLS = [
    (special.gammasgn, 0.7),
    (special.round, 0.7),
    (special.factorial2, 5),
    (special.bernoulli, 3),
    (special.stirling2, 4, 2),
    (special.jn_zeros, 1, 2),
    (special.ai_zeros, 2),
    (special.roots_legendre, 3),
    (special.roots_hermite, 3),
    (special.legendre, 2),
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0].__name__)
def test_constant(call):
    _, pullback = rrule(*call)
    assert pullback(1.0) == (NoTangent(),) * len(call)


def test_inside_of_functions():
    def f(x):
        nodes, weights = special.roots_legendre(4)
        return np.sum(weights * nodes**2 * x) + special.gammasgn(x)

    assert autodiff.gradient(f, 0.7) == pytest.approx(2 / 3)
