import numpy as np
import pytest
from scipy import fft

import autodiff
from chainrules_core.testing import check_rule
from chainrules_core.testing.difference_engine import TestConfig
from tests.helpers import real


@pytest.mark.parametrize("f", [fft.fht, fft.ifht])
class TestHankel:
    @pytest.mark.parametrize("n", [1, 2, 5, 6])
    @pytest.mark.parametrize("bias", [0.0, 0.3, -0.2])
    def test_array_and_parameters(self, f, n, bias, check_engine):
        def transform(a, dln, mu, offset):
            return f(a, dln, mu, offset, bias)

        np.testing.assert_allclose(
            transform(real(n), 0.3, 0.7, 0.2), f(real(n), 0.3, 0.7, 0.2, bias)
        )
        check_engine(transform, real(n), 0.3, 0.7, 0.2)

    def test_bias(self, f, check_engine):
        check_engine(lambda q: f(real(2, 4), dln=0.2, mu=1.0, bias=q), 0.1)

    def test_list(self, f, check_engine):
        check_engine(lambda x: f([x[0], 1.0, x[1]], 0.2, 1.0, offset=0.1), real(2))

    def test_rule(self, f):
        check_rule(f, real(4), 0.3, 0.7, config=TestConfig())

    @pytest.mark.filterwarnings("ignore:singular")
    @pytest.mark.parametrize("mu, bias", [(-1.5, 0.5), (0.5, 1.5)])
    def test_singular(self, f, mu, bias, check_engine):
        check_engine(lambda a: f(a, 0.3, mu, 0.1, bias), real(4))

    def test_value(self, f):
        for n in (4, 5):
            y, _ = autodiff.pullback(lambda a: f(a, 0.3, 0.7, 0.2, 0.1), real(n))
            np.testing.assert_allclose(y, f(real(n), 0.3, 0.7, 0.2, 0.1), rtol=1e-12)


def test_offset(check_engine):
    check_engine(
        lambda x: fft.fhtoffset(x[0], x[1], initial=x[2], bias=x[3]), np.array([0.3, 0.7, 0.1, 0.2])
    )
