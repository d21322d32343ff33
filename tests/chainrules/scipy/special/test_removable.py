"""Higher derivatives where a function is given by a limit, or where a factor of it has a pole."""

import itertools
import math

import numpy as np
import pytest
from scipy import special

from autodiff import derivative, gradient, jacobian

LIMITS = [
    (special.rgamma, (0.0, -1.0, -3.0, 1e-9, -2.1), ()),
    (special.j1, (0.0, 1e-7, 0.9, 1.0), ()),
    (special.i1, (0.0, 1e-7, 0.9), ()),
    (special.i1e, (0.1, 0.9, 1.0, -1.0, 1.1, 2.0), ()),
    (special.berp, (0.0, 1e-7, 0.9), ()),
    (special.beip, (0.0, 1e-7, 0.9), ()),
    (special.struve, (0.0,), (0,)),
    (special.modstruve, (0.0,), (0,)),
    (special.it2struve0, (0.0, 1e-7, 0.9), ()),
    (special.spence, (1.0, 1 + 1e-7, 1.09), ()),
    (special.eval_legendre, (-1.0,), (0,)),
    (special.eval_legendre, (-1.0,), (1,)),
    (special.lpmv, (1.0, -1.0), (0, 3)),
    (special.poch, (0.0, -1.0, -3.0), ("after", 2.0)),
    (special.poch, (-2.0,), ("after", 0.5)),
    (special.binom, (0.0, 1.0), ("after", 2.0)),
    (special.binom, (-1.0, 6.0), (5.0,)),
    (special.beta, (-2.0,), ("after", 2.0)),
    (special.beta, (-0.5,), ("after", 0.5)),
    (special.betaln, (-3.0,), ("after", 2.0)),
    (special.diric, (0.0, 1e-9, 2 * math.pi, -2 * math.pi, 0.4), ("after", 1)),
    (special.diric, (0.0, 1e-9, 2 * math.pi, -2 * math.pi, 0.4), ("after", 4)),
    (special.diric, (0.0, 1e-9, 2 * math.pi, -2 * math.pi, 0.4), ("after", 5.0)),
    (lambda x: special.sici(x)[0], (0.0, 1e-7, 0.9, 1.0, 1.1), ()),
    (lambda x: special.shichi(x)[0], (0.0, 1e-7, 0.9, 1.1), ()),
    (lambda x: special.it2j0y0(x)[0], (1e-7, 0.9), ()),
    (lambda x: special.kelvin(x)[2].imag, (1e-7, 0.9), ()),
]
CASES = [
    pytest.param(f, x, more, id=f"{getattr(f, '__name__', f)}-{x}-{more}")
    for f, points, more in LIMITS
    for x in points
]


@pytest.mark.parametrize("f, x, more", CASES)
def test_each_derivative_is_that_of_the_last(f, x, more):
    """A limit that is filled in as a constant has no derivative, so the next one would be wrong."""

    def g(x):
        return f(x, *more[1:]) if more and more[0] == "after" else f(*more, x)

    chain = [g]
    for _ in range(3 if f not in (special.struve, special.modstruve) else 2):
        chain.append(lambda x, last=chain[-1]: derivative(last, x))
    h = 1e-3
    for lower, higher in itertools.pairwise(chain):
        near, far = (float(lower(x + t) - lower(x - t)) for t in (h, 2 * h))
        if math.isfinite(near) and math.isfinite(far):
            expected = (8 * near - far) / (12 * h)
            assert higher(x) == pytest.approx(expected, rel=1e-5, abs=1e-5)
        else:
            assert math.isfinite(higher(x))


def test_second_derivatives_at_the_poles():
    assert derivative(lambda x: derivative(special.rgamma, x), 0.0) == pytest.approx(
        2 * np.euler_gamma
    )
    x = np.array([-1.0, 0.0, 0.5, -3.0])
    whole = jacobian(lambda x: gradient(lambda x: np.sum(special.rgamma(x)), x), x)
    one = [derivative(lambda x: derivative(special.rgamma, x), float(v)) for v in x]
    np.testing.assert_allclose(whole, np.diag(one))


def test_dirichlet_kernel_without_a_meaning():
    y = gradient(
        lambda x: special.diric(x[0], 3) + 0 * np.nan_to_num(special.diric(x[1], 2)), np.ones(2)
    )
    assert y[1] == 0
    assert math.isnan(derivative(lambda x: special.diric(x, -1), 0.3))


@pytest.mark.parametrize("n, k", [(5.0, -1.0), (5.0, 7.0), (0.5, 2.5), (4.0, 2.0)])
def test_binomial_coefficients_by_the_lower_number(n, k):
    h = 1e-4
    expected = (special.binom(n, k + h) - special.binom(n, k - h)) / (2 * h)
    assert derivative(lambda k: special.binom(n, k), k) == pytest.approx(
        expected, rel=1e-6, abs=1e-9
    )


def test_inverse_of_the_gamma_distribution_for_negative_arguments():
    h = 1e-5
    expected = (special.gdtria(0.3, 2.0, -1 + h) - special.gdtria(0.3, 2.0, -1 - h)) / (2 * h)
    found = derivative(lambda x: special.gdtria(0.3, 2.0, x), -1.0)
    assert found == pytest.approx(expected, nan_ok=True)  # old versions of SciPy give NaN
