import numpy as np
import pytest
from scipy import fftpack

import autodiff
from chainrules_core.testing import COMPLEX, REAL, check_rule, const

CASES = [
    (fftpack.diff, ()),
    (fftpack.diff, (2,)),
    (fftpack.diff, (3, 1.5)),
    (fftpack.diff, (-1,)),
    (fftpack.diff, (0,)),
    (fftpack.shift, (0.3,)),
    (fftpack.shift, (0.3, 2.0)),
    (fftpack.hilbert, ()),
    (fftpack.ihilbert, ()),
    (fftpack.tilbert, (0.3,)),
    (fftpack.tilbert, (0.3, 2.0)),
    (fftpack.itilbert, (0.3, 2.0)),
    (fftpack.cs_diff, (0.3, 0.4)),
    (fftpack.cs_diff, (0.3, 0.4, 2.0)),
    (fftpack.sc_diff, (0.3, 0.4)),
    (fftpack.ss_diff, (0.3, 0.4)),
    (fftpack.cc_diff, (0.3, 0.4, 3.0)),
]


@pytest.mark.parametrize("n", [5, 6])
@pytest.mark.parametrize("f, args", CASES)
class TestDifferences:
    def test_rule(self, f, args, n):
        args = [const(a) for a in args]
        check_rule(f, REAL.draw(n), *args)
        check_rule(f, COMPLEX.draw(n), *args)
        check_rule(f, list(REAL.draw(n)), *args)

    def test_engine(self, f, args, n, check_engine):
        check_engine(lambda x: f(x, *args) * x, REAL.draw(n))


def test_a_traced_parameter_is_refused():
    with pytest.raises(autodiff.DifferentiationError, match="tilbert as h"):
        autodiff.gradient(lambda h: np.sum(fftpack.tilbert(REAL.draw(4), h)), 0.3)
