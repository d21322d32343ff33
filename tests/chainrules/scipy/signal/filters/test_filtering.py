import numpy as np
import pytest
from scipy import signal

from chainrules_core.testing import check_rule, const
from tests.helpers import compl, real

B, A = np.array([0.3, 0.5, 0.2]), np.array([1.2, -0.3, 0.2])


def case(f, *args, **kwargs):
    shapes = [np.shape(a) for a in args]
    return pytest.param(f, args, kwargs, id=f"{f.__name__}-{shapes}-{list(kwargs)}")


LONG = np.array([1.0, 0.2, 0.1, 0.05, 0.3])
CASES = [
    case(signal.lfilter, B, A, real(5)),
    case(signal.lfilter, B, A, real(4, 3), 0),
    case(signal.lfilter, B, A, real(2, 3, 2), axis=1),
    case(signal.lfilter, B, A, compl(4)),
    case(signal.lfilter, compl(3), np.array([1 + 1j, 0.2, 0.1]), compl(4)),
    case(signal.lfilter, B.astype(np.float32), A.astype(np.float32), real(4, dtype=np.float32)),
    case(signal.lfilter, B, LONG, real(3)),
    case(signal.lfilter, real(6), np.array([1.0, 0.2]), real(3)),
    case(signal.lfilter, B, np.array([2.0]), real(4)),
    case(signal.lfilter, np.array([2.0]), A, real(4)),
    case(signal.lfilter, 2.0, A, real(4)),
    case(signal.lfilter, B, 2.0, real(3, 2), axis=0),
    case(signal.lfilter, [1.0, 2.0], [1.0, 0.5], [1.0, 2.0, 3.0]),
    case(signal.lfilter, B, A, real(8)[::2]),
    case(signal.lfilter, B, A, real(5), -1, real(2)),
    case(signal.lfilter, B, A, real(5, 2), axis=0, zi=real(2, 2)),
    case(signal.lfilter, B, A, real(5, 2), axis=0, zi=real(2, 1)),
    case(signal.lfilter, B, np.array([2.0]), real(5, 2), 0, real(2, 1)),
    case(signal.lfilter, B, LONG, real(2), zi=real(4)),
    case(signal.lfilter, real(5), np.array([1.5, 0.2]), real(6), zi=real(4)),
    case(signal.lfilter, B, A, compl(4), zi=compl(2)),
]


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs):
    kwargs = {k: const(v) if k == "axis" else v for k, v in kwargs.items()}
    if "zi" in kwargs:  # by position, so that it is checked
        args = (*args, kwargs.pop("axis", const(-1)), kwargs.pop("zi"))
    check_rule(f, *args, fkwargs={k: v.primal for k, v in kwargs.items()})


@pytest.mark.parametrize(
    "f",
    [
        lambda b, a, x: signal.lfilter(b, a, x),
        lambda b, a, x: signal.lfilter(x=x, b=b, a=a, zi=signal.lfilter_zi(b, a) * x[0]),
        lambda b, a, x: signal.lfilter_zi(b, a) * x[0],
        lambda b, a, x: signal.lfiltic(b, a, x[:2], x[2:5]),
        lambda b, a, x: signal.lfiltic(b, a, x[:1]),
        lambda b, a, x: signal.deconvolve(x, a),
        lambda b, a, x: signal.filtfilt(b, a, x, padtype="even", padlen=3),
        lambda b, a, x: signal.filtfilt(b, a, x, padlen=4),
        lambda b, a, x: signal.filtfilt(b, a, x, padtype=None),
        lambda b, a, x: signal.lfilter([1.0], [1.0, -0.3 * a[1]], x * b[0]),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, B, A, real(6))
