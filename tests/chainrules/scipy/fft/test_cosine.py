import numpy as np
import pytest
from scipy import fft

from chainrules_core.testing import COMPLEX, check_rule
from tests.helpers import real

ONE_AXIS = [fft.dct, fft.idct, fft.dst, fft.idst]
SEVERAL = [fft.dctn, fft.idctn, fft.dstn, fft.idstn]
TYPES = [1, 2, 3, 4]
NORMS = [None, "ortho", "forward", "backward"]


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("f", ONE_AXIS, ids=lambda f: f.__name__)
class TestOneAxis:
    @pytest.mark.parametrize("norm", NORMS)
    @pytest.mark.parametrize("orthogonalize", [None, True, False])
    def test_factors(self, f, type, norm, orthogonalize):
        check_rule(f, real(5), fkwargs={"type": type, "norm": norm, "orthogonalize": orthogonalize})

    def test_forms(self, f, type):
        check_rule(f, real(5, 2), type, 4, 0, "ortho", False, 1)
        check_rule(f, real(2, 4), type, fkwargs={"n": 6})
        check_rule(f, real(3, dtype=np.float32), type)
        check_rule(f, COMPLEX.draw(4), type, fkwargs={"orthogonalize": True})
        check_rule(f, [1.0, 2.0, 4.0], type)
        check_rule(f, real(4, 6)[::2, ::3], type, fkwargs={"axis": 0})

    def test_engine(self, f, type, check_engine):
        check_engine(lambda x: f(x, type, norm="forward") * x, real(4))


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("f", SEVERAL, ids=lambda f: f.__name__)
class TestSeveralAxes:
    @pytest.mark.parametrize(
        "kwargs",
        [
            {},
            {"axes": (0,)},
            {"s": (2, 3), "norm": "ortho"},
            {"s": (4, 5), "axes": (1, 0)},
            {"s": 3, "axes": 1, "norm": "forward"},
            {"orthogonalize": True},
        ],
        ids=str,
    )
    def test_rule(self, f, type, kwargs):
        check_rule(f, real(3, 4), type, fkwargs=kwargs)

    def test_engine(self, f, type, check_engine):
        check_engine(lambda x: f(np.outer(x, x), type), real(2))
