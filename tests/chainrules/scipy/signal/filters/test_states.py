import numpy as np
import pytest
from scipy import signal

B, A = (
    np.array([0.4, 0.3, -0.1]),
    np.array([1.0, -0.5, 0.2]),
)  # SciPy divides by a[0] unless it is 1
LONG = np.array([1.0, 0.2, -0.1, 0.3])
PAST = np.array([0.3, -0.2, 0.7])


@pytest.mark.parametrize(
    "f",
    [
        lambda b, a: signal.lfilter_zi(b, a),
        lambda b, a: signal.lfilter_zi(b[:1], a),
        lambda b, a: signal.lfilter_zi(list(b), a[:2] * 1.3),
        lambda b, a: signal.lfilter_zi(b * 1j, a),
        lambda b, a: signal.lfilter_zi([1.0], a) * b[0],
        lambda b, a: signal.lfiltic(b, a, PAST),
        lambda b, a: signal.lfiltic(b, a, PAST * b, PAST[:2]),
        lambda b, a: signal.lfiltic(b, a[:1], [], PAST[:1]),
        lambda b, a: signal.lfiltic(b[:2], a, y=PAST[:1], x=a),
        lambda b, a: signal.filtfilt(b, a, np.cos(np.arange(16.0))),
        lambda b, a: signal.lp2hp(b, a),
        lambda b, a: signal.lp2hp(b[:2], a, 1.0),
        lambda b, a: signal.lp2hp(b, a[:2], a[0]),
        lambda b, a: signal.lp2hp(b, a, wo=b[0]),
    ],
)
def test_traced(f, check_traced):
    check_traced(f, B, A)
    check_traced(f, B, LONG)


def test_sections(check_traced):
    free = np.delete(signal.butter(4, 0.3, output="sos"), 3, 1)

    def states(free):
        sos = np.concatenate([free[:, :3], np.ones((2, 1)), free[:, 3:]], axis=1)
        return signal.sosfilt_zi(sos)

    check_traced(states, free)


def test_errors_are_those_of_scipy():
    with pytest.raises(ValueError, match="1-D"):
        signal.lfilter_zi(np.ones((2, 2)), A)
