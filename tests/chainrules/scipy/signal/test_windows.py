import numpy as np
import pytest
from scipy import signal
from scipy.signal import windows

from tests.chainrules.scipy.signal.cases import case

T = np.linspace(0.1, 1.0, 7)


CASES = [
    case("kaiser", lambda b: windows.kaiser(7, b), 3.0),
    case("gaussian", lambda s: windows.gaussian(7, s, sym=False), 1.4),
    case("general_gaussian", lambda p, s: windows.general_gaussian(7, p, s), 1.5, 2.0),
    case("general_hamming", lambda a: windows.general_hamming(7, a), 0.6),
    case("general_cosine", lambda a: windows.general_cosine(7, a), np.array([0.5, 0.3, 0.2])),
    case("tukey", lambda a: windows.tukey(8, a), 0.4),
    case("exponential", lambda c, t: windows.exponential(7, c, t, False), 2.3, 1.3),
    case("chebwin", lambda a: windows.chebwin(8, a), 60.0),
    case("taylor", lambda s: windows.taylor(8, 4, s), 35.0),
    case("kaiser_bessel_derived", lambda b: windows.kaiser_bessel_derived(8, b), 3.0),
    case("get_window", lambda b: signal.get_window(("kaiser", b), 8), 3.0),
    case("get_window number", lambda b: signal.get_window(b, 8), 3.0),
    case("constant", lambda x: x * windows.hann(7) * signal.get_window("hamming", 7), T),
    case("chirp", lambda t, a, u, b, p: signal.chirp(t, a, u, b, phi=p), T, 1.0, 2.0, 3.0, 20.0),
    case("chirp log", lambda t, a, b: signal.chirp(t, a, 2.0, b, "logarithmic"), T, 1.0, 3.0),
    case("chirp hyp", lambda t, a, b: signal.chirp(t, a, 2.0, b, method="hyp"), T, 1.0, 3.0),
    case("chirp quad", lambda t: signal.chirp(t, 1.0, 2.0, 3.0, "quadratic", 0, False), T),
    case("gausspulse", lambda t, f, b: signal.gausspulse(t, f, b, retquad=True), T, 5.0, 0.5),
    case("gausspulse cutoff", lambda f, b: signal.gausspulse("cutoff", f, b), 5.0, 0.5),
    case("sawtooth", lambda t, w: signal.sawtooth(t, w), np.array([0.3, 2.0, 5.0, -1.0]), 0.6),
    case("square", lambda t: signal.square(t) * t, np.array([0.3, 2.0, 5.0])),
    case("sweep_poly", lambda t, p: signal.sweep_poly(t, p, 30.0), T, np.array([0.1, 0.3, 2.0])),
]  # fmt: skip


@pytest.mark.parametrize("f, xs", CASES)
def test_traced(f, xs, check_traced):
    check_traced(f, *xs, step=1e-4)
