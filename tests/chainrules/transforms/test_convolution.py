import numpy as np
import pytest

from chainrules_core.testing import check_rule
from tests.helpers import compl, real

MODES = ("full", "same", "valid")
BOTH = (np.convolve, np.correlate)


def case(f, *args, **kwargs):
    return pytest.param(f, args, kwargs, id=f"{f.__name__}{[np.shape(a) for a in args]}{kwargs}")


SIZES = [(1, 1), (4, 1), (1, 3), (3, 3), (4, 4), (5, 2), (2, 5), (5, 4), (4, 6)]
CASES = [
    *[case(f, real(n), real(m), mode=mode) for f in BOTH for n, m in SIZES for mode in MODES],
    *[case(f, compl(4), compl(3), mode=mode) for f in BOTH for mode in MODES],
    *[case(f, real(2), compl(4), mode) for f in BOTH for mode in MODES],
    *[case(f, compl(4), real(3)) for f in BOTH],
    *[case(f, real(5, dtype=np.float32), real(2, dtype=np.float32)) for f in BOTH],
    *[case(f, real(8)[::2], real(3)[::-1], "same") for f in BOTH],
    *[case(f, [1.0, 2.0, 3.0], real(2), "full") for f in BOTH],
    *[case(f, real(3), [1.0, 2.0, 3.0], "same") for f in BOTH],
    *[case(f, [1.0, 2.0], (1.0, 3.0)) for f in BOTH],
    *[case(f, real(4), np.arange(3), 1) for f in BOTH],
    case(np.convolve, 2.0, real(3)),
    case(np.convolve, real(3), np.array(1.5), "same"),
]


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "f",
    [
        lambda x, mode: np.convolve(x, x[:2], mode),
        lambda x, mode: np.correlate(x[1:], x, mode),
        lambda x, mode: np.convolve(v=x * 1j, a=x + 2j, mode=mode),
        lambda x, mode: np.correlate(x, [x[0], 2.0, x[1] * 1j], mode=mode),
        lambda x, mode: np.convolve([1.0, 2.0, 1.0], x, mode),
    ],
)
def test_engine(f, mode, check_engine):
    check_engine(lambda x: f(x, mode), np.array([0.7, -1.3, 2.1, 0.4]))
