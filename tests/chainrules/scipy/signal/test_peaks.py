import numpy as np
import pytest
from scipy import signal

from chainrules_core import NoTangent, rrule

X = np.array([0.0, 1.0, 3.0, 1.2, 2.0, 4.0, 0.3])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: signal.peak_prominences(x, [2, 5]),
        lambda x: signal.peak_prominences(x, [2, 5], wlen=3)[0],
        lambda x: signal.peak_widths(x, [2, 5]),
        lambda x: signal.peak_widths(x, [2, 5], 0.3),
        lambda x: signal.peak_widths(x, [2, 5], wlen=3)[0],
        lambda x: signal.peak_widths(x, [2, 5], 0.4, signal.peak_prominences(x, [2, 5])),
        lambda x: x[signal.find_peaks(x)[0]] ** 2,
        lambda x: x[signal.find_peaks(x, prominence=1.0)[0]] ** 2,
        lambda x: x[signal.argrelmax(x)],
        lambda x: signal.find_peaks(x, height=0.5)[1]["peak_heights"],
        lambda x: list(signal.find_peaks(x, threshold=0.1)[1].values()),
        lambda x: list(signal.find_peaks(x, prominence=0.1, wlen=5)[1].values()),
        lambda x: list(signal.find_peaks(x, width=0.1, rel_height=0.4)[1].values()),
        lambda x: signal.find_peaks(x, plateau_size=1, height=(0.1, x[5] + 1))[1]["peak_heights"],
        lambda x: x[0] * signal.find_peaks(X, height=0.5)[1]["peak_heights"],
        lambda x: x[signal.argrelextrema(x, np.less)],
    ],
)
def test_traced(f, check_traced):
    check_traced(f, X)


@pytest.mark.parametrize("f", [signal.argrelmin, signal.argrelmax])
def test_places_are_constants(f):
    assert set(rrule(f, X, *([[1, 2]] if f is signal.find_peaks_cwt else []))[1](1.0)) == {
        NoTangent()
    }
