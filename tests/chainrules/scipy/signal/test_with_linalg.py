"""Functions that solve linear systems by scipy.linalg, whose rules they need."""

import numpy as np
import pytest
from scipy import linalg, signal

from chainrules_core import rrule
from tests.chainrules.scipy.signal.cases import case

NEEDED = (linalg.lstsq, linalg.solve, linalg.expm, linalg.toeplitz)
pytestmark = pytest.mark.skipif(
    not all(rrule.methods(f) for f in NEEDED), reason="scipy.linalg has no rules yet"
)

RNG = np.random.default_rng(11)
X = RNG.normal(size=16)
NUM, DEN = np.array([0.3, 0.5, 0.2]), np.array([1.2, -0.3, 0.2])
A, B = np.array([[-1.0, 0.3], [0.2, -2.0]]), np.array([[1.0], [0.5]])
C, D, T = np.array([[1.0, 0.2]]), np.array([[0.1]]), np.linspace(0, 1, 6)


CASES = [
    case("detrend", lambda x: signal.detrend(x), X),
    case("detrend bp", lambda x: signal.detrend(x, bp=[4, 9]), X),
    case("detrend axis", lambda x: signal.detrend(x, axis=0), X.reshape(8, 2)),
    case("welch linear", lambda x: signal.welch(x, nperseg=8, detrend="linear")[1], X),
    case("gust", lambda b, a, x: signal.filtfilt(b, a, x, method="gust"), NUM, DEN, X),
    case("gust short", lambda x: signal.filtfilt(NUM, DEN, x, method="gust", irlen=5), X),
    case("savgol interp", lambda x: signal.savgol_filter(x, 5, 2), X),
    case("savgol delta", lambda x, d: signal.savgol_filter(x, 5, 2, 1, d, mode="nearest"), X, 0.4),
    case("savgol_coeffs", lambda d, p: signal.savgol_coeffs(5, 2, 1, d, pos=p), 0.4, 1.3),
    case("firls", lambda g: signal.firls(7, [0, 0.3, 0.5, 1], g), np.array([1, 0.9, 0.2, 0.1])),
    case("firls w", lambda w: signal.firls(7, [0, 0.3, 0.5, 1], [1, 1, 0, 0], weight=w), NUM[:2]),
    case("zoh", lambda a, b, t: signal.cont2discrete((a, b, C, D), t)[:2], A, B, 0.3),
    case("bilinear", lambda a, t: signal.cont2discrete((a, B, C, D), t, "bilinear")[0], A, 0.3),
    case("foh", lambda a: signal.cont2discrete((a, B, C, D), 0.3, "foh")[1], A),
    case("lsim", lambda a, u: signal.lsim((a, B, C, D), u, T)[1], A, np.sin(T)),
    case("impulse", lambda b, a: signal.impulse((b, a), T=T)[1], NUM[:2], DEN),
    case("step", lambda a: signal.step((a, B, C, D), T=T)[1], A),
    case("dpss", lambda nw: signal.windows.dpss(9, nw), 2.5),
    case("place_poles", lambda a: signal.place_poles(a, A + B, [-1.0, -2.0]).gain_matrix, A),
]


@pytest.mark.parametrize("mode", ["mirror", "constant", "nearest", "wrap"])
def test_savgol(mode, check_traced):
    check_traced(lambda x: signal.savgol_filter(x, 5, 2, mode=mode, cval=0.3), X)
    check_traced(lambda x: signal.savgol_filter(x, 5, 3, 1, 0.5, 0, mode), X.reshape(8, 2))


@pytest.mark.parametrize("f, xs", CASES)
def test_traced(f, xs, check_traced):
    check_traced(f, *xs, step=1e-4)
