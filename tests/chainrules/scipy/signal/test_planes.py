import numpy as np
import pytest
from scipy import signal

from chainrules_core.testing import check_rule, const
from tests.helpers import compl, real

MODES = ("full", "same", "valid")
BOUNDARIES = ("fill", "wrap", "symm")
PAIRS = [((4, 3), (2, 3)), ((3, 4), (2, 2)), ((2, 2), (3, 4)), ((3, 3), (3, 3))]
BOTH = (signal.convolve2d, signal.correlate2d)


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", BOTH)
class TestPlanes:
    @pytest.mark.parametrize("a, v", PAIRS)
    def test_rule(self, f, mode, boundary, a, v):
        check_rule(f, real(*a), real(*v), mode, boundary, const(0.7))

    def test_complex(self, f, mode, boundary):
        check_rule(f, compl(3, 3), compl(2, 2), mode, boundary)
        check_rule(f, compl(2, 2), compl(3, 3), mode, boundary)
        check_rule(f, real(3, 4), compl(2, 2), mode, boundary)

    def test_forms(self, f, mode, boundary):
        kwargs = {"boundary": boundary, "mode": mode}
        check_rule(f, real(3, 3, dtype=np.float32), real(2, 2, dtype=np.float32), fkwargs=kwargs)
        check_rule(f, [[1.0, 2.0], [3.0, 4.0]], real(4, 4)[::2, ::2], fkwargs=kwargs)

    def test_engine(self, f, mode, boundary, check_engine):
        check_engine(lambda a, v: f(a, v, mode, boundary, fillvalue=0.5), real(3, 3), real(2, 2))
