import numpy as np
import pytest
from scipy import signal

import autodiff
from chainrules.refused import RefusedError
from tests.chainrules.scipy.signal.cases import case

W = np.array([0.3, 1.2, 2.5])
B, A = np.array([0.3, 0.5, 0.2]), np.array([1.2, -0.3, 0.2])
Z, P = np.array([0.4, -0.3]), np.array([0.2, -0.7])
N2, D2 = np.array([1.0, 2.0, -3.0]), np.array([1.0, 0.5, -0.06])
BANDS = np.array([0.2, 0.6]), np.array([0.3, 0.5])
CLOSE = np.array([0.3, 0.35, 2.0])


CASES = [
    case("butter ba", lambda w: signal.butter(3, w), 0.3),
    case("butter zpk", lambda w: signal.butter(2, w, "high", output="zpk"), 0.3),
    case("butter sos", lambda w: signal.butter(2, w, "band", output="sos"), np.array([0.2, 0.5])),
    case("butter fs", lambda w, fs: signal.butter(3, w, fs=fs), 0.3, 2.0),
    case("butter analog", lambda w: signal.butter(3, w, analog=True), 1.3),
    case("cheby1", lambda r, w: signal.cheby1(3, r, w), 0.5, 0.3),
    case("cheby2", lambda r, w: signal.cheby2(3, r, w), 30.0, 0.3),
    case("ellip", lambda r, s, w: signal.ellip(3, r, s, w, output="sos"), 0.5, 30.0, 0.3),
    case("ellipap", lambda r, s: signal.ellipap(3, r, s), 0.5, 30.0),
    case("ellipord", lambda p, s: signal.ellipord(p, s, 1.0, 30.0)[1], 0.2, 0.4),
    case("iirdesign", lambda g: signal.iirdesign(0.2, 0.4, g, 40), 1.0),
    case("band_stop_obj", lambda w: signal.band_stop_obj(w, 0, *BANDS, 1.0, 30.0, "butter"), 0.24),
    case("bessel", lambda w: signal.bessel(3, w, output="sos"), 0.3),
    case("iirfilter", lambda w: signal.iirfilter(2, w, btype="bandstop"), np.array([0.2, 0.5])),
    case("cheb1ap", lambda r: signal.cheb1ap(3, r), 0.7),
    case("cheb2ap", lambda r: signal.cheb2ap(3, r), 20.0),
    case("iirnotch", lambda w, q: signal.iirnotch(w, q), 0.3, 10.0),
    case("iirpeak", lambda w, q: signal.iirpeak(w, q), 0.3, 10.0),
    case("iircomb", lambda q: signal.iircomb(0.25, q), 10.0),
    case("gammatone", lambda f: signal.gammatone(f, "iir"), 0.3),
    case("buttord", lambda p, s: signal.buttord(p, s, 1.0, 30.0)[1], 0.2, 0.4),
    case("cheb1ord", lambda p, s: signal.cheb1ord(p, s, 1.0, 30.0)[1], 0.2, 0.4),
    case("cheb2ord", lambda p, s: signal.cheb2ord(p, s, 1.0, 30.0)[1], 0.2, 0.4),
    case("lp2lp", lambda b, a, w: signal.lp2lp(b, a, w), B, A, 1.3),
    case("lp2hp", lambda b, a, w: signal.lp2hp(b, a, w), B, A, 1.3),
    case("lp2bp", lambda b, a, w, q: signal.lp2bp(b, a, w, q), B, A, 1.3, 0.4),
    case("lp2bs", lambda b, a, w, q: signal.lp2bs(b, a, w, q), B, A, 1.3, 0.4),
    case("lp2lp_zpk", lambda z, p, k, w: signal.lp2lp_zpk(z, p, k, w), Z, P, 0.4, 1.3),
    case("lp2bp_zpk", lambda p, w, q: signal.lp2bp_zpk(Z + 0j, p + 0.2j, 1, w, q), P, 1.3, 0.4),
    case("lp2hp_zpk", lambda z, p, k, w: signal.lp2hp_zpk(z, p, k, w), Z, P, 0.4, 1.3),
    case("lp2bs_zpk", lambda p, w, q: signal.lp2bs_zpk(Z + 0j, p + 0.2j, 1, w, q), P, 1.3, 0.4),
    case("bilinear", lambda b, a, fs: signal.bilinear(b, a, fs), B, A, 1.4),
    case("bilinear_zpk", lambda z, p, k, fs: signal.bilinear_zpk(z, p, k, fs), Z, P, 0.4, 1.4),
    case("firwin", lambda c: signal.firwin(7, c), 0.3),
    case("firwin kaiser", lambda c, b: signal.firwin(7, c, window=("kaiser", b)), 0.3, 4.0),
    case("firwin band", lambda c: signal.firwin(7, c, pass_zero=False), np.array([0.2, 0.5])),
    case("firwin2", lambda g: signal.firwin2(9, [0, 0.3, 0.6, 1], g), np.linspace(1, 0.1, 4)),
    case("minimum_phase", lambda h: signal.minimum_phase(h), np.array([0.1, 0.4, 1.5, 0.4, 0.1])),
    case("kaiser_atten", lambda w: signal.kaiser_atten(31, w), 0.2),
    case("kaiser_beta", lambda a: signal.kaiser_beta(a), 60.0),
    case("kaiserord", lambda r, w: signal.kaiserord(r, w)[1], 60.0, 0.2),
    case("freqz", lambda b, a, w: signal.freqz(b, a, w), B, A, W),
    case("freqz n", lambda b, a: signal.freqz(b, a, 8)[1], B, A),
    case("freqz fir", lambda b: signal.freqz(b, worN=64, whole=True)[1], B),
    case("freqz_zpk", lambda z, p, k, w: signal.freqz_zpk(z, p, k, w), Z, P, 0.3, W),
    case("sosfreqz", lambda w: signal.freqz_sos(signal.butter(2, w, output="sos"), W)[1], 0.3),
    case("freqs", lambda b, a, w: signal.freqs(b, a, w), B, A, W),
    case("freqs_zpk", lambda z, p, k: signal.freqs_zpk(z, p, k, W)[1], Z, P, 0.3),
    case("group_delay", lambda b, a: signal.group_delay((b, a), W)[1], B, A),
    case("tf2zpk", lambda b, a: signal.tf2zpk(b, a), N2, D2),
    case("zpk2tf", lambda z, p, k: signal.zpk2tf(z, p, k), Z, P, 0.4),
    case("zpk2sos", lambda z, p, k: signal.zpk2sos(z, p, k), Z, P, 0.4),
    case("tf2sos", lambda b, a: signal.tf2sos(b, a), N2, D2),
    case("sos2zpk", lambda b: signal.sos2zpk(np.stack([np.append(b, D2)])), N2),
    case("sos2tf", lambda w: signal.sos2tf(signal.butter(4, w, output="sos")), 0.3),
    case("normalize", lambda b, a: signal.normalize(b, a), B, A),
    case("unique_roots", lambda p: signal.unique_roots(p, 0.1, "avg")[0], CLOSE),
    case("residue", lambda b, a: signal.residue(b, a), N2[:2], D2),
    case("residuez", lambda b, a: signal.residuez(b, a), B, D2),
    case("invresz", lambda r, p: signal.invresz(r, p, []), B[:2], Z),
    case("firwin_2d", lambda f: signal.firwin_2d((3, 3), "hann", fc=f, circular=True), 0.3,
         new="firwin_2d"),
    case("invres", lambda r, p: signal.invres(r, p, []), B[:2], Z),
]  # fmt: skip


@pytest.mark.parametrize("f, xs", CASES)
@pytest.mark.filterwarnings("ignore:h does not appear to by symmetric:RuntimeWarning")
def test_traced(f, xs, check_traced):
    check_traced(f, *xs, step=1e-4)


def test_twice_through_design_and_filter(check_engine):
    check_engine(lambda w: signal.sosfilt(signal.butter(4, w, output="sos"), np.ones(5)), 0.3)


REMEZ = [
    case("low pass", lambda e, d, w: signal.remez(21, [0, *e, 0.49], d, weight=w),
         np.array([0.1, 0.2]), np.array([1.0, 0.2]), np.array([1.0, 3.0])),
    case("even", lambda e: signal.remez(22, [0.01, *e], [1, 0], grid_density=20),
         np.array([0.1, 0.2, 0.4])),
    case("fs", lambda e, fs: signal.remez(24, [0, *e, 46.0], [1, 0.2], fs=fs),
         np.array([10.0, 20.0]), 100.0),
    case("hilbert", lambda e: signal.remez(21, [0.07, e], [1.0], type="hilbert"), 0.4),
    case("hilbert from the first point", lambda e, d: signal.remez(
        22, [0.003, e], [d], type="hilbert"), 0.4, 1.2),
    case("differentiator", lambda e, d: signal.remez(22, [0, e], [d], type="differentiator"),
         0.4, 1.2),
    case("odd differentiator", lambda e: signal.remez(21, [0.02, e], [1.0], type="differentiator"),
         0.41),
    case("a band of zeros", lambda e, d: signal.remez(
        26, [0, e, 0.2, 0.46], [d, 0.0], type="differentiator"), 0.1, 1.0),
]  # fmt: skip


@pytest.mark.parametrize("f, xs", REMEZ)
def test_remez(f, xs, check_traced):
    check_traced(f, *xs, step=1e-6, rtol=1e-5)


def test_a_filter_with_more_ripples_than_needed_is_refused():
    with pytest.raises(RefusedError, match="extremals"):
        autodiff.gradient(lambda d: signal.remez(3, BAND, np.stack([d, 0.0]))[1], 1.0)


BAND = [0, 0.1, 0.4, 0.5]
SIGNAL = np.sqrt(np.arange(60.0))


@pytest.mark.parametrize("omega", [0.4, 2.2])
def test_recursive_filters_by_their_parameters(omega, check_traced):
    check_traced(lambda z, c: signal.symiirorder1(SIGNAL, c, z, 1e-8), 0.3, 0.7)
    check_traced(
        lambda r, o: signal.symiirorder2(SIGNAL, r, o, 1e-8), 0.35, omega, step=1e-5, rtol=1e-4
    )
    planes = np.stack([SIGNAL, SIGNAL[::-1]])
    check_traced(lambda r, x: signal.symiirorder2(x, r, omega), 0.35, planes, step=1e-4, rtol=1e-4)


def test_a_recursive_filter_at_the_ends(check_traced):
    check_traced(lambda r: signal.symiirorder2(SIGNAL, r, 0.0, 1e-8), 0.35, step=1e-5)
    with pytest.raises(RefusedError, match="symiirorder2"):
        autodiff.gradient(lambda r: np.sum(signal.symiirorder2(SIGNAL, r, np.pi)), 0.35)
