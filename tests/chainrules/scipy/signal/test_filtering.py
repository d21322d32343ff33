import numpy as np
import pytest
from scipy import signal

from chainrules.scipy.signal.filtering import cascade
from chainrules_core.testing import COMPLEX, REAL, check_rule, const

B, A = np.array([0.3, 0.5, 0.2]), np.array([1.2, -0.3, 0.2])
SOS = signal.butter(4, 0.3, output="sos")


def real(*shape, dtype=float):
    return REAL.draw(shape, dtype, rng=[1, *shape])


def compl(*shape):
    return COMPLEX.draw(shape, rng=[2, *shape])


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


def by_free(f):
    """A filter by the coefficients of its sections without those that must be 1."""

    def filtered(free, *args):
        return f(np.concatenate([free[:, :3], np.ones((2, 1)), free[:, 3:]], axis=1), *args)

    return filtered


@pytest.mark.parametrize(
    "f",
    [
        lambda sos, x: signal.sosfilt(sos, x),
        lambda sos, x: signal.sosfilt(sos, np.outer(x, x[:2]), axis=0),
        lambda sos, x: signal.sosfilt(sos, x, zi=np.outer(x[:2], x[2:4])),
        lambda sos, x: signal.sosfilt(sos, x, zi=signal.sosfilt_zi(sos) * x[0]),
        lambda sos, x: signal.sosfilt(sos, x * 1j),
        lambda sos, x: signal.sosfiltfilt(sos, x, padlen=4),
        lambda sos, x: signal.sosfiltfilt(sos, x, padtype="constant", padlen=2),
        lambda sos, x: signal.sosfiltfilt(sos, x, padtype=None),
    ],
)
def test_sections(f, check_engine):
    check_engine(by_free(f), np.delete(SOS, 3, 1), real(6))


@pytest.mark.parametrize("x", [real(9), compl(2, 7)])
def test_a_cascade_from_rest(x, check_structured):
    sos_dot = real(*np.shape(SOS))
    sos_dot[:, 3] = 0  # SciPy wants ones there
    check_structured(cascade, SOS, sos_dot, x)
