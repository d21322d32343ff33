import numpy as np
import pytest
from scipy import signal

from chainrules.scipy.signal.resampling import filtered
from chainrules_core import rrule, unthunk
from chainrules_core.testing import check_rule
from tests.chainrules.scipy.signal.cases import case

RNG = np.random.default_rng(7)
X, Y = RNG.normal(size=20), RNG.normal(size=20)
HANN = np.hanning(10)[1:-1]
SFT = signal.ShortTimeFFT(HANN, 4, 1.0)
T, W = np.sort(RNG.uniform(0, 6, 12)), np.array([0.5, 1.2, 2.0])


CASES = [
    case("welch", lambda x: signal.welch(x, nperseg=8)[1], X),
    case("welch fs", lambda x, fs: signal.welch(x, fs, nperseg=8), X, 2.0),
    case("welch median", lambda x: signal.welch(x, nperseg=8, average="median")[1], X),
    case("welch axis", lambda x: signal.welch(x, nperseg=4, axis=0)[1], X.reshape(10, 2)),
    case("welch none", lambda x: signal.welch(x, nperseg=8, noverlap=3, detrend=False)[1], X),
    case("csd", lambda x, y: signal.csd(x, y, nperseg=8)[1], X, Y),
    case("csd sided", lambda x, y: signal.csd(x, y, nperseg=8, return_onesided=False)[1], X, Y),
    case("coherence", lambda x, y: signal.coherence(x, y, nperseg=8)[1], X, Y),
    case("periodogram", lambda x: signal.periodogram(x, window="hann", nfft=24)[1], X),
    case("spectrogram", lambda x: signal.spectrogram(x, nperseg=8)[2], X),
    case("spectrogram complex", lambda x: signal.spectrogram(x, nperseg=8, mode="complex")[2], X),
    case("stft", lambda x: signal.stft(x, nperseg=8)[2], X),
    case("stft psd", lambda x: signal.stft(x, nperseg=8, scaling="psd", boundary=None)[2], X),
    case("istft", lambda x: signal.istft(signal.stft(x, nperseg=8)[2] ** 2, nperseg=8)[1], X),
    case("ShortTimeFFT", lambda x: SFT.stft(x), X),
    case("ShortTimeFFT window", lambda w: signal.ShortTimeFFT(w, 4, 1.0).stft(X), HANN),
    case("ShortTimeFFT both", lambda w, x: signal.ShortTimeFFT(w, 4, 1.0).stft(x), HANN, X),
    case("ShortTimeFFT.spectrogram", lambda x, y: SFT.spectrogram(x, y), X, Y),
    case("ShortTimeFFT.istft", lambda x: SFT.istft(SFT.stft(x) ** 2, k1=16), X),
    case(
        "dual window",
        lambda w: signal.closest_STFT_dual_window(w, 4)[0],
        HANN,
        new="closest_STFT_dual_window",
    ),
    case("lombscargle", lambda t, y, w: signal.lombscargle(t, y, w), T, X[:12], W),
    case("lombscargle 2", lambda t, y: signal.lombscargle(t, y, W, normalize=True), T, X[:12]),
    case("vectorstrength", lambda e, p: signal.vectorstrength(e, p), X[:6], 1.3),
    case("czt", lambda x: signal.czt(x, 6), X[:5]),
    case("czt points", lambda r: signal.czt(X[:5], 6, w=r * np.exp(-0.3j), a=r**2), 0.9),
    case("zoom_fft", lambda x, f: signal.zoom_fft(x, [0.1, f], m=6), X[:8], 0.4),
    case("CZT", lambda r: signal.CZT(4, w=r * np.exp(-0.3j))(X[:4]), 0.9),
    case("ZoomFFT", lambda f: signal.ZoomFFT(5, f, 4)(X[:5]), 0.3),
    case("czt_points", lambda r: signal.czt_points(4, a=r), 0.9),
    case("hilbert", lambda x: signal.hilbert(x), X[:7]),
    case("hilbert N", lambda x: signal.hilbert(x, 6, axis=0), X[:8].reshape(4, 2)),
    case("hilbert2", lambda x: signal.hilbert2(x), X.reshape(4, 5)),
    case("envelope", lambda x: signal.envelope(x, (1, 6), n_out=12, residual="all"), X),
    case("resample", lambda x: signal.resample(x, 6), X[:8]),
    case("resample window", lambda x: signal.resample(x, 12, window="hann"), X[:8]),
    case("resample complex", lambda x: signal.resample(x * 1j, 5), X[:8]),
    case("resample_poly", lambda x: signal.resample_poly(x, 3, 2, padtype="line"), X[:8]),
    case("resample_poly mean", lambda x: signal.resample_poly(x, 3, 2, padtype="mean"), X[:8]),
    case("resample_poly w", lambda w: signal.resample_poly(X[:8], 3, 2, window=w), HANN[:7]),
    case("decimate", lambda x: signal.decimate(x, 2, ftype="fir"), X),
    case("decimate iir", lambda x: signal.decimate(x, 2, 3, zero_phase=False), X),
    case("detrend", lambda x: signal.detrend(x, type="constant"), X),
    case("wiener", lambda x, n: signal.wiener(x, 5, n), X, 0.1),
    case("medfilt", lambda x: signal.medfilt(x, 5), X),
    case("medfilt2d", lambda x: signal.medfilt2d(x, (3, 5)), X.reshape(4, 5)),
    case("order_filter", lambda x: signal.order_filter(x, [1, 0, 1], 1), X),
]


@pytest.mark.parametrize("f, xs", CASES)
def test_traced(f, xs, check_traced):
    check_traced(f, *xs, step=1e-4)


EVEN = ["symmetric", "reflect", "edge", "wrap", "constant"]
ODD = ["antisymmetric", "antireflect", "smooth", "line"]


@pytest.mark.parametrize("mode", [*EVEN, *ODD])
def test_upfirdn(mode, check_engine):
    def filtered(h, x):
        return signal.upfirdn(h, x, 3, 2, mode=mode, cval=0.0)

    check_engine(filtered, RNG.normal(size=5), RNG.normal(size=4))
    x, h = RNG.normal(size=(3, 2)), RNG.normal(size=7)
    check_engine(lambda x: signal.upfirdn(h, x, 2, axis=0, mode=mode), x)


@pytest.mark.parametrize("up, down", [(1, 1), (3, 2), (2, 3), (1, 4), (5, 1)])
def test_upfirdn_rule(up, down):
    check_rule(filtered, RNG.normal(size=4), RNG.normal(size=6), up, down)
    check_rule(filtered, RNG.normal(size=3) * (1 + 2j), RNG.normal(size=(2, 5)), up, down)
    check_rule(filtered, RNG.normal(size=1), RNG.normal(size=3).astype(np.float32), up, down)


def test_upfirdn_of_a_long_signal():
    h, x = RNG.normal(size=5), RNG.normal(size=(2, 3000))
    y, back = rrule(filtered, h, x, 3, 2)
    y_bar = RNG.normal(size=y.shape)
    h_bar, dot = unthunk(back(y_bar)[1]), RNG.normal(size=5)
    np.testing.assert_allclose(np.vdot(h_bar, dot), np.vdot(y_bar, filtered(dot, x, 3, 2)))
